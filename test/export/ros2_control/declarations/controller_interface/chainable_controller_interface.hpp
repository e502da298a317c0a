// SPDX-License-Identifier: Apache-2.0
// What a chainable controller uses of ros2_control.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller_interface/version.h"
#include "hardware_interface/handle.hpp"
#include "rclcpp_lifecycle/lifecycle_publisher.hpp"

namespace controller_interface
{

using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;
enum class return_type : std::uint8_t
{
  OK = 0,
  ERROR = 1
};
enum class interface_configuration_type : std::uint8_t
{
  ALL = 0,
  INDIVIDUAL = 1,
  NONE = 2
};

struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

class ChainableControllerInterface : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface
{
public:
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;

  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period)
  {
    const bool well = chained_ || update_reference_from_subscribers(time, period) == return_type::OK;
    return well ? update_and_write_commands(time, period) : return_type::ERROR;
  }
  bool set_chained_mode(bool chained)
  {
    if (!on_set_chained_mode(chained)) return false;
    chained_ = chained;
    return true;
  }
  bool is_in_chained_mode() const { return chained_; }
  std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces()
  {
    auto made = on_export_reference_interfaces_list();
    for (auto & each : on_export_reference_interfaces()) {
      made.push_back(std::make_shared<hardware_interface::CommandInterface>(each));
    }
    return made;
  }
  void assign_interfaces(
    std::vector<hardware_interface::LoanedCommandInterface> && commands,
    std::vector<hardware_interface::LoanedStateInterface> && states)
  {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }
  unsigned int get_update_rate() const { return 1000; }
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return node_; }
  std::shared_ptr<const rclcpp_lifecycle::LifecycleNode> get_node() const { return node_; }

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
  {
    return {};
  }
  virtual std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() { return {}; }
  virtual bool on_set_chained_mode(bool) { return true; }
  virtual return_type update_reference_from_subscribers(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  virtual return_type update_and_write_commands(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;

  std::vector<double> reference_interfaces_;
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
  bool chained_ = false;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};

}  // namespace controller_interface
