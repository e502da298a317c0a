// SPDX-License-Identifier: Apache-2.0
// A controller for ros2_control with the feedforward law of an exported robot in its update:
//   rbd_dynamics export robot.urdf --name robot --kernels feedforward -o robot
#ifndef EXPORTED_CONTROLLER__EXPORTED_CONTROLLER_HPP_
#define EXPORTED_CONTROLLER__EXPORTED_CONTROLLER_HPP_

#include <array>
#include <mutex>
#include <string>

#include "controller_interface/controller_interface.hpp"
#include "robot.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

namespace exported_controller
{

// Commands the effort of all joints: the model's torque of the motion that is wanted, and a PD around it.
//
// It holds the position that it was activated in until set-points come on ~/reference: a JointTrajectory with one
// point, of which velocities and accelerations may be missing, joints in any order. A set-point older than
// `reference_timeout` counts as a position to hold. Nothing is allocated or locked for long in `update`.
//
// Parameters: kp, kd (one number a joint, N m/rad and N m s/rad), reference_timeout (s, 0.1), payload.frame ("": none),
// payload.mass (kg), payload.com (m, three numbers in the frame).
class ExportedController : public controller_interface::ControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Vector = std::array<double, robot::nv>;
  struct SetPoint
  {
    Vector position, velocity, acceleration;
  };

  bool read_state();
  void receive(const trajectory_msgs::msg::JointTrajectory & message);

  robot::Robot robot_;
  Vector q_, v_, effort_, wanted_, limits_, no_offsets_{};
  std::array<double, 6 * robot::nv> motion_{};  // rows: powers of time
  std::array<double, 2 * robot::nv> gains_{};
  double reference_timeout_ = 0.1;

  rclcpp::Subscription<trajectory_msgs::msg::JointTrajectory>::SharedPtr subscription_;
  std::mutex mutex_;  // of the two that follow; update only tries it
  SetPoint received_{};
  bool is_new_ = false;
  SetPoint set_point_{};
  double since_ = 0.0;  // s since a set-point came
};

}  // namespace exported_controller

#endif  // EXPORTED_CONTROLLER__EXPORTED_CONTROLLER_HPP_
