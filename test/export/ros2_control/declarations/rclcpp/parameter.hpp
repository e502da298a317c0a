// SPDX-License-Identifier: Apache-2.0
// What the example plugins use of rclcpp's parameters.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace rclcpp
{

class Parameter
{
public:
  using Value = std::variant<std::monostate, double, std::string, std::vector<double>>;

  Parameter() = default;
  explicit Parameter(Value value) : value_(std::move(value)) {}
  double as_double() const { return std::get<double>(value_); }
  std::string as_string() const { return std::get<std::string>(value_); }
  std::vector<double> as_double_array() const { return std::get<std::vector<double>>(value_); }

private:
  Value value_;
};

}  // namespace rclcpp
