// SPDX-License-Identifier: Apache-2.0
// The Cartesian impedance controller in a loop, without ROS: it commands what its law does beside it, and tells why.
#include <cmath>
#include <cstdio>

#include "arm/cartesian/cartesian_impedance_controller.hpp"
#include "arm/cartesian/target_stiffness.hpp"
#include "rclcpp/logging.hpp"
#include "watched.hpp"

using arm::Placed;
using controller_interface::CallbackReturn;
using controller_interface::return_type;
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::TwistStamped;
using geometry_msgs::msg::WrenchStamped;
using rbd_dynamics_interfaces::srv::SetPayload;
using std_msgs::msg::Float64MultiArray;

controller_interface::ChainableControllerInterface * make_plugin();

static double commands[arm::nv] = {};
static std::optional<double> states[2 * arm::nv];
static arm::Vector q{}, v{};

static std::string told(controller_interface::ChainableControllerInterface & controller)
{
  const auto node = controller.get_node();
  node->timer->callback();
  using Publisher = rclcpp_lifecycle::LifecyclePublisher<diagnostic_msgs::msg::DiagnosticArray>;
  return std::static_pointer_cast<Publisher>(node->publisher)->last.status.at(0).message;
}

static void place_states()
{
  for (std::size_t i = 0; i < arm::nv; ++i) states[2 * i] = q[i], states[2 * i + 1] = v[i];
}

template <class Message>
static void publish(rclcpp_lifecycle::LifecycleNode & node, const char * topic, const Message & message)
{
  const auto subscription = std::static_pointer_cast<rclcpp::Subscription<Message>>(node.subscriptions.at(topic));
  subscription->callback(std::make_shared<Message>(message));
}

