# SPDX-License-Identifier: Apache-2.0
"""A step of time of a robot that touches nothing, semi-implicit: v' = v + h a, q' = q + h v' (theory.md section 12).

Friction acts as it is at v', position limits stop joints without rebound. Which joints stand at a limit is found by
repetition: one evaluation either ends a step, or finds other joints at their limits and leaves the state as it is. So
many states move side by side, each as many steps as it shall, without a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.free_base_step import free_base_step, moved
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.passive_forces import friction_torque
from rbd_dynamics.model.joints import Floating, Spherical
from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, absolute, dot, less, reciprocal, where

Vector = Sequence[Scalar]
FRICTION_ITERATIONS = 3
LIMIT_ITERATIONS = 20
SLOWEST = 1e-6  # rad/s, m/s: below it Coulomb friction is as at this speed
FASTEST = 1e4  # rad/s, m/s: a robot faster than this is not one any more
ACCURATE = 1e-12  # of the base's mean velocity, relative


class TimeStep(NamedTuple):
    """What one evaluation leaves.

    side: +1 where a joint stands at its upper limit, -1 at the lower one, for the next evaluation. counts: steps that
    are left, negative where the robot was faster than anything: the state is that before; and evaluations that this
    step has taken so far. doubt: above 1 where the base turned too far in a step for it to be accurate.
    """

    q: list[Scalar]
    v: list[Scalar]
    a: list[Scalar]
    side: list[Scalar]
    counts: tuple[Scalar, Scalar]
    doubt: Scalar


def is_plain(model: Model, *, spherical: bool = True) -> bool:
    """Whether the first joint alone floats on the world, and positions of all others have the velocity as their rate.

    spherical: ball joints between bodies count as well; at the world they carry a momentum of their own.
    """
    for k, body in enumerate(model.bodies):
        kind = body.joint.kind
        if isinstance(kind, Floating):
            if k > 0 or body.parent != WORLD or body.joint.v_index != 0:
                return False
        elif isinstance(kind, Spherical):
            if not spherical or body.parent == WORLD:
                return False
        elif type(kind).integrate is not JointKind.integrate or kind.nq != kind.nv:
            return False
    return True


def time_step(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Vector,
    v: Vector,
    last: Vector,
    tau: Vector,
    h: Scalar,
    limits: tuple[Vector, Vector],
    side: Vector,
    count: Vector,
    *,
    friction: bool,
) -> TimeStep:
    """One semi-implicit step of a model that `is_plain`.

    last: acceleration of the step before. limits: lowest and highest positions (nv), of those degrees of freedom that
    have some in the model; very large where there is none. count: as `counts` in `TimeStep`; nothing moves where no
    steps are left.
    """
    n, floats = model.nv, isinstance(model.bodies[0].joint.kind, Floating)
    M = mass_matrix(model, inertias, q)
    still: list[Scalar] = [0.0] * n
    free = [t - b for t, b in zip(tau, inverse_dynamics(model, inertias, q, v, still))]
    stops = _stops(model, q, v, h, limits, side)
    a: list[Scalar] = still
    forces: dict[int, Scalar] = {}
    reached, matrix, right = list(v), M, free
    for _ in range(FRICTION_ITERATIONS if friction else 1):
        if friction:  # M a = tau - b - drag (v + h a)
            drag = _drag(model, reached)
            matrix = [[x + h * drag[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(M)]
            right = [x - d * y for x, d, y in zip(free, drag, v)]
        a, forces = _accelerations(matrix, right, stops)
        reached = [x + h * y for x, y in zip(v, a)]
    found = [_side(stops[i], h, reached[i], forces[i]) if i in stops else 0.0 for i in range(n)]
    left, tried = count
    active = less(0.5, left)
    differs: Scalar = 0.0
    for i in stops:
        change_of_side = found[i] - stops[i].side
        differs = differs + change_of_side * change_of_side
    settled = where(less(differs, 0.5), 1.0, less(LIMIT_ITERATIONS - 1.5, tried))
    doubt: Scalar = 0.0
    if floats:
        coriolis = inverse_dynamics(model, inertias, q, v, still, gravity=False, springs=False)
        after, reached, change = free_base_step(model, inertias, q, v, reached, coriolis, h)
        doubt = where(active, where(less(ACCURATE**2, change), 2.0, 0.0), 0.0)
    else:
        after = moved(model, q, reached, h)
    sane = less(dot(reached, reached), FASTEST**2)
    moves = where(active, where(settled, sane, 0.0), 0.0)
    left_after = where(settled, where(sane, left - 1.0, -left), left)
    tried_after = where(settled, 0.0, tried + 1.0)
    return TimeStep(
        [where(moves, new, old) for new, old in zip(after, q)],
        [where(moves, new, old) for new, old in zip(reached, v)],
        [where(moves, new, old) for new, old in zip(a, last)],
        [where(active, new, old) if i in stops else 0.0 for i, (new, old) in enumerate(zip(found, side))],
        (where(active, left_after, left), where(active, tried_after, tried)),
        doubt,
    )


class _Stop(NamedTuple):
    """A degree of freedom with limits: where it is, and the acceleration that keeps it at the one where it stands."""

    position: Scalar
    lower: Scalar
    upper: Scalar
    side: Scalar
    held: Scalar
    target: Scalar


def _stops(
    model: Model, q: Vector, v: Vector, h: Scalar, limits: tuple[Vector, Vector], side: Vector
) -> dict[int, _Stop]:
    """Limits that a degree of freedom may meet in this step, by its index."""
    found = {}
    rate = 1.0 / h
    places = {joint.v_index: joint.q_index for joint in model.joints if joint.kind.nv == 1}
    for i in limited(model):
        lower, upper, position = limits[0][i], limits[1][i], q[places[i]]
        held = less(0.5, side[i] * side[i])
        limit = where(less(0.0, side[i]), upper, lower)
        target = where(held, ((limit - position) * rate - v[i]) * rate, 0.0)
        found[i] = _Stop(position, lower, upper, side[i], held, target)
    return found


def limited(model: Model) -> list[int]:
    """Degrees of freedom that have a position limit."""
    return [
        joint.v_index
        for joint in model.joints
        if joint.kind.nv == 1
        and joint.kind.name != "continuous"
        and (abs(joint.limits.lower) < float("inf") or abs(joint.limits.upper) < float("inf"))
    ]


def _accelerations(
    matrix: Sequence[Vector], right: Vector, stops: dict[int, _Stop]
) -> tuple[list[Scalar], dict[int, Scalar]]:
    """a with matrix a = right + the limits' forces, and these; of what stands at a limit the acceleration is known.

    As in `tree_factor`, from the tips to the base, but what stands at a limit is not eliminated.
    """
    n = len(right)
    rest, left = [list(row) for row in matrix], list(right)
    inverse: list[Scalar] = [0.0] * n
    alone: list[Scalar] = [0.0] * n  # without what those nearer the base add to it
    for k in reversed(range(n)):
        inverse[k] = reciprocal(rest[k][k])
        if k in stops:
            inverse[k] = where(stops[k].held, 0.0, inverse[k])
        alone[k] = left[k] * inverse[k] + (stops[k].target if k in stops else 0.0)
        for i in range(k):
            left[i] = left[i] - rest[i][k] * alone[k]
            scaled = rest[i][k] * inverse[k]
            for j in range(i + 1):
                rest[i][j] = rest[j][i] = rest[i][j] - scaled * rest[j][k]
    a: list[Scalar] = []
    forces = {}
    for k in range(n):
        above = dot([rest[i][k] for i in range(k)], a)
        a.append(alone[k] - inverse[k] * above)
        if k in stops:
            forces[k] = rest[k][k] * stops[k].target + above - left[k]
    return a, forces


def _side(stop: _Stop, h: Scalar, speed: Scalar, force: Scalar) -> Scalar:
    """Limit at which a joint stands after an evaluation, -1, 0 or 1. force: of the limit; it pushes, never pulls."""
    reached = stop.position + h * speed
    tolerance = 1e-12 + 1e-9 * absolute(reached)
    over, under = less(stop.upper + tolerance, reached), less(reached, stop.lower - tolerance)
    pulls = less(0.0, stop.side * force)
    return where(pulls, 0.0, where(stop.held, stop.side, over - under))


def _drag(model: Model, v: Vector) -> list[Scalar]:
    """Friction torque over speed."""
    speeds = [where(less(absolute(x), SLOWEST), SLOWEST, x) for x in v]
    return [torque / speed for torque, speed in zip(friction_torque(model, speeds), speeds)]
