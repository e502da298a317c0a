// SPDX-License-Identifier: Apache-2.0
// What the force-torque sensor says: its reading as a force along the normal and what is felt
// besides, whether the sensor still works, and whether the tool touches something.
#ifndef ROBOT_PACKAGE__HYBRID__FELT_WRENCH_HPP_
#define ROBOT_PACKAGE__HYBRID__FELT_WRENCH_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/hybrid/contact_sense.hpp"
#include "robot_package/hybrid/hybrid_settings.hpp"

namespace robot_package
{

// normal: what presses along the normal, N. Besides: force, N, moment about the tool's point, N m,
// power that is done on what is touched, W, and efforts of the joints.
struct Felt
{
  double normal = 0.0, force = 0.0, moment = 0.0, power = 0.0;
  Vector efforts{};
};

// wrench: (moment, force) on the robot, in the tip's frame. free: the same where nothing is
// touched. False where a number is not finite.
inline bool felt_of(
  const Vector & q, const Vector & v, const Six & wrench, const Six & free,
  const PressingPlace & place, Felt & out)
{
  const auto parameters = place.parameters();
  std::array<double, 3> beside{};
  const int status = robot_package_multiplier_sensor_THE_TIP(
    q.data(), v.data(), wrench.data(), free.data(), parameters.data(), &out.normal, beside.data(),
    out.efforts.data());
  out.force = beside[0];
  out.moment = beside[1];
  out.power = beside[2];
  return status == ROBOT_PACKAGE_OK;
}

class FeltWrench
{
public:
  void start()
  {
    unchanged_ = 0.0;
    last_ = {};
    is_touching_ = true;
    sense_ = ContactSense();
    forget_free();
  }

  // From here on the way to the surface is free, until contact.
  void begin()
  {
    sense_.begin();
    forget_free();
  }

  // What was read in free motion does not count any more.
  void forget_free()
  {
    free_ = {};
    free_count_ = 0.0;
  }

  // A reading (moment, force) in the sensor's frame, `elapsed` (s) after the last one. zero: what
  // the sensor reads along the normal without contact, N. is_free: nothing is touched, or not yet.
  void update(
    const Vector & q, const Vector & v, const Six & reading, double elapsed,
    const HybridSettings & settings, double zero, bool is_free)
  {
    const PressingLimits & limits = settings.limits;
    if (!is_finite(reading))
    {
      problem_ = Halt::sensor_not_finite;
      return;
    }
    unchanged_ = reading == last_ ? unchanged_ + elapsed : 0.0;
    last_ = reading;
    problem_ = limits.sensor_timeout > 0.0 && unchanged_ > limits.sensor_timeout
                 ? Halt::sensor_silent
                 : Halt::no;
    if (problem_ != Halt::no) return;
    const Six wrench = at_tip(reading, settings);
    if (is_free)
    {
      free_count_ += 1.0;
      const double share = std::max(1.0 / free_count_, std::min(1.0, elapsed / zero_smoothing));
      for (std::size_t k = 0; k < 6; ++k) free_[k] += share * (wrench[k] - free_[k]);
    }
    if (!felt_of(q, v, wrench, free_, settings.place, felt_))
    {
      problem_ = Halt::sensor_not_finite;
      return;
    }
    const double normal = felt_.normal - zero;
    sense_.update(
      normal, std::min(elapsed, longest_pressing_step), limits.contact_debounce, is_free);
    is_touching_ = sense_.touches(normal, limits.contact_force);
  }

  // What is wrong with the last reading; then the values below are those of the last good one.
  Halt problem() const { return problem_; }
  bool works() const { return problem_ == Halt::no; }
  // s, for which readings have been the same
  double unchanged() const { return unchanged_; }
  const Felt & felt() const { return felt_; }
  bool is_touching() const { return is_touching_; }
  const ContactSense & sense() const { return sense_; }
  // The least force that tells contact from none, N.
  double least(const PressingLimits & limits) const
  {
    return std::max(limits.contact_force, sense_.least());
  }

private:
  // A reading as the wrench on the robot, in the tip's frame.
  static Six at_tip(const Six & reading, const HybridSettings & settings)
  {
    const Placed & sensor = settings.place.sensor;
    const double sign = settings.wrench_of_robot ? -1.0 : 1.0;
    const Rotation R = sensor.R();
    const Three p = sensor.p(), f = turned(R, {reading[3], reading[4], reading[5]});
    Three m = turned(R, {reading[0], reading[1], reading[2]});
    m[0] += p[1] * f[2] - p[2] * f[1];
    m[1] += p[2] * f[0] - p[0] * f[2];
    m[2] += p[0] * f[1] - p[1] * f[0];
    return {sign * m[0], sign * m[1], sign * m[2], sign * f[0], sign * f[1], sign * f[2]};
  }

  Felt felt_;
  Halt problem_ = Halt::no;
  ContactSense sense_;
  Six free_{}, last_{};
  double free_count_ = 0.0, unchanged_ = 0.0;
  bool is_touching_ = true;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__FELT_WRENCH_HPP_