int main()
{
  std::unique_ptr<controller_interface::ChainableControllerInterface> controller(make_plugin());
  const auto node = controller->get_node();
  auto & parameters = arm_cartesian_settings::ParamListener::given();
  if (controller->on_init() != CallbackReturn::SUCCESS) return 1;
  const auto refuses = [&](auto change) {
    const auto good = parameters;
    change(parameters);
    const bool refused = controller->on_configure({}) == CallbackReturn::ERROR;
    parameters = good;
    return refused;
  };
  parameters.stiffness = {50.0};
  parameters.rotational_stiffness = {1.0};
  if (!refuses([](auto & p) { p.stiffness = {1e7}; })) return 2;
  std::printf("unstable: %s\n", rclcpp::last_error().c_str());
  if (!refuses([](auto & p) { p.stiffness = {1.0, 2.0}; })) return 3;
  if (!refuses([](auto & p) { p.effort_limits = {1.0}; })) return 4;
  if (!refuses([](auto & p) { p.payload.frame = "nowhere"; })) return 5;
  parameters.effort_rates.assign(arm::nv, 1e9);
  parameters.path_tolerance = {0.5};
  parameters.largest_stiffness = {1e6, 500.0};
  parameters.twist_timeout = 0.02;
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 6;
  auto references = controller->export_reference_interfaces();
  if (references.size() != 7 || references[6]->get_name() != "controller/orientation.w") return 7;

  // the same law beside it
  arm::CartesianWishes wishes;
  wishes.stiffness = parameters.stiffness;
  wishes.rotational_stiffness = parameters.rotational_stiffness;
  wishes.velocity_limits = parameters.velocity_limits;
  wishes.acceleration_limits = parameters.acceleration_limits;
  wishes.path_tolerance = parameters.path_tolerance;
  wishes.reaction_time = parameters.reaction_time;
  arm::CartesianSettings settings;
  if (!arm::settings_of(wishes, settings).empty()) return 8;
  std::copy_n(arm_effort_limits, arm::nv, settings.effort_limits.begin());
  settings.effort_rates = settings.urgent_rates = arm::filled(1e9);
  arm::CartesianImpedanceLaw law;
  law.configure(settings);

  std::vector<hardware_interface::LoanedCommandInterface> command;
  std::vector<hardware_interface::LoanedStateInterface> state;
  for (std::size_t i = 0; i < arm::nv; ++i) q[i] = 0.05 * (i + 1), command.emplace_back(&commands[i]);
  place_states();
  for (auto & one : states) state.emplace_back(&one);
  controller->assign_interfaces(std::move(command), std::move(state));
  if (controller->on_activate({}) != CallbackReturn::SUCCESS || !law.start(q)) return 9;
  const auto steps = [&](int count) {
    for (int k = 0; k < count; ++k) {
      if (cycle([&] { return controller->update(rclcpp::Time(), rclcpp::Duration(0.001)); }) != return_type::OK)
        std::exit(10);
      if (law.step(q, v, 0.001) != arm::Status::ok) std::exit(11);
      for (std::size_t i = 0; i < arm::nv; ++i) {
        if (commands[i] != law.efforts()[i]) std::exit(12);
      }
      q = law.reference().q();  // an arm that follows without error
      v = law.reference().v();
      place_states();
    }
  };
  steps(1);
  std::printf("first:");
  for (const double effort : commands) std::printf(" %.17g", effort);
  std::printf("\nholds: %s\n", told(*controller).c_str());

  PoseStamped pose;
  const Placed here = law.reference().placed();
  const auto at = [&](double x, double y, double z) {
    pose.pose.position = {x, y, z};
    Placed goal;
    const auto & o = pose.pose.orientation;
    if (!arm::place({x, y, z}, {o.x, o.y, o.z, o.w}, goal)) std::exit(13);
    return goal;
  };
  Placed goal = at(here[9] - 0.02, here[10] + 0.01, here[11] + 0.01);
  pose.header.frame_id = "somewhere";
  publish(*node, "~/target_pose", pose);
  steps(1);  // refused: nothing changes
  pose.header.frame_id = "";
  publish(*node, "~/target_pose", pose);
  if (!law.go_to(goal)) return 14;
  steps(100);
  std::printf("goes: %s\n", told(*controller).c_str());
  TwistStamped twist;
  twist.twist.linear = {0.01, 0.02, -0.03};
  twist.header.frame_id = arm::tool_frame;
  publish(*node, "~/target_twist", twist);
  const arm::Three turned = arm::turned(law.reference().placed().R(), {0.01, 0.02, -0.03});
  if (!law.drive({0, 0, 0, turned[0], turned[1], turned[2]}, 0.02)) return 15;
  WrenchStamped wrench;
  wrench.wrench.force.z = 5.0;
  publish(*node, "~/target_wrench", wrench);
  law.press({0, 0, 0, 0, 0, 5.0});
  steps(10);
  std::printf("drives: %s\n", told(*controller).c_str());
  goal = at(9.0, 0.0, 0.0);
  publish(*node, "~/target_pose", pose);
  if (!law.go_to(goal)) return 16;
  steps(8000);
  std::printf("out of reach: %s\n", told(*controller).c_str());

  // a controller in front
  controller->set_chained_mode(true);
  law.hold();
  steps(5);
  const double reference[] = {here[9], here[10], here[11], 0.0, 0.0, 0.0, 1.0};
  for (std::size_t k = 0; k < 7; ++k) (void)references[k]->set_value(reference[k]);
  if (!law.go_to(at(here[9], here[10], here[11]))) return 17;
  steps(20);
  std::printf("chained: %s\n", told(*controller).c_str());
  (void)references[6]->set_value(0.3);
  steps(20);
  std::printf("no pose: %s\n", told(*controller).c_str());
  controller->set_chained_mode(false);
  law.hold();
  steps(500);

  // another stiffness: what the law beside it has, too; one that is no stiffness, and one that is not stable, change
  // nothing
  Float64MultiArray stiffness;
  const auto stiffen = [&](std::vector<double> numbers) {
    stiffness.data = std::move(numbers);
    rclcpp::last_error().clear();
    publish(*node, "~/target_stiffness", stiffness);
    return rclcpp::last_error();
  };
  std::printf("no stiffness: %s\n", stiffen({1, 2, 3}).c_str());
  std::printf("too stiff: %s\n", stiffen({1, 1, 1, 501, 1, 1}).c_str());
  std::printf("shaky: %s\n", stiffen({9e5, 9e5, 9e5, 1, 1, 1}).c_str());
  steps(5);
  if (!stiffen({20, 30, 40, 0.5, 0.6, 0.7}).empty()) return 23;
  std::array<double, 36> wanted{};
  if (!arm::stiffness_of({20, 30, 40, 0.5, 0.6, 0.7}, {5000, 500}, wanted).empty()) return 24;
  law.want_stiffness(wanted);
  steps(50);
  if (law.output().stiffness[21] == 50.0 || !(law.output().stiffness[21] >= 20.0)) return 25;

  // another load
  const auto service = std::static_pointer_cast<rclcpp::Service<SetPayload>>(node->service);
  auto request = std::make_shared<SetPayload::Request>();
  auto response = std::make_shared<SetPayload::Response>();
  request->payload.header.frame_id = arm_frame_names[ARM_FRAMES - 1];
  request->payload.inertia.m = 0.4;
  request->transition_time = 0.01;
  service->callback(request, response);
  arm::Loads loads;
  if (!response->success || !loads.set(arm_frame_names[ARM_FRAMES - 1], {0.4, {}, {}}).empty()) return 18;
  law.carry(loads.inertia(), 0.01);
  steps(20);

  for (double & each : q) each += 1.0;
  place_states();
  steps(2);
  std::printf("pushed: %s\n", told(*controller).c_str());
  states[0] = NAN;
  const double before = commands[0];
  if (controller->update(rclcpp::Time(), rclcpp::Duration(0.001)) == return_type::OK) return 19;
  if (commands[0] != before) return 20;
  if (controller->on_deactivate({}) != CallbackReturn::SUCCESS) return 21;
  std::printf("deactivated: %s\n", told(*controller).c_str());
  std::printf("found:");
  print_found();
  std::printf("\n");
  return controller->on_cleanup({}) == CallbackReturn::SUCCESS ? 0 : 22;
}
