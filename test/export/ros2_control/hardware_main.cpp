// SPDX-License-Identifier: Apache-2.0
// The simulated hardware in a loop, without ROS.
#include <cmath>
#include <cstdio>
#include <memory>

#include "arm/simulation/dynamics_system.hpp"

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

hardware_interface::SystemInterface * make_plugin();

static hardware_interface::HardwareInfo usual()
{
  hardware_interface::HardwareInfo info;
  for (const char * name : arm_joint_names) {
    hardware_interface::ComponentInfo joint;
    joint.name = name;
    joint.command_interfaces.push_back({"effort", "double", ""});
    joint.state_interfaces.push_back({"position", "double", "0.15"});
    joint.state_interfaces.push_back({"velocity", "double", ""});
    joint.state_interfaces.push_back({"effort", "double", ""});
    info.joints.push_back(joint);
  }
  return info;
}

static bool begins(const hardware_interface::HardwareInfo & info)
{
  std::unique_ptr<hardware_interface::SystemInterface> hardware(make_plugin());
#if HARDWARE_INTERFACE_VERSION_GTE(4, 34, 0)
  return hardware->on_init(hardware_interface::HardwareComponentInterfaceParams{info}) == CallbackReturn::SUCCESS;
#else
  return hardware->on_init(info) == CallbackReturn::SUCCESS;
#endif
}

int main()
{
  auto info = usual();
  info.joints.pop_back();
  if (begins(info)) return 1;
  info = usual();
  info.joints[0].command_interfaces.clear();
  if (begins(info)) return 2;
  info = usual();
  info.joints[0].state_interfaces.pop_back();
  if (!begins(info)) return 3;  // the effort need not be told
  info.joints[0].state_interfaces.pop_back();
  if (begins(info)) return 4;
  for (const char * text : {"1e-4 s", "-1", "nan", ""}) {
    info = usual();
    info.hardware_parameters["substep"] = text;
    if (begins(info)) return 5;
  }
  std::size_t bounded = 0;
  while (!(arm_upper_limits[bounded] < 9.0)) ++bounded;
  for (const char * text : {"far", "nan", "9.9", "-9.9", "0.1 rad"}) {
    info = usual();
    info.joints[bounded].state_interfaces[0].initial_value = text;
    if (begins(info)) return 10;
  }

  info = usual();
  info.hardware_parameters["wrench_noise"] = "-1";
  if (begins(info)) return 11;

  info = usual();
  info.hardware_parameters["substep"] = "1e-5";
  std::unique_ptr<hardware_interface::SystemInterface> hardware(make_plugin());
#if HARDWARE_INTERFACE_VERSION_GTE(4, 34, 0)
  if (hardware->on_init(hardware_interface::HardwareComponentInterfaceParams{info}) != CallbackReturn::SUCCESS)
    return 6;
#else
  if (hardware->on_init(info) != CallbackReturn::SUCCESS) return 6;
#endif
  if (hardware->on_configure({}) != CallbackReturn::SUCCESS) return 7;
  const auto show = [&](const char * what) {
    std::printf("%s", what);
    for (const char * kind : {"position", "velocity", "effort"}) {
      for (const char * name : arm_joint_names)
        std::printf(" %.17g", hardware->states.at(std::string(name) + "/" + kind));
    }
    std::printf("\n");
  };
  const auto cycles = [&](int count) {
    for (int k = 0; k < count; ++k) {
      if (hardware->read({}, rclcpp::Duration(1e-3)) != return_type::OK) std::exit(8);
      if (hardware->write({}, rclcpp::Duration(1e-3)) != return_type::OK) std::exit(9);
    }
  };
  cycles(100);
  show("braked");
  std::vector<std::string> names;
  for (const char * name : arm_joint_names) names.push_back(std::string(name) + "/effort");
  hardware->perform_command_mode_switch(names, {});
  cycles(10);
  show("waits");  // activated, but nothing is commanded yet
  for (const auto & name : names) hardware->set_command(name, 0.0);
  cycles(1);
  cycles(50);
  show("falls");
  hardware->perform_command_mode_switch(names, names);  // to another controller, in one cycle
  cycles(1);
  show("falls_on");
  hardware->perform_command_mode_switch({}, names);
  cycles(2);
  show("stopped");

  // a sensor at a tip that is 1 mm below the floor
  arm::Placed tip;
  if (!arm::tool_at(arm::filled(0.15), arm::Placed::of(arm::unturned, {}), tip)) return 12;
  info.hardware_parameters["floor_height"] = std::to_string(tip[11] + 1e-3);
  hardware_interface::ComponentInfo sensor;
  sensor.name = "wrist";
  for (const char * axis : {"force.x", "force.y", "force.z", "torque.z"})
    sensor.state_interfaces.push_back({axis, "double", ""});
  info.sensors.push_back(sensor);
  hardware.reset(make_plugin());
#if HARDWARE_INTERFACE_VERSION_GTE(4, 34, 0)
  (void)hardware->on_init(hardware_interface::HardwareComponentInterfaceParams{info});
#else
  (void)hardware->on_init(info);
#endif
  if (hardware->on_configure({}) != CallbackReturn::SUCCESS) return 13;
  cycles(1);
  const auto force = [&] {
    const auto & all = hardware->states;
    return arm::turned(tip.R(), {all.at("wrist/force.x"), all.at("wrist/force.y"), all.at("wrist/force.z")});
  };
  const arm::Three first = force();
  cycles(1);
  const arm::Three second = force();
  std::printf("sensor %.17g %.17g %.17g %d %d %.17g\n", first[0], first[1], first[2], first != second,
    static_cast<int>(hardware->states.count("wrist/torque.x")), hardware->states.at("wrist/torque.z"));
  return 0;
}
