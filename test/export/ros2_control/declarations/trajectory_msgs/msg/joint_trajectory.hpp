// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace trajectory_msgs::msg
{

struct JointTrajectoryPoint
{
  std::vector<double> positions, velocities, accelerations, effort;
};

struct JointTrajectory
{
  using SharedPtr = std::shared_ptr<JointTrajectory>;
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};

}  // namespace trajectory_msgs::msg
