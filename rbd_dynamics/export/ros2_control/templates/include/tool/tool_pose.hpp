// SPDX-License-Identifier: Apache-2.0
// Placements of the tool, and what turns and moves it. Nothing is allocated.
#ifndef ROBOT_PACKAGE__TOOL__TOOL_POSE_HPP_
#define ROBOT_PACKAGE__TOOL__TOOL_POSE_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/joint_vector.hpp"

namespace robot_package
{

using Three = std::array<double, 3>;
using Six = std::array<double, 6>;       // the angular part comes first
using Rotation = std::array<double, 9>;  // row by row

constexpr Rotation unturned{1, 0, 0, 0, 1, 0, 0, 0, 1};

inline Rotation transposed(const Rotation & R)
{
  return {R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]};
}

inline Rotation product(const Rotation & A, const Rotation & B)
{
  Rotation made{};
  for (std::size_t i = 0; i < 3; ++i)
  {
    for (std::size_t j = 0; j < 3; ++j)
    {
      for (std::size_t k = 0; k < 3; ++k) made[3 * i + j] += A[3 * i + k] * B[3 * k + j];
    }
  }
  return made;
}

inline Three turned(const Rotation & R, const Three & x)
{
  return {
    R[0] * x[0] + R[1] * x[1] + R[2] * x[2], R[3] * x[0] + R[4] * x[1] + R[5] * x[2],
    R[6] * x[0] + R[7] * x[1] + R[8] * x[2]};
}

// The angular part seen from axes R, the linear part as it is.
inline Six seen_from(const Rotation & R, const Six & six)
{
  const Three own = turned(transposed(R), {six[0], six[1], six[2]});
  return {own[0], own[1], own[2], six[3], six[4], six[5]};
}

// About the axis of a vector, by its length, rad.
inline Rotation rotation_by(const Three & phi)
{
  const double square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2],
               angle = std::sqrt(square);
  const double half = 0.5 * angle,
               ratio = half > 1e-4 ? std::sin(half) / half : 1.0 - half * half / 6.0;
  const double a = angle > 1e-4 ? std::sin(angle) / angle : 1.0 - square / 6.0,
               b = 0.5 * ratio * ratio;
  const auto [x, y, z] = phi;
  return {1.0 - b * (y * y + z * z), b * x * y - a * z,         b * x * z + a * y,
          b * x * y + a * z,         1.0 - b * (x * x + z * z), b * y * z - a * x,
          b * x * z - a * y,         b * y * z + a * x,         1.0 - b * (x * x + y * y)};
}

// Angles roll, pitch, yaw.
inline Rotation rotation_of(const Three & rpy)
{
  const double cr = std::cos(rpy[0]), sr = std::sin(rpy[0]), cp = std::cos(rpy[1]),
               sp = std::sin(rpy[1]);
  const double cy = std::cos(rpy[2]), sy = std::sin(rpy[2]);
  return {
    cy * cp,
    cy * sp * sr - sy * cr,
    cy * sp * cr + sy * sr,
    sy * cp,
    sy * sp * sr + cy * cr,
    sy * sp * cr - cy * sr,
    -sp,
    cp * sr,
    cp * cr};
}

// A placement: orientation, row by row, then place, in the root frame unless something else is
// said.
struct Placed : std::array<double, 12>
{
  static Placed of(const Rotation & R, const Three & p)
  {
    Placed made;
    std::copy(R.begin(), R.end(), made.begin());
    std::copy(p.begin(), p.end(), made.begin() + 9);
    return made;
  }

  Rotation R() const
  {
    Rotation made{};
    std::copy_n(begin(), 9, made.begin());
    return made;
  }
  Three p() const { return {(*this)[9], (*this)[10], (*this)[11]}; }
};

constexpr double farthest_from_unit = 1e-3;  // of a quaternion's length

// False for a quaternion (x, y, z, w) that is far from unit length, and for what is not finite.
inline bool place(const Three & p, const std::array<double, 4> & quaternion, Placed & out)
{
  const auto [x, y, z, w] = quaternion;
  const double length = std::sqrt(x * x + y * y + z * z + w * w);
  if (!is_finite(p) || !(std::abs(length - 1.0) <= farthest_from_unit)) return false;
  const double s = 2.0 / (length * length);
  out = Placed::of(
    {1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w), s * (x * y + z * w),
     1.0 - s * (x * x + z * z), s * (y * z - x * w), s * (x * z - y * w), s * (y * z + x * w),
     1.0 - s * (x * x + y * y)},
    p);
  return true;
}

// Where the tool is at q. tool: its placement in the frame that it is on. False where that is not
// finite.
inline bool tool_at(const Vector & q, const Placed & tool, Placed & out)
{
  std::array<double, 16> frame{};
  if (robot_package_pose_THE_TIP(q.data(), frame.data()) != ROBOT_PACKAGE_OK) return false;
  const Rotation R{frame[0], frame[1], frame[2], frame[4], frame[5],
                   frame[6], frame[8], frame[9], frame[10]};
  const Three off = turned(R, tool.p());
  out =
    Placed::of(product(R, tool.R()), {frame[3] + off[0], frame[7] + off[1], frame[11] + off[2]});
  return true;
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL__TOOL_POSE_HPP_
