# SPDX-License-Identifier: Apache-2.0
"""The workspace of a frame, and in how many orientations it is reached, by inverse kinematics on a grid of points.

The share of orientations that are reached at a point is its reachability index (Zacharias, Borst and Hirzinger,
Capturing robot workspace structure: representing robot capabilities, IROS 2007).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.model.joints import Prismatic, Revolute, Spherical, Universal
from rbd_dynamics.model.model import WORLD, Joint, Model
from rbd_dynamics.robot import Robot

__all__ = ["Workspace", "workspace"]

Array = NDArray[np.float64]
SAMPLES = 20_000  # random positions, among which a search finds one to begin at
TOGETHER = 4096  # poses that are searched side by side
MOST = 10_000_000  # poses: some gigabytes, and hours


class Workspace(NamedTuple):
    """What a frame reaches of N points in K orientations.

    Attributes:
        points: (N, 3) in the world, m: the middles of cubes of edge `spacing` (m).
        rotations: (K, 3, 3) of the frame in the world.
        reached: (N, K) whether a position of the joints was found.
        q: (N, K, nq) that position, or the one that came nearest.
    """

    points: Array
    rotations: Array
    spacing: float
    reached: NDArray[np.bool_]
    q: Array

    @property
    def share(self) -> Array:
        """Share of the orientations that are reached at each point (N), 0 to 1."""
        return np.asarray(self.reached.mean(axis=1))

    def volume(self, *, share: float = 0.0) -> float:
        """Volume in m^3 of the cubes in whose middle more than this share of the orientations is reached."""
        return float((self.share > share).sum() * self.spacing**3)


def workspace(
    robot: Robot,
    frame: str,
    *,
    spacing: float = 0.1,
    rotations: ArrayLike | None = None,
    region: ArrayLike | None = None,
    limits: bool = True,
    held: Sequence[str] = (),
    q0: ArrayLike | None = None,
    tolerance: float = 1e-6,
    restarts: int = 20,
    seed: int = 0,
) -> Workspace:
    """The workspace of a frame: each point of a grid is tried in each of some orientations.

    Parameters:
        frame: a link or joint by name.
        spacing: between points of the grid, m.
        rotations: (K, 3, 3) orientations of the frame in the world; default: the 24 of a cube, which are spread evenly.
        region: (2, 3) the least and largest coordinates of the grid's points, m. Default: as far as the links between
            the first joint that moves the frame and the frame reach when they are stretched.
        limits, tolerance, restarts, seed: as of `Robot.inverse_kinematics`.
        held: joints by name that stay where q0 (nq) has them, which is the start position by default.

    A pose that is not reached is one that was not found in so many tries: raise `restarts` where that matters. Sources:
    Zacharias, Borst and Hirzinger 2007; for the search Sugihara 2011. Raises KeyError for an unknown frame, ValueError
    for what is no rotation, no region or too fine a grid, and where a joint may move the frame without limit, or in a
    way of its own, and no region is given.
    """
    model = robot.model
    if not (isinstance(spacing, (int, float)) and 0.0 < spacing < math.inf):
        raise ValueError(f"workspace: spacing {excerpt(spacing)} is not a positive length")
    turns = _cube() if rotations is None else real_array(rotations, "workspace: rotations")
    if turns.ndim != 3 or turns.shape[1:] != (3, 3) or not len(turns):
        raise ValueError(f"workspace: rotations: expected (K, 3, 3), got {turns.shape}")
    start = model.start_position() if q0 is None else model.configuration(q0)
    if start.ndim != 1:
        raise ValueError(f"workspace: q0: expected one configuration, got {start.shape}")
    points = _grid(robot, frame, region, float(spacing), len(turns), limits=limits)
    search = partial(robot.inverse_kinematics, frame, limits=limits, held=held, tolerance=tolerance, seed=seed)
    search(_poses(np.zeros((1, 3)), turns), start, restarts=0)  # what is wrong is said before long work
    begin = _nearest_samples(robot, frame, points, start, held, seed)
    reached = np.zeros((len(points), len(turns)), dtype=bool)
    q = np.zeros((len(points), len(turns), model.nq))
    some = max(1, TOGETHER // len(turns))
    for first in range(0, len(points), some):
        own = slice(first, first + some)
        found = search(_poses(points[own], turns), begin[own, None], restarts=restarts)
        reached[own], q[own] = found.reached, found.q
    return Workspace(points, turns, float(spacing), reached, q)


def _poses(points: Array, rotations: Array) -> Array:
    """(N, K, 4, 4) at each of N points in each of K orientations."""
    poses = np.tile(np.eye(4), (len(points), len(rotations), 1, 1))
    poses[..., :3, :3], poses[..., :3, 3] = rotations, points[:, None]
    return poses


def _cube() -> Array:
    """(24, 3, 3) The rotations that a cube looks the same after."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            R = np.zeros((3, 3))
            R[range(3), order] = signs
            if np.linalg.det(R) > 0.0:
                found.append(R)
    return np.array(found)


