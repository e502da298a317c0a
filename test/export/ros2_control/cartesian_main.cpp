// SPDX-License-Identifier: Apache-2.0
// The Cartesian impedance controller without ROS, by commands on standard input.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "arm/cartesian/cartesian_impedance_law.hpp"
#include "arm/cartesian/cartesian_stability.hpp"
#include "arm/cartesian/target_stiffness.hpp"
#include "arm/simulation/simulated_robot.hpp"
#include "watched.hpp"

using arm::Placed;
using arm::Six;
using arm::Vector;

static void print_output(const arm::CartesianOutput & out)
{
  print(out.tau), print(out.wanted), print(out.theta), print(out.rate), print(out.pose), print(out.twist);
  print(out.error), print(out.slip), print(out.wrench), print(out.stiffness);
  print(std::array<double, 5>{out.tank, out.manipulability, out.energy, out.power, out.braking});
  print(out.outside), print(out.driven);
}

static arm::Moving read_moving()
{
  arm::Moving moving;
  read(moving.x), read(moving.v), read(moving.a);
  return moving;
}

static arm::PointLimits read_limits()
{
  arm::PointLimits limits{next(), next(), next(), {}, {}};
  read(limits.lower), read(limits.upper);
  return limits;
}

// The largest of |x| over its limit.
static double used(const Vector & x, const Vector & limits)
{
  double most = 0.0;
  for (std::size_t i = 0; i < arm::nv; ++i) most = std::max(most, std::abs(x[i]) / limits[i]);
  return most;
}

