// SPDX-License-Identifier: Apache-2.0
// Gains and limits of the Cartesian impedance controller, as users give them and as the law takes
// them. For configuring: it allocates.
#ifndef ROBOT_PACKAGE__CARTESIAN__CARTESIAN_SETTINGS_HPP_
#define ROBOT_PACKAGE__CARTESIAN__CARTESIAN_SETTINGS_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "robot_package/cartesian/reachable_reference.hpp"
#include "robot_package/tool/pose_follower.hpp"
#include "robot_package/tool/settings.hpp"
#include "robot_package/tool/tool_constants.hpp"

namespace robot_package
{

// Axes of stiffness turn with nothing, with the tool as it is, or as it is wanted.
enum class Carrier
{
  root,
  tool,
  wanted
};

// Numbers of the law, in the order in which the kernel takes them.
struct CartesianGains
{
  double rotation_ratio, translation_ratio;            // of damping; 1: critical
  double posture_kp, posture_kd;                       // 1/s^2, 1/s
  double largest_force, largest_moment;                // N, N m
  double least_rotation, least_translation;            // mobilities, 1/(kg m^2), 1/kg
  double least_manipulability, singularity_stiffness;  // in the unit of sqrt(det(J J^T)); J
  double tank_size, tank_share, stiffness_time;        // J; of dissipated energy; s
  double reaction_time, largest_energy;                // s; J

  std::array<double, 15> numbers() const
  {
    return {rotation_ratio,       translation_ratio,     posture_kp,     posture_kd,
            largest_force,        largest_moment,        least_rotation, least_translation,
            least_manipulability, singularity_stiffness, tank_size,      tank_share,
            stiffness_time,       reaction_time,         largest_energy};
  }
};

// What is the same in every step.
struct CartesianSettings
{
  Placed tool = Placed::of(unturned, {});  // in the frame that it is on
  CartesianGains gains{};
  std::array<double, 36> stiffness{};   // the angular part first
  Six damping{-1, -1, -1, -1, -1, -1};  // negative: by the ratio, of the mass that moves
  Carrier carrier = Carrier::root;
  Rotation axes = unturned;
  std::array<double, 5> weights{1, 1, 1, 1, 0};  // inertia, Coriolis, gravity, springs, friction
  Vector lower{}, upper{}, margins{}, limit_torques{}, speeds{};
  Vector effort_limits{}, effort_rates{}, urgent_rates{};
  bool has_posture = false;
  Vector posture{};
  PointLimits turning, moving;  // of the target
  Six path_tolerance{};         // rad, m; infinite: none
  double wrench_rate = 100.0;   // N/s, N m/s

