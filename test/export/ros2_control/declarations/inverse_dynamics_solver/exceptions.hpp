// SPDX-License-Identifier: Apache-2.0
// The names of exceptions in inverse_dynamics_solver 2.0 (1.x has them in exceptions.h).
#pragma once

#include <rclcpp/exceptions/exceptions.hpp>

namespace inverse_dynamics_solver
{

using InvalidParameterValueException = rclcpp::exceptions::InvalidParameterValueException;

class UninitializedException : public std::runtime_error
{
public:
  UninitializedException() : std::runtime_error("not initialized") {}
};

}  // namespace inverse_dynamics_solver