int main()
{
  arm::CartesianWishes wishes;
  arm::CartesianSettings settings;
  arm::CartesianLaw law;
  arm::CartesianImpedanceLaw controller;
  arm::SimulatedRobot robot;
  arm::Loads loads;
  Vector q{}, v{};
  const std::map<std::string, std::vector<double> *> lists{
    {"tool_position", &wishes.tool_position},
    {"tool_orientation", &wishes.tool_orientation},
    {"stiffness", &wishes.stiffness},
    {"rotational_stiffness", &wishes.rotational_stiffness},
    {"damping", &wishes.damping},
    {"rotational_damping", &wishes.rotational_damping},
    {"stiffness_orientation", &wishes.stiffness_orientation},
    {"joint_velocity_limits", &wishes.joint_velocity_limits},
    {"posture", &wishes.posture},
    {"velocity_limits", &wishes.velocity_limits},
    {"acceleration_limits", &wishes.acceleration_limits},
    {"workspace_lower", &wishes.workspace_lower},
    {"workspace_upper", &wishes.workspace_upper},
    {"path_tolerance", &wishes.path_tolerance},
  };
  const std::map<std::string, double *> numbers{
    {"reaction_time", &wishes.reaction_time},
    {"damping_ratio", &wishes.damping_ratio},
    {"posture_kp", &wishes.posture_kp},
    {"posture_kd", &wishes.posture_kd},
    {"least_manipulability", &wishes.least_manipulability},
    {"largest_force", &wishes.largest_force},
    {"wrench_rate", &wishes.wrench_rate},
  };
  const auto told = [&] {
    std::printf(" %d %d %zu", static_cast<int>(controller.mode()), static_cast<int>(controller.stopped()),
      controller.stopped_by());
    print(controller.efforts()), print(controller.target()), print(controller.reference().placed());
    print(controller.reference().q()), print(controller.output().error);
  };
  for (std::string command; std::cin >> command;) {
    std::printf("%s", command.c_str());
    if (command == "wish") {
      std::string name;
      std::cin >> name;
      if (name == "stiffness_axes") {
        std::cin >> wishes.stiffness_axes;
      } else if (lists.count(name) > 0) {
        auto & list = *lists.at(name);
        list.resize(static_cast<std::size_t>(next()));
        for (double & one : list) one = next();
      } else {
        *numbers.at(name) = next();
      }
    } else if (command == "configure") {
      const std::string wrong = arm::settings_of(wishes, settings);
      read(settings.weights);
      read(settings.effort_limits);
      read(settings.effort_rates);
      settings.urgent_rates = settings.effort_rates;
      for (double & rate : settings.urgent_rates) rate = std::max(rate, 1000.0);
      law.settings = settings;
      controller.configure(settings);
      std::printf(" %s", wrong.c_str());
    } else if (command == "load") {
      std::string frame;
      std::cin >> frame;
      arm::Load load;
      load.mass = next();
      read(load.com);
      read(load.rotational);
      if (!loads.set(frame, load).empty()) return 2;
      controller.carry(loads.inertia(), 0.0);
      robot.carry(loads.inertia());
    } else if (command == "reset") {
      law.reset();
    } else if (command == "law") {
      arm::CartesianInputs in{};
      read(q), read(v), read(in.base), read(in.theta), read(in.rate), read(in.acceleration), read(in.wrench);
      read(in.posture), read(in.posture_rate);
      const double dt = next();
      const auto status = cycle([&] { return law.step(q, v, in, dt, loads.inertia()); });
      std::printf(" %d %d", static_cast<int>(status), law.is_in_haste());
      print_output(law.output());
    } else if (command == "towards" || command == "driven") {
      const arm::Moving now = read_moving();
      arm::Three goal{};
      read(goal);
      const auto limits = read_limits();
      const double step = next();
      const arm::Moving then =
        command == "towards" ? arm::towards(now, goal, limits, step) : arm::driven(now, goal, limits, step);
      print(then.x), print(then.v), print(then.a);
    } else if (command == "start") {
      read(q);
      std::printf(" %d", controller.start(q));
    } else if (command == "goto") {
      arm::Three p{};
      std::array<double, 4> quaternion{};
      read(p), read(quaternion);
      Placed goal;
      const bool is_pose = arm::place(p, quaternion, goal);
      std::printf(" %d", is_pose && cycle([&] { return controller.go_to(goal); }));
    } else if (command == "drive") {
      Six twist{};
      read(twist);
      const double seconds = next();
      std::printf(" %d", cycle([&] { return controller.drive(twist, seconds); }));
    } else if (command == "press") {
      std::array<double, 12> wrench{};
      read(wrench);
      controller.press(wrench);
    } else if (command == "step") {
      read(q), read(v);
      const double period = next();
      std::printf(" %d", static_cast<int>(cycle([&] { return controller.step(q, v, period); })));
      told();
    } else if (command == "at") {  // the simulated robot, at rest
      read(robot.q);
      robot.v = {};
      if (!controller.start(robot.q)) return 3;
    } else if (command == "run") {  // so many cycles on it: what was used of velocity and effort limits at most
      const int count = static_cast<int>(next());
      double fastest = 0.0, strongest = 0.0;
      for (int k = 0; k < count; ++k) {
        if (cycle([&] { return controller.step(robot.q, robot.v, 1e-3); }) != arm::Status::ok) return 4;
        if (!robot.step(controller.efforts(), 1e-3)) return 5;
        fastest = std::max(fastest, used(robot.v, settings.speeds));
        strongest = std::max(strongest, used(controller.efforts(), settings.effort_limits));
      }
      std::printf(" %.17g %.17g", fastest, strongest);
      told();
      print(robot.q), print(robot.v);
      print(controller.output().pose);
    } else if (command == "growth") {
      read(q);
      arm::Timing timing{next(), next(), next()};
      arm::ToolLoop loop;
      if (!loop.of(q, settings, loads.inertia())) return 6;
      std::printf(" %.17g", loop.growth_rate(settings, 1.0, timing));
    } else if (command == "stiffen") {  // both laws: largest, then as many numbers as are said
      std::array<double, 2> largest{};
      read(largest);
      std::vector<double> given(static_cast<std::size_t>(next()));
      for (double & one : given) one = next();
      std::array<double, 36> stiffness{};
      const std::string wrong = arm::stiffness_of(given, largest, stiffness);
      std::printf(" %s", wrong.c_str());
      if (wrong.empty()) {
        law.settings.stiffness = settings.stiffness = stiffness;
        cycle([&] { return controller.want_stiffness(stiffness), 0; });
        print(stiffness);
      }
    } else if (command == "eigenvalues") {
      std::array<double, 36> matrix{};
      read(matrix);
      print(arm::eigenvalues_of<6>(matrix));
    } else if (command == "unstable") {
      arm::Timing timing{next(), next(), next()};
      std::printf(" %s", arm::instability_of(settings, loads.inertia(), timing).c_str());
    } else if (command == "time") {  // us of a cycle on the move: the best of some rounds
      double best = 1e9;
      for (int round = 0; round < 20; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < 100; ++k) controller.step(robot.q, robot.v, 1e-3);
        const auto end = std::chrono::steady_clock::now();
        best = std::min(best, std::chrono::duration<double, std::micro>(end - begin).count() / 100);
      }
      std::printf(" %g", best);
    } else if (command == "faults") {  // of pages, in so many cycles
      const int count = static_cast<int>(next());
      const bool locked = lock_memory();
      if (!locked) (void)controller.step(robot.q, robot.v, 1e-3);
      const long before = page_faults();
      for (int k = 0; k < count; ++k) (void)controller.step(robot.q, robot.v, 1e-3);
      std::printf(" %d %ld", locked, page_faults() - before);
    } else if (command == "found") {
      print_found();
    } else {
      return 1;
    }
    std::printf("\n");
  }
  return 0;
}
