// SPDX-License-Identifier: Apache-2.0
// The law of the controller that presses, without ROS: it holds, finds a surface, presses on it with a force and moves
// along it. `step` allocates nothing, locks nothing and throws nothing; what it computes of the robot, and the law of
// force and motion, are exported kernels.
#ifndef ROBOT_PACKAGE__HYBRID_FORCE_LAW_HPP_
#define ROBOT_PACKAGE__HYBRID_FORCE_LAW_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/effort_rates.hpp"
#include "robot_package/hybrid_settings.hpp"
#include "robot_package/linear_system.hpp"
#include "robot_package/loads.hpp"
#include "robot_package/recent_velocities.hpp"

namespace robot_package
{

// What one step of the law found. tau: within effort limits; wanted: without. theta, rate: of the tool beside the task
// frame. h, drift: distance from the surface, m, and its rate. force: that is commanded along the normal, N. integral,
// task_integral: of the errors. braking: how much joints are kept from going faster, 0 to 1. outside, driven: what
// accelerates joints beside the efforts and what is measured, and by these.
struct HybridOutput
{
  Vector tau, wanted;
  Task theta, rate;
  double h, drift, force, integral;
  Task task_integral;
  Vector lacking;
  double rank, braking;
  Vector outside, driven;
};

// What is wanted in one step. approach: m/s along the normal that its damping aims at. measured: N; not a number: the
// force's integral stays as it is.
struct HybridInputs
{
  Task theta, rate, acceleration;
  double force, approach, measured;
  Vector posture;
};

// tau = M J (a_d - kd e' - kp (e + task_ki int e)) + what moves along with it + N - A^T (force - ki int(measured - force)),
// with the rows of the task frame's directions in J and of the surface's normal in A.
class HybridLaw
{
public:
  HybridSettings settings;

  // Integrals are zero; velocities and what is outside are not known.
  void reset()
  {
    output_ = {};
    recent_.forget();
  }

  // After a gap what was before says nothing of now.
  void forget_motion()
  {
    recent_.forget();
    output_.outside = output_.driven = {};
  }

  // Let the integral of the force's error begin with what it adds already, N, and that of the task's likewise.
  void preset_force(double force) { output_.integral = settings.gains.ki > 0.0 ? -force / settings.gains.ki : 0.0; }
  void preset_acceleration(const Task & acceleration)
  {
    for (std::size_t k = 0; k < task_size; ++k) {
      const double slope = settings.gains.kp[k] * settings.gains.task_ki;
      output_.task_integral[k] = slope > 0.0 ? -acceleration[k] / slope : 0.0;
    }
  }
  double force_integral() const { return -settings.gains.ki * output_.integral; }

  // dt: s since the last step.
  Status step(const Vector & q, const Vector & v, const HybridInputs & in, double dt, const Inertia & inertia)
  {
    const Vector before = recent_.before(v, dt);
    const double span = recent_.span();
    recent_.add(v, dt);
    const auto gains = settings.gains.numbers(dt);
    const auto parameters = settings.place.parameters();
    const double measured = std::isfinite(in.measured) ? in.measured : in.force;
    Vector limits{};
    for (std::size_t i = 0; i < nv; ++i) limits[i] = std::min(settings.effort_limits[i], strongest);
    const HybridOutput & last = output_;
    HybridOutput & now = work_;
    const auto status = static_cast<Status>(robot_package_hybrid_control_THE_TIP(
      q.data(), v.data(), in.theta.data(), in.rate.data(), in.acceleration.data(), &in.force, &in.approach, &measured,
      &last.integral, last.task_integral.data(), in.posture.data(), before.data(), &span, last.outside.data(),
      last.driven.data(), gains.data(), limits.data(), settings.speeds.data(), settings.lower.data(),
      settings.upper.data(), settings.margins.data(), parameters.data(), inertia.data(), now.tau.data(),
      now.wanted.data(), now.theta.data(), now.rate.data(), &now.h, &now.drift, &now.force, &now.integral,
      now.task_integral.data(), now.lacking.data(), &now.rank, &now.braking, now.outside.data(), now.driven.data()));
    if (status == Status::ok) output_ = work_;
    return status;
  }

  const HybridOutput & output() const { return output_; }

private:
  HybridOutput output_{}, work_{};
  RecentVelocities recent_;
};

// How the tool stands to its task frame, with the rows of the rates: the normal first, then the task's.
struct PressedRows
{
  double h;
  Task theta;
  std::array<Vector, 1 + task_size> A;

