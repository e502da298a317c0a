// SPDX-License-Identifier: Apache-2.0
// The robot by its own dynamics, without ROS: friction, stops of the joints, limits of the efforts,
// brakes, and a floor that the tip can touch. `step` allocates nothing.
#ifndef ROBOT_PACKAGE__SIMULATION__SIMULATED_ROBOT_HPP_
#define ROBOT_PACKAGE__SIMULATION__SIMULATED_ROBOT_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/joint_vector.hpp"
#include "robot_package/common/linear_system.hpp"
#include "robot_package/common/loads.hpp"
#include "robot_package/tool/tool_pose.hpp"

namespace robot_package
{

struct Floor
{
  bool is_there = false;
  double height = 0.0;     // m, in the world
  double stiffness = 1e5;  // N/m
  double damping = 1e3;    // N s/m
  double friction = 0.3;   // tangential force over normal force
};

// Linearly implicit steps: friction and contact are taken at the end of a step, as far as their
// slopes tell, so that neither can make it unstable.
class SimulatedRobot
{
public:
  Vector q{}, v{};

  void set_floor(const Floor & floor) { floor_ = floor; }
  // of a load: it falls, and weighs
  void carry(const Inertia & inertia) { inertia_ = inertia; }
  // s, of a step at most
  void set_substep(double substep) { substep_ = substep; }

  // Move on by `period` seconds under these efforts. A joint whose effort is not a number is held
  // by its brake. Returns false, and stays, where the dynamics cannot be computed.
  bool step(const Vector & efforts, double period)
  {
    const double wanted = std::ceil(period / substep_ - 1e-9);
    const int count = wanted > 1.0 ? static_cast<int>(std::min(wanted, 1e6)) : 1;
    const Vector q_before = q, v_before = v;
    for (int k = 0; k < count; ++k)
    {
      if (substep(efforts, period / count)) continue;
      q = q_before;
      v = v_before;
      return false;
    }
    return true;
  }

  // what the motors gave at the last step, N m or N
  const Vector & applied() const { return applied_; }
  // what the floor exerted on the tip at the end of the last step, N, in the world
  const std::array<double, 3> & contact_force() const { return force_; }
  // what a sensor at the tip reads of it, in the axes of the tip: moment, then force
  Six tip_wrench() const
  {
    Placed tip;
    if (!tool_at(q, Placed::of(unturned, {}), tip)) return {};
    const Three f = turned(transposed(tip.R()), force_);
    return {0.0, 0.0, 0.0, f[0], f[1], f[2]};
  }

private:
  bool substep(const Vector & efforts, double h)
  {
    Vector push{}, ahead{}, resistance{}, resistance_ahead{};
    // (M + h slopes) dv = h (tau - what the motion needs without acceleration), friction included
    if (
      robot_package_inverse_dynamics(
        q.data(), v.data(), none_.data(), inertia_.data(), push.data()))
      return false;
    if (robot_package_mass_matrix(q.data(), inertia_.data(), M_.data())) return false;
    for (std::size_t i = 0; i < nv; ++i) ahead[i] = v[i] + slope_step;
    if (robot_package_friction(v.data(), resistance.data())) return false;
    if (robot_package_friction(ahead.data(), resistance_ahead.data())) return false;
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double limit = robot_package_effort_limits[i];
      applied_[i] = std::isfinite(efforts[i]) ? std::clamp(efforts[i], -limit, limit) : 0.0;
      push[i] = h * (applied_[i] - push[i]);
      M_[i * nv + i] += h * std::max(0.0, (resistance_ahead[i] - resistance[i]) / slope_step);
    }
    if (floor_.is_there && !touch(h, push)) return false;
    for (std::size_t i = 0; i < nv; ++i)
    {
      if (std::isfinite(efforts[i])) continue;
      for (std::size_t k = 0; k < nv; ++k)
      {  // of what the others feel, a brake takes its speed away
        if (k != i) push[k] += M_[k * nv + i] * v[i];
        M_[i * nv + k] = M_[k * nv + i] = 0.0;
      }
      M_[i * nv + i] = 1.0;
      push[i] = -v[i];
    }
    if (!factor_.of(M_)) return false;
    factor_.solve(push);
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double now = v[i] + push[i];
      q[i] += 0.5 * h * (v[i] + now);
      v[i] = now;
      const double lower = robot_package_lower_limits[i], upper = robot_package_upper_limits[i];
      if (q[i] < lower || q[i] > upper)
      {  // a stop takes all speed
        v[i] = q[i] < lower ? std::max(v[i], 0.0) : std::min(v[i], 0.0);
        q[i] = std::clamp(q[i], lower, upper);
      }
    }
    return is_finite(q) && is_finite(v);
  }

  // The floor's force, at the end of the step: f = k depth + d approach along the normal, and
  // against the slide mu f / speed of it; added to both sides.
  bool touch(double h, Vector & push)
  {
    force_ = {};
    std::array<double, 16> pose{};
    std::array<double, 6 * nv> J{};
    if (robot_package_pose_THE_TIP(q.data(), pose.data())) return false;
    const double depth = floor_.height - pose[11];
    if (depth <= 0.0) return true;
    if (robot_package_jacobian_THE_TIP(q.data(), J.data())) return false;
    std::array<Vector, 3> rows{};  // velocity of the tip in the world
    std::array<double, 3> speed{};
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      for (std::size_t i = 0; i < nv; ++i)
      {
        for (std::size_t k = 0; k < 3; ++k)
          rows[axis][i] += pose[4 * axis + k] * J[(3 + k) * nv + i];
        speed[axis] += rows[axis][i] * v[i];
      }
    }
    const double normal = floor_.stiffness * (depth - h * speed[2]) - floor_.damping * speed[2];
    if (normal <= 0.0) return true;  // it lifts off: a floor does not pull
    const double slide = std::hypot(speed[0], speed[1]);
    const double drag = floor_.friction * normal / std::max(slide, slowest_slide);
    const std::array<double, 3> slopes{drag, drag, floor_.damping + h * floor_.stiffness};
    force_ = {-drag * speed[0], -drag * speed[1], normal};
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      for (std::size_t i = 0; i < nv; ++i)
      {
        push[i] += h * force_[axis] * rows[axis][i];
        for (std::size_t k = 0; k < nv; ++k)
          M_[i * nv + k] += h * slopes[axis] * rows[axis][i] * rows[axis][k];
      }
    }
    return true;
  }

  static constexpr double slope_step = 1e-6;     // rad/s or m/s, for the slope of friction
  static constexpr double slowest_slide = 1e-3;  // m/s, below which friction is viscous

  Floor floor_{};
  Inertia inertia_ = unloaded();
  double substep_ = 1e-4;
  Vector applied_{}, none_{};
  std::array<double, 3> force_{};
  std::array<double, nv * nv> M_{};
  Cholesky factor_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__SIMULATION__SIMULATED_ROBOT_HPP_
