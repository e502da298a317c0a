# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a robot bound to its kernels: one pose of its frames, or many side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.configuration_motion import require_motion
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.kernels.of_frames import kernel_of_frame
from rbd_dynamics.kernels.pose_search import STEPS, Limits, PoseSearch, Samples
from rbd_dynamics.kernels.several_frames import SeveralFrames
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.model import WORLD, Model

if TYPE_CHECKING:
    from rbd_dynamics.kernels.bound_model import BoundModel

Array = NDArray[np.float64]
LAST = 200  # of the best try, where none has come: out of reach it comes slowly
NO_LIMIT = 1e300  # rad, m
WITHIN = np.pi  # rad, m: where joints without limits begin
ROUNDING = 1e-6  # by so much a rotation may be none


class InverseKinematics(NamedTuple):
    """Positions that bring frames to poses, or as near as they were found to come.

    Attributes:
        q: positions (..., nq).
        reached: whether all errors are within the tolerance (...).
        rotation_error, distance: how far off the frame is (...), rad and m; (..., F) of F frames.
    """

    q: Array
    reached: NDArray[np.bool_]
    rotation_error: Array
    distance: Array


class PoseSolver:
    """Inverse kinematics of one frame, by name, or of several.

    Raises ValueError for a robot with joints that move in a way of their own, KeyError for an unknown frame.
    """

    def __init__(self, robot: BoundModel, frames: str | tuple[str, ...], *, limits: bool) -> None:
        self._model = model = robot.model
        require_motion(model)
        if isinstance(frames, str):
            self._evaluation = robot.evaluation(kernel_of_frame("inverse_kinematics_step", frames))
            self._shape: tuple[int, ...] = (4, 4)
        else:
            step = SeveralFrames(frames)
            for name in frames:
                model.frame(name)
            signature = step.signature(model)
            name = f"inverse_kinematics_step:{','.join(frames)}"
            self._evaluation = robot.custom_kernel(name, signature, function_of(model, signature, step))
            self._shape = (len(frames), 4, 4)
        self._kernel = self._evaluation.kernel
        bounds = (model.lower, model.upper) if limits else (np.full(model.nq, -np.inf), np.full(model.nq, np.inf))
        self._lowest, self._highest = (np.clip(x, -NO_LIMIT, NO_LIMIT) for x in bounds)
        self._least = np.where(np.isfinite(model.lower), model.lower, np.minimum(-WITHIN, model.upper - WITHIN))
        self._range = np.where(np.isfinite(model.upper), model.upper, np.maximum(WITHIN, self._least + WITHIN))
        self._range -= self._least
        names = (frames,) if isinstance(frames, str) else frames
        self._kept = _not_moving(model, names)
        self._quaternions = [
            slice(joint.q_index + joint.kind.quaternion.start, joint.q_index + joint.kind.quaternion.stop)
            for joint in model.joints
            if joint.kind.quaternion is not None
        ]
        self._start = model.start_position()

    def solve(
        self,
        pose: ArrayLike,
        q0: ArrayLike | None,
        posture: ArrayLike | None,
        held: Sequence[str],
        tolerance: float,
        restarts: int,
        seed: int,
    ) -> InverseKinematics:
        """See `Robot.inverse_kinematics`."""
        wanted, most = checked_poses(pose, self._shape), tolerance * tolerance
        rest = None if posture is None else self._model.configuration(posture, what="posture")
        start = self._model.configuration(q0) if q0 is not None else self._start if rest is None else rest
        limits, kept = self._holding(start, held)
        if wanted.ndim == len(self._shape) and start.ndim == 1 and rest is None:
            return self._one(wanted, start, limits, kept, most, restarts, seed)
        lead = np.broadcast_shapes(
            wanted.shape[: wanted.ndim - len(self._shape)], start.shape[:-1], () if rest is None else rest.shape[:-1]
        )
        poses = np.ascontiguousarray(np.broadcast_to(wanted, (*lead, *self._shape)).reshape(-1, *self._shape))
        begin = self._each(start, lead)
        begin = np.clip(begin, *limits)
        search = PoseSearch(self, limits, poses, most)
        search.run(np.arange(len(poses)), begin)
        rng = np.random.default_rng(seed)
        for _ in range(restarts):
            left = np.flatnonzero(search.missed)
            if not len(left):
                break
            search.run(left, self._anew(rng, begin[left], kept))
        left = np.flatnonzero(search.missed)
        search.run(left, search.found.q[left], LAST)
        if rest is not None:
            search.pull(self._each(rest, lead))
        found, errors = search.found, (*lead, *self._shape[:-2])
        return InverseKinematics(
            found.q.reshape(*lead, -1),
            ~search.missed.reshape(lead),
            np.sqrt(found.turn).reshape(errors),
            np.sqrt(found.distance).reshape(errors),
        )

    def _each(self, q: Array, lead: tuple[int, ...]) -> Array:
        """Positions for every pose, (N, nq)."""
        count = int(np.prod(lead, dtype=int))
        return np.ascontiguousarray(np.broadcast_to(q, (*lead, self._model.nq)).reshape(count, self._model.nq))

    def _holding(self, start: Array, held: Sequence[str]) -> tuple[Limits, NDArray[np.bool_]]:
        """Limits within which joints that are held cannot move, and what does not begin anew."""
        if isinstance(held, str):
            raise TypeError(f"inverse_kinematics: held: expected names of joints, not {excerpt(held)}")
        lowest, highest, kept = self._lowest, self._highest, self._kept
        if len(held):
            lowest, highest, kept = lowest.copy(), highest.copy(), kept.copy()
        for name in held:
            joint = self._model.joint(name)
            if type(joint.kind).integrate is not JointKind.integrate:
                raise ValueError(f"held: joint {name!r} is not one of plain positions: lock it as the model is loaded")
            own = slice(joint.q_index, joint.q_index + joint.kind.nq)
            places = start[..., own].reshape(-1, joint.kind.nq)
            if not np.array_equal(places, np.broadcast_to(places[:1], places.shape)):
                raise ValueError(f"held: joint {name!r} is not in one place in all of q0")
            lowest[own] = highest[own] = places[0]
            kept[own] = True
        return (lowest, highest), kept

    def _one(
        self,
        wanted: Array,
        start: Array,
        limits: Limits,
        kept: NDArray[np.bool_],
        most: float,
        restarts: int,
        seed: int,
    ) -> InverseKinematics:
        """Positions for one pose, at the price of a call a step."""
        step, (lowest, highest) = self._kernel.call, limits
        still, none, errors = self._start, np.zeros(()), self._shape[:-2]
        best, least, rng, begin = None, np.inf, None, start
        worst, cost, apart = np.empty(()), np.empty(()), np.empty(())
        for k in range(restarts + 2):
            q, after = np.clip(begin, lowest, highest), np.empty_like(start)
            turn, distance = np.empty(errors), np.empty(errors)
            steps = LAST if k > restarts else STEPS
            for n in range(steps + 1):
                inputs = q, wanted, lowest, highest, still, none
                outputs = after, turn, distance, worst, cost, apart
                if step(*inputs, *outputs) is None:  # no machine code, or what it refuses
                    self._evaluation(inputs, outputs)
                if worst <= most or n == steps:
                    break
                q, after = after, q
            if worst <= most or cost < least:
                best, least = (q, turn, distance), float(cost)
                if worst <= most:
                    break
            rng = rng or np.random.default_rng(seed)
            if k < restarts:
                begin = self._anew(rng, start[None], kept)[0]
            elif best is not None:
                begin = best[0]
        assert best is not None
        return InverseKinematics(best[0], np.array(worst <= most), np.sqrt(best[1]), np.sqrt(best[2]))

    def _anew(self, rng: np.random.Generator, begin: Array, kept: NDArray[np.bool_]) -> Array:
        """Random positions to begin another try at, (N, nq); what is kept, a floating base too, begins where it did."""
        q: Array = self._least + self._range * rng.random(begin.shape)
        for part in self._quaternions:
            q[:, part] = rng.normal(size=(len(q), 4))
            q[:, part] /= np.linalg.norm(q[:, part], axis=1, keepdims=True)
        return np.where(kept, begin, q)

    def step(self, at: Samples, limits: Limits, wanted: Array, after: Array, posture: Array, pull: Array) -> None:
        """A step of each sample; what it gives of the positions before is written to `at`."""
        inputs = at.q, wanted, *limits, posture, pull
        outputs = after, at.turn, at.distance, at.worst, at.cost, at.apart
        if self._kernel.several(*inputs, *outputs) is None:  # no machine code, or what it refuses
            self._evaluation(inputs, outputs)

    def samples(self, q: Array) -> Samples:
        """Samples at q (N, nq), of which nothing is known yet."""
        n, errors = len(q), (len(q), *self._shape[:-2])
        numbers = (np.full(n, np.inf) for _ in range(3))
        return Samples(q, np.full(errors, np.inf), np.full(errors, np.inf), *numbers)