  bool of(const Vector & q, const Vector & v, const PressingPlace & place)
  {
    const auto parameters = place.parameters();
    std::array<double, 1 + task_size> values{}, bias{};
    std::array<double, (1 + task_size) * nv> matrix{};
    const int status = robot_package_pressed_rows_THE_TIP(
      q.data(), v.data(), parameters.data(), values.data(), matrix.data(), bias.data());
    if (status != ROBOT_PACKAGE_OK) return false;
    h = values[0];
    std::copy(values.begin() + 1, values.end(), theta.begin());
    for (std::size_t row = 0; row <= task_size; ++row) std::copy_n(&matrix[row * nv], nv, A[row].begin());
    return true;
  }

  double rate(std::size_t row, const Vector & v) const
  {
    double sum = 0.0;
    for (std::size_t i = 0; i < nv; ++i) sum += A[row][i] * v[i];
    return sum;
  }

  // Whether all singular values of the rows are above a bound, rad or m a rad or m. turn: m, that a turn by 1 rad
  // counts as.
  bool are_beyond(double least, double turn) const
  {
    auto gram = gram_of(turn);
    for (std::size_t a = 0; a < size; ++a) gram[a * size + a] -= least * least;
    CholeskyOf<size> factor;
    return size <= nv && factor.of(gram);
  }

  // The largest share of task rates, up to 1, at which joints take so much of their limits; 0 in a singular posture.
  double pace_within(const Task & rate, double share, const Vector & limits) const
  {
    CholeskyOf<size> factor;
    if (!factor.of(gram_of(1.0))) return 0.0;
    std::array<double, size> weights{};
    std::copy(rate.begin(), rate.end(), weights.begin() + 1);
    factor.solve(weights);
    double pace = 1.0;
    for (std::size_t i = 0; i < nv; ++i) {
      double needed = 0.0;
      for (std::size_t a = 0; a < size; ++a) needed += A[a][i] * weights[a];
      if (std::abs(needed) > share * limits[i]) pace = std::min(pace, share * limits[i] / std::abs(needed));
    }
    return pace;
  }

private:
  static constexpr std::size_t size = 1 + task_size;

  std::array<double, size * size> gram_of(double turn) const
  {
    std::array<double, size * size> gram{};
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = 0; b < size; ++b) {
        const double weight = scale(a, turn) * scale(b, turn);
        for (std::size_t i = 0; i < nv; ++i) gram[a * size + b] += weight * A[a][i] * A[b][i];
      }
    }
    return gram;
  }

  static double scale(std::size_t row, double turn) { return row > 0 && task_direction[row - 1] < 3 ? turn : 1.0; }
};

// What a wrench presses with along the normal, N, and what it has besides: N, N m about the tool's point, W on what is
// touched, and efforts of that.
struct Felt
{
  double normal = 0.0, force = 0.0, moment = 0.0, power = 0.0;
  Vector efforts{};
};

// wrench: (moment, force) on the robot, in the tip's frame. free: what is read where nothing is touched. False where a
// number is not finite.
inline bool felt_of(
  const Vector & q, const Vector & v, const Six & wrench, const Six & free, const PressingPlace & place, Felt & out)
{
  const auto parameters = place.parameters();
  std::array<double, 3> beside{};
  const int status = robot_package_multiplier_sensor_THE_TIP(
    q.data(), v.data(), wrench.data(), free.data(), parameters.data(), &out.normal, beside.data(), out.efforts.data());
  out.force = beside[0];
  out.moment = beside[1];
  out.power = beside[2];
  return status == ROBOT_PACKAGE_OK;
}

// The tool presses on a plane with the wanted force and moves along it, and the robot is held where that is not wanted,
// or not possible any more.
class HybridForceLaw
{
public:
  enum class Mode
  {
    hold,
    approach,
    press
  };
  // Why a motion along the surface has ended.
  enum class Stopped
  {
    no,
    joint_at_limit,
    singular,
    slow,
    off_path
  };

  void configure(const HybridSettings & settings)
  {
    law_.settings = settings;
    motion_.limit(settings.turning, settings.moving);
  }

  // From here on the robot is held at q, and the first efforts are what holds it there, at once.
  void start(const Vector & q)
  {
    law_.reset();
    rates_.start();
    place_to_hold_ = q;
    mode_ = Mode::hold;
    halt_ = Halt::no;
    figure_ = desired_ = force_ = offset_ = fading_ = 0.0;
    unchanged_ = 0.0;
    since_stop_ = INFINITY;
    stopped_ = Stopped::no;
    is_first_ = true;
    is_ready_ = true;
    is_tared_ = has_output_ = is_again_ = false;
    is_touching_ = true;
    free_ = last_reading_ = {};
    free_count_ = 0.0;
    sense_ = ContactSense();
    watch_.begin(0.0);
  }

  void carry(const Inertia & inertia, double transition) { load_.begin(inertia, transition); }

