// SPDX-License-Identifier: Apache-2.0
#include "robot_package/hybrid/hybrid_force_controller.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/qos.hpp"
#include "robot_package/common/digits.hpp"
#include "robot_package/hybrid/hybrid_stability.hpp"

namespace robot_package
{

using controller_interface::return_type;

// Gains are accelerations: they are the same whatever is carried.
std::string HybridForceController::problem_with(const Inertia &) const
{
  return instability_of(settings_, timing_, parameters_.sensor_delay);
}

std::vector<EffortController::ReferenceName> HybridForceController::reference_names() const
{
  std::vector<ReferenceName> made;
  for (const char * name :
       {"force.z", "linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"})
    made.emplace_back("", name);
  return made;
}

void HybridForceController::subscribe()
{
  const auto node = get_node();
  const auto qos = rclcpp::SystemDefaultsQoS();
  pressings_ = node->create_subscription<Float64>(
    "~/desired_force", qos, [this](const Float64::SharedPtr message) { receive(*message); });
  poses_ = node->create_subscription<PoseStamped>(
    "~/target_pose", qos, [this](const PoseStamped::SharedPtr message) { receive(*message); });
  twists_ = node->create_subscription<TwistStamped>(
    "~/target_twist", qos, [this](const TwistStamped::SharedPtr message) { receive(*message); });
  watch_parameters(true);
}

void HybridForceController::unsubscribe()
{
  watch_parameters(false);
  pressings_.reset();
  poses_.reset();
  twists_.reset();
}

std::vector<std::string> HybridForceController::sensor_interfaces() const
{
  return sensor_ ? sensor_->get_state_interface_names() : std::vector<std::string>{};
}

bool HybridForceController::connect_sensor()
{
  return sensor_ && sensor_->assign_loaned_state_interfaces(state_interfaces_);
}

void HybridForceController::release_sensor()
{
  if (sensor_) sensor_->release_interfaces();
  standings_.put({});  // it does nothing any more
}

bool HybridForceController::start()
{
  double old_force = 0.0;
  ToolWish old_wish{};
  (void)forces_.take(old_force);
  (void)wishes_.take(old_wish);
  refuses_ = false;
  take_changes();
  law_.start(q_);
  return true;
}

// What was wanted is over: it lets go, and holds.
void HybridForceController::forget()
{
  refuses_ = false;
  (void)law_.press(0.0);
}

void HybridForceController::follow(const std::vector<double> & references)
{
  const double force = references[0];
  refuses_ = std::isfinite(force) && !law_.press(force);
  const Six rates{references[4], references[5], references[6],
                  references[1], references[2], references[3]};
  if (is_finite(rates) && law_.mode() != HybridForceLaw::Mode::hold)
    (void)law_.drive(rates, 1.5 * law_.period());
}

return_type HybridForceController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  if (double force = 0.0; forces_.take(force))
  {
    refuses_ = !law_.press(force);
  }
  if (ToolWish wish; wishes_.take(wish))
  {
    if (!wish.is_pose && !wish.own)
    {
      const Rotation into = transposed(law_.place().task.R());
      const Three w = turned(into, {wish.twist[0], wish.twist[1], wish.twist[2]});
      const Three v = turned(into, {wish.twist[3], wish.twist[4], wish.twist[5]});
      wish.twist = {w[0], w[1], w[2], v[0], v[1], v[2]};
    }
    refuses_ =
      wish.is_pose ? !law_.go_to(wish.pose) : !law_.drive(wish.twist, law_.twist_timeout());
  }
  return return_type::OK;
}

bool HybridForceController::compute(double period)
{
  take_changes();
  const auto f = sensor_->get_forces(), m = sensor_->get_torques();
  const bool is_well =
    law_.step(q_, v_, {m[0], m[1], m[2], f[0], f[1], f[2]}, period) == Status::ok;
  standings_.put(law_.standing(q_));
  return is_well;
}

void HybridForceController::receive(const Float64 & message)
{
  const double most = settings_.limits.largest_force;
  if (!(message.data >= 0.0 && message.data <= most))
    return refuse(
      "desired force refused: it is " + digits(message.data) + ", expected 0 to largest_force (" +
      digits(most) + ")");
  forces_.put(message.data);
}

void HybridForceController::receive(const PoseStamped & message)
{
  ToolWish wish;
  const std::string wrong = wish_of(message, wish);
  if (!wrong.empty()) return refuse("target pose refused: " + wrong);
  wishes_.put(wish);
}

void HybridForceController::receive(const TwistStamped & message)
{
  ToolWish wish;
  std::string wrong = wish_of(message, message.header.frame_id == "task", "task's", wish);
  if (wrong.empty() && !is_within(wish.twist, settings_.turning.speed, settings_.moving.speed))
    wrong = "it is beyond velocity_limits";
  if (!wrong.empty()) return refuse("target twist refused: " + wrong);
  wishes_.put(wish);
}

void HybridForceController::describe(Condition & condition) const
{
  condition.wanted = law_.wanted();
  condition.state = 1000 * static_cast<int>(law_.reason()) + 100 * static_cast<int>(law_.mode()) +
                    10 * static_cast<int>(law_.stopped()) + (refuses_ ? 1 : 0);
  condition.joint = static_cast<int>(law_.stopped_by());
  condition.numbers = {law_.felt(),   law_.force(),   law_.distance(),
                       law_.figure(), law_.desired(), law_.bound()};
}

