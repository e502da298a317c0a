// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_FORCE_CONTROLLER_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_FORCE_CONTROLLER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "rcl_interfaces/msg/set_parameters_result.hpp"
#include "rclcpp/parameter.hpp"
#include "robot_package/common/law_controller.hpp"
#include "robot_package/hybrid/hybrid_force_law.hpp"
#include "robot_package/hybrid_force_parameters.hpp"
#include "robot_package/tool/tool_messages.hpp"
#include "semantic_components/force_torque_sensor.hpp"
#include "std_msgs/msg/float64.hpp"

namespace robot_package
{

// Commands the effort of all joints so that the tool presses on a plane with a force, which a
// force-torque sensor measures, and is held and moved along it.
//
// The force comes through reference interfaces of a controller in front, <name>/force.z, with
// linear.x to angular.z of a twist, all in the task frame; else from ~/desired_force, with
// ~/target_pose and ~/target_twist. The first force above 0 lets the tool find the surface; 0 lets
// go. Until then the robot is held where it is.
class HybridForceController : public LawController<
                                robot_package_hybrid_settings::ParamListener,
                                robot_package_hybrid_settings::Params, HybridForceLaw>
{
protected:
  std::string configure() override;
  std::string problem_with(const Inertia & inertia) const override;
  std::vector<ReferenceName> reference_names() const override;
  void subscribe() override;
  void unsubscribe() override;
  std::vector<std::string> sensor_interfaces() const override;
  bool connect_sensor() override;
  void release_sensor() override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  bool start() override;
  void forget() override;
  void follow(const std::vector<double> & references) override;
  bool compute(double period) override;
  void describe(Condition & condition) const override;
  Told tell_of(const Condition & condition) const override;

private:
  using Float64 = std_msgs::msg::Float64;
  using PoseStamped = geometry_msgs::msg::PoseStamped;
  using TwistStamped = geometry_msgs::msg::TwistStamped;

  void receive(const Float64 & message);
  void receive(const PoseStamped & message);
  void receive(const TwistStamped & message);
  std::string reason_of(Halt halt, double figure) const;

  // --- parameters that change while it runs
  void watch_parameters(bool watches);
  std::string problem_with_change(const std::vector<rclcpp::Parameter> & given);
  void change(const std::vector<rclcpp::Parameter> & given);
  void take_changes();  // at work

  HybridSettings settings_;  // of the callbacks' thread
  HybridSettings next_;      // at work
  HybridStanding standing_;  // as the callbacks know it
  Mailbox<HybridSettings> changes_;
  Mailbox<HybridStanding> standings_;
  rclcpp_lifecycle::LifecycleNode::OnSetParametersCallbackHandle::SharedPtr judge_;
  rclcpp_lifecycle::LifecycleNode::PostSetParametersCallbackHandle::SharedPtr changed_;
  std::unique_ptr<semantic_components::ForceTorqueSensor> sensor_;
  bool refuses_ = false;  // what was wanted last
  Mailbox<double> forces_;
  Mailbox<ToolWish> wishes_;
  rclcpp::Subscription<Float64>::SharedPtr pressings_;
  rclcpp::Subscription<PoseStamped>::SharedPtr poses_;
  rclcpp::Subscription<TwistStamped>::SharedPtr twists_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_FORCE_CONTROLLER_HPP_
