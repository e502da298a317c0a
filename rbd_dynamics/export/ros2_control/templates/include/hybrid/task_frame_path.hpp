// SPDX-License-Identifier: Apache-2.0
// The way of a task frame from one place to another while the tool presses, in time: straight,
// turned about one axis, and from rest to rest.
#ifndef ROBOT_PACKAGE__HYBRID__TASK_FRAME_PATH_HPP_
#define ROBOT_PACKAGE__HYBRID__TASK_FRAME_PATH_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/hybrid/hybrid_settings.hpp"

namespace robot_package
{

// How far a task frame goes, m, and how far it turns, rad.
struct FrameWay
{
  double moved = 0.0, turned = 0.0;
};

class TaskFramePath
{
public:
  // The way from one place to another. False where no turn between them is unique, or a number is
  // not finite.
  static bool between(const Placed & from, const Placed & to, FrameWay & out)
  {
    Three turn{}, way{};
    if (!difference(from, to, turn, way)) return false;
    out = {detail::size(way), detail::size(turn)};
    return true;
  }

  // s, within these limits, for a way in their unit.
  static double least_time(double way, double speed, double acceleration)
  {
    return std::max(
      frame_peak_speed * way / speed, std::sqrt(frame_peak_acceleration * way / acceleration));
  }

  // Set out from the place `from`. lever: m, how far the tool is from the task frame. force: N,
  // that is pressed with. Where the way is not unique it stays.
  void begin(
    const PressingPlace & from, const PressingPlace & to, double lever, double force,
    const HybridSettings & limits)
  {
    from_ = from.task;
    to_ = to.task;
    offsets_ = {from.offset, to.offset};
    goes_ = difference(from_, to_, turn_, way_);
    if (!goes_) return;
    const double turned = detail::size(turn_);
    const double moved = detail::size(way_) + turned * std::max(lever, frame_least_lever);
    const double speed = std::min(frame_usual_speed, limits.moving.speed);
    double turning = std::min(frame_usual_turning, limits.turning.speed);
    if (force > 0.0) turning = std::min(turning, limits.limits.force_rate / force);
    seconds_ = std::max(
      least_time(moved, speed, std::min(speed / frame_ramp, limits.moving.acceleration)),
      least_time(turned, turning, std::min(turning / frame_ramp, limits.turning.acceleration)));
    time_ = 0.0;
  }
  void end() { goes_ = false; }

  bool goes() const { return goes_; }

  // The place dt (s) later.
  void pass(double dt, PressingPlace & place)
  {
    time_ += dt;
    const double x = seconds_ > 0.0 ? std::min(1.0, time_ / seconds_) : 1.0;
    const double share = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x);
    goes_ = share < 1.0;
    place.task = goes_ ? between(share) : to_;
    place.offset = goes_ ? offsets_[0] + share * (offsets_[1] - offsets_[0]) : offsets_[1];
  }

private:
  static bool difference(const Placed & from, const Placed & to, Three & turn, Three & way)
  {
    const Rotation base = from.R();
    Six theta{};
    if (robot_package_chart_coordinates(base.data(), to.data(), theta.data()) != ROBOT_PACKAGE_OK)
      return false;
    for (std::size_t k = 0; k < 3; ++k)
    {
      turn[k] = theta[k];
      way[k] = to[9 + k] - from[9 + k];
    }
    return is_finite(turn) && is_finite(way);
  }

  Placed between(double share) const
  {
    const Three p = from_.p();
    return Placed::of(
      product(from_.R(), rotation_by({share * turn_[0], share * turn_[1], share * turn_[2]})),
      {p[0] + share * way_[0], p[1] + share * way_[1], p[2] + share * way_[2]});
  }

  Placed from_ = Placed::of(unturned, {}), to_ = Placed::of(unturned, {});
  Three turn_{}, way_{};
  std::array<double, 2> offsets_{};
  double seconds_ = 0.0, time_ = 0.0;
  bool goes_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__TASK_FRAME_PATH_HPP_
