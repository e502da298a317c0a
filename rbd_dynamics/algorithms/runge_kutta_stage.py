# SPDX-License-Identifier: Apache-2.0
"""A stage of an explicit Runge-Kutta step of a robot that touches nothing.

What is integrated is the displacement x of q = q0 * exp(x), whose rate is the inverse right Jacobian of the group times
v, so quaternions stay of unit length (Munthe-Kaas, Applied Numerical Mathematics 29, 1999). A step takes as many
evaluations as its method has stages, one after the other, so that the dynamics are in the program once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.hybrid_dynamics import forward_dynamics
from rbd_dynamics.algorithms.time_step import FASTEST, limited, moves_by_its_rate
from rbd_dynamics.model.joints import Floating, Spherical
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.lie import left_jacobian_so3, right_jacobian_inverse_se3, right_jacobian_inverse_so3
from rbd_dynamics.spatial.quaternions import quaternion_exp, quaternion_product, rotate_by_quaternion
from rbd_dynamics.spatial.scalar import Scalar, dot, less, where

Vector = Sequence[Scalar]
MEMORY = 4  # vectors of nv numbers that a stage leaves to the next


class Method(NamedTuple):
    """An explicit method each of whose stages begins from the step's start by the rate of the stage before.

    Attributes:
        weights: of the rates of all stages. ahead: how far by the rate of the stage before, in steps, all but the first
            begin.
    """

    weights: tuple[float, ...]
    ahead: tuple[float, ...]


EXPLICIT_EULER = Method((1.0,), ())
RK4 = Method((1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0), (0.5, 0.5, 1.0))


class Stage(NamedTuple):
    """What one evaluation leaves.

    q, v, a: the state, which changes with the last stage, and the mean acceleration of the last step. memory:
    displacement and velocity at which the next stage begins, and the sums of their rates so far. counts: steps that
    are left, negative where the next one would pass a limit or be faster than anything: the state is that before; and
    stages of this step that are done.
    """

    q: list[Scalar]
    v: list[Scalar]
    a: list[Scalar]
    memory: list[Scalar]
    counts: tuple[Scalar, Scalar]


def moves_plainly(model: Model) -> bool:
    """Whether all joints float, are balls, or have the velocity as their position's rate."""
    kinds = [body.joint.kind for body in model.bodies]
    return all(isinstance(kind, (Floating, Spherical)) or moves_by_its_rate(kind) for kind in kinds)


def runge_kutta_stage(
    method: Method,
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Vector,
    v: Vector,
    last: Vector,
    tau: Vector,
    h: Scalar,
    limits: tuple[Vector, Vector],
    memory: Vector,
    count: Vector,
    *,
    friction: bool,
) -> Stage:
    """One stage of a step of a model that `moves_plainly`.

    last: mean acceleration of the step before. limits: lowest and highest positions (nv), of those degrees of freedom
    that have some in the model; very large where there is none. memory, count: as in `Stage`; nothing moves where no
    steps are left.
    """
    n = model.nv
    left, stage = count
    active, begins = less(0.5, left), less(stage, 0.5)
    ends = less(len(method.weights) - 1.5, stage)
    displacement, velocity, moved, gained = (list(memory[k * n : (k + 1) * n]) for k in range(MEMORY))
    displacement, moved, gained = (
        [where(begins, 0.0, number) for number in numbers] for numbers in (displacement, moved, gained)
    )
    velocity = [where(begins, new, old) for new, old in zip(v, velocity)]
    weight, ahead = _chosen(method.weights, stage), _chosen((*method.ahead, 0.0), stage)

    at = displaced(model, q, displacement)
    acceleration = forward_dynamics(model, inertias, at, velocity, tau, friction=friction)
    rate = displacement_rate(model, displacement, velocity)
    moved = [x + weight * y for x, y in zip(moved, rate)]
    gained = [x + weight * y for x, y in zip(gained, acceleration)]
    reached = [x + h * y for x, y in zip(v, gained)]
    after = displaced(model, q, [h * x for x in moved])
    sane = where(_is_within(model, after, limits), less(dot(reached, reached), FASTEST**2), 0.0)
    moves = where(active, where(ends, sane, 0.0), 0.0)
    left_after = where(ends, where(sane, left - 1.0, -left), left)
    return Stage(
        [where(moves, new, old) for new, old in zip(after, q)],
        [where(moves, new, old) for new, old in zip(reached, v)],
        [where(moves, new, old) for new, old in zip(gained, last)],
        [
            *(h * ahead * x for x in rate),
            *(x + h * ahead * y for x, y in zip(v, acceleration)),
            *moved,
            *gained,
        ],
        (where(active, left_after, left), where(ends, 0.0, stage + 1.0)),
    )


def _chosen(numbers: Sequence[float], stage: Scalar) -> Scalar:
    """That of this stage."""
    found: Scalar = numbers[0]
    for k, number in enumerate(numbers[1:], 1):
        if number != numbers[k - 1]:
            found = where(less(k - 0.5, stage), number, found)
    return found


def displaced(model: Model, q: Vector, x: Vector) -> list[Scalar]:
    """q * exp(x): positions after unit time at the constant velocities x."""
    after = list(q)
    for joint in model.joints:
        first = joint.q_index
        own = x[joint.v_index : joint.v_index + joint.kind.nv]
        if isinstance(joint.kind, Floating):
            turn, quaternion = tuple(own[:3]), tuple(q[first + 3 : first + 7])
            way = rotate_by_quaternion(quaternion, left_jacobian_so3(turn, tuple(own[3:])))
            after[first : first + 3] = [a + b for a, b in zip(q[first : first + 3], way)]
            after[first + 3 : first + 7] = quaternion_product(quaternion, quaternion_exp(turn))
        elif isinstance(joint.kind, Spherical):
            after[first : first + 4] = quaternion_product(tuple(q[first : first + 4]), quaternion_exp(tuple(own)))
        else:
            after[first : first + len(own)] = [a + b for a, b in zip(q[first:], own)]
    return after


def displacement_rate(model: Model, x: Vector, v: Vector) -> list[Scalar]:
    """Rate of x (nv) in q = q0 * exp(x) at the velocity v: the inverse right Jacobian of the group, times v."""
    rate = list(v)
    for joint in model.joints:
        own = slice(joint.v_index, joint.v_index + joint.kind.nv)
        if isinstance(joint.kind, Floating):
            rate[own] = right_jacobian_inverse_se3(tuple(x[own]), tuple(v[own]))
        elif isinstance(joint.kind, Spherical):
            rate[own] = right_jacobian_inverse_so3(tuple(x[own]), tuple(v[own]))
    return rate


def _is_within(model: Model, q: Vector, limits: tuple[Vector, Vector]) -> Scalar:
    """1 where no joint is beyond a limit, else 0."""
    places = {joint.v_index: joint.q_index for joint in model.joints if joint.kind.nv == 1}
    beyond: Scalar = 0.0
    for i in limited(model):
        position = q[places[i]]
        beyond = beyond + less(limits[1][i], position) + less(position, limits[0][i])
    return less(beyond, 0.5)
