// SPDX-License-Identifier: Apache-2.0
// How contact is felt, found and lost along a normal, without ROS. Nothing is allocated.
#ifndef ROBOT_PACKAGE__HYBRID__CONTACT_SENSE_HPP_
#define ROBOT_PACKAGE__HYBRID__CONTACT_SENSE_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/hybrid/pressing_constants.hpp"

namespace robot_package
{

// Limits at which a tool that presses has to stop, and how gently it begins.
struct PressingLimits
{
  double sensor_timeout = 0.05, state_timeout = 0.1;       // s; 0: none
  double contact_force = 1.0;                              // N
  double contact_debounce = 0.005, contact_timeout = 0.1;  // s
  double largest_force = 50.0, largest_side_force = 50.0;  // N
  double largest_moment = 10.0, largest_power = 20.0;      // N m, W
  double normal_speed = 0.05;                              // m/s, into the surface; 0: any
  double constraint_tolerance = 0.01, press_tolerance = 0.03, reach = 0.5;  // m, rad
  double force_rate = 20.0;                                                 // N/s
  double approach_speed = 0.01, approach_force = 20.0, approach_distance = 0.1,
         approach_timeout = 30.0;
  double hold_stiffness = 400.0, hold_damping = 40.0,
         hold_tolerance = 0.2;  // 1/s^2, 1/s; rad or m, 0: none
  bool hold_load = false;       // what acts on the held arm beside the model is made up for
};

// Contact told from a sensor's noise: what counts is above what it reads by itself, as was measured
// on the way.
class ContactSense
{
public:
  void begin()
  {
    is_known_ = false;
    count_ = 0.0;
  }

  // A reading (N) dt (s) after the last. debounce: s, that contact has to last. free: nothing
  // touches, or not yet.
  void update(double felt, double dt, double debounce, bool free)
  {
    if (!is_known_) smooth_ = slow_ = felt;
    is_known_ = true;
    smooth_ += (debounce > 0.0 ? std::min(1.0, dt / debounce) : 1.0) * (felt - smooth_);
    slow_ += std::min(1.0, dt / noise_slowly) * (felt - slow_);
    const double square = (smooth_ - slow_) * (smooth_ - slow_);
    if (!free || (count_ >= noise_readings && square >= noise_blow * square_)) return;
    count_ += 1.0;
    square_ += std::max(1.0 / count_, std::min(1.0, dt / noise_memory)) * (square - square_);
  }

  double smooth() const { return smooth_; }
  // N, below which what is felt may be noise
  double least() const { return noise_times * std::sqrt(square_); }
  bool touches(double felt, double contact_force) const
  {
    return felt >= contact_force && smooth_ >= least();
  }

private:
  double smooth_ = 0.0, slow_ = 0.0, square_ = 0.0, count_ = 0.0;
  bool is_known_ = false;
};

// What of the wanted force may push, by how fast the tool goes into the surface: a tool that runs
// away where contact is lost is not driven, but braked.
class NormalSpeed
{
public:
  double share() const { return share_; }
  // less than 1 where the tool is too fast for all of the force, and for a while after
  double slow() const { return slow_; }

  void forget() { *this = NormalSpeed(); }
  // Begin anew, as on the way to a surface: so much pushes where it touches, and more soon after.
  void restart(double share)
  {
    share_ = share;
    recovery_ = push_recovery;
    since_ = INFINITY;
  }

  // drift: m/s, out of the surface, dt (s) after the last. most: m/s, at which nothing pushes; 0:
  // there is no bound. ahead: s, from a speed to the torque that answers it.
  void update(double drift, double dt, double most, double ahead)
  {
    if (!(most > 0.0))
    {
      share_ = slow_ = 1.0;
      return;
    }
    const double speed = -drift;
    if (is_known_ && dt > 0.0)
      growth_ += std::min(1.0, dt / speed_growth) * ((speed - speed_) / dt - growth_);
    speed_ = speed;
    is_known_ = true;
    const double foreseen = speed > 0.0 ? speed + ahead * std::max(growth_, 0.0) : 0.0;
    const double used = std::max(0.0, (foreseen / most - speed_begins) / (1.0 - speed_begins));
    const double allowed = 1.0 - std::min(1.0, used);
    slow_ = std::min(allowed, slow_ + dt / push_recovery);
    if (allowed < share_)
    {  // on soft ground a push that comes back at once makes it fast at once
      if (since_ > 0.0)
        recovery_ = since_ < push_again * recovery_ ? std::min(push_recovery_most, 2.0 * recovery_)
                                                    : push_recovery;
      since_ = 0.0;
    }
    else
    {
      since_ += dt;
    }
    share_ = std::min(allowed, share_ + dt / recovery_);
  }

