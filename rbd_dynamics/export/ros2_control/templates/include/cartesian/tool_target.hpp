// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__CARTESIAN__TOOL_TARGET_HPP_
#define ROBOT_PACKAGE__CARTESIAN__TOOL_TARGET_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/tool/pose_follower.hpp"

namespace robot_package
{

// Where the tool shall be by and by: held, on the way to a pose, or moved with a twist, within
// limits.
//
// Both are followed in a chart, R = base exp(phi): polynomials and limits are made for its
// coordinates. The base comes along where the tool turns far.
class ToolTarget
{
public:
  enum class Mode
  {
    hold,
    pose,
    twist
  };

  void limit(const PointLimits & turning, const PointLimits & moving)
  {
    two_.turning = turning;
    two_.moving = moving;
  }
  const PointLimits & moving() const { return two_.moving; }

  void hold_at(const Placed & there)
  {
    mode_ = Mode::hold;
    placed_ = there;
    base_ = there.R();
    two_.parts[0] = {};
    two_.parts[1] = {there.p(), {}, {}};
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
    if (!recentre())
    {
      *this = before;
      return false;
    }
    mode_ = Mode::twist;
    two_.goal = seen_from(base_, twist);
    two_.left = seconds;
    return true;
  }

  // Move on. pace: how fast, as a share of the target's own speed. False where a number is not
  // finite.
  bool pass(double period, double pace)
  {
    if (mode_ == Mode::hold || !(period > 0.0)) return true;
    if (detail::size(two_.parts[0].x) > turned_far && !recentre()) return false;
    pace_ = pace;
    two_.has_rates = mode_ == Mode::twist;
    two_.pass(period, pace);
    Six twist{}, rate{};
    if (!motion(placed_, twist, rate)) return false;
    if (two_.have_ended()) mode_ = Mode::hold;
    return true;
  }

  Mode mode() const { return mode_; }
  const Placed & placed() const { return placed_; }

private:
  bool motion(Placed & placed, Six & twist, Six & twist_rate) const
  {
    const Moving &turn = two_.parts[0], &move = two_.parts[1];
    const Six theta = two_.coordinates();
    Six rate{turn.v[0], turn.v[1], turn.v[2], move.v[0], move.v[1], move.v[2]};
    Six acceleration{turn.a[0], turn.a[1], turn.a[2], move.a[0], move.a[1], move.a[2]};
    for (double & one : rate) one *= pace_;
    for (double & one : acceleration) one *= pace_ * pace_;
    return robot_package_chart_motion(
             base_.data(), theta.data(), rate.data(), acceleration.data(), placed.data(),
             twist.data(), twist_rate.data()) == ROBOT_PACKAGE_OK;
  }

  // The base is where the tool is wanted now: there the derivatives of phi are the motion about the
  // tool's own axes. The motion goes on as it is, which is as slow as the pace.
  bool recentre()
  {
    Six twist{}, twist_rate{}, goal{}, none{};
    if (mode_ == Mode::twist)
    {
      Placed same;
      const Six theta = two_.coordinates();
      if (
        robot_package_chart_motion(
          base_.data(), theta.data(), two_.goal.data(), none.data(), same.data(), goal.data(),
          twist_rate.data()) != ROBOT_PACKAGE_OK)
        return false;
      two_.goal = goal;
    }
    Placed placed;
    if (!motion(placed, twist, twist_rate)) return false;
    base_ = placed.R();
    two_.parts[0] = {
      {}, {twist[0], twist[1], twist[2]}, {twist_rate[0], twist_rate[1], twist_rate[2]}};
    two_.parts[1] = {
      placed.p(), {twist[3], twist[4], twist[5]}, {twist_rate[3], twist_rate[4], twist_rate[5]}};
    return mode_ != Mode::pose ||
           robot_package_chart_coordinates(base_.data(), goal_placed_.data(), two_.goal.data()) ==
             ROBOT_PACKAGE_OK;
  }

  Mode mode_ = Mode::hold;
  Placed placed_{}, goal_placed_{};
  Rotation base_ = unturned;
  TwoMoving two_;      // phi and place; the goal: coordinates of a pose, rates of a twist
  double pace_ = 1.0;  // of the last step
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__TOOL_TARGET_HPP_
