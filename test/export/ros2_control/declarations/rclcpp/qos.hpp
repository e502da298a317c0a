// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rclcpp
{

struct SystemDefaultsQoS
{
};

}  // namespace rclcpp
