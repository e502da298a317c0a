// SPDX-License-Identifier: Apache-2.0
// What the example controller uses of ros2_control for Jazzy (4.x), and of the node that it has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rclcpp/parameter.hpp"

namespace rclcpp
{

class Time
{
};

class Duration
{
public:
  explicit Duration(double seconds) : seconds_(seconds) {}
  double seconds() const { return seconds_; }

private:
  double seconds_;
};

class Logger
{
};

template <class Message>
class Subscription
{
public:
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(const typename Message::SharedPtr)> callback;
};

}  // namespace rclcpp

namespace rclcpp_lifecycle
{

class State
{
};

class LifecycleNode
{
public:
  bool has_parameter(const std::string & name) const { return parameters.count(name) > 0; }
  rclcpp::Parameter get_parameter(const std::string & name) const { return parameters.at(name); }
  rclcpp::Logger get_logger() const { return {}; }

  template <class Message, class QoS, class Callback>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(const std::string &, const QoS &, Callback && callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    last_subscription = made;
    return made;
  }

  std::map<std::string, rclcpp::Parameter> parameters;
  std::shared_ptr<void> last_subscription;
};

namespace node_interfaces
{

class LifecycleNodeInterface
{
public:
  enum class CallbackReturn : std::uint8_t { SUCCESS = 97, FAILURE = 98, ERROR = 99 };

  virtual ~LifecycleNodeInterface() = default;
  virtual CallbackReturn on_configure(const State & previous) = 0;
  virtual CallbackReturn on_activate(const State & previous) = 0;
  virtual CallbackReturn on_deactivate(const State & previous) = 0;
};

}  // namespace node_interfaces
}  // namespace rclcpp_lifecycle

namespace hardware_interface
{

// One number that hardware and controller share; a number that is missing is one that cannot be read just now.
class LoanedStateInterface
{
public:
  explicit LoanedStateInterface(const std::optional<double> * value) : value_(value) {}
  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned int = 10) const
  {
    return *value_;
  }

private:
  const std::optional<double> * value_;
};

class LoanedCommandInterface
{
public:
  explicit LoanedCommandInterface(double * value) : value_(value) {}
  template <typename T>
  [[nodiscard]] bool set_value(const T & value, unsigned int = 10)
  {
    *value_ = value;
    return true;
  }

private:
  double * value_;
};

}  // namespace hardware_interface

namespace controller_interface
{

using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;
enum class return_type : std::uint8_t { OK = 0, ERROR = 1 };
enum class interface_configuration_type : std::uint8_t { ALL = 0, INDIVIDUAL = 1, NONE = 2 };

struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

class ControllerInterface : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface
{
public:
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;

  void assign_interfaces(
    std::vector<hardware_interface::LoanedCommandInterface> && commands,
    std::vector<hardware_interface::LoanedStateInterface> && states)
  {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return node_; }

protected:
  template <typename T>
  auto auto_declare(const std::string & name, const T & value)
  {
    if (!node_->has_parameter(name)) node_->parameters.emplace(name, rclcpp::Parameter(value));
  }

  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};

}  // namespace controller_interface
