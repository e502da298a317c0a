# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a recording need until they mean what the model means: units, scales, offsets, delays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.joint_numbers import by_joint, entries, is_finite

Array = NDArray[np.float64]

DELAYED = ("velocity", "effort")  # against the positions
LONGEST_DELAY = 1.0  # s
FIELDS = 3  # positions, velocities, efforts
_DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class Corrections:
    """Corrections of the numbers (N, 3, joints) of a recording: scales, delays (3, joints), offsets, zeros (joints,).

    A signal that is late by a delay says at time t + delay what was at time t. Offsets, N m or N, are what is left
    to subtract from an effort once it is scaled; zeros, rad or m, are added to a position then.
    """

    scale: Array
    offsets: Array
    delay: Array
    zeros: Array

    def __call__(self, numbers: Array) -> Array:
        """Scaled, less the offsets, with zeros; the same array where there is nothing to do."""
        if (self.scale == 1.0).all() and not (self.offsets.any() or self.zeros.any()):
            return numbers
        found: Array = numbers * self.scale
        found[:, 2] -= self.offsets
        found[:, 0] += self.zeros
        return found

    @property
    def longest(self) -> float:
        """Longest of the delays, by size."""
        return float(np.abs(self.delay).max(initial=0.0))


def corrections(
    joints: Sequence[str],
    angular: Sequence[bool],
    *,
    angles: str | None,
    effort_scale: float | Mapping[str, float],
    effort_offsets: Mapping[str, float],
    delay: Mapping[str, float | Mapping[str, float]],
    position_scale: Mapping[str, float],
    joint_offsets: Mapping[str, float],
) -> Corrections:
    """Corrections for these joints, which turn where `angular`; the others as in `Settings`. Raises ValueError."""
    scale, late = np.ones((FIELDS, len(joints))), np.zeros((FIELDS, len(joints)))
    if angles == "degrees":
        scale[:2, np.flatnonzero(angular)] = _DEGREE
    scale[:2] *= by_joint("position_scale", position_scale, joints, 1.0)
    scale[2] = by_joint("effort_scale", effort_scale, joints, 1.0)
    for row, name in enumerate(DELAYED, start=1):
        late[row] = by_joint(f"delay: {name}", delay.get(name, 0.0), joints, 0.0)
    offsets = by_joint("effort_offsets", effort_offsets, joints, 0.0)
    return Corrections(scale, offsets, late, by_joint("joint_offsets", joint_offsets, joints, 0.0))


def check_delays(value: Any) -> None:
    """Raises ValueError where it is not {"effort" or "velocity": seconds, or {joint: seconds}}."""
    if not isinstance(value, Mapping):
        raise ValueError(f"delay must be {{effort or velocity: seconds}}, got {excerpt(value)}")
    for signal, delays in value.items():
        if signal not in DELAYED:
            raise ValueError(f"delay: unknown signal {excerpt(signal)}; known: {', '.join(DELAYED)}")
        for name, number in entries(f"delay: {signal}", delays):
            if not is_finite(number) or abs(number) > LONGEST_DELAY:
                raise ValueError(
                    f"delay: {signal}{name} must be seconds, at most {LONGEST_DELAY:g}, got {excerpt(number)}"
                )
