// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__CARTESIAN__REACHABLE_REFERENCE_HPP_
#define ROBOT_PACKAGE__CARTESIAN__REACHABLE_REFERENCE_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/common/loads.hpp"
#include "robot_package/tool/tool_constants.hpp"
#include "robot_package/tool/tool_pose.hpp"

namespace robot_package
{

// A joint motion along which a tool follows its target, as far and as fast as the arm can: within
// shares of the joints' limits of position and velocity. It slows down where the way leads through
// or past singular postures: there, and beyond the arm's reach, the tool is wanted where the arm
// has come to.
class ReachableReference
{
public:
  Placed tool = Placed::of(unturned, {});
  Vector speed{}, acceleration{};  // largest
  Vector effort_limits{};
  double largest_energy = INFINITY;  // J, kinetic, that control keeps the robot from

  // Stand at q. False where that is no place.
  bool reset(const Vector & q)
  {
    q_ = q;
    v_ = {};
    behind_ = energy_ = 0.0;
    twist_ = change_ = {};
    if (!tool_at(q, tool, placed_)) return false;
    before_ = placed_;
    return true;
  }

  // How fast the target should move, as a share of its own speed: 1 where the tool is there, 0 far
  // behind, or where the robot has as much kinetic energy as a motion may take.
  double pace() const
  {
    const double energetic = 2.0 * (1.0 - energy_ / (speed_share * speed_share * largest_energy));
    return std::clamp(std::min(1.0 - behind_ / behind_most, energetic), 0.0, 1.0);
  }

  // How far a place is from where the tool is wanted, m; a turn by 1 rad counts as some of it.
  double away(const Placed & other) const
  {
    double trace = 0.0, square = 0.0;
    for (std::size_t i = 0; i < 9; ++i) trace += placed_[i] * other[i];
    for (std::size_t i = 9; i < 12; ++i)
      square += (placed_[i] - other[i]) * (placed_[i] - other[i]);
    const double angle = std::acos(std::clamp(0.5 * (trace - 1.0), -1.0, 1.0));
    return std::hypot(turn_length * angle, std::sqrt(square));
  }

  // The joint that keeps the tool from its target, at its limit; nv: a singular posture does.
  std::size_t obstacle() const
  {
    std::size_t i = 0;
    while (i < nv && room_lower[i] + room_near < q_[i] && q_[i] < room_upper[i] - room_near) ++i;
    return i;
  }

  // Move on for dt seconds, after which the tool is to be at the target. posture: where what the
  // tool leaves free goes. False where the result is not finite; nothing has changed then.
  bool follow(const Placed & target, double dt, const Vector & posture, const Inertia & inertia)
  {
    if (!(dt > 0.0)) return true;
    Vector drift{};
    for (std::size_t i = 0; i < nv; ++i)
      drift[i] = pace() * std::clamp(drift_rate * (posture[i] - q_[i]), -drift_most, drift_most);
    if (stands(target, drift)) return true;
    Vector q{}, v{}, efforts{};
    Placed placed;
    Six twist{}, change{};
    double behind = 0.0, energy = 0.0;
    for (std::size_t i = 0; i < nv; ++i) efforts[i] = std::min(effort_limits[i], strongest);
    const int status = robot_package_reachable_motion_THE_TIP(
      q_.data(), v_.data(), before_.data(), target.data(), drift.data(), &dt, tool.data(),
      room_lower, room_upper, speed.data(), acceleration.data(), efforts.data(), inertia.data(),
      q.data(), v.data(), placed.data(), twist.data(), change.data(), &behind);
    if (status != ROBOT_PACKAGE_OK) return false;
    if (
      robot_package_kinetic_energy(q.data(), v.data(), inertia.data(), &energy) != ROBOT_PACKAGE_OK)
      return false;
    q_ = q;
    v_ = v;
    placed_ = placed;
    twist_ = twist;
    change_ = change;
    behind_ = behind;
    energy_ = energy;
    before_ = target;
    return true;
  }

  const Vector & q() const { return q_; }
  const Vector & v() const { return v_; }
  // The wanted motion of the tool: twist and acceleration of its point, in root axes.
  const Placed & placed() const { return placed_; }
  const Six & twist() const { return twist_; }
  const Six & change() const { return change_; }

private:
  // The tool is at its target, and nothing is to move; what is left of the motion ends here.
  bool stands(const Placed & target, const Vector & drift)
  {
    const auto is_little = [](double x) { return std::abs(x) <= standing; };
    if (behind_ > standing || !std::all_of(v_.begin(), v_.end(), is_little)) return false;
    if (!std::all_of(drift.begin(), drift.end(), is_little) || target != before_) return false;
    if (twist_ != Six{})
    {
      v_ = {};
      energy_ = 0.0;
      twist_ = change_ = {};
    }
    return true;
  }

  Vector q_{}, v_{};
  Placed placed_{}, before_{};
  Six twist_{}, change_{};
  double behind_ = 0.0, energy_ = 0.0;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__REACHABLE_REFERENCE_HPP_
