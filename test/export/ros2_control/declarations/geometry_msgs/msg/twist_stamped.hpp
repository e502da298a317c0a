// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "geometry_msgs/msg/parts.hpp"

namespace geometry_msgs::msg
{

struct TwistStamped
{
  using SharedPtr = std::shared_ptr<TwistStamped>;
  Header header;
  Twist twist;
};

}  // namespace geometry_msgs::msg
