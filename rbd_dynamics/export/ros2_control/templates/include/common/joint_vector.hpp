// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__JOINT_VECTOR_HPP_
#define ROBOT_PACKAGE__COMMON__JOINT_VECTOR_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "robot_package/robot_package.hpp"

namespace robot_package
{

// A number for each joint.
using Vector = std::array<double, nv>;

template <std::size_t N>
bool is_finite(const std::array<double, N> & values)
{
  return std::all_of(
    values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

inline Vector filled(double value)
{
  Vector made{};
  made.fill(value);
  return made;
}

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__JOINT_VECTOR_HPP_
