// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__FEEDFORWARD_CONTROLLER_HPP_
#define ROBOT_PACKAGE__FEEDFORWARD_CONTROLLER_HPP_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "controller_interface/version.h"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "rbd_dynamics_interfaces/srv/set_payload.hpp"
#include "rclcpp_lifecycle/lifecycle_publisher.hpp"
#include "robot_package/feedforward_law.hpp"
#include "robot_package/feedforward_parameters.hpp"
#include "robot_package/mailbox.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

// Handles that are shared came with 4.44 of Jazzy, 5.13 of Kilted and 6.5.
#if CONTROLLER_INTERFACE_VERSION_GTE(6, 5, 0) ||                                             \
  (CONTROLLER_INTERFACE_VERSION_MAJOR == 5 && CONTROLLER_INTERFACE_VERSION_GTE(5, 13, 0)) || \
  (CONTROLLER_INTERFACE_VERSION_MAJOR == 4 && CONTROLLER_INTERFACE_VERSION_GTE(4, 44, 0))
#define ROBOT_PACKAGE_HAS_REFERENCE_LIST
#endif

namespace robot_package
{

// Commands the effort of all joints: the model's torque of the motion that is wanted, and a PD around it.
//
// The motion comes through reference interfaces, <name>/<joint>/position, velocity, acceleration, effort, of a
// controller in front, such as joint_trajectory_controller; else from ~/reference, a JointTrajectory with one point.
// Without one the robot is held where it was last wanted, from its activation on.
class FeedforwardController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;

protected:
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override;
#else
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override;
#endif
  bool on_set_chained_mode(bool chained_mode) override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using SetPayload = rbd_dynamics_interfaces::srv::SetPayload;
  using JointTrajectory = trajectory_msgs::msg::JointTrajectory;
  using DiagnosticArray = diagnostic_msgs::msg::DiagnosticArray;

  struct NewLoad
  {
    Inertia inertia;
    double transition;
  };
  // what diagnostics tell
  struct Condition
  {
    Vector efforts, wanted;
    bool holds;
    double longest;  // s, of a cycle since the activation
  };

  bool read_state();
  void read_references();
  void forget_references();
  std::string settings_from(const robot_package_settings::Params & given, FeedforwardSettings & settings) const;
  std::string stability_of(
    const robot_package_settings::Params & given, const FeedforwardSettings & settings, const Inertia & inertia) const;
  void receive(const JointTrajectory & message);
  void change_payload(const SetPayload::Request & request, SetPayload::Response & response);
  void tell();

  std::shared_ptr<robot_package_settings::ParamListener> listener_;
  robot_package_settings::Params parameters_;
  FeedforwardLaw law_;
  Loads loads_;  // of the callbacks' thread
  Vector q_{}, v_{};
  Reference reference_ = Reference::none();
  double since_ = 0.0;  // s since a reference came from the topic
  double longest_ = 0.0;
  std::atomic<bool> is_active_{false};
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
  std::vector<hardware_interface::CommandInterface::SharedPtr> references_;
#endif

  Mailbox<Reference> received_;
  Mailbox<NewLoad> new_loads_;
  Mailbox<Condition> conditions_;
  rclcpp::Subscription<JointTrajectory>::SharedPtr subscription_;
  rclcpp::Service<SetPayload>::SharedPtr service_;
  rclcpp_lifecycle::LifecyclePublisher<DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__FEEDFORWARD_CONTROLLER_HPP_
