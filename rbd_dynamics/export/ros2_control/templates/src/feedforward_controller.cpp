// SPDX-License-Identifier: Apache-2.0
#include "robot_package/feedforward_controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <type_traits>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"
#include "rclcpp/qos.hpp"
#include "robot_package/stability.hpp"

namespace robot_package
{

using controller_interface::CallbackReturn;
using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using robot_package_settings::Params;

static_assert(ROBOT_PACKAGE_NQ == ROBOT_PACKAGE_NV && ROBOT_PACKAGE_JOINTS == ROBOT_PACKAGE_NV);
static_assert(std::is_same_v<Real, double>);

static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
static constexpr double longest_transition = 60.0;  // s
// by default an effort goes from nothing to its limit in this time (s), and no faster than so (N m/s or N/s)
static constexpr double full_time = 0.1, usual_rate = 1000.0;

static bool has(const std::vector<std::string> & names, const char * name)
{
  return std::find(names.begin(), names.end(), name) != names.end();
}

// One number a joint out of none, then the default, or as many. False for any other count.
static bool by_joint(const std::vector<double> & given, const Vector & otherwise, Vector & out)
{
  if (given.empty()) {
    out = otherwise;
  } else if (given.size() == nv && std::all_of(given.begin(), given.end(), [](double x) { return x >= 0.0; })) {
    std::copy(given.begin(), given.end(), out.begin());
  } else {
    return false;
  }
  return true;
}

CallbackReturn FeedforwardController::on_init()
{
  try {
    listener_ = std::make_shared<robot_package_settings::ParamListener>(get_node());
    parameters_ = listener_->get_params();
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration FeedforwardController::command_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * joint : robot_package_joint_names) wanted.names.push_back(std::string(joint) + "/effort");
  return wanted;
}

InterfaceConfiguration FeedforwardController::state_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * joint : robot_package_joint_names) {
    wanted.names.push_back(std::string(joint) + "/position");
    wanted.names.push_back(std::string(joint) + "/velocity");
  }
  return wanted;
}

std::string FeedforwardController::settings_from(const Params & given, FeedforwardSettings & settings) const
{
  Vector limits{};
  std::copy(robot_package_effort_limits, robot_package_effort_limits + nv, limits.begin());
  const std::string each = " needs a number of at least 0 for each of " + std::to_string(nv) + " joints, or none";
  if (!by_joint(given.kp, {}, settings.kp)) return "kp" + each;
  if (!by_joint(given.kd, {}, settings.kd)) return "kd" + each;
  if (!by_joint(given.effort_limits, limits, settings.effort_limits)) return "effort_limits" + each;
  Vector rates{};
  std::transform(settings.effort_limits.begin(), settings.effort_limits.end(), rates.begin(), [](double limit) {
    return std::min(limit / full_time, usual_rate);
  });
  if (!by_joint(given.effort_rates, rates, settings.effort_rates)) return "effort_rates" + each;
  if (!is_finite(settings.kp) || !is_finite(settings.kd)) return "kp and kd are finite";
  const bool computed = given.law == "computed_torque";
  if (computed && !has(given.terms, "inertia")) {
    return "law computed_torque needs the term inertia: its feedback is an acceleration";
  }
  const char * const terms[] = {"inertia", "coriolis", "gravity", "spring", "friction"};
  std::transform(std::begin(terms), std::end(terms), settings.weights.begin(), [&given](const char * term) {
    return has(given.terms, term) ? 1.0 : 0.0;
  });
  settings.weights[5] = given.evaluate_at == "desired" ? 1.0 : 0.0;
  settings.weights[6] = computed ? 1.0 : 0.0;
  settings.has_positions = has(given.reference_interfaces, "position");
  const bool efforts_alone = given.reference_interfaces.size() == 1 && has(given.reference_interfaces, "effort");
  if (!settings.has_positions && !efforts_alone)
    return "reference_interfaces are position, and others, or effort alone";
  return "";
}

std::string FeedforwardController::stability_of(
  const Params & given, const FeedforwardSettings & settings, const Inertia & inertia) const
{
  const double rate = static_cast<double>(get_update_rate());
  if (!(rate > 0.0)) return "the rate of the controller is not known";
  const Timing timing{1.0 / rate, given.delay, given.actuator_bandwidth};
  const double growth =
    worst_growth_rate(inertia, settings.kp, settings.kd, settings.weights[6] == 1.0, timing);
  if (growth <= allowed_growth) return "";
  return "kp and kd are unstable at " + std::to_string(rate) + " Hz with a delay of " + std::to_string(given.delay) +
         " s: in a posture within the joints' limits errors grow by a factor of e in " + std::to_string(1.0 / growth) +
         " s (`rbd_dynamics gains` computes gains that are stable)";
}