  // --- wishes: false where they are refused, and nothing changes then
  // N, from 0 to largest_force. The first above 0 begins to press; 0 lets go, and has to come before another one where
  // control has ended by itself.
  bool press(double force)
  {
    if (!(force >= 0.0 && force <= law_.settings.limits.largest_force)) return false;
    desired_ = force;
    if (force == 0.0) is_ready_ = true;
    return true;
  }
  // A place of the tool, in the root frame, of which the directions along the surface count.
  bool go_to(const Placed & goal)
  {
    Six theta{};
    if (mode_ == Mode::hold || !beside_task(goal, theta)) return false;
    for (const std::size_t direction : task_direction) {
      if (!(std::abs(theta[direction]) <= law_.settings.limits.reach)) return false;
    }
    motion_.go_to(theta);
    stopped_ = Stopped::no;
    return true;
  }
  // Rates of the tool beside the task frame, in its axes, for so many s.
  bool drive(const Six & rates, double seconds)
  {
    if (mode_ == Mode::hold || !is_finite(rates)) return false;
    motion_.drive(rates, seconds);
    stopped_ = Stopped::no;
    return true;
  }
  // Stand still along the surface.
  void stay()
  {
    if (mode_ != Mode::hold) motion_.hold_at(motion_.theta());
  }

  // Efforts for this state and what the sensor reads (moment, force) in its own frame; anything but ok where a number of
  // the state is not finite: then they stay as they are.
  Status step(const Vector & q, const Vector & v, const Six & reading, double period)
  {
    if (!is_finite(q) || !is_finite(v)) return Status::bad_input;
    load_.pass(period);
    const PressingLimits & limits = law_.settings.limits;
    const double elapsed = is_first_ ? 0.0 : std::max(period, 0.0);
    const double dt = std::min(elapsed, longest_pressing_step);
    has_rows_ = rows_.of(q, v, law_.settings.place);
    since_stop_ += elapsed;
    feel(q, v, reading, elapsed);
    if (mode_ != Mode::hold) {
      if (limits.state_timeout > 0.0 && elapsed > limits.state_timeout) {
        halt(Halt::states_silent, elapsed);
      } else if (!has_rows_) {
        halt(Halt::turned, half_turn);
      } else if (sensed_ != Halt::no) {
        halt(sensed_, unchanged_);
      } else {
        halt_if_beside();
      }
    }
    if (sensed_ == Halt::no && felt_.force < limits.contact_force) fading_ = 0.0;
    if (elapsed > longest_pressing_step) law_.forget_motion();
    if (mode_ == Mode::hold && desired_ > 0.0 && is_ready_) begin(q, v);
    if (mode_ != Mode::hold && desired_ == 0.0) halt(Halt::by_request, 0.0);
    bool presses = false;
    if (mode_ != Mode::hold) {
      double figure = 0.0;
      const Halt problem = press(q, v, dt, figure);
      presses = problem == Halt::no;
      if (!presses) halt(problem, figure);
    }
    if (presses) {
      tau_ = law_.output().tau;
    } else {
      held(dt);
      const Status status = hold(q, v, elapsed, tau_);
      if (status != Status::ok) return status;
    }
    if (law_.settings.carries_own_weight) {
      Vector weight{};
      if (robot_package_gravity(q.data(), load_.inertia().data(), weight.data()) != ROBOT_PACKAGE_OK)
        return Status::bad_result;
      for (std::size_t i = 0; i < nv; ++i) tau_[i] -= weight[i];
    }
    rates_.follow(tau_, lets_go() ? law_.settings.urgent_rates : law_.settings.effort_rates, elapsed, true);
    is_first_ = false;
    return Status::ok;
  }

  const Vector & efforts() const { return rates_.efforts(); }
  // before rates
  const Vector & wanted() const { return tau_; }
  Mode mode() const { return mode_; }
  // Why it holds; no: it was not asked for anything else, or it presses. With the figure, or the joint, that is said.
  Halt reason() const { return halt_; }
  double figure() const { return figure_; }
  Stopped stopped() const { return stopped_; }
  std::size_t stopped_by() const { return stopped_by_; }
  // N: what is felt along the normal, without the sensor's zero; what is wanted of it now; m, from the surface.
  double felt() const { return sensed_ == Halt::no ? felt_.normal - offset_ : nothing; }
  double force() const { return force_; }
  double distance() const { return rows_.h; }
  // what of the force may push, by the tool's speed
  double share() const { return speed_.share(); }
  const PressedRows & rows() const { return rows_; }
  Task wanted_theta() const { return motion_.theta(); }
  const HybridOutput & output() const { return law_.output(); }
  const Inertia & inertia() const { return load_.inertia(); }

private:
  // --- what is felt

