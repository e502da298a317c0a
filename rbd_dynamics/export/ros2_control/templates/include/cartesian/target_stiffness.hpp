// SPDX-License-Identifier: Apache-2.0
// A stiffness as messages say it. For callbacks: it allocates.
#ifndef ROBOT_PACKAGE__CARTESIAN__TARGET_STIFFNESS_HPP_
#define ROBOT_PACKAGE__CARTESIAN__TARGET_STIFFNESS_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "robot_package/common/digits.hpp"
#include "robot_package/common/linear_system.hpp"
#include "robot_package/tool/tool_constants.hpp"

namespace robot_package
{

// The matrix, its angular part first, out of 6 or 36 numbers, whose order is x, y, z, rx, ry, rz.
// largest: of translations and of rotations, N/m and N m/rad. What is wrong is returned.
inline std::string stiffness_of(
  const std::vector<double> & given, const std::array<double, 2> & largest,
  std::array<double, 36> & out)
{
  if (given.size() != 6 && given.size() != 36)
    return "it has " + std::to_string(given.size()) +
           " numbers: expected 6 (x, y, z, rx, ry, rz) or 36";
  std::array<double, 36> K{};
  double size = 0.0, skew = 0.0;
  for (std::size_t k = 0; k < given.size(); ++k)
  {
    if (!std::isfinite(given[k])) return "it is not finite";
    const std::size_t row = given.size() == 6 ? k : k / 6, column = given.size() == 6 ? k : k % 6;
    K[6 * ((row + 3) % 6) + (column + 3) % 6] = given[k];
    size = std::max(size, std::abs(given[k]));
  }
  for (std::size_t i = 0; i < 6; ++i)
  {
    for (std::size_t j = 0; j < 6; ++j)
    {
      skew = std::max(skew, std::abs(K[6 * i + j] - K[6 * j + i]));
      out[6 * i + j] = 0.5 * (K[6 * i + j] + K[6 * j + i]);
    }
  }
  if (skew > stiffness_rounding * size)
    return "it is not symmetric: pushing around in a circle would gain energy";
  const auto all = eigenvalues_of<6>(out);
  const double least = *std::min_element(all.begin(), all.end());
  if (least < -stiffness_rounding * size)
    return "it has the eigenvalue " + digits(least) + ": a negative spring pushes away";
  const char * const parts[] = {"translations", "rotations"};
  for (std::size_t part = 0; part < 2; ++part)
  {
    const std::size_t from = part == 0 ? 3 : 0;
    std::array<double, 9> block{};
    for (std::size_t k = 0; k < 9; ++k) block[k] = out[6 * (from + k / 3) + from + k % 3];
    const auto values = eigenvalues_of<3>(block);
    const double most = *std::max_element(values.begin(), values.end());
    if (most > largest[part])
      return digits(most) + " of " + parts[part] + ", more than largest_stiffness (" +
             digits(largest[part]) + ")";
  }
  return "";
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__TARGET_STIFFNESS_HPP_
