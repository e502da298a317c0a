// SPDX-License-Identifier: Apache-2.0
// Whether other settings fit what the tool is doing. For callbacks: it allocates.
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_STANDING_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_STANDING_HPP_

#include <algorithm>
#include <cmath>
#include <string>

#include "robot_package/common/digits.hpp"
#include "robot_package/hybrid/pressed_rows.hpp"
#include "robot_package/hybrid/task_frame_path.hpp"

namespace robot_package
{

// What a controller that presses does now. theta: where the tool is wanted beside the task frame.
struct HybridStanding
{
  Vector q{};
  PressingPlace place;
  bool presses = false, approaches = false;
  double desired = 0.0;  // N
  Task theta{};
};

// Why settings do not fit it; empty: they do.
inline std::string misfit_of(const HybridSettings & changed, const HybridStanding & now)
{
  const PressingLimits & limits = changed.limits;
  if (now.desired > limits.largest_force)
    return digits(now.desired) + " N are wanted now, more than largest_force (" +
           digits(limits.largest_force) + ")";
  if (!now.presses) return "";
  for (std::size_t k = 0; k < task_size; ++k)
  {
    if (std::abs(now.theta[k]) > limits.reach)
      return "the tool is wanted " + digits(now.theta[k]) +
             " from the task frame now, more than reach (" + digits(limits.reach) + ")";
  }
  if (changed.place.task == now.place.task && changed.place.offset == now.place.offset) return "";
  FrameWay way;
  const double most = std::min(limits.reach, half_turn);
  if (!TaskFramePath::between(now.place.task, changed.place.task, way) || way.turned > most)
    return "the task frame would turn by " + digits(way.turned) +
           " rad while it presses, more than " + digits(most);
  if (way.moved > limits.reach)
    return "the task frame would go " + digits(way.moved) +
           " m while it presses, more than reach (" + digits(limits.reach) + ")";
  PressedRows rows{};
  if (!rows.of(now.q, {}, changed.place))
    return "the tool would be turned by half a turn from the task frame";
  if (now.approaches)
  {
    return rows.h < -limits.constraint_tolerance
             ? "the surface would be " + digits(-rows.h) + " m behind the tool: hold first"
             : "";
  }
  if (std::abs(rows.h) > limits.press_tolerance)
    return "the surface would be off by " + digits(rows.h) +
           " m where it is pressed, more than press_tolerance (" + digits(limits.press_tolerance) +
           ")";
  return "";
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_STANDING_HPP_
