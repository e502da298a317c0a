// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__FEEDFORWARD__FEEDFORWARD_CONTROLLER_HPP_
#define ROBOT_PACKAGE__FEEDFORWARD__FEEDFORWARD_CONTROLLER_HPP_

#include <string>
#include <vector>

#include "robot_package/common/law_controller.hpp"
#include "robot_package/feedforward/feedforward_law.hpp"
#include "robot_package/feedforward_parameters.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

namespace robot_package
{

// Commands the effort of all joints: the model's torque of the motion that is wanted, and a PD
// around it.
//
// The motion comes through reference interfaces, <name>/<joint>/position, velocity, acceleration,
// effort, of a controller in front, such as joint_trajectory_controller; else from ~/reference, a
// JointTrajectory with one point. Without one the robot is held where it was last wanted, from its
// activation on.
class FeedforwardController
: public LawController<
    robot_package_settings::ParamListener, robot_package_settings::Params, FeedforwardLaw>
{
protected:
  std::string configure() override;
  std::string problem_with(const Inertia & inertia) const override;
  std::vector<ReferenceName> reference_names() const override;
  void subscribe() override;
  void unsubscribe() override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  bool start() override;
  void forget() override { reference_ = Reference::none(); }
  void follow(const std::vector<double> & references) override;
  bool compute(double period) override;
  void describe(Condition & condition) const override;
  Told tell_of(const Condition & condition) const override;

private:
  using JointTrajectory = trajectory_msgs::msg::JointTrajectory;

  std::string settings_from(
    const robot_package_settings::Params & given, FeedforwardSettings & settings) const;
  void receive(const JointTrajectory & message);

  FeedforwardSettings settings_;
  Reference reference_ = Reference::none();
  double since_ = 0.0;  // s since a reference came from the topic
  Mailbox<Reference> received_;
  rclcpp::Subscription<JointTrajectory>::SharedPtr subscription_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__FEEDFORWARD__FEEDFORWARD_CONTROLLER_HPP_
