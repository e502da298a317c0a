# SPDX-License-Identifier: Apache-2.0
"""What a robot's dynamics and kinematics say of the robot, in four modules, each imported when it is first used.

- `operational_space`: inertia, mass and mobility of a frame (theory.md section 7);
- `sensitivity`: what torques and accelerations owe to each parameter;
- `base_parameters`: which inertial parameters motion can reveal;
- `workspace`: where a frame can get to, and in how many orientations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.analysis import base_parameters, operational_space, sensitivity, workspace
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["base_parameters", "operational_space", "sensitivity", "workspace"]
