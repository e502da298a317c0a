// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__LINEAR_SYSTEM_HPP_
#define ROBOT_PACKAGE__LINEAR_SYSTEM_HPP_

#include <array>
#include <cmath>

#include "robot_package/robot_package.hpp"

namespace robot_package
{

// L L^T = M of the joints' size, M row by row. Nothing is allocated.
class Cholesky
{
public:
  // False where M is not positive definite.
  bool of(const std::array<double, nv * nv> & M)
  {
    for (std::size_t i = 0; i < nv; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = M[i * nv + j];
        for (std::size_t k = 0; k < j; ++k) sum -= L_[i * nv + k] * L_[j * nv + k];
        if (i == j) {
          if (!(sum > 0.0)) return false;
          L_[i * nv + i] = std::sqrt(sum);
        } else {
          L_[i * nv + j] = sum / L_[j * nv + j];
        }
      }
    }
    return true;
  }

  // x becomes M^-1 x.
  void solve(std::array<double, nv> & x) const
  {
    for (std::size_t i = 0; i < nv; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= L_[i * nv + k] * x[k];
      x[i] /= L_[i * nv + i];
    }
    for (std::size_t i = nv; i-- > 0;) {
      for (std::size_t k = i + 1; k < nv; ++k) x[i] -= L_[k * nv + i] * x[k];
      x[i] /= L_[i * nv + i];
    }
  }

private:
  std::array<double, nv * nv> L_{};
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__LINEAR_SYSTEM_HPP_
