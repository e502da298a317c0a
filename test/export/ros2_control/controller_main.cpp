// SPDX-License-Identifier: Apache-2.0
// The feedforward controller in a loop, without ROS: what it commands is printed, a row a step.
#include <cmath>
#include <cstdio>

#include "arm/feedforward/feedforward_controller.hpp"
#include "watched.hpp"

using controller_interface::CallbackReturn;
using controller_interface::return_type;
using rbd_dynamics_interfaces::srv::SetPayload;
using trajectory_msgs::msg::JointTrajectory;

controller_interface::ChainableControllerInterface * make_plugin();

static double commands[arm::nv] = {};
static std::optional<double> states[2 * arm::nv];

static void step(controller_interface::ChainableControllerInterface & controller, const char * what)
{
  const bool well =
    cycle([&] { return controller.update(rclcpp::Time(), rclcpp::Duration(0.001)); }) == return_type::OK;
  std::printf("%s %d", what, well ? 1 : 0);
  for (const double command : commands) std::printf(" %.17g", command);
  std::printf("\n");
}

static std::string told(controller_interface::ChainableControllerInterface & controller)
{
  const auto node = controller.get_node();
  node->timer->callback();
  using Publisher = rclcpp_lifecycle::LifecyclePublisher<diagnostic_msgs::msg::DiagnosticArray>;
  return std::static_pointer_cast<Publisher>(node->publisher)->last.status.at(0).message;
}