  void feel(const Vector & q, const Vector & v, const Six & reading, double elapsed)
  {
    const HybridSettings & settings = law_.settings;
    const PressingLimits & limits = settings.limits;
    if (!is_finite(reading)) {
      sensed_ = Halt::sensor_not_finite;
      return;
    }
    unchanged_ = !is_first_ && reading == last_reading_ ? unchanged_ + elapsed : 0.0;
    last_reading_ = reading;
    sensed_ = limits.sensor_timeout > 0.0 && unchanged_ > limits.sensor_timeout ? Halt::sensor_silent : Halt::no;
    if (sensed_ != Halt::no) return;
    const Six wrench = at_tip(reading);
    if (mode_ == Mode::approach && !is_again_) {
      free_count_ += 1.0;
      const double share = std::max(1.0 / free_count_, std::min(1.0, elapsed / zero_smoothing));
      for (std::size_t k = 0; k < 6; ++k) free_[k] += share * (wrench[k] - free_[k]);
    }
    if (!felt_of(q, v, wrench, free_, settings.place, felt_)) {
      sensed_ = Halt::sensor_not_finite;
      return;
    }
    const double zero = mode_ == Mode::approach ? approach_.zero() : offset_;
    sense_.update(
      felt_.normal - zero, std::min(elapsed, longest_pressing_step), limits.contact_debounce,
      mode_ == Mode::approach && !is_again_);
    is_touching_ = sense_.touches(felt_.normal - zero, limits.contact_force);
  }

  // A wrench on the robot, in the frame of the tip.
  Six at_tip(const Six & reading) const
  {
    const Placed & sensor = law_.settings.place.sensor;
    const double sign = law_.settings.wrench_of_robot ? -1.0 : 1.0;
    const Rotation R = sensor.R();
    const Three p = sensor.p(), f = turned(R, {reading[3], reading[4], reading[5]});
    Three m = turned(R, {reading[0], reading[1], reading[2]});
    m[0] += p[1] * f[2] - p[2] * f[1];
    m[1] += p[2] * f[0] - p[0] * f[2];
    m[2] += p[0] * f[1] - p[1] * f[0];
    return {sign * m[0], sign * m[1], sign * m[2], sign * f[0], sign * f[1], sign * f[2]};
  }

  // N, that tell contact from none
  double least() const { return std::max(law_.settings.limits.contact_force, sense_.least()); }

  void halt_if_beside()
  {
    const PressingLimits & limits = law_.settings.limits;
    if (felt_.force > limits.largest_side_force) {
      halt(Halt::side_force, felt_.force);
    } else if (felt_.moment > limits.largest_moment) {
      halt(Halt::moment, felt_.moment);
    } else if (felt_.power > limits.largest_power) {
      halt(Halt::power, felt_.power);
    }
  }

  // --- begin and end

  void begin(const Vector & q, const Vector & v)
  {
    const PressingLimits & limits = law_.settings.limits;
    Halt problem = sensed_;
    double figure = unchanged_;
    if (problem == Halt::no && !has_rows_) {
      problem = Halt::turned;
      figure = half_turn;
    }
    if (problem == Halt::no) problem = misplaced(true, figure);
    if (problem == Halt::no && !rows_.are_beyond(nearly_singular, 1.0)) problem = Halt::singular;
    Approach::Beginning from{};
    Task acceleration{};
    if (problem == Halt::no && !against_the_model(q, v, from, acceleration)) problem = Halt::singular;
    is_ready_ = false;
    halt_ = problem;
    figure_ = figure;
    if (problem != Halt::no) return;
    law_.reset();
    law_.preset_acceleration(acceleration);
    motion_.hold_at(rows_.theta);
    stopped_ = Stopped::no;
    stalled_ = 0.0;
    is_near_singular_ = !rows_.are_beyond(least_singular_value, singular_turn);
    posture_ = q;
    from.push += force_;  // what holding still presses with goes on
    from.h = rows_.h;
    from.measured = felt_.normal;
    from.damping = law_.settings.gains.normal_damping;
    approach_.begin(from, limits);
    sense_.begin();
    force_ = 0.0;
    free_ = {};
    free_count_ = 0.0;
    watch_.begin(rows_.h);
    speed_.forget();
    giving_ = GivingWay();
    lacking_ = pulls_ = wish_ = steady_ = 0.0;
    pressed_ = INFINITY;
    is_again_ = has_output_ = false;
    mode_ = Mode::approach;
  }