  std::array<double, 2> carried() const
  {
    return {carrier == Carrier::tool ? 1.0 : 0.0, carrier == Carrier::wanted ? 1.0 : 0.0};
  }
};

// Parameters as the controller declares them; empty lists: defaults.
struct CartesianWishes
{
  std::vector<double> tool_position{0, 0, 0}, tool_orientation{0, 0, 0};
  std::vector<double> stiffness, rotational_stiffness, damping, rotational_damping;
  std::string stiffness_axes = "root";
  std::vector<double> stiffness_orientation{0, 0, 0};
  double damping_ratio = 1.0, stiffness_time = 0.1, tank_size = 1.0, tank_share = 0.9;
  double posture_kp = 25.0, posture_kd = 10.0;
  double largest_force = 100.0, largest_moment = 30.0, largest_mass = 100.0, largest_inertia = 5.0;
  double largest_energy = 0.0;  // J; 0: that of the joints' velocity limits
  double joint_limit_margin = 0.1;
  double least_manipulability = 0.0, singularity_stiffness = 10.0;
  std::vector<double> joint_limit_torque, joint_velocity_limits, posture;
  std::vector<double> velocity_limits, acceleration_limits, workspace_lower, workspace_upper,
    path_tolerance;
  double follow_rate = 20.0, wrench_rate = 100.0;
  double reaction_time = 0.01;  // s, from a state to the torque that answers it
};

// Everything but the model's terms and the limits of efforts, which are to be there already.
// Returns what is wrong.
inline std::string settings_of(const CartesianWishes & given, CartesianSettings & out)
{
  using detail::each_of;
  const std::string three = " needs one number of at least 0, or one for each of x, y, z";
  const std::string joints = detail::for_joints();
  const std::string six =
    " needs a number of at least 0 for all or for each of rx, ry, rz, x, y, z";
  out.tool = Placed::of(
    rotation_of(detail::three_of(given.tool_orientation)), detail::three_of(given.tool_position));
  Six stiffness{};
  if (!each_of(given.rotational_stiffness, 3, stiffness.data()))
    return "rotational_stiffness" + three;
  if (!each_of(given.stiffness, 3, stiffness.data() + 3)) return "stiffness" + three;
  out.stiffness = {};
  for (std::size_t k = 0; k < 6; ++k) out.stiffness[7 * k] = stiffness[k];
  out.damping = {-1, -1, -1, -1, -1, -1};
  if (
    !given.rotational_damping.empty() && !each_of(given.rotational_damping, 3, out.damping.data()))
    return "rotational_damping" + three;
  if (!given.damping.empty() && !each_of(given.damping, 3, out.damping.data() + 3))
    return "damping" + three;
  if (!is_finite(stiffness) || !is_finite(out.damping)) return "stiffness and damping are finite";
  out.carrier = given.stiffness_axes == "tool"     ? Carrier::tool
                : given.stiffness_axes == "wanted" ? Carrier::wanted
                                                   : Carrier::root;
  out.axes = rotation_of(detail::three_of(given.stiffness_orientation));

  JointLimits bounds;
  if (!bounds.of(given.joint_velocity_limits, given.joint_limit_margin))
    return "joint_velocity_limits" + joints;
  out.lower = bounds.lower;
  out.upper = bounds.upper;
  out.margins = bounds.margins;
  out.speeds = bounds.speeds;
  double energy = 0.0;
  for (std::size_t i = 0; i < nv; ++i)
  {
    energy += 0.5 * most_inertia[i] * out.speeds[i] * out.speeds[i];
    const double effort = robot_package_effort_limits[i];
    out.limit_torques[i] = std::isfinite(effort) ? limit_share * effort : 0.0;
  }
  if (
    !given.joint_limit_torque.empty() &&
    !each_of(given.joint_limit_torque, nv, out.limit_torques.data()))
    return "joint_limit_torque" + joints;
  out.has_posture = !given.posture.empty();
  if (out.has_posture)
  {
    if (given.posture.size() != nv)
      return "posture needs a number for each of " + std::to_string(nv) + " joints";
    std::copy(given.posture.begin(), given.posture.end(), out.posture.begin());
    for (std::size_t i = 0; i < nv; ++i)
    {
      if (!(out.posture[i] >= robot_package_lower_limits[i] &&
            out.posture[i] <= robot_package_upper_limits[i]))
        return std::string("posture: joint ") + robot_package_joint_names[i] +
               " is not within its limits";
    }
  }

  Six speed{}, acceleration{};
  if (!each_of(given.velocity_limits, 6, speed.data())) return "velocity_limits" + six;
  if (!each_of(given.acceleration_limits, 6, acceleration.data()))
    return "acceleration_limits" + six;
  if (!each_of(given.path_tolerance, 6, out.path_tolerance.data())) return "path_tolerance" + six;
  for (Six * const limits : {&speed, &acceleration, &out.path_tolerance})
    std::transform(limits->begin(), limits->end(), limits->begin(), detail::none_is_infinite);
  out.turning = {given.follow_rate, detail::least_of(speed, 0), detail::least_of(acceleration, 0)};
  out.moving = {given.follow_rate, detail::least_of(speed, 3), detail::least_of(acceleration, 3)};
  for (const auto * const bound : {&given.workspace_lower, &given.workspace_upper})
  {
    if (!bound->empty() && bound->size() != 3)
      return "workspace_lower and workspace_upper need three numbers, or none";
  }
  if (!given.workspace_lower.empty()) out.moving.lower = detail::three_of(given.workspace_lower);
  if (!given.workspace_upper.empty()) out.moving.upper = detail::three_of(given.workspace_upper);
  for (std::size_t k = 0; k < 3; ++k)
  {
    if (!(out.moving.lower[k] <= out.moving.upper[k]))
      return "workspace_lower is above workspace_upper";
  }
  out.wrench_rate = given.wrench_rate;
  out.gains = {
    given.damping_ratio,
    given.damping_ratio,
    given.posture_kp,
    given.posture_kd,
    std::min(given.largest_force, 1e12),
    std::min(given.largest_moment, 1e12),
    1.0 / given.largest_inertia,
    1.0 / given.largest_mass,
    given.least_manipulability,
    given.singularity_stiffness,
    given.tank_size,
    given.tank_share,
    given.stiffness_time,
    given.reaction_time,
    given.largest_energy > 0.0 ? given.largest_energy : energy};
  return is_finite(out.gains.numbers()) ? "" : "a gain or a limit is not finite";
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__CARTESIAN_SETTINGS_HPP_
