// SPDX-License-Identifier: Apache-2.0
// Parameters of the controller that presses: taken when it is configured, and while it runs.
#include <memory>
#include <string>
#include <vector>

#include "robot_package/common/parameter_changes.hpp"
#include "robot_package/hybrid/hybrid_force_controller.hpp"
#include "robot_package/hybrid/hybrid_stability.hpp"

namespace robot_package
{

using P = robot_package_hybrid_settings::Params;

static const ParameterTable<P> & table()
{
  static const ParameterTable<P> made(
    {
      {"kp", &P::kp},
      {"kd", &P::kd},
      {"task_ki", &P::task_ki},
      {"task_integral_limit", &P::task_integral_limit},
      {"ki", &P::ki},
      {"integral_limit", &P::integral_limit},
      {"normal_damping", &P::normal_damping},
      {"posture_kp", &P::posture_kp},
      {"posture_kd", &P::posture_kd},
      {"largest_force", &P::largest_force},
      {"largest_side_force", &P::largest_side_force},
      {"largest_moment", &P::largest_moment},
      {"largest_power", &P::largest_power},
      {"force_rate", &P::force_rate},
      {"normal_speed", &P::normal_speed},
      {"contact_force", &P::contact_force},
      {"contact_debounce", &P::contact_debounce},
      {"contact_timeout", &P::contact_timeout},
      {"approach_speed", &P::approach_speed},
      {"approach_force", &P::approach_force},
      {"approach_distance", &P::approach_distance},
      {"approach_timeout", &P::approach_timeout},
      {"constraint_tolerance", &P::constraint_tolerance},
      {"press_tolerance", &P::press_tolerance},
      {"reach", &P::reach},
      {"hold_stiffness", &P::hold_stiffness},
      {"hold_damping", &P::hold_damping},
      {"hold_tolerance", &P::hold_tolerance},
      {"hold_load", &P::hold_load},
      {"follow_rate", &P::follow_rate},
      {"velocity_limits", &P::velocity_limits},
      {"acceleration_limits", &P::acceleration_limits},
      {"joint_velocity_limits", &P::joint_velocity_limits},
      {"path_tolerance", &P::path_tolerance},
      {"twist_timeout", &P::twist_timeout},
      {"sensor_timeout", &P::sensor_timeout},
      {"sensor_delay", &P::sensor_delay},
      {"state_timeout", &P::state_timeout},
      {"reaction_time", &P::reaction_time},
      {"task_position", &P::task_position},
      {"task_orientation", &P::task_orientation},
      {"contact_offset", &P::contact_offset},
      {"delay", &P::delay},
      {"actuator_bandwidth", &P::actuator_bandwidth},
    },
    {"effort_limits", "effort_rates", "gravity_compensated", "wrench_of_robot", "transition_time"});
  return made;
}

// What is wrong is returned, and then the settings may be half of both.
static std::string take(const P & p, const Timing & timing, HybridSettings & settings)
{
  HybridWishes wishes;
  wishes.tool_position = p.tool_position;
  wishes.tool_orientation = p.tool_orientation;
  wishes.task_position = p.task_position;
  wishes.task_orientation = p.task_orientation;
  wishes.contact_offset = p.contact_offset;
  wishes.wrench_of_robot = p.wrench_of_robot;
  wishes.gravity_compensated = p.gravity_compensated;
  wishes.kp = p.kp;
  wishes.kd = p.kd;
  wishes.task_ki = p.task_ki;
  wishes.task_integral_limit = p.task_integral_limit;
  wishes.ki = p.ki;
  wishes.integral_limit = p.integral_limit;
  wishes.normal_damping = p.normal_damping;
  wishes.posture_kp = p.posture_kp;
  wishes.posture_kd = p.posture_kd;
  wishes.joint_velocity_limits = p.joint_velocity_limits;
  wishes.velocity_limits = p.velocity_limits;
  wishes.acceleration_limits = p.acceleration_limits;
  wishes.path_tolerance = p.path_tolerance;
  wishes.follow_rate = p.follow_rate;
  wishes.twist_timeout = p.twist_timeout;
  PressingLimits & limits = wishes.limits;
  limits.sensor_timeout = p.sensor_timeout;
  limits.state_timeout = p.state_timeout;
  limits.contact_force = p.contact_force;
  limits.contact_debounce = p.contact_debounce;
  limits.contact_timeout = p.contact_timeout;
  limits.largest_force = p.largest_force;
  limits.largest_side_force = p.largest_side_force;
  limits.largest_moment = p.largest_moment;
  limits.largest_power = p.largest_power;
  limits.normal_speed = p.normal_speed;
  limits.constraint_tolerance = p.constraint_tolerance;
  limits.press_tolerance = p.press_tolerance;
  limits.reach = p.reach;
  limits.force_rate = p.force_rate;
  limits.approach_speed = p.approach_speed;
  limits.approach_force = p.approach_force;
  limits.approach_distance = p.approach_distance;
  limits.approach_timeout = p.approach_timeout;
  limits.hold_stiffness = p.hold_stiffness;
  limits.hold_damping = p.hold_damping;
  limits.hold_tolerance = p.hold_tolerance;
  limits.hold_load = p.hold_load;
  wishes.reaction_time = reaction_time_of(
    p.reaction_time, lateness(timing), settings.effort_limits, settings.effort_rates);
  wishes.period = timing.period;
  wishes.actuator_lag = lag_of(timing);
  const std::string wrong = settings_of(wishes, settings);
  if (wrong.empty()) settings.load_rates = load_rates_of(settings.limits, timing);
  return wrong;
}

std::string HybridForceController::configure()
{
  take_parameters();
  const auto & p = parameters_;
  std::string wrong = p.sensor_name.empty() ? "sensor_name is empty" : bound(settings_);
  if (wrong.empty()) wrong = sensor_at(p.sensor_frame, settings_.place.sensor);
  if (wrong.empty()) wrong = take(p, timing_, settings_);
  if (!wrong.empty()) return wrong;
  sensor_ = std::make_unique<semantic_components::ForceTorqueSensor>(p.sensor_name);
  HybridSettings old_change;
  HybridStanding old_standing;
  (void)changes_.take(old_change);
  (void)standings_.take(old_standing);
  standing_ = {};
  law_.configure(settings_);
  return "";
}

void HybridForceController::watch_parameters(bool watches)
{
  judge_.reset();
  changed_.reset();
  if (!watches) return;
  const auto node = get_node();
  using Given = std::vector<rclcpp::Parameter>;
  judge_ = node->add_on_set_parameters_callback(
    [this](const Given & given)
    {
      rcl_interfaces::msg::SetParametersResult result;
      result.reason = problem_with_change(given);
      result.successful = result.reason.empty();
      return result;
    });
  changed_ = node->add_post_set_parameters_callback([this](const Given & given) { change(given); });
}

// What is asked for is judged as a whole: by its own bounds, by stability, and by what the tool is
// doing now.
std::string HybridForceController::problem_with_change(const std::vector<rclcpp::Parameter> & given)
{
  P changed = parameters_;
  bool is_own = false;
  std::string wrong;
  for (const auto & each : given)
  {
    if (table().is_fixed(each))
      return each.get_name() + " is taken when the controller is configured: clean it up first";
    if (!table().has(each)) continue;
    is_own = true;
    if (wrong.empty()) wrong = table().take(each, changed);
  }
  if (!is_own) return "";
  const Timing timing = timing_of(changed);
  HybridSettings settings = settings_;
  if (wrong.empty()) wrong = take(changed, timing, settings);
  if (wrong.empty()) wrong = instability_of(settings, timing, changed.sensor_delay);
  (void)standings_.take(standing_);
  if (wrong.empty()) wrong = misfit_of(settings, standing_);
  return wrong.empty() ? "" : named(given) + ": " + wrong;
}

void HybridForceController::change(const std::vector<rclcpp::Parameter> & given)
{
  bool is_own = false;
  for (const auto & each : given) is_own = is_own || table().has(each);
  if (!is_own) return;
  take_parameters();
  if (take(parameters_, timing_, settings_).empty()) changes_.put(settings_);
}

void HybridForceController::take_changes()
{
  if (changes_.take(next_)) law_.change(next_);
}

}  // namespace robot_package
