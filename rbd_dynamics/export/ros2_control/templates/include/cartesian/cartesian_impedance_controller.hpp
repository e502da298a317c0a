// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__CARTESIAN__CARTESIAN_IMPEDANCE_CONTROLLER_HPP_
#define ROBOT_PACKAGE__CARTESIAN__CARTESIAN_IMPEDANCE_CONTROLLER_HPP_

#include <string>
#include <vector>

#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "robot_package/cartesian/cartesian_impedance_law.hpp"
#include "robot_package/cartesian_impedance_parameters.hpp"
#include "robot_package/common/law_controller.hpp"
#include "robot_package/tool/tool_messages.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace robot_package
{

// Commands the effort of all joints so that the tool goes to poses and moves with twists,
// compliantly, as a spring and a damper between the tool and its target.
//
// The target comes through reference interfaces of a controller in front, <name>/position.x to
// orientation.w or <name>/linear.x to angular.z; else from ~/target_pose and ~/target_twist. Until
// there is one the robot is held where it is. ~/target_wrench is what the tool presses with
// besides, ~/target_stiffness another stiffness.
class CartesianImpedanceController
: public LawController<
    robot_package_cartesian_settings::ParamListener, robot_package_cartesian_settings::Params,
    CartesianImpedanceLaw>
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
  void forget() override;
  void follow(const std::vector<double> & references) override;
  bool compute(double period) override;
  void describe(Condition & condition) const override;
  Told tell_of(const Condition & condition) const override;

private:
  using PoseStamped = geometry_msgs::msg::PoseStamped;
  using TwistStamped = geometry_msgs::msg::TwistStamped;
  using WrenchStamped = geometry_msgs::msg::WrenchStamped;

  using Float64MultiArray = std_msgs::msg::Float64MultiArray;

  using Wrench = std::array<double, 12>;  // in root axes, then in the tool's

  void receive(const PoseStamped & message);
  void receive(const TwistStamped & message);
  void receive(const WrenchStamped & message);
  void receive(const Float64MultiArray & message);

  CartesianSettings settings_;  // of the callbacks' thread, with the stiffness that was wanted last
  bool refuses_ = false;        // the reference of the controller in front
  std::array<double, 7> last_{};  // reference that was taken
  Mailbox<ToolWish> wishes_;
  Mailbox<Wrench> wrenches_;
  Mailbox<std::array<double, 36>> stiffnesses_;
  rclcpp::Subscription<PoseStamped>::SharedPtr poses_;
  rclcpp::Subscription<TwistStamped>::SharedPtr twists_;
  rclcpp::Subscription<WrenchStamped>::SharedPtr pressings_;
  rclcpp::Subscription<Float64MultiArray>::SharedPtr stiffenings_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__CARTESIAN_IMPEDANCE_CONTROLLER_HPP_
