# SPDX-License-Identifier: Apache-2.0
"""The same kernels in C, for real-time loops and small processors.

- `export_c` writes a robot's `KERNELS` as a package in C99, with a thin header for C++, a self-test with reference
  vectors, and object files for other processors: `TARGETS`.
- `export_ros2_control` writes a package for ros2_control around them: a chainable controller, and the robot by its own
  dynamics as hardware.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.export.package import export_c
    from rbd_dynamics.export.ros2_control.package import export_ros2_control
    from rbd_dynamics.export.selection import KERNELS
    from rbd_dynamics.export.targets import TARGETS
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["KERNELS", "TARGETS", "export_c", "export_ros2_control"]