int main()
{
  std::unique_ptr<controller_interface::ChainableControllerInterface> controller(make_plugin());
  auto & parameters = arm_settings::ParamListener::given();
  if (controller->on_init() != CallbackReturn::SUCCESS) return 1;
  // gains that grow, of a wrong count, a wrong law, wrong references, a wrong load
  const auto good = parameters;
  const auto refuses = [&](auto change) {
    parameters = good;
    change(parameters);
    const bool refused = controller->on_configure({}) == CallbackReturn::ERROR;
    parameters = good;
    return refused;
  };
  bool all = refuses([](auto & p) { p.kp.assign(arm::nv, 1e6), p.kd.assign(arm::nv, 1e4); });
  all = refuses([](auto & p) { p.kp = {1.0}; }) && all;
  all = refuses([](auto & p) { p.kp.assign(arm::nv, -1.0); }) && all;
  all = refuses([](auto & p) { p.kd.assign(arm::nv, NAN); }) && all;
  all = refuses([](auto & p) { p.law = "computed_torque", p.terms = {"gravity"}; }) && all;
  all = refuses([](auto & p) { p.reference_interfaces = {"velocity"}; }) && all;
  all = refuses([](auto & p) { p.payload.frame = "nowhere"; }) && all;
  std::printf("refused %d\n", all);

  parameters.kp.assign(arm::nv, 20.0);
  parameters.kd.assign(arm::nv, 0.5);
  parameters.payload.frame = arm_frame_names[ARM_FRAMES - 1];
  parameters.payload.mass = 0.7;
  parameters.reference_interfaces = {"position", "velocity", "acceleration", "effort"};
  parameters.effort_rates = {1e9, 1e9, 1e9};  // the law as it is
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 2;
  auto references = controller->export_reference_interfaces();
  if (references.size() != 4 * arm::nv) return 3;
  const std::string name = std::string("controller/") + arm_joint_names[0] + "/position";
  if (references[0]->get_name() != name) return 4;

  std::vector<hardware_interface::LoanedCommandInterface> command;
  std::vector<hardware_interface::LoanedStateInterface> state;
  for (std::size_t i = 0; i < arm::nv; ++i) {
    states[2 * i] = 0.1 * (i + 1);
    states[2 * i + 1] = 0.2 * (i + 1);
    command.emplace_back(&commands[i]);
  }
  for (auto & one : states) state.emplace_back(&one);
  if (controller->command_interface_configuration().names.size() != arm::nv) return 5;
  if (controller->state_interface_configuration().names.size() != 2 * arm::nv) return 6;
  controller->assign_interfaces(std::move(command), std::move(state));
  if (controller->on_activate({}) != CallbackReturn::SUCCESS) return 7;
  step(*controller, "holds");
  if (told(*controller) != "holding") return 8;

  // from the topic
  const auto node = controller->get_node();
  const auto subscription = std::static_pointer_cast<rclcpp::Subscription<JointTrajectory>>(node->subscriptions.at("~/reference"));
  auto message = std::make_shared<JointTrajectory>();
  message->points.resize(1);
  for (std::size_t i = arm::nv; i-- > 0;) {  // in another order
    message->joint_names.push_back(arm_joint_names[i]);
    message->points[0].positions.push_back(0.1 * (i + 1) + 0.01);
    message->points[0].velocities.push_back(0.3);
    message->points[0].accelerations.push_back(-0.5);
  }
  subscription->callback(message);
  step(*controller, "follows");
  if (told(*controller) != "following") return 9;
  auto wrong = std::make_shared<JointTrajectory>(*message);
  wrong->points[0].positions[0] = NAN;
  subscription->callback(wrong);
  wrong->points[0] = message->points[0];
  wrong->points[0].velocities.pop_back();
  subscription->callback(wrong);
  step(*controller, "ignores");
  for (int i = 0; i < 100; ++i) (void)controller->update(rclcpp::Time(), rclcpp::Duration(0.001));
  step(*controller, "stale");
  if (told(*controller) != "holding") return 23;

  // from a controller in front
  controller->set_chained_mode(true);
  step(*controller, "waits");  // nothing is written yet: where it was wanted last
  for (std::size_t i = 0; i < arm::nv; ++i) {
    const double values[] = {0.1 * (i + 1) - 0.02, -0.1, 0.4, 0.25};
    for (std::size_t k = 0; k < 4; ++k) (void)references[k * arm::nv + i]->set_value(values[k]);
  }
  step(*controller, "chained");
  controller->set_chained_mode(false);
  step(*controller, "left");

  // another load
  const auto service = std::static_pointer_cast<rclcpp::Service<SetPayload>>(node->service);
  auto request = std::make_shared<SetPayload::Request>();
  auto response = std::make_shared<SetPayload::Response>();
  request->payload.header.frame_id = "nowhere";
  service->callback(request, response);
  if (response->success || response->message.empty()) return 10;
  request->payload.header.frame_id = arm_frame_names[ARM_FRAMES - 1];
  request->payload.inertia.m = 1.4;
  request->transition_time = 0.002;
  service->callback(request, response);
  if (!response->success) return 11;
  step(*controller, "changes");
  step(*controller, "loaded");

  states[0] = NAN;
  step(*controller, "refuses");
  states[0].reset();
  step(*controller, "unread");
  states[0] = 0.1;
  if (controller->on_deactivate({}) != CallbackReturn::SUCCESS) return 12;
  std::printf("ends 1");
  for (const double command_now : commands) std::printf(" %.17g", command_now);
  std::printf("\n");
  if (told(*controller) != "not active") return 13;
  // from here again: what was written before is of another time
  subscription->callback(message);
  if (controller->on_activate({}) != CallbackReturn::SUCCESS) return 14;
  step(*controller, "again");
  if (controller->on_cleanup({}) != CallbackReturn::SUCCESS) return 15;

  // damping that is stable with a heavy load alone: the load is not let go
  const auto usual = parameters;
  parameters.payload.frame = "";
  for (double kd = 0.5; controller->on_configure({}) == CallbackReturn::SUCCESS; kd *= 1.2) {
    if (controller->on_cleanup({}) != CallbackReturn::SUCCESS) return 18;
    parameters.kd.assign(arm::nv, kd);
  }
  parameters.payload.frame = usual.payload.frame;
  parameters.payload.mass = 50.0;
  parameters.payload.inertia = {5.0, 0.0, 0.0, 5.0, 0.0, 5.0};
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 19;
  const auto changes = std::static_pointer_cast<rclcpp::Service<SetPayload>>(node->service);
  const auto mass_after = [&](double mass) {
    request->payload.inertia.m = mass;
    request->payload.inertia.ixx = request->payload.inertia.iyy = request->payload.inertia.izz = mass / 10.0;
    changes->callback(request, response);
    return response->total_mass;
  };
  const double loaded = mass_after(50.0);
  if (!response->success || mass_after(0.0) != loaded || response->success) return 20;
  if (response->message.find("unstable") == std::string::npos) return 21;
  if (controller->on_cleanup({}) != CallbackReturn::SUCCESS) return 22;
  parameters = usual;

  // efforts change as fast as they usually may
  parameters.effort_rates = {};
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 16;
  if (controller->on_activate({}) != CallbackReturn::SUCCESS) return 17;
  step(*controller, "begins");
  std::static_pointer_cast<rclcpp::Subscription<JointTrajectory>>(node->subscriptions.at("~/reference"))->callback(message);
  step(*controller, "limited");
  std::printf("found");
  print_found();
  std::printf("\n");
  return controller->on_cleanup({}) == CallbackReturn::SUCCESS ? 0 : 18;
}
