// SPDX-License-Identifier: Apache-2.0
// Numbers that hardware and controllers share. One that is missing cannot be read just now.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hardware_interface/version.h"

namespace hardware_interface
{

struct InterfaceInfo
{
  std::string name, data_type, initial_value;
};

struct InterfaceDescription
{
  InterfaceDescription(const std::string & prefix, const InterfaceInfo & info) : name(prefix + "/" + info.name) {}
  std::string name;
};

class CommandInterface
{
public:
  using SharedPtr = std::shared_ptr<CommandInterface>;

  explicit CommandInterface(const InterfaceDescription & description) : name_(description.name) {}
  CommandInterface(const std::string & prefix, const std::string & name, double * value)
  : name_(prefix + "/" + name), place_(value)
  {
  }
  const std::string & get_name() const { return name_; }
  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional() const
  {
    return place_ ? *place_ : value_;
  }
  template <typename T>
  [[nodiscard]] bool set_value(const T & value)
  {
    (place_ ? *place_ : value_) = value;
    return true;
  }

private:
  std::string name_;
  double value_ = 0.0;
  double * place_ = nullptr;
};

class LoanedStateInterface
{
public:
  explicit LoanedStateInterface(const std::optional<double> * value, const std::string & name = "")
  : value_(value), name_(name)
  {
  }
  const std::string & get_name() const { return name_; }
#if HARDWARE_INTERFACE_VERSION_GTE(4, 27, 0)
  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned int = 10) const
  {
    return *value_;
  }
#else
  double get_value() const { return value_->value_or(__builtin_nan("")); }
#endif

private:
  const std::optional<double> * value_;
  std::string name_;
};

class LoanedCommandInterface
{
public:
  explicit LoanedCommandInterface(double * value) : value_(value) {}
  template <typename T>
  [[nodiscard]] bool set_value(const T & value, unsigned int = 10)
  {
    *value_ = value;
    return true;
  }

private:
  double * value_;
};

}  // namespace hardware_interface
