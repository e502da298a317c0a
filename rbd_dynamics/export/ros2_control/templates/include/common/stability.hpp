// SPDX-License-Identifier: Apache-2.0
// Whether feedback is stable as it is computed: sampled, late, through slow actuators. For
// configuring: it allocates.
#ifndef ROBOT_PACKAGE__COMMON__STABILITY_HPP_
#define ROBOT_PACKAGE__COMMON__STABILITY_HPP_

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "robot_package/common/joint_vector.hpp"
#include "robot_package/common/linear_system.hpp"
#include "robot_package/common/loads.hpp"

namespace robot_package
{

struct Timing
{
  double period = 1e-3;    // s, of states and efforts
  double delay = 0.0;      // s, from a state to the begin of its effort
  double bandwidth = 0.0;  // Hz, of the actuators' lag of first order; 0: none
};

// s, of the actuators
inline double lag_of(const Timing & timing)
{
  constexpr double pi = 3.14159265358979323846;
  return timing.bandwidth > 0.0 ? 1.0 / (2.0 * pi * timing.bandwidth) : 0.0;
}

// s, from a state to what its effort does: states, commands and actuators are late.
inline double lateness(const Timing & timing)
{
  return timing.period + timing.delay + lag_of(timing);
}

// 1/s: what grows no faster is left to friction, which the check does not know
constexpr double allowed_growth = 10.0;

namespace detail
{

class Matrix
{
public:
  explicit Matrix(std::size_t size) : size_(size), numbers_(size * size) {}
  std::size_t size() const { return size_; }
  double & operator()(std::size_t row, std::size_t column)
  {
    return numbers_[row * size_ + column];
  }
  double operator()(std::size_t row, std::size_t column) const
  {
    return numbers_[row * size_ + column];
  }

  Matrix squared() const
  {
    Matrix made(size_);
    for (std::size_t i = 0; i < size_; ++i)
    {
      for (std::size_t k = 0; k < size_; ++k)
      {
        const double factor = (*this)(i, k);
        if (factor == 0.0) continue;
        for (std::size_t j = 0; j < size_; ++j) made(i, j) += factor * (*this)(k, j);
      }
    }
    return made;
  }

