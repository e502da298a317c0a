// SPDX-License-Identifier: Apache-2.0
// The tool approaches the surface, presses on it, and approaches again where contact is lost for a
// moment. Each step calls the law of force and motion, and tells why control has to end.
#ifndef ROBOT_PACKAGE__HYBRID__PRESSING_HPP_
#define ROBOT_PACKAGE__HYBRID__PRESSING_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/hybrid/hybrid_law.hpp"
#include "robot_package/hybrid/normal_push.hpp"
#include "robot_package/hybrid/pressing_checks.hpp"
#include "robot_package/hybrid/releasable_force.hpp"
#include "robot_package/hybrid/surface_motion.hpp"
#include "robot_package/hybrid/task_frame_path.hpp"
#include "robot_package/tool/softening.hpp"

namespace robot_package
{

class Pressing
{
public:
  SurfaceMotion motion;  // along the surface
  NormalPush push;

  void configure(const HybridSettings & settings)
  {
    law_.settings = settings;
    motion.limit(settings.turning, settings.moving);
  }
  const HybridSettings & settings() const { return law_.settings; }

  // Other settings from the next step on. The task frame goes to another place at once, or on a way
  // of its own.
  void change(const HybridSettings & changed, bool at_once)
  {
    const PressingPlace now = settings().place;
    law_.tune(changed);
    motion.limit(changed.turning, changed.moving);
    frame_.end();
    if (at_once) return;
    double lever = 0.0;
    const Task theta = motion.theta();
    for (std::size_t k = 0; k < task_size; ++k)
    {
      if (task_direction[k] >= 3) lever = std::hypot(lever, theta[k]);
    }
    law_.settings.place.task = now.task;
    law_.settings.place.offset = now.offset;
    frame_.begin(now, changed.place, lever, std::abs(push.force()), settings());
    waits_ = 0.0;
  }

  // Move the task frame on its way, if it has one, by dt (s), or less where a tool cannot follow
  // that is not held; rows: at q, which become those beside the frame where it is now. False where
  // these cannot be had.
  bool move_frame(const Vector & q, const Vector & v, double dt, bool held, PressedRows & rows)
  {
    carried_ = {};
    if (!frame_.goes()) return true;
    const Task before = rows.theta;
    const double pace = held ? 1.0 : motion.near();
    frame_.pass(dt * pace, law_.settings.place);
    waits_ = pace < stalled_pace ? waits_ + dt : 0.0;
    if (!rows.of(q, v, settings().place)) return false;
    for (std::size_t k = 0; k < task_size && dt > 0.0; ++k)
      carried_[k] = (before[k] - rows.theta[k]) / dt;
    return true;
  }
  bool is_frame_moving() const { return frame_.goes(); }

  void start()
  {
    frame_.end();
    waits_ = 0.0;
    softening_.start();
    law_.soften(1.0);
    law_.reset();
    since_contact_ = leant_ = INFINITY;
    push.start();
    motion.start();
    watch_.begin(0.0);
    offset_ = 0.0;
    is_tared_ = has_output_ = is_again_ = is_approaching_ = false;
  }

  // Approach from here, with what has held the robot until now: a push along the normal and an
  // acceleration of the task.
  void begin(
    const Vector & q, const PressedRows & rows, FeltWrench & wrench, Approach::Beginning from,
    const Task & acceleration)
  {
    law_.reset();
    law_.preset_acceleration(acceleration);
    motion.begin(rows);
    posture_ = q;
    from.push += push.force();
    approach(from, rows, wrench);
    wrench.begin();
    push.begin();
    watch_.begin(rows.h);
    giving_ = GivingWay();
    release_.begin();
    pressed_ = INFINITY;
    is_again_ = has_output_ = false;
  }

  // Control ends: what still presses goes on from the last force, unless contact was lost before.
  void end()
  {
    if (has_output_) push.set(law_.output().force);  // with what the integral added
    if (watch_.without() > sudden) push.let_go();
    watch_.begin(watch_.touched());
    has_output_ = is_again_ = is_approaching_ = false;
  }

  // To be called while the robot is held: what still presses fades, and ends at once where nothing
  // pushes back. A silent sensor does not tell that.
  void fade(const FeltWrench & wrench, double elapsed)
  {
    const PressingLimits & limits = settings().limits;
    if (wrench.works() && push.force() != 0.0)
    {
      watch_.update(
        wrench.is_touching(), watch_.touched(), std::min(elapsed, longest_pressing_step));
      if (watch_.without() > std::max(limits.contact_debounce, sudden)) push.let_go();
    }
    push.fade(limits.force_rate * elapsed);
  }

  // To be called after a gap.
  void forget_motion() { law_.forget_motion(); }

