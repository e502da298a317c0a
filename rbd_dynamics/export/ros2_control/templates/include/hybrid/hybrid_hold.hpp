// SPDX-License-Identifier: Apache-2.0
// The robot is held where it is, before it presses and after that has ended: by a spring and a
// damper in acceleration.
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_HOLD_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_HOLD_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/loads.hpp"
#include "robot_package/hybrid/contact_sense.hpp"
#include "robot_package/hybrid/pressed_rows.hpp"
#include "robot_package/hybrid/unknown_load.hpp"
#include "robot_package/tool/softening.hpp"

namespace robot_package
{

// A robot that is held, elapsed (s) after the last state.
struct HeldRobot
{
  Vector q{}, v{};
  double elapsed = 0.0;
  // efforts on the joints by what the tool is felt to touch; unknown where the sensor is silent
  Vector touched{};
  bool is_touch_known = false;
};

class HybridHold
{
public:
  void start(const Vector & q)
  {
    place_ = q;
    leaning_share_ = 0.0;
    is_anew_ = false;
    load_.reset();
    softening_.start();
  }

  // Hold from the next step on, where the robot is then.
  void begin()
  {
    is_anew_ = true;
    leaning_share_ = 0.0;
  }

  // What leans on something beside the normal lets go by and by: at once, a stiff wall would throw
  // it back. last: efforts before holding began. felt: efforts of what is felt there; no more of it
  // counts than `last` pushed against it, as sensors may be wrong. pressing: as for `efforts`,
  // before which it is called.
  Status fade(
    HeldRobot robot, const Vector & pressing, const Vector & last, const Vector & felt,
    const HybridSettings & settings, const Inertia & inertia)
  {
    Vector own{};
    robot.elapsed = 0.0;
    const Status status = efforts(robot, pressing, settings, inertia, own);
    if (status != Status::ok) return status;
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double more = last[i] - own[i];
      leaning_[i] = std::clamp(-felt[i], std::min(more, 0.0), std::max(more, 0.0));
    }
    leaning_share_ = 1.0;
    return Status::ok;
  }

  // The share of its damping that is in use.
  double share() const { return softening_.share(); }
  // What acts on the robot beside its model.
  const UnknownLoad & load() const { return load_; }

  // Nothing pushes beside the normal any more.
  void let_go() { leaning_share_ = 0.0; }

  // The efforts that the robot has had since the last state, with those of its own.
  void commanded(const Vector & efforts) { commanded_ = efforts; }

  // To be called before `efforts`. The joint that was moved too far, which then is held where it is
  // now; nv: none.
  std::size_t stay(const Vector & q, const PressingLimits & limits)
  {
    if (is_anew_)
    {
      load_.reset();
      bias_ = commanded_;  // what moved it before was no matter of holding
    }
    if (is_anew_ || limits.hold_stiffness == 0.0) place_ = q;
    is_anew_ = false;
    for (std::size_t i = 0; i < nv; ++i)
    {
      if (limits.hold_tolerance > 0.0 && std::abs(q[i] - place_[i]) > limits.hold_tolerance)
      {
        place_ = q;
        load_.reset();
        return i;
      }
    }
    return nv;
  }

  // What holds the robot and presses with a force along the normal, each joint's share of which is
  // in `pressing`, within the limits of efforts.
  Status efforts(
    const HeldRobot & robot, const Vector & pressing, const HybridSettings & settings,
    const Inertia & inertia, Vector & tau)
  {
    Vector weight{};
    const Status status = needed(robot, settings, inertia, tau, weight);
    if (status != Status::ok) return status;
    for (std::size_t i = 0; i < nv; ++i) tau[i] += load_.efforts()[i];
    for (std::size_t i = 0; i < nv; ++i) tau[i] -= pressing[i];
    leaning_share_ = std::max(0.0, leaning_share_ - robot.elapsed / let_go_time);
    for (std::size_t i = 0; i < nv; ++i) tau[i] += leaning_share_ * leaning_[i];
    cut(weight, settings.effort_limits, tau);
    commanded_ = tau;
    return Status::ok;
  }

  // The force along the normal, N, and the acceleration of the task that move the tool as the hold
  // does now, so that an approach can go on with what the hold does against errors of the model.
  bool against_the_model(
    const Vector & q, const Vector & v, const PressedRows & rows, const HybridSettings & settings,
    const Inertia & inertia, Approach::Beginning & from, Task & acceleration) const
  {
    std::array<double, nv * nv> M{};
    NormalResponse response;
    Cholesky factor;
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK)
      return false;
    if (!factor.of(M) || !response.of(M, rows)) return false;
    Vector a = pull(q, v, M, settings), against_load = load_.efforts();
    factor.solve(against_load);
    for (std::size_t i = 0; i < nv; ++i) a[i] += against_load[i];
    const double most = settings.limits.approach_force;
    from.inertia = response.mass;
    from.fastest = response.fastest(settings.speeds);
    from.push = std::clamp(-response.mass * rows.rate(0, a), -most, most);
    for (std::size_t k = 0; k < task_size; ++k)
    {
      acceleration[k] = rows.rate(k + 1, a) + from.push * rows.rate(k + 1, response.acceleration);
    }
    return is_finite(acceleration);
  }

