// SPDX-License-Identifier: Apache-2.0
// The controller that presses in a loop with the simulated robot over a floor, without ROS: it commands what its law does
// beside it, and tells why.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "arm/hybrid/hybrid_force_controller.hpp"
#include "arm/hybrid/hybrid_stability.hpp"
#include "arm/simulation/simulated_robot.hpp"
#include "rclcpp/logging.hpp"
#include "watched.hpp"

using controller_interface::CallbackReturn;
using controller_interface::return_type;
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::TwistStamped;
using std_msgs::msg::Float64;

controller_interface::ChainableControllerInterface * make_plugin();

static double commands[arm::nv] = {};
static std::optional<double> states[2 * arm::nv + 6];

static std::string told(controller_interface::ChainableControllerInterface & controller)
{
  const auto node = controller.get_node();
  node->timer->callback();
  using Publisher = rclcpp_lifecycle::LifecyclePublisher<diagnostic_msgs::msg::DiagnosticArray>;
  return std::static_pointer_cast<Publisher>(node->publisher)->last.status.at(0).message;
}

template <class Message>
static void publish(rclcpp_lifecycle::LifecycleNode & node, const char * topic, const Message & message)
{
  const auto subscription = std::static_pointer_cast<rclcpp::Subscription<Message>>(node.subscriptions.at(topic));
  subscription->callback(std::make_shared<Message>(message));
}