  // One step of the law. Afterwards `output` has its efforts, unless control has to end. behind: s,
  // by which efforts are commanded later than they were wanted.
  Problem step(
    const Vector & q, const Vector & v, const PressedRows & rows, FeltWrench & wrench, double dt,
    double behind, const Inertia & inertia)
  {
    const PressingLimits & limits = settings().limits;
    const double drift = rows.rate(0, v);
    if (has_output_) look(q, drift, rows, wrench, dt, inertia);
    const double felt = felt_by(wrench);
    if (!is_approaching_)
    {
      push.approach_desired(limits.force_rate * dt, bound());
      pressed_ += dt;
    }
    motion.pass(q, rows, dt, settings());
    push.pass(dt);
    HybridInputs in{motion.theta(),        motion.rate(), motion.acceleration(), 0.0, 0.0, felt, {},
                    wrench.felt().efforts, posture_};
    for (std::size_t k = 0; k < task_size; ++k) in.rate[k] += carried_[k];
    if (is_approaching_)
    {
      push.to_approach(approach_, drift, is_again_, in);
    }
    else
    {
      push.to_press(
        drift, law_.force_integral(), wrench.felt().force, wrench.least(limits), dt, in);
    }
    const bool leans = wrench.felt().force > wrench.least(limits) + leaning_share * felt;
    if (!soften(q, v, rows, in.rate, leans, dt, behind, inertia)) return {Halt::singular, 0.0};
    if (law_.step(q, v, in, dt, inertia) != Status::ok) return {Halt::singular, 0.0};
    has_output_ = true;
    Problem problem = problem_of(felt, rows, wrench);
    if (problem.why == Halt::no && is_approaching_)
      problem.why = approach_.step(rows.h, drift, dt, limits, problem.figure);
    return problem;
  }

  // Whether there has been a step since `begin`.
  bool has_output() const { return has_output_; }
  const HybridOutput & output() const { return law_.output(); }
  bool approaches() const { return is_approaching_; }
  // The share of the damping that is in use.
  double share() const { return law_.share(); }
  // Whether the tool has touched nothing yet.
  bool approaches_first() const { return is_approaching_ && !is_again_; }
  // What the sensor reads along the normal without contact, N: as found when contact began, and as
  // it is taken now.
  double offset() const { return offset_; }
  double zero() const { return is_approaching_ ? approach_.zero() : offset_; }
  // N: no more is pressed, as of more the tool could not let go in time. Where that is not known
  // yet, no more than now.
  double bound() const
  {
    return release_.is_known() ? release_.bound()
                               : std::max(push.force(), settings().limits.contact_force);
  }
  // Whether efforts have to change at once: contact is lost, or a joint nears its velocity limit.
  bool lets_go() const { return is_again_ || push.share() < 1.0 || output().braking > 0.0; }

private:
  double felt_by(const FeltWrench & wrench) const { return wrench.felt().normal - offset_; }

  // Whether so much is commanded that the tool has to touch.
  bool is_touch_wanted(double least) const { return push.force() >= 2.0 * least; }

  void approach(Approach::Beginning from, const PressedRows & rows, const FeltWrench & wrench)
  {
    from.h = rows.h;
    from.measured = wrench.felt().normal;
    from.damping = settings().gains.normal_damping;
    approach_.begin(from, settings().limits);
    is_approaching_ = true;
  }

  // Softer gains where efforts come late and the arm is fast beside its wanted motion. Not where it
  // leans on something beside the surface, or friction holds it: that needs all of them, until
  // efforts are so late that the arm swings by them. False where the mass matrix cannot be had.
  bool soften(
    const Vector & q, const Vector & v, const PressedRows & rows, const Task & rate, bool leans,
    double dt, double behind, const Inertia & inertia)
  {
    since_contact_ += dt;
    leant_ = leans && !is_approaching_ && since_contact_ > leaning_blow ? 0.0 : leant_ + dt;
    Vector wanted{}, momentum{};
    if (!(behind > 0.0 || softening_.share() < 1.0)) return true;
    if (!rows.velocities_for(rows.rate(0, v), rate, wanted)) return true;
    std::array<double, nv * nv> M{};
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK)
      return false;
    for (std::size_t i = 0; i < nv; ++i)
    {
      for (std::size_t k = 0; k < nv; ++k) momentum[i] += M[i * nv + k] * (v[k] - wanted[k]);
    }
    const Task & kd = settings().gains.kd;
    softening_.update(
      momentum, *std::max_element(kd.begin(), kd.end()), settings().effort_rates, dt,
      leant_ > leaning_blow || behind > late_swings ? behind : 0.0);
    law_.soften(softening_.share());
    return true;
  }

  // Whether contact has begun, goes on or is lost.
  void look(
    const Vector & q, double drift, const PressedRows & rows, FeltWrench & wrench, double dt,
    const Inertia & inertia)
  {
    const PressingLimits & limits = settings().limits;
    if (
      is_approaching_ &&
      approach_.touches(rows.h, wrench.felt().normal, dt, limits, wrench.sense()))
      begin_to_press(rows, wrench);
    const double least = wrench.least(limits),
                 added = is_approaching_ ? 0.0 : law_.force_integral() - push.lacking();
    if (!is_again_) release_.look(q, rows, added, dt, settings(), inertia);
    if (!is_approaching_)
    {
      release_.feel(q, wrench.felt(), felt_by(wrench), least, dt, settings(), inertia);
      watch_.update(wrench.is_touching() || !is_touch_wanted(least), rows.h, dt);
      push.update(drift, dt, settings());
      giving_.update(push.slow(), wrench.sense().smooth(), push.force(), least, dt);
      if (is_contact_lost()) approach_again(q, rows, wrench, inertia);
    }
    else if (is_again_)
    {
      watch_.update(false, rows.h, dt, wrench.felt().force > 2.0 * least);
    }
  }