  // Divides by the largest number, which is returned.
  double normalise()
  {
    double largest = 0.0;
    for (const double number : numbers_) largest = std::max(largest, std::abs(number));
    if (largest > 0.0)
    {
      for (double & number : numbers_) number /= largest;
    }
    return largest;
  }

private:
  std::size_t size_;
  std::vector<double> numbers_;
};

// log of the largest absolute eigenvalue: the growth of high powers, by squaring
inline double log_radius(Matrix A)
{
  constexpr int squarings = 40;
  double total = 0.0, share = 1.0;
  for (int i = 0; i <= squarings; ++i)
  {
    const double largest = A.normalise();
    if (largest == 0.0) return -700.0;
    total += share * std::log(largest);
    if (i < squarings) A = A.squared();
    share *= 0.5;
  }
  return total;
}

// Moves q, v and the actuators' efforts by h seconds of a command u; all are rows over what the
// period began with.
inline void move(
  std::vector<std::vector<double>> & state, const std::vector<const double *> & u,
  const std::vector<double> & compliance, double h, double bandwidth)
{
  constexpr double pi = 3.14159265358979323846;
  const double lag = bandwidth > 0.0 ? 1.0 / (2.0 * pi * bandwidth) : 0.0;
  const double left = lag > 0.0 ? std::exp(-h / lag) : 0.0;
  const double once = lag * (1.0 - left), twice = lag * (h - once);  // integrals of exp(-t / lag)
  const std::size_t size = state[0].size();
  auto moved = state;
  for (std::size_t i = 0; i < nv; ++i)
  {
    for (std::size_t c = 0; c < size; ++c)
    {
      double far = 0.0, fast = 0.0;
      for (std::size_t k = 0; k < nv; ++k)
      {
        const double w = state[2 * nv + k][c];
        far += compliance[i * nv + k] * (twice * w + (0.5 * h * h - twice) * u[k][c]);
        fast += compliance[i * nv + k] * (once * w + (h - once) * u[k][c]);
      }
      moved[i][c] = state[i][c] + h * state[nv + i][c] + far;
      moved[nv + i][c] = state[nv + i][c] + fast;
      moved[2 * nv + i][c] = left * state[2 * nv + i][c] + (1.0 - left) * u[i][c];
    }
  }
  state = moved;
}

}  // namespace detail

// How fast the fastest of all motions about a posture grows, 1/s: negative where all die out.
// inverse: of the mass matrix, row by row. kp, kd: as torques; of computed torque multiplied by the
// mass matrix.
inline double growth_rate(
  const std::vector<double> & inverse, const std::vector<double> & K, const std::vector<double> & D,
  const Timing & timing)
{
  double whole = std::floor(timing.delay / timing.period + 1e-9);
  double rest = timing.delay / timing.period - whole;
  if (rest <= 1e-9) rest = 0.0;
  const auto periods = static_cast<std::size_t>(whole) + (rest > 0.0 ? 1 : 0);
  const std::size_t size = (3 + periods) * nv;
  using Rows = std::vector<std::vector<double>>;
  // commands that are on their way, the latest first
  std::vector<Rows> commands(periods + 1, Rows(nv, std::vector<double>(size, 0.0)));
  for (std::size_t i = 0; i < nv; ++i)
  {
    for (std::size_t j = 0; j < nv; ++j)
    {
      commands[0][i][j] = -K[i * nv + j];
      commands[0][i][nv + j] = -D[i * nv + j];
    }
    for (std::size_t k = 0; k < periods; ++k) commands[k + 1][i][(3 + k) * nv + i] = 1.0;
  }
  const auto view = [](const Rows & rows)
  {
    std::vector<const double *> made;
    for (const auto & row : rows) made.push_back(row.data());
    return made;
  };
  Rows state(3 * nv, std::vector<double>(size, 0.0));
  for (std::size_t i = 0; i < 3 * nv; ++i) state[i][i] = 1.0;
  if (rest > 0.0)
  {  // up to the begin of the next command an older one acts
    detail::move(state, view(commands[periods]), inverse, rest * timing.period, timing.bandwidth);
    detail::move(
      state, view(commands[periods - 1]), inverse, (1.0 - rest) * timing.period, timing.bandwidth);
  }
  else
  {
    detail::move(state, view(commands[periods]), inverse, timing.period, timing.bandwidth);
  }
  detail::Matrix A(size);
  for (std::size_t i = 0; i < size; ++i)
  {
    for (std::size_t j = 0; j < size; ++j)
    {
      A(i, j) = i < 3 * nv ? state[i][j] : commands[(i - 3 * nv) / nv][(i - 3 * nv) % nv][j];
    }
  }
  return detail::log_radius(A) / timing.period;
}

// The same at a posture, of gains by joint. Not a number where the mass matrix cannot be had.
inline double growth_rate_at(
  const Vector & q, const Inertia & inertia, const Vector & kp, const Vector & kd,
  bool computed_torque, const Timing & timing)
{
  std::array<double, nv * nv> M{};
  if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK) return NAN;
  std::vector<double> inverse(nv * nv), K(nv * nv), D(nv * nv);
  Cholesky factor;
  if (!factor.of(M)) return NAN;
  for (std::size_t j = 0; j < nv; ++j)
  {
    Vector column{};
    column[j] = 1.0;
    factor.solve(column);
    for (std::size_t i = 0; i < nv; ++i)
    {
      inverse[i * nv + j] = column[i];
      K[i * nv + j] = computed_torque ? M[i * nv + j] * kp[j] : i == j ? kp[j] : 0.0;
      D[i * nv + j] = computed_torque ? M[i * nv + j] * kd[j] : i == j ? kd[j] : 0.0;
    }
  }
  return growth_rate(inverse, K, D, timing);
}

// The fastest growth over postures at random within the joints' limits, or a turn where there are
// none.
inline double worst_growth_rate(
  const Inertia & inertia, const Vector & kp, const Vector & kd, bool computed_torque,
  const Timing & timing, int postures = 50)
{
  std::mt19937 random(0);
  double worst = -INFINITY;
  for (int k = 0; k < postures; ++k)
  {
    Vector q{};
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double lower = std::max(robot_package_lower_limits[i], -3.2);
      const double upper = std::max(lower, std::min(robot_package_upper_limits[i], 3.2));
      q[i] = std::uniform_real_distribution<double>(lower, upper)(random);
    }
    const double rate = growth_rate_at(q, inertia, kp, kd, computed_torque, timing);
    if (!(rate <= worst)) worst = rate;
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__STABILITY_HPP_
