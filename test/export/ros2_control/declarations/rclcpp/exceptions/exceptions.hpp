// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace rclcpp::exceptions
{

class InvalidParameterValueException : public std::runtime_error
{
  using std::runtime_error::runtime_error;
};

class ParameterUninitializedException : public std::runtime_error
{
  using std::runtime_error::runtime_error;
};

}  // namespace rclcpp::exceptions
