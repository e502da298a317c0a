// SPDX-License-Identifier: Apache-2.0
// What simulated hardware uses of ros2_control.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "hardware_interface/handle.hpp"
#include "hardware_interface/types/hardware_interface_return_values.hpp"
#include "rclcpp_lifecycle/lifecycle_publisher.hpp"

namespace hardware_interface
{

using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;

struct ComponentInfo
{
  std::string name;
  std::vector<InterfaceInfo> command_interfaces, state_interfaces;
};

struct HardwareInfo
{
  std::unordered_map<std::string, std::string> hardware_parameters;
  std::vector<ComponentInfo> joints, sensors;
};

struct HardwareComponentInterfaceParams
{
  HardwareInfo hardware_info;
};

class SystemInterface : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface
{
public:
#if HARDWARE_INTERFACE_VERSION_GTE(4, 34, 0)
  virtual CallbackReturn on_init(const HardwareComponentInterfaceParams & params)
  {
    info_ = params.hardware_info;
    return CallbackReturn::SUCCESS;
  }
#else
  virtual CallbackReturn on_init(const HardwareInfo & info)
  {
    info_ = info;
    return CallbackReturn::SUCCESS;
  }
#endif
  virtual return_type perform_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) = 0;
  virtual return_type read(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  virtual return_type write(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;

  template <typename T>
  void set_state(const std::string & name, const T & value)
  {
    states[name] = value;
  }
  template <typename T>
  void set_command(const std::string & name, const T & value)
  {
    commands[name] = value;
  }
  template <typename T = double>
  T get_command(const std::string & name) const
  {
    return commands.at(name);
  }
  rclcpp::Logger get_logger() const { return {}; }

  std::map<std::string, double> states, commands;

protected:
  HardwareInfo info_;
};

}  // namespace hardware_interface
