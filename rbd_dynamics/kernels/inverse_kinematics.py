# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a robot bound to its kernels: one pose, or many side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.inverse_kinematics import LENGTH
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.model.joints.base import JointKind

if TYPE_CHECKING:
    from rbd_dynamics.kernels.bound_model import BoundModel

Array = NDArray[np.float64]
Step = Callable[[Array, Array, Array, Array, Array], None]
STEPS = 28  # of one try: who has not come by then is better off elsewhere
LAST = 200  # of the best try, where none has come: out of reach it comes slowly
SIFTED = 4  # steps of many poses between two looks at which are reached
NO_LIMIT = 1e300  # rad, m
WITHIN = np.pi  # rad, m: where joints without limits begin
ROUNDING = 1e-6  # by so much a rotation may be none


class InverseKinematics(NamedTuple):
    """Positions that bring a frame to a pose, or as near as they were found to come.

    Attributes:
        q: positions (..., nq).
        reached: whether both errors are within the tolerance (...).
        rotation_error, distance: how far off the frame is (...), rad and m.
    """

    q: Array
    reached: NDArray[np.bool_]
    rotation_error: Array
    distance: Array


class PoseSolver:
    """Inverse kinematics of one frame.

    Raises ValueError for a robot with a joint whose positions do not have its velocities as rates, KeyError.
    """

    def __init__(self, robot: BoundModel, frame: str, *, limits: bool) -> None:
        self._model = model = robot.model
        for joint in model.joints:
            if type(joint.kind).integrate is not JointKind.integrate or joint.kind.nq != joint.kind.nv:
                raise ValueError(f"inverse kinematics: joint {joint.name!r} is not one of plain positions: lock it")
        self._kernel = robot.evaluation(f"inverse_kinematics_step:{frame}").kernel
        bounds = (model.lower, model.upper) if limits else (np.full(model.nv, -np.inf), np.full(model.nv, np.inf))
        self._lower, self._upper = (np.clip(x, -NO_LIMIT, NO_LIMIT) for x in bounds)
        self._least = np.where(np.isfinite(model.lower), model.lower, np.minimum(-WITHIN, model.upper - WITHIN))
        self._range = np.where(np.isfinite(model.upper), model.upper, np.maximum(WITHIN, self._least + WITHIN))
        self._range -= self._least
        self._start = model.start_position()

    def solve(
        self, pose: ArrayLike, q0: ArrayLike | None, tolerance: float, restarts: int, seed: int
    ) -> InverseKinematics:
        """See `Robot.inverse_kinematics`."""
        wanted, most = _poses(pose), tolerance * tolerance
        start = self._start if q0 is None else self._model.configuration(q0)
        if wanted.ndim == 2 and start.ndim == 1:
            q, turn, distance = self._one(wanted, start, most, restarts, seed)
            reached = np.array(turn <= most and distance <= most)
            return InverseKinematics(q, reached, np.sqrt(turn), np.sqrt(distance))
        lead = np.broadcast_shapes(wanted.shape[:-2], start.shape[:-1])
        poses = np.broadcast_to(wanted, (*lead, 4, 4)).reshape(-1, 4, 4)
        search = _Search(self._step, poses, len(self._lower), most)
        begin = np.broadcast_to(start, (*lead, len(self._lower))).reshape(len(poses), -1)
        search.run(np.arange(len(poses)), np.clip(begin, self._lower, self._upper))
        rng = np.random.default_rng(seed)
        for _ in range(restarts):
            left = np.flatnonzero(~search.reached)
            if not len(left):
                break
            search.run(left, self._random(rng, len(left)))
        left = np.flatnonzero(~search.reached)
        search.run(left, search.q[left], LAST)
        turn, distance = (np.sqrt(x).reshape(lead) for x in search.squares)
        return InverseKinematics(search.q.reshape(*lead, -1), search.reached.reshape(lead), turn, distance)

    def _one(self, wanted: Array, start: Array, most: float, restarts: int, seed: int) -> tuple[Array, Array, Array]:
        """Positions for one pose, at the price of a call a step, and the squares of both errors."""
        step, lower, upper = self._kernel.call, self._lower, self._upper
        best, rng = None, None
        for k in range(restarts + 2):
            q, after, turn, distance = np.clip(start, lower, upper), np.empty_like(start), np.empty(()), np.empty(())
            for _ in range(LAST if k > restarts else STEPS):
                step(q, wanted, lower, upper, after, turn, distance)
                if turn <= most and distance <= most:
                    return q, turn, distance
                q, after = after, q
            step(q, wanted, lower, upper, after, turn, distance)
            if best is None or _cost(turn, distance) < _cost(*best[1:]):
                best = q, turn, distance
            rng = rng or np.random.default_rng(seed)
            start = self._random(rng, 1)[0] if k < restarts else best[0]
        assert best is not None
        return best

    def _random(self, rng: np.random.Generator, count: int) -> Array:
        return self._least + self._range * rng.random((count, len(self._least)))

    def _step(self, q: Array, wanted: Array, after: Array, turn: Array, distance: Array) -> None:
        done = self._kernel.several(q, wanted, self._lower, self._upper, after, turn, distance)
        assert done is not None


