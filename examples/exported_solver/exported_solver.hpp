// SPDX-License-Identifier: Apache-2.0
// A plugin for inverse_dynamics_solver, the interface of ROS 2 for solvers of inverse dynamics, on an exported robot:
//   rbd_dynamics export robot.urdf --name robot --friction -o robot
//       --kernels inverse_dynamics,mass_matrix,coriolis,gravity,friction
#ifndef EXPORTED_SOLVER__EXPORTED_SOLVER_HPP_
#define EXPORTED_SOLVER__EXPORTED_SOLVER_HPP_

#include <string>

#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"
#include "robot.hpp"

namespace exported_solver
{

// Vectors are in the order of robot_joint_names. Parameters, all optional, in the namespace that `initialize` is given:
// payload.frame, payload.mass (kg) and payload.com (three numbers, m, in the frame).
class ExportedSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  // Throws InvalidParameterValueException for a description without one of the robot's joints, and for a payload that
  // cannot be; without a description there is nothing to compare.
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface = nullptr,
    const std::string & param_namespace = "", const std::string & robot_description = "") override;

  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & joint_positions) const override;
  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities) const override;
  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & joint_positions) const override;
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & joint_velocities) const override;
  // With friction, where the robot was exported with --friction.
  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities,
    const Eigen::VectorXd & joint_accelerations) const override;

private:
  const robot::Robot & ready() const;

  robot::Robot robot_;
  bool is_initialized_ = false;
};

}  // namespace exported_solver

#endif  // EXPORTED_SOLVER__EXPORTED_SOLVER_HPP_