def _grid(robot: Robot, frame: str, region: ArrayLike | None, spacing: float, turns: int, *, limits: bool) -> Array:
    """(N, 3) points, of the default region those within reach of stretched links."""
    if region is None:
        middle, reach = _stretched(robot.model, frame, limits=limits)
        lower, upper = middle - reach, middle + reach
    else:
        bounds = real_array(region, "workspace: region")
        if bounds.shape != (2, 3) or not np.isfinite(bounds).all() or (bounds[0] > bounds[1]).any():
            raise ValueError(f"workspace: region {excerpt(bounds.tolist())}: expected least and largest coordinates")
        (lower, upper), middle, reach = bounds, np.zeros(3), math.inf
    steps = np.floor((upper - lower) / spacing * (1.0 + 1e-12))
    if not (count := float(np.prod(steps + 1.0)) * turns) <= MOST:
        raise ValueError(f"workspace: {count:.3g} poses, more than {MOST:g}: take a larger spacing, or a region")
    begin = 0.5 * (lower + upper - steps * spacing)
    axes = (first + spacing * np.arange(int(n) + 1) for first, n in zip(begin, steps))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.asarray(points[np.linalg.norm(points - middle, axis=1) <= reach])


def _stretched(model: Model, frame: str, *, limits: bool) -> tuple[Array, float]:
    """The place of the first joint that moves the frame (3), and how far from it the frame can be at most, m."""
    own = model.frame(frame)
    reach, body, last = 0.0, own.body, np.array(own.placement.p, dtype=float)
    if body == WORLD:
        raise ValueError(f"workspace: no joint moves {frame!r}")
    while body != WORLD:
        reach += float(np.linalg.norm(last)) + _travel(model, model.bodies[body].joint, limits=limits)
        last = np.array(model.bodies[body].placement.p, dtype=float)
        body = model.bodies[body].parent
    return last, reach


def _travel(model: Model, joint: Joint, *, limits: bool) -> float:
    """How far a joint shifts what it carries, m."""
    if isinstance(joint.kind, (Revolute, Spherical, Universal)):
        return 0.0
    travel = math.inf
    if limits and isinstance(joint.kind, Prismatic):
        bounds, mimic = joint.limits, joint.mimic
        if mimic is None:
            travel = max(abs(bounds.lower), abs(bounds.upper))
        else:
            bounds = model.joint(mimic.leader).limits
            travel = max(abs(mimic.multiplier * x + mimic.offset) for x in (bounds.lower, bounds.upper))
    if not travel < math.inf:
        raise ValueError(f"workspace: joint {joint.name!r} may shift the frame without limit: give a region")
    return travel


def _nearest_samples(robot: Robot, frame: str, points: Array, start: Array, held: Sequence[str], seed: int) -> Array:
    """(N, nq) Of random positions those with the frame nearest to each point."""
    from scipy.spatial import cKDTree

    model, rng = robot.model, np.random.default_rng(seed)
    q = np.array([model.random(rng) for _ in range(SAMPLES)])
    for name in held:
        joint = model.joint(name)
        own = slice(joint.q_index, joint.q_index + joint.kind.nq)
        q[:, own] = start[own]
    places = robot.pose(q, frame)[..., :3, 3]
    return np.asarray(q[cKDTree(places).query(points)[1]])