class _Search:
    """The best positions of each pose (N) so far; squares: of both errors (2, N)."""

    def __init__(
        self,
        step: Callable[[Array, Array, Array, Array, Array], None],
        wanted: Array,
        n: int,
        most: float,
    ) -> None:
        self._step, self._wanted, self._most = step, wanted, most
        self.q = np.zeros((len(wanted), n))
        self.squares = np.full((2, len(wanted)), np.inf)
        self.reached = np.zeros(len(wanted), dtype=bool)

    def run(self, which: NDArray[np.intp], q: Array, steps: int = STEPS) -> None:
        """One try of these poses, from q (n, nq)."""
        if not len(which):
            return
        wanted = np.ascontiguousarray(self._wanted[which])
        q, after = np.array(q, order="C"), np.empty(q.shape)
        turn, distance = np.empty(len(q)), np.empty(len(q))
        for step in range(steps + 1):
            self._step(q, wanted, after, turn, distance)
            done = (turn <= self._most) & (distance <= self._most)
            if step == steps or done.all():
                self._keep(which, q, turn, distance)
                return
            if not done.any():
                q, after = after, q
            elif step % SIFTED:
                after[done] = q[done]
                q, after = after, q
            else:
                self._keep(which[done], q[done], turn[done], distance[done])
                which, q, wanted = which[~done], after[~done], wanted[~done]
                after, turn, distance = np.empty(q.shape), np.empty(len(q)), np.empty(len(q))

    def _keep(self, which: NDArray[np.intp], q: Array, turn: Array, distance: Array) -> None:
        """Take those that are nearer than what was found before."""
        better = _cost(turn, distance) < _cost(*self.squares[:, which])
        which = which[better]
        self.q[which], self.squares[:, which] = q[better], (turn[better], distance[better])
        self.reached[which] = (turn[better] <= self._most) & (distance[better] <= self._most)


def _cost(turn: Array, distance: Array) -> Array:
    """What the step makes smaller, of the squares of both errors."""
    return turn + distance / LENGTH**2


def _poses(pose: ArrayLike) -> Array:
    """Poses (..., 4, 4) as they are. Raises ValueError for what is none."""
    found = real_array(pose, "pose")
    if found.ndim < 2 or found.shape[-2:] != (4, 4):
        raise ValueError(f"pose: expected (..., 4, 4), got {found.shape}")
    R = found[..., :3, :3]
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
    last = found[..., 3, :] == (0.0, 0.0, 0.0, 1.0)
    if not (off < ROUNDING and np.all(np.linalg.det(R) > 0.0) and last.all() and np.isfinite(found).all()):
        raise ValueError("pose: not a homogeneous matrix of a rotation and a position, as `Robot.pose` gives it")
    return np.ascontiguousarray(found)
