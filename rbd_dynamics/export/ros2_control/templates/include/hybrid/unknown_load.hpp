// SPDX-License-Identifier: Apache-2.0
// What a model lacks of an arm that is held, such as a load at its tool, is found from its motion
// and made up for. A law whose gains come from the mass matrix is soft where links are light: what
// they carry unknown pulls them down.
//
// A disturbance observer finds the efforts that commanded ones do not explain, and forgets them at
// the rate stiffness / damping of holding. That makes holding stiffer and more damped, a spring and
// dampers: nothing adds up while somebody holds the arm, a brake or friction.
#ifndef ROBOT_PACKAGE__HYBRID__UNKNOWN_LOAD_HPP_
#define ROBOT_PACKAGE__HYBRID__UNKNOWN_LOAD_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/linear_system.hpp"
#include "robot_package/hybrid/hybrid_settings.hpp"

namespace robot_package
{

// The share of values, at most 1, of which none is beyond `most`.
inline double share_within(const Vector & most, const Vector & values)
{
  double share = 1.0;
  for (std::size_t i = 0; i < nv; ++i)
    share = std::min(share, most[i] / std::max(std::abs(values[i]), 1e-12));
  return share;
}

class UnknownLoad
{
public:
  // Begin anew: nothing is known.
  void reset()
  {
    efforts_ = found_ = felt_ = driven_ = {};
    is_known_ = false;
  }

  // What makes up for it, N m or N.
  const Vector & efforts() const { return efforts_; }

  // Take in what has driven the joints for dt (s): efforts beyond those with which nothing moves.
  void driven(const Vector & efforts, double dt, const HybridSettings & settings)
  {
    const double lag = settings.actuator_lag;
    const double share = lag > 0.0 ? 1.0 - std::exp(-dt / lag) : 1.0;
    for (std::size_t i = 0; i < nv; ++i) driven_[i] += share * (efforts[i] - driven_[i]);
  }

  // v: as it is measured dt (s, not zero) after the last. felt: efforts on the joints by what the
  // tool is felt to touch. factor: of M.
  void update(
    const std::array<double, nv * nv> & M, const Cholesky & factor, const Vector & v,
    const Vector & felt, double dt, const HybridSettings & settings)
  {
    const PressingLimits & limits = settings.limits;
    const double rate = rate_at(dt, settings);
    if (!(rate > 0.0)) return reset();
    const double keep = std::exp(-rate * dt);
    if (is_known_) find(M, v, keep, dt, limits);
    before_ = v;
    is_known_ = true;
    Vector wanted{}, largest{}, bound{}, fastest{};
    for (std::size_t i = 0; i < nv; ++i)
    {
      felt_[i] += (1.0 - keep) * (felt[i] - felt_[i]);
      largest[i] = load_most * settings.effort_limits[i];
      bound[i] = largest[i] > 0.0 ? largest[i] : INFINITY;
      fastest[i] = load_speed * (limits.hold_damping + rate) * settings.speeds[i];
      // what is felt is no reason to push harder, and never one to push the other way: sensors may
      // be wrong
      const double touched =
        std::clamp(felt_[i], std::min(found_[i], 0.0), std::max(found_[i], 0.0));
      wanted[i] = largest[i] > 0.0 ? touched - found_[i] : 0.0;
    }
    Vector moved = wanted;
    factor.solve(moved);
    const double share = std::min(share_within(bound, wanted), share_within(fastest, moved));
    for (std::size_t i = 0; i < nv; ++i)
    {  // the blow of a contact, which is felt later, is shorter than this takes to grow
      const double grows = largest[i] * (dt / load_growth);
      efforts_[i] += std::clamp(share * wanted[i] - efforts_[i], -grows, grows);
    }
  }

  // dt (s) after the last, where nothing can be found: it fades as fast as it is forgotten.
  void forget(double dt, const PressingLimits & limits)
  {
    const double kept = limits.hold_damping > 0.0 ? forgetting(dt, limits) : 0.0;
    for (std::size_t i = 0; i < nv; ++i)
    {
      efforts_[i] *= kept;
      found_[i] *= kept;
    }
    is_known_ = false;
  }

private:
  static double forgetting(double dt, const PressingLimits & limits)
  {
    return std::exp(-limits.hold_stiffness / limits.hold_damping * dt);
  }

  void find(
    const std::array<double, nv * nv> & M, const Vector & v, double keep, double dt,
    const PressingLimits & limits)
  {
    const double kept = forgetting(dt, limits);
    for (std::size_t i = 0; i < nv; ++i)
    {
      double gained = 0.0;
      for (std::size_t k = 0; k < nv; ++k) gained += M[i * nv + k] * (v[k] - before_[k]);
      found_[i] *= keep;
      found_[i] += (1.0 - keep) * (gained / dt - driven_[i]);
      found_[i] *= kept;
    }
  }

  // 1/s, with which it may be looked for, dt (s) after the last state: slower where cycles are
  // longer than they should be.
  double rate_at(double dt, const HybridSettings & settings)
  {
    period_ += (period_ > 0.0 ? load_average : 1.0) * (dt - period_);
    const double longer =
      std::ceil(load_steps * std::log2(std::max(period_ / settings.period, 1.0)) - load_slack);
    const double last = static_cast<double>(load_periods - 1);
    return settings.load_rates[static_cast<std::size_t>(std::clamp(longer, 0.0, last))];
  }

  Vector efforts_{}, found_{}, felt_{}, driven_{}, before_{};
  bool is_known_ = false;  // the velocity before
  double period_ = 0.0;    // s, on average
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__UNKNOWN_LOAD_HPP_