private:
  // The acceleration towards where the robot is held, no more than joints and efforts can follow,
  // and against motion.
  Vector pull(
    const Vector & q, const Vector & v, const std::array<double, nv * nv> & M,
    const HybridSettings & settings) const
  {
    const PressingLimits & limits = settings.limits;
    const double soft = softening_.share(), damping = soft * limits.hold_damping;
    Vector a{};
    double share = 1.0;
    for (std::size_t i = 0; i < nv; ++i)
      a[i] = soft * soft * limits.hold_stiffness * (place_[i] - q[i]);
    for (std::size_t i = 0; i < nv && limits.hold_damping > 0.0; ++i)
    {
      double effort = 0.0;
      for (std::size_t k = 0; k < nv; ++k) effort += M[i * nv + k] * a[k];
      const double fast = damping * drawn_share * settings.speeds[i];
      const double hard = gathered / limits.hold_damping * settings.effort_rates[i];
      share = std::min(
        {share, fast / std::max(std::abs(a[i]), 1e-12), hard / std::max(std::abs(effort), 1e-12)});
    }
    for (std::size_t i = 0; i < nv; ++i) a[i] = share * a[i] - damping * v[i];
    return a;
  }

  // What the last efforts do not explain is looked for; not by gains that are softer than they
  // should be.
  bool look_for_load(
    const HeldRobot & robot, const std::array<double, nv * nv> & M, const HybridSettings & settings)
  {
    if (!robot.is_touch_known || !settings.limits.hold_load || softening_.share() < 1.0)
    {
      load_.forget(robot.elapsed, settings.limits);
      return true;
    }
    Cholesky factor;
    if (!factor.of(M)) return false;
    Vector beyond{};
    for (std::size_t i = 0; i < nv; ++i) beyond[i] = commanded_[i] - bias_[i];
    load_.driven(beyond, robot.elapsed, settings);
    load_.update(M, factor, robot.v, robot.touched, robot.elapsed, settings);
    return true;
  }

  // What holds the robot without friction and as the model has it, and its weight.
  Status needed(
    const HeldRobot & robot, const HybridSettings & settings, const Inertia & inertia, Vector & tau,
    Vector & weight)
  {
    const Vector &q = robot.q, &v = robot.v;
    std::array<double, nv * nv> M{};
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK)
      return Status::bad_result;
    if (robot_package_gravity(q.data(), inertia.data(), weight.data()) != ROBOT_PACKAGE_OK)
      return Status::bad_result;
    Vector momentum{};
    for (std::size_t i = 0; i < nv; ++i)
    {
      for (std::size_t k = 0; k < nv; ++k) momentum[i] += M[i * nv + k] * v[k];
    }
    softening_.update(momentum, settings.limits.hold_damping, settings.effort_rates, robot.elapsed);
    if (robot.elapsed > 0.0 && !look_for_load(robot, M, settings)) return Status::bad_result;
    const Vector a = pull(q, v, M, settings);
    std::array<double, 6 * nv> motion{};  // about the measured state, where feedback is zero
    for (std::size_t i = 0; i < nv; ++i)
    {
      motion[i] = q[i];
      motion[nv + i] = v[i];
      motion[2 * nv + i] = 0.5 * a[i];
    }
    const std::array<double, 7> weights{1, 1, 1, 1, 0, 0, 0};
    const std::array<double, 2 * nv> gains{};
    const Vector none{}, limits = filled(strongest);
    Vector within{};
    constexpr double now = 0.0;
    const auto status = static_cast<Status>(robot_package_feedforward(
      q.data(), v.data(), motion.data(), &now, weights.data(), gains.data(), none.data(),
      limits.data(), inertia.data(), within.data(), tau.data()));
    for (std::size_t i = 0; i < nv && status == Status::ok; ++i)
    {
      bias_[i] = tau[i];
      for (std::size_t k = 0; k < nv; ++k) bias_[i] -= M[i * nv + k] * a[k];
    }
    return status;
  }

  // All efforts beyond the weight are cut by the same share. If each joint were cut alone, a wrist
  // that lacks what it needs against the shoulder's motion would be thrown.
  static void cut(const Vector & weight, const Vector & limits, Vector & tau)
  {
    double share = 1.0;
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double most = limits[i], more = tau[i] - weight[i];
      if (std::abs(tau[i]) <= most) continue;
      const double room = std::max(more > 0.0 ? most - weight[i] : most + weight[i], 0.0);
      share = std::min(share, room / std::max(std::abs(more), 1e-12));
    }
    for (std::size_t i = 0; i < nv; ++i)
    {
      tau[i] = std::clamp(weight[i] + share * (tau[i] - weight[i]), -limits[i], limits[i]);
    }
  }

  UnknownLoad load_;
  Softening softening_;
  Vector commanded_{}, bias_{};  // the last efforts, and those by which nothing would have moved
  Vector place_{}, leaning_{};
  double leaning_share_ = 0.0;
  bool is_anew_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_HOLD_HPP_
