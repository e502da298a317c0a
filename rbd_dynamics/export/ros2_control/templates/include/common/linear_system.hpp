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
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = M[i * N + j];
        for (std::size_t k = 0; k < j; ++k) sum -= L_[i * N + k] * L_[j * N + k];
        if (i == j) {
          if (!(sum > 0.0)) return false;
          L_[i * N + i] = std::sqrt(sum);
        } else {
          L_[i * N + j] = sum / L_[j * N + j];
        }
      }
    }
    return true;
  }

  // x becomes M^-1 x.
  void solve(std::array<double, N> & x) const
  {
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= L_[i * N + k] * x[k];
      x[i] /= L_[i * N + i];
    }
    for (std::size_t i = N; i-- > 0;) {
      for (std::size_t k = i + 1; k < N; ++k) x[i] -= L_[k * N + i] * x[k];
      x[i] /= L_[i * N + i];
    }
  }

private:
  std::array<double, N * N> L_{};
};

using Cholesky = CholeskyOf<nv>;  // of the joints' size

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__LINEAR_SYSTEM_HPP_
