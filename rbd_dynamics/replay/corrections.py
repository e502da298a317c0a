# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a recording need until they mean what the model means: units, scales, offsets, delays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.by_name import unknown
from rbd_dynamics.model.excerpt import excerpt, shortened
from rbd_dynamics.model.safe_yaml import SMALL, read_file

Array = NDArray[np.float64]

DELAYED = ("velocity", "effort")  # against the positions
OFFSETS = ("effort_offsets", "offsets")  # under which a file has them, if not at its top
LONGEST_DELAY = 1.0  # s
FIELDS = 3  # positions, velocities, efforts
_DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class Corrections:
    """Of the numbers (N, 3, joints) of a recording: scales and delays (3, joints), and offsets (joints,).

    A signal that is late by a delay says at time t + delay what was at time t. Offsets, N m or N, are what is left
    to subtract from an effort once it is scaled.
    """

    scale: Array
    offsets: Array
    delay: Array

    def __call__(self, numbers: Array) -> Array:
        """Scaled, less the offsets; the same array where there is nothing to do."""
        if (self.scale == 1.0).all() and not self.offsets.any():
            return numbers
        found: Array = numbers * self.scale
        found[:, 2] -= self.offsets
        return found

    @property
    def longest(self) -> float:
        """Of the delays, by size."""
        return float(np.abs(self.delay).max(initial=0.0))


def corrections(
    joints: Sequence[str],
    angular: Sequence[bool],
    *,
    angles: str,
    effort_scale: float | Mapping[str, float],
    effort_offsets: Mapping[str, float],
    delay: Mapping[str, float | Mapping[str, float]],
) -> Corrections:
    """For these joints, which turn where `angular`; the others as in `Settings`. Raises ValueError."""
    scale, late = np.ones((FIELDS, len(joints))), np.zeros((FIELDS, len(joints)))
    if angles == "degrees":
        scale[:2, np.flatnonzero(angular)] = _DEGREE
    scale[2] = by_joint("effort_scale", effort_scale, joints, 1.0)
    for row, name in enumerate(DELAYED, start=1):
        late[row] = by_joint(f"delay: {name}", delay.get(name, 0.0), joints, 0.0)
    return Corrections(scale, by_joint("effort_offsets", effort_offsets, joints, 0.0), late)


def by_joint(what: str, value: float | Mapping[str, float], joints: Sequence[str], default: float) -> Array:
    """One number for all, or that of each joint that is named, else the default. Raises ValueError."""
    if not isinstance(value, Mapping):
        return np.full(len(joints), float(value))
    for name in value:
        if name not in joints:
            raise ValueError(f"{what}: {unknown('joint', name, list(joints))}")
    return np.array([float(value.get(name, default)) for name in joints])


def check_scale(what: str, value: Any) -> None:
    """Raises ValueError where it is no scale, nor {joint: scale}: finite and not zero; negative turns the sign."""
    for name, number in _each(what, value):
        if not _finite(number) or number == 0.0:
            raise ValueError(f"{what}{name} must be a finite number other than zero, got {excerpt(number)}")


def check_offsets(what: str, value: Any) -> None:
    """Raises ValueError where it is not {joint: number}."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be {{joint: N m or N}}, got {excerpt(value)}")
    for name, number in _each(what, value):
        if not _finite(number):
            raise ValueError(f"{what}{name} must be a finite number, got {excerpt(number)}")


def check_delays(value: Any) -> None:
    """Raises ValueError where it is not {"effort" or "velocity": seconds, or {joint: seconds}}."""
    if not isinstance(value, Mapping):
        raise ValueError(f"delay must be {{effort or velocity: seconds}}, got {excerpt(value)}")
    for signal, delays in value.items():
        if signal not in DELAYED:
            raise ValueError(f"delay: unknown signal {excerpt(signal)}; known: {', '.join(DELAYED)}")
        for name, number in _each(f"delay: {signal}", delays):
            if not _finite(number) or abs(number) > LONGEST_DELAY:
                raise ValueError(
                    f"delay: {signal}{name} must be seconds, at most {LONGEST_DELAY:g}, got {excerpt(number)}"
                )


def numbers_by_joint(path: str | os.PathLike[str], keys: Sequence[str]) -> dict[str, Any]:
    """{joint: number} of a YAML file, at its top or under one of `keys`. Raises ValueError that names the file."""
    where = f"file {shortened(os.fsdecode(path), 200)}"
    content = read_file(path, where, SMALL)
    if isinstance(content, dict):
        content = next((content[key] for key in keys if key in content), content)
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{where}: expected {{joint: number}}, at its top or under {' or '.join(keys)}")
    return {str(name): number for name, number in content.items()}


def _each(what: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"{what}: {excerpt(name)} is no joint's name")
        return [(f" of joint {excerpt(name)}", number) for name, number in value.items()]
    return [("", value)]


def _finite(value: Any) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False
