// SPDX-License-Identifier: Apache-2.0
// The law of force and motion: one call of its exported kernel per step, with what has to be kept
// between two calls.
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_LAW_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_LAW_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/loads.hpp"
#include "robot_package/hybrid/hybrid_settings.hpp"
#include "robot_package/tool/recent_velocities.hpp"

namespace robot_package
{

// The result of one step. tau is within the effort limits, wanted is not limited. theta and rate
// are the tool's coordinates beside the task frame. h and drift: distance from the surface, m, and
// its rate. force: commanded along the normal, N. integral, task_integral: of the errors. rank: how
// many rows can be controlled. braking: how much joints are kept from going faster, 0 to 1.
// outside, driven: accelerations of the joints that efforts do not explain, and those that they do;
// the next step takes both.
struct HybridOutput
{
  Vector tau, wanted;
  Task theta, rate;
  double h, drift, force, integral;
  Task task_integral;
  Vector lacking;
  double rank, braking;
  Vector outside, driven;
};

// What is wanted in one step. approach: the velocity along the normal, m/s, that the normal damping
// aims at. measured: N; if it is not a number, the integral of the force error stays as it is.
// beside: efforts of what pushes the tool beside the normal, made up for as far as it would lift or
// turn the tool. aside: the same as it is at this moment, by one reading; it tells with what joints
// are accelerated that are braked.
struct HybridInputs
{
  Task theta, rate, acceleration;
  double force, approach, measured;
  Vector beside, aside, posture;
};

// tau = M J (a_d - kd e' - kp (e + task_ki int e)) + what moves along with it + N - A^T (force - ki
// int(measured - force)). J has the rows of the task frame's directions, A that of the surface's
// normal.
class HybridLaw
{
public:
  HybridSettings settings;

  // Start anew: integrals are zero, and earlier velocities are not known.
  void reset()
  {
    output_ = {};
    recent_.forget();
  }

  // Other settings from the next step on; what integrals give stays.
  void tune(const HybridSettings & changed)
  {
    const double force = force_integral();
    const Task acceleration = task_integral();
    settings = changed;
    share_ = 1.0;
    preset_force(force);
    preset_acceleration(acceleration);
  }

  // To be called after a gap: earlier velocities say nothing about the present ones.
  void forget_motion()
  {
    recent_.forget();
    output_.outside = output_.driven = {};
  }

  // Choose the integrals so that the next step starts with this force, N, or this acceleration from
  // them.
  void preset_force(double force)
  {
    output_.integral = settings.gains.ki > 0.0 ? -force / settings.gains.ki : 0.0;
  }
  void preset_acceleration(const Task & acceleration)
  {
    for (std::size_t k = 0; k < task_size; ++k)
    {
      const double slope = slope_of(k);
      output_.task_integral[k] = slope > 0.0 ? -acceleration[k] / slope : 0.0;
    }
  }
  double force_integral() const { return -settings.gains.ki * output_.integral; }
  Task task_integral() const
  {
    Task made{};
    for (std::size_t k = 0; k < task_size; ++k) made[k] = -slope_of(k) * output_.task_integral[k];
    return made;
  }

  // Use so much (above 0, to 1) of the damping of task and posture, of their stiffness its square,
  // of the integral the cube; what that gives stays.
  void soften(double share)
  {
    if (share == share_) return;
    for (double & each : output_.task_integral) each *= std::pow(share_ / share, 3.0);
    share_ = share;
  }
  double share() const { return share_; }

  // dt: s since the last step.
  Status step(
    const Vector & q, const Vector & v, const HybridInputs & in, double dt, const Inertia & inertia)
  {
    const Vector before = recent_.before(v, dt);
    const double span = recent_.span();
    recent_.add(v, dt);
    const auto gains = settings.gains.softer(share_).numbers(dt);
    const auto parameters = settings.place.parameters();
    const double measured = std::isfinite(in.measured) ? in.measured : in.force;
    Vector limits{};
    for (std::size_t i = 0; i < nv; ++i) limits[i] = std::min(settings.effort_limits[i], strongest);
    const HybridOutput & last = output_;
    HybridOutput & now = work_;
    const auto status = static_cast<Status>(robot_package_hybrid_control_THE_TIP(
      q.data(), v.data(), in.theta.data(), in.rate.data(), in.acceleration.data(), &in.force,
      &in.approach, &measured, &last.integral, last.task_integral.data(), in.beside.data(),
      in.aside.data(), in.posture.data(), before.data(), &span, last.outside.data(),
      last.driven.data(), gains.data(), limits.data(), settings.speeds.data(),
      settings.lower.data(), settings.upper.data(), settings.margins.data(), parameters.data(),
      inertia.data(), now.tau.data(), now.wanted.data(), now.theta.data(), now.rate.data(), &now.h,
      &now.drift, &now.force, &now.integral, now.task_integral.data(), now.lacking.data(),
      &now.rank, &now.braking, now.outside.data(), now.driven.data()));
    if (status == Status::ok) output_ = work_;
    return status;
  }

  const HybridOutput & output() const { return output_; }

private:
  double slope_of(std::size_t k) const
  {
    const HybridGains gains = settings.gains.softer(share_);
    return gains.kp[k] * gains.task_ki;
  }

  double share_ = 1.0;  // of the damping, that is in use
  HybridOutput output_{}, work_{};
  RecentVelocities recent_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_LAW_HPP_
