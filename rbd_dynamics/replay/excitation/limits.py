# SPDX-License-Identifier: Apache-2.0
"""What a motion may take of the robot: shares of the description's limits, or numbers of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.joint_numbers import by_joint
from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.identification.samples import friction_of
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
TURN = math.pi  # rad: how far to both sides a joint without position limits turns
Given = float | Mapping[str, float] | None


@dataclass(frozen=True)
class ExcitationLimits:
    """Limits of all joints, in the model's order, each (nv,).

    Attributes:
        motion: positions, velocities and accelerations; accelerations may be infinite.
        effort: N m or N; it may be infinite. Friction counts against it: what the description says of it.
    """

    motion: MotionLimits
    effort: Array

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        share: float = 0.9,
        lower: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
        velocity: Given = None,
        acceleration: Given = None,
        effort: Given = None,
    ) -> ExcitationLimits:
        """A share of the description's limits: velocities, accelerations where it has any, efforts, and the range of
        positions about its middle.

        lower, upper, velocity, acceleration, effort: numbers that count as they are, one for all joints or by name
        (rad or m, per s, per s^2, N m or N). Raises ValueError that names the joint: for one that has more than one
        degree of freedom, no velocity limit, no range, or no effort left once friction is overcome.
        """
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must be above 0 and at most 1, got {share!r}")
        joints = [joint for joint in model.joints if joint.mimic is None]
        names = [joint.name for joint in joints]
        single_freedom_indices(Robot(model), names)
        limits = [joint.limits for joint in joints]
        free = [joint.kind.name == "continuous" for joint in joints]
        ranges = [(-TURN, TURN) if none else (x.lower, x.upper) for none, x in zip(free, limits)]
        middle, half = np.array([(0.5 * (low + high), 0.5 * share * (high - low)) for low, high in ranges]).T
        found = {
            "lower": _given("lower", lower or {}, names, middle - half),
            "upper": _given("upper", upper or {}, names, middle + half),
            "velocity": _given("velocity", velocity, names, share * np.array([x.velocity for x in limits])),
            "acceleration": _given("acceleration", acceleration, names, share * np.array([x.rate for x in limits])),
        }
        most = _given("effort", effort, names, share * np.array([x.effort for x in limits]))
        left = most - friction_of(model)[0]
        for k, name in enumerate(names):
            low, high = found["lower"][k], found["upper"][k]
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f"joint {name!r} has no range of positions: {low:g} to {high:g}; give lower and upper")
            for what in ("velocity", "acceleration"):
                if not found[what][k] > 0.0:
                    raise ValueError(f"{what} of joint {name!r} must be positive, got {found[what][k]:g}")
            if not math.isfinite(found["velocity"][k]):
                raise ValueError(f"joint {name!r} has no velocity limit: give one")
            if not left[k] > 0.0:
                raise ValueError(f"effort of joint {name!r}, {most[k]:g}, is not more than its friction")
        return cls(MotionLimits.of(names, **found), most)

    @property
    def joints(self) -> tuple[str, ...]:
        return self.motion.joints

    @property
    def middle(self) -> Array:
        return 0.5 * (self.motion.lower + self.motion.upper)


def _given(what: str, value: Given, names: list[str], described: Array) -> Array:
    """Raises ValueError for a joint that there is not, or a number that is none."""
    if value is None:
        return described
    if isinstance(value, Mapping):
        own = by_joint(what, value, names, math.nan)
        named = np.array([name in value for name in names], dtype=bool)
    else:
        own, named = np.full(len(names), float(value)), np.ones(len(names), dtype=bool)
    for name, number in zip(np.array(names)[named], own[named]):
        if not math.isfinite(number):
            raise ValueError(f"{what} of joint {str(name)!r} must be a number, got {number}")
    return np.where(named, own, described)
