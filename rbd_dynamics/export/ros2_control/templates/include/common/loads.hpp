// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__LOADS_HPP_
#define ROBOT_PACKAGE__COMMON__LOADS_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "robot_package/robot_package.hpp"

namespace robot_package
{

// Ten inertial parameters of each body.
using Inertia = std::array<double, 10 * bodies>;

inline Inertia unloaded()
{
  Inertia inertia{};
  std::copy(robot_package_inertia, robot_package_inertia + inertia.size(), inertia.begin());
  return inertia;
}

struct Load
{
  double mass = 0.0;            // kg
  std::array<double, 3> com{};  // m, in the frame
  std::array<double, 6>
    rotational{};  // about the com, in the frame's axes: Ixx, Ixy, Ixz, Iyy, Iyz, Izz, kg m^2
};

// What the robot carries, by frame.
class Loads
{
public:
  // Attach, replace or, without mass, detach the load of a frame. Returns what is wrong, and then
  // nothing changes.
  std::string set(const std::string & frame, const Load & load)
  {
    const auto end = robot_package_frame_names + ROBOT_PACKAGE_FRAMES;
    if (std::find(robot_package_frame_names, end, frame) == end)
      return "the robot has no frame named " + frame;
    if (!(std::isfinite(load.mass) && load.mass >= 0.0))
      return "a mass is a finite number from 0 on";
    auto changed = carried_;
    changed.erase(frame);
    if (load.mass > 0.0)
    {
      changed.emplace(frame, load);
    }
    else if (
      std::any_of(
        load.rotational.begin(), load.rotational.end(), [](double I) { return I != 0.0; }))
    {
      return "a load without mass has no moments of inertia";
    }
    Inertia inertia = unloaded();
    for (const auto & [name, each] : changed)
    {
      const int place = static_cast<int>(
        std::find(robot_package_frame_names, end, name) - robot_package_frame_names);
      if (robot_package_frame_body[place] < 0)
        return "frame " + name + " is fixed to the world: it carries nothing";
      if (!is_possible(each.rotational)) return "no body has these moments of inertia";
      const int status = robot_package_attach(
        inertia.data(), place, each.mass, each.com.data(), each.rotational.data());
      if (status != ROBOT_PACKAGE_OK) return "the numbers of the load are not finite";
    }
    carried_ = changed;
    inertia_ = inertia;
    return "";
  }

  const Inertia & inertia() const { return inertia_; }

  // kg, of the bodies that move, with their loads
  double mass() const
  {
    double total = 0.0;
    for (std::size_t body = 0; body < bodies; ++body) total += inertia_[10 * body];
    return total;
  }

private:
  // Whether the second moments, tr(I) / 2 - I, are not negative: by all principal minors of the
  // matrix.
  static bool is_possible(const std::array<double, 6> & I)
  {
    const double half = 0.5 * (I[0] + I[3] + I[5]), tiny = 1e-9 * std::abs(half);
    const double a = half - I[0], b = half - I[3], c = half - I[5], d = -I[1], e = -I[2], f = -I[4];
    const double slack = tiny * std::abs(half);
    return a >= -tiny && b >= -tiny && c >= -tiny && a * b - d * d >= -slack &&
           a * c - e * e >= -slack && b * c - f * f >= -slack &&
           a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e) >=
             -slack * std::abs(half);
  }

  std::map<std::string, Load> carried_;
  Inertia inertia_ = unloaded();
};

// What is carried while it changes from one load to another. Loads add up, so what lies between two
// of them is one.
class LoadChange
{
public:
  // Change over `transition` seconds.
  void begin(const Inertia & inertia, double transition)
  {
    from_ = inertia_;
    to_ = inertia;
    transition_ = transition;
    since_ = 0.0;
    if (!(transition > 0.0)) inertia_ = from_ = to_;
  }

  void pass(double period)
  {
    if (!(since_ < transition_)) return;
    since_ = std::min(since_ + period, transition_);
    const double share = since_ / transition_;
    for (std::size_t i = 0; i < inertia_.size(); ++i)
      inertia_[i] = from_[i] + share * (to_[i] - from_[i]);
    if (share == 1.0) inertia_ = to_;
  }

  const Inertia & inertia() const { return inertia_; }

private:
  Inertia inertia_ = unloaded(), from_ = unloaded(), to_ = unloaded();
  double transition_ = 0.0, since_ = 0.0;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__LOADS_HPP_
