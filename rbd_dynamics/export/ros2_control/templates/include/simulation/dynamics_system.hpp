// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__SIMULATION__DYNAMICS_SYSTEM_HPP_
#define ROBOT_PACKAGE__SIMULATION__DYNAMICS_SYSTEM_HPP_

#include <array>
#include <random>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_return_values.hpp"
#include "hardware_interface/version.h"
#include "robot_package/simulation/simulated_robot.hpp"

namespace robot_package
{

// Hardware that is the robot itself, by its own dynamics. Commands: the effort of each joint.
// States: position, velocity, and effort where it is declared; force.x to torque.z of a <sensor>,
// which measures at the tip what the floor exerts on it. A joint that no controller commands is
// held by its brake.
//
// Parameters of the <hardware>, all optional: substep (s, 1e-4), floor_height (m: with it there is
// a floor that the tip can touch), floor_stiffness (N/m), floor_damping (N s/m), floor_friction,
// wrench_noise (N and N m, 1e-3: readings never repeat, as those of sensors). `initial_value` of a
// position says where the joint begins, within its limits.
class DynamicsSystem : public hardware_interface::SystemInterface
{
public:
#if HARDWARE_INTERFACE_VERSION_GTE(4, 34, 0)
  hardware_interface::CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override;
#else
  hardware_interface::CallbackReturn on_init(
    const hardware_interface::HardwareInfo & info) override;
#endif
  hardware_interface::CallbackReturn on_configure(
    const rclcpp_lifecycle::State & previous) override;
  hardware_interface::return_type perform_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override;
  hardware_interface::return_type read(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  hardware_interface::return_type write(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  hardware_interface::CallbackReturn prepare();
  void tell_wrench();

  SimulatedRobot robot_;
  Vector initial_{}, efforts_{};
  std::array<bool, nv> commanded_{}, tells_effort_{};
  std::array<std::string, nv> position_names_, velocity_names_, effort_names_;
  std::array<std::string, 6> wrench_names_;  // empty: not declared
  double wrench_noise_ = 1e-3;
  std::minstd_rand random_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__SIMULATION__DYNAMICS_SYSTEM_HPP_
