// SPDX-License-Identifier: Apache-2.0
// The example controller in a loop, without ROS: what it commands is printed, a row a step.
#include <cmath>
#include <cstdio>

#include "controller_interface/controller_interface.hpp"
#include "robot.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

using trajectory_msgs::msg::JointTrajectory;
using controller_interface::CallbackReturn;

controller_interface::ControllerInterface * make_plugin();

static bool step(controller_interface::ControllerInterface & controller, const double * commands, const char * what)
{
  const bool well = controller.update(rclcpp::Time(), rclcpp::Duration(0.001)) == controller_interface::return_type::OK;
  std::printf("%s %d", what, well ? 1 : 0);
  for (std::size_t i = 0; i < robot::nv; ++i) std::printf(" %.17g", commands[i]);
  std::printf("\n");
  return well;
}

int main()
{
  std::unique_ptr<controller_interface::ControllerInterface> controller(make_plugin());
  auto & parameters = controller->get_node()->parameters;
  std::vector<double> kp(robot::nv, 20.0), kd(robot::nv, 3.0);
  parameters.emplace("kp", rclcpp::Parameter(kp));
  parameters.emplace("kd", rclcpp::Parameter(kd));
  parameters.emplace("payload.frame", rclcpp::Parameter(std::string(robot_frame_names[ROBOT_FRAMES - 1])));
  parameters.emplace("payload.mass", rclcpp::Parameter(0.7));
  if (controller->on_init() != CallbackReturn::SUCCESS) return 1;
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 2;

  std::optional<double> states[2 * robot::nv];
  double commands[robot::nv] = {};
  std::vector<hardware_interface::LoanedCommandInterface> command;
  std::vector<hardware_interface::LoanedStateInterface> state;
  for (std::size_t i = 0; i < robot::nv; ++i) {
    states[2 * i] = 0.1 * (i + 1);
    states[2 * i + 1] = 0.2 * (i + 1);
    command.emplace_back(&commands[i]);
  }
  for (auto & one : states) state.emplace_back(&one);
  if (controller->command_interface_configuration().names.size() != robot::nv) return 3;
  if (controller->state_interface_configuration().names.size() != 2 * robot::nv) return 4;
  controller->assign_interfaces(std::move(command), std::move(state));
  if (controller->on_activate({}) != CallbackReturn::SUCCESS) return 5;
  step(*controller, commands, "holds");

  const auto subscription =
    std::static_pointer_cast<rclcpp::Subscription<JointTrajectory>>(controller->get_node()->last_subscription);
  auto message = std::make_shared<JointTrajectory>();
  message->points.resize(1);
  for (std::size_t i = robot::nv; i-- > 0;) {  // in another order
    message->joint_names.push_back(robot_joint_names[i]);
    message->points[0].positions.push_back(0.1 * (i + 1) + 0.01);
    message->points[0].velocities.push_back(0.3);
    message->points[0].accelerations.push_back(-0.5);
  }
  subscription->callback(message);
  step(*controller, commands, "follows");
  auto wrong = std::make_shared<JointTrajectory>(*message);
  wrong->points[0].positions[0] = NAN;
  subscription->callback(wrong);
  step(*controller, commands, "ignores");
  for (int i = 0; i < 100; ++i) (void)controller->update(rclcpp::Time(), rclcpp::Duration(0.001));
  step(*controller, commands, "stale");
  states[0] = NAN;
  step(*controller, commands, "refuses");
  states[0].reset();
  step(*controller, commands, "unread");
  if (controller->on_deactivate({}) != CallbackReturn::SUCCESS) return 6;
  std::printf("ends 1");
  for (double command_now : commands) std::printf(" %.17g", command_now);
  std::printf("\n");
  parameters["reference_timeout"] = rclcpp::Parameter(static_cast<double>(NAN));
  if (controller->on_configure({}) != CallbackReturn::ERROR) return 8;
  parameters["reference_timeout"] = rclcpp::Parameter(0.1);
  parameters["kp"] = rclcpp::Parameter(std::vector<double>(robot::nv, -1.0));
  return controller->on_configure({}) == CallbackReturn::ERROR ? 0 : 7;
}
