// SPDX-License-Identifier: Apache-2.0
// The law of the feedforward controller, without ROS. `step` allocates nothing, locks nothing and
// calls nothing but the exported kernel.
#ifndef ROBOT_PACKAGE__FEEDFORWARD__FEEDFORWARD_LAW_HPP_
#define ROBOT_PACKAGE__FEEDFORWARD__FEEDFORWARD_LAW_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/effort_rates.hpp"
#include "robot_package/common/joint_vector.hpp"
#include "robot_package/common/loads.hpp"

namespace robot_package
{

// What the robot shall do now; not a number: not said.
struct Reference
{
  Vector position, velocity, acceleration, effort;

  static Reference none()
  {
    const Vector unsaid = filled(nothing);
    return {unsaid, unsaid, unsaid, unsaid};
  }
};

struct FeedforwardSettings
{
  // 0 or 1 for inertia, Coriolis, gravity, springs, friction; 1: at the desired state; 1: computed
  // torque
  std::array<double, 7> weights{1, 1, 1, 1, 0, 0, 0};
  Vector kp{}, kd{};       // N m/rad and N m s/rad, N/m and N s/m; of computed torque 1/s^2 and 1/s
  Vector effort_limits{};  // N m, N
  Vector effort_rates{};   // N m/s, N/s
  bool has_positions =
    true;  // else the reference is of efforts alone, to which the model's terms are added
};

// tau = (weighted terms of) M a_d + C v + N + springs + friction(v_d) + kp (q_d - q) + kd (v_d - v)
// + efforts of the reference, within limits and changing no faster than their rates.
class FeedforwardLaw
{
public:
  void configure(const FeedforwardSettings & settings)
  {
    settings_ = settings;
    for (std::size_t i = 0; i < nv; ++i)
    {
      gains_[i] = settings.kp[i];
      gains_[nv + i] = settings.kd[i];
      limits_[i] = std::min(settings.effort_limits[i], 1e9);  // the kernel takes finite numbers
    }
  }

  // From here on the robot is held at q, and the first efforts are what holds it there: they rise
  // from nothing at once, as an arm that is waited for falls.
  void start(const Vector & q)
  {
    position_ = q;
    rates_.start();
  }

  // Change the load over `transition` seconds.
  void carry(const Inertia & inertia, double transition) { load_.begin(inertia, transition); }

  // Efforts for this state and reference; anything but ok where a number is not finite: then they
  // stay as they are.
  Status step(const Vector & q, const Vector & v, const Reference & reference, double period)
  {
    load_.pass(period);
    const bool efforts_alone = !settings_.has_positions && is_finite(reference.effort);
    const bool follows = settings_.has_positions && is_finite(reference.position);
    if (follows) position_ = reference.position;
    holds_ = !follows && !efforts_alone;
    const bool adds_efforts = !holds_ && is_finite(reference.effort);
    for (std::size_t i = 0; i < nv; ++i)
    {  // rows: powers of time
      // about the measured state feedback is zero
      motion_[i] = efforts_alone ? q[i] : position_[i];
      motion_[nv + i] = efforts_alone ? v[i] : follows ? said(reference.velocity[i]) : 0.0;
      motion_[2 * nv + i] = follows ? 0.5 * said(reference.acceleration[i]) : 0.0;
      offsets_[i] = adds_efforts ? reference.effort[i] : 0.0;
    }
    if (efforts_alone) position_ = q;  // where it will be held
    constexpr double now = 0.0;
    const auto status = static_cast<Status>(robot_package_feedforward(
      q.data(), v.data(), motion_.data(), &now, settings_.weights.data(), gains_.data(),
      offsets_.data(), limits_.data(), load_.inertia().data(), within_.data(), wanted_.data()));
    if (status != Status::ok) return status;
    rates_.follow(within_, settings_.effort_rates, period);
    return Status::ok;
  }

  const Vector & efforts() const { return rates_.efforts(); }
  // before limits and rates
  const Vector & wanted() const { return wanted_; }
  const Inertia & inertia() const { return load_.inertia(); }
  // whether no reference was there at the last step
  bool holds() const { return holds_; }

private:
  static double said(double value) { return std::isfinite(value) ? value : 0.0; }

  FeedforwardSettings settings_{};
  std::array<double, 2 * nv> gains_{};
  std::array<double, 6 * nv> motion_{};
  Vector limits_{}, offsets_{}, position_{}, within_{}, wanted_{};
  LoadChange load_;
  EffortRates rates_;
  bool holds_ = true;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__FEEDFORWARD__FEEDFORWARD_LAW_HPP_
