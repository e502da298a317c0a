// SPDX-License-Identifier: Apache-2.0
// What HybridForceController does in a cycle, without ROS: it holds the robot, lets the tool find a
// surface, press on it and move along it, and decides when that begins and ends. `step` allocates
// nothing, locks nothing and throws nothing.
#ifndef ROBOT_PACKAGE__HYBRID__HYBRID_FORCE_LAW_HPP_
#define ROBOT_PACKAGE__HYBRID__HYBRID_FORCE_LAW_HPP_

#include <algorithm>
#include <cmath>

#include "robot_package/common/effort_rates.hpp"
#include "robot_package/hybrid/hybrid_hold.hpp"
#include "robot_package/hybrid/hybrid_standing.hpp"
#include "robot_package/hybrid/pressing.hpp"

namespace robot_package
{

class HybridForceLaw
{
public:
  enum class Mode
  {
    hold,
    approach,
    press
  };
  using Stopped = SurfaceMotion::Stopped;

  void configure(const HybridSettings & settings) { pressing_.configure(settings); }
  // Other settings from the next step on, which fit what is wanted (`misfit_of`). While the tool is
  // not held its task frame goes to another place on a way of its own, and takes the tool along.
  void change(const HybridSettings & settings) { pressing_.change(settings, is_holding_); }

  // From here on the robot is held at q. The first efforts are what holds it there, at once.
  void start(const Vector & q)
  {
    pressing_.start();
    wrench_.start();
    hold_.start(q);
    rates_.start();
    ended_ = {};
    own_ = {};
    leans_ = false;
    since_end_ = INFINITY;
    is_holding_ = is_first_ = is_ready_ = true;
  }

  void carry(const Inertia & inertia, double transition) { load_.begin(inertia, transition); }

  // --- wishes: where they return false they are refused, and nothing changes
  // N, from 0 to largest_force. The first force above 0 begins to press; 0 lets go. Where control
  // has ended by itself, a 0 has to come before it begins again.
  bool press(double force)
  {
    if (!(force >= 0.0 && force <= limits().largest_force)) return false;
    pressing_.push.desire(force);
    if (force == 0.0) is_ready_ = true;
    return true;
  }
  // A place of the tool, in the root frame. Only its directions along the surface count.
  bool go_to(const Placed & goal)
  {
    Six theta{};
    if (is_holding_ || !beside_task(goal, theta)) return false;
    for (const std::size_t direction : task_direction)
    {
      if (!(std::abs(theta[direction]) <= limits().reach)) return false;
    }
    pressing_.motion.go_to(theta);
    return true;
  }
  // Rates of the tool beside the task frame, in its axes, for so many s.
  bool drive(const Six & rates, double seconds)
  {
    if (is_holding_ || !is_finite(rates)) return false;
    pressing_.motion.drive(rates, seconds);
    return true;
  }

  // Computes the efforts for this state and a reading (moment, force) of the sensor, in its own
  // frame. Where a number of the state is not finite, the answer is not ok and the efforts stay as
  // they are.
  Status step(const Vector & q, const Vector & v, const Six & reading, double period)
  {
    if (!is_finite(q) || !is_finite(v)) return Status::bad_input;
    load_.pass(period);
    const double elapsed = is_first_ ? 0.0 : std::max(period, 0.0);
    const double dt = std::min(elapsed, longest_pressing_step);
    since_end_ += elapsed;
    has_rows_ =
      rows_.of(q, v, settings().place) && pressing_.move_frame(q, v, dt, is_holding_, rows_);
    wrench_.update(
      q, v, reading, elapsed, settings(), pressing_.zero(), pressing_.approaches_first());
    if (!is_holding_) end_if(problem_before_step(elapsed));
    if (wrench_.works() && wrench_.felt().force < limits().contact_force) hold_.let_go();
    if (elapsed > longest_pressing_step) pressing_.forget_motion();
    if (is_holding_ && pressing_.push.desired() > 0.0 && is_ready_) begin(q, v);
    if (!is_holding_ && pressing_.push.desired() == 0.0) end(Halt::by_request, 0.0);
    if (!is_holding_)
      end_if(pressing_.step(q, v, rows_, wrench_, dt, rates_.behind(), load_.inertia()));
    if (is_holding_)
    {
      const Status status = hold(q, v, elapsed);
      if (status != Status::ok) return status;
    }
    else
    {
      tau_ = pressing_.output().tau;
    }
    if (settings().carries_own_weight)
    {
      Vector weight{};
      if (
        robot_package_gravity(q.data(), load_.inertia().data(), weight.data()) != ROBOT_PACKAGE_OK)
        return Status::bad_result;
      for (std::size_t i = 0; i < nv; ++i) tau_[i] -= weight[i];
      own_ = weight;
    }
    rates_.follow(
      tau_, is_in_haste() ? settings().urgent_rates : settings().effort_rates, elapsed, true);
    is_first_ = false;
    return Status::ok;
  }

