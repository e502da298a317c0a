// SPDX-License-Identifier: Apache-2.0
// The wanted motion along the surface: it goes on only as fast as the arm can follow, and ends
// where the arm cannot.
#ifndef ROBOT_PACKAGE__HYBRID__SURFACE_MOTION_HPP_
#define ROBOT_PACKAGE__HYBRID__SURFACE_MOTION_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/hybrid/pressed_rows.hpp"
#include "robot_package/hybrid/task_motion.hpp"

namespace robot_package
{

class SurfaceMotion
{
public:
  // Why a motion has ended before its goal.
  enum class Stopped
  {
    no,
    joint_at_limit,
    singular,
    slow,
    off_path
  };

  void limit(const PointLimits & turning, const PointLimits & moving)
  {
    motion_.limit(turning, moving);
  }

  void start() { stopped_ = Stopped::no; }

  // The tool is wanted where it is.
  void begin(const PressedRows & rows)
  {
    stand(rows.theta);
    stopped_ = Stopped::no;
    near_ = 1.0;
    stalled_ = 0.0;
    is_near_singular_ = is_near_singular(rows);
  }

  // theta: a place beside the task frame. rates: in its axes, for so many s.
  void go_to(const Six & theta)
  {
    motion_.go_to(theta);
    stopped_ = Stopped::no;
  }
  void drive(const Six & rates, double seconds)
  {
    motion_.drive(rates, seconds);
    stopped_ = Stopped::no;
  }
  void stand(const Task & theta) { motion_.hold_at(theta); }

  // Move on by dt (s), with the tool at these rows.
  void pass(const Vector & q, const PressedRows & rows, double dt, const HybridSettings & settings)
  {
    const bool is_near = is_near_singular(rows);
    if (is_near && !is_near_singular_ && motion_.moves()) stop(rows, Stopped::singular);
    is_near_singular_ = is_near;
    const Task wanted = motion_.theta();
    double turn = 0.0, way = 0.0;
    for (std::size_t k = 0; k < task_size; ++k)
    {
      const double off = wanted[k] - rows.theta[k];
      (task_direction[k] < 3 ? turn : way) += off * off;
      if (motion_.moves() && std::abs(off) > settings.path_tolerance)
        return stop(rows, Stopped::off_path);
    }
    const double behind = std::hypot(turn_length * std::sqrt(turn), std::sqrt(way));
    const double fast = rows.pace_within(motion_.speed(), speed_share, settings.speeds);
    const double near = near_ = std::clamp(1.0 - behind / behind_most, 0.0, 1.0);
    pace_ = motion_.moves() ? std::min({near, fast, pace_ + dt / full_speed_time}) : 1.0;
    stalled_ = motion_.moves() && near < stalled_pace ? stalled_ + dt : 0.0;
    if (stalled_ > stall_time)
    {
      const std::size_t joint = joint_at_limit(q);
      return stop(rows, joint < nv ? Stopped::joint_at_limit : Stopped::slow, joint);
    }
    motion_.pass(dt, pace_);
  }

  // 1 where the tool is where it is wanted, less where it has fallen behind, 0 where it is too far.
  double near() const { return near_; }
  Task theta() const { return motion_.theta(); }
  Task rate() const { return motion_.rate(); }
  Task acceleration() const { return motion_.acceleration(); }
  Stopped stopped() const { return stopped_; }
  // The joint that is at its limit, where that has ended it.
  std::size_t stopped_by() const { return stopped_by_; }

private:
  static bool is_near_singular(const PressedRows & rows)
  {
    return !rows.are_beyond(least_singular_value, singular_turn);
  }

  // The first joint at its limit; nv: none.
  static std::size_t joint_at_limit(const Vector & q)
  {
    std::size_t i = 0;
    while (i < nv && room_lower[i] + room_near < q[i] && q[i] < room_upper[i] - room_near) ++i;
    return i;
  }

  void stop(const PressedRows & rows, Stopped why, std::size_t joint = nv)
  {
    stand(rows.theta);
    stopped_ = why;
    stopped_by_ = joint;
    stalled_ = 0.0;
  }

  TaskMotion motion_;
  Stopped stopped_ = Stopped::no;
  std::size_t stopped_by_ = nv;
  double near_ = 1.0;
  double pace_ = 1.0,
         stalled_ = 0.0;  // share of the motion's own speed; s, for which it has waited for the arm
  bool is_near_singular_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__SURFACE_MOTION_HPP_
