// SPDX-License-Identifier: Apache-2.0
// The law of the Cartesian impedance controller, without ROS. `step` allocates nothing and locks
// nothing; what it computes of the robot is in exported kernels.
#ifndef ROBOT_PACKAGE__CARTESIAN__CARTESIAN_IMPEDANCE_LAW_HPP_
#define ROBOT_PACKAGE__CARTESIAN__CARTESIAN_IMPEDANCE_LAW_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/cartesian/cartesian_settings.hpp"
#include "robot_package/cartesian/reachable_reference.hpp"
#include "robot_package/cartesian/tool_target.hpp"
#include "robot_package/common/effort_rates.hpp"
#include "robot_package/common/loads.hpp"
#include "robot_package/tool/recent_velocities.hpp"

namespace robot_package
{

// What one step of the law found. tau: within effort limits; wanted: without. theta, rate: of the
// tool in the chart of the step. pose, twist: of the tool, root axes. error, slip: to where it is
// wanted, and what its twist lacks, in the axes of stiffness. wrench: what the tool presses with,
// root axes. tank: energy left, J. braking: how much joints are kept from going faster, 0 to 1.
// outside, driven: what accelerates joints beside the efforts, and by them.
struct CartesianOutput
{
  Vector tau, wanted;
  Six theta, rate;
  Placed pose;
  Six twist, error, slip, wrench;
  std::array<double, 36> stiffness;
  double tank, manipulability, energy, power, braking;
  Vector outside, driven;
};

// How the wanted motion of the tool comes to the law, for one step: in the chart at `base`.
struct CartesianInputs
{
  Rotation base;
  Six theta, rate, acceleration;
  std::array<double, 12> wrench;  // beside the spring's: root axes, then the tool's
  Vector posture, posture_rate;
};

// tau = M a_r + C v_r + N + J^T F + null space + what keeps from limits, with F = K e + D edot +
// wanted wrench.
class CartesianLaw
{
public:
  CartesianSettings settings;

  // The stiffness acts at once, the tank is full; velocities and what is outside are not known.
  void reset()
  {
    output_ = {};
    output_.stiffness = settings.stiffness;
    output_.tank = settings.gains.tank_size;
    forget_motion();
  }

  // After a gap what was before says nothing of now.
  void forget_motion()
  {
    recent_.forget();
    output_.outside = output_.driven = {};
  }

  // dt: s since the last step.
  Status step(
    const Vector & q, const Vector & v, const CartesianInputs & in, double dt,
    const Inertia & inertia)
  {
    const Vector before = recent_.before(v, dt);
    const double span = recent_.span();
    is_in_haste_ =
      recent_.soon_beyond(v, before, settings.gains.reaction_time, settings.speeds, haste);
    recent_.add(v, dt);
    const auto gains = settings.gains.numbers();
    const auto carrier = settings.carried();
    Vector limits{};
    for (std::size_t i = 0; i < nv; ++i) limits[i] = std::min(settings.effort_limits[i], strongest);
    const CartesianOutput & last = output_;
    CartesianOutput & now = work_;
    const auto status = static_cast<Status>(robot_package_cartesian_control_THE_TIP(
      q.data(), v.data(), before.data(), &span, in.base.data(), in.theta.data(), in.rate.data(),
      in.acceleration.data(), in.wrench.data(), in.posture.data(), in.posture_rate.data(),
      last.stiffness.data(), settings.stiffness.data(), &last.tank, &dt, last.outside.data(),
      last.driven.data(), settings.tool.data(), gains.data(), settings.damping.data(),
      carrier.data(), settings.axes.data(), settings.weights.data(), settings.lower.data(),
      settings.upper.data(), settings.margins.data(), settings.limit_torques.data(),
      settings.speeds.data(), limits.data(), inertia.data(), now.tau.data(), now.wanted.data(),
      now.theta.data(), now.rate.data(), now.pose.data(), now.twist.data(), now.error.data(),
      now.slip.data(), now.wrench.data(), now.stiffness.data(), &now.tank, &now.manipulability,
      &now.energy, &now.power, &now.braking, now.outside.data(), now.driven.data()));
    if (status == Status::ok) output_ = work_;
    return status;
  }

  const CartesianOutput & output() const { return output_; }
  // Whether a joint is, or becomes, so fast that efforts have to change as fast as they can.
  bool is_in_haste() const { return is_in_haste_; }

private:
  CartesianOutput output_{}, work_{};
  RecentVelocities recent_;
  bool is_in_haste_ = false;
};

// Why the tool is held where it was not to be held.
enum class Stopped
{
  no,
  joint_at_limit,
  singular,
  off_path,
  moved_while_held
};

// The tool follows its target as far as the arm can, compliantly, and holds where it cannot.
class CartesianImpedanceLaw
{
public:
  void configure(const CartesianSettings & settings)
  {
    law_.settings = settings;
    target_.limit(settings.turning, settings.moving);
    reference_.tool = settings.tool;
    reference_.effort_limits = settings.effort_limits;
    reference_.largest_energy = settings.gains.largest_energy;
    for (std::size_t i = 0; i < nv; ++i)
    {
      reference_.speed[i] = speed_share * settings.speeds[i];
      reference_.acceleration[i] = reference_.speed[i] / full_speed_time;
    }
  }

  // From here on the robot is held at q, and the first efforts are what holds it there, at once.
  bool start(const Vector & q)
  {
    law_.reset();
    rates_.start();
    is_first_ = true;
    stalled_ = 0.0;
    stopped_ = Stopped::no;
    wanted_wrench_ = wrench_ = {};
    if (!stand_at(q)) return false;
    target_.hold_at(reference_.placed());
    return true;
  }

  void carry(const Inertia & inertia, double transition) { load_.begin(inertia, transition); }