  const Vector & efforts() const { return rates_.efforts(); }
  // The efforts before their rates are limited.
  const Vector & wanted() const { return tau_; }
  Mode mode() const
  {
    return is_holding_ ? Mode::hold : pressing_.approaches() ? Mode::approach : Mode::press;
  }
  // Why control has ended, with the figure or the joint that is told with it; no: it has not.
  Halt reason() const { return ended_.why; }
  double figure() const { return ended_.figure; }
  // Why a motion along the surface has ended, with the joint where one is at its limit.
  Stopped stopped() const { return pressing_.motion.stopped(); }
  std::size_t stopped_by() const { return pressing_.motion.stopped_by(); }
  // Along the normal: the force that is felt, without the sensor's zero, and the one that is
  // commanded, N; the distance from the surface, m.
  double felt() const
  {
    return wrench_.works() ? wrench_.felt().normal - pressing_.offset() : nothing;
  }
  double force() const { return pressing_.push.force(); }
  // N: what is desired, and the most that is pressed while the tool presses, as no more could be
  // let go in time.
  double desired() const { return pressing_.push.desired(); }
  double bound() const { return mode() == Mode::press ? pressing_.bound() : INFINITY; }
  double distance() const { return rows_.h; }
  // The share of its damping that is in use.
  double share() const { return is_holding_ ? hold_.share() : pressing_.share(); }
  const PressedRows & rows() const { return rows_; }
  const PressingPlace & place() const { return settings().place; }
  double twist_timeout() const { return settings().twist_timeout; }
  double period() const { return settings().period; }
  // What other settings have to fit.
  HybridStanding standing(const Vector & q) const
  {
    return {q,         settings().place,        mode() != Mode::hold, mode() == Mode::approach,
            desired(), pressing_.motion.theta()};
  }
  const Inertia & inertia() const { return load_.inertia(); }

private:
  const HybridSettings & settings() const { return pressing_.settings(); }
  const PressingLimits & limits() const { return settings().limits; }

  // Why the law may not make another step after this state and reading.
  Problem problem_before_step(double elapsed) const
  {
    if (limits().state_timeout > 0.0 && elapsed > limits().state_timeout)
      return {Halt::states_silent, elapsed};
    if (!has_rows_) return {Halt::turned, half_turn};
    if (!wrench_.works()) return {wrench_.problem(), wrench_.unchanged()};
    return problem_beside_normal(wrench_.felt(), limits());
  }

  // Begin to approach, or tell why not. A force of 0 has to come before the next try.
  void begin(const Vector & q, const Vector & v)
  {
    Approach::Beginning from{};
    Task acceleration{};
    is_ready_ = false;
    ended_ = problem_with_beginning();
    if (ended_.why != Halt::no) return;
    if (!hold_.against_the_model(q, v, rows_, settings(), load_.inertia(), from, acceleration))
    {
      ended_.why = Halt::singular;
      return;
    }
    pressing_.begin(q, rows_, wrench_, from, acceleration);
    is_holding_ = false;
  }

