// SPDX-License-Identifier: Apache-2.0
#include "robot_package/feedforward/feedforward_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"
#include "rclcpp/qos.hpp"

namespace robot_package
{

using controller_interface::return_type;
using robot_package_settings::Params;

std::string FeedforwardController::settings_from(
  const Params & given, FeedforwardSettings & settings) const
{
  const std::string each =
    " needs a number of at least 0 for each of " + std::to_string(nv) + " joints, or none";
  if (!by_joint(given.kp, {}, settings.kp)) return "kp" + each;
  if (!by_joint(given.kd, {}, settings.kd)) return "kd" + each;
  const std::string wrong = effort_bounds(
    given.effort_limits, given.effort_rates, settings.effort_limits, settings.effort_rates);
  if (!wrong.empty()) return wrong;
  if (!is_finite(settings.kp) || !is_finite(settings.kd)) return "kp and kd are finite";
  const bool computed = given.law == "computed_torque";
  if (computed && !has(given.terms, "inertia"))
  {
    return "law computed_torque needs the term inertia: its feedback is an acceleration";
  }
  weigh(given.terms, settings.weights);
  settings.weights[5] = given.evaluate_at == "desired" ? 1.0 : 0.0;
  settings.weights[6] = computed ? 1.0 : 0.0;
  settings.has_positions = has(given.reference_interfaces, "position");
  const bool efforts_alone =
    given.reference_interfaces.size() == 1 && has(given.reference_interfaces, "effort");
  if (!settings.has_positions && !efforts_alone)
    return "reference_interfaces are position, and others, or effort alone";
  return "";
}

std::string FeedforwardController::configure()
{
  take_parameters();
  const std::string wrong = settings_from(parameters_, settings_);
  if (wrong.empty()) law_.configure(settings_);
  return wrong;
}

std::string FeedforwardController::problem_with(const Inertia & inertia) const
{
  const double growth =
    worst_growth_rate(inertia, settings_.kp, settings_.kd, settings_.weights[6] == 1.0, timing_);
  if (growth <= allowed_growth) return "";
  return "kp and kd are unstable at " + std::to_string(1.0 / timing_.period) +
         " Hz with a delay of " + std::to_string(timing_.delay) +
         " s: in a posture within the joints' limits errors grow by a factor of e in " +
         std::to_string(1.0 / growth) + " s (`rbd_dynamics gains` computes gains that are stable)";
}

std::vector<EffortController::ReferenceName> FeedforwardController::reference_names() const
{
  std::vector<ReferenceName> made;
  for (const auto & name : parameters_.reference_interfaces)
  {
    for (const char * joint : robot_package_joint_names) made.emplace_back(joint, name);
  }
  return made;
}

void FeedforwardController::subscribe()
{
  subscription_ = get_node()->create_subscription<JointTrajectory>(
    "~/reference", rclcpp::SystemDefaultsQoS(),
    [this](const JointTrajectory::SharedPtr message) { receive(*message); });
}

void FeedforwardController::unsubscribe() { subscription_.reset(); }

bool FeedforwardController::start()
{
  Reference old{};
  (void)received_.take(old);
  since_ = std::numeric_limits<double>::infinity();
  law_.start(q_);
  return true;
}

void FeedforwardController::follow(const std::vector<double> & references)
{
  auto from = references.begin();
  for (const auto & name : parameters_.reference_interfaces)
  {
    // by their first letters: position, velocity, acceleration, effort
    Vector & values = name[0] == 'p'   ? reference_.position
                      : name[0] == 'v' ? reference_.velocity
                      : name[0] == 'a' ? reference_.acceleration
                                       : reference_.effort;
    std::copy_n(from, nv, values.begin());
    from += nv;
  }
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  since_ += period.seconds();
  if (received_.take(reference_)) since_ = 0.0;
  if (since_ > parameters_.reference_timeout)
    reference_ = Reference::none();  // the law holds what it wanted last
  return return_type::OK;
}

bool FeedforwardController::compute(double period)
{
  return law_.step(q_, v_, reference_, period) == Status::ok;
}

void FeedforwardController::describe(Condition & condition) const
{
  condition.wanted = law_.wanted();
  condition.state = law_.holds() ? 1 : 0;
}

EffortController::Told FeedforwardController::tell_of(const Condition & condition) const
{
  return {false, condition.state == 1 ? "holding" : "following", {}};
}

void FeedforwardController::receive(const JointTrajectory & message)
{
  const auto & names = message.joint_names;
  const auto logger = get_node()->get_logger();
  if (message.points.size() != 1 || message.points[0].positions.size() != names.size())
  {
    RCLCPP_WARN(
      logger, "reference ignored: it needs one point with a position for each of its joints");
    return;
  }
  const auto & point = message.points[0];
  for (const auto * each : {&point.velocities, &point.accelerations, &point.effort})
  {
    if (!each->empty() && each->size() != names.size())
    {
      RCLCPP_WARN(
        logger,
        "reference ignored: velocities, accelerations and effort have a number for each of its "
        "joints, or none");
      return;
    }
  }
  Reference given = Reference::none();
  for (std::size_t i = 0; i < nv; ++i)
  {
    const auto place = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), robot_package_joint_names[i]) - names.begin());
    if (place == names.size())
    {
      RCLCPP_WARN(logger, "reference ignored: joint %s is missing", robot_package_joint_names[i]);
      return;
    }
    given.position[i] = point.positions[place];
    given.velocity[i] = point.velocities.empty() ? 0.0 : point.velocities[place];
    given.acceleration[i] = point.accelerations.empty() ? 0.0 : point.accelerations[place];
    given.effort[i] = point.effort.empty() ? 0.0 : point.effort[place];
    if (!std::isfinite(
          given.position[i] + given.velocity[i] + given.acceleration[i] + given.effort[i]))
    {
      RCLCPP_WARN(
        logger, "reference ignored: joint %s is not finite", robot_package_joint_names[i]);
      return;
    }
  }
  received_.put(given);
}

}  // namespace robot_package

PLUGINLIB_EXPORT_CLASS(
  robot_package::FeedforwardController, controller_interface::ChainableControllerInterface)