  // --- wishes: false where they are refused, and nothing changes then
  bool is_in_workspace(const Placed & goal) const
  {
    const PointLimits & limits = target_.moving();
    for (std::size_t k = 0; k < 3; ++k)
    {
      if (!(goal[9 + k] >= limits.lower[k] && goal[9 + k] <= limits.upper[k])) return false;
    }
    return true;
  }
  bool go_to(const Placed & goal)
  {
    if (!is_in_workspace(goal) || !target_.go_to(goal)) return false;
    stopped_ = Stopped::no;
    return true;
  }
  // root axes; for so many s
  bool drive(const Six & twist, double seconds)
  {
    if (!target_.drive(twist, seconds)) return false;
    stopped_ = Stopped::no;
    return true;
  }
  // Stand still where the tool is wanted now.
  void hold() { target_.hold_at(reference_.placed()); }
  // Another stiffness, (6, 6), the angular part first: it is approached with stiffness_time, as far
  // as the tank goes.
  void want_stiffness(const std::array<double, 36> & stiffness)
  {
    law_.settings.stiffness = stiffness;
  }
  // in root axes, then in the tool's
  void press(const std::array<double, 12> & wrench) { wanted_wrench_ = wrench; }

  // Efforts for this state; anything but ok where a number is not finite: then they stay as they
  // are.
  Status step(const Vector & q, const Vector & v, double period)
  {
    load_.pass(period);
    const double elapsed = is_first_ ? 0.0 : std::clamp(period, 0.0, longest_step);
    if (period > longest_step) law_.forget_motion();
    if (!is_first_)
    {
      if (!target_.pass(elapsed, reference_.pace())) return Status::bad_result;
      watch_path();
    }
    if (!make_reachable(q, elapsed)) return Status::bad_result;
    const double change = law_.settings.wrench_rate * elapsed;
    for (std::size_t k = 0; k < 12; ++k)
      wrench_[k] += std::clamp(wanted_wrench_[k] - wrench_[k], -change, change);
    const auto status = law_.step(q, v, inputs(), elapsed, load_.inertia());
    if (status != Status::ok) return status;
    const CartesianSettings & settings = law_.settings;
    const Vector & rates = law_.is_in_haste() ? settings.urgent_rates : settings.effort_rates;
    rates_.follow(law_.output().tau, rates, std::max(period, 0.0), true);
    is_first_ = false;
    return Status::ok;
  }

  const Vector & efforts() const { return rates_.efforts(); }
  const CartesianOutput & output() const { return law_.output(); }
  const Placed & target() const { return target_.placed(); }
  ToolTarget::Mode mode() const { return target_.mode(); }
  const ReachableReference & reference() const { return reference_; }
  const Inertia & inertia() const { return load_.inertia(); }
  // Why it is held; no: as it was to be. With the joint where one is the reason.
  Stopped stopped() const { return stopped_; }
  std::size_t stopped_by() const { return stopped_by_; }

private:
  bool stand_at(const Vector & q)
  {
    if (!reference_.reset(q)) return false;
    posture_ = law_.settings.has_posture ? law_.settings.posture : q;
    return true;
  }

  void stop(const Placed & there, Stopped why, std::size_t joint = nv)
  {
    target_.hold_at(there);
    stopped_ = why;
    stopped_by_ = joint;
  }

  // A tool that is far from where it was to be is held where it is.
  void watch_path()
  {
    const Placed & here = law_.output().pose;
    const Rotation base = here.R();
    Six off{};
    if (
      robot_package_chart_coordinates(base.data(), target_.placed().data(), off.data()) !=
      ROBOT_PACKAGE_OK)
      return;
    for (std::size_t k = 0; k < 6; ++k)
    {
      if (k >= 3) off[k] -= here[6 + k];
      if (!(std::abs(off[k]) > law_.settings.path_tolerance[k])) continue;
      stop(
        here,
        target_.mode() == ToolTarget::Mode::hold ? Stopped::moved_while_held : Stopped::off_path);
      return;
    }
  }

  // Where the tool is wanted, as far as the arm can take it.
  bool make_reachable(const Vector & q, double elapsed)
  {
    const bool holds = target_.mode() == ToolTarget::Mode::hold;
    if (holds && reference_.away(target_.placed()) > far_away && !stand_at(q)) return false;
    if (!reference_.follow(target_.placed(), elapsed, posture_, load_.inertia())) return false;
    stalled_ = !holds && reference_.pace() < stalled_pace ? stalled_ + elapsed : 0.0;
    if (stalled_ > stall_time)
    {
      stalled_ = 0.0;
      const std::size_t joint = reference_.obstacle();
      stop(reference_.placed(), joint < nv ? Stopped::joint_at_limit : Stopped::singular, joint);
    }
    return true;
  }

  // In the chart at the wanted orientation, where the derivatives of its coordinates are the motion
  // itself.
  CartesianInputs inputs() const
  {
    const Placed & wanted = reference_.placed();
    const Rotation R = wanted.R();
    return {
      R,
      {0, 0, 0, wanted[9], wanted[10], wanted[11]},
      seen_from(R, reference_.twist()),
      seen_from(R, reference_.change()),
      wrench_,
      reference_.q(),
      reference_.v()};
  }

  CartesianLaw law_;
  ToolTarget target_;
  ReachableReference reference_;
  LoadChange load_;
  EffortRates rates_;
  Vector posture_{};
  std::array<double, 12> wrench_{}, wanted_wrench_{};
  double stalled_ = 0.0;  // s, for which the target has waited for the arm
  bool is_first_ = true;
  Stopped stopped_ = Stopped::no;
  std::size_t stopped_by_ = nv;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__CARTESIAN_IMPEDANCE_LAW_HPP_
