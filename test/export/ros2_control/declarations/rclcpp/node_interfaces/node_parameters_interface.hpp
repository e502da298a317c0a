// SPDX-License-Identifier: Apache-2.0
// What the example plugins use of rclcpp's parameters.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "rclcpp/parameter.hpp"

namespace rclcpp::node_interfaces
{

class NodeParametersInterface
{
public:
  using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>;

  virtual ~NodeParametersInterface() = default;
  virtual bool get_parameter(const std::string & name, rclcpp::Parameter & parameter) const = 0;
};

}  // namespace rclcpp::node_interfaces
