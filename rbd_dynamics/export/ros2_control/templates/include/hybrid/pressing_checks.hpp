// SPDX-License-Identifier: Apache-2.0
// Limits beyond which the tool may not press or approach: of what is felt beside the normal, and of
// where the tool is.
#ifndef ROBOT_PACKAGE__HYBRID__PRESSING_CHECKS_HPP_
#define ROBOT_PACKAGE__HYBRID__PRESSING_CHECKS_HPP_

#include <cmath>

#include "robot_package/hybrid/felt_wrench.hpp"
#include "robot_package/hybrid/pressed_rows.hpp"

namespace robot_package
{

// Why control has to end, with the figure that is told with the reason.
struct Problem
{
  Halt why = Halt::no;
  double figure = 0.0;
};

// Whether the tool meets no more than it may besides the force along the normal.
inline Problem problem_beside_normal(const Felt & felt, const PressingLimits & limits)
{
  if (felt.force > limits.largest_side_force) return {Halt::side_force, felt.force};
  if (felt.moment > limits.largest_moment) return {Halt::moment, felt.moment};
  if (felt.power > limits.largest_power) return {Halt::power, felt.power};
  return {};
}

// Whether the tool is where it may approach the surface, or press on it.
inline Problem problem_with_place(
  const PressedRows & rows, const PressingLimits & limits, bool approaches)
{
  if (approaches && rows.h < -limits.constraint_tolerance) return {Halt::beyond, rows.h};
  if (!approaches && std::abs(rows.h) > limits.press_tolerance) return {Halt::off_surface, rows.h};
  double turn = 0.0;
  for (std::size_t k = 0; k < task_size; ++k)
  {
    if (std::abs(rows.theta[k]) > limits.reach) return {Halt::out_of_reach, rows.theta[k]};
    if (task_direction[k] < 3) turn += rows.theta[k] * rows.theta[k];
  }
  turn = std::sqrt(turn);
  return {turn > half_turn + half_turn_slack ? Halt::turned : Halt::no, turn};
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__PRESSING_CHECKS_HPP_
