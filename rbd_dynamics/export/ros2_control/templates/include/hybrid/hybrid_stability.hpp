// SPDX-License-Identifier: Apache-2.0
// Whether the gains of a tool that presses are stable as they are computed. For configuring: it
// allocates.
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_STABILITY_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_STABILITY_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "robot_package/common/stability.hpp"
#include "robot_package/hybrid/hybrid_settings.hpp"

namespace robot_package
{

namespace detail
{

using Pair = std::array<double, 2>;  // of x and v

// (x, v, actuator) after one period of a constant command, by these and the command: exp by
// squaring.
inline Matrix moved_by(const Pair & natural, const Timing & timing)
{
  constexpr double pi = 3.14159265358979323846;
  const double h = timing.period, lag = 2.0 * pi * timing.bandwidth;
  Matrix A(4);
  A(0, 1) = h;
  A(1, 0) = h * natural[0];
  A(1, 1) = h * natural[1];
  if (timing.bandwidth > 0.0)
  {
    A(1, 2) = h;
    A(2, 2) = -h * lag;
    A(2, 3) = h * lag;
  }
  else
  {
    A(1, 3) = h;
  }
  double size = 1e-300;
  for (std::size_t i = 0; i < 4; ++i)
  {
    double sum = 0.0;
    for (std::size_t j = 0; j < 4; ++j) sum += std::abs(A(i, j));
    size = std::max(size, sum);
  }
  const int halvings = std::max(0, static_cast<int>(std::ceil(std::log2(size))) + 4);
  const double share = std::pow(0.5, halvings);
  const auto product_of = [](const Matrix & a, const Matrix & b, double factor)
  {
    Matrix made(4);
    for (std::size_t i = 0; i < 4; ++i)
    {
      for (std::size_t k = 0; k < 4; ++k)
      {
        for (std::size_t j = 0; j < 4; ++j) made(i, j) += factor * a(i, k) * b(k, j);
      }
    }
    return made;
  };
  Matrix total(4), term(4);
  for (std::size_t i = 0; i < 4; ++i) total(i, i) = term(i, i) = 1.0;
  for (int k = 1; k < 13; ++k)
  {
    term = product_of(term, A, share / k);
    for (std::size_t i = 0; i < 4; ++i)
    {
      for (std::size_t j = 0; j < 4; ++j) total(i, j) += term(i, j);
    }
  }
  for (int k = 0; k < halvings; ++k) total = total.squared();
  if (!(timing.bandwidth > 0.0))
  {  // there is no such state
    for (std::size_t j = 0; j < 4; ++j) total(2, j) = 0.0;
  }
  return total;
}

// log of the spectral radius of a period's step of (x, v, actuator), the integral, and the readings
// on their way. feedback: commanded acceleration by (x, v), `timing.delay` late. summed: what the
// integral sums, `late` s late; gain: of the integral.
inline double log_radius_of(
  const Pair & natural, const Pair & feedback, const Pair & summed, double gain,
  const Timing & timing, double late)
{
  const Matrix moved = moved_by(natural, timing);
  const auto periods = [&](double t)
  { return static_cast<std::size_t>(std::max(0.0, std::ceil(t / timing.period - 1e-9))); };
  const std::size_t states = periods(timing.delay), forces = periods(late),
                    most = std::max(states, forces);
  const std::size_t n = 4 + 2 * most;
  const auto place = [](std::size_t k) { return k == 0 ? std::size_t{0} : 2 + 2 * k; };
  Matrix step(n);
  std::vector<double> command(n, 0.0);
  for (std::size_t i = 0; i < 2; ++i) command[place(states) + i] += feedback[i];
  step(3, 3) = 1.0;
  for (std::size_t i = 0; i < 2; ++i) step(3, place(forces) + i) += timing.period * summed[i];
  for (std::size_t j = 0; j < n; ++j) command[j] += gain * step(3, j);
  for (std::size_t i = 0; i < 3; ++i)
  {
    for (std::size_t j = 0; j < 3; ++j) step(i, j) = moved(i, j);
    for (std::size_t j = 0; j < n; ++j) step(i, j) += moved(i, 3) * command[j];
  }
  for (std::size_t k = 1; k <= most; ++k)
  {
    for (std::size_t i = 0; i < 2; ++i) step(place(k) + i, place(k - 1) + i) = 1.0;
  }
  return log_radius(step);
}

}  // namespace detail

// How fast the loop along the normal grows, as the log of its eigenvalue for a period, on a contact
// of stiffness k and a mass m with sqrt(k / m) rad/s and a twentieth of critical damping; below 0
// is stable. late: s, of the wrench.
inline double contact_growth(
  double damping, double ki, double frequency, const Timing & timing, double late)
{
  const detail::Pair felt{
    -frequency * frequency, -2.0 * contact_damping * frequency};  // force per kg of (x, v)
  return detail::log_radius_of(felt, {0.0, -damping}, felt, ki, timing, late);
}

// The same for a motion without contact, under kp, kd and the gain of the integral.
inline double motion_growth(double kp, double kd, double ki, const Timing & timing)
{
  return detail::log_radius_of({0.0, 0.0}, {-kp, -kd}, {-1.0, 0.0}, ki, timing, timing.delay);
}

// 1/s, with which holding may look for a load that it does not know. What it finds adds so many
// times the damping to the stiffness, and itself to the damping; load_spare times as much is stable
// as well, as links may be lighter than the model has them. 0 where nothing more is.
inline double load_rate(double stiffness, double damping, const Timing & timing)
{
  const double most = damping > 0.0 ? load_stiffer * stiffness / damping : 0.0;
  const auto is_stable = [&](double rate)
  {
    const double kp = load_spare * (stiffness + rate * damping), kd = load_spare * (damping + rate);
    return motion_growth(kp, kd, 0.0, timing) <= stable_slack;
  };
  if (!(most > 0.0) || !is_stable(0.0)) return 0.0;
  if (is_stable(most)) return most;
  double least = 0.0, beyond = most;
  for (std::size_t k = 0; k < load_halvings; ++k)
  {
    const double middle = 0.5 * (least + beyond);
    (is_stable(middle) ? least : beyond) = middle;
  }
  return least;
}

// The same for longer cycles, too, so that none has to look for it; nothing where no load is to be.
inline LoadRates load_rates_of(const PressingLimits & limits, const Timing & timing)
{
  LoadRates made{};
  for (std::size_t k = 0; limits.hold_load && k < load_periods; ++k)
  {
    Timing longer = timing;
    longer.period *= std::pow(2.0, static_cast<double>(k) / load_steps);
    made[k] = load_rate(limits.hold_stiffness, limits.hold_damping, longer);
  }
  return made;
}

// Why gains are not stable on a contact of 1e3 to 1e6 N/m, of the task or of holding; empty: they
// are. late: s, of the wrench.
inline std::string instability_of(
  const HybridSettings & settings, const Timing & timing, double late)
{
  const HybridGains & gains = settings.gains;
  const double c = gains.normal_damping;
  const std::string with = " with states " + std::to_string(timing.delay) + " s and forces " +
                           std::to_string(late) + " s late at " +
                           std::to_string(1.0 / timing.period) + " Hz";
  if (gains.ki > 0.0 && gains.ki >= c)
    return "ki is not below normal_damping: unstable on a contact that gives and has little "
           "damping";
  for (std::size_t k = 0; k < contact_frequencies; ++k)
  {
    const double share = static_cast<double>(k) / (contact_frequencies - 1);
    const double frequency = contact_slowest * std::pow(contact_fastest / contact_slowest, share);
    if (!(contact_growth(c, gains.ki, frequency, timing, late) > stable_slack)) continue;
    const bool by_damping = contact_growth(c, 0.0, frequency, timing, late) > stable_slack;
    return std::string(by_damping ? "normal_damping" : "ki") + " is unstable" + with +
           " on a contact of " + std::to_string(frequency * frequency) +
           " N/m for each kg: lower it";
  }
  for (std::size_t k = 0; k < task_size; ++k)
  {
    const double ki = gains.task_ki * gains.kp[k];
    if (!(motion_growth(gains.kp[k], gains.kd[k], ki, timing) > stable_slack)) continue;
    const bool by_integral = !(motion_growth(gains.kp[k], gains.kd[k], 0.0, timing) > stable_slack);
    return (by_integral ? "task_ki is unstable" : "kp and kd are unstable") + with;
  }
  if (motion_growth(gains.posture_kp, gains.posture_kd, 0.0, timing) > stable_slack)
    return "posture_kp and posture_kd are unstable" + with;
  if (
    motion_growth(settings.limits.hold_stiffness, settings.limits.hold_damping, 0.0, timing) >
    stable_slack)
    return "hold_stiffness and hold_damping are unstable" + with;
  return "";
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_STABILITY_HPP_
