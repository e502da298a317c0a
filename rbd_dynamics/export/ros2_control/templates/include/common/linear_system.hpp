// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__LINEAR_SYSTEM_HPP_
#define ROBOT_PACKAGE__COMMON__LINEAR_SYSTEM_HPP_

#include <array>
#include <cmath>

#include "robot_package/robot_package.hpp"

namespace robot_package
{

// L L^T = M, row by row. Nothing is allocated.
template <std::size_t N>
class CholeskyOf
{
public:
  // False where M is not positive definite.
  bool of(const std::array<double, N * N> & M)
  {
    for (std::size_t i = 0; i < N; ++i)
    {
      for (std::size_t j = 0; j <= i; ++j)
      {
        double sum = M[i * N + j];
        for (std::size_t k = 0; k < j; ++k) sum -= L_[i * N + k] * L_[j * N + k];
        if (i == j)
        {
          if (!(sum > 0.0)) return false;
          L_[i * N + i] = std::sqrt(sum);
        }
        else
        {
          L_[i * N + j] = sum / L_[j * N + j];
        }
      }
    }
    return true;
  }

  // x becomes M^-1 x.
  void solve(std::array<double, N> & x) const
  {
    for (std::size_t i = 0; i < N; ++i)
    {
      for (std::size_t k = 0; k < i; ++k) x[i] -= L_[i * N + k] * x[k];
      x[i] /= L_[i * N + i];
    }
    for (std::size_t i = N; i-- > 0;)
    {
      for (std::size_t k = i + 1; k < N; ++k) x[i] -= L_[k * N + i] * x[k];
      x[i] /= L_[i * N + i];
    }
  }

private:
  std::array<double, N * N> L_{};
};

using Cholesky = CholeskyOf<nv>;  // of the joints' size

// Eigenvalues of a symmetric matrix, in no order, by Jacobi's rotations.
template <std::size_t N>
std::array<double, N> eigenvalues_of(std::array<double, N * N> A)
{
  for (int sweep = 0; sweep < 30; ++sweep)
  {
    double beside = 0.0, all = 0.0;
    for (std::size_t i = 0; i < N * N; ++i) (i % (N + 1) == 0 ? all : beside) += A[i] * A[i];
    if (!(beside > 1e-34 * (all + beside))) break;
    for (std::size_t p = 0; p + 1 < N; ++p)
    {
      for (std::size_t r = p + 1; r < N; ++r)
      {
        if (A[p * N + r] == 0.0) continue;
        const double slope = (A[r * N + r] - A[p * N + p]) / (2.0 * A[p * N + r]);
        const double t =
          (slope < 0.0 ? -1.0 : 1.0) / (std::abs(slope) + std::sqrt(slope * slope + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
        for (std::size_t k = 0; k < N; ++k)
        {
          const double a = A[k * N + p], b = A[k * N + r];
          A[k * N + p] = c * a - s * b;
          A[k * N + r] = s * a + c * b;
        }
        for (std::size_t k = 0; k < N; ++k)
        {
          const double a = A[p * N + k], b = A[r * N + k];
          A[p * N + k] = c * a - s * b;
          A[r * N + k] = s * a + c * b;
        }
      }
    }
  }
  std::array<double, N> found{};
  for (std::size_t i = 0; i < N; ++i) found[i] = A[i * (N + 1)];
  return found;
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__LINEAR_SYSTEM_HPP_
