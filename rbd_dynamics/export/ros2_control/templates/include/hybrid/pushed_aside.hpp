// SPDX-License-Identifier: Apache-2.0
// What the tool feels beside what it presses on, such as friction or a wall, and what of it the law
// makes up for: a push along the surface would lift and turn a light tool as well.
#ifndef ROBOT_PACKAGE__HYBRID__PUSHED_ASIDE_HPP_
#define ROBOT_PACKAGE__HYBRID__PUSHED_ASIDE_HPP_

#include <algorithm>
#include <array>

#include "robot_package/common/joint_vector.hpp"

namespace robot_package
{

class PushedAside
{
public:
  // Nothing is felt.
  void forget() { efforts_ = {}; }

  // The efforts to make up for, `dt` (s) after the last. felt: by one reading. is_touching: the
  // surface is felt; without it friction is gone at once.
  const Vector & update(const Vector & felt, double dt, bool is_touching)
  {
    const double share = std::min(1.0, dt / smoothing);
    for (std::size_t i = 0; i < nv; ++i)
    {
      efforts_[i] += share * (felt[i] - efforts_[i]);
      if (!is_touching)
        efforts_[i] = std::clamp(efforts_[i], std::min(felt[i], 0.0), std::max(felt[i], 0.0));
    }
    return efforts_;
  }

private:
  static constexpr double smoothing = 0.05;  // s: friction may turn round within a step
  Vector efforts_{};
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__PUSHED_ASIDE_HPP_