  // Contact: what the sensor read before is its zero, and what the model lacked stays compensated.
  void begin_to_press(const PressedRows & rows, FeltWrench & wrench)
  {
    const PressingLimits & limits = settings().limits;
    const bool is_free = approach_.is_free();
    if (is_free) offset_ = approach_.offset();
    is_tared_ = is_free || (is_again_ && is_tared_);
    if (!is_tared_) wrench.forget_free();
    // The blow of an approach is not wanted: after free motion the force begins with what counts as
    // contact, and where contact was lost before, with enough to tell at once whether it is lost
    // again.
    double most = push.desired();
    if (is_free || is_again_)
    {
      if (!is_again_) push.set_lacking(approach_.free_push());
      most = std::min(most, is_again_ ? 2.0 * wrench.least(limits) : limits.contact_force);
    }
    push.set(std::clamp(felt_by(wrench), 0.0, most));
    law_.preset_force(approach_.push() - (is_free || is_again_ ? 0.0 : push.force()));
    pressed_ = is_again_ ? INFINITY : 0.0;
    since_contact_ = 0.0;
    is_again_ = is_approaching_ = false;
    watch_.begin(rows.h);
  }

  bool is_sudden() const { return push.share() < 0.5; }  // the tool runs away

  bool is_contact_lost() const
  {
    const PressingLimits & limits = settings().limits;
    const double patient =
      is_sudden() ? std::max(limits.contact_debounce, sudden) : patience * limits.contact_timeout;
    return watch_.without() >= patient;
  }

  // Slowly back to a contact that was lost a moment ago.
  void approach_again(
    const Vector & q, const PressedRows & rows, const FeltWrench & wrench, const Inertia & inertia)
  {
    const PressingLimits & limits = settings().limits;
    std::array<double, nv * nv> M{};
    NormalResponse response;
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK) return;
    if (!response.of(M, rows)) return;
    const double slow = limits.normal_speed > 0.0 ? limits.normal_speed : limits.approach_speed;
    Approach::Beginning from{};
    from.inertia = response.mass;
    from.push = push.lacking();
    from.fastest =
      std::min(response.fastest(settings().speeds), 0.5 * std::min(limits.approach_speed, slow));
    from.ramp = 0.0;
    from.zero_is_known = true;
    from.zero = offset_;
    approach(from, rows, wrench);
    if (is_sudden())
    {  // what friction had held back must not fling the tool ahead
      motion.stand(rows.theta);
      law_.preset_acceleration({});
    }
    law_.preset_force(
      0.0);  // what the integral made up for, such as friction, is gone with the contact
    push.let_go();
    is_again_ = true;
  }

  // Why control may not go on. felt: N, along the normal.
  Problem problem_of(double felt, const PressedRows & rows, const FeltWrench & wrench) const
  {
    const PressingLimits & limits = settings().limits;
    const double least = wrench.least(limits), beside = wrench.felt().force;
    if (std::abs(felt) > limits.largest_force)
      return {approaches_first() || pressed_ < impact_time ? Halt::impact : Halt::force, felt};
    if (
      const Problem misplaced = problem_with_place(rows, limits, approaches_first());
      misplaced.why != Halt::no)
      return misplaced;
    if (waits_ > stall_time) return {Halt::left_behind, waits_};
    if (output().rank < static_cast<double>(1 + task_size)) return {Halt::singular, 0.0};
    if (approaches_first()) return {};
    if (is_again_)
      return {
        watch_.not_found(approach_.is_unfelt(limits), beside, least, limits.contact_timeout),
        beside};
    if (!is_touch_wanted(least)) return {};
    if (push.pulls() > limits.contact_timeout) return {Halt::pulls, felt};
    if (giving_.time() > limits.contact_timeout) return {Halt::gives_way, felt};
    return {watch_.lost() > limits.contact_timeout ? Halt::contact_lost : Halt::no, felt};
  }

  HybridLaw law_;
  Approach approach_;
  ContactWatch watch_;
  GivingWay giving_;
  ReleasableForce release_;
  TaskFramePath frame_;
  Task carried_{};      // rates at which the task frame takes the tool along
  double waits_ = 0.0;  // s, for which the frame has waited for it
  Vector posture_{};
  double offset_ = 0.0;        // N, that the sensor reads without contact
  double pressed_ = INFINITY;  // s since the first contact
  Softening softening_;
  // s since any contact, and since it leant on something else
  double since_contact_ = INFINITY, leant_ = INFINITY;
  bool is_approaching_ = false, is_again_ = false;
  bool is_tared_ = false;  // the wrench in free motion is known
  bool has_output_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__PRESSING_HPP_
