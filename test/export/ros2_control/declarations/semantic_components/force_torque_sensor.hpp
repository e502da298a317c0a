// SPDX-License-Identifier: Apache-2.0
// Six state interfaces of a sensor, found by their names.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "hardware_interface/handle.hpp"

namespace semantic_components
{

class ForceTorqueSensor
{
public:
  explicit ForceTorqueSensor(const std::string & name)
  {
    for (const char * axis : {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"})
      names_.push_back(name + "/" + axis);
  }

  virtual ~ForceTorqueSensor() = default;
  virtual std::vector<std::string> get_state_interface_names() { return names_; }
  bool assign_loaned_state_interfaces(std::vector<hardware_interface::LoanedStateInterface> & interfaces)
  {
    for (const auto & name : names_) {
      for (auto & each : interfaces) {
        if (each.get_name() == name) found_.push_back(&each);
      }
    }
    return found_.size() == names_.size();
  }
  void release_interfaces() { found_.clear(); }
  std::array<double, 3> get_forces() const { return {value(0), value(1), value(2)}; }
  std::array<double, 3> get_torques() const { return {value(3), value(4), value(5)}; }

private:
  double value(std::size_t place) const
  {
#if HARDWARE_INTERFACE_VERSION_GTE(4, 27, 0)
    return found_.at(place)->get_optional().value_or(__builtin_nan(""));
#else
    return found_.at(place)->get_value();
#endif
  }

  std::vector<std::string> names_;
  std::vector<hardware_interface::LoanedStateInterface *> found_;
};

}  // namespace semantic_components
