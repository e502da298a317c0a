// SPDX-License-Identifier: Apache-2.0
// Where the tool is beside its task frame, how joints move it there, and what a force along the
// normal does to them.
#ifndef ROBOT_PACKAGE__HYBRID__PRESSED_ROWS_HPP_
#define ROBOT_PACKAGE__HYBRID__PRESSED_ROWS_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/linear_system.hpp"
#include "robot_package/hybrid/hybrid_settings.hpp"

namespace robot_package
{

// Coordinates of the tool beside the task frame, and the rows that map joint velocities to their
// rates: the normal first, then the directions of the task.
struct PressedRows
{
  double h;
  Task theta;
  std::array<Vector, 1 + task_size> A;

  bool of(const Vector & q, const Vector & v, const PressingPlace & place)
  {
    const auto parameters = place.parameters();
    std::array<double, 1 + task_size> values{}, bias{};
    std::array<double, (1 + task_size) * nv> matrix{};
    const int status = robot_package_pressed_rows_THE_TIP(
      q.data(), v.data(), parameters.data(), values.data(), matrix.data(), bias.data());
    if (status != ROBOT_PACKAGE_OK) return false;
    h = values[0];
    std::copy(values.begin() + 1, values.end(), theta.begin());
    for (std::size_t row = 0; row <= task_size; ++row)
      std::copy_n(&matrix[row * nv], nv, A[row].begin());
    return true;
  }

  double rate(std::size_t row, const Vector & v) const
  {
    double sum = 0.0;
    for (std::size_t i = 0; i < nv; ++i) sum += A[row][i] * v[i];
    return sum;
  }

  // Whether all singular values of the rows are above a bound, rad or m per rad or m. A turn by 1
  // rad counts as `turn` metres.
  bool are_beyond(double least, double turn) const
  {
    auto gram = gram_of(turn);
    for (std::size_t a = 0; a < size; ++a) gram[a * size + a] -= least * least;
    CholeskyOf<size> factor;
    return size <= nv && factor.of(gram);
  }

  // The largest share of the task rates, up to 1, at which no joint takes more than `share` of its
  // velocity limit; 0 in a singular posture.
  double pace_within(const Task & rate, double share, const Vector & limits) const
  {
    Vector needed{};
    if (!velocities_for(0.0, rate, needed)) return 0.0;
    double pace = 1.0;
    for (std::size_t i = 0; i < nv; ++i)
    {
      if (std::abs(needed[i]) > share * limits[i])
        pace = std::min(pace, share * limits[i] / std::abs(needed[i]));
    }
    return pace;
  }

  // The least joint velocities with these rates. False in a singular posture.
  bool velocities_for(double normal, const Task & rate, Vector & out) const
  {
    CholeskyOf<size> factor;
    if (!factor.of(gram_of(1.0))) return false;
    std::array<double, size> weights{normal};
    std::copy(rate.begin(), rate.end(), weights.begin() + 1);
    factor.solve(weights);
    out = {};
    for (std::size_t i = 0; i < nv; ++i)
    {
      for (std::size_t a = 0; a < size; ++a) out[i] += A[a][i] * weights[a];
    }
    return true;
  }

private:
  static constexpr std::size_t size = 1 + task_size;

  std::array<double, size * size> gram_of(double turn) const
  {
    std::array<double, size * size> gram{};
    for (std::size_t a = 0; a < size; ++a)
    {
      for (std::size_t b = 0; b < size; ++b)
      {
        const double weight = scale(a, turn) * scale(b, turn);
        for (std::size_t i = 0; i < nv; ++i) gram[a * size + b] += weight * A[a][i] * A[b][i];
      }
    }
    return gram;
  }

  static double scale(std::size_t row, double turn)
  {
    return row > 0 && task_direction[row - 1] < 3 ? turn : 1.0;
  }
};

// How joints answer to a force of 1 N along the normal, and the effective mass there, kg.
struct NormalResponse
{
  Vector acceleration{};
  double mass = 0.0;

  bool of(const std::array<double, nv * nv> & M, const PressedRows & rows)
  {
    Cholesky factor;
    if (!factor.of(M)) return false;
    acceleration = rows.A[0];
    factor.solve(acceleration);
    mass = 1.0 / std::max(rows.rate(0, acceleration), 1e-6);
    return std::isfinite(mass);
  }

  // The fastest approach, m/s, whose blow makes no joint faster than it may be.
  double fastest(const Vector & speeds) const
  {
    double most = INFINITY;
    for (std::size_t i = 0; i < nv; ++i)
    {
      const double jolt = std::abs(acceleration[i]) * mass;
      most = std::min(most, blow_share * speeds[i] / std::max(2.0 * jolt, 1e-9));
    }
    return most;
  }
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__PRESSED_ROWS_HPP_
