# SPDX-License-Identifier: Apache-2.0
"""How a motion is sought, and how it will be recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.joint_numbers import by_joint
from rbd_dynamics.replay.excitation.information import Criterion
from rbd_dynamics.replay.excitation.limits import ExcitationLimits

Array = NDArray[np.float64]

CRITERIA: tuple[Criterion, ...] = ("gain", "condition")
NOISE = 0.01  # of the effort limit: noise of one sample, where none is given


@dataclass(frozen=True)
class Options:
    """How a motion is sought, and how it will be recorded. Raises ValueError.

    Parameters:
        criterion: "gain", D-optimality (see `information`); or "condition", the condition number of the regressor.
        friction: offset, Coulomb and viscous friction of each joint are to be found, too.
        noise: standard deviation of one effort sample, N m or N, for all joints or by name; default: 1 % of the effort
            limit, so that a joint without one needs a number.
        rate: of the recording, Hz. periods: how often the motion is played in a row (Fourier series only).
        starts: random motions from which the search starts; the best result counts. seed: of these.
        lead: s, in which the robot goes to where the motion begins.
    """

    _: KW_ONLY
    criterion: Criterion = "gain"
    friction: bool = True
    noise: float | Mapping[str, float] | None = None
    rate: float = 100.0
    periods: int = 1
    starts: int = 3
    seed: int = 0
    lead: float = 3.0

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion is {self.criterion!r}, expected one of {', '.join(CRITERIA)}")
        for name in ("rate", "lead"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        for name in ("periods", "starts"):
            value = getattr(self, name)
            if not (isinstance(value, int) and 1 <= value <= 1000):
                raise ValueError(f"{name} must be from 1 to 1000, got {value!r}")

    def noise_of(self, limits: ExcitationLimits) -> Array:
        """Noise of the efforts by joint (nv,). Raises ValueError that names a joint without any."""
        found = NOISE * limits.effort
        if isinstance(self.noise, Mapping):
            own = by_joint("noise", self.noise, limits.joints, math.nan)
            found = np.where(np.isnan(own), found, own)
        elif self.noise is not None:
            found = np.full(len(limits.joints), float(self.noise))
        for name, number in zip(limits.joints, found):
            if not (math.isfinite(number) and number > 0.0):
                raise ValueError(f"noise of joint {name!r} must be a positive number, got {number:g}: give one")
        return found
