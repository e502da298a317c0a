// SPDX-License-Identifier: Apache-2.0
// The force that is commanded along the normal: it follows the desired one at a bounded rate, is
// cut where the tool runs into the surface, and does not pull at what is pressed.
#ifndef ROBOT_PACKAGE__HYBRID__NORMAL_PUSH_HPP_
#define ROBOT_PACKAGE__HYBRID__NORMAL_PUSH_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/hybrid/felt_wrench.hpp"
#include "robot_package/hybrid/hybrid_law.hpp"

namespace robot_package
{

class NormalPush
{
public:
  void start() { desired_ = force_ = 0.0; }

  // Nothing is pressed yet, and errors of the model are not known.
  void begin()
  {
    force_ = lacking_ = pulls_ = last_desired_ = steady_ = 0.0;
    speed_.forget();
  }

  // N, that is desired from now on
  void desire(double force) { desired_ = force; }
  // N, that is commanded from now on
  void set(double force) { force_ = force; }
  void let_go() { force_ = 0.0; }
  // N, that free motion needed because of errors of the model
  void set_lacking(double force) { lacking_ = force; }

  // The force comes nearer to the desired one, or to as much of it as `most`, or to none, by at
  // most `change` (N).
  void approach_desired(double change, double most)
  {
    force_ += std::clamp(std::min(desired_, most) - force_, -change, change);
  }
  void fade(double change) { force_ -= std::clamp(force_, -change, change); }

  // The tool's speed along the normal (m/s, out of the surface), dt (s) after the last.
  void update(double drift, double dt, const HybridSettings & settings)
  {
    speed_.update(drift, dt, settings.limits.normal_speed, settings.gains.reaction_time);
  }

  // How long no other force was desired.
  void pass(double dt)
  {
    steady_ += dt;
    if (desired_ == last_desired_) return;
    last_desired_ = desired_;
    steady_ = 0.0;
  }

  // Inputs of the law while the tool approaches. again: to a contact that was lost.
  void to_approach(const Approach & approach, double drift, bool again, HybridInputs & in)
  {
    speed_.restart(again ? 0.0 : 1.0);
    in.force = approach.push();
    in.approach = speed_.aim(drift, approach.velocity());
    in.measured = nothing;
  }

  // Inputs of the law while the tool presses. in.measured: N, felt along the normal. beside: N,
  // felt beside it; least: N, that tell contact from none. integral: N, that the integral of the
  // force error adds.
  void to_press(
    double drift, double integral, double beside, double least, double dt, HybridInputs & in)
  {
    const double share = speed_.share();
    in.approach = share < 1.0 ? speed_.aim(drift, 0.0) : 0.0;
    if (share < 1.0)
    {
      in.measured = nothing;
      in.force = share * (force_ + integral) + (1.0 - share) * lacking_ - integral;
      return;
    }
    const double most_pull = lacking_ - pull_most - 2.0 * std::abs(lacking_) - integral;
    if (!(force_ < most_pull && beside < least && steady_ > force_steady))
    {
      pulls_ = 0.0;
      in.force = force_;
      return;
    }
    pulls_ += dt;
    if (!(in.measured < most_pull)) in.measured = nothing;
    in.force = most_pull;
  }

  double desired() const { return desired_; }
  double force() const { return force_; }
  double lacking() const { return lacking_; }
  // s, for which the desired force could only be had by a pull
  double pulls() const { return pulls_; }
  // What of the force may push, by the tool's speed; the second comes back more slowly.
  double share() const { return speed_.share(); }
  double slow() const { return speed_.slow(); }

private:
  NormalSpeed speed_;
  double desired_ = 0.0, force_ = 0.0, lacking_ = 0.0, last_desired_ = 0.0;  // N
  double pulls_ = 0.0, steady_ = 0.0;                                        // s
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__NORMAL_PUSH_HPP_
