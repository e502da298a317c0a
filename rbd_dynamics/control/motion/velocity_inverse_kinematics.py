# SPDX-License-Identifier: Apache-2.0
"""Joint velocities with which frames follow poses that come one after the other: a quadratic program for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.velocity_tracking import velocity_task
from rbd_dynamics.common.extras import require
from rbd_dynamics.common.real_numbers import real_array, real_number
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.bound_model import require_double
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.inverse_kinematics import checked_poses, frames_of
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.entries import transform_of

if TYPE_CHECKING:
    from rbd_dynamics.collisions import CollisionSet
    from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
SOLVED, SOFTLY = 1, 2  # what the solver says: all constraints hold, or soft ones give way
SOFT = 8  # a row that may give way
NONE = 1e9  # rad/s, m/s: as good as no limit, and a number that the solver takes


class JointVelocities(NamedTuple):
    """What joints are to do for a period.

    Attributes:
        v: velocities (nv), rad/s and m/s.
        rotation_error, distance: how far off each frame is now, () or (F,), rad and m.
        limited: which of the velocities stand at a bound (nv).
        clearance: the least distance of shapes now, m; infinite without any within reach.
        held: whether every bound holds: shapes that had come nearer than wanted may be unable to part at once.
    """

    v: Array
    rotation_error: Array
    distance: Array
    limited: NDArray[np.bool_]
    clearance: float
    held: bool


@dataclass(frozen=True)
class _Task:
    """The algorithm as a kernel: outputs are rows of H, g, and both errors."""

    frames: tuple[str, ...]

    def __call__(self, x: Inputs) -> list[Any]:
        count = len(self.frames)
        poses = [transform_of(x.wanted[k : k + 16]) for k in range(0, 16 * count, 16)]
        twists = [x.twists[k : k + 6] for k in range(0, 6 * count, 6)]
        (gain,) = x.step
        found = velocity_task(x.model, x.q, [x.model.frame(name) for name in self.frames], poses, twists, gain)
        return [[entry for row in found.H for entry in row], found.g, found.turn, found.distance]

    def signature(self, model: Model) -> Signature:
        count, sizes = len(self.frames), sizes_of(model)
        own = {
            "wanted": Argument("wanted", (count, 4, 4)),
            "twists": Argument("twists", (count, 6)),
            **{name: Argument(name, (count,)) for name in ("turn", "distance")},
        }
        return Signature(arguments("q wanted twists step", sizes, own), arguments("M x turn distance", sizes, own))


class VelocityInverseKinematics:
    """Differential inverse kinematics of one frame or of several, within limits, for poses that are streamed.

    Called once a period: velocities that bring the frames towards their poses, the least squares of what is possible
    within the limits of positions, velocities and accelerations, and between shapes. Needs the package `daqp`.

    Parameters:
        frame: a link or joint by name, or several.
        period: s, between two calls.
        gain: 1/s, how fast errors vanish; at most 1 / period. Default: half of that.
        damping: of velocities, (rad/s)^2 and (m/s)^2 beside errors of rad/s and of 0.3 m/s: at singular postures.
        posture: positions (nq) to come near to where the frames leave a choice, with `posture_gain`, 1/s.
        posture_weight: beside the frames' 1.
        velocity_limit, acceleration_limit: (nv) or one number, in place of the model's; infinite is none.
        approach: the share of the way to a limit that a period may go at most, above 0, at most 1.
        shapes: which keep `clearance` (m) apart; pairs that are further than `margin` (m) apart do not count.

    A joint never goes beyond a limit of position, as its velocity is bound by what is left to it, and by how fast it
    can brake where there is a limit of acceleration. Raises KeyError for an unknown frame, ValueError for numbers out
    of range, TypeError for a robot in single precision.
    """

    def __init__(
        self,
        robot: Robot,
        frame: str | Sequence[str],
        *,
        period: float,
        gain: float | None = None,
        damping: float = 1e-6,
        posture: ArrayLike | None = None,
        posture_gain: float = 1.0,
        posture_weight: float = 1e-4,
        velocity_limit: ArrayLike | None = None,
        acceleration_limit: ArrayLike | None = None,
        approach: float = 0.5,
        shapes: CollisionSet | None = None,
        clearance: float = 0.01,
        margin: float = 0.1,
    ) -> None:
        require("daqp")
        require_double(robot, "VelocityInverseKinematics")
        import daqp

        self._solve = daqp.solve
        self.model = model = robot.model
        frames = frames_of(frame)
        self._single = isinstance(frames, str)
        self.frames: tuple[str, ...] = (frames,) if isinstance(frames, str) else frames
        for name in self.frames:
            model.frame(name)
        self.period = _within("period", period, 0.0, np.inf)
        self._gain = np.array(0.5 / period if gain is None else _within("gain", gain, 0.0, 1.0 / period))
        self._damping = _within("damping", damping, 0.0, np.inf)
        self._approach = _within("approach", approach, 0.0, 1.0)
        self._posture = None if posture is None else model.configuration(posture, what="posture")
        self._posture_weight = _within("posture_weight", posture_weight, 0.0, np.inf) if posture is not None else 0.0
        self._posture_gain = _within("posture_gain", posture_gain, 0.0, 1.0 / period)
        self._shapes, self._clearance = shapes, _number("clearance", clearance)
        self._margin = _within("margin", margin, self._clearance, np.inf)
        self._fastest = self._limit("velocity_limit", velocity_limit, model.velocity_limit)
        self._quickest = self._limit("acceleration_limit", acceleration_limit, model.acceleration_limit)
        plain = [joint for joint in model.joints if type(joint.kind).integrate is JointKind.integrate]
        self._of_q = np.array([joint.q_index + k for joint in plain for k in range(joint.kind.nv)], dtype=np.intp)
        self._of_v = np.array([joint.v_index + k for joint in plain for k in range(joint.kind.nv)], dtype=np.intp)
        self._lower, self._upper = model.lower[self._of_q], model.upper[self._of_q]
        task = _Task(self.frames)
        signature = task.signature(model)
        name = f"velocity_task:{','.join(self.frames)}"
        self._kernel = robot.custom_kernel(name, signature, function_of(model, signature, task))
        self._poses = (4, 4) if self._single else (len(self.frames), 4, 4)
        self._still = np.zeros((len(self.frames), 6))

    def __call__(
        self, q: ArrayLike, pose: ArrayLike, twist: ArrayLike | None = None, *, v: ArrayLike | None = None
    ) -> JointVelocities:
        """Velocities for the next period.

        Parameters:
            q: positions (nq). pose: wanted (4, 4), or (F, 4, 4) of F frames.
            twist: how the wanted pose moves, in its own axes, (6,) or (F, 6), angular part first. Default: not.
            v: velocities (nv) of the period before, from which those of this one may differ by so much as accelerations
                allow. Default: any.

        Raises ValueError for what is no pose, or not finite.
        """
        q = self.model.configuration(q)
        wanted = checked_poses(pose, self._poses).reshape(-1, 4, 4)
        twists = self._still if twist is None else real_array(twist, "twist").reshape(self._still.shape)
        H, g, turn, distance = self._kernel((q, wanted, twists, self._gain))
        H[np.diag_indices_from(H)] += self._damping + self._posture_weight
        if self._posture is not None:
            g += self._posture_weight * self._posture_gain * self.model.difference(q, self._posture)
        low, high = self._bounds(q, v)
        A, near, clearance = self._between_shapes(q)
        found, held = self._least(H, g, low, high, A, near)
        errors = np.sqrt(turn), np.sqrt(distance)
        if self._single:
            errors = errors[0][0], errors[1][0]
        limited = (found <= low + 1e-9 * (1.0 + np.abs(low))) | (found >= high - 1e-9 * (1.0 + np.abs(high)))
        return JointVelocities(found, *errors, limited, clearance, held)

    def _bounds(self, q: Array, v: ArrayLike | None) -> tuple[Array, Array]:
        """Least and largest velocities (nv) of the next period, at positions q (nq) and velocities v before (nv)."""
        high, low = self._fastest.copy(), -self._fastest
        most, own = self._quickest[self._of_v], self._of_v
        high[own] = np.clip(self._room(self._upper - q[self._of_q], most), -high[own], high[own])
        low[own] = np.clip(-self._room(q[self._of_q] - self._lower, most), low[own], -low[own])
        if v is None:
            return low, np.maximum(low, high)
        change, before = self._quickest * self.period, self.model.velocity(v)
        least, largest = before - change, before + change
        # where they do not meet, as after a start beyond what can be braked, as near as the joint can get
        return np.clip(low, least, largest), np.clip(np.maximum(low, high), least, largest)

    def _room(self, way: Array, most: Array) -> Array:
        """How fast a joint may go towards a limit that is `way` ahead, and still not pass it."""
        share = np.clip(self._approach * way / self.period, -NONE, NONE)
        braked = np.isfinite(most) & (way > 0.0) & np.isfinite(way)
        unit = np.where(braked, most, 1.0) * self.period**2  # by which the way of a period grows at most
        steps = np.where(braked, way, 0.0) / unit
        whole = np.floor(0.5 * (np.sqrt(1.0 + 8.0 * steps) - 1.0))  # periods of braking after this one
        part = (steps - 0.5 * whole * (whole + 1.0)) / (whole + 1.0)
        return np.where(braked, np.minimum(share, (whole + part) * unit / self.period), share)

    def _between_shapes(self, q: Array) -> tuple[Array, Array, float]:
        """Rows A v >= low of shapes that are near, and the least distance."""
        if self._shapes is None:
            return np.zeros((0, self.model.nv)), np.zeros(0), np.inf
        found = self._shapes.found(q, np.zeros(self.model.nv), margin=self._margin)
        way = found.gap - self._clearance
        return found.A[::3], -self._approach * way / self.period, float(found.gap.min(initial=np.inf))

    def _least(self, H: Array, g: Array, low: Array, high: Array, A: Array, near: Array) -> tuple[Array, bool]:
        """The program's solution, and whether all rows hold."""
        lower, upper = np.concatenate([low, near]), np.concatenate([high, np.full(len(near), NONE)])
        sense = np.zeros(len(lower), dtype=np.int32)
        v, _, flag, _ = self._solve(H, -g, A, upper, lower, sense)
        if flag != SOLVED:
            sense[len(low) :] = SOFT
            v, _, flag, _ = self._solve(H, -g, A, upper, lower, sense)
            if flag not in (SOLVED, SOFTLY):
                raise ArithmeticError(f"velocity inverse kinematics: the quadratic program was not solved ({flag})")
            return np.clip(v, low, high), False
        return np.clip(v, low, high), True

    def _limit(self, what: str, given: ArrayLike | None, own: Array) -> Array:
        """Limits (nv), positive."""
        limit = own if given is None else np.broadcast_to(real_array(given, what), own.shape)
        if not np.all(limit > 0.0):
            raise ValueError(f"{what}: expected positive numbers")
        return np.minimum(limit, NONE) if what == "velocity_limit" else np.array(limit)


def _within(what: str, value: float, least: float, most: float) -> float:
    """A number above `least`, at most `most`."""
    number = _number(what, value)
    if not least < number <= most:
        end = f" and at most {most:g}" if np.isfinite(most) else ""
        raise ValueError(f"{what} {number:g} is not above {least:g}{end}")
    return number


def _number(what: str, value: float) -> float:
    try:
        return real_number(value)
    except ValueError as error:
        raise ValueError(f"{what} {error}") from None
