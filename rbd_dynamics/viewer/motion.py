# SPDX-License-Identifier: Apache-2.0
"""A motion to be played: where the joints are at the times that are drawn, and the torques that it takes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.control.motion.trajectory import Trajectory, Waypoints
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.scene.packing import packed
from rbd_dynamics.scene.scene import matrix_rows
from rbd_dynamics.trajectories.trajectory_file import read_trajectory

Array = NDArray[np.float64]
RATE = 100.0  # Hz: steps of a motion that is drawn
MOST = 2000  # of them
NUMBERS = 60_000  # of all joints together


@dataclass(frozen=True)
class Motion:
    """Times (n,), s; positions (n, nq); torques (n, nv), N m or N."""

    times: Array
    q: Array
    torques: Array

    def to_page(self, model: Model, still: Sequence[int]) -> dict[str, Any]:
        """The motion for the page. still: bodies that no single screw moves; their poses in their parents go along."""
        single = [joint for joint in model.joints if joint.kind.nq == joint.kind.nv == 1]
        poses = {}
        for index in still:
            body = model.bodies[index]
            joint = body.joint
            rows = []
            for row in self.q[:, joint.q_index : joint.q_index + joint.kind.nq].tolist():
                own = row if joint.mimic is None else [joint.mimic.multiplier * row[0] + joint.mimic.offset]
                rows.append(matrix_rows(body.placement @ joint.kind.transform(own)))
            poses[str(index)] = [packed(column) for column in np.array(rows).T]
        return {
            "times": [round(t, 6) for t in self.times.tolist()],
            "positions": {joint.name: packed(self.q[:, joint.q_index]) for joint in single},
            "torques": {joint.name: packed(self.torques[:, joint.v_index]) for joint in single},
            "largest": {joint.name: float(np.abs(self.torques[:, joint.v_index]).max()) for joint in single},
            "poses": poses,
        }


def motion_of(
    model: Model, q: Array, motion: str | os.PathLike[str] | Sequence[ArrayLike], torques: ArrayLike | None
) -> Motion:
    """A file of a JointTrajectory, or times (n,), s, and positions (n, nq).

    q: (nq,), where joints stand that the file does not name. torques: (n, nv), of times and positions; by default those
    of inverse dynamics, with velocities and accelerations of splines through the points. Raises ValueError, OSError.
    """
    if isinstance(motion, (str, os.PathLike)):
        if torques is not None:
            raise ValueError("torques are given for times and positions, not for a file")
        return _of_waypoints(model, _ordered(model, q, read_trajectory(motion)))
    if len(motion) != 2:
        raise ValueError(f"motion has {len(motion)} parts, expected (t, q)")
    times = real_array(motion[0], "motion: t")
    if times.ndim != 1 or not len(times):
        raise ValueError(f"motion: t has shape {times.shape}, expected (n,)")
    path = model.configuration(motion[1], what="motion: q")
    if path.shape != (len(times), model.nq):
        raise ValueError(f"motion: q has shape {path.shape}, expected {(len(times), model.nq)}")
    if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
        raise ValueError("motion: t must be finite and increase")
    if torques is not None:
        own = model.velocity(torques, what="torques")
        if own.shape != (len(times), model.nv):
            raise ValueError(f"torques has shape {own.shape}, expected {(len(times), model.nv)}")
        kept = np.unique(np.linspace(0, len(times) - 1, min(len(times), _most(model))).round().astype(int))
        return Motion(times[kept], path[kept], own[kept])
    if all(joint.kind.is_coordinate for joint in model.joints):
        return _of_splines(model, times, path)
    return _of_poses(model, times, path)


def _ordered(model: Model, q: Array, waypoints: Waypoints) -> Waypoints:
    """Waypoints of all joints. Raises ModelError for a robot with joints that no trajectory moves."""
    others = [joint.name for joint in model.joints if not joint.kind.is_coordinate]
    if others:
        raise ModelError(f"a JointTrajectory has nothing for joint {others[0]!r}: give the motion as arrays (t, q)")
    return waypoints.ordered(model.joint_names, np.array([q, 0.0 * q, 0.0 * q]))


def _of_waypoints(model: Model, waypoints: Waypoints) -> Motion:
    """Motion through waypoints as a controller follows them: at rest at both ends unless the points say otherwise."""
    trajectory = Trajectory(waypoints.completed())
    times = _times(model, waypoints.times)
    return _along(model, times, np.array([trajectory.sample(t) for t in times]).transpose(1, 0, 2))


def _of_splines(model: Model, times: Array, path: Array) -> Motion:
    """Motion by splines through a path that goes on before its first point and after its last."""
    if len(times) < 2:
        return _along(model, times, np.stack([path, 0.0 * path, 0.0 * path]))
    from scipy.interpolate import CubicSpline  # slow to import

    spline, drawn = CubicSpline(times, path), _times(model, times)
    return _along(model, drawn, np.stack([spline(drawn, order) for order in range(3)]))


def _times(model: Model, times: Array) -> Array:
    """Even ones of a motion with these."""
    begin, end = float(times[0]), float(times[-1])
    return np.linspace(begin, end, min(math.ceil((end - begin) * RATE) + 1, _most(model)))


def _along(model: Model, times: Array, states: Array) -> Motion:
    """states: positions, velocities and accelerations (3, n, nv)."""
    path, v, a = (np.ascontiguousarray(state) for state in states)
    return Motion(times, path, Robot(model).inverse_dynamics(path, v, a))


def _of_poses(model: Model, times: Array, path: Array) -> Motion:
    """Motion by differences of neighbours: what has quaternions has no spline here."""
    v = np.zeros((len(times), model.nv))
    a = np.zeros_like(v)
    if len(times) > 2:
        v[1:-1] = model.difference(path[:-2], path[2:]) / (times[2:] - times[:-2])[:, None]
        v[0] = model.difference(path[0], path[1]) / (times[1] - times[0])
        v[-1] = model.difference(path[-2], path[-1]) / (times[-1] - times[-2])
        a = np.stack([np.gradient(column, times) for column in v.T], axis=-1)
    kept = np.unique(np.linspace(0, len(times) - 1, min(len(times), _most(model))).round().astype(int))
    return Motion(times[kept], path[kept], Robot(model).inverse_dynamics(path[kept], v[kept], a[kept]))


def _most(model: Model) -> int:
    return max(200, min(MOST, NUMBERS // max(1, model.nv)))
