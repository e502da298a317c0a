# SPDX-License-Identifier: Apache-2.0
"""One run of the motion: what was recorded of it and how well the robot followed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.demo.motion import ARM, Motion
from rbd_dynamics.demo.panda import RATE
from rbd_dynamics.demo.recording import JointSeries, missing

Array = NDArray[np.float64]
LEAST_TRAVEL = 0.7  # of what was wanted, of each joint: PD alone lags behind, and follows


@dataclass(frozen=True)
class Run:
    """One run over the time of the motion; arrays (N, joints) at the stamps of the joint states."""

    name: str
    times: Array  # (N,) s from the start of the motion
    desired: Array
    measured: Array
    applied: Array  # efforts that acted on the robot
    answered: float  # share of the joint states that an effort answered

    @property
    def error(self) -> Array:
        return self.desired - self.measured

    @property
    def rms(self) -> Array:
        """(joints,) root mean square of the tracking error, rad."""
        return np.sqrt(np.mean(self.error**2, axis=0))

    @property
    def largest(self) -> Array:
        """(joints,) rad."""
        return np.max(np.abs(self.error), axis=0)


def run_of(name: str, motion: Motion, start: int, states: JointSeries, efforts: JointSeries) -> Run:
    """Cut the time of the motion out of a recording. Raises ValueError where much of it is missing."""
    times = 1e-9 * (states.stamps - start).astype(float)
    during = (times >= 0.0) & (times <= motion.duration)
    times = times[during]
    gaps = np.diff(times, prepend=0.0, append=motion.duration)
    if len(times) < 10 or gaps.max() > 0.25:
        raise ValueError(f"{name}: the recording has a gap of {gaps.max():.2f} s; is this machine very busy?")
    desired, measured = motion.sample(times)[0], states.position[during]
    if lost := missing(times, RATE):
        raise ValueError(f"{name}: {lost} joint states are missing in the recording; is this machine very busy?")
    if (np.ptp(measured, axis=0) < LEAST_TRAVEL * np.ptp(desired, axis=0)).any():
        raise ValueError(f"{name}: the robot did not follow the motion; feedforward.log may say why")
    answered = float(np.isin(states.stamps[during], efforts.stamps).mean())
    return Run(name, times, desired, measured, states.effort[during], answered)


def summary(runs: list[Run]) -> dict[str, dict[str, dict[str, float] | float]]:
    """RMS and largest error of each run and joint in mrad, as it goes to summary.json."""
    return {
        run.name: {
            "rms_mrad": {name: round(1e3 * float(x), 3) for name, x in zip(ARM, run.rms)},
            "max_mrad": {name: round(1e3 * float(x), 3) for name, x in zip(ARM, run.largest)},
            "rms_all_joints_mrad": round(1e3 * float(np.sqrt(np.mean(run.error**2))), 3),
            "answered": round(run.answered, 4),
        }
        for run in runs
    }
