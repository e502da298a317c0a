// SPDX-License-Identifier: Apache-2.0
#include "robot_package/common/effort_controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "rclcpp/logging.hpp"
#include "rclcpp/qos.hpp"

namespace robot_package
{

using controller_interface::CallbackReturn;
using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

static_assert(ROBOT_PACKAGE_NQ == ROBOT_PACKAGE_NV && ROBOT_PACKAGE_JOINTS == ROBOT_PACKAGE_NV);
static_assert(std::is_same_v<Real, double>);

static constexpr double longest_transition = 60.0;  // s
static constexpr double full_time =
  0.1;  // s, in which an effort goes from nothing to its limit by default

bool has(const std::vector<std::string> & names, const char * name)
{
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool by_joint(const std::vector<double> & given, const Vector & otherwise, Vector & out)
{
  if (given.empty())
  {
    out = otherwise;
  }
  else if (
    given.size() == nv &&
    std::all_of(given.begin(), given.end(), [](double x) { return x >= 0.0; }))
  {
    std::copy(given.begin(), given.end(), out.begin());
  }
  else
  {
    return false;
  }
  return true;
}

std::string effort_bounds(
  const std::vector<double> & given_limits, const std::vector<double> & given_rates,
  Vector & limits, Vector & rates)
{
  const std::string each =
    " needs a number of at least 0 for each of " + std::to_string(nv) + " joints, or none";
  Vector described{}, usual{};
  std::copy(robot_package_effort_limits, robot_package_effort_limits + nv, described.begin());
  if (!by_joint(given_limits, described, limits)) return "effort_limits" + each;
  std::transform(
    limits.begin(), limits.end(), usual.begin(),
    [](double limit) { return std::min(limit / full_time, usual_rate); });
  return by_joint(given_rates, usual, rates) ? "" : "effort_rates" + each;
}

InterfaceConfiguration EffortController::command_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * joint : robot_package_joint_names)
    wanted.names.push_back(std::string(joint) + "/effort");
  return wanted;
}

InterfaceConfiguration EffortController::state_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * joint : robot_package_joint_names)
  {
    wanted.names.push_back(std::string(joint) + "/position");
    wanted.names.push_back(std::string(joint) + "/velocity");
  }
  for (const auto & name : sensor_interfaces()) wanted.names.push_back(name);
  return wanted;
}

double EffortController::period_of_cycles() const
{
  const double rate = static_cast<double>(get_update_rate());
  return rate > 0.0 ? 1.0 / rate : 0.0;
}

CallbackReturn EffortController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  std::string wrong =
    period_of_cycles() > 0.0 ? configure() : "the rate of the controller is not known";
  if (wrong.empty())
  {
    payload_ = payload();
    if (!payload_.frame.empty()) wrong = loads_.set(payload_.frame, payload_.load);
    if (!wrong.empty()) wrong = "payload: " + wrong;
  }
  if (wrong.empty()) wrong = problem_with(loads_.inertia());
  if (!wrong.empty())
  {
    RCLCPP_ERROR(node->get_logger(), "%s", wrong.c_str());
    return CallbackReturn::ERROR;
  }
  new_loads_.put({loads_.inertia(), 0.0});
  subscribe();
  service_ = node->create_service<SetPayload>(
    "~/set_payload",
    [this](
      const std::shared_ptr<SetPayload::Request> request,
      std::shared_ptr<SetPayload::Response> response) { change_payload(*request, *response); });
  diagnostics_ =
    node->create_publisher<DiagnosticArray>("/diagnostics", rclcpp::SystemDefaultsQoS());
  diagnostics_->on_activate();
  timer_ = node->create_wall_timer(std::chrono::seconds(1), [this] { tell(); });
  return CallbackReturn::SUCCESS;
}

CallbackReturn EffortController::on_cleanup(const rclcpp_lifecycle::State &)
{
  timer_.reset();
  service_.reset();
  unsubscribe();
  diagnostics_.reset();
  return CallbackReturn::SUCCESS;
}

#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
std::vector<hardware_interface::CommandInterface::SharedPtr>
EffortController::on_export_reference_interfaces_list()
{
  references_.clear();
  for (const auto & [joint, name] : reference_names())
  {
    hardware_interface::InterfaceInfo info;
    info.name = name;
    info.data_type = "double";
    const hardware_interface::InterfaceDescription description(
      get_node()->get_name() + (joint.empty() ? "" : "/" + joint), info);
    references_.push_back(std::make_shared<hardware_interface::CommandInterface>(description));
  }
  read_references_.assign(references_.size(), nothing);
  return references_;
}
#else
std::vector<hardware_interface::CommandInterface> EffortController::on_export_reference_interfaces()
{
  std::vector<hardware_interface::CommandInterface> made;
  const auto names = reference_names();
  reference_interfaces_.assign(names.size(), nothing);
  read_references_.assign(names.size(), nothing);
  std::size_t place = 0;
  for (const auto & [joint, name] : names)
  {
    made.emplace_back(
      get_node()->get_name(), joint.empty() ? name : joint + "/" + name,
      &reference_interfaces_[place++]);
  }
  return made;
}
#endif

void EffortController::forget_references()
{
  std::fill(read_references_.begin(), read_references_.end(), nothing);
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
  for (const auto & each : references_) (void)each->set_value(nothing);
#else
  std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), nothing);