std::string HybridForceController::reason_of(Halt halt, double figure) const
{
  const PressingLimits & limits = settings_.limits;
  const auto more = [figure](const char * what, const char * unit, double most)
  { return what + digits(figure) + " " + unit + ", more than " + digits(most); };
  switch (halt)
  {
    case Halt::sensor_silent:
      return "the wrench has not changed for " + digits(figure) + " s: the sensor is silent";
    case Halt::sensor_not_finite:
      return "the wrench is not finite";
    case Halt::states_silent:
      return "no cycle for " + digits(figure) + " s";
    case Halt::force:
      return more("the force along the normal is ", "N", limits.largest_force);
    case Halt::impact:
      return more("the force along the normal is ", "N", limits.largest_force) +
             ": the blow of the approach; a lower approach_speed makes it smaller";
    case Halt::side_force:
      return more("the force beside the normal is ", "N", limits.largest_side_force) +
             ": something is in the way";
    case Halt::moment:
      return more("the moment at the tool's point is ", "N m", limits.largest_moment);
    case Halt::power:
      return more("the tool does ", "W on what it touches", limits.largest_power);
    case Halt::no_contact_way:
      return more("no contact after ", "m", limits.approach_distance) + " (approach_distance)";
    case Halt::no_contact_time:
      return more("no contact after ", "s", limits.approach_timeout) + " (approach_timeout)";
    case Halt::moves_away:
      return "approach stopped: the tool moves away from the surface";
    case Halt::stuck:
      return "approach stopped: it needs more than approach_force (" +
             digits(limits.approach_force) +
             " N) to keep its speed: something is in the way, the sensor does not feel the "
             "contact, or the model is "
             "wrong by so much";
    case Halt::reads_a_pull:
      return "approach stopped: the sensor reads a pull where the tool stands and pushes: it seems "
             "to report the wrench "
             "that the robot exerts (wrench_of_robot)";
    case Halt::beyond:
      return "no contact where the surface should be: " + digits(figure) + " m beyond it";
    case Halt::off_surface:
      return "the surface is off by " + digits(figure) +
             " m: it is not where it should be (press_tolerance)";
    case Halt::out_of_reach:
      return "the tool is " + digits(figure) + " from the task frame, out of reach";
    case Halt::turned:
      return "the tool is turned by " + digits(figure) + " rad, more than half a turn";
    case Halt::singular:
      return "singular: the arm is where force and motion cannot all be controlled";
    case Halt::contact_lost:
      return "contact lost";
    case Halt::gives_way:
      return "contact lost: what is pressed gives way, under " + digits(figure) + " N";
    case Halt::pulls:
      return "contact lost: " + digits(figure) +
             " N are felt, though joint torques press with none: the sensor drifts "
             "or is turned, or the load is another";
    case Halt::in_the_way:
      return "contact lost: something is in the way, with " + digits(figure) +
             " N beside the normal";
    case Halt::unfelt:
      return "contact lost: the sensor feels nothing, though something is in the way";
    case Halt::moved_while_held:
      return std::string("the robot was moved while it was held, by joint ") +
             robot_package_joint_names[static_cast<std::size_t>(figure)] +
             ": it is held where it is now";
    case Halt::left_behind:
      return "the tool did not follow the task frame, which has waited for " + digits(figure) +
             " s";
    case Halt::no:
    case Halt::by_request:
      break;
  }
  return "";
}

EffortController::Told HybridForceController::tell_of(const Condition & condition) const
{
  Told told;
  const auto [felt, force, distance, figure, desired, bound] = condition.numbers;
  const auto halt = static_cast<Halt>(condition.state / 1000);
  const int mode = condition.state / 100 % 10;
  const auto stopped = static_cast<HybridForceLaw::Stopped>(condition.state / 10 % 10);
  const std::string reason = mode == 0 ? reason_of(halt, figure) : "";
  const bool has_stopped = mode != 0 && stopped != HybridForceLaw::Stopped::no;
  const bool is_bounded = mode == static_cast<int>(HybridForceLaw::Mode::press) && desired > bound;
  told.warns = !reason.empty() || has_stopped || is_bounded || condition.state % 10 != 0;
  if (!reason.empty())
  {
    told.message = "holding: " + reason;
  }
  else if (condition.state % 10 != 0)
  {
    told.message =
      "what was wanted is refused: it is beyond largest_force or reach, or the tool does not press";
  }
  else if (has_stopped && stopped == HybridForceLaw::Stopped::joint_at_limit)
  {
    told.message = std::string("the tool does not reach its target: joint ") +
                   robot_package_joint_names[condition.joint] + " is at its limit";
  }
  else if (has_stopped && stopped == HybridForceLaw::Stopped::singular)
  {
    told.message = "the tool does not reach its target: the arm is near a singular posture there";
  }
  else if (has_stopped)
  {
    told.message = stopped == HybridForceLaw::Stopped::off_path
                     ? "the tool was farther from its target than path_tolerance"
                     : "the tool does not follow its target";
  }
  else if (is_bounded)
  {
    told.message =
      digits(desired) + " N are wanted, but " + digits(bound) +
      " pressed: of more the tool could not let go in time where contact or friction is lost "
      "(actuator_bandwidth, effort_rates, rotors, normal_speed)";
  }
  else
  {
    const char * const modes[] = {"holding", "on its way to the surface", "pressing"};
    told.message = modes[mode];
  }
  told.values = {
    {"force, N", std::to_string(felt)},
    {"wanted force, N", std::to_string(force)},
    {"from the surface, mm", std::to_string(1e3 * distance)}};
  return told;
}

}  // namespace robot_package

PLUGINLIB_EXPORT_CLASS(
  robot_package::HybridForceController, controller_interface::ChainableControllerInterface)
