// SPDX-License-Identifier: Apache-2.0
// What plugins use of rclcpp's parameters.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rclcpp
{

enum class ParameterType
{
  PARAMETER_NOT_SET,
  PARAMETER_BOOL,
  PARAMETER_DOUBLE,
  PARAMETER_STRING,
  PARAMETER_DOUBLE_ARRAY
};

class Parameter
{
public:
  using Value = std::variant<std::monostate, bool, double, std::string, std::vector<double>>;

  Parameter() = default;
  explicit Parameter(Value value) : value_(std::move(value)) {}
  Parameter(std::string name, Value value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string & get_name() const { return name_; }
  ParameterType get_type() const { return static_cast<ParameterType>(value_.index()); }
  bool as_bool() const { return std::get<bool>(value_); }
  double as_double() const { return std::get<double>(value_); }
  std::string as_string() const { return std::get<std::string>(value_); }
  std::vector<double> as_double_array() const { return std::get<std::vector<double>>(value_); }

private:
  std::string name_;
  Value value_;
};

}  // namespace rclcpp