#endif
  forget();
}

void EffortController::read_references()
{
  for (std::size_t place = 0; place < read_references_.size(); ++place)
  {
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
    // one that is being written just now: as it was
    if (const auto read = references_[place]->get_optional()) read_references_[place] = *read;
#else
    read_references_[place] = reference_interfaces_[place];
#endif
  }
}

// What a controller in front wrote before, or will no longer write, is not followed.
bool EffortController::on_set_chained_mode([[maybe_unused]] bool chained_mode)
{
  forget_references();
  return true;
}

bool EffortController::read_state()
{
  for (std::size_t i = 0; i < nv; ++i)
  {
#if CONTROLLER_INTERFACE_VERSION_GTE(4, 27, 0)
    const auto position = state_interfaces_[2 * i].get_optional(),
               velocity = state_interfaces_[2 * i + 1].get_optional();
    if (!position || !velocity) return false;
    q_[i] = *position;
    v_[i] = *velocity;
#else
    q_[i] = state_interfaces_[2 * i].get_value();
    v_[i] = state_interfaces_[2 * i + 1].get_value();
#endif
  }
  return true;
}

CallbackReturn EffortController::on_activate(const rclcpp_lifecycle::State &)
{
  if (!read_state() || !is_finite(q_))
  {
    RCLCPP_ERROR(get_node()->get_logger(), "the robot's position is not known");
    return CallbackReturn::ERROR;
  }
  if (!connect_sensor())
  {
    RCLCPP_ERROR(get_node()->get_logger(), "the sensor's state interfaces are not there");
    return CallbackReturn::ERROR;
  }
  forget_references();
  longest_ = 0.0;
  if (!start())
  {
    RCLCPP_ERROR(get_node()->get_logger(), "the robot cannot be held where it is");
    return CallbackReturn::ERROR;
  }
  is_active_ = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn EffortController::on_deactivate(const rclcpp_lifecycle::State &)
{
  is_active_ = false;
  release_sensor();
  bool all = true;
  for (auto & command : command_interfaces_) all = command.set_value(0.0) && all;
  return all ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

return_type EffortController::update_and_write_commands(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  const auto begin = std::chrono::steady_clock::now();
  if (is_in_chained_mode())
  {
    read_references();
    follow(read_references_);
  }
  if (NewLoad load; new_loads_.take(load))
  {
    carry(load.inertia, load.transition);
  }
  if (!read_state()) return return_type::ERROR;
  if (!compute(period.seconds()))
    return return_type::ERROR;  // no number that is not known to be right
  for (std::size_t i = 0; i < nv; ++i)
  {
    if (!command_interfaces_[i].set_value(efforts()[i])) return return_type::ERROR;
  }
  longest_ = std::max(
    longest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  Condition condition{efforts(), efforts(), longest_, 0, 0, {}};
  describe(condition);
  conditions_.put(condition);
  return return_type::OK;
}

void EffortController::change_payload(
  const SetPayload::Request & request, SetPayload::Response & response)
{
  const auto & given = request.payload.inertia;
  const Load load{
    given.m,
    {given.com.x, given.com.y, given.com.z},
    {given.ixx, given.ixy, given.ixz, given.iyy, given.iyz, given.izz}};
  const double asked = request.transition_time;
  if (!(asked >= 0.0 && asked <= longest_transition))
  {
    response.message = "transition_time is from 0 to 60 s";
  }
  else
  {
    Loads changed = loads_;
    response.message = changed.set(request.payload.header.frame_id, load);
    if (response.message.empty()) response.message = problem_with(changed.inertia());
    if (response.message.empty()) loads_ = changed;
  }
  response.success = response.message.empty();
  response.total_mass = loads_.mass();
  if (response.success)
    new_loads_.put({loads_.inertia(), asked > 0.0 ? asked : payload_.transition_time});
}

void EffortController::tell()
{
  using Status = diagnostic_msgs::msg::DiagnosticStatus;
  Condition now{};
  const bool runs = conditions_.take(now) && is_active_;
  Status status;
  status.name = get_node()->get_name();
  status.hardware_id = "robot_package";
  const auto add = [&status](const char * key, const std::string & value)
  {
    diagnostic_msgs::msg::KeyValue pair;
    pair.key = key;
    pair.value = value;
    status.values.push_back(pair);
  };
  std::string cut;
  for (std::size_t i = 0; runs && i < nv; ++i)
  {
    if (now.efforts[i] != now.wanted[i])
      cut += (cut.empty() ? "" : ", ") + std::string(robot_package_joint_names[i]);
  }
  Told told;
  if (runs) told = tell_of(now);
  const bool warns = told.warns || !cut.empty();
  status.level = warns ? Status::WARN : Status::OK;
  status.message = !runs         ? "not active"
                   : told.warns  ? told.message
                   : cut.empty() ? told.message
                                 : "efforts are limited: " + cut;
  if (runs) add("longest cycle, us", std::to_string(1e6 * now.longest));
  for (const auto & [key, value] : told.values) add(key, value);
  add("mass, kg", std::to_string(loads_.mass()));
  DiagnosticArray message;
  message.header.stamp = get_node()->now();
  message.status.push_back(status);
  diagnostics_->publish(message);
}

}  // namespace robot_package
