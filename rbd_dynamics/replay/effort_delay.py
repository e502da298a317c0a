# SPDX-License-Identifier: Apache-2.0
"""Delay of efforts, found together with base parameters and friction.

Against a given model a delay shows once the model is right (`diagnosis`); while inertias and friction are unknown they
make up for most of it, viscous friction above all. Here they are fitted anew for every delay that is tried, and the
delay counts that leaves the least: sum over joints of n_j log(mean square_j), the likelihood of unequal noise.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.replay.identification import Estimate, InertiaIdentifier
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.reading import Recording
from rbd_dynamics.replay.replay import checked_segments
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
LONGEST = 0.1  # s, to both sides
FINE = 1e-4  # s
WIDTH = 2e-3  # s: of the difference that tells the curvature


def effort_delay(
    recording: Recording | str | os.PathLike[str], robot: Robot, *, settings: Settings | None = None
) -> Estimate:
    """Delay of the efforts of all joints alike, s, up to 0.1 s to both sides; positive where they are late.

    robot: without friction. The settings' own delay of efforts is replaced. The interval is widened by how far the
    joints disagree beyond their noise (Birge's ratio), which is what a model that is not right does; an error that they
    have in common is not in it: joints that turn round so slowly that they stick make the delay a few ms too short.
    Raises what `replay.compare` raises.
    """
    settings = settings or Settings()
    recording = settings.opened(recording)
    base = BaseErrors(robot)

    def costs(delay: float) -> Array:
        given = replace(settings, delay={**settings.delay, "effort": float(delay)})
        found = checked_segments(recording, robot, given)
        identifier = InertiaIdentifier(robot, low_pass=found.low_pass, terms=given.terms, base=base)
        for segment in found:
            identifier.add(segment)
        samples, squares = identifier.unexplained()
        # filtered samples are not independent: 2 cutoff of them are, each second
        independent = 2.0 * found.low_pass.cutoff / (found.low_pass.rate / identifier.step)
        seen = samples > 0
        logs = np.log(np.where(seen, np.maximum(squares, np.finfo(float).tiny), 1.0))
        return np.asarray(0.5 * independent * samples * logs, dtype=float)

    least = scipy.optimize.minimize_scalar(
        lambda delay: float(costs(delay).sum()), bounds=(-LONGEST, LONGEST), method="bounded", options={"xatol": FINE}
    )
    value = float(least.x)
    before, there, after = (costs(value + step) for step in (-WIDTH, 0.0, WIDTH))
    slopes, curvatures = (after - before) / (2.0 * WIDTH), (after - 2.0 * there + before) / WIDTH**2
    told = curvatures > 0.0  # of a joint that has a least somewhere
    curvature = float(curvatures.sum())
    if not (curvature > 0.0 and told.sum() > 1 and abs(value) < LONGEST - WIDTH):
        return Estimate.of("delay", value, 0.0, 0.0, "s", False)
    freedom = int(told.sum()) - 1
    birge = float(np.sum(slopes[told] ** 2 / curvatures[told])) / freedom
    error = np.sqrt(max(1.0, birge) / curvature)
    return Estimate.of("delay", value, error, float(scipy.stats.t.ppf(0.975, freedom)), "s", True)
