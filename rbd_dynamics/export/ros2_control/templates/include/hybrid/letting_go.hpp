// SPDX-License-Identifier: Apache-2.0
// The force that can be let go in time where contact is lost, so that the tool does not go far.
//
// Efforts fall no faster than their rates allow, and actuators follow late; meanwhile a force F
// moves a mass m by F / m. How far that leads is reckoned joint by joint, with what the law
// answers, until the tool stands: some 3000 steps, of which a cycle makes a few. What friction
// holds is free at once, too: a wrist that weighs little is fast before any effort answers.
#ifndef ROBOT_PACKAGE__HYBRID__LETTING_GO_HPP_
#define ROBOT_PACKAGE__HYBRID__LETTING_GO_HPP_

#include <algorithm>
#include <array>
#include <cmath>

#include "robot_package/common/linear_system.hpp"
#include "robot_package/hybrid/hybrid_settings.hpp"
#include "robot_package/hybrid/pressed_rows.hpp"

namespace robot_package
{

using JointMatrix = std::array<double, nv * nv>;

// How an arm answers efforts, and its law a motion. row: of the surface. inverse: of the mass
// matrix. damping, stiffness: efforts against joint velocities and against joint positions: along
// the normal motion is braked, and the task is held in place.
struct ArmAnswer
{
  Vector row{};
  JointMatrix inverse{}, damping{}, stiffness{};

  bool of(const JointMatrix & M, const PressedRows & rows, const HybridGains & gains)
  {
    constexpr std::size_t size = 1 + task_size;
    Cholesky factor;
    if (!factor.of(M)) return false;
    row = rows.A[0];
    for (std::size_t j = 0; j < nv; ++j)
    {
      Vector column{};
      column[j] = 1.0;
      factor.solve(column);
      for (std::size_t i = 0; i < nv; ++i) inverse[i * nv + j] = column[i];
    }
    std::array<Vector, size> response{};  // M^-1 A^T
    for (std::size_t a = 0; a < size; ++a) response[a] = product(inverse, rows.A[a]);
    std::array<double, size * size> mobility{};
    double trace = 0.0;
    for (std::size_t a = 0; a < size; ++a)
    {
      for (std::size_t b = 0; b < size; ++b) mobility[a * size + b] = rows.rate(a, response[b]);
      trace += mobility[a * size + a];
    }
    for (std::size_t a = 0; a < size; ++a) mobility[a * size + a] += release_singular * trace;
    CholeskyOf<size> rows_factor;
    if (!rows_factor.of(mobility)) return false;
    JointMatrix damped{}, sprung{};  // accelerations against velocities and positions
    for (std::size_t i = 0; i < nv; ++i)
    {
      std::array<double, size> onto{};  // of joint i; A onto is one
      for (std::size_t a = 0; a < size; ++a) onto[a] = response[a][i];
      rows_factor.solve(onto);
      for (std::size_t j = 0; j < nv; ++j)
      {
        double brake = normal_braking * gains.normal_damping * onto[0] * rows.A[0][j], spring = 0.0;
        double free = (i == j ? 1.0 : 0.0) - onto[0] * rows.A[0][j];
        for (std::size_t k = 0; k < task_size; ++k)
        {
          const double along = onto[k + 1] * rows.A[k + 1][j];
          brake += gains.kd[k] * along;
          spring += gains.kp[k] * along;
          free -= along;
        }
        damped[i * nv + j] = brake + gains.posture_kd * free;
        sprung[i * nv + j] = spring + gains.posture_kp * free;
      }
    }
    damping = product(M, damped);
    stiffness = product(M, sprung);
    return true;
  }

private:
  static Vector product(const JointMatrix & A, const Vector & x)
  {
    Vector made{};
    for (std::size_t i = 0; i < nv; ++i)
    {
      for (std::size_t j = 0; j < nv; ++j) made[i] += A[i * nv + j] * x[j];
    }
    return made;
  }
  static JointMatrix product(const JointMatrix & A, const JointMatrix & B)
  {
    JointMatrix made{};
    for (std::size_t i = 0; i < nv; ++i)
    {
      for (std::size_t k = 0; k < nv; ++k)
      {
        for (std::size_t j = 0; j < nv; ++j) made[i * nv + j] += A[i * nv + k] * B[k * nv + j];
      }
    }
    return made;
  }
};

// The motion of a tool that has pushed when its contact is lost, step by step.
class ReleasedMotion
{
public:
  // efforts: that pushed.
  void begin(const Vector & efforts)
  {
    wanted_ = felt_ = efforts;
    v_ = x_ = {};
    way_ = 0.0;
    count_ = 0;
  }

  // m, that it has gone
  double way() const { return way_; }

