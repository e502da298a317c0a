// SPDX-License-Identifier: Apache-2.0
// What a controller uses of its node: a topic, a service, a publisher, a timer, and who is asked and told of parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rcl_interfaces/msg/set_parameters_result.hpp"
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

  template <class Callback>
  struct CallbackHandle
  {
    using SharedPtr = std::shared_ptr<CallbackHandle>;
    Callback callback;
  };
  using Parameters = std::vector<rclcpp::Parameter>;
  using OnSetParametersCallbackHandle =
    CallbackHandle<std::function<rcl_interfaces::msg::SetParametersResult(const Parameters &)>>;
  using PostSetParametersCallbackHandle = CallbackHandle<std::function<void(const Parameters &)>>;

  template <class Callback>
  OnSetParametersCallbackHandle::SharedPtr add_on_set_parameters_callback(Callback && callback)
  {
    auto made = std::make_shared<OnSetParametersCallbackHandle>();
    made->callback = callback;
    judges_.push_back(made);
    return made;
  }

  template <class Callback>
  PostSetParametersCallbackHandle::SharedPtr add_post_set_parameters_callback(Callback && callback)
  {
    auto made = std::make_shared<PostSetParametersCallbackHandle>();
    made->callback = callback;
    told_.push_back(made);
    return made;
  }

  // As rclcpp does it: all are asked, last those that were there first; where none refuses, `set` is called (it stands
  // for the listener, which declared the parameters), and then they are told.
  template <class Set>
  rcl_interfaces::msg::SetParametersResult set_parameters_atomically(const Parameters & given, Set && set)
  {
    for (auto each = judges_.rbegin(); each != judges_.rend(); ++each) {
      if (const auto judge = each->lock()) {
        if (const auto result = judge->callback(given); !result.successful) return result;
      }
    }
    for (const auto & each : given) set(each);
    for (const auto & each : told_) {
      if (const auto handle = each.lock()) handle->callback(given);
    }
    return {true, ""};
  }

  std::string name = "controller";
  std::map<std::string, std::shared_ptr<void>> subscriptions;  // by their topics
  // the last of each
  std::shared_ptr<void> service, publisher;
  rclcpp::TimerBase::SharedPtr timer;

private:
  std::vector<std::weak_ptr<OnSetParametersCallbackHandle>> judges_;
  std::vector<std::weak_ptr<PostSetParametersCallbackHandle>> told_;
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
