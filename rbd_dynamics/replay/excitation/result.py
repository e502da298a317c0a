# SPDX-License-Identifier: Apache-2.0
"""A motion that was found, and what it will tell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.whole_files import write_whole
from rbd_dynamics.control.motion.trajectory import Trajectory, Waypoints
from rbd_dynamics.replay.excitation.proof import Peaks
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.trajectories.trajectory_file import trajectory_yaml

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Excitation:
    """A motion within its limits, and what it tells.

    Attributes:
        waypoints: of all joints, the first after the `lead`; `trajectory` is what is played of them.
        gain: the mean of the logarithms by which errors of all parameters shrink, see `information`.
        condition: number of the regressor of the base parameters alone, in SI units, without weights: the published
            convention; condition_with_friction: with the columns of friction.
        expected: by parameter the value that the description has, and the interval of 95 % that is to be expected
            around it, with white noise of effort and nothing else; not identifiable where it is too wide to be of use.
        peaks: the extrema of the motion. tightest: which limit it comes nearest to, and the share of it.
    """

    waypoints: Waypoints
    gain: float
    condition: float
    condition_with_friction: float
    expected: tuple[Estimate, ...]
    peaks: Peaks
    tightest: tuple[float, str]
    noise: Array
    rate: float

    @property
    def trajectory(self) -> Trajectory:
        return Trajectory(self.waypoints)

    @property
    def samples(self) -> int:
        """That a recording of the motion has, without the lead."""
        times = self.waypoints.times
        return round((float(times[-1]) - float(times[0])) * self.rate)

    def to_yaml(self) -> str:
        """A trajectory_msgs/JointTrajectory."""
        share, which = self.tightest
        known = sum(estimate.identifiable for estimate in self.expected)
        comment = (
            f"Excitation of {len(self.waypoints.joint_names)} joints, {self.waypoints.times[-1]:.6g} s.\n"
            f"Condition number of the base parameters' regressor {self.condition:.4g}; {known} of {len(self.expected)} "
            f"parameters will be known; at most {100 * share:.0f} % of {which}."
        )
        return trajectory_yaml(self.waypoints, comment=comment)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_yaml`. Raises OSError."""
        write_whole(Path(path), self.to_yaml())
