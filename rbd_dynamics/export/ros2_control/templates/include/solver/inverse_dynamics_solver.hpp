// SPDX-License-Identifier: Apache-2.0
// A plugin for inverse_dynamics_solver, the interface of ROS 2 for solvers of inverse dynamics.
#ifndef ROBOT_PACKAGE__SOLVER__INVERSE_DYNAMICS_SOLVER_HPP_
#define ROBOT_PACKAGE__SOLVER__INVERSE_DYNAMICS_SOLVER_HPP_

#include <string>

#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"
#include "robot_package/robot_package.hpp"

namespace robot_package
{

// Vectors are in the order of robot_package_joint_names. Parameters, all optional, in the namespace
// that `initialize` is given: payload.frame, payload.mass (kg) and payload.com (three numbers, m,
// in the frame).
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  // Throws InvalidParameterValueException for a description without one of the robot's joints, and
  // for a payload that cannot be; without a description there is nothing to compare.
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface = nullptr,
    const std::string & param_namespace = "", const std::string & robot_description = "") override;

  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & joint_positions) const override;
  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & joint_positions,
    const Eigen::VectorXd & joint_velocities) const override;
  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & joint_positions) const override;
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & joint_velocities) const override;
  // With friction.
  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities,
    const Eigen::VectorXd & joint_accelerations) const override;

private:
  const robot_package::Robot & ready() const;

  robot_package::Robot robot_;
  bool is_initialized_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__SOLVER__INVERSE_DYNAMICS_SOLVER_HPP_