  // What holding does against errors of the model, in the terms of approaching: push and task acceleration that make
  // the same acceleration of all rows.
  bool against_the_model(const Vector & q, const Vector & v, Approach::Beginning & from, Task & acceleration) const
  {
    const PressingLimits & limits = law_.settings.limits;
    std::array<double, nv * nv> M{};
    if (robot_package_mass_matrix(q.data(), load_.inertia().data(), M.data()) != ROBOT_PACKAGE_OK) return false;
    Cholesky factor;
    if (!factor.of(M)) return false;
    const Vector a = pull(q, v, M);
    Vector moved = rows_.A[0];
    factor.solve(moved);
    from.inertia = 1.0 / std::max(rows_.rate(0, moved), 1e-6);
    from.push = std::clamp(-from.inertia * rows_.rate(0, a), -limits.approach_force, limits.approach_force);
    for (std::size_t k = 0; k < task_size; ++k) {
      acceleration[k] = rows_.rate(k + 1, a) + from.push * rows_.rate(k + 1, moved);
    }
    for (std::size_t i = 0; i < nv; ++i) {  // a blow makes no joint faster than its limit
      const double jolt = std::abs(moved[i]) * from.inertia;
      from.fastest = std::min(from.fastest, blow_share * law_.settings.speeds[i] / std::max(2.0 * jolt, 1e-9));
    }
    return std::isfinite(from.inertia) && is_finite(acceleration);
  }

  // Hold from here on. What still presses fades away, unless nothing pushes back.
  void halt(Halt why, double figure)
  {
    if (has_output_) {
      force_ = law_.output().force;  // with what the integral added
      last_tau_ = law_.output().tau;
    }
    const bool leans = has_output_ && sensed_ == Halt::no && felt_.force > law_.settings.limits.contact_force;
    if (watch_.without() > sudden) force_ = 0.0;
    watch_.begin(watch_.touched());
    mode_ = Mode::hold;
    halt_ = why;
    figure_ = figure;
    since_stop_ = 0.0;
    is_held_anew_ = true;
    leans_ = leans;
    fading_ = 0.0;
    has_output_ = is_again_ = false;
    is_ready_ = why == Halt::by_request;
  }

  // --- holding

  // What fades away in hold ends at once where nothing pushes back. A silent sensor tells nothing of that.
  void held(double dt)
  {
    const PressingLimits & limits = law_.settings.limits;
    if (sensed_ != Halt::no || force_ == 0.0) return;
    watch_.update(is_touching_, watch_.touched(), dt);
    if (watch_.without() > std::max(limits.contact_debounce, sudden)) force_ = 0.0;
  }

  // Acceleration towards where it is held, within what joints and efforts can do, and against motion.
  Vector pull(const Vector & q, const Vector & v, const std::array<double, nv * nv> & M) const
  {
    const PressingLimits & limits = law_.settings.limits;
    Vector a{};
    double share = 1.0;
    for (std::size_t i = 0; i < nv; ++i) a[i] = limits.hold_stiffness * (place_to_hold_[i] - q[i]);
    for (std::size_t i = 0; i < nv && limits.hold_damping > 0.0; ++i) {
      double effort = 0.0;
      for (std::size_t k = 0; k < nv; ++k) effort += M[i * nv + k] * a[k];
      const double fast = limits.hold_damping * drawn_share * law_.settings.speeds[i];
      const double hard = gathered / limits.hold_damping * law_.settings.effort_rates[i];
      share = std::min({share, fast / std::max(std::abs(a[i]), 1e-12), hard / std::max(std::abs(effort), 1e-12)});
    }
    for (std::size_t i = 0; i < nv; ++i) a[i] = share * a[i] - limits.hold_damping * v[i];
    return a;
  }

  Status hold(const Vector & q, const Vector & v, double elapsed, Vector & tau)
  {
    const PressingLimits & limits = law_.settings.limits;
    if (is_held_anew_ || limits.hold_stiffness == 0.0) place_to_hold_ = q;
    for (std::size_t i = 0; i < nv; ++i) {
      if (limits.hold_tolerance > 0.0 && std::abs(q[i] - place_to_hold_[i]) > limits.hold_tolerance) {
        place_to_hold_ = q;
        if (halt_ == Halt::no || halt_ == Halt::by_request) {
          halt_ = Halt::moved_while_held;
          figure_ = static_cast<double>(i);
        }
        break;
      }
    }
    Vector weight{};
    Status status = held_efforts(q, v, tau, weight);
    if (status != Status::ok) return status;
    const double change = limits.force_rate * elapsed;
    force_ -= std::clamp(force_, -change, change);
    if (!has_rows_) force_ = 0.0;
    for (std::size_t i = 0; i < nv; ++i) tau[i] -= force_ * rows_.A[0][i];
    if (is_held_anew_) {
      is_held_anew_ = false;
      for (std::size_t i = 0; i < nv; ++i) {  // no more of what is felt counts than pushed against it
        const double own = last_tau_[i] - tau[i];
        leaning_[i] = std::clamp(-felt_.efforts[i], std::min(own, 0.0), std::max(own, 0.0));
      }
      fading_ = leans_ ? 1.0 : 0.0;
    }
    fading_ = std::max(0.0, fading_ - elapsed / let_go_time);
    for (std::size_t i = 0; i < nv; ++i) tau[i] += fading_ * leaning_[i];
    // where each were cut alone, a wrist without what it needs against the shoulder's motion would be thrown
    double share = 1.0;
    for (std::size_t i = 0; i < nv; ++i) {
      const double most = law_.settings.effort_limits[i], more = tau[i] - weight[i];
      if (std::abs(tau[i]) <= most) continue;
      const double room = std::max(more > 0.0 ? most - weight[i] : most + weight[i], 0.0);
      share = std::min(share, room / std::max(std::abs(more), 1e-12));
    }
    for (std::size_t i = 0; i < nv; ++i) {
      const double most = law_.settings.effort_limits[i];
      tau[i] = std::clamp(weight[i] + share * (tau[i] - weight[i]), -most, most);
    }
    return Status::ok;
  }