  // The velocity that the normal damping is to aim at, so that it brakes more than by itself.
  double aim(double drift, double wanted) const
  {
    return wanted + (normal_braking - 1.0) * (1.0 - share_) * (wanted - drift);
  }

private:
  double share_ = 1.0, slow_ = 1.0, speed_ = 0.0, growth_ = 0.0;
  double recovery_ = push_recovery,
         since_ = INFINITY;  // s; since when the push is not cut any more
  bool is_known_ = false;
};

// Why control along a normal has ended.
enum class Halt
{
  no,
  by_request,
  sensor_silent,
  sensor_not_finite,
  states_silent,
  force,
  impact,
  side_force,
  moment,
  power,
  no_contact_way,
  no_contact_time,
  moves_away,
  stuck,
  reads_a_pull,
  beyond,
  off_surface,
  out_of_reach,
  turned,
  singular,
  contact_lost,
  gives_way,
  pulls,
  in_the_way,
  unfelt,
  moved_while_held,
  left_behind
};

// The way to a surface: a speed that is held against errors of the model by a spring to a reference
// that moves, and a sensor that is watched meanwhile. There is contact once the reading has risen
// by contact_force for contact_debounce.
class Approach
{
public:
  struct Beginning
  {
    double inertia;               // kg, effective, along the normal
    double push;                  // N, with which it begins
    double h;                     // m, from the surface
    double measured;              // N
    double damping;               // 1/s, along the normal
    double fastest = INFINITY;    // m/s
    double ramp = approach_ramp;  // s, in which the speed is reached
    bool zero_is_known = false;
    double zero = 0.0;  // N, that the sensor reads in free motion, where that is known
  };

  void begin(const Beginning & from, const PressingLimits & limits)
  {
    *this = Approach();
    from_ = from;
    stiffness_ = from.inertia * 0.25 * from.damping * from.damping;
    push_ = std::clamp(from.push, -limits.approach_force, limits.approach_force);
    first_ = recent_ = from.measured;
    zero_ = from.zero_is_known ? from.zero : from.measured;
    first_push_ = pushes_[0] = pushes_[1] = push_;
    before_[0] = before_[1] = zero_;
  }

  // m/s, out of the surface, and N, for the next state
  double velocity() const { return velocity_; }
  double push() const { return push_; }
  // Whether it is known that the tool touched nothing.
  bool is_free() const { return is_free_; }
  // N: what the sensor read in free motion; what it is taken to read now; what free motion needed
  // beside the model.
  double offset() const { return before_[0]; }
  double zero() const { return zero_; }
  double free_push() const { return pushes_[0]; }

  // Something is in the way: the tool stands, though it is pushed by more than counts as contact.
  bool is_unfelt(const PressingLimits & limits) const
  {
    return is_slow_ && !flies_ && push_ - first_push_ > 2.0 * limits.contact_force;
  }

  // Velocity and push for the next state, after the distance h and its rate; why it has to end,
  // with the figure.
  Halt step(double h, double drift, double dt, const PressingLimits & limits, double & figure)
  {
    time_ += dt;
    const double ramp = from_.ramp > 0.0 ? std::min(1.0, time_ / from_.ramp) : 1.0;
    const double speed = std::min(limits.approach_speed, from_.fastest) * ramp,
                 most = limits.approach_force;
    velocity_ = -speed;
    is_slow_ = -drift < held_up * speed;
    flies_ = drift > speed;
    double rate = stiffness_ * (drift + speed);
    if (is_slow_)
      rate = std::max(rate, least_push_rate);  // a light arm's spring alone would take minutes
    push_ = std::clamp(push_ + rate * dt, -most, most);
    stuck_ = std::abs(push_) >= most ? stuck_ + dt : 0.0;
    const double way = from_.h - h;
    figure = way;
    if (below_ > 0.0 && below_ >= limits.contact_debounce) return Halt::reads_a_pull;
    if (stuck_ > approach_stuck) return Halt::stuck;
    if (way > limits.approach_distance) return Halt::no_contact_way;
    if (-way > limits.constraint_tolerance) return Halt::moves_away;
    figure = time_;
    return time_ > limits.approach_timeout ? Halt::no_contact_time : Halt::no;
  }

