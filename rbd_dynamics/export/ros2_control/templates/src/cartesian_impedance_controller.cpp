// SPDX-License-Identifier: Apache-2.0
#include "robot_package/cartesian/cartesian_impedance_controller.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/qos.hpp"
#include "robot_package/cartesian/cartesian_stability.hpp"
#include "robot_package/cartesian/target_stiffness.hpp"

namespace robot_package
{

using controller_interface::return_type;

std::string CartesianImpedanceController::configure()
{
  take_parameters();
  const auto & p = parameters_;
  CartesianWishes wishes;
  wishes.tool_position = p.tool_position;
  wishes.tool_orientation = p.tool_orientation;
  wishes.stiffness = p.stiffness;
  wishes.rotational_stiffness = p.rotational_stiffness;
  wishes.damping = p.damping;
  wishes.rotational_damping = p.rotational_damping;
  wishes.damping_ratio = p.damping_ratio;
  wishes.stiffness_axes = p.stiffness_axes;
  wishes.stiffness_orientation = p.stiffness_orientation;
  wishes.posture = p.posture;
  wishes.posture_kp = p.posture_kp;
  wishes.posture_kd = p.posture_kd;
  wishes.largest_force = p.largest_force;
  wishes.largest_moment = p.largest_moment;
  wishes.largest_mass = p.largest_mass;
  wishes.largest_inertia = p.largest_inertia;
  wishes.largest_energy = p.largest_energy;
  wishes.wrench_rate = p.wrench_rate;
  wishes.joint_velocity_limits = p.joint_velocity_limits;
  wishes.joint_limit_margin = p.joint_limit_margin;
  wishes.joint_limit_torque = p.joint_limit_torque;
  wishes.least_manipulability = p.least_manipulability;
  wishes.singularity_stiffness = p.singularity_stiffness;
  wishes.follow_rate = p.follow_rate;
  wishes.velocity_limits = p.velocity_limits;
  wishes.acceleration_limits = p.acceleration_limits;
  wishes.workspace_lower = p.workspace_lower;
  wishes.workspace_upper = p.workspace_upper;
  wishes.path_tolerance = p.path_tolerance;
  std::string wrong = bound(settings_);
  wishes.reaction_time = reaction_time_of(
    p.reaction_time, lateness(timing_), settings_.effort_limits, settings_.effort_rates);
  if (wrong.empty()) wrong = settings_of(wishes, settings_);
  if (!wrong.empty()) return wrong;
  weigh(p.terms, settings_.weights);
  law_.configure(settings_);
  std::array<double, 36> old_stiffness{};
  (void)stiffnesses_.take(old_stiffness);
  return "";
}

std::string CartesianImpedanceController::problem_with(const Inertia & inertia) const
{
  return instability_of(settings_, inertia, timing_);
}

std::vector<EffortController::ReferenceName> CartesianImpedanceController::reference_names() const
{
  std::vector<std::string> names;
  if (parameters_.reference_interfaces == "pose")
  {
    names = {"position.x",    "position.y",    "position.z",   "orientation.x",
             "orientation.y", "orientation.z", "orientation.w"};
  }
  else
  {
    names = {"linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"};
  }
  std::vector<ReferenceName> made;
  for (const auto & name : names) made.emplace_back("", name);
  return made;
}

void CartesianImpedanceController::subscribe()
{
  const auto node = get_node();
  const auto qos = rclcpp::SystemDefaultsQoS();
  poses_ = node->create_subscription<PoseStamped>(
    "~/target_pose", qos, [this](const PoseStamped::SharedPtr message) { receive(*message); });
  twists_ = node->create_subscription<TwistStamped>(
    "~/target_twist", qos, [this](const TwistStamped::SharedPtr message) { receive(*message); });
  pressings_ = node->create_subscription<WrenchStamped>(
    "~/target_wrench", qos, [this](const WrenchStamped::SharedPtr message) { receive(*message); });
  stiffenings_ = node->create_subscription<Float64MultiArray>(
    "~/target_stiffness", qos,
    [this](const Float64MultiArray::SharedPtr message) { receive(*message); });
}

void CartesianImpedanceController::unsubscribe()
{
  poses_.reset();
  twists_.reset();
  pressings_.reset();
  stiffenings_.reset();
}

bool CartesianImpedanceController::start()
{
  ToolWish old_wish{};
  Wrench old_wrench{};
  (void)wishes_.take(old_wish);
  (void)wrenches_.take(old_wrench);
  std::array<double, 36> stiffness;
  if (stiffnesses_.take(stiffness)) law_.want_stiffness(stiffness);
  return law_.start(q_);
}

// It stands where it is wanted then.
void CartesianImpedanceController::forget()
{
  last_.fill(nothing);
  refuses_ = false;
  law_.hold();
}

void CartesianImpedanceController::follow(const std::vector<double> & references)
{
  const bool is_said = std::all_of(
    references.begin(), references.end(), [](double value) { return std::isfinite(value); });
  if (!is_said) return;  // a pose stays, a twist ends
  if (references.size() == 7)
  {
    if (std::equal(references.begin(), references.end(), last_.begin())) return;
    std::copy(references.begin(), references.end(), last_.begin());
    Placed goal;
    const std::array<double, 4> quaternion{last_[3], last_[4], last_[5], last_[6]};
    refuses_ = !place({last_[0], last_[1], last_[2]}, quaternion, goal) || !law_.go_to(goal);
  }
  else
  {
    const auto & r = references;
    refuses_ = !law_.drive({r[3], r[4], r[5], r[0], r[1], r[2]}, 1.5 * timing_.period);
  }
}

return_type CartesianImpedanceController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  if (ToolWish wish; wishes_.take(wish))
  {
    if (wish.own)
    {
      const Rotation R = law_.reference().placed().R();
      const Three w = turned(R, {wish.twist[0], wish.twist[1], wish.twist[2]});
      const Three v = turned(R, {wish.twist[3], wish.twist[4], wish.twist[5]});
      wish.twist = {w[0], w[1], w[2], v[0], v[1], v[2]};
    }
    refuses_ =
      wish.is_pose ? !law_.go_to(wish.pose) : !law_.drive(wish.twist, parameters_.twist_timeout);
  }
  return return_type::OK;
}

