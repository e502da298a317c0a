// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__LAW_CONTROLLER_HPP_
#define ROBOT_PACKAGE__COMMON__LAW_CONTROLLER_HPP_

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "rclcpp/logging.hpp"
#include "robot_package/common/effort_controller.hpp"
#include "robot_package/common/stability.hpp"

namespace robot_package
{

// A controller with a law without ROS, and with parameters of generate_parameter_library, among
// them the common ones.
template <class Listener, class Parameters, class Law>
class LawController : public EffortController
{
public:
  controller_interface::CallbackReturn on_init() override
  {
    try
    {
      listener_ = std::make_shared<Listener>(get_node());
      parameters_ = listener_->get_params();
    }
    catch (const std::exception & error)
    {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return controller_interface::CallbackReturn::ERROR;
    }
    return controller_interface::CallbackReturn::SUCCESS;
  }

protected:
  Payload payload() const override
  {
    return {parameters_.payload.frame, load_of(parameters_), parameters_.transition_time};
  }
  void carry(const Inertia & inertia, double transition) override
  {
    law_.carry(inertia, transition);
  }
  const Vector & efforts() const override { return law_.efforts(); }

  // The parameters as they are now, and the timing that they say.
  void take_parameters()
  {
    parameters_ = listener_->get_params();
    timing_ = timing_of(parameters_);
  }
  Timing timing_of(const Parameters & given) const
  {
    return {period_of_cycles(), given.delay, given.actuator_bandwidth};
  }
  // Limits of efforts and of their change, also in haste, as they are given. Returns what is wrong.
  template <class Settings>
  std::string bound(Settings & settings) const
  {
    const std::string wrong = effort_bounds(
      parameters_.effort_limits, parameters_.effort_rates, settings.effort_limits,
      settings.effort_rates);
    settings.urgent_rates = settings.effort_rates;
    if (parameters_.effort_rates.empty()) settings.urgent_rates.fill(usual_rate);
    return wrong;
  }
  void refuse(const std::string & why) const
  {
    RCLCPP_WARN(get_node()->get_logger(), "%s", why.c_str());
  }

  std::shared_ptr<Listener> listener_;
  Parameters parameters_;
  Timing timing_;
  Law law_;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__LAW_CONTROLLER_HPP_
