# SPDX-License-Identifier: Apache-2.0
"""A step of time of a robot that touches nothing, semi-implicit: v' = v + h a, q' = q + h v' (theory.md section 12).

Coulomb friction holds joints or brakes them, other friction acts as it is at v', position limits stop joints without
rebound. Which joints are held, by friction or at a limit, is found by repetition: one evaluation either ends a step, or
finds others held and leaves the state as it is. So many states move side by side, each as many steps as it shall,
without a branch. What is held is a linear complementarity problem with bounds: all that do not obey the law change at
once, and where this goes in circles the first of them alone, which comes to an end (Judice and Pires, Computers and
Operations Research 19, 1992; Murty, Linear Complementarity, 1988).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.free_base_step import free_base_step, moved
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.passive_forces import drag_torque, dry_friction, is_viscous
from rbd_dynamics.model.joints import Floating, Spherical
from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, absolute, dot, less, reciprocal, where

Vector = Sequence[Scalar]
FRICTION_ITERATIONS = 3
TOGETHER = 12  # evaluations of a step after which one joint at a time changes
MOST_EVALUATIONS = 1000  # after which the step is refused
SLOWEST = 1e-6  # rad/s, m/s: below it friction is as at this speed
NO_SPEED = 1e300
SAME_SPEED = 1e-12  # rad/s, m/s: slips that are rounding
SAME_FORCE = 1e-9  # of dry friction: by so much it may hold more
FASTEST = 1e4  # rad/s, m/s: a robot faster than this is not one any more
ACCURATE = 1e-12  # of the base's mean velocity, relative


class TimeStep(NamedTuple):
    """What one evaluation leaves.

    side: what each degree of freedom does, for the next evaluation: +2 where it stands at its upper limit, -2 at the
    lower one; with dry friction +1 where it slides forwards, -1 backwards, 0 where it is held; without, 0. counts:
    steps that are left, negative where the robot was faster than anything: the state is that before; and evaluations
    that this step has taken so far. doubt: above 1 where the base turned too far in a step for it to be accurate, or
    where what is held was not found.
    """

    q: list[Scalar]
    v: list[Scalar]
    a: list[Scalar]
    side: list[Scalar]
    counts: tuple[Scalar, Scalar]
    doubt: Scalar


def moves_by_its_rate(kind: JointKind) -> bool:
    """Whether a joint's position after a time at constant velocity is the sum of both, number by number."""
    return type(kind).integrate is JointKind.integrate and kind.nq == kind.nv