bool CartesianImpedanceController::compute(double period)
{
  Wrench wrench;
  if (wrenches_.take(wrench)) law_.press(wrench);
  std::array<double, 36> stiffness;
  if (stiffnesses_.take(stiffness)) law_.want_stiffness(stiffness);
  return law_.step(q_, v_, period) == Status::ok;
}

void CartesianImpedanceController::receive(const PoseStamped & message)
{
  ToolWish wish;
  std::string wrong = wish_of(message, wish);
  if (wrong.empty() && !law_.is_in_workspace(wish.pose))
    wrong = "it is outside workspace_lower and workspace_upper";
  if (!wrong.empty()) return refuse("target pose refused: " + wrong);
  wishes_.put(wish);
}

void CartesianImpedanceController::receive(const TwistStamped & message)
{
  ToolWish wish;
  std::string wrong = wish_of(message, is_tool(message.header.frame_id), "tool's", wish);
  if (wrong.empty() && !is_within(wish.twist, settings_.turning.speed, settings_.moving.speed))
    wrong = "it is beyond velocity_limits";
  if (!wrong.empty()) return refuse("target twist refused: " + wrong);
  wishes_.put(wish);
}

void CartesianImpedanceController::receive(const WrenchStamped & message)
{
  const auto &f = message.wrench.force, &m = message.wrench.torque;
  const bool own = is_tool(message.header.frame_id);
  Wrench wrench{};
  const Six given{m.x, m.y, m.z, f.x, f.y, f.z};
  std::copy(given.begin(), given.end(), wrench.begin() + (own ? 6 : 0));
  if (!own && !is_root(message.header.frame_id))
  {
    refuse(
      "target wrench refused: it is in frame " + message.header.frame_id +
      ", neither the root's nor the tool's");
  }
  else if (!is_finite(given))
  {
    refuse("target wrench refused: it is not finite");
  }
  else if (
    std::hypot(m.x, m.y, m.z) > settings_.gains.largest_moment ||
    std::hypot(f.x, f.y, f.z) > settings_.gains.largest_force)
  {
    refuse("target wrench refused: it is beyond largest_moment or largest_force");
  }
  else
  {
    wrenches_.put(wrench);
  }
}

void CartesianImpedanceController::receive(const Float64MultiArray & message)
{
  CartesianSettings changed = settings_;
  std::string wrong = stiffness_of(
    message.data, {parameters_.largest_stiffness[0], parameters_.largest_stiffness[1]},
    changed.stiffness);
  if (wrong.empty()) wrong = instability_of(changed, inertia(), timing_, "it is");
  if (!wrong.empty()) return refuse("target stiffness refused: " + wrong);
  settings_ = changed;
  stiffnesses_.put(settings_.stiffness);
}

void CartesianImpedanceController::describe(Condition & condition) const
{
  const auto & out = law_.output();
  const Six & e = out.error;
  condition.wanted = out.wanted;
  condition.state =
    10 * static_cast<int>(law_.mode()) + (refuses_ ? 9 : static_cast<int>(law_.stopped()));
  condition.joint = static_cast<int>(law_.stopped_by());
  condition.numbers = {
    law_.reference().pace(), out.manipulability, out.braking, std::hypot(e[3], e[4], e[5])};
}

EffortController::Told CartesianImpedanceController::tell_of(const Condition & condition) const
{
  Told told;
  const auto & numbers = condition.numbers;
  const double pace = numbers[0], manipulability = numbers[1], braking = numbers[2],
               error = numbers[3];
  const auto stopped = condition.state % 10;
  told.warns = stopped != 0 || braking > 0.0;
  if (stopped == 9)
  {
    told.message = "the reference is refused: it is no pose, or outside the workspace";
  }
  else if (stopped == static_cast<int>(Stopped::joint_at_limit))
  {
    told.message = std::string("the tool does not reach its target: joint ") +
                   robot_package_joint_names[condition.joint] +
                   " is at its limit; it is held where it is";
  }
  else if (stopped == static_cast<int>(Stopped::singular))
  {
    told.message =
      "the tool does not reach its target: the arm is in or near a singular posture there; it is "
      "held "
      "where it is";
  }
  else if (stopped == static_cast<int>(Stopped::off_path))
  {
    told.message =
      "the tool was farther from its target than path_tolerance: it is held where it is";
  }
  else if (stopped == static_cast<int>(Stopped::moved_while_held))
  {
    told.message = "the robot was moved while it was held: it is held where it is now";
  }
  else if (braking > 0.0)
  {
    told.message = "joints are kept from going faster than their velocity limits";
  }
  else
  {
    const char * const modes[] = {"holding", "on its way to a pose", "moving with a twist"};
    told.message = modes[condition.state / 10];
  }
  told.values = {
    {"pace", std::to_string(pace)},
    {"manipulability", std::to_string(manipulability)},
    {"error, mm", std::to_string(1e3 * error)}};
  return told;
}

}  // namespace robot_package

PLUGINLIB_EXPORT_CLASS(
  robot_package::CartesianImpedanceController, controller_interface::ChainableControllerInterface)
