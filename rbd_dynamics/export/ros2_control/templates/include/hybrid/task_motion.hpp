// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__HYBRID__TASK_MOTION_HPP_
#define ROBOT_PACKAGE__HYBRID__TASK_MOTION_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/hybrid/pressing_constants.hpp"
#include "robot_package/tool/pose_follower.hpp"

namespace robot_package
{

// A number for each direction along which the tool moves while it presses.
using Task = std::array<double, task_size>;

// The wanted motion of a tool beside its task frame, in its coordinates there: a rotation vector,
// then a place. It is held, on the way to a place, or moved with rates, within limits; what is not
// controlled stays.
class TaskMotion
{
public:
  void limit(const PointLimits & turning, const PointLimits & moving)
  {
    two_.turning = turning;
    two_.moving = moving;
  }

  void hold_at(const Task & theta)
  {
    is_moving_ = false;
    two_.parts[0] = two_.parts[1] = {};
    for (std::size_t k = 0; k < task_size; ++k) place(k).x[task_direction[k] % 3] = theta[k];
    pace_ = 1.0;
  }

  void go_to(const Six & goal) { set_out(false, goal, 0.0); }
  // for so many seconds
  void drive(const Six & rates, double seconds) { set_out(true, rates, seconds); }

  bool moves() const { return is_moving_; }

  // Move on. pace: how fast, as a share of the motion's own speed.
  void pass(double period, double pace)
  {
    if (!is_moving_ || !(period > 0.0)) return;
    pace_ = pace;
    two_.pass(period, pace);
    if (two_.have_ended()) is_moving_ = false;
  }

  Task theta() const
  {
    return each([](const Moving & part, std::size_t k) { return part.x[k]; });
  }
  // rates at the motion's own speed, then as it goes on
  Task speed() const
  {
    return each([](const Moving & part, std::size_t k) { return part.v[k]; });
  }
  Task rate() const
  {
    return each([this](const Moving & part, std::size_t k) { return pace_ * part.v[k]; });
  }
  Task acceleration() const
  {
    return each([this](const Moving & part, std::size_t k) { return pace_ * pace_ * part.a[k]; });
  }

private:
  Moving & place(std::size_t k) { return two_.parts[task_direction[k] / 3]; }

  template <class Taken>
  Task each(Taken taken) const
  {
    Task made{};
    for (std::size_t k = 0; k < task_size; ++k)
      made[k] = taken(two_.parts[task_direction[k] / 3], task_direction[k] % 3);
    return made;
  }

  void set_out(bool has_rates, const Six & goal, double seconds)
  {
    two_.goal = {};
    for (const std::size_t direction : task_direction) two_.goal[direction] = goal[direction];
    two_.has_rates = has_rates;
    two_.left = seconds;
    is_moving_ = true;
  }

  TwoMoving two_;  // the goal: a place's coordinates, or rates
  bool is_moving_ = false;
  double pace_ = 1.0;  // of the last step
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__TASK_MOTION_HPP_
