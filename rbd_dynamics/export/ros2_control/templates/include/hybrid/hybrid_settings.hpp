// SPDX-License-Identifier: Apache-2.0
// Gains and limits of the controller that presses, as users give them and as the law takes them.
// For configuring: it allocates.
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_SETTINGS_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_SETTINGS_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "robot_package/hybrid/contact_sense.hpp"
#include "robot_package/hybrid/task_motion.hpp"
#include "robot_package/tool/pose_follower.hpp"
#include "robot_package/tool/settings.hpp"

namespace robot_package
{

// Numbers of the law, in the order in which the kernel takes them.
struct HybridGains
{
  Task kp{}, kd{};                                   // 1/s^2, 1/s
  double ki = 0.0, integral_limit = 20.0;            // of the force error, 1/s; N
  double normal_damping = 0.0;                       // 1/s
  double posture_kp = 0.0, posture_kd = 5.0;         // 1/s^2, 1/s
  double task_ki = 0.0, task_integral_limit = 20.0;  // 1/s; m/s^2, rad/s^2
  double reaction_time = 0.01;                       // s

  // With this share of damping, of stiffness its square, of the task's integral the cube.
  HybridGains softer(double share) const
  {
    HybridGains made = *this;
    const double stiffness = share * share;
    for (double & each : made.kp) each *= stiffness;
    for (double & each : made.kd) each *= share;
    made.posture_kp *= stiffness;
    made.posture_kd *= share;
    made.task_ki *= share;
    return made;
  }

  std::array<double, 2 * task_size + 10> numbers(double dt) const
  {
    std::array<double, 2 * task_size + 10> made{};
    std::copy(kp.begin(), kp.end(), made.begin());
    std::copy(kd.begin(), kd.end(), made.begin() + task_size);
    const double others[] = {ki,      integral_limit,      normal_damping, posture_kp, posture_kd,
                             task_ki, task_integral_limit, reaction_time,  1.0,        dt};
    std::copy(std::begin(others), std::end(others), made.begin() + 2 * task_size);
    return made;
  }
};

// Placements of tool and task frame, with what kernels read of them.
struct PressingPlace
{
  Placed tool = Placed::of(unturned, {}), task = Placed::of(unturned, {});
  double offset = 0.0;                       // m, of the tool's point from the surface
  Placed sensor = Placed::of(unturned, {});  // in the frame that the tool is on

