// SPDX-License-Identifier: Apache-2.0
#include "robot_package/simulation/dynamics_system.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"

namespace robot_package
{

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

static double number_of(const std::string & what, const std::string & text)
{
  std::size_t used = 0;
  double value = nothing;
  try
  {
    value = std::stod(text, &used);
  }
  catch (const std::exception &)
  {
    used = 0;
  }
  if (used == 0 || used != text.size() || !std::isfinite(value))
  {
    throw std::invalid_argument(what + " is '" + text + "', expected a number");
  }
  return value;
}

#if HARDWARE_INTERFACE_VERSION_GTE(4, 34, 0)
CallbackReturn DynamicsSystem::on_init(
  const hardware_interface::HardwareComponentInterfaceParams & params)
#else
CallbackReturn DynamicsSystem::on_init(const hardware_interface::HardwareInfo & params)
#endif
{
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
  try
  {
    return prepare();
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
}

CallbackReturn DynamicsSystem::prepare()
{
  const auto number = [this](const char * name, double otherwise)
  {
    const auto found = info_.hardware_parameters.find(name);
    return found == info_.hardware_parameters.end() ? otherwise : number_of(name, found->second);
  };
  const double substep = number("substep", 1e-4);
  Floor floor;
  floor.is_there = info_.hardware_parameters.count("floor_height") > 0;
  floor.height = number("floor_height", floor.height);
  floor.stiffness = number("floor_stiffness", floor.stiffness);
  floor.damping = number("floor_damping", floor.damping);
  floor.friction = number("floor_friction", floor.friction);
  if (!(substep > 0.0)) throw std::invalid_argument("substep is more than 0");
  if (floor.stiffness < 0.0 || floor.damping < 0.0 || floor.friction < 0.0)
  {
    throw std::invalid_argument("floor_stiffness, floor_damping and floor_friction are at least 0");
  }
  wrench_noise_ = number("wrench_noise", wrench_noise_);
  if (wrench_noise_ < 0.0) throw std::invalid_argument("wrench_noise is at least 0");
  robot_.set_substep(substep);
  robot_.set_floor(floor);

  const auto declares = [](const auto & interfaces, const char * wanted)
  {
    return std::any_of(
      interfaces.begin(), interfaces.end(),
      [wanted](const auto & each) { return each.name == wanted; });
  };
  const char * const axes[] = {"torque.x", "torque.y", "torque.z", "force.x", "force.y", "force.z"};
  for (const auto & sensor : info_.sensors)
  {
    for (std::size_t k = 0; k < 6; ++k)
    {
      if (declares(sensor.state_interfaces, axes[k]))
        wrench_names_[k] = sensor.name + "/" + axes[k];
    }
  }
  for (std::size_t i = 0; i < nv; ++i)
  {
    const std::string name = robot_package_joint_names[i];
    const auto found = std::find_if(
      info_.joints.begin(), info_.joints.end(),
      [&name](const auto & joint) { return joint.name == name; });
    if (found == info_.joints.end())
      throw std::invalid_argument("the <ros2_control> has no joint " + name);
    if (!declares(found->command_interfaces, "effort"))
    {
      throw std::invalid_argument("joint " + name + " needs the command interface effort");
    }
    if (
      !declares(found->state_interfaces, "position") ||
      !declares(found->state_interfaces, "velocity"))
    {
      throw std::invalid_argument(
        "joint " + name + " needs the state interfaces position and velocity");
    }
    tells_effort_[i] = declares(found->state_interfaces, "effort");
    const double lower = robot_package_lower_limits[i], upper = robot_package_upper_limits[i];
    initial_[i] = std::clamp(0.0, lower, upper);
    for (const auto & each : found->state_interfaces)
    {
      if (each.name != "position" || each.initial_value.empty()) continue;
      initial_[i] = number_of("initial_value of joint " + name, each.initial_value);
      if (initial_[i] < lower || initial_[i] > upper)
      {
        throw std::invalid_argument(
          "initial_value of joint " + name + " is " + each.initial_value + ", its limits are " +
          std::to_string(lower) + " to " + std::to_string(upper));
      }
    }
    position_names_[i] = name + "/position";
    velocity_names_[i] = name + "/velocity";
    effort_names_[i] = name + "/effort";
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn DynamicsSystem::on_configure(const rclcpp_lifecycle::State &)
{
  robot_.q = initial_;
  robot_.v = {};
  efforts_ = filled(nothing);
  commanded_.fill(false);
  for (std::size_t i = 0; i < nv; ++i)
  {
    set_state(position_names_[i], robot_.q[i]);
    set_state(velocity_names_[i], robot_.v[i]);
    if (tells_effort_[i]) set_state(effort_names_[i], 0.0);
    set_command(effort_names_[i], nothing);
  }
  tell_wrench();
  return CallbackReturn::SUCCESS;
}

void DynamicsSystem::tell_wrench()
{
  const Six wrench = robot_.tip_wrench();
  std::uniform_real_distribution<double> noise(-wrench_noise_, wrench_noise_);
  for (std::size_t k = 0; k < 6; ++k)
  {
    if (!wrench_names_[k].empty()) set_state(wrench_names_[k], wrench[k] + noise(random_));
  }
}

// Brakes open with the first controller of a joint, and close when there is none any more.
return_type DynamicsSystem::perform_command_mode_switch(
  const std::vector<std::string> & start, const std::vector<std::string> & stop)
{
  for (std::size_t i = 0; i < nv; ++i)
  {
    const auto names = [this, i](const std::vector<std::string> & list)
    { return std::find(list.begin(), list.end(), effort_names_[i]) != list.end(); };
    if (names(stop)) commanded_[i] = false;
    if (names(start))
    {
      // what an earlier controller left is not of this one
      if (!commanded_[i] && !names(stop)) set_command(effort_names_[i], nothing);
      commanded_[i] = true;
    }
  }
  return return_type::OK;
}

return_type DynamicsSystem::read(const rclcpp::Time &, const rclcpp::Duration & period)
{
  if (!robot_.step(efforts_, std::max(0.0, period.seconds())))
  {
    RCLCPP_ERROR(get_logger(), "the dynamics cannot be computed here");
    return return_type::ERROR;
  }
  for (std::size_t i = 0; i < nv; ++i)
  {
    set_state(position_names_[i], robot_.q[i]);
    set_state(velocity_names_[i], robot_.v[i]);
    if (tells_effort_[i]) set_state(effort_names_[i], robot_.applied()[i]);
  }
  tell_wrench();
  return return_type::OK;
}

return_type DynamicsSystem::write(const rclcpp::Time &, const rclcpp::Duration &)
{
  for (std::size_t i = 0; i < nv; ++i)
  {
    efforts_[i] = commanded_[i] ? get_command(effort_names_[i]) : nothing;
  }
  return return_type::OK;
}

}  // namespace robot_package

PLUGINLIB_EXPORT_CLASS(robot_package::DynamicsSystem, hardware_interface::SystemInterface)
