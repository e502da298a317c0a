# SPDX-License-Identifier: Apache-2.0
"""Motions that tell most of a robot's parameters, within its limits; and what they will tell.

    limits = excitation.ExcitationLimits.of(robot.model)
    found = excitation.design(robot, limits, excitation.Fourier(period=10.0, harmonics=5))
    found.save("excitation.yaml")                # a trajectory_msgs/JointTrajectory
    for estimate in found.expected:              # the intervals to be expected
        print(estimate)

Without ROS. What is found is played as any other trajectory, recorded, and given to `rbd_dynamics replay --inertias`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.replay.excitation.basis import Fourier, ViaPoints
    from rbd_dynamics.replay.excitation.best_motion import design, random_motion
    from rbd_dynamics.replay.excitation.limits import ExcitationLimits
    from rbd_dynamics.replay.excitation.obstacles import Box, Obstacles
    from rbd_dynamics.replay.excitation.options import Options
    from rbd_dynamics.replay.excitation.result import Excitation
    from rbd_dynamics.trajectories.trajectory_file import read_trajectory, trajectory_yaml
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "Box",
    "Excitation",
    "ExcitationLimits",
    "Fourier",
    "Obstacles",
    "Options",
    "ViaPoints",
    "design",
    "random_motion",
    "read_trajectory",
    "trajectory_yaml",
]