  // What the robot needs to be held, without friction, and its weight.
  Status held_efforts(const Vector & q, const Vector & v, Vector & tau, Vector & weight) const
  {
    const Inertia & inertia = load_.inertia();
    std::array<double, nv * nv> M{};
    if (robot_package_mass_matrix(q.data(), inertia.data(), M.data()) != ROBOT_PACKAGE_OK) return Status::bad_result;
    if (robot_package_gravity(q.data(), inertia.data(), weight.data()) != ROBOT_PACKAGE_OK) return Status::bad_result;
    const Vector a = pull(q, v, M);
    std::array<double, 6 * nv> motion{};  // about the measured state, where feedback is zero
    for (std::size_t i = 0; i < nv; ++i) {
      motion[i] = q[i];
      motion[nv + i] = v[i];
      motion[2 * nv + i] = 0.5 * a[i];
    }
    const std::array<double, 7> weights{1, 1, 1, 1, 0, 0, 0};
    const std::array<double, 2 * nv> gains{};
    const Vector none{}, limits = filled(strongest);
    Vector within{};
    constexpr double now = 0.0;
    return static_cast<Status>(robot_package_feedforward(
      q.data(), v.data(), motion.data(), &now, weights.data(), gains.data(), none.data(), limits.data(),
      inertia.data(), within.data(), tau.data()));
  }

  // --- pressing

  Halt press(const Vector & q, const Vector & v, double dt, double & figure)
  {
    const PressingLimits & limits = law_.settings.limits;
    const double drift = rows_.rate(0, v);
    look(v, drift, dt);
    const double felt = felt_.normal - offset_;
    if (mode_ == Mode::press) {
      const double change = limits.force_rate * dt;
      force_ += std::clamp(desired_ - force_, -change, change);
      pressed_ += dt;
    }
    move_on(q, dt);
    steady_ += dt;
    if (desired_ != wish_) {
      wish_ = desired_;
      steady_ = 0.0;
    }
    HybridInputs in{motion_.theta(), motion_.rate(), motion_.acceleration(), 0.0, 0.0, felt, posture_};
    if (mode_ == Mode::approach) {
      speed_.restart(is_again_ ? 0.0 : 1.0);
      in.force = approach_.push();
      in.approach = speed_.aim(drift, approach_.velocity());
      in.measured = nothing;
    } else {
      in.force = pushed(felt, dt, in.measured);
      in.approach = speed_.share() < 1.0 ? speed_.aim(drift, 0.0) : 0.0;
    }
    if (law_.step(q, v, in, dt, load_.inertia()) != Status::ok) return Halt::singular;
    has_output_ = true;
    const Halt problem = judged(felt, figure);
    if (problem != Halt::no || mode_ == Mode::press) return problem;
    return approach_.step(rows_.h, drift, dt, limits, figure);
  }

  // The force along the normal: the wanted one, less where the tool runs away; nothing that is pressed is pulled at.
  double pushed(double felt, double dt, double & measured)
  {
    const double integral = law_.force_integral(), share = speed_.share();
    if (share < 1.0) {
      measured = nothing;
      return share * (force_ + integral) + (1.0 - share) * lacking_ - integral;
    }
    const double most_pull = lacking_ - pull_most - 2.0 * std::abs(lacking_) - integral;
    if (!(force_ < most_pull && felt_.force < least() && steady_ > force_steady)) {
      pulls_ = 0.0;
      return force_;
    }
    pulls_ += dt;
    if (!(felt < most_pull)) measured = nothing;
    return most_pull;
  }

