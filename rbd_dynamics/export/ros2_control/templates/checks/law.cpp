// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>

#include "robot_package/cartesian/cartesian_impedance_law.hpp"
#include "robot_package/common/stability.hpp"
#include "robot_package/feedforward/feedforward_law.hpp"
#include "robot_package/hybrid/hybrid_force_law.hpp"
#include "robot_package/hybrid/hybrid_stability.hpp"
#include "robot_package/simulation/simulated_robot.hpp"

using robot_package::nv;

static robot_package::Vector middle()
{
  robot_package::Vector q{};
  for (std::size_t i = 0; i < nv; ++i)
  {
    const double lower = std::max(robot_package_lower_limits[i], -3.2);
    q[i] = 0.5 * (lower + std::min(robot_package_upper_limits[i], 3.2));
  }
  return q;
}

static robot_package::FeedforwardSettings plain()
{
  robot_package::FeedforwardSettings settings;
  settings.effort_limits = settings.effort_rates = robot_package::filled(INFINITY);
  return settings;
}

TEST(FeedforwardLaw, holds_where_it_is_activated)
{
  robot_package::FeedforwardLaw law;
  law.configure(plain());
  const auto q = middle();
  law.start(q);
  ASSERT_EQ(law.step(q, {}, robot_package::Reference::none(), 1e-3), robot_package::Status::ok);
  robot_package::Vector needed{}, zero{};
  ASSERT_EQ(
    robot_package_inverse_dynamics(
      q.data(), zero.data(), zero.data(), robot_package_inertia, needed.data()),
    0);
  for (std::size_t i = 0; i < nv; ++i)
    EXPECT_NEAR(law.efforts()[i], needed[i], 1e-9 * (1.0 + std::abs(needed[i])));
}

TEST(FeedforwardLaw, answers_no_number_with_an_error)
{
  robot_package::FeedforwardLaw law;
  law.configure(plain());
  const auto q = middle();
  law.start(q);
  auto v = robot_package::Vector{};
  v[0] = NAN;
  EXPECT_NE(law.step(q, v, robot_package::Reference::none(), 1e-3), robot_package::Status::ok);
}

TEST(SimulatedRobot, is_held_by_the_law)
{
  robot_package::FeedforwardLaw law;
  law.configure(plain());
  robot_package::SimulatedRobot robot;
  robot.q = middle();
  law.start(robot.q);
  const auto q = robot.q;
  for (int k = 0; k < 20; ++k)
  {
    ASSERT_EQ(
      law.step(robot.q, robot.v, robot_package::Reference::none(), 1e-3),
      robot_package::Status::ok);
    ASSERT_TRUE(robot.step(law.efforts(), 1e-3));
  }
  for (std::size_t i = 0; i < nv; ++i) EXPECT_NEAR(robot.q[i], q[i], 1e-6);
}

TEST(CartesianImpedanceLaw, holds_where_it_is_activated)
{
  robot_package::CartesianWishes wishes;
  wishes.stiffness = {200.0};
  wishes.rotational_stiffness = {5.0};
  wishes.velocity_limits = wishes.acceleration_limits = wishes.path_tolerance = {0.0};
  robot_package::CartesianSettings settings;
  ASSERT_EQ(robot_package::settings_of(wishes, settings), "");
  settings.effort_limits = settings.effort_rates = settings.urgent_rates =
    robot_package::filled(INFINITY);
  robot_package::CartesianImpedanceLaw law;
  law.configure(settings);
  const auto q = middle();
  ASSERT_TRUE(law.start(q));
  ASSERT_EQ(law.step(q, {}, 1e-3), robot_package::Status::ok);
  robot_package::Vector needed{}, zero{};
  ASSERT_EQ(
    robot_package_inverse_dynamics(
      q.data(), zero.data(), zero.data(), robot_package_inertia, needed.data()),
    0);
  for (std::size_t i = 0; i < nv; ++i)
    EXPECT_NEAR(law.efforts()[i], needed[i], 1e-9 * (1.0 + std::abs(needed[i])));
}

static robot_package::HybridForceLaw pressing_law()
{
  robot_package::HybridSettings settings;
  EXPECT_EQ(robot_package::settings_of(robot_package::HybridWishes(), settings), "");
  settings.effort_limits = settings.effort_rates = settings.urgent_rates =
    robot_package::filled(INFINITY);
  robot_package::HybridForceLaw law;
  law.configure(settings);
  return law;
}

TEST(HybridForceLaw, holds_where_it_is_activated)
{
  auto law = pressing_law();
  const auto q = middle();
  law.start(q);
  ASSERT_EQ(law.step(q, {}, {}, 1e-3), robot_package::Status::ok);
  robot_package::Vector needed{}, zero{};
  ASSERT_EQ(
    robot_package_inverse_dynamics(
      q.data(), zero.data(), zero.data(), robot_package_inertia, needed.data()),
    0);
  for (std::size_t i = 0; i < nv; ++i)
    EXPECT_NEAR(law.efforts()[i], needed[i], 1e-9 * (1.0 + std::abs(needed[i])));
}

TEST(HybridForceLaw, refuses_forces_and_holds_without_a_sensor)
{
  auto law = pressing_law();
  const auto q = middle();
  law.start(q);
  EXPECT_FALSE(law.press(-1.0));
  EXPECT_FALSE(law.press(1e6));
  EXPECT_TRUE(law.press(10.0));
  robot_package::Six nothing{};
  nothing[5] = NAN;
  ASSERT_EQ(law.step(q, {}, nothing, 1e-3), robot_package::Status::ok);
  EXPECT_EQ(law.mode(), robot_package::HybridForceLaw::Mode::hold);
  EXPECT_EQ(law.reason(), robot_package::Halt::sensor_not_finite);
}

TEST(Stability, grows_with_gains_that_are_too_large)
{
  const auto large = robot_package::filled(1e9);
  const robot_package::Timing timing{1e-3, 1e-3, 0.0};
  EXPECT_GT(
    robot_package::worst_growth_rate(robot_package::unloaded(), large, large, false, timing),
    robot_package::allowed_growth);
  EXPECT_LE(
    robot_package::worst_growth_rate(robot_package::unloaded(), {}, {}, false, timing),
    robot_package::allowed_growth);
}
