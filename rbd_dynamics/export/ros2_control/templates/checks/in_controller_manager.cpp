// SPDX-License-Identifier: Apache-2.0
// The controllers on the simulated hardware in a controller manager: each holds the robot from its
// first cycle on.
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>

#include "controller_manager/controller_manager.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "rclcpp/executors/single_threaded_executor.hpp"
#include "robot_package/robot_package.hpp"

static std::string text_of(const std::string & path)
{
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static void holds_the_simulated_robot(const std::string & name, const std::string & type)
{
  const std::string folder = SOURCE_FOLDER, parameters = folder + "/config/controllers.yaml";
  const char * const words[] = {"test", "--ros-args", "--params-file", parameters.c_str()};
  rclcpp::init(4, words);
  // controllers get the arguments of their manager, as in ros2_control_node, not those of the
  // process
  auto options = controller_manager::get_cm_node_options();
  options.arguments({words[1], words[2], words[3]});
  auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  auto manager = std::make_shared<controller_manager::ControllerManager>(
    executor, text_of(folder + "/description/robot_package.urdf"), true, "controller_manager", "",
    options);
  auto controller = manager->load_controller(name, "robot_package/" + type);
  ASSERT_NE(controller, nullptr);
  ASSERT_EQ(manager->configure_controller(name), controller_interface::return_type::OK);
  if (type == "FeedforwardController")
  {  // which has no gains but those of the file
    ASSERT_EQ(
      controller->get_node()->get_parameter("kp").as_double_array().size(), robot_package::nv);
  }

  const rclcpp::Duration period = rclcpp::Duration::from_seconds(1.0 / THE_RATE);
  rclcpp::Time now(0, 0, manager->get_clock()->get_clock_type());
  const auto cycle = [&]
  {
    now = now + period;
    manager->read(now, period);
    const auto well = manager->update(now, period);
    manager->write(now, period);
    return well == controller_interface::return_type::OK;
  };
  auto switched = std::async(
    std::launch::async,
    [&]
    {
      return manager->switch_controller(
        {name}, {}, controller_manager_msgs::srv::SwitchController::Request::STRICT, true,
        rclcpp::Duration(0, 0));
    });
  while (switched.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    ASSERT_TRUE(cycle());
  ASSERT_EQ(switched.get(), controller_interface::return_type::OK);
  ASSERT_EQ(
    controller->get_lifecycle_state().id(), lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE);
  for (int k = 0; k < THE_RATE; ++k) ASSERT_TRUE(cycle());
  EXPECT_EQ(
    controller->get_lifecycle_state().id(), lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE);
  rclcpp::shutdown();
}

TEST(FeedforwardController, holds_the_simulated_robot)
{
  holds_the_simulated_robot("feedforward_controller", "FeedforwardController");
}

TEST(CartesianImpedanceController, holds_the_simulated_robot)
{
  holds_the_simulated_robot("cartesian_controller", "CartesianImpedanceController");
}

TEST(HybridForceController, holds_the_simulated_robot)
{
  holds_the_simulated_robot("hybrid_force_controller", "HybridForceController");
}
