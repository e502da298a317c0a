// SPDX-License-Identifier: Apache-2.0
// The headers without ROS, by commands on standard input; what allocates or locks in a cycle is counted.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "arm/common/mailbox.hpp"
#include "arm/common/stability.hpp"
#include "arm/feedforward/feedforward_law.hpp"
#include "arm/simulation/simulated_robot.hpp"
#include "watched.hpp"

// Whether a reader sees only whole contents, in order, and the last one in the end.
static bool mailbox_keeps_its_word()
{
  struct Letter
  {
    long first, rest[30];
  };
  static arm::Mailbox<Letter> box;
  constexpr long last = 200000;
  std::thread writer([] {
    for (long k = 1; k <= last; ++k) {
      Letter letter;
      letter.first = k;
      for (long & one : letter.rest) one = k;
      box.put(letter);
    }
  });
  bool well = true;
  Letter letter{};
  for (long before = 0; before < last;) {
    if (!box.take(letter)) continue;
    well = well && letter.first > before;
    for (const long one : letter.rest) well = well && one == letter.first;
    before = letter.first;
  }
  writer.join();
  return well && !box.take(letter);
}

int main()
{
  arm::FeedforwardLaw law;
  arm::Loads loads;
  arm::SimulatedRobot robot;
  arm::Vector q{}, v{}, efforts{}, kp{}, kd{};
  for (std::string command; std::cin >> command;) {
    std::printf("%s", command.c_str());
    if (command == "settings") {
      arm::FeedforwardSettings settings;
      read(settings.weights);
      read(settings.kp);
      read(settings.kd);
      read(settings.effort_limits);
      read(settings.effort_rates);
      settings.has_positions = next() != 0.0;
      law.configure(settings);
    } else if (command == "start") {
      read(q);
      law.start(q);
    } else if (command == "load") {
      std::string frame;
      std::cin >> frame;
      arm::Load load;
      load.mass = next();
      read(load.com);
      read(load.rotational);
      const double transition = next();
      const std::string wrong = loads.set(frame, load);
      std::printf(" %.17g %s", loads.mass(), wrong.c_str());
      if (wrong.empty()) law.carry(loads.inertia(), transition);
      robot.carry(loads.inertia());
    } else if (command == "step") {
      arm::Reference reference;
      read(q);
      read(v);
      read(reference.position);
      read(reference.velocity);
      read(reference.acceleration);
      read(reference.effort);
      const double period = next();
      const auto status = cycle([&] { return law.step(q, v, reference, period); });
      std::printf(" %d %d", static_cast<int>(status), law.holds());
      print(law.efforts());
      print(law.wanted());
    } else if (command == "growth") {
      read(q);
      read(kp);
      read(kd);
      const bool computed = next() != 0.0;
      arm::Timing timing;
      timing.period = next();
      timing.delay = next();
      timing.bandwidth = next();
      std::printf(" %.17g", arm::growth_rate_at(q, loads.inertia(), kp, kd, computed, timing));
      std::printf(" %.17g", arm::worst_growth_rate(loads.inertia(), kp, kd, computed, timing));
    } else if (command == "floor") {
      arm::Floor floor{true, next(), next(), next(), next()};
      robot.set_floor(floor);
    } else if (command == "simulate") {
      read(robot.q);
      read(robot.v);
      read(efforts);
      robot.set_substep(next());
      const double period = next();
      const bool well = cycle([&] { return robot.step(efforts, period); });
      std::printf(" %d", well);
      print(robot.q);
      print(robot.v);
      print(robot.applied());
      print(robot.contact_force());
    } else if (command == "chain") {  // the law on the simulated robot: a second of motion, quintic (0), even (1) or a step (2), then one
      const double shape = next();
      robot.v = {};
      read(robot.q);
      arm::Vector from = robot.q, to{};
      read(to);
      law.start(from);
      double worst = 0.0, left = 0.0;
      for (int k = 0; k < 2000; ++k) {
        const double s = std::min(1e-3 * k, 1.0), slope = s * s * (30 + s * (-60 + 30 * s));
        arm::Reference reference = arm::Reference::none();
        for (std::size_t i = 0; i < arm::nv; ++i) {
          const double far = to[i] - from[i];
          if (shape == 2.0) {
            reference.position[i] = k == 0 ? from[i] : to[i];
            continue;
          }
          if (shape == 1.0) {  // positions of a straight line and its slope
            reference.position[i] = from[i] + far * s;
            reference.velocity[i] = 0 < k && s < 1.0 ? far : 0.0;
            continue;
          }
          reference.position[i] = from[i] + far * s * s * s * (10 + s * (-15 + 6 * s));
          reference.velocity[i] = far * slope;
          reference.acceleration[i] = far * s * (60 + s * (-180 + 120 * s));
        }
        if (law.step(robot.q, robot.v, reference, 1e-3) != arm::Status::ok) return 2;
        if (k == 0) print(law.efforts());
        if (!robot.step(law.efforts(), 1e-3)) return 3;
        left = 0.0;
        for (std::size_t i = 0; i < arm::nv; ++i) left = std::max(left, std::abs(robot.q[i] - reference.position[i]));
        worst = std::max(worst, left);
      }
      std::printf(" %.17g %.17g", worst, left);
    } else if (command == "mailbox") {
      std::printf(" %d", mailbox_keeps_its_word());
    } else if (command == "time") {  // us of a cycle: the best of some rounds
      read(q);
      arm::Reference reference = arm::Reference::none();
      reference.position = q;
      double best = 1e9, simulated = 1e9;
      for (int round = 0; round < 20; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < 500; ++k) law.step(q, v, reference, 1e-3);
        const auto middle = std::chrono::steady_clock::now();
        for (int k = 0; k < 50; ++k) robot.step(efforts, 1e-3);
        const auto end = std::chrono::steady_clock::now();
        best = std::min(best, std::chrono::duration<double, std::micro>(middle - begin).count() / 500);
        simulated = std::min(simulated, std::chrono::duration<double, std::micro>(end - middle).count() / 50);
      }
      std::printf(" %g %g", best, simulated);
    } else if (command == "faults") {  // of pages, in so many cycles
      const int count = static_cast<int>(next());
      read(q);
      arm::Reference reference = arm::Reference::none();
      reference.position = q;
      const bool locked = lock_memory();
      if (!locked) (void)law.step(q, v, reference, 1e-3), (void)robot.step(efforts, 1e-3);
      const long before = page_faults();
      for (int k = 0; k < count; ++k) (void)law.step(q, v, reference, 1e-3), (void)robot.step(efforts, 1e-3);
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
