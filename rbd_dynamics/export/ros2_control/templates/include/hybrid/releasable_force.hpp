// SPDX-License-Identifier: Apache-2.0
// How hard the tool may press now, so that it does not go far where contact or friction is lost:
// looked at again and again while it approaches and presses, a little in each cycle.
#ifndef ROBOT_PACKAGE__HYBRID__RELEASABLE_FORCE_HPP_
#define ROBOT_PACKAGE__HYBRID__RELEASABLE_FORCE_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/common/loads.hpp"
#include "robot_package/hybrid/felt_wrench.hpp"
#include "robot_package/hybrid/letting_go.hpp"

namespace robot_package
{

class ReleasableForce
{
public:
  // Nothing is known of this posture and of friction.
  void begin()
  {
    friction_.begin();
    aside_ = {};
    in_time_ = by_friction_ = INFINITY;
    since_look_ = since_friction_ = INFINITY;
    is_known_ = false;
    search_ = LettingGo();
  }

  // What the tool can let go in time where it is now, dt (s) after the last call. added: N, that
  // the integral of the force's error adds; it has to be let go as well.
  void look(
    const Vector & q, const PressedRows & rows, double added, double dt,
    const HybridSettings & settings, const Inertia & inertia)
  {
    const PressingLimits & limits = settings.limits;
    if (!(limits.normal_speed > 0.0))
    {
      in_time_ = by_friction_ = INFINITY;
      is_known_ = true;
      return;
    }
    since_look_ += dt;
    if (!search_.is_at_work() && since_look_ >= release_looks)
    {
      JointMatrix M{};
      ArmAnswer answer;
      if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK) return;
      if (!answer.of(M, rows, settings.gains)) return;
      since_look_ = 0.0;
      more_ = std::max(added, 0.0);
      search_.begin(
        answer, aside_, limits.largest_force + more_, release_lost * limits.normal_speed, settings);
    }
    const double share = std::min(1.0, std::max(dt, 0.0) / release_looks);
    const auto steps =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(LettingGo::most_steps)));
    if (!search_.is_at_work() || !search_.advance(steps)) return;
    in_time_ = std::max(search_.largest() - more_, limits.contact_force);
    is_known_ = true;
  }

  // What friction may let go. pressed: N, along the normal. least: N, that tell contact from none.
  void feel(
    const Vector & q, const Felt & felt, double pressed, double least, double dt,
    const HybridSettings & settings, const Inertia & inertia)
  {
    since_friction_ += dt;
    if (since_friction_ < friction_looks) return;
    since_friction_ = 0.0;
    if (pressed < 2.0 * least || !(settings.limits.normal_speed > 0.0)) return;
    JointMatrix M{};
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK) return;
    for (std::size_t i = 0; i < nv; ++i)
      aside_[i] = felt.efforts[i] / std::max(pressed, felt.force);
    const double late = settings.gains.reaction_time + settings.actuator_lag;
    by_friction_ = std::max(
      friction_.largest(M, felt.efforts, pressed, settings.speeds, late), friction_felt * least);
  }

  // Whether a look has ended since `begin`.
  bool is_known() const { return is_known_; }
  // N, that may be wanted
  double bound() const { return std::min(in_time_, by_friction_); }

private:
  LettingGo search_;
  HeldByFriction friction_;
  Vector aside_{};  // efforts of what is felt beside the surface, for each N of its force
  double in_time_ = INFINITY, by_friction_ = INFINITY, more_ = 0.0;  // N
  double since_look_ = INFINITY, since_friction_ = INFINITY;         // s
  bool is_known_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__RELEASABLE_FORCE_HPP_
