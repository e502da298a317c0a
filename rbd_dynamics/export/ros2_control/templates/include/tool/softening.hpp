// SPDX-License-Identifier: Apache-2.0
// Gains that are softer where efforts could not follow them. Efforts change no faster than their
// rates. Where a fast arm is braked as hard as a slow one, they come too late: it swings, ever
// farther.
#ifndef ROBOT_PACKAGE__TOOL__SOFTENING_HPP_
#define ROBOT_PACKAGE__TOOL__SOFTENING_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/common/joint_vector.hpp"
#include "robot_package/tool/tool_constants.hpp"

namespace robot_package
{

class Softening
{
public:
  void start() { share_ = 1.0; }

  // Of the damping, 0 to 1; of the stiffness its square, so that the damping ratio stays.
  double share() const { return share_; }

  // momentum: M times the velocity that is to die out, dt (s) after the last. damping: 1/s, by
  // which it does. rates: N m/s or N/s, at which efforts may change. behind: s, by which they are
  // later than wanted; by default softer gains do not wait for that.
  void update(
    const Vector & momentum, double damping, const Vector & rates, double dt,
    double behind = INFINITY)
  {
    share_ += std::min(1.0, dt / soft_recovery) * (1.0 - share_);
    if (share_ > soft_nearly) share_ = 1.0;
    if (behind * damping <= soft_late) return;
    double slowest = 0.0;  // s, in which efforts gather so much
    for (std::size_t i = 0; i < nv; ++i)
      slowest = std::max(slowest, std::abs(momentum[i]) / rates[i]);
    const double needed = damping * damping * slowest;
    if (needed * share_ * share_ > soft_in_time) share_ = std::sqrt(soft_in_time / needed);
  }

private:
  double share_ = 1.0;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL__SOFTENING_HPP_
