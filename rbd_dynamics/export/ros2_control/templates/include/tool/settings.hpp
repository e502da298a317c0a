// SPDX-License-Identifier: Apache-2.0
// What settings of several controllers of a tool are made of. For configuring: it allocates.
#ifndef ROBOT_PACKAGE__TOOL__SETTINGS_HPP_
#define ROBOT_PACKAGE__TOOL__SETTINGS_HPP_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "robot_package/tool/tool_constants.hpp"
#include "robot_package/tool/tool_pose.hpp"

namespace robot_package
{

namespace detail
{

// Numbers for `count` of something: one for all or one for each. False for another count, or what
// is below zero.
inline bool each_of(const std::vector<double> & given, std::size_t count, double * out)
{
  if (given.size() != 1 && given.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) out[i] = given[given.size() == 1 ? 0 : i];
  return std::all_of(out, out + count, [](double x) { return x >= 0.0; });
}

inline double none_is_infinite(double limit) { return limit > 0.0 ? limit : INFINITY; }

inline Three three_of(const std::vector<double> & given) { return {given[0], given[1], given[2]}; }

inline double least_of(const Six & six, std::size_t from)
{
  return std::min({six[from], six[from + 1], six[from + 2]});
}

// Of a list of numbers for joints: what is wrong with it, behind its name.
inline std::string for_joints()
{
  return " needs a number of at least 0 for all or for each of " + std::to_string(nv) +
         " joints, or none";
}

}  // namespace detail

// Limits of joints as laws take them: zero positions where there are none, speeds that can be
// reckoned with.
struct JointLimits
{
  Vector lower{}, upper{}, margins{}, speeds{};

  // speeds_given: one for all or one for each; 0: none; empty: the description's. margin: rad or m,
  // from where on a joint is kept from its limit of position. False where speeds are none.
  bool of(const std::vector<double> & speeds_given, double margin)
  {
    if (speeds_given.empty())
    {
      std::copy(robot_package_velocity_limits, robot_package_velocity_limits + nv, speeds.begin());
    }
    else if (!detail::each_of(speeds_given, nv, speeds.data()))
    {
      return false;
    }
    for (std::size_t i = 0; i < nv; ++i)
    {
      speeds[i] = std::min(detail::none_is_infinite(speeds[i]), fastest);
      const double low = robot_package_lower_limits[i], high = robot_package_upper_limits[i];
      const bool is_limited = std::isfinite(low) && std::isfinite(high);
      lower[i] = is_limited ? low : 0.0;
      upper[i] = is_limited ? high : 0.0;
      margins[i] = std::min(margin, 0.4 * (upper[i] - lower[i]));
    }
    return true;
  }
};

// From a state to the effort that answers it, s: as late as states, commands and actuators make it,
// and as long as efforts take to change by a share of their limits; at least what is given. Behind
// efforts that change slowly a joint is braked earlier.
inline double reaction_time_of(
  double given, double late, const Vector & effort_limits, const Vector & effort_rates)
{
  constexpr double share = 0.1;
  double slow = 0.0;
  for (std::size_t i = 0; i < nv; ++i)
  {
    const bool takes_time =
      std::isfinite(effort_limits[i]) && std::isfinite(effort_rates[i]) && effort_rates[i] > 0.0;
    if (takes_time) slow = std::max(slow, share * effort_limits[i] / effort_rates[i]);
  }
  return std::max(given, late + slow);
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL__SETTINGS_HPP_
