// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

namespace rclcpp
{

// What was logged last.
inline std::string & last_error()
{
  static std::string text;
  return text;
}

}  // namespace rclcpp

#define RCLCPP_LOG_HERE(logger, ...)                 \
  do {                                               \
    (void)(logger);                                  \
    char text[1000];                                 \
    std::snprintf(text, sizeof(text), __VA_ARGS__);  \
    std::fprintf(stderr, "%s\n", text);              \
    rclcpp::last_error() = text;                     \
  } while (false)
#define RCLCPP_ERROR(logger, ...) RCLCPP_LOG_HERE(logger, __VA_ARGS__)
#define RCLCPP_WARN(logger, ...) RCLCPP_LOG_HERE(logger, __VA_ARGS__)