  // Whether the reading (N) has changed as by contact, and by more than noise; watches it where it
  // has not.
  bool touches(
    double h, double reading, double dt, const PressingLimits & limits, const ContactSense & noise)
  {
    if (reading - zero_ >= limits.contact_force)
    {
      above_ += dt;
      if (above_ >= limits.contact_debounce && noise.smooth() >= noise.least()) return true;
    }
    else
    {
      above_ = 0.0;
    }
    if (above_ > 0.5 * limits.contact_debounce)
      return false;  // what is above for a shorter time is noise as well
    const bool is_pulled = zero_ - reading >= pull_of_sensor * limits.contact_force;
    below_ = is_pulled && is_unfelt(limits) ? below_ + dt : 0.0;
    count_ += 1.0;
    const double average = 1.0 / count_;
    if (time_ < zero_settled && !from_.zero_is_known)
    {
      zero_ += average * (reading - zero_);
    }
    else if (!is_slow_)
    {  // what stands may stand against something
      const double most = zero_drift * limits.contact_force * dt;
      zero_ += std::clamp(reading - zero_, -most, most);
    }
    if (time_ >= remembered_ + zero_memory)
    {
      remembered_ = time_;
      before_[0] = before_[1];
      before_[1] = zero_;
      pushes_[0] = pushes_[1];
      pushes_[1] = push_;
    }
    recent_ += std::max(average, std::min(1.0, dt / free_smoothing)) * (reading - recent_);
    const double way = from_.h - h;
    if (way < 0.1 * free_way)
    {
      first_ = recent_;
      before_[0] = before_[1] = zero_;
      pushes_[0] = pushes_[1] = push_;
    }
    const bool is_still = way >= free_way && recent_ - first_ < free_change * limits.contact_force;
    if (is_still || way >= free_anyway * limits.contact_force) is_free_ = true;
    return false;
  }

private:
  Beginning from_{};
  double stiffness_ = 0.0, push_ = 0.0, first_push_ = 0.0, velocity_ = 0.0;
  double zero_ = 0.0, first_ = 0.0, recent_ = 0.0, before_[2] = {}, pushes_[2] = {};
  double time_ = 0.0, above_ = 0.0, below_ = 0.0, stuck_ = 0.0, remembered_ = 0.0, count_ = 0.0;
  bool is_free_ = false, is_slow_ = false, flies_ = false;
};

// Whether a tool that presses still touches what it pressed on, and whether that holds against it.
class ContactWatch
{
public:
  // It touches, at the distance h (m).
  void begin(double h)
  {
    touched_ = h;
    without_ = lost_ = beyond_ = aside_ = 0.0;
  }

  // A state dt seconds after the last. is_aside: something is felt beside the normal.
  void update(bool touches, double h, double dt, bool is_aside = false)
  {
    if (touches) return begin(h);
    without_ += dt;
    const double outside = h - touched_;
    if (!(outside > roughness)) lost_ += dt;
    if (outside < -roughness) beyond_ += dt;
    aside_ = is_aside ? aside_ + dt : 0.0;
  }

  double touched() const { return touched_; }
  // s since contact was felt; of these, in which the tool was where it had touched, or inside
  double without() const { return without_; }
  double lost() const { return lost_; }

  // Why a contact is not sought any longer. beside: N, felt beside the normal; least: N, that tell
  // contact from none.
  Halt not_found(bool is_unfelt, double beside, double least, double timeout) const
  {
    if (aside_ > aside_time || (is_unfelt && beside > 2.0 * least)) return Halt::in_the_way;
    if (is_unfelt) return Halt::unfelt;
    return beyond_ > timeout ? Halt::contact_lost : Halt::no;
  }

private:
  double touched_ = 0.0, without_ = 0.0, lost_ = 0.0, beyond_ = 0.0, aside_ = 0.0;
};

// How long a surface has given way: the push is cut for the tool's speed, and what is felt does not
// grow.
class GivingWay
{
public:
  double time() const { return time_; }

  // share: of the wanted force (N) that may push. felt: N; it has grown where it is more by `least`
  // (N).
  void update(double share, double felt, double wanted, double least, double dt)
  {
    const bool holds = share >= push_cut || felt >= push_cut * wanted || felt > felt_ + least;
    time_ = holds ? 0.0 : time_ + dt;
    if (holds) felt_ = felt;
  }

private:
  double time_ = 0.0, felt_ = 0.0;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__CONTACT_SENSE_HPP_