CallbackReturn FeedforwardController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  parameters_ = listener_->get_params();
  FeedforwardSettings settings;
  std::string wrong = settings_from(parameters_, settings);
  if (wrong.empty() && !parameters_.payload.frame.empty()) {
    Load load{parameters_.payload.mass, {}, {}};
    std::copy_n(parameters_.payload.com.begin(), 3, load.com.begin());
    std::copy_n(parameters_.payload.inertia.begin(), 6, load.rotational.begin());
    wrong = loads_.set(parameters_.payload.frame, load);
    if (!wrong.empty()) wrong = "payload: " + wrong;
  }
  if (wrong.empty()) wrong = stability_of(parameters_, settings, loads_.inertia());
  if (!wrong.empty()) {
    RCLCPP_ERROR(node->get_logger(), "%s", wrong.c_str());
    return CallbackReturn::ERROR;
  }
  law_.configure(settings);
  new_loads_.put({loads_.inertia(), 0.0});
  subscription_ = node->create_subscription<JointTrajectory>(
    "~/reference", rclcpp::SystemDefaultsQoS(),
    [this](const JointTrajectory::SharedPtr message) { receive(*message); });
  service_ = node->create_service<SetPayload>(
    "~/set_payload",
    [this](const std::shared_ptr<SetPayload::Request> request, std::shared_ptr<SetPayload::Response> response) {
      change_payload(*request, *response);
    });
  diagnostics_ = node->create_publisher<DiagnosticArray>("/diagnostics", rclcpp::SystemDefaultsQoS());
  diagnostics_->on_activate();
  timer_ = node->create_wall_timer(std::chrono::seconds(1), [this] { tell(); });
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_cleanup(const rclcpp_lifecycle::State &)
{
  timer_.reset();
  service_.reset();
  subscription_.reset();
  diagnostics_.reset();
  return CallbackReturn::SUCCESS;
}

#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
std::vector<hardware_interface::CommandInterface::SharedPtr>
FeedforwardController::on_export_reference_interfaces_list()
{
  references_.clear();
  for (const auto & name : parameters_.reference_interfaces) {
    for (const char * joint : robot_package_joint_names) {
      hardware_interface::InterfaceInfo info;
      info.name = name;
      info.data_type = "double";
      const hardware_interface::InterfaceDescription description(
        std::string(get_node()->get_name()) + "/" + joint, info);
      references_.push_back(std::make_shared<hardware_interface::CommandInterface>(description));
    }
  }
  return references_;
}
#else
std::vector<hardware_interface::CommandInterface> FeedforwardController::on_export_reference_interfaces()
{
  std::vector<hardware_interface::CommandInterface> made;
  reference_interfaces_.assign(parameters_.reference_interfaces.size() * nv, nothing);
  std::size_t place = 0;
  for (const auto & name : parameters_.reference_interfaces) {
    for (const char * joint : robot_package_joint_names) {
      made.emplace_back(get_node()->get_name(), std::string(joint) + "/" + name, &reference_interfaces_[place++]);
    }
  }
  return made;
}
#endif

void FeedforwardController::forget_references()
{
  reference_ = Reference::none();
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
  for (const auto & each : references_) (void)each->set_value(nothing);
#else
  std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), nothing);
#endif
}

void FeedforwardController::read_references()
{
  std::size_t place = 0;
  for (const auto & name : parameters_.reference_interfaces) {
    // by their first letters: position, velocity, acceleration, effort
    Vector & values = name[0] == 'p'   ? reference_.position
                      : name[0] == 'v' ? reference_.velocity
                      : name[0] == 'a' ? reference_.acceleration
                                       : reference_.effort;
    for (double & value : values) {
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
      // one that is being written just now: as it was
      if (const auto read = references_[place]->get_optional()) value = *read;
#else
      value = reference_interfaces_[place];
#endif
      ++place;
    }
  }
}

// What a controller in front wrote before, or will no longer write, is not followed.
bool FeedforwardController::on_set_chained_mode(bool)
{
  forget_references();
  return true;
}