// Arguments: the posture, whose tool points down, then where the task frame is: 3 numbers, and its angle about z.
int main(int count, char ** words)
{
  if (count != static_cast<int>(arm::nv) + 5) return 1;
  arm::SimulatedRobot robot;
  for (std::size_t i = 0; i < arm::nv; ++i) robot.q[i] = std::atof(words[1 + i]);
  std::array<double, 4> task{};
  for (std::size_t k = 0; k < 4; ++k) task[k] = std::atof(words[1 + arm::nv + k]);
  robot.set_floor({true, task[2], 1e5, 1e3, 0.2});

  std::unique_ptr<controller_interface::ChainableControllerInterface> controller(make_plugin());
  const auto node = controller->get_node();
  auto & parameters = arm_hybrid_settings::ParamListener::given();
  if (controller->on_init() != CallbackReturn::SUCCESS) return 2;
  parameters.tool_orientation = {3.14159265358979, 0.0, 0.0};
  parameters.task_position = {task[0], task[1], task[2]};
  parameters.task_orientation = {0.0, 0.0, task[3]};
  const auto refuses = [&](const char * what, auto change) {
    const auto good = parameters;
    change(parameters);
    const bool refused = controller->on_configure({}) == CallbackReturn::ERROR;
    parameters = good;
    std::printf("%s: %s\n", what, rclcpp::last_error().c_str());
    return refused;
  };
  if (!refuses("force_rate", [](auto & p) { p.force_rate = 0.0; })) return 3;
  if (!refuses("sensor_frame", [](auto & p) { p.sensor_frame = "nowhere"; })) return 4;
  if (!refuses("unstable", [](auto & p) { p.normal_damping = 1900.0; })) return 5;
  if (!refuses("efforts", [](auto & p) { p.effort_limits = {1.0}; })) return 6;
  parameters.sensor_name = "wrist";
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 7;
  auto references = controller->export_reference_interfaces();
  if (references.size() != 7 || references[0]->get_name() != "controller/force.z") return 8;
  const auto wanted = controller->state_interface_configuration().names;
  if (wanted.size() != 2 * arm::nv + 6 || wanted[2 * arm::nv] != "wrist/force.x") return 9;

  // the same law beside it
  arm::HybridWishes wishes;
  wishes.tool_orientation = parameters.tool_orientation;
  wishes.task_position = parameters.task_position;
  wishes.task_orientation = parameters.task_orientation;
  arm::HybridSettings settings;
  std::copy_n(arm_effort_limits, arm::nv, settings.effort_limits.begin());
  for (std::size_t i = 0; i < arm::nv; ++i) settings.effort_rates[i] = std::min(10.0 * settings.effort_limits[i], 1000.0);
  settings.urgent_rates.fill(1000.0);
  wishes.reaction_time =
    arm::reaction_time_of(wishes.reaction_time, 0.002, settings.effort_limits, settings.effort_rates);
  wishes.limits.hold_load = parameters.hold_load;
  const auto settle = [&] {
    const bool are_good = arm::settings_of(wishes, settings).empty();
    settings.load_rates = arm::load_rates_of(settings.limits, {1e-3, parameters.delay, 0.0});
    return are_good;
  };
  if (!settle()) return 10;
  arm::HybridForceLaw law;
  law.configure(settings);

  unsigned random = 1;
  double broken = 0.0;
  bool is_silent = false;
  arm::Six reading{};
  const auto place_states = [&] {
    for (std::size_t i = 0; i < arm::nv; ++i) states[2 * i] = robot.q[i], states[2 * i + 1] = robot.v[i];
    if (is_silent) return;
    reading = robot.tip_wrench();
    random = 1664525u * random + 1013904223u;
    reading[5] += 1e-6 * static_cast<double>(random >> 8) / 16777216.0;
    reading[4] += broken;
    for (std::size_t k = 0; k < 3; ++k) {
      states[2 * arm::nv + k] = reading[3 + k];
      states[2 * arm::nv + 3 + k] = reading[k];
    }
  };
  place_states();
  const auto connect = [&](std::size_t number) {
    std::vector<hardware_interface::LoanedCommandInterface> command;
    std::vector<hardware_interface::LoanedStateInterface> state;
    for (double & each : commands) command.emplace_back(&each);
    for (std::size_t k = 0; k < number; ++k) state.emplace_back(&states[k], wanted[k]);
    controller->assign_interfaces(std::move(command), std::move(state));
  };
  connect(2 * arm::nv);  // without the sensor
  if (controller->on_activate({}) == CallbackReturn::SUCCESS) return 11;
  connect(2 * arm::nv + 6);
  if (controller->on_activate({}) != CallbackReturn::SUCCESS) return 12;
  law.start(robot.q);
  double largest = 0.0;
  const auto steps = [&](int number) {
    for (int k = 0; k < number; ++k) {
      if (cycle([&] { return controller->update(rclcpp::Time(), rclcpp::Duration(0.001)); }) != return_type::OK)
        std::exit(13);
      if (law.step(robot.q, robot.v, reading, 0.001) != arm::Status::ok) std::exit(14);
      arm::Vector efforts{};
      for (std::size_t i = 0; i < arm::nv; ++i) {
        if (commands[i] != law.efforts()[i]) std::exit(15);
        efforts[i] = commands[i];
      }
      if (!robot.step(efforts, 0.001)) std::exit(16);
      largest = std::max(largest, robot.contact_force()[2]);
      place_states();
    }
  };
  const auto force = [&](double value) {
    Float64 message;
    message.data = value;
    publish(*node, "~/desired_force", message);
    return law.press(value);
  };
  steps(1);
  std::printf("first:");
  for (const double effort : commands) std::printf(" %.17g", effort);
  steps(99);
  std::printf("\nholds: %s\n", told(*controller).c_str());
  if (force(51.0)) return 17;
  std::printf("too much: %s\n", rclcpp::last_error().c_str());
  steps(10);
  TwistStamped twist;
  twist.twist.linear.x = 0.02;
  publish(*node, "~/target_twist", twist);
  steps(1);
  std::printf("too early: %s\n", told(*controller).c_str());
  if (!force(10.0)) return 18;
  steps(100);
  std::printf("approaches: %s\n", told(*controller).c_str());
  steps(2500);
  std::printf("presses: %s\nforce: %.17g\n", told(*controller).c_str(), robot.contact_force()[2]);
  const double before = law.rows().theta[3];
  twist.header.frame_id = "task";
  publish(*node, "~/target_twist", twist);
  if (!law.drive({0, 0, 0, 0.02, 0, 0}, parameters.twist_timeout)) return 19;
  steps(1000);
  std::printf("moved: %.17g %.17g\n", law.rows().theta[3] - before, robot.contact_force()[2]);
  twist.header.frame_id = "somewhere";
  publish(*node, "~/target_twist", twist);
  std::printf("frame: %s\n", rclcpp::last_error().c_str());
  PoseStamped pose;
  pose.pose.position.x = 9.0;
  publish(*node, "~/target_pose", pose);
  steps(1);
  std::printf("beyond: %s\n", told(*controller).c_str());

  // parameters, while it presses
  const auto set = [&](const char * name, rclcpp::Parameter::Value value) {
    const rclcpp::Parameter one(name, value);
    const auto result = node->set_parameters_atomically({one}, [&](const rclcpp::Parameter & given) {
      arm_hybrid_settings::ParamListener::set(given);
    });
    return result.successful ? std::string() : result.reason;
  };
  const auto both = [&](auto change) {  // the law beside it, too
    change(wishes);
    if (!settle()) std::exit(30);
    law.change(settings);
  };
  std::printf("fixed: %s\n", set("effort_limits", std::vector<double>{1.0}).c_str());
  std::printf("rate: %s\n", set("force_rate", -1.0).c_str());
  std::printf("no number: %s\n", set("force_rate", std::string("fast")).c_str());
  std::printf("no flag: %s\n", set("hold_load", 1.0).c_str());
  std::printf("shaky: %s\n", set("ki", 35.0).c_str());
  std::printf("wanted: %s\n", set("largest_force", 9.0).c_str());
  std::printf("elsewhere: %s\n", set("task_position", std::vector<double>{task[0], task[1], task[2] + 0.1}).c_str());
  if (!force(10.0)) return 34;
  steps(10);  // nothing has changed
  if (!set("kp", std::vector<double>{600.0}).empty() || !set("unknown", 1.0).empty()) return 31;
  if (!set("hold_load", true).empty()) return 35;
  both([](auto & w) { w.kp = {600.0}, w.limits.hold_load = true; });
  steps(300);
  if (!set("task_position", std::vector<double>{task[0] + 0.01, task[1], task[2]}).empty()) return 32;
  both([&](auto & w) { w.task_position = {task[0] + 0.01, task[1], task[2]}; });
  steps(1500);
  if (law.place().task[9] != task[0] + 0.01) return 33;
  std::printf("changed: %s\n", told(*controller).c_str());

  broken = NAN;
  steps(300);
  std::printf("broken: %s\n", told(*controller).c_str());
  broken = 0.0;
  if (!force(10.0)) return 20;
  steps(100);
  if (law.mode() != arm::HybridForceLaw::Mode::hold) return 21;
  if (!force(0.0)) return 22;
  steps(1);
  if (!force(10.0)) return 23;
  steps(2500);
  std::printf("again: %s\n", told(*controller).c_str());
  is_silent = true;
  steps(300);
  std::printf("silent: %s\n", told(*controller).c_str());
  is_silent = false;

  // a controller in front
  controller->set_chained_mode(true);
  (void)law.press(0.0);
  steps(10);
  (void)references[0]->set_value(5.0);
  if (!law.press(5.0)) return 24;
  steps(3000);
  std::printf("chained: %s\nforce: %.17g\n", told(*controller).c_str(), robot.contact_force()[2]);
  (void)references[0]->set_value(1000.0);
  steps(1);
  std::printf("refused: %s\n", told(*controller).c_str());
  controller->set_chained_mode(false);
  (void)law.press(0.0);
  steps(1000);
  std::printf("let go: %s\n", told(*controller).c_str());
  std::printf("largest: %.17g\n", largest);
  if (!force(50.0)) return 29;  // more than it can let go in time
  steps(5000);
  std::printf("bounded: %s\nforce: %.17g\n", told(*controller).c_str(), robot.contact_force()[2]);
  states[0] = NAN;
  const double last = commands[0];
  if (controller->update(rclcpp::Time(), rclcpp::Duration(0.001)) == return_type::OK) return 25;
  if (commands[0] != last) return 26;
  if (controller->on_deactivate({}) != CallbackReturn::SUCCESS || commands[0] != 0.0) return 27;
  std::printf("deactivated: %s\n", told(*controller).c_str());
  std::printf("found:");
  print_found();
  std::printf("\n");
  return controller->on_cleanup({}) == CallbackReturn::SUCCESS ? 0 : 28;
}