  // Whether it touches, touches no more, or yet.
  void look(const Vector & v, double drift, double dt)
  {
    if (!has_output_) return;
    const PressingLimits & limits = law_.settings.limits;
    if (mode_ == Mode::approach && approach_.touches(rows_.h, felt_.normal, dt, limits, sense_)) begin_to_press();
    if (mode_ == Mode::press) {
      watch_.update(is_touching_ || !is_touch_wanted(), rows_.h, dt);
      speed_.update(drift, dt, limits.normal_speed, law_.settings.gains.reaction_time);
      giving_.update(speed_.slow(), sense_.smooth(), force_, least(), dt);
      approach_again(v);
    } else if (is_again_) {
      watch_.update(false, rows_.h, dt, felt_.force > 2.0 * least());
    }
  }

  bool is_touch_wanted() const { return force_ >= 2.0 * least(); }

  // Contact: what the sensor read before is its zero, and what the model lacked stays compensated.
  void begin_to_press()
  {
    const PressingLimits & limits = law_.settings.limits;
    const bool is_free = approach_.is_free();
    if (is_free) offset_ = approach_.offset();
    is_tared_ = is_free || (is_again_ && is_tared_);
    if (!is_tared_) free_ = {};
    const double felt = felt_.normal - offset_;
    // a blow is no wish: what came in free motion begins with the force that counts as contact; where it was lost
    // before, with as much as tells at once whether it is lost again
    double most = desired_;
    if (is_free || is_again_) {
      if (!is_again_) lacking_ = approach_.free_push();
      most = std::min(most, is_again_ ? 2.0 * least() : limits.contact_force);
    }
    force_ = std::clamp(felt, 0.0, most);
    law_.preset_force(approach_.push() - (is_free || is_again_ ? 0.0 : force_));
    pressed_ = is_again_ ? INFINITY : 0.0;
    is_again_ = false;
    mode_ = Mode::press;
    watch_.begin(rows_.h);
  }

  // Back to a contact that was lost a moment ago, slowly, if it was.
  void approach_again(const Vector & v)
  {
    const PressingLimits & limits = law_.settings.limits;
    const bool is_sudden = speed_.share() < 0.5;
    const double patient = is_sudden ? std::max(limits.contact_debounce, sudden) : patience * limits.contact_timeout;
    if (watch_.without() < patient) return;
    Approach::Beginning from{};
    Task unused{};
    if (!against_the_model(place_now_, v, from, unused)) return;
    from.push = lacking_;
    from.h = rows_.h;
    from.measured = felt_.normal;
    from.damping = law_.settings.gains.normal_damping;
    const double slow = limits.normal_speed > 0.0 ? limits.normal_speed : limits.approach_speed;
    from.fastest = std::min(from.fastest, 0.5 * std::min(limits.approach_speed, slow));
    from.ramp = 0.0;
    from.zero_is_known = true;
    from.zero = offset_;
    approach_.begin(from, limits);
    if (is_sudden) {  // what friction had held back does not fling the tool ahead
      motion_.hold_at(rows_.theta);
      law_.preset_acceleration({});
    }
    law_.preset_force(0.0);  // what the integral made up for, as of friction, is gone with the contact
    force_ = 0.0;
    is_again_ = true;
    mode_ = Mode::approach;
  }

  // The wanted motion goes on as far as the arm follows it.
  void move_on(const Vector & q, double dt)
  {
    place_now_ = q;
    const bool is_near = !rows_.are_beyond(least_singular_value, singular_turn);
    if (is_near && !is_near_singular_ && motion_.moves()) stop_motion(Stopped::singular);
    is_near_singular_ = is_near;
    const Task wanted = motion_.theta();
    double turn = 0.0, way = 0.0;
    for (std::size_t k = 0; k < task_size; ++k) {
      const double off = wanted[k] - rows_.theta[k];
      (task_direction[k] < 3 ? turn : way) += off * off;
      if (motion_.moves() && std::abs(off) > law_.settings.path_tolerance) return stop_motion(Stopped::off_path);
    }
    const double behind = std::hypot(turn_length * std::sqrt(turn), std::sqrt(way));
    const double fast = rows_.pace_within(motion_.speed(), speed_share, law_.settings.speeds);
    const double near = std::clamp(1.0 - behind / behind_most, 0.0, 1.0);
    pace_ = motion_.moves() ? std::min({near, fast, pace_ + dt / full_speed_time}) : 1.0;
    stalled_ = motion_.moves() && near < stalled_pace ? stalled_ + dt : 0.0;
    if (stalled_ > stall_time) {
      const auto is_inside = [&](std::size_t k) {
        return room_lower[k] + room_near < q[k] && q[k] < room_upper[k] - room_near;
      };
      std::size_t i = 0;
      while (i < nv && is_inside(i)) ++i;
      return stop_motion(i < nv ? Stopped::joint_at_limit : Stopped::slow, i);
    }
    motion_.pass(dt, pace_);
  }

