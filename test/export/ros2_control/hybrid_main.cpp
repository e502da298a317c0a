// SPDX-License-Identifier: Apache-2.0
// The controller that presses without ROS, by commands on standard input.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "arm/hybrid/hybrid_force_law.hpp"
#include "arm/hybrid/hybrid_stability.hpp"
#include "arm/hybrid/letting_go.hpp"
#include "arm/simulation/simulated_robot.hpp"
#include "watched.hpp"

using arm::Six;
using arm::Vector;

static void print_output(const arm::HybridOutput & out)
{
  print(out.tau), print(out.wanted), print(out.theta), print(out.rate);
  print(std::array<double, 4>{out.h, out.drift, out.force, out.integral}), print(out.task_integral);
  print(out.lacking), print(std::array<double, 2>{out.rank, out.braking}), print(out.outside), print(out.driven);
}

int main()
{
  arm::HybridWishes wishes;
  arm::HybridSettings settings;
  arm::HybridLaw law;
  arm::HybridForceLaw controller;
  arm::SimulatedRobot robot;
  arm::Approach approach;
  arm::ContactSense sense;
  arm::NormalSpeed speed;
  arm::LettingGo letting_go;
  arm::HeldByFriction friction;
  arm::HybridHold hold;
  arm::Timing timing;
  arm::Loads loads;
  Vector q{}, v{};
  arm::Floor floor;
  std::string sensor_state = "well";
  double noise = 1e-6, offset = 0.0;
  unsigned random = 1;
  const std::map<std::string, std::vector<double> *> lists{
    {"tool_position", &wishes.tool_position},
    {"tool_orientation", &wishes.tool_orientation},
    {"task_position", &wishes.task_position},
    {"task_orientation", &wishes.task_orientation},
    {"kp", &wishes.kp},
    {"kd", &wishes.kd},
    {"joint_velocity_limits", &wishes.joint_velocity_limits},
    {"velocity_limits", &wishes.velocity_limits},
    {"acceleration_limits", &wishes.acceleration_limits},
  };
  const std::map<std::string, double *> numbers{
    {"contact_offset", &wishes.contact_offset},
    {"ki", &wishes.ki},
    {"normal_damping", &wishes.normal_damping},
    {"task_ki", &wishes.task_ki},
    {"reaction_time", &wishes.reaction_time},
    {"actuator_lag", &wishes.actuator_lag},
    {"period", &wishes.period},
    {"path_tolerance", &wishes.path_tolerance},
    {"largest_force", &wishes.limits.largest_force},
    {"force_rate", &wishes.limits.force_rate},
    {"contact_force", &wishes.limits.contact_force},
    {"approach_speed", &wishes.limits.approach_speed},
    {"approach_distance", &wishes.limits.approach_distance},
    {"approach_timeout", &wishes.limits.approach_timeout},
    {"reach", &wishes.limits.reach},
    {"normal_speed", &wishes.limits.normal_speed},
    {"hold_stiffness", &wishes.limits.hold_stiffness},
    {"press_tolerance", &wishes.limits.press_tolerance},
    {"contact_debounce", &wishes.limits.contact_debounce},
    {"hold_damping", &wishes.limits.hold_damping},
    {"hold_tolerance", &wishes.limits.hold_tolerance},
    {"delay", &timing.delay},
    {"actuator_bandwidth", &timing.bandwidth},
  };
  const std::map<std::string, bool *> flags{
    {"hold_load", &wishes.limits.hold_load}, {"gravity_compensated", &wishes.gravity_compensated}};
  // settings of the wishes as they are now, as the controller makes them; what is wrong
  const auto settle = [&](arm::HybridSettings & made) {
    timing.period = wishes.period;
    if (timing.bandwidth > 0.0) wishes.actuator_lag = arm::lag_of(timing);
    const std::string wrong = arm::settings_of(wishes, made);
    made.load_rates = arm::load_rates_of(made.limits, timing);
    return wrong;
  };
  // a reading whose last digits change, as those of sensors do
  const auto reading = [&] {
    Six felt = robot.tip_wrench();
    random = 1664525u * random + 1013904223u;
    felt[5] += offset + noise * (static_cast<double>(random >> 8) / 16777216.0 - 0.5);
    return felt;
  };
  const auto told = [&] {
    std::printf(" %d %d %d %.17g %.17g %.17g %.17g", static_cast<int>(controller.mode()),
      static_cast<int>(controller.reason()), static_cast<int>(controller.stopped()), controller.felt(),
      controller.force(), controller.distance(), controller.figure());
    print(controller.efforts());
    print(controller.rows().theta);
  };
  for (std::string command; std::cin >> command;) {
    std::printf("%s", command.c_str());
    if (command == "wish") {
      std::string name;
      std::cin >> name;
      if (lists.count(name) > 0) {
        auto & list = *lists.at(name);
        list.resize(static_cast<std::size_t>(next()));
        for (double & one : list) one = next();
      } else if (flags.count(name) > 0) {
        *flags.at(name) = next() != 0.0;
      } else {
        *numbers.at(name) = next();
      }
    } else if (command == "configure") {
      const std::string wrong = settle(settings);
      read(settings.effort_limits);
      read(settings.effort_rates);
      settings.urgent_rates = settings.effort_rates;
      for (double & rate : settings.urgent_rates) rate = std::max(rate, 1000.0);
      law.settings = settings;
      controller.configure(settings);
      std::printf(" %s", wrong.c_str());
    } else if (command == "sensor") {
      std::string frame;
      std::cin >> frame;
      std::printf(" %s", arm::sensor_at(frame, settings.place.sensor).c_str());
      print(settings.place.sensor);
    } else if (command == "load" || command == "unknown_load") {
      std::string frame;
      std::cin >> frame;
      arm::Load load;
      load.mass = next();
      read(load.com);
      read(load.rotational);
      if (!loads.set(frame, load).empty()) return 2;
      if (command == "load") controller.carry(loads.inertia(), 0.0);
      robot.carry(loads.inertia());
    } else if (command == "tune") {  // the law alone, to the wishes as they are now
      arm::HybridSettings changed = law.settings;
      if (!arm::settings_of(wishes, changed).empty()) return 11;
      cycle([&] { return law.tune(changed), 0; });
    } else if (command == "soften") {
      law.soften(next());
    } else if (command == "share") {
      std::printf(" %.17g", controller.share());
    } else if (command == "reset") {
      law.reset();
    } else if (command == "law") {
      arm::HybridInputs in{};
      read(q), read(v), read(in.theta), read(in.rate), read(in.acceleration);
      in.force = next(), in.approach = next(), in.measured = next();
      read(in.beside), read(in.aside), read(in.posture);
      const double dt = next();
      const auto status = cycle([&] { return law.step(q, v, in, dt, loads.inertia()); });
      std::printf(" %d", static_cast<int>(status));
      print_output(law.output());
    } else if (command == "felt") {  // multipliers, and what is felt besides
      Six wrench{};
      read(q), read(v), read(wrench);
      arm::Felt felt;
      if (!arm::felt_of(q, v, wrench, {}, settings.place, felt)) return 7;
      print(std::array<double, 4>{felt.normal, felt.force, felt.moment, felt.power}), print(felt.efforts);
    } else if (command == "approach") {  // from inertia, push, h, measured, damping
      sense = {};
      sense.begin();
      approach.begin({next(), next(), next(), next(), next()}, settings.limits);
    } else if (command == "approaches") {  // h, drift, reading, dt
      const double h = next(), drift = next(), felt = next(), dt = next();
      sense.update(felt - approach.zero(), dt, settings.limits.contact_debounce, true);
      double figure = 0.0;
      const bool touches = approach.touches(h, felt, dt, settings.limits, sense);
      const auto halt = approach.step(h, drift, dt, settings.limits, figure);
      std::printf(" %d %d %d", touches, static_cast<int>(halt), approach.is_free());
      print(std::array<double, 6>{
        approach.velocity(), approach.push(), approach.zero(), approach.offset(), approach.free_push(), sense.least()});
    } else if (command == "speed") {  // drift, dt, most, ahead
      const double drift = next(), dt = next(), most = next(), ahead = next();
      speed.update(drift, dt, most, ahead);
      print(std::array<double, 3>{speed.share(), speed.slow(), speed.aim(drift, -0.01)});
    } else if (command == "answer") {  // how the arm answers, and the force that it can let go: held, most, way, steps
      Vector held{};
      read(q), read(held);
      const double most = next(), way = next();
      const auto steps = static_cast<std::size_t>(next());
      arm::JointMatrix M{};
      arm::PressedRows rows{};
      arm::ArmAnswer answer;
      int calls = 1;
      const bool is_found = cycle([&] {
        return rows.of(q, {}, settings.place) &&
               arm_mass_matrix(q.data(), loads.inertia().data(), M.data()) == ARM_OK &&
               answer.of(M, rows, settings.gains);
      });
      if (!is_found) return 8;
      letting_go.begin(answer, held, most, way, settings);
      while (!cycle([&] { return letting_go.advance(steps); })) ++calls;
      print(answer.row), print(answer.inverse), print(answer.damping), print(answer.stiffness);
      std::printf(" %d %.17g", calls, letting_go.largest());
    } else if (command == "friction") {  // q, efforts, force, late
      Vector efforts{};
      read(q), read(efforts);
      const double force = next(), late = next();
      arm::JointMatrix M{};
      if (arm_mass_matrix(q.data(), loads.inertia().data(), M.data()) != ARM_OK) return 9;
      std::printf(" %.17g", friction.largest(M, efforts, force, settings.speeds, late));
    } else if (command == "load_rates") {
      print(settings.load_rates);
    } else if (command == "held_anew") {
      hold.begin();
    } else if (command == "let_go") {
      hold.let_go();
    } else if (command == "hold" || command == "fade") {
      // q, v, the last efforts, touched, whether that is known, elapsed, force; to fade: force before, efforts before,
      // felt beside
      arm::HeldRobot held;
      Vector last{}, pressing{}, efforts{}, pushed{}, beside{};
      read(held.q), read(held.v), read(last), read(held.touched);
      held.is_touch_known = next() != 0.0;
      held.elapsed = next();
      const double force = next(), before = command == "fade" ? next() : force;
      arm::PressedRows rows{};
      if (!rows.of(held.q, held.v, settings.place)) return 12;
      const auto pressed = [&](double times) {
        for (std::size_t i = 0; i < arm::nv; ++i) pressing[i] = times * rows.A[0][i];
        return pressing;
      };
      if (command == "fade") read(pushed), read(beside);
      arm::Approach::Beginning from{};
      arm::Task acceleration{};
      std::size_t moved = 0;
      const bool is_well = cycle([&] {
        hold.commanded(last);
        moved = hold.stay(held.q, settings.limits);
        const bool fades = command == "fade";
        if (fades && hold.fade(held, pressed(before), pushed, beside, settings, loads.inertia()) != arm::Status::ok)
          return false;
        return hold.efforts(held, pressed(force), settings, loads.inertia(), efforts) == arm::Status::ok &&
               hold.against_the_model(held.q, held.v, rows, settings, loads.inertia(), from, acceleration);
      });
      if (!is_well) return 13;
      print(efforts), print(hold.load().efforts());
      std::printf(" %d %.17g %.17g", moved < arm::nv, from.push, from.inertia);
      print(acceleration);
      std::printf(" %.17g", hold.share());
    } else if (command == "change") {  // to the wishes as they are now, where they fit
      arm::HybridSettings changed = settings;
      std::string wrong = settle(changed);
      if (wrong.empty()) wrong = arm::misfit_of(changed, controller.standing(robot.q));
      if (wrong.empty()) {
        settings = changed;
        cycle([&] { return controller.change(changed), 0; });
      }
      std::printf(" %s", wrong.c_str());
    } else if (command == "frame") {  // the way of a task frame: its goal, lever, force, then the place after so many s
      arm::HybridSettings goal = settings;
      if (!arm::settings_of(wishes, goal).empty()) return 10;
      const double lever = next(), pressed = next();
      arm::TaskFramePath path;
      path.begin(settings.place, goal.place, lever, pressed, settings);
      arm::PressingPlace place = settings.place;
      for (int k = static_cast<int>(next()); k > 0; --k) {
        path.pass(next(), place);
        print(place.task);
        std::printf(" %.17g", place.offset);
      }
    } else if (command == "place") {
      print(controller.place().task);
      std::printf(" %.17g", controller.place().offset);
    } else if (command == "bound") {
      std::printf(" %.17g %.17g", controller.desired(), controller.bound());
    } else if (command == "start") {
      read(q);
      controller.start(q);
    } else if (command == "step") {
      Six wrench{};
      read(q), read(v), read(wrench);
      const double period = next();
      std::printf(" %d", static_cast<int>(cycle([&] { return controller.step(q, v, wrench, period); })));
      told();
    } else if (command == "press") {
      const double force = next();
      std::printf(" %d", cycle([&] { return controller.press(force); }));
    } else if (command == "goto") {
      arm::Three p{};
      std::array<double, 4> quaternion{};
      read(p), read(quaternion);
      arm::Placed goal;
      const bool is_pose = arm::place(p, quaternion, goal);
      std::printf(" %d", is_pose && cycle([&] { return controller.go_to(goal); }));
    } else if (command == "drive") {
      Six rates{};
      read(rates);
      const double seconds = next();
      std::printf(" %d", cycle([&] { return controller.drive(rates, seconds); }));
    } else if (command == "floor") {
      floor = {true, next(), next(), next(), next()};
      robot.set_floor(floor);
    } else if (command == "sensing") {  // well, silent, nan; its offset and noise, N
      std::cin >> sensor_state;
      offset = next(), noise = next();
    } else if (command == "at") {  // the simulated robot, at rest
      read(robot.q);
      robot.v = {};
      controller.start(robot.q);
    } else if (command == "run") {  // so many cycles on it
      const int count = static_cast<int>(next());
      double fastest = 0.0, deepest = 0.0, hardest = 0.0, jump = 0.0;
      Six last = reading();
      for (int k = 0; k < count; ++k) {
        if (sensor_state != "silent") last = reading();
        if (sensor_state == "nan") last[3] = NAN;
        const Vector before = controller.efforts();
        if (cycle([&] { return controller.step(robot.q, robot.v, last, 1e-3); }) != arm::Status::ok) return 4;
        if (!robot.step(controller.efforts(), 1e-3)) return 5;
        fastest = std::max(fastest, -controller.rows().rate(0, robot.v));
        deepest = std::min(deepest, controller.distance());
        hardest = std::max(hardest, std::hypot(
          robot.contact_force()[0], robot.contact_force()[1], robot.contact_force()[2]));
        for (std::size_t i = 0; k > 0 && i < arm::nv; ++i)
          jump = std::max(jump, std::abs(controller.efforts()[i] - before[i]));
      }
      print(std::array<double, 4>{fastest, deepest, hardest, jump});
      print(robot.contact_force());
      told();
      print(robot.q), print(robot.v);
    } else if (command == "growth") {  // kind, gains
      std::string kind;
      std::cin >> kind;
      const double a = next(), b = next(), c = next(), late = next();
      const arm::Timing timing{next(), next(), next()};
      std::printf(" %.17g", kind == "contact" ? arm::contact_growth(a, b, c, timing, late)
                                              : arm::motion_growth(a, b, c, timing));
    } else if (command == "unstable") {
      const double late = next();
      const arm::Timing timing{next(), next(), next()};
      std::printf(" %s", arm::instability_of(settings, timing, late).c_str());
    } else if (command == "time") {  // us of a cycle while it presses: the best of some rounds
      const Six last = reading();
      double best = 1e9;
      for (int round = 0; round < 20; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < 100; ++k) {
          Six now = last;
          now[5] += 1e-6 * k;
          controller.step(robot.q, robot.v, now, 1e-3);
        }
        const auto end = std::chrono::steady_clock::now();
        best = std::min(best, std::chrono::duration<double, std::micro>(end - begin).count() / 100);
      }
      std::printf(" %g %d", best, static_cast<int>(controller.mode()));
    } else if (command == "faults") {  // of pages, in so many cycles
      const int count = static_cast<int>(next());
      const bool locked = lock_memory();
      const long before = page_faults();
      for (int k = 0; k < count; ++k) (void)controller.step(robot.q, robot.v, reading(), 1e-3);
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
