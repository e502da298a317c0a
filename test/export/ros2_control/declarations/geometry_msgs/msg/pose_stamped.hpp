// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "geometry_msgs/msg/parts.hpp"

namespace geometry_msgs::msg
{

struct PoseStamped
{
  using SharedPtr = std::shared_ptr<PoseStamped>;
  Header header;
  Pose pose;
};

}  // namespace geometry_msgs::msg
