// SPDX-License-Identifier: Apache-2.0
// What stamped poses, twists and wrenches are made of.
#pragma once

#include <string>

namespace geometry_msgs::msg
{

struct Header
{
  std::string frame_id;
};

struct Vector3
{
  double x = 0.0, y = 0.0, z = 0.0;
};

struct Quaternion
{
  double x = 0.0, y = 0.0, z = 0.0, w = 1.0;
};

struct Pose
{
  Vector3 position;
  Quaternion orientation;
};

struct Twist
{
  Vector3 linear, angular;
};

struct Wrench
{
  Vector3 force, torque;
};

}  // namespace geometry_msgs::msg
