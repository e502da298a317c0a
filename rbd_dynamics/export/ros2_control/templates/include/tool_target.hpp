// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__TOOL_TARGET_HPP_
#define ROBOT_PACKAGE__TOOL_TARGET_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/pose_follower.hpp"

namespace robot_package
{

// Where the tool shall be by and by: held, on the way to a pose, or moved with a twist, within limits.
//
// Both are followed in a chart, R = base exp(phi): polynomials and limits are made for its coordinates. The base comes
// along where the tool turns far.
class ToolTarget
{
public:
  enum class Mode
  {
    hold,
    pose,
    twist
  };

  PointLimits turning, moving;

  void hold_at(const Placed & there)
  {
    mode_ = Mode::hold;
    placed_ = there;
    base_ = there.R();
    parts_[0] = {};
    parts_[1] = {there.p(), {}, {}};
    pace_ = 1.0;
  }

  // Set out for a place. False, and nothing is changed, where it has no coordinates.
  bool go_to(const Placed & goal)
  {
    const ToolTarget before = *this;
    goal_placed_ = goal;
    mode_ = Mode::pose;
    if (recentre()) return true;
    *this = before;
    return false;
  }

  // Move with a twist of the tool's point, in root axes, for some time (s).
  bool drive(const Six & twist, double seconds)
  {
    const ToolTarget before = *this;
    mode_ = Mode::hold;  // another goal comes
    if (!recentre()) {
      *this = before;
      return false;
    }
    mode_ = Mode::twist;
    goal_ = seen_from(base_, twist);
    left_ = seconds;
    return true;
  }

  // Move on. pace: how fast, as a share of the target's own speed. False where a number is not finite.
  bool pass(double period, double pace)
  {
    if (mode_ == Mode::hold || !(period > 0.0)) return true;
    if (detail::size(parts_[0].x) > turned_far && !recentre()) return false;
    pace_ = pace;
    const int count = static_cast<int>(std::clamp(std::ceil(period / follower_step - 1e-9), 1.0, 1000.0));
    const double step = period / count;
    for (int k = 0; k < count; ++k, left_ -= step) {
      if (!(pace > 0.0)) continue;
      const PointLimits * const limits[] = {&turning, &moving};
      for (std::size_t part = 0; part < 2; ++part) {
        const Three goal{goal_[3 * part], goal_[3 * part + 1], goal_[3 * part + 2]};
        Moving & now = parts_[part];
        now = mode_ == Mode::pose ? towards(now, goal, *limits[part], step * pace)
                                  : driven(now, left_ > over ? goal : Three{}, *limits[part], step * pace);
      }
    }
    Six twist{}, rate{};
    if (!motion(placed_, twist, rate)) return false;
    const bool is_there = mode_ == Mode::pose ? coordinates() == goal_ : left_ <= over;
    if (is_there && parts_[0].rests() && parts_[1].rests()) mode_ = Mode::hold;
    return true;
  }

  Mode mode() const { return mode_; }
  const Placed & placed() const { return placed_; }

private:
  Six coordinates() const
  {
    const Three &phi = parts_[0].x, &p = parts_[1].x;
    return {phi[0], phi[1], phi[2], p[0], p[1], p[2]};
  }

  bool motion(Placed & placed, Six & twist, Six & twist_rate) const
  {
    const Moving &turn = parts_[0], &move = parts_[1];
    const Six theta = coordinates();
    Six rate{turn.v[0], turn.v[1], turn.v[2], move.v[0], move.v[1], move.v[2]};
    Six acceleration{turn.a[0], turn.a[1], turn.a[2], move.a[0], move.a[1], move.a[2]};
    for (double & one : rate) one *= pace_;
    for (double & one : acceleration) one *= pace_ * pace_;
    return robot_package_chart_motion(
             base_.data(), theta.data(), rate.data(), acceleration.data(), placed.data(), twist.data(),
             twist_rate.data()) == ROBOT_PACKAGE_OK;
  }

  // The base is where the tool is wanted now: there the derivatives of phi are the motion about the tool's own axes. The
  // motion goes on as it is, which is as slow as the pace.
  bool recentre()
  {
    Six twist{}, twist_rate{}, goal{}, none{};
    if (mode_ == Mode::twist) {
      Placed same;
      const Six theta = coordinates();
      if (
        robot_package_chart_motion(
          base_.data(), theta.data(), goal_.data(), none.data(), same.data(), goal.data(), twist_rate.data()) !=
        ROBOT_PACKAGE_OK)
        return false;
      goal_ = goal;
    }
    Placed placed;
    if (!motion(placed, twist, twist_rate)) return false;
    base_ = placed.R();
    parts_[0] = {{}, {twist[0], twist[1], twist[2]}, {twist_rate[0], twist_rate[1], twist_rate[2]}};
    parts_[1] = {
      placed.p(), {twist[3], twist[4], twist[5]}, {twist_rate[3], twist_rate[4], twist_rate[5]}};
    return mode_ != Mode::pose ||
           robot_package_chart_coordinates(base_.data(), goal_placed_.data(), goal_.data()) == ROBOT_PACKAGE_OK;
  }

  static constexpr double over = 1e-9;  // s

  Mode mode_ = Mode::hold;
  Placed placed_{}, goal_placed_{};
  Rotation base_ = unturned;
  Moving parts_[2];  // phi; place
  Six goal_{};       // coordinates of a pose, rates of a twist
  double left_ = 0.0;  // s, of a twist
  double pace_ = 1.0;  // of the last step
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL_TARGET_HPP_