  Problem problem_with_beginning() const
  {
    if (!wrench_.works()) return {wrench_.problem(), wrench_.unchanged()};
    if (!has_rows_) return {Halt::turned, half_turn};
    Problem problem = problem_with_place(rows_, limits(), true);
    if (problem.why == Halt::no && !rows_.are_beyond(nearly_singular, 1.0))
      problem.why = Halt::singular;
    return problem;
  }

  void end_if(const Problem & problem)
  {
    if (problem.why != Halt::no) end(problem.why, problem.figure);
  }

  // Hold from here on. What still presses fades away, unless nothing pushes back.
  void end(Halt why, double figure)
  {
    leans_ =
      pressing_.has_output() && wrench_.works() && wrench_.felt().force > limits().contact_force;
    hold_.begin();
    pressing_.end();
    ended_ = {why, figure};
    since_end_ = 0.0;
    is_holding_ = true;
    is_ready_ = why == Halt::by_request;
  }

  Status hold(const Vector & q, const Vector & v, double elapsed)
  {
    Vector driven = rates_.efforts();
    for (std::size_t i = 0; i < nv; ++i) driven[i] += own_[i];
    hold_.commanded(driven);
    const std::size_t moved = hold_.stay(q, limits());
    if (moved < nv && (ended_.why == Halt::no || ended_.why == Halt::by_request))
      ended_ = {Halt::moved_while_held, static_cast<double>(moved)};
    if (!has_rows_) pressing_.push.let_go();
    HeldRobot robot{q, v, elapsed, wrench_.felt().efforts, wrench_.works() && has_rows_};
    for (std::size_t i = 0; i < nv; ++i) robot.touched[i] += felt() * rows_.A[0][i];
    if (leans_)
    {
      leans_ = false;
      const Status status = hold_.fade(
        robot, times_force(rows_.A[0]), pressing_.output().tau, what_stays(), settings(),
        load_.inertia());
      if (status != Status::ok) return status;
    }
    pressing_.fade(wrench_, elapsed);
    return hold_.efforts(robot, times_force(rows_.A[0]), settings(), load_.inertia(), tau_);
  }

  // Efforts of what is felt beside the normal, as far as that is still there when a blow is over:
  // no more than all that is pressed may be friction, which is gone with what of it is not wanted.
  Vector what_stays() const
  {
    const double pressed = felt(), wanted = force();
    const bool stays = wrench_.felt().force > pressed || wanted > pressed;
    const double share = stays ? 1.0 : std::max(0.0, wanted) / pressed;
    Vector made = wrench_.felt().efforts;
    for (double & each : made) each *= share;
    return made;
  }

  Vector times_force(Vector row) const
  {
    for (double & each : row) each *= force();
    return row;
  }

  // Coordinates of a place of the tool beside the task frame. False where they are not finite.
  bool beside_task(const Placed & goal, Six & theta) const
  {
    const Placed & task = settings().place.task;
    const Rotation base = task.R();
    if (robot_package_chart_coordinates(base.data(), goal.data(), theta.data()) != ROBOT_PACKAGE_OK)
      return false;
    const Three own = task.p(),
                way = turned(
                  transposed(base), {goal[9] - own[0], goal[10] - own[1], goal[11] - own[2]});
    std::copy(way.begin(), way.end(), theta.begin() + 3);
    return is_finite(theta);
  }

  // Whether efforts have to change as fast as they can. The end of control is such a moment.
  bool is_in_haste() const
  {
    return is_holding_ ? since_end_ < stopping_time : pressing_.lets_go();
  }

  Pressing pressing_;
  FeltWrench wrench_;
  HybridHold hold_;
  LoadChange load_;
  EffortRates rates_;
  PressedRows rows_{};
  bool has_rows_ =
    false;  // none where the tool is turned by just half a turn: no angle is unique there
  Problem ended_;
  double since_end_ = INFINITY;  // s
  Vector tau_{};
  Vector own_{};  // efforts of the robot, which compensates its weight itself
  bool is_holding_ = true, is_first_ = true;
  bool leans_ = false;    // on something beside the normal, as holding begins
  bool is_ready_ = true;  // a force above 0 begins to press
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__HYBRID_FORCE_LAW_HPP_
