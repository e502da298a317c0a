// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

#define RCLCPP_LOG_HERE(logger, ...)   \
  do {                                 \
    (void)(logger);                    \
    std::fprintf(stderr, __VA_ARGS__); \
    std::fputc('\n', stderr);          \
  } while (false)
#define RCLCPP_ERROR(logger, ...) RCLCPP_LOG_HERE(logger, __VA_ARGS__)
#define RCLCPP_WARN(logger, ...) RCLCPP_LOG_HERE(logger, __VA_ARGS__)
