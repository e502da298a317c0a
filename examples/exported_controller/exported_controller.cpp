// SPDX-License-Identifier: Apache-2.0
#include "exported_controller.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"
#include "rclcpp/qos.hpp"

namespace exported_controller
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

static_assert(ROBOT_NQ == ROBOT_NV && ROBOT_JOINTS == ROBOT_NV, "every joint has one degree of freedom");
static_assert(std::is_same_v<robot::Real, double>, "exported in double precision");

// inertia, Coriolis, gravity, springs, friction; at the desired state; computed torque. A robot that compensates its
// weight itself needs 0 for gravity.
static constexpr std::array<double, 7> weights{1, 1, 1, 1, 0, 0, 0};

CallbackReturn ExportedController::on_init()
{
  const std::vector<double> none(robot::nv, 0.0);
  auto_declare<std::vector<double>>("kp", none);
  auto_declare<std::vector<double>>("kd", none);
  auto_declare<double>("reference_timeout", 0.1);
  auto_declare<std::string>("payload.frame", "");
  auto_declare<double>("payload.mass", 0.0);
  auto_declare<std::vector<double>>("payload.com", {0.0, 0.0, 0.0});
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration ExportedController::command_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * joint : robot_joint_names) wanted.names.push_back(std::string(joint) + "/effort");
  return wanted;
}

InterfaceConfiguration ExportedController::state_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * joint : robot_joint_names) {
    wanted.names.push_back(std::string(joint) + "/position");
    wanted.names.push_back(std::string(joint) + "/velocity");
  }
  return wanted;
}

CallbackReturn ExportedController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  const auto kp = node->get_parameter("kp").as_double_array(), kd = node->get_parameter("kd").as_double_array();
  const auto com = node->get_parameter("payload.com").as_double_array();
  const auto frame = node->get_parameter("payload.frame").as_string();
  const auto good = [](double gain) { return std::isfinite(gain) && gain >= 0.0; };
  if (kp.size() != robot::nv || kd.size() != robot::nv || !std::all_of(kp.begin(), kp.end(), good) ||
      !std::all_of(kd.begin(), kd.end(), good)) {
    RCLCPP_ERROR(node->get_logger(), "kp and kd need a number of at least 0 for each of %d joints", ROBOT_JOINTS);
    return CallbackReturn::ERROR;
  }
  std::copy(kp.begin(), kp.end(), gains_.begin());
  std::copy(kd.begin(), kd.end(), gains_.begin() + robot::nv);
  reference_timeout_ = node->get_parameter("reference_timeout").as_double();
  if (!(reference_timeout_ >= 0.0)) {  // of a NaN no age would be too much
    RCLCPP_ERROR(node->get_logger(), "reference_timeout needs a number of at least 0");
    return CallbackReturn::ERROR;
  }
  // without a limit in the description: a number that no robot reaches
  std::transform(robot_effort_limits, robot_effort_limits + robot::nv, limits_.begin(), [](double limit) {
    return std::min(limit, 1e9);
  });
  robot_.detach();
  if (!frame.empty()) {
    const auto end = robot_frame_names + ROBOT_FRAMES;
    const auto found = std::find(robot_frame_names, end, frame);
    if (found == end || com.size() != 3 ||
        robot_.attach(static_cast<int>(found - robot_frame_names), node->get_parameter("payload.mass").as_double(), com) !=
          robot::Status::ok) {
      RCLCPP_ERROR(node->get_logger(), "payload at %s: no such frame, or no such load", frame.c_str());
      return CallbackReturn::ERROR;
    }
  }
  subscription_ = node->create_subscription<trajectory_msgs::msg::JointTrajectory>(
    "~/reference", rclcpp::SystemDefaultsQoS(),
    [this](const trajectory_msgs::msg::JointTrajectory::SharedPtr message) { receive(*message); });
  return CallbackReturn::SUCCESS;
}

void ExportedController::receive(const trajectory_msgs::msg::JointTrajectory & message)
{
  const auto & names = message.joint_names;
  const auto node = get_node();
  if (message.points.size() != 1 || message.points[0].positions.size() != names.size()) {
    RCLCPP_WARN(node->get_logger(), "reference ignored: it needs one point with a position for each of its joints");
    return;
  }
  const auto & point = message.points[0];
  SetPoint given{};
  for (std::size_t i = 0; i < robot::nv; ++i) {
    const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), robot_joint_names[i]) - names.begin());
    if (place == names.size()) {
      RCLCPP_WARN(node->get_logger(), "reference ignored: joint %s is missing", robot_joint_names[i]);
      return;
    }
    given.position[i] = point.positions[place];
    given.velocity[i] = place < point.velocities.size() ? point.velocities[place] : 0.0;
    given.acceleration[i] = place < point.accelerations.size() ? point.accelerations[place] : 0.0;
    if (!std::isfinite(given.position[i] + given.velocity[i] + given.acceleration[i])) {
      RCLCPP_WARN(node->get_logger(), "reference ignored: joint %s is not finite", robot_joint_names[i]);
      return;
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  received_ = given;
  is_new_ = true;
}

bool ExportedController::read_state()
{
  for (std::size_t i = 0; i < robot::nv; ++i) {
    const auto position = state_interfaces_[2 * i].get_optional(), velocity = state_interfaces_[2 * i + 1].get_optional();
    if (!position || !velocity) return false;
    q_[i] = *position;
    v_[i] = *velocity;
  }
  return true;
}

CallbackReturn ExportedController::on_activate(const rclcpp_lifecycle::State &)
{
  if (!read_state() || !std::all_of(q_.begin(), q_.end(), [](double q) { return std::isfinite(q); })) {
    RCLCPP_ERROR(get_node()->get_logger(), "the robot's position is not known");
    return CallbackReturn::ERROR;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  is_new_ = false;  // what came before is of another time
  set_point_ = {q_, {}, {}};
  since_ = 0.0;
  return CallbackReturn::SUCCESS;
}

CallbackReturn ExportedController::on_deactivate(const rclcpp_lifecycle::State &)
{
  bool all = true;
  for (auto & command : command_interfaces_) all = command.set_value(0.0) && all;
  return all ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

return_type ExportedController::update(const rclcpp::Time &, const rclcpp::Duration & period)
{
  since_ += period.seconds();
  if (std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock); lock && is_new_) {
    set_point_ = received_;
    is_new_ = false;
    since_ = 0.0;
  }
  if (since_ > reference_timeout_) set_point_.velocity = set_point_.acceleration = {};
  if (!read_state()) return return_type::ERROR;
  for (std::size_t i = 0; i < robot::nv; ++i) {
    motion_[i] = set_point_.position[i];
    motion_[robot::nv + i] = set_point_.velocity[i];
    motion_[2 * robot::nv + i] = 0.5 * set_point_.acceleration[i];
  }
  constexpr std::array<double, 1> now{0.0};
  const auto status =
    robot_.feedforward(q_, v_, motion_, now, weights, gains_, no_offsets_, limits_, effort_, wanted_);
  if (status != robot::Status::ok) return return_type::ERROR;  // and no number that is not known to be right
  for (std::size_t i = 0; i < robot::nv; ++i) {
    if (!command_interfaces_[i].set_value(effort_[i])) return return_type::ERROR;
  }
  return return_type::OK;
}

}  // namespace exported_controller

PLUGINLIB_EXPORT_CLASS(exported_controller::ExportedController, controller_interface::ControllerInterface)
