// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hardware_interface
{

enum class return_type : std::uint8_t
{
  OK = 0,
  ERROR = 1,
  DEACTIVATE = 2
};

}  // namespace hardware_interface