  void stop_motion(Stopped why, std::size_t joint = nv)
  {
    motion_.hold_at(rows_.theta);
    stopped_ = why;
    stopped_by_ = joint;
    stalled_ = 0.0;
  }

  // Why it may not go on.
  Halt judged(double felt, double & figure)
  {
    const PressingLimits & limits = law_.settings.limits;
    const bool is_first = mode_ == Mode::approach && !is_again_;
    if (std::abs(felt) > limits.largest_force) {
      figure = felt;
      return is_first || pressed_ < impact_time ? Halt::impact : Halt::force;
    }
    if (const Halt problem = misplaced(is_first, figure); problem != Halt::no) return problem;
    if (law_.output().rank < static_cast<double>(1 + task_size)) return Halt::singular;
    if (is_first) return Halt::no;
    if (is_again_) {
      figure = felt_.force;
      return watch_.not_found(approach_.is_unfelt(limits), felt_.force, least(), limits.contact_timeout);
    }
    figure = felt;
    if (!is_touch_wanted()) return Halt::no;
    if (pulls_ > limits.contact_timeout) return Halt::pulls;
    if (giving_.time() > limits.contact_timeout) return Halt::gives_way;
    return watch_.lost() > limits.contact_timeout ? Halt::contact_lost : Halt::no;
  }

  // Whether tool and surface are where they may not be.
  Halt misplaced(bool approaches, double & figure) const
  {
    const PressingLimits & limits = law_.settings.limits;
    figure = rows_.h;
    if (approaches && rows_.h < -limits.constraint_tolerance) return Halt::beyond;
    if (!approaches && std::abs(rows_.h) > limits.press_tolerance) return Halt::off_surface;
    double turn = 0.0;
    for (std::size_t k = 0; k < task_size; ++k) {
      figure = rows_.theta[k];
      if (std::abs(rows_.theta[k]) > limits.reach) return Halt::out_of_reach;
      if (task_direction[k] < 3) turn += rows_.theta[k] * rows_.theta[k];
    }
    figure = std::sqrt(turn);
    return figure > half_turn + half_turn_slack ? Halt::turned : Halt::no;
  }

  // Coordinates of a place of the tool beside the task frame. False where they are not finite.
  bool beside_task(const Placed & goal, Six & theta) const
  {
    const Placed & task = law_.settings.place.task;
    const Rotation base = task.R();
    if (robot_package_chart_coordinates(base.data(), goal.data(), theta.data()) != ROBOT_PACKAGE_OK) return false;
    const Three own = task.p(), way = turned(
      transposed(base), {goal[9] - own[0], goal[10] - own[1], goal[11] - own[2]});
    std::copy(way.begin(), way.end(), theta.begin() + 3);
    return is_finite(theta);
  }

  // Efforts have to change at once: contact is lost, a joint nears its limit of velocity, or it has just stopped.
  bool lets_go() const
  {
    if (mode_ == Mode::hold) return since_stop_ < stopping_time;
    return is_again_ || speed_.share() < 1.0 || law_.output().braking > 0.0;
  }

  HybridLaw law_;
  TaskMotion motion_;
  PressedRows rows_{};
  LoadChange load_;
  EffortRates rates_;
  Approach approach_;
  ContactSense sense_;
  ContactWatch watch_;
  NormalSpeed speed_;
  GivingWay giving_;
  Felt felt_;
  Mode mode_ = Mode::hold;
  Halt halt_ = Halt::no, sensed_ = Halt::no;  // sensed: what is wrong with the reading
  double figure_ = 0.0;
  Stopped stopped_ = Stopped::no;
  std::size_t stopped_by_ = nv;
  double desired_ = 0.0, force_ = 0.0, offset_ = 0.0;  // N
  double lacking_ = 0.0;                               // N, that free motion needed beside the model
  double pulls_ = 0.0, wish_ = 0.0, steady_ = 0.0;     // s; N; s
  double pressed_ = INFINITY, stalled_ = 0.0, since_stop_ = INFINITY, unchanged_ = 0.0;  // s
  Six free_{}, last_reading_{};
  double free_count_ = 0.0;
  Vector place_to_hold_{}, posture_{}, tau_{}, last_tau_{}, leaning_{}, place_now_{};
  double fading_ = 0.0, pace_ = 1.0;
  bool has_rows_ = false;  // none where the tool is turned by just half a turn: no angle is unique there
  bool is_first_ = true, is_ready_ = true, is_tared_ = false, has_output_ = false, is_again_ = false;
  bool is_touching_ = true, is_held_anew_ = false, leans_ = false, is_near_singular_ = false;
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID_FORCE_LAW_HPP_