bool FeedforwardController::read_state()
{
  for (std::size_t i = 0; i < nv; ++i) {
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

CallbackReturn FeedforwardController::on_activate(const rclcpp_lifecycle::State &)
{
  if (!read_state() || !is_finite(q_)) {
    RCLCPP_ERROR(get_node()->get_logger(), "the robot's position is not known");
    return CallbackReturn::ERROR;
  }
  Reference old{};
  (void)received_.take(old);  // what came before is of another time
  forget_references();
  since_ = std::numeric_limits<double>::infinity();
  longest_ = 0.0;
  law_.start(q_);
  is_active_ = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State &)
{
  is_active_ = false;
  bool all = true;
  for (auto & command : command_interfaces_) all = command.set_value(0.0) && all;
  return all ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  since_ += period.seconds();
  if (received_.take(reference_)) since_ = 0.0;
  if (since_ > parameters_.reference_timeout) reference_ = Reference::none();  // the law holds what it wanted last
  return return_type::OK;
}

return_type FeedforwardController::update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration & period)
{
  const auto begin = std::chrono::steady_clock::now();
  if (is_in_chained_mode()) read_references();
  if (NewLoad load; new_loads_.take(load)) law_.carry(load.inertia, load.transition);
  if (!read_state()) return return_type::ERROR;
  // no number that is not known to be right
  if (law_.step(q_, v_, reference_, period.seconds()) != Status::ok) return return_type::ERROR;
  for (std::size_t i = 0; i < nv; ++i) {
    if (!command_interfaces_[i].set_value(law_.efforts()[i])) return return_type::ERROR;
  }
  longest_ = std::max(longest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  conditions_.put({law_.efforts(), law_.wanted(), law_.holds(), longest_});
  return return_type::OK;
}

void FeedforwardController::receive(const JointTrajectory & message)
{
  const auto & names = message.joint_names;
  const auto logger = get_node()->get_logger();
  if (message.points.size() != 1 || message.points[0].positions.size() != names.size()) {
    RCLCPP_WARN(logger, "reference ignored: it needs one point with a position for each of its joints");
    return;
  }
  const auto & point = message.points[0];
  for (const auto * each : {&point.velocities, &point.accelerations, &point.effort}) {
    if (!each->empty() && each->size() != names.size()) {
      RCLCPP_WARN(
        logger, "reference ignored: velocities, accelerations and effort have a number for each of its joints, or none");
      return;
    }
  }
  Reference given = Reference::none();
  for (std::size_t i = 0; i < nv; ++i) {
    const auto place =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), robot_package_joint_names[i]) - names.begin());
    if (place == names.size()) {
      RCLCPP_WARN(logger, "reference ignored: joint %s is missing", robot_package_joint_names[i]);
      return;
    }
    given.position[i] = point.positions[place];
    given.velocity[i] = point.velocities.empty() ? 0.0 : point.velocities[place];
    given.acceleration[i] = point.accelerations.empty() ? 0.0 : point.accelerations[place];
    given.effort[i] = point.effort.empty() ? 0.0 : point.effort[place];
    if (!std::isfinite(given.position[i] + given.velocity[i] + given.acceleration[i] + given.effort[i])) {
      RCLCPP_WARN(logger, "reference ignored: joint %s is not finite", robot_package_joint_names[i]);
      return;
    }
  }
  received_.put(given);
}

void FeedforwardController::change_payload(const SetPayload::Request & request, SetPayload::Response & response)
{
  const auto & given = request.payload.inertia;
  const Load load{
    given.m,
    {given.com.x, given.com.y, given.com.z},
    {given.ixx, given.ixy, given.ixz, given.iyy, given.iyz, given.izz}};
  const double asked = request.transition_time;
  if (!(asked >= 0.0 && asked <= longest_transition)) {
    response.message = "transition_time is from 0 to 60 s";
  } else {
    Loads changed = loads_;
    FeedforwardSettings settings;
    response.message = changed.set(request.payload.header.frame_id, load);
    if (response.message.empty()) response.message = settings_from(parameters_, settings);
    if (response.message.empty()) response.message = stability_of(parameters_, settings, changed.inertia());
    if (response.message.empty()) loads_ = changed;
  }
  response.success = response.message.empty();
  response.total_mass = loads_.mass();
  if (response.success) new_loads_.put({loads_.inertia(), asked > 0.0 ? asked : parameters_.transition_time});
}

void FeedforwardController::tell()
{
  using Status = diagnostic_msgs::msg::DiagnosticStatus;
  Condition now{};
  const bool runs = conditions_.take(now) && is_active_;
  Status status;
  status.name = get_node()->get_name();
  status.hardware_id = "robot_package";
  const auto add = [&status](const char * key, const std::string & value) {
    diagnostic_msgs::msg::KeyValue pair;
    pair.key = key;
    pair.value = value;
    status.values.push_back(pair);
  };
  std::string cut;
  for (std::size_t i = 0; runs && i < nv; ++i) {
    if (now.efforts[i] != now.wanted[i]) cut += (cut.empty() ? "" : ", ") + std::string(robot_package_joint_names[i]);
  }
  status.level = cut.empty() ? Status::OK : Status::WARN;
  status.message = !cut.empty() ? "efforts are limited: " + cut
                   : !runs      ? "not active"
                   : now.holds  ? "holding"
                                : "following";
  if (runs) add("longest cycle, us", std::to_string(1e6 * now.longest));
  add("mass, kg", std::to_string(loads_.mass()));
  DiagnosticArray message;
  message.header.stamp = get_node()->now();
  message.status.push_back(status);
  diagnostics_->publish(message);
}

}  // namespace robot_package

PLUGINLIB_EXPORT_CLASS(robot_package::FeedforwardController, controller_interface::ChainableControllerInterface)
