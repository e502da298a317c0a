// SPDX-License-Identifier: Apache-2.0
// The pure virtual functions of inverse_dynamics_solver 2.0, as released for Jazzy; nothing else of it.
#pragma once

#include <eigen3/Eigen/Core>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
#include <string>

namespace inverse_dynamics_solver
{

class InverseDynamicsSolver
{
public:
  using Vector = Eigen::VectorXd;
  using Parameters = rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr;

  virtual ~InverseDynamicsSolver() = default;
  virtual void initialize(Parameters parameters, const std::string & space, const std::string & description) = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Vector & q) const = 0;
  virtual Vector getCoriolisVector(const Vector & q, const Vector & v) const = 0;
  virtual Vector getGravityVector(const Vector & q) const = 0;
  virtual Vector getFrictionVector(const Vector & v) const = 0;
  virtual Vector getTorques(const Vector & q, const Vector & v, const Vector & a) const = 0;
};

}  // namespace inverse_dynamics_solver
