# SPDX-License-Identifier: Apache-2.0
"""Trajectories that planners send: checked against limits at all times, and retimed to the fastest motion. No ROS.

- `Path`: a smooth curve through points; `Path.smoothed` for points with noise;
- `Limits`: of positions, velocities, accelerations, efforts, power, rates of efforts and speeds of tools;
- `check`: which limit a trajectory passes, where and by how much, and what is left everywhere;
- `retime`: the fastest timing of a path within limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.trajectories.checking import Margin, Report, check
    from rbd_dynamics.trajectories.group import continuous_joints
    from rbd_dynamics.trajectories.limits import Limits
    from rbd_dynamics.trajectories.path import Path
    from rbd_dynamics.trajectories.retiming import Retimed, retime
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["Limits", "Margin", "Path", "Report", "Retimed", "check", "continuous_joints", "retime"]