  // The first 27 are those of the constraint alone.
  std::array<double, 55> parameters() const
  {
    std::array<double, 55> made{};
    const auto copy = [&made](const Placed & placed, std::size_t at)
    { std::copy(placed.begin(), placed.end(), made.begin() + static_cast<std::ptrdiff_t>(at)); };
    copy(tool, 2), copy(task, 14), copy(tool, 27), copy(task, 39);
    made[26] = offset;
    made[51] = 1.0;
    return made;
  }
};

// 1/s, with which an unknown load may be looked for: where cycles are as long as they should be,
// 2^(1 / load_steps) times as long, and so on.
constexpr std::size_t load_periods = 24;
using LoadRates = std::array<double, load_periods>;

// What is the same in every step.
struct HybridSettings
{
  PressingPlace place;
  HybridGains gains;
  PressingLimits limits;
  bool wrench_of_robot = false;     // the sensor reports what the robot exerts
  bool carries_own_weight = false;  // the robot compensates gravity itself
  Vector lower{}, upper{}, margins{}, speeds{};
  Vector effort_limits{}, effort_rates{}, urgent_rates{};
  PointLimits turning, moving;  // of the wanted motion
  double path_tolerance = 0.1;  // m, rad; infinite: none
  double actuator_lag = 0.0;    // s
  double twist_timeout = 0.5;   // s, after which a twist from the topic ends
  double period = 1e-3;         // s
  LoadRates load_rates{};       // see load_rates_of
  std::size_t unseen_steps =
    release_unseen;  // of release_step, from when contact is lost to when the push falls
};

// Parameters as the controller declares them; empty lists: defaults.
struct HybridWishes
{
  std::vector<double> tool_position{0, 0, 0}, tool_orientation{0, 0, 0};
  std::vector<double> task_position{0, 0, 0}, task_orientation{0, 0, 0};
  double contact_offset = 0.0;
  bool wrench_of_robot = false, gravity_compensated = false;
  std::vector<double> kp{1200.0}, kd{70.0};
  double task_ki = 8.0, task_integral_limit = 20.0;
  double ki = 5.0, integral_limit = 20.0, normal_damping = 30.0;
  double posture_kp = 25.0, posture_kd = 10.0;
  PressingLimits limits;  // largest_side_force 0: as largest_force
  std::vector<double> joint_velocity_limits, velocity_limits{0.5}, acceleration_limits{2.0};
  double path_tolerance = 0.1, follow_rate = 20.0, twist_timeout = 0.5;
  double reaction_time = 0.01;               // s, from a state to the torque that answers it
  double actuator_lag = 0.0, period = 1e-3;  // s
};

// Where the sensor is in the tip's frame, by the name of a frame of the robot; empty: at the tip.
// What is wrong is returned.
inline std::string sensor_at(const std::string & frame, Placed & out)
{
  const auto end = robot_package_frame_names + ROBOT_PACKAGE_FRAMES;
  const auto index_of = [end](const std::string & name)
  {
    return static_cast<std::size_t>(
      std::find(robot_package_frame_names, end, name) - robot_package_frame_names);
  };
  out = Placed::of(unturned, {});
  if (frame.empty()) return "";
  const std::size_t own = index_of(tool_frame), sensor = index_of(frame);
  if (sensor == ROBOT_PACKAGE_FRAMES) return "sensor_frame: the robot has no frame named " + frame;
  if (robot_package_frame_body[sensor] != robot_package_frame_body[own])
    return "sensor_frame: " + frame + " is not fixed to " + tool_frame;
  Placed tip, there;
  std::copy_n(robot_package_frame_placement[own], 12, tip.begin());
  std::copy_n(robot_package_frame_placement[sensor], 12, there.begin());
  const Rotation back = transposed(tip.R());
  const Three a = tip.p(), b = there.p();
  out = Placed::of(product(back, there.R()), turned(back, {b[0] - a[0], b[1] - a[1], b[2] - a[2]}));
  return "";
}

// Everything but the sensor's place and the limits of efforts, which are to be there already.
// Returns what is wrong.
inline std::string settings_of(const HybridWishes & given, HybridSettings & out)
{
  using detail::each_of;
  const std::string rows = " needs a number of at least 0 for all or for each of " +
                           std::to_string(task_size) + " directions along which the tool moves";
  PressingLimits & limits = out.limits;
  limits = given.limits;
  if (!(limits.largest_side_force > 0.0)) limits.largest_side_force = limits.largest_force;
  const std::pair<const char *, double> positive[] = {
    {"largest_force", limits.largest_force},
    {"largest_moment", limits.largest_moment},
    {"largest_power", limits.largest_power},
    {"force_rate", limits.force_rate},
    {"contact_force", limits.contact_force},
    {"approach_speed", limits.approach_speed},
    {"approach_force", limits.approach_force},
    {"approach_distance", limits.approach_distance},
    {"approach_timeout", limits.approach_timeout},
    {"normal_damping", given.normal_damping},
    {"reach", limits.reach},
    {"press_tolerance", limits.press_tolerance},
    {"follow_rate", given.follow_rate},
    {"constraint_tolerance", limits.constraint_tolerance},
    {"reaction_time", given.reaction_time}};
  for (const auto & [name, value] : positive)
  {
    if (!(value > 0.0 && std::isfinite(value)))
      return std::string(name) + " is a finite number above 0";
  }
  const std::pair<const char *, double> others[] = {
    {"sensor_timeout", limits.sensor_timeout},
    {"state_timeout", limits.state_timeout},
    {"contact_debounce", limits.contact_debounce},
    {"contact_timeout", limits.contact_timeout},
    {"normal_speed", limits.normal_speed},
    {"largest_side_force", limits.largest_side_force},
    {"hold_stiffness", limits.hold_stiffness},
    {"hold_damping", limits.hold_damping},
    {"hold_tolerance", limits.hold_tolerance},
    {"ki", given.ki},
    {"integral_limit", given.integral_limit},
    {"task_ki", given.task_ki},
    {"posture_kp", given.posture_kp},
    {"posture_kd", given.posture_kd},
    {"path_tolerance", given.path_tolerance},
    {"task_integral_limit", given.task_integral_limit}};
  for (const auto & [name, value] : others)
  {
    if (!(value >= 0.0 && std::isfinite(value)))
      return std::string(name) + " is a finite number of at least 0";
  }
  if (!(limits.contact_force < limits.largest_force))
    return "contact_force is not below largest_force";
  if (!std::isfinite(given.contact_offset)) return "contact_offset is a finite number";

  const std::pair<const char *, const std::vector<double> *> places[] = {
    {"tool_position", &given.tool_position},
    {"tool_orientation", &given.tool_orientation},
    {"task_position", &given.task_position},
    {"task_orientation", &given.task_orientation}};
  for (const auto & [name, list] : places)
  {
    const bool is_finite =
      std::all_of(list->begin(), list->end(), [](double value) { return std::isfinite(value); });
    if (list->size() != 3 || !is_finite) return std::string(name) + " needs three finite numbers";
  }
  using detail::three_of;
  out.place.tool =
    Placed::of(rotation_of(three_of(given.tool_orientation)), three_of(given.tool_position));
  out.place.task =
    Placed::of(rotation_of(three_of(given.task_orientation)), three_of(given.task_position));
  out.place.offset = given.contact_offset;
  out.wrench_of_robot = given.wrench_of_robot;
  out.carries_own_weight = given.gravity_compensated;

  HybridGains & gains = out.gains;
  if (!each_of(given.kp, task_size, gains.kp.data()) || !is_finite(gains.kp)) return "kp" + rows;
  if (!each_of(given.kd, task_size, gains.kd.data()) || !is_finite(gains.kd)) return "kd" + rows;
  gains.ki = given.ki;
  gains.integral_limit = given.integral_limit;
  gains.normal_damping = given.normal_damping;
  gains.posture_kp = given.posture_kp;
  gains.posture_kd = given.posture_kd;
  gains.task_ki = given.task_ki;
  gains.task_integral_limit = given.task_integral_limit;
  gains.reaction_time = given.reaction_time;

  JointLimits bounds;
  if (!bounds.of(given.joint_velocity_limits, joint_margin))
    return "joint_velocity_limits" + detail::for_joints();
  out.lower = bounds.lower;
  out.upper = bounds.upper;
  out.margins = bounds.margins;
  out.speeds = bounds.speeds;
  Six speed{}, acceleration{};
  const std::string six =
    " needs a number of at least 0 for all or for each of rx, ry, rz, x, y, z";
  if (!each_of(given.velocity_limits, 6, speed.data())) return "velocity_limits" + six;
  if (!each_of(given.acceleration_limits, 6, acceleration.data()))
    return "acceleration_limits" + six;
  for (Six * const each : {&speed, &acceleration})
    std::transform(each->begin(), each->end(), each->begin(), detail::none_is_infinite);
  out.turning = {given.follow_rate, detail::least_of(speed, 0), detail::least_of(acceleration, 0)};
  out.moving = {given.follow_rate, detail::least_of(speed, 3), detail::least_of(acceleration, 3)};
  out.path_tolerance = detail::none_is_infinite(given.path_tolerance);
  out.twist_timeout = given.twist_timeout;
  out.actuator_lag = given.actuator_lag;
  out.period = given.period;
  // slower cycles see a loss of contact later
  const double cycles = std::max(1.0, given.period / release_step);
  out.unseen_steps =
    static_cast<std::size_t>(std::ceil(cycles * static_cast<double>(release_unseen) - 1e-9));
  return "";
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_SETTINGS_HPP_
