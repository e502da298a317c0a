// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__TOOL__RECENT_VELOCITIES_HPP_
#define ROBOT_PACKAGE__TOOL__RECENT_VELOCITIES_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/common/joint_vector.hpp"
#include "robot_package/tool/tool_constants.hpp"

namespace robot_package
{

// Velocities of the last steps, from whose growth it is told what they will be.
class RecentVelocities
{
public:
  void forget() { count_ = 0; }

  // The oldest one, v itself where none is known. dt: s since the last step.
  const Vector & before(const Vector & v, double dt)
  {
    double span = 0.0;
    if (count_ > 0 && dt > 0.0)
    {
      for (std::size_t k = 1; k < count_; ++k) span += spans_[k];
      span += dt;
    }
    span_ = span > 0.0 ? span : 1.0;
    return span > 0.0 ? velocities_[0] : v;
  }

  // s, how long ago that was which `before` returned last
  double span() const { return span_; }

  // Whether a joint is faster than a share of its limit, or will be `ahead` s from now, as v grew
  // from `then`.
  bool soon_beyond(
    const Vector & v, const Vector & then, double ahead, const Vector & limits, double share) const
  {
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double later = v[i] + ahead / span_ * (v[i] - then[i]);
      if (std::max(std::abs(v[i]), std::abs(later)) > share * limits[i]) return true;
    }
    return false;
  }

  // A step has been made with v, dt (s) after the one before.
  void add(const Vector & v, double dt)
  {
    if (count_ == foresight)
    {
      std::copy(velocities_.begin() + 1, velocities_.end(), velocities_.begin());
      std::copy(spans_.begin() + 1, spans_.end(), spans_.begin());
      --count_;
    }
    velocities_[count_] = v;
    spans_[count_++] = dt;
  }

private:
  std::array<Vector, foresight> velocities_{};
  std::array<double, foresight> spans_{};
  std::size_t count_ = 0;
  double span_ = 1.0;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL__RECENT_VELOCITIES_HPP_
