// SPDX-License-Identifier: Apache-2.0
// What a controller uses of its node: parameters apart, a topic, a service, a publisher and a timer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

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

template <class Kind>
class Service
{
public:
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(const std::shared_ptr<typename Kind::Request>, std::shared_ptr<typename Kind::Response>)> callback;
};

class TimerBase
{
public:
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};

}  // namespace rclcpp

namespace rclcpp_lifecycle
{

class State
{
};

template <class Message>
class LifecyclePublisher
{
public:
  using SharedPtr = std::shared_ptr<LifecyclePublisher>;
  void on_activate() { is_active = true; }
  void publish(const Message & message)
  {
    if (is_active) last = message;
  }

  bool is_active = false;
  Message last;
};

class LifecycleNode
{
public:
  const char * get_name() const { return name.c_str(); }
  rclcpp::Logger get_logger() const { return {}; }
  rclcpp::Time now() const { return {}; }

  template <class Message, class QoS, class Callback>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(
    const std::string & topic, const QoS &, Callback && callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    subscriptions[topic] = made;
    return made;
  }

  template <class Kind, class Callback>
  std::shared_ptr<rclcpp::Service<Kind>> create_service(const std::string &, Callback && callback)
  {
    auto made = std::make_shared<rclcpp::Service<Kind>>();
    made->callback = callback;
    service = made;
    return made;
  }

  template <class Message, class QoS>
  std::shared_ptr<LifecyclePublisher<Message>> create_publisher(const std::string &, const QoS &)
  {
    auto made = std::make_shared<LifecyclePublisher<Message>>();
    publisher = made;
    return made;
  }

  template <class Period, class Callback>
  std::shared_ptr<rclcpp::TimerBase> create_wall_timer(Period, Callback && callback)
  {
    timer = std::make_shared<rclcpp::TimerBase>();
    timer->callback = callback;
    return timer;
  }

  std::string name = "controller";
  std::map<std::string, std::shared_ptr<void>> subscriptions;  // by their topics
  // the last of each
  std::shared_ptr<void> service, publisher;
  rclcpp::TimerBase::SharedPtr timer;
};

namespace node_interfaces
{

class LifecycleNodeInterface
{
public:
  enum class CallbackReturn : std::uint8_t
  {
    SUCCESS = 97,
    FAILURE = 98,
    ERROR = 99
  };

  virtual ~LifecycleNodeInterface() = default;
  virtual CallbackReturn on_configure(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_cleanup(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_deactivate(const State &) { return CallbackReturn::SUCCESS; }
};

}  // namespace node_interfaces
}  // namespace rclcpp_lifecycle
