# SPDX-License-Identifier: Apache-2.0
"""Shapes that overlap for good: which pairs no joint can bring apart, as MoveIt's assistant finds them.

Links count that overlap where the robot starts and wherever its joints stand within their limits, with any of their
shapes, and neighbours whose only links between them have no shape. What moves apart without limit, as floating bodies
do, never counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.kinematics import body_poses
from rbd_dynamics.model.joints.base import UNLIMITED
from rbd_dynamics.model.model import WORLD, Body, Model
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]

SAMPLES = 200
MOST_APART = 10  # samples, 5 %: of pairs that overlap for good
SEED = 0
NEIGHBOURS, ALWAYS = "neighbours", "always overlap"
Overlap = Callable[[list[Transform], int], bool]  # of the poses of all bodies, and the number of the pair


def overlapping_for_good(
    model: Model, pairs: Sequence[tuple[int, int]], links: Sequence[bool], shaped: frozenset[int], overlaps: Overlap
) -> dict[int, str]:
    """{number of the pair: why}.

    Parameters:
        pairs: of links by their bodies. links: of each pair, whether it is two links, and none of the surroundings.
        shaped: bodies that have shapes.
        overlaps: whether any shapes of a pair overlap by more than rounding.
    """
    start = _poses(model, model.start_position())
    held = [k for k, (one, other) in enumerate(pairs) if not _may_part(model, one, other)]
    held = [k for k in held if overlaps(start, k)]
    found = {k: NEIGHBOURS for k in held if links[k] and _nothing_between(model, *pairs[k], shaped)}
    apart = dict.fromkeys((k for k in held if k not in found), 0)
    rng = np.random.default_rng(SEED)
    for _ in range(SAMPLES):
        if not apart:
            break
        poses = _poses(model, model.random(rng))
        apart = {k: count + (not overlaps(poses, k)) for k, count in apart.items()}
        apart = {k: count for k, count in apart.items() if count <= MOST_APART}
    found.update(dict.fromkeys(apart, ALWAYS))
    return found


def _poses(model: Model, q: Array) -> list[Transform]:
    return [Transform.of(pose.rotation, pose.p) for pose in body_poses(model, q.tolist())]


def _ancestors(model: Model, body: int) -> list[int]:
    """The body itself first, without the world."""
    found = []
    while body != WORLD:
        found.append(body)
        body = model.bodies[body].parent
    return found


def _may_part(model: Model, one: int, other: int) -> bool:
    """A joint between two bodies carries them apart without limit."""
    between = set(_ancestors(model, one)) ^ set(_ancestors(model, other))
    return any(_carries_far(model, model.bodies[body]) for body in between)


def _carries_far(model: Model, body: Body) -> bool:
    joint = body.joint
    limits = joint.limits if joint.mimic is None else model.joint(joint.mimic.leader).limits
    if joint.kind.nv == 1 and max(abs(limits.lower), abs(limits.upper)) < UNLIMITED:
        return False
    return any(any(column[3:]) for column in joint.kind.columns(joint.kind.neutral().tolist()))


def _nothing_between(model: Model, one: int, other: int, shaped: frozenset[int]) -> bool:
    """One hangs on the other by links that have no shape."""
    for child, parent in ((one, other), (other, one)):
        above = next((body for body in _ancestors(model, child)[1:] if body in shaped), WORLD)
        if child != WORLD and above == parent:
            return True
    return False