def _not_moving(model: Model, frames: Sequence[str]) -> NDArray[np.bool_]:
    """Which positions (nq) move none of the frames, or are a floating base's."""
    moving: set[str] = set()
    for name in frames:
        body = model.frame(name).body
        while body != WORLD:
            joint = model.bodies[body].joint
            moving.add(joint.name if joint.mimic is None else joint.mimic.leader)
            body = model.bodies[body].parent
    found = np.ones(model.nq, dtype=bool)
    for own in model.joints:
        if own.name in moving and not isinstance(own.kind, Floating):
            found[own.q_index : own.q_index + own.kind.nq] = False
    return found


def checked_poses(pose: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Poses as they are, (..., 4, 4) or (..., F, 4, 4). Raises ValueError for what is none."""
    found = real_array(pose, "pose")
    if found.shape[found.ndim - len(shape) :] != shape or found.ndim < len(shape):
        raise ValueError(f"pose: expected (..., {', '.join(map(str, shape))}), got {found.shape}")
    R = found[..., :3, :3]
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
    last = found[..., 3, :] == (0.0, 0.0, 0.0, 1.0)
    if not (off < ROUNDING and np.all(np.linalg.det(R) > 0.0) and last.all() and np.isfinite(found).all()):
        raise ValueError("pose: not a homogeneous matrix of a rotation and a position, as `Robot.pose` gives it")
    return np.ascontiguousarray(found)


def frames_of(frame: str | Sequence[str]) -> str | tuple[str, ...]:
    """One name, or several. Raises TypeError for what is neither, ValueError for none and for one twice."""
    if isinstance(frame, str):
        return frame
    if not isinstance(frame, Sequence) or not all(isinstance(name, str) for name in frame):
        raise TypeError(
            f"inverse_kinematics: frame: expected the name of a frame, or several of them, not {excerpt(frame)}"
        )
    if not frame or len(set(frame)) != len(frame):
        raise ValueError(f"inverse_kinematics: frame: {excerpt(list(frame))}: expected different frames, at least one")
    return tuple(frame)
