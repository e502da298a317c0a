# SPDX-License-Identifier: Apache-2.0
"""One step of a joint motion along which a tool follows its target, within limits of the joints (theory.md section 13).

Velocities are the solution of least squares that is damped near singular postures only (Nakamura and Hanafusa 1986),
with joints held at their bounds where they would pass them, and the others made up for it (Flacco, De Luca and Khatib
2012). Joints change to them together: each by itself at its largest acceleration would throw the tool off its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.cartesian_control import DampedRows, ToolMotion
from rbd_dynamics.algorithms.constrained_dynamics import Rows
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.lie import log_so3
from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where
from rbd_dynamics.spatial.so3 import Mat3, Vec3, matmul, sub3, transpose

Vector = Sequence[Scalar]
PASSES = 3  # of holding joints at their bounds
LENGTH = 0.5  # m: so much a turn by 1 rad weighs as
RATE = 100.0  # 1/s: with which what is left of the way is made up for
SHARE = 0.5  # of it at most, in one step
CATCH_UP = 0.25  # m/s: and no faster than so
LEAST = 0.06  # m/rad, m/m: singular values below twice of which are damped
LATE = 0.3  # m: how that grows, squared, with what is left of the way
BRAKE = 0.8  # share of the acceleration that stops a joint before its limit
SLOWING = 0.25  # share of the accelerations with which what is left of the way ends
EFFORT, RESERVE_OF_EFFORT = 0.8, 0.1  # share of effort limits that a motion may take; least one, whatever gravity does
CHANGE = 5.0  # m/s^2: of the speed with which a task makes up for what is left of its way
TAKEN = 20.0  # 1/s: with which values of constraints are taken over
STOPPED = 0.042  # m/rad: the singular value before which a motion towards singular postures stops,
STOPPING = 8.0  # rad/s^2: with this deceleration of all joints together
RESERVE = 0.01  # those that are damped, where it has come nevertheless
ITERATIONS = 4
TINY = 1e-300


class Placed(NamedTuple):
    """Orientation and place of a tool in the root frame."""

    R: Mat3
    p: Vec3

    @classmethod
    def of(cls, numbers: Vector) -> Placed:
        """The placement from 12 numbers, the rotation matrix by rows first."""
        return cls(tuple(numbers[:9]), tuple(numbers[9:]))

    def away(self, other: Placed) -> list[Scalar]:
        """Twist (6, root axes) that leads from `other` to here in a second."""
        return [*log_so3(matmul(self.R, transpose(other.R))), *sub3(self.p, other.p)]


class JointBounds(NamedTuple):
    """Bounds (nv) of positions, speeds and accelerations."""

    lower: Vector
    upper: Vector
    speed: Vector
    acceleration: Vector

    def velocities(self, q: Vector, v: Vector, dt: Scalar) -> list[tuple[Scalar, Scalar]]:
        """What each joint may have a step (s) after q and v: the least and the most."""
        found: list[tuple[Scalar, Scalar]] = []
        for at, now, low, high, speed, change in zip(q, v, *self):
            most = smaller(smaller(speed, now + change * dt), braked(high - at, change))
            least = larger(larger(-speed, now - change * dt), -braked(at - low, change))
            found.append((smaller(least, most), most))
        return found

    def weaker(self, M: Sequence[Vector], weight: Vector, efforts: Vector) -> JointBounds:
        """The bounds with accelerations that efforts allow, all of them smaller by the same share.

        M (nv, nv) and weight (nv): of the robot. efforts (nv): limits, N m or N.
        """
        share: Scalar = 1.0
        for row, held, limit in zip(M, weight, efforts):
            room = larger(EFFORT * limit - size(held), RESERVE_OF_EFFORT * limit)
            needed = sum((size(m) * a for m, a in zip(row, self.acceleration)), TINY)
            share = smaller(share, room * reciprocal(needed))
        return self._replace(acceleration=[share * a for a in self.acceleration])

    def together(self, v: Vector, wanted: Vector, dt: Scalar) -> list[Scalar]:
        """Velocities (nv) a step (s) after v on the straight way to those that are wanted, as far as joints can."""
        share: Scalar = 1.0
        for now, then, most in zip(v, wanted, self.acceleration):
            share = smaller(share, most * dt * reciprocal(size(then - now) + TINY))
        return [now + share * (then - now) for now, then in zip(v, wanted)]

    def slowing(self, direction: Vector) -> Scalar:
        """The deceleration of a motion along `direction` (nv) that all joints can take part in."""
        most: Scalar = 1.0 / TINY
        for slope, change in zip(direction, self.acceleration):
            most = smaller(most, change * reciprocal(size(slope) + TINY))
        return SLOWING * most

    def extremes(self, q: Vector) -> list[tuple[Scalar, Scalar]]:
        """The least and the most that each joint may have at q, however it changes."""
        rows = zip(q, self.lower, self.upper, self.speed, self.acceleration)
        return [(-smaller(s, braked(at - a, c)), smaller(s, braked(b - at, c))) for at, a, b, s, c in rows]


class FreeJoints(NamedTuple):
    """The metric in which joints count (1) or do not (0), as `DampedRows` takes it."""

    free: list[Scalar]

    def solve(self, row: Vector) -> list[Scalar]:
        return [f * x for f, x in zip(self.free, row)]


class Reached(NamedTuple):
    """Joints (nv) and tool after a step.

    placed (12): the tool. twist, acceleration (6): of its point, root axes. left: of the way to the target, m.
    """

    q: list[Scalar]
    v: list[Scalar]
    placed: list[Scalar]
    twist: list[Scalar]
    acceleration: list[Scalar]
    left: Scalar


def reachable_step(
    model: Model,
    frame: Frame,
    q: Vector,
    v: Vector,
    targets: tuple[Placed, Placed],
    drift: Vector,
    bounds: JointBounds,
    dt: Scalar,
) -> Reached:
    """The step from q, v.

    Parameters:
        frame: of the tool.
        targets: where the tool was to be and where it is to be after the step.
        drift: velocity (nv) of what the tool leaves free.
        dt: s, > 0.
    """
    before, after = targets
    tool = ToolMotion.of(model, q, v, frame)
    rows = [weighted(column) for column in zip(*tool.jacobian)]
    rows = [list(row) for row in zip(*rows)]
    left = weighted(before.away(Placed(tool.R, tool.p)))
    late = sqrt(dot(left, left) + TINY)
    least = [LEAST * LEAST + LATE * LATE * late] * 6
    free: list[Scalar] = [1.0] * model.nv
    towards = DampedRows.of(FreeJoints(free), rows, least).quasi([x * reciprocal(late) for x in left])
    rate = smaller(RATE, SHARE * reciprocal(dt))
    rate = smaller(rate, smaller(CATCH_UP, sqrt(bounds.slowing(towards) * late)) * reciprocal(late))
    wanted = [m * reciprocal(dt) + rate * x for m, x in zip(weighted(after.away(before)), left)]

    allowed = bounds.extremes(q)
    speed: list[Scalar] = list(drift)
    held = speed
    for _ in range(PASSES):
        lacking = [w - dot(row, speed) for row, w in zip(rows, wanted)]
        damped = DampedRows.of(FreeJoints(free), rows, least)
        speed = [x + f * more for x, f, more in zip(speed, free, damped.quasi(lacking))]
        within = [less(x, low) + less(high, x) for x, (low, high) in zip(speed, allowed)]
        free = [where(out, 0.0, f) for out, f in zip(within, free)]
        held = [larger(low, smaller(high, x)) for x, (low, high) in zip(speed, allowed)]
        # joints that are free begin anew, for what those at their bounds leave to them
        speed = [where(f, d, h) for f, d, h in zip(free, drift, held)]
    final = [
        larger(low, smaller(high, x))
        for x, (low, high) in zip(bounds.together(v, held, dt), bounds.velocities(q, v, dt))
    ]
    there = [at + dt * x for at, x in zip(q, final)]
    moved = ToolMotion.of(model, there, final, frame)
    change = [(b - a) * reciprocal(dt) for a, b in zip(v, final)]
    return Reached(
        there,
        final,
        [*moved.R, *moved.p],
        [dot(row, final) for row in moved.jacobian],
        [dot(row, change) + dot(bent, final) for row, bent in zip(moved.jacobian, moved.rate)],
        late,
    )


class ReachedRows(NamedTuple):
    """Joints (nv) and task rows (k) after a step. left: of the way to the target, m."""

    q: list[Scalar]
    v: list[Scalar]
    theta: list[Scalar]
    rate: list[Scalar]
    acceleration: list[Scalar]
    left: Scalar


class RowTargets(NamedTuple):
    """What rows, m constraints and then k of a task, are to become.

    before, after (k): values of the task at the begin and at the end of the step. given (m): values of the
    constraints as they are, which the motion takes over slowly. weights (m + k): of rows, in m. priority (m + k).
    """

    before: Vector
    after: Vector
    given: Vector
    weights: Sequence[float]
    priority: Sequence[int]


def reachable_rows_step(
    rows_at: Callable[[Vector, Vector], Rows],
    q: Vector,
    v: Vector,
    targets: RowTargets,
    drift: Vector,
    bounds: JointBounds,
    dt: Scalar,
) -> ReachedRows:
    """Step of a joint motion along which rows of constraints and of a task follow their targets.

    rows_at: gives the rows at a state. The task stays on its way: where a joint would be too fast, all of it is slower.
    In front of joints' limits and of singular postures it stops.
    """
    m = len(targets.given)
    here = rows_at(q, v)
    matrix = weighted_rows(targets.weights, here)
    left = [w * (b - x) for w, b, x in zip(targets.weights[m:], targets.before, here.position[m:])]
    late = sqrt(dot(left, left) + TINY)
    moved = [w * (b - a) * reciprocal(dt) for w, a, b in zip(targets.weights[m:], targets.before, targets.after)]
    # what is left is made up for no faster than it can end, and that grows no faster either, from what leads there
    before = [dot(row, v) - x for row, x in zip(matrix[m:], moved)]
    along = larger(0.0, dot(before, left) * reciprocal(late))
    speed = smaller(smaller(CATCH_UP, smaller(RATE, SHARE * reciprocal(dt)) * late), sqrt(2.0 * CHANGE * late))
    speed = smaller(speed, along + CHANGE * dt)
    wanted = [x + speed * reciprocal(late) * more for x, more in zip(moved, left)]
    taken = smaller(TAKEN, SHARE * reciprocal(dt))
    followed = [taken * w * (g - h) for w, g, h in zip(targets.weights, targets.given, here.position[:m])]
    lacking = [w - dot(row, drift) for w, row in zip([*followed, *([0.0] * len(wanted))], matrix)]
    metric = FreeJoints([1.0] * len(q))
    damped = DampedRows.of(metric, matrix, [RESERVE * RESERVE] * len(matrix), targets.priority)
    base = [d + x for d, x in zip(drift, damped.quasi(lacking))]
    move = damped.quasi([*([0.0] * m), *wanted])
    share = share_within(base, move, bounds.extremes(q))
    # a law that inverts the rows needs them apart: towards singular postures the motion slows down and stops
    ahead = rows_at([at + dt * (b + share * x) for at, b, x in zip(q, base, move)], v)
    regular = [TINY] * len(matrix)
    after = DampedRows.of(metric, weighted_rows(targets.weights, ahead), regular, targets.priority)
    apart = least_gain(DampedRows.of(metric, matrix, regular, targets.priority))
    later = least_gain(after)
    falls, fast = (apart - later) * reciprocal(dt), share * sqrt(dot(move, move) + TINY)
    room = larger(apart - STOPPED * STOPPED, 0.0)
    stopping = smaller(1.0, sqrt(2.0 * STOPPING * room * reciprocal(larger(falls * fast, 0.0) + TINY) + TINY))
    share = share * where(less(later, apart), stopping, 1.0)
    final = [b + share * x for b, x in zip(base, move)]
    final = [larger(low, smaller(high, x)) for x, (low, high) in zip(final, bounds.extremes(q))]
    there = [at + dt * x for at, x in zip(q, final)]
    change = [(b - a) * reciprocal(dt) for a, b in zip(v, final)]
    found = rows_at(there, final)
    return ReachedRows(
        there,
        final,
        list(found.position[m:]),
        [dot(row, final) for row in found.matrix[m:]],
        [dot(row, change) + bent for row, bent in zip(found.matrix[m:], found.bias[m:])],
        late,
    )


def share_within(base: Vector, move: Vector, allowed: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    """The largest share (0 to 1) with which base + share move (nv) goes nowhere faster than is allowed."""
    share: Scalar = 1.0
    for b, m, (low, high) in zip(base, move, allowed):
        forward = less(0.0, m)
        room = larger(where(forward, high - b, b - low), 0.0)
        share = smaller(share, room * reciprocal(where(forward, m, -m) + TINY))
    return share


def weighted_rows(weights: Sequence[float], rows: Rows) -> list[list[Scalar]]:
    """The matrix of rows, each multiplied by its weight."""
    return [[w * x for x in row] for w, row in zip(weights, rows.matrix)]


def least_gain(rows: DampedRows) -> Scalar:
    """The least singular value of rows (nearly, by inverse iteration; never less than it is), squared."""
    n = len(rows.X)
    x: list[Scalar] = [1.0 + 0.1 * k for k in range(n)]
    square: Scalar = 0.0
    for _ in range(ITERATIONS):
        size = reciprocal(sqrt(dot(x, x) + TINY))
        x = rows.inertia_times([size * entry for entry in x])
        square = dot(x, x)
    return reciprocal(sqrt(square + TINY))


def weighted(six: Vector) -> list[Scalar]:
    """The six numbers with the rotations multiplied by `LENGTH`, in m."""
    return [*(LENGTH * x for x in six[:3]), *six[3:]]


def braked(room: Scalar, acceleration: Scalar) -> Scalar:
    """Largest speed from which a joint stops within that room."""
    some = where(less(0.0, room), room, 0.0)
    return sqrt(2.0 * BRAKE * acceleration * some + TINY)


def size(a: Scalar) -> Scalar:
    return where(less(a, 0.0), -a, a)


def smaller(a: Scalar, b: Scalar) -> Scalar:
    return where(less(a, b), a, b)


def larger(a: Scalar, b: Scalar) -> Scalar:
    return where(less(a, b), b, a)
