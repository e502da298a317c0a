# SPDX-License-Identifier: Apache-2.0
"""What identification makes of a segment: the torque that the model does not explain, and the columns of friction.

The measured torque went through a low-pass filter (`Settings.cutoff`), and so did positions and velocities. Terms that
vary smoothly with them need nothing more. Coulomb friction jumps where a joint reverses: its column is computed from
the filtered velocity and then goes through the same filter, as the torque did ("parallel filtering", Gautier 1997).
Without that the model's sharp jump meets the measurement's smeared one, and Coulomb friction comes out wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    INERTIA,
    TERMS,
    checked_terms,
    inverse_dynamics_terms,
)
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.perturbation import with_joint_friction

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SETTLED = 1.0  # periods of the cutoff frequency until what is beyond the end of a stretch no longer matters
DENSITY = 10.0  # samples in a period of the cutoff frequency: all that a filtered signal has in it
STANDS = 0.5  # s: a joint that is slow for so long stands; shorter, it turns round


@dataclass(frozen=True)
class JointSamples:
    """A segment prepared for fits; N samples, arrays (N, nq) and (N, nv).

    Attributes:
        stamps: ns, (N,). rows: of the segment, (N,): so few as the filter leaves to be known.
        q, v, a: the motion; v and a are zero where the whole robot stands, since what is measured there is noise.
        speed: v as it is measured there, too.
        measured: torque.
        residual: measured torque less the chosen terms, with what friction the model has if that is one of them.
        still: joints that stand: Coulomb friction is then anything up to breakaway, and known to nobody.
        level: tanh(v / COULOMB_SPEED), the direction of Coulomb friction, as the library has it; filtered.
        usable: samples with a measured torque and settled columns.
    """

    stamps: NDArray[np.int64]
    rows: NDArray[np.intp]
    q: Array
    v: Array
    a: Array
    speed: Array
    measured: Array
    residual: Array
    still: Mask
    level: Array
    usable: Mask


class Preparation:
    """Makes `JointSamples` of segments.

    Parameters:
        robot: without friction in its equation of motion.
        low_pass: the filter that the segments went through (`Segments.low_pass`); None: none.
        terms: what the measured efforts contain, as in `Settings.terms`.
    """

    def __init__(self, robot: Robot, low_pass: LowPass | None, terms: Sequence[str]) -> None:
        if robot.friction:
            raise ValueError("robot must be one without friction: Robot(model); add it by terms")
        self.robot, self.low_pass = robot, low_pass
        chosen = checked_terms(terms)
        self.terms = tuple(term for term in TERMS if term in chosen)
        self.rigid = tuple(term for term in self.terms if term != FRICTION)
        self.friction = friction_of(robot.model) if FRICTION in chosen else np.zeros((2, robot.model.nv))
        self._edge = 0 if low_pass is None else int(np.ceil(SETTLED * low_pass.rate / low_pass.cutoff))
        self.step = 1 if low_pass is None else max(1, int(low_pass.rate / (DENSITY * low_pass.cutoff)))
        self._last: tuple[Segment, JointSamples | None] | None = None
        self._regressor: tuple[JointSamples, Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None, "_regressor": None}

    def __call__(self, segment: Segment) -> JointSamples | None:
        """None for a stretch too short to say anything. Several that share it have it made once."""
        if self._last is None or self._last[0] is not segment:
            self._last = segment, self._prepared(segment)
        return self._last[1]

    def _prepared(self, segment: Segment) -> JointSamples | None:
        if segment.v.shape[1] != self.robot.model.nv:
            raise ValueError(f"the segment has {segment.v.shape[1]} joints, the robot {self.robot.model.nv}")
        self._check_rate(segment)
        if len(segment) <= 2 * self._edge + 1:
            return None
        rows = np.arange(-segment.start % self.step, len(segment), self.step)
        still = _standing(np.abs(segment.v) < COULOMB_SPEED, segment.t)[rows]
        moving = ~still.all(axis=1, keepdims=True)
        q, speed = segment.q[rows], segment.v[rows]
        v, a = speed * moving, segment.a[rows] * moving
        level = self.filtered(np.tanh(segment.v / COULOMB_SPEED))[rows]
        residual = segment.tau[rows] - self._rigid_torque(q, v, a)
        coulomb, viscous = self.friction
        residual -= coulomb * level + viscous * v
        settled = (rows >= self._edge) & (rows < len(segment) - self._edge) & ~segment.filled[rows]
        usable = settled[:, None] & segment.measured & np.isfinite(residual)
        return JointSamples(
            segment.stamps[rows], rows, q, v, a, speed, segment.tau[rows], residual, still, level, usable
        )  # fmt: skip

    def check_same(self, other: Preparation) -> None:
        """Raises ValueError where what was found with the two cannot be merged."""
        mine, theirs = self.robot, other.robot
        same = mine.model.joint_names == theirs.model.joint_names and self.terms == other.terms
        if not same or not np.array_equal(mine.inertial_parameters, theirs.inertial_parameters):
            raise ValueError("cannot merge what was found for another robot or for other terms")

    def filtered(self, columns: Array) -> Array:
        """(N, ...) through the filter forth and back; beyond its ends a stretch goes on as it began and ended."""
        return columns if self.low_pass is None else self.low_pass.both_ways(columns)

    def regressor(self, samples: JointSamples) -> Array:
        """Y (N, nv, 10 bodies) of the chosen terms: torque = Y @ inertial parameters."""
        if self._regressor is None or self._regressor[0] is not samples:
            self._regressor = samples, regressor_of(self.robot, samples.q, samples.v, samples.a, self.terms)
        return self._regressor[1]

    def _rigid_torque(self, q: Array, v: Array, a: Array) -> Array:
        return inverse_dynamics_terms(self.robot, q, v, a, self.rigid)

    def _check_rate(self, segment: Segment) -> None:
        if self.low_pass is not None and len(segment) > 1:
            rate = (len(segment) - 1) / ((segment.stamps[-1] - segment.stamps[0]) * 1e-9)
            wanted = self.low_pass.rate
            if abs(rate / wanted - 1.0) > 0.01:
                raise ValueError(f"a segment of {rate:.4g} samples per second, low_pass is for {wanted:.4g}")


def regressor_of(robot: Robot, q: Array, v: Array, a: Array, terms: Sequence[str]) -> Array:
    """Y (N, nv, 10 bodies) of these terms: torque = Y @ inertial parameters."""
    v = v if CORIOLIS in terms else np.zeros_like(v)
    a = a if INERTIA in terms else np.zeros_like(a)
    found = robot.regressor(q, v, a)
    if GRAVITY not in terms:
        found -= robot.regressor(q, np.zeros_like(v), np.zeros_like(a))
    return found


def _standing(slow: Mask, t: Array) -> Mask:
    """Which samples (N, nv) at times t (N,) are in a run of slow ones that lasts for `STANDS`, as far as can be seen.

    A run at an end of the stretch counts, however short: it may go on there. Where a joint turns round at an end little
    is lost, since the edge is left out in any case.
    """
    found = np.zeros_like(slow)
    for joint in range(slow.shape[1]):
        first, after = np.flatnonzero(np.diff(slow[:, joint].astype(np.int8), prepend=0, append=0)).reshape(-1, 2).T
        stands = (first == 0) | (after == len(t)) | (t[after - 1] - t[first] >= STANDS)
        for begin, end in zip(first[stands], after[stands]):
            found[begin:end, joint] = True
    return found


def friction_columns(samples: JointSamples, joint: int) -> Array:
    """Offset, Coulomb and viscous friction (N, 3) of one degree of freedom; where it stands only the offset."""
    moving = ~samples.still[:, joint]
    return np.column_stack([np.ones(len(moving)), samples.level[:, joint] * moving, samples.v[:, joint] * moving])


def friction_of(model: Model) -> Array:
    """Coulomb and viscous friction of the model (2, nv), with that of joints that follow others."""
    found = np.zeros((2, model.nv))
    for body in model.bodies:
        joint = body.joint
        ratio = abs(joint.mimic.multiplier) if joint.mimic else 1.0
        dofs = slice(joint.v_index, joint.v_index + joint.kind.nv)
        found[0, dofs] += ratio * joint.friction
        found[1, dofs] += ratio**2 * joint.damping
    return found


def with_friction(model: Model, friction: Mapping[str, tuple[float, float]]) -> Model:
    """The model with Coulomb and viscous friction of joints by name, not less than zero; NaN: as it was.

    Of a joint that others follow it is all of theirs, too: theirs becomes zero. Raises KeyError for an unknown joint.
    """
    for name in friction:
        model.joint(name)
    found: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for joint in (body.joint for body in model.bodies):
        leader = joint.name if joint.mimic is None else joint.mimic.leader
        for values, value in zip(found, friction.get(leader, ())):
            if np.isfinite(value):
                values[joint.name] = max(0.0, value) if joint.mimic is None else 0.0
    return with_joint_friction(model, friction=found[0], damping=found[1])


def dof_names(model: Model) -> dict[int, str]:
    """The joints with one degree of freedom, by its number: only these can have a measured effort."""
    return {joint.v_index: joint.name for joint in model.joints if joint.kind.nv == 1}


def torque_unit(model: Model, name: str) -> str:
    """N m or N."""
    return "N m" if model.joint(name).kind.is_angle else "N"
