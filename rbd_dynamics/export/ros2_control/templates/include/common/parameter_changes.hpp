// SPDX-License-Identifier: Apache-2.0
// Parameters that may change while a controller runs, by their names. For callbacks: it allocates.
#ifndef ROBOT_PACKAGE__COMMON__PARAMETER_CHANGES_HPP_
#define ROBOT_PACKAGE__COMMON__PARAMETER_CHANGES_HPP_

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rclcpp/parameter.hpp"
#include "robot_package/common/digits.hpp"

namespace robot_package
{

// Members of Parameters, as generate_parameter_library makes them.
template <class Parameters>
class ParameterTable
{
public:
  using Member =
    std::variant<double Parameters::*, bool Parameters::*, std::vector<double> Parameters::*>;

  ParameterTable(std::map<std::string, Member> changing, std::vector<std::string> fixed)
  : changing_(std::move(changing)), fixed_(std::move(fixed))
  {
  }

  // Whether one of these may change, so that a controller has to look at it.
  bool has(const rclcpp::Parameter & given) const { return changing_.count(given.get_name()) > 0; }

  // Whether it is taken when the controller is configured, and then no more.
  bool is_fixed(const rclcpp::Parameter & given) const
  {
    for (const auto & name : fixed_)
    {
      if (given.get_name() == name) return true;
    }
    return false;
  }

  // Take over one that may change. What is wrong is returned.
  std::string take(const rclcpp::Parameter & given, Parameters & out) const
  {
    const Member & member = changing_.at(given.get_name());
    if (const auto * number = std::get_if<double Parameters::*>(&member))
    {
      if (given.get_type() != rclcpp::ParameterType::PARAMETER_DOUBLE)
        return given.get_name() + " is a number";
      out.** number = given.as_double();
    }
    else if (const auto * flag = std::get_if<bool Parameters::*>(&member))
    {
      if (given.get_type() != rclcpp::ParameterType::PARAMETER_BOOL)
        return given.get_name() + " is true or false";
      out.** flag = given.as_bool();
    }
    else
    {
      if (given.get_type() != rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY)
        return given.get_name() + " is a list of numbers";
      out.*std::get<std::vector<double> Parameters::*>(member) = given.as_double_array();
    }
    return "";
  }

private:
  std::map<std::string, Member> changing_;
  std::vector<std::string> fixed_;
};

// Names and values in a sentence: a = 1, b = [1, 2]
inline std::string named(const std::vector<rclcpp::Parameter> & given)
{
  std::string text;
  for (const auto & each : given)
  {
    text += (text.empty() ? "" : ", ") + each.get_name() + " = ";
    if (each.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE)
    {
      text += digits(each.as_double());
    }
    else if (each.get_type() == rclcpp::ParameterType::PARAMETER_BOOL)
    {
      text += each.as_bool() ? "true" : "false";
    }
    else if (each.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY)
    {
      std::string list;
      for (const double value : each.as_double_array())
        list += (list.empty() ? "" : ", ") + digits(value);
      text += "[" + list + "]";
    }
  }
  return text;
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__PARAMETER_CHANGES_HPP_
