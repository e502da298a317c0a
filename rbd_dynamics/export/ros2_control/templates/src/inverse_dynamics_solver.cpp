// SPDX-License-Identifier: Apache-2.0
#include "robot_package/solver/inverse_dynamics_solver.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "inverse_dynamics_solver/exceptions.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/parameter.hpp"

namespace robot_package
{

using inverse_dynamics_solver::InvalidParameterValueException;

static_assert(std::is_same_v<robot_package::Real, double>, "exported in double precision");

namespace
{

// Vectors come from outside: their sizes are errors here, not assertions.
void check(const Eigen::VectorXd & vector, Eigen::Index size, const char * what)
{
  if (vector.size() != size)
  {
    throw std::invalid_argument(
      std::string(what) + " has " + std::to_string(vector.size()) + " numbers, the robot needs " +
      std::to_string(size));
  }
}

void check(robot_package::Status status, const char * what)
{
  if (status == robot_package::Status::bad_input)
    throw std::invalid_argument(std::string(what) + ": an input is not finite");
  if (status != robot_package::Status::ok)
    throw std::runtime_error(std::string(what) + ": the result is not finite");
}

int frame_of(const std::string & name)
{
  const auto end = robot_package_frame_names + ROBOT_PACKAGE_FRAMES;
  const auto found = std::find(robot_package_frame_names, end, name);
  if (found == end)
    throw InvalidParameterValueException("payload.frame: the robot has no frame named " + name);
  return static_cast<int>(found - robot_package_frame_names);
}

}  // namespace

void InverseDynamicsSolver::initialize(
  rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface,
  const std::string & param_namespace, const std::string & robot_description)
{
  const std::string prefix = param_namespace.empty() ? "" : param_namespace + ".";
  std::string description = robot_description;
  rclcpp::Parameter frame, mass, com, found;
  if (parameters_interface && description.empty())
  {
    if (parameters_interface->get_parameter("robot_description", found))
      description = found.as_string();
  }
  for (const char * joint : robot_package_joint_names)
  {
    if (
      !description.empty() &&
      description.find(std::string("\"") + joint + "\"") == std::string::npos)
    {
      throw InvalidParameterValueException(
        std::string("robot_description has no joint ") + joint +
        ": it is not the robot that was exported");
    }
  }
  robot_.detach();
  if (parameters_interface && parameters_interface->get_parameter(prefix + "payload.frame", frame))
  {
    std::vector<double> place(3, 0.0);
    if (!parameters_interface->get_parameter(prefix + "payload.mass", mass))
    {
      throw InvalidParameterValueException("payload.frame is given, payload.mass is not");
    }
    if (parameters_interface->get_parameter(prefix + "payload.com", com))
      place = com.as_double_array();
    if (place.size() != 3) throw InvalidParameterValueException("payload.com needs three numbers");
    if (
      robot_.attach(frame_of(frame.as_string()), mass.as_double(), place) !=
      robot_package::Status::ok)
    {
      throw InvalidParameterValueException("payload.mass, payload.com: no such load");
    }
  }
  is_initialized_ = true;
}

const robot_package::Robot & InverseDynamicsSolver::ready() const
{
  if (!is_initialized_) throw inverse_dynamics_solver::UninitializedException();
  return robot_;
}

Eigen::MatrixXd InverseDynamicsSolver::getInertiaMatrix(
  const Eigen::VectorXd & joint_positions) const
{
  check(joint_positions, robot_package::nq, "joint_positions");
  Eigen::MatrixXd result(
    robot_package::nv, robot_package::nv);  // symmetric: by rows and by columns it is the same
  check(ready().mass_matrix(joint_positions, result), "getInertiaMatrix");
  return result;
}

Eigen::VectorXd InverseDynamicsSolver::getCoriolisVector(
  const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities) const
{
  check(joint_positions, robot_package::nq, "joint_positions");
  check(joint_velocities, robot_package::nv, "joint_velocities");
  Eigen::VectorXd result(robot_package::nv);
  check(ready().coriolis(joint_positions, joint_velocities, result), "getCoriolisVector");
  return result;
}

Eigen::VectorXd InverseDynamicsSolver::getGravityVector(
  const Eigen::VectorXd & joint_positions) const
{
  check(joint_positions, robot_package::nq, "joint_positions");
  Eigen::VectorXd result(robot_package::nv);
  check(ready().gravity(joint_positions, result), "getGravityVector");
  return result;
}

Eigen::VectorXd InverseDynamicsSolver::getFrictionVector(
  const Eigen::VectorXd & joint_velocities) const
{
  check(joint_velocities, robot_package::nv, "joint_velocities");
  Eigen::VectorXd result(robot_package::nv);
  check(ready().friction(joint_velocities, result), "getFrictionVector");
  return result;
}

Eigen::VectorXd InverseDynamicsSolver::getTorques(
  const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities,
  const Eigen::VectorXd & joint_accelerations) const
{
  check(joint_positions, robot_package::nq, "joint_positions");
  check(joint_velocities, robot_package::nv, "joint_velocities");
  check(joint_accelerations, robot_package::nv, "joint_accelerations");
  Eigen::VectorXd result(robot_package::nv);
  check(
    ready().inverse_dynamics(joint_positions, joint_velocities, joint_accelerations, result),
    "getTorques");
  return result;
}

}  // namespace robot_package

PLUGINLIB_EXPORT_CLASS(
  robot_package::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