def is_plain(model: Model, *, spherical: bool = True, several: bool = False) -> bool:
    """Whether the first joint alone floats on the world, and positions of all others have the velocity as their rate.

    spherical: ball joints between bodies count as well; at the world they carry a momentum of their own. several: so
    do other joints that float on the world.
    """
    for k, body in enumerate(model.bodies):
        kind = body.joint.kind
        if isinstance(kind, Floating):
            if body.parent != WORLD or (not several and (k > 0 or body.joint.v_index != 0)):
                return False
        elif isinstance(kind, Spherical):
            if not spherical or body.parent == WORLD:
                return False
        elif not moves_by_its_rate(kind):
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
    stops = _stops(model, q, v, h, limits, side, dry_friction(model) if friction else still)
    for i, stop in stops.items():
        if stop.level > 0.0:
            free[i] = free[i] - stop.level * stop.sliding
    a: list[Scalar] = still
    pushes: dict[int, Scalar] = {}
    reached, matrix, right = list(v), M, free
    for _ in range(FRICTION_ITERATIONS if friction and not is_viscous(model) else 1):
        if friction:  # M a = tau - b - drag (v + h a)
            drag = _drag(model, reached)
            matrix = [[x + h * drag[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(M)]
            right = [x - d * y for x, d, y in zip(free, drag, v)]
        a, pushes = _accelerations(matrix, right, stops)
        reached = [x + h * y for x, y in zip(v, a)]
    left, tried = count
    active, one_by_one = less(0.5, left), less(TOGETHER - 0.5, tried)
    found, differs = list(side), 0.0
    for i, stop in stops.items():
        reached[i] = where(stop.held, stop.speed, reached[i])  # exactly: what sticks does not creep
        new = _side(stop, reached[i], pushes[i])
        found[i] = where(less(0.5, one_by_one * differs), stop.side, new)
        differs = differs + absolute(found[i] - stop.side)
    settled = less(differs, 0.5)
    lost = where(settled, 0.0, less(MOST_EVALUATIONS - 0.5, tried))
    doubt = where(active, 2.0 * lost, 0.0)
    if floats:
        coriolis = inverse_dynamics(model, inertias, q, v, still, gravity=False, springs=False)
        after, reached, change = free_base_step(model, inertias, q, v, reached, coriolis, h)
        doubt = doubt + where(active, where(less(ACCURATE**2, change), 2.0, 0.0), 0.0)
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
    """A degree of freedom with dry friction or limits: what it does, and what that means (see `contacts/joint_law.py`).

    level: what dry friction holds, a number. lower, upper: velocities after the step that limits allow; slack: how much
    more is rounding. side: see `TimeStep`; sliding: the same, 0 at limits. held: whether its velocity after the step is
    given, as `speed`, and so its acceleration, as `target`, which is 0 else.
    """

    level: float
    lower: Scalar
    upper: Scalar
    slack: Scalar
    side: Scalar
    sliding: Scalar
    held: Scalar
    speed: Scalar
    target: Scalar


def _stops(
    model: Model, q: Vector, v: Vector, h: Scalar, limits: tuple[Vector, Vector], side: Vector, levels: Sequence[float]
) -> dict[int, _Stop]:
    """What limits or dry friction may hold in this step, by the index of the degree of freedom."""
    found = {}
    rate = 1.0 / h
    places = {joint.v_index: joint.q_index for joint in model.joints if joint.kind.nv == 1}
    ends = limited(model)
    for i, level in enumerate(levels):
        lower, upper, slack, stands = -NO_SPEED, NO_SPEED, SAME_SPEED, 0.0
        if i in ends:
            position = q[places[i]]
            lower, upper = (limits[0][i] - position) * rate, (limits[1][i] - position) * rate
            slack = (1e-12 + 1e-9 * absolute(position)) * rate
            stands = less(1.5, absolute(side[i]))
        elif not level > 0.0:
            continue
        sliding = where(stands, 0.0, side[i])
        held = 1.0 - absolute(sliding) if level > 0.0 else stands
        speed = where(stands, where(less(0.0, side[i]), upper, lower), 0.0)
        target = where(held, (speed - v[i]) * rate, 0.0)
        found[i] = _Stop(level, lower, upper, slack, side[i], sliding, held, speed, target)
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
    """a with matrix a = right + the forces that hold, and these; of what is held the acceleration is known.

    As in `tree_factor`, from the tips to the base, but what is held is not eliminated.
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
    pushes = {}
    for k in range(n):
        above = dot([rest[i][k] for i in range(k)], a)
        a.append(alone[k] - inverse[k] * above)
        if k in stops:
            pushes[k] = rest[k][k] * stops[k].target + above - left[k]
    return a, pushes


def _side(stop: _Stop, speed: Scalar, force: Scalar) -> Scalar:
    """What it does after an evaluation (see `TimeStep`): as before where that obeys the law, else what is next to it.

    force: that holds it, where it is held.
    """
    level, lower, upper, side = stop.level, stop.lower, stop.upper, stop.side
    over, under = less(upper + stop.slack, speed), less(speed, lower - stop.slack)
    way = where(less(0.0, side), 1.0, -1.0)  # of those that slide or stand at a limit
    if not level > 0.0:
        pulls = less(0.0, way * force)  # a limit pushes, it does not pull
        return where(stop.held, where(pulls, 0.0, side), 2.0 * over - 2.0 * under)
    may_go, may_return = less(0.0, upper), less(lower, 0.0)
    # at a limit, which it may reach with the friction ahead of it or, where it comes back from beyond, behind
    coming = where(less(0.0, way * stop.speed), level, -level)
    leaves = less(SAME_FORCE * level - coming, way * force)
    standing = where(leaves, where(less(0.0, way * stop.speed), way, -way), side)
    turns = less(way * speed, -SAME_SPEED)
    sliding = where(turns, 0.0, side)
    most = level * (1.0 + SAME_FORCE)
    forwards, backwards = less(force, -most), less(most, force)
    held = where(forwards, 2.0 - may_go, where(backwards, may_return - 2.0, 0.0))
    within = where(less(0.5, absolute(stop.sliding)), sliding, held)
    within = where(over, where(turns * may_go, 0.0, 2.0), where(under, where(turns * may_return, 0.0, -2.0), within))
    return where(less(1.5, absolute(side)), standing, within)


def _drag(model: Model, v: Vector) -> list[Scalar]:
    """Torque over speed of the friction that is not dry."""
    if is_viscous(model):
        return drag_torque(model, [1.0] * model.nv)
    speeds = [where(less(absolute(x), SLOWEST), SLOWEST, x) for x in v]
    return [torque / speed for torque, speed in zip(drag_torque(model, speeds), speeds)]