  // One step more; true where it stands, or has gone farther than `most` (m). rates: of efforts.
  // lag: share of it that an actuator makes up for in a step. unseen: steps from when contact is
  // lost to when the push falls.
  bool step(
    const ArmAnswer & answer, const Vector & rates, double lag, std::size_t unseen, double most)
  {
    if (count_ >= unseen)
    {
      for (std::size_t i = 0; i < nv; ++i)
      {
        double change = -wanted_[i];
        for (std::size_t j = 0; j < nv; ++j)
          change =
            change - answer.damping[nv * i + j] * v_[j] - answer.stiffness[nv * i + j] * x_[j];
        wanted_[i] += std::clamp(change, -release_step * rates[i], release_step * rates[i]);
      }
    }
    for (std::size_t i = 0; i < nv; ++i) felt_[i] += lag * (wanted_[i] - felt_[i]);
    double speed = 0.0;
    for (std::size_t i = 0; i < nv; ++i)
    {
      double acceleration = 0.0;
      for (std::size_t j = 0; j < nv; ++j) acceleration += answer.inverse[nv * i + j] * felt_[j];
      v_[i] += release_step * acceleration;
      x_[i] += release_step * v_[i];
      speed += answer.row[i] * v_[i];
    }
    if (speed <= 0.0 && count_ > unseen) return true;
    way_ += release_step * speed;
    ++count_;
    return count_ >= release_longest + unseen - release_unseen ||
           (count_ > unseen + 1 && way_ > most);
  }

private:
  Vector wanted_{}, felt_{}, v_{}, x_{};
  double way_ = 0.0;
  std::size_t count_ = 0;
};

// The largest force that can be let go within a way, by halving; for efforts that push along the
// normal, and for those that friction holds besides. Some steps a call.
class LettingGo
{
public:
  // steps of one search
  static constexpr std::size_t most_steps = 2 * (1 + release_halvings) * release_longest;

  // held: efforts of what friction holds, for each N. most: N. way: m. Both searches begin with
  // `most`.
  void begin(
    const ArmAnswer & answer, const Vector & held, double most, double way,
    const HybridSettings & settings)
  {
    answer_ = answer;
    held_ = held;
    most_ = found_ = most;
    way_ = way;
    for (std::size_t i = 0; i < nv; ++i) rates_[i] = std::min(settings.urgent_rates[i], 1e12);
    lag_ =
      settings.actuator_lag > 0.0 ? 1.0 - std::exp(-release_step / settings.actuator_lag) : 1.0;
    unseen_ = settings.unseen_steps;
    is_aside_ = false;
    has_held_ = std::any_of(held.begin(), held.end(), [](double effort) { return effort != 0.0; });
    begin_search();
    is_at_work_ = true;
  }

  bool is_at_work() const { return is_at_work_; }
  // N, of the last search that has ended
  double largest() const { return found_; }

  // True where these steps end the search.
  bool advance(std::size_t steps)
  {
    for (; is_at_work_ && steps > 0; --steps)
    {
      if (motion_.step(answer_, rates_, lag_, unseen_, way_)) end_trial();
    }
    return !is_at_work_;
  }

private:
  void begin_search()
  {
    low_ = 0.0;
    high_ = most_;
    halvings_ = 0;
    try_force(most_);
  }

  void try_force(double force)
  {
    force_ = force;
    Vector efforts{};
    for (std::size_t i = 0; i < nv; ++i)
      efforts[i] = force * (answer_.row[i] + (is_aside_ ? held_[i] : 0.0));
    motion_.begin(efforts);
  }

  void end_trial()
  {
    const bool is_in_time = motion_.way() <= way_;
    if (is_in_time)
      low_ = force_;
    else
      high_ = force_;
    if ((halvings_ > 0 || !is_in_time) && halvings_ < release_halvings)
    {
      ++halvings_;
      try_force(0.5 * (low_ + high_));
      return;
    }
    found_ = std::min(found_, low_);
    is_at_work_ = has_held_ && !is_aside_;
    if (!is_at_work_) return;
    is_aside_ = true;
    begin_search();
  }

  ArmAnswer answer_;
  ReleasedMotion motion_;
  Vector held_{}, rates_{};
  double most_ = 0.0, way_ = 0.0, lag_ = 1.0, found_ = 0.0, low_ = 0.0, high_ = 0.0, force_ = 0.0;
  std::size_t unseen_ = release_unseen, halvings_ = 0;
  bool is_at_work_ = false, is_aside_ = false, has_held_ = false;
};

// The force with which no joint is thrown where friction lets go, as it holds more the harder the
// tool presses.
class HeldByFriction
{
public:
  void begin() { each_ = 0.0; }

  // N, for what is felt now. efforts: on the joints, of what is felt beside a force, N. speeds:
  // limits. late: s, from what happens to the efforts that answer it.
  double largest(
    const JointMatrix & M, const Vector & efforts, double force, const Vector & speeds, double late)
  {
    Cholesky factor;
    if (!factor.of(M)) return INFINITY;
    Vector thrown = efforts;
    factor.solve(thrown);
    double most = 0.0;
    for (std::size_t i = 0; i < nv; ++i)
      most = std::max(most, late * std::abs(thrown[i]) / (thrown_share * speeds[i]));
    each_ = std::max(friction_kept * each_, most / force);
    return each_ > 0.0 ? 1.0 / each_ : INFINITY;
  }

private:
  double each_ = 0.0;  // 1/N: share of what joints may come to
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__HYBRID__LETTING_GO_HPP_
