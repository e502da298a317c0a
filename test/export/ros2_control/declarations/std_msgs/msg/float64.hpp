// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace std_msgs::msg
{

struct Float64
{
  using SharedPtr = std::shared_ptr<Float64>;
  double data = 0.0;
};

}  // namespace std_msgs::msg
