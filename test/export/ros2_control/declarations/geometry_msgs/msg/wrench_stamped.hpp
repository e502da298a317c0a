// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "geometry_msgs/msg/parts.hpp"

namespace geometry_msgs::msg
{

struct WrenchStamped
{
  using SharedPtr = std::shared_ptr<WrenchStamped>;
  Header header;
  Wrench wrench;
};

}  // namespace geometry_msgs::msg
