// SPDX-License-Identifier: Apache-2.0
// A point that goes after a goal, or with a velocity, within limits of speed and acceleration.
//
// Towards a goal at the distance d its speed is k d, and farther away sqrt(a (2 d - d0)) with d0 =
// a / k^2, from which half of the acceleration, a, stops it in time. It takes that speed at the
// rate 4 k, or as fast as it may.
#ifndef ROBOT_PACKAGE__TOOL__POSE_FOLLOWER_HPP_
#define ROBOT_PACKAGE__TOOL__POSE_FOLLOWER_HPP_

#include <algorithm>
#include <cmath>
#include <limits>

#include "robot_package/tool/tool_constants.hpp"
#include "robot_package/tool/tool_pose.hpp"

namespace robot_package
{

// rate k: 1/s. speed: the most, per s. acceleration: per s^2. lower, upper: bounds of the place.
struct PointLimits
{
  double rate = 20.0;
  double speed = INFINITY, acceleration = INFINITY;
  Three lower{-INFINITY, -INFINITY, -INFINITY}, upper{INFINITY, INFINITY, INFINITY};
};

struct Moving
{
  Three x{}, v{}, a{};

  bool rests() const { return v == Three{} && a == Three{}; }
};

namespace detail
{

inline double size(const Three & x) { return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// Largest speed at that distance from where it has to stand.
inline double approach_speed(double distance, const PointLimits & limits)
{
  const double k = limits.rate, a = 0.5 * std::min(limits.acceleration, follower_largest);
  const double near = a / (k * k);
  return distance <= near ? k * distance : std::sqrt(a * (2.0 * distance - near));
}

// Motion after a step (s) in which that velocity is taken.
inline Moving along(
  const Moving & now, const Three & velocity, const PointLimits & limits, double step)
{
  const double gain = std::min(4.0 * limits.rate, 1.0 / step);
  Moving then;
  for (std::size_t i = 0; i < 3; ++i) then.a[i] = gain * (velocity[i] - now.v[i]);
  const double hardest = size(then.a), most = std::min(limits.acceleration, follower_largest);
  if (hardest > most)
  {
    for (double & a : then.a) a *= most / hardest;
  }
  for (std::size_t i = 0; i < 3; ++i)
  {
    then.x[i] = now.x[i] + step * now.v[i] + 0.5 * step * step * then.a[i];
    then.v[i] = now.v[i] + step * then.a[i];
  }
  return then;
}

}  // namespace detail

// Motion after a step (s) on the way to a goal.
inline Moving towards(
  const Moving & now, const Three & goal, const PointLimits & limits, double step)
{
  const Three away{goal[0] - now.x[0], goal[1] - now.x[1], goal[2] - now.x[2]};
  const double distance = detail::size(away);
  if (distance < follower_there && detail::size(now.v) < follower_slow) return {goal, {}, {}};
  const double speed = std::min(detail::approach_speed(distance, limits), limits.speed);
  const double share = distance > 0.0 ? speed / distance : 0.0;
  return detail::along(now, {share * away[0], share * away[1], share * away[2]}, limits, step);
}

// Motion after a step (s) with a wanted velocity, which ends at the bounds; from outside it goes
// inwards only.
inline Moving driven(
  const Moving & now, const Three & velocity, const PointLimits & limits, double step)
{
  const double wanted = detail::size(velocity);
  if (wanted == 0.0 && detail::size(now.v) < follower_slow) return {now.x, {}, {}};
  const double share = wanted > limits.speed ? limits.speed / wanted : 1.0;
  Three taken{};
  for (std::size_t i = 0; i < 3; ++i)
  {
    taken[i] = share * velocity[i];
    const double room = taken[i] > 0.0 ? limits.upper[i] - now.x[i] : now.x[i] - limits.lower[i];
    if (!std::isfinite(room)) continue;
    const double most = detail::approach_speed(std::max(room, 0.0), limits);
    taken[i] = std::clamp(taken[i], -most, most);
  }
  return detail::along(now, taken, limits, step);
}

// A rotation vector and a place on their way, moved on for a period (s) in steps: towards a goal,
// or with a goal's rates for `left` seconds more. pace: how fast, as a share of their own speed.
struct TwoMoving
{
  static constexpr double over = 1e-9;  // s

  PointLimits turning, moving;
  Moving parts[2];
  Six goal{};
  bool has_rates = false;
  double left = 0.0;

  void pass(double period, double pace)
  {
    const int count =
      static_cast<int>(std::clamp(std::ceil(period / follower_step - 1e-9), 1.0, 1000.0));
    const double step = period / count;
    for (int k = 0; k < count; ++k, left -= step)
    {
      if (!(pace > 0.0)) continue;
      const PointLimits * const limits[] = {&turning, &moving};
      for (std::size_t part = 0; part < 2; ++part)
      {
        const Three there{goal[3 * part], goal[3 * part + 1], goal[3 * part + 2]};
        Moving & now = parts[part];
        now = has_rates ? driven(now, left > over ? there : Three{}, *limits[part], step * pace)
                        : towards(now, there, *limits[part], step * pace);
      }
    }
  }

  Six coordinates() const
  {
    const Three &phi = parts[0].x, &p = parts[1].x;
    return {phi[0], phi[1], phi[2], p[0], p[1], p[2]};
  }
  // They rest at the goal, or the time of rates is over.
  bool have_ended() const
  {
    return (has_rates ? left <= over : coordinates() == goal) && parts[0].rests() &&
           parts[1].rests();
  }
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL__POSE_FOLLOWER_HPP_
