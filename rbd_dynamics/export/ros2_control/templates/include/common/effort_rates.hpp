// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__EFFORT_RATES_HPP_
#define ROBOT_PACKAGE__COMMON__EFFORT_RATES_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/common/joint_vector.hpp"

namespace robot_package
{

// Efforts that change no faster than they may. The first ones after `start` come at once, as an arm
// that is waited for falls.
class EffortRates
{
public:
  void start() { is_first_ = true; }

  // rates: N m/s, N/s. period: s since the last efforts. together: all changes are shortened in
  // proportion, so that no wrist has its effort before the shoulder has its own, and is thrown.
  void follow(const Vector & wanted, const Vector & rates, double period, bool together = false)
  {
    double share = 1.0;
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double change = std::abs(wanted[i] - efforts_[i]), most = rates[i] * period;
      if (change > most) share = std::min(share, most / change);
    }
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double most = together ? share * std::abs(wanted[i] - efforts_[i]) : rates[i] * period;
      const bool is_near = is_first_ || share == 1.0;
      efforts_[i] =
        is_near ? wanted[i] : std::clamp(wanted[i], efforts_[i] - most, efforts_[i] + most);
    }
    is_first_ = false;
    behind_ = 0.0;
    for (std::size_t i = 0; i < nv; ++i)
      behind_ = std::max(behind_, std::abs(wanted[i] - efforts_[i]) / rates[i]);
  }

  const Vector & efforts() const { return efforts_; }
  // s, by which they are later than they were wanted
  double behind() const { return behind_; }

private:
  Vector efforts_{};
  double behind_ = 0.0;
  bool is_first_ = true;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__EFFORT_RATES_HPP_
