// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__EFFORT_CONTROLLER_HPP_
#define ROBOT_PACKAGE__COMMON__EFFORT_CONTROLLER_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "controller_interface/version.h"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "rbd_dynamics_interfaces/srv/set_payload.hpp"
#include "rclcpp_lifecycle/lifecycle_publisher.hpp"
#include "robot_package/common/joint_vector.hpp"
#include "robot_package/common/loads.hpp"
#include "robot_package/common/mailbox.hpp"

// Handles that are shared came with 4.44 of Jazzy, 5.13 of Kilted and 6.5.
#if CONTROLLER_INTERFACE_VERSION_GTE(6, 5, 0) ||                                             \
  (CONTROLLER_INTERFACE_VERSION_MAJOR == 5 && CONTROLLER_INTERFACE_VERSION_GTE(5, 13, 0)) || \
  (CONTROLLER_INTERFACE_VERSION_MAJOR == 4 && CONTROLLER_INTERFACE_VERSION_GTE(4, 44, 0))
#define ROBOT_PACKAGE_HAS_REFERENCE_LIST
#endif

namespace robot_package
{

// What the controllers of this package have in common: they command the effort of all joints from
// positions and velocities, carry a payload that ~/set_payload changes, and tell on /diagnostics
// what they do. The law is the derived class's.
class EffortController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_cleanup(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(
    const rclcpp_lifecycle::State & previous) override;

protected:
  using DiagnosticArray = diagnostic_msgs::msg::DiagnosticArray;
  using SetPayload = rbd_dynamics_interfaces::srv::SetPayload;

  // What parameters say of the load.
  struct Payload
  {
    std::string frame;
    Load load;
    double transition_time = 0.0;  // s
  };
  // A reference interface: of a joint, or of nothing; its name.
  using ReferenceName = std::pair<std::string, std::string>;
  // What one cycle did, for diagnostics. state, joint, numbers: as the derived class understands
  // them.
  struct Condition
  {
    Vector efforts, wanted;
    double longest;  // s, of a cycle since the activation
    int state, joint;
    std::array<double, 6> numbers;
  };
  struct Told
  {
    bool warns = false;
    std::string message;
    std::vector<std::pair<const char *, std::string>> values;
  };

  // --- the law: what is wrong is returned, empty where nothing is
  // Take the parameters.
  virtual std::string configure() = 0;
  // of a load, with the gains as they are configured
  virtual std::string problem_with(const Inertia & inertia) const = 0;
  virtual Payload payload() const = 0;
  virtual std::vector<ReferenceName> reference_names() const = 0;
  virtual void subscribe() = 0;
  virtual void unsubscribe() = 0;

  // State interfaces beside those of the joints, where a controller has a sensor; found once they
  // are there, and released. False: they are not.
  virtual std::vector<std::string> sensor_interfaces() const { return {}; }
  virtual bool connect_sensor() { return true; }
  virtual void release_sensor() {}

  // --- the law at work: nothing is allocated, nothing locked
  // From here on the robot is held where it is; what came before is of another time. False where
  // that cannot be.
  virtual bool start() = 0;
  virtual void carry(const Inertia & inertia, double transition) = 0;
  // No reference is known any more: a controller in front came or went.
  virtual void forget() = 0;
  // What a controller in front wrote, in the order of `reference_names`; not a number where it
  // wrote nothing.
  virtual void follow(const std::vector<double> & references) = 0;
  // Efforts for q and v; false where there are none.
  virtual bool compute(double period) = 0;
  virtual const Vector & efforts() const = 0;
  virtual void describe(Condition & condition) const = 0;

  virtual Told tell_of(const Condition & condition) const = 0;

#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
    override;
#else
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override;
#endif
  bool on_set_chained_mode(bool chained_mode) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

  double period_of_cycles() const;  // s
  // With the load that is carried, or will be; of the callbacks' thread.
  const Inertia & inertia() const { return loads_.inertia(); }

  Vector q_{}, v_{};

private:
  struct NewLoad
  {
    Inertia inertia;
    double transition;
  };

  bool read_state();
  void read_references();
  void forget_references();
  void change_payload(const SetPayload::Request & request, SetPayload::Response & response);
  void tell();

  Payload payload_;
  Loads loads_;  // of the callbacks' thread
  double longest_ = 0.0;
  std::atomic<bool> is_active_{false};
  std::vector<double> read_references_;
#ifdef ROBOT_PACKAGE_HAS_REFERENCE_LIST
  std::vector<hardware_interface::CommandInterface::SharedPtr> references_;
#endif

  Mailbox<NewLoad> new_loads_;
  Mailbox<Condition> conditions_;
  rclcpp::Service<SetPayload>::SharedPtr service_;
  rclcpp_lifecycle::LifecyclePublisher<DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::TimerBase::SharedPtr timer_;
};

// --- what parameters of several controllers are
// -----------------------------------------------------------------------

bool has(const std::vector<std::string> & names, const char * name);

// One number a joint out of none, then the default, or as many. False for any other count, and for
// one below zero.
bool by_joint(const std::vector<double> & given, const Vector & otherwise, Vector & out);

// Limits of efforts and of their change: by default the description's, and such that an effort goes
// from nothing to its limit in 0.1 s, no faster than 1000 N m/s. Returns what is wrong.
std::string effort_bounds(
  const std::vector<double> & given_limits, const std::vector<double> & given_rates,
  Vector & limits, Vector & rates);

// 0 or 1 for inertia, Coriolis, gravity, springs, friction
template <std::size_t N>
void weigh(const std::vector<std::string> & terms, std::array<double, N> & weights)
{
  const char * const names[] = {"inertia", "coriolis", "gravity", "spring", "friction"};
  for (std::size_t k = 0; k < 5; ++k) weights[k] = has(terms, names[k]) ? 1.0 : 0.0;
}

template <class Parameters>
Load load_of(const Parameters & given)
{
  Load load{given.payload.mass, {}, {}};
  std::copy_n(given.payload.com.begin(), 3, load.com.begin());
  std::copy_n(given.payload.inertia.begin(), 6, load.rotational.begin());
  return load;
}

constexpr double usual_rate = 1000.0;  // N m/s, N/s

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__EFFORT_CONTROLLER_HPP_
