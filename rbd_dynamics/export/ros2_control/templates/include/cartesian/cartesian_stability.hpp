// SPDX-License-Identifier: Apache-2.0
// Whether a tool's stiffness is stable on this arm as it is computed. For configuring: it
// allocates.
#ifndef ROBOT_PACKAGE__CARTESIAN__CARTESIAN_STABILITY_HPP_
#define ROBOT_PACKAGE__CARTESIAN__CARTESIAN_STABILITY_HPP_

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "robot_package/cartesian/cartesian_settings.hpp"
#include "robot_package/common/loads.hpp"
#include "robot_package/common/stability.hpp"

namespace robot_package
{

// A tool's feedback at a posture.
struct ToolLoop
{
  std::array<double, nv * nv> M{};
  std::array<double, 6 * nv> J{};     // rows in the axes of stiffness
  std::array<double, 36> mobility{};  // of the tool, along them and about them
  std::vector<double> inverse;        // of M, row by row

  // False where it cannot be computed.
  bool of(const Vector & q, const CartesianSettings & settings, const Inertia & inertia)
  {
    Placed placed;
    std::array<double, 6 * nv> at_frame{};
    if (!tool_at(q, settings.tool, placed)) return false;
    if (robot_package_jacobian_THE_TIP(q.data(), at_frame.data()) != ROBOT_PACKAGE_OK) return false;
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK)
      return false;
    const Rotation with_tool = transposed(settings.axes);
    const Rotation into =
      settings.carrier == Carrier::root ? product(with_tool, placed.R()) : with_tool;
    const Rotation own = product(into, transposed(settings.tool.R()));
    const Three p = settings.tool.p();
    for (std::size_t j = 0; j < nv; ++j)
    {
      const Three w{at_frame[j], at_frame[nv + j], at_frame[2 * nv + j]};
      const Three v{
        at_frame[3 * nv + j] + w[1] * p[2] - w[2] * p[1],
        at_frame[4 * nv + j] + w[2] * p[0] - w[0] * p[2],
        at_frame[5 * nv + j] + w[0] * p[1] - w[1] * p[0]};
      const Three turning = turned(own, w), moving = turned(own, v);
      for (std::size_t k = 0; k < 3; ++k)
      {
        J[k * nv + j] = turning[k];
        J[(3 + k) * nv + j] = moving[k];
      }
    }
    Cholesky factor;
    if (!factor.of(M)) return false;
    inverse.assign(nv * nv, 0.0);
    for (std::size_t j = 0; j < nv; ++j)
    {
      Vector column{};
      column[j] = 1.0;
      factor.solve(column);
      for (std::size_t i = 0; i < nv; ++i) inverse[i * nv + j] = column[i];
    }
    for (std::size_t k = 0; k < 6; ++k)
    {
      for (std::size_t l = 0; l < 6; ++l)
      {
        double & entry = mobility[6 * k + l];
        entry = 0.0;
        for (std::size_t i = 0; i < nv; ++i)
        {
          for (std::size_t j = 0; j < nv; ++j)
            entry += J[k * nv + i] * inverse[i * nv + j] * J[l * nv + j];
        }
      }
      mobility[7 * k] += k < 3 ? settings.gains.least_rotation : settings.gains.least_translation;
    }
    return true;
  }

  // How fast the fastest motion grows, 1/s, with a share of the stiffness, on an arm that is
  // lighter by a tenth.
  double growth_rate(const CartesianSettings & settings, double share, const Timing & timing) const
  {
    std::vector<double> K(nv * nv), D(nv * nv), lighter(inverse);
    for (double & entry : lighter) entry /= lighter_inertia;
    std::array<double, 36> stiffness{}, damping{};
    Six ratios{};
    for (std::size_t k = 0; k < 36; ++k) stiffness[k] = share * settings.stiffness[k];
    for (std::size_t k = 0; k < 6; ++k)
    {
      ratios[k] = k < 3 ? settings.gains.rotation_ratio : settings.gains.translation_ratio;
    }
    if (
      robot_package_tool_damping(
        stiffness.data(), mobility.data(), settings.damping.data(), ratios.data(),
        damping.data()) != ROBOT_PACKAGE_OK)
      return std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < 6; ++k)
    {
      for (std::size_t l = 0; l < 6; ++l)
      {
        for (std::size_t i = 0; i < nv; ++i)
        {
          for (std::size_t j = 0; j < nv; ++j)
          {
            const double both = J[k * nv + i] * J[l * nv + j];
            K[i * nv + j] += stiffness[6 * k + l] * both;
            D[i * nv + j] += damping[6 * k + l] * both;
          }
        }
      }
    }
    return robot_package::growth_rate(lighter, K, D, timing);
  }
};

// Why the stiffness, which is called so, is not stable at the postures of this arm that are most
// likely not to be; empty: it is.
inline std::string instability_of(
  const CartesianSettings & settings, const Inertia & inertia, const Timing & timing,
  const std::string & called = "stiffness and rotational_stiffness are")
{
  std::vector<ToolLoop> loops(delicate_postures);
  for (std::size_t k = 0; k < delicate_postures; ++k)
  {
    Vector q{};
    std::copy_n(delicate_posture[k], nv, q.begin());
    if (!loops[k].of(q, settings, inertia)) return "the mass matrix cannot be computed";
  }
  const auto is_stable = [&](double share)
  {
    return std::all_of(
      loops.begin(), loops.end(), [&](const ToolLoop & loop)
      { return loop.growth_rate(settings, share, timing) <= stiffness_growth; });
  };
  if (is_stable(1.0)) return "";
  int step = 1;
  while (step <= 32 && !is_stable(std::pow(10.0, -0.125 * step))) ++step;
  const std::string would =
    step <= 32 ? std::to_string(std::pow(10.0, -0.125 * step)) + " times of it would be stable"
               : "nor is any share of it";
  return called + " unstable at " + std::to_string(1.0 / timing.period) + " Hz with a delay of " +
         std::to_string(timing.delay) + " s; " + would + ". Joint " + lightest_joint +
         " has only " + std::to_string(lightest_inertia) +
         " kg m^2: does the description lack its rotor (rotor inertia times the gear ratio "
         "squared)?";
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__CARTESIAN__CARTESIAN_STABILITY_HPP_
