// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace rbd_dynamics_interfaces::srv
{

struct SetPayload
{
  struct Request
  {
    struct
    {
      struct
      {
        std::string frame_id;
      } header;
      struct
      {
        double m = 0.0;
        struct
        {
          double x = 0.0, y = 0.0, z = 0.0;
        } com;
        double ixx = 0.0, ixy = 0.0, ixz = 0.0, iyy = 0.0, iyz = 0.0, izz = 0.0;
      } inertia;
    } payload;
    double transition_time = 0.0;
  };
  struct Response
  {
    bool success = false;
    std::string message;
    double total_mass = 0.0;
  };
};

}  // namespace rbd_dynamics_interfaces::srv
