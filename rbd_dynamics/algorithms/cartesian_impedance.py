# SPDX-License-Identifier: Apache-2.0
"""Spring, damper and energy tank of a tool, and what keeps joints from where they may not be (theory.md section 13).

Everything is in the axes of stiffness, at the tool's point, angular part first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.spatial.lie import left_jacobian_inverse_so3, right_jacobian_inverse_so3
from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, scale3

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]
TINY = 1e-300


def spring_energy(K: Matrix, error: Vector) -> Scalar:
    """error^T K error / 2."""
    return 0.5 * dot(error, [dot(row, error) for row in K])


def spring_wrench(K: Matrix, error: Vector, with_tool: Scalar) -> list[Scalar]:
    """Minus the derivative of `spring_energy` by the tool's displacement; error (6) is (phi, p_d - p).

    with_tool: 1 where the axes turn with the tool, 0 where they do not.
    """
    g = [dot(row, error) for row in K]
    phi: Vec3 = (error[0], error[1], error[2])
    off: Vec3 = (error[3], error[4], error[5])
    moment, force = (g[0], g[1], g[2]), (g[3], g[4], g[5])
    fixed, turned = left_jacobian_inverse_so3(phi, moment), right_jacobian_inverse_so3(phi, moment)
    exact = tuple(where(with_tool, b, a) for a, b in zip(fixed, turned))
    return [*add3(exact, scale3(with_tool, cross(off, force))), *force]


def damping_of(given: Vector, ratios: Vector, K: Matrix) -> list[Scalar]:
    """Damping per inertia of each axis: as given, or where negative 2 ratio sqrt(k)."""
    return [
        where(less(d, 0.0), 2.0 * ratio * sqrt(K[k][k] + TINY), d) for k, (d, ratio) in enumerate(zip(given, ratios))
    ]


def within(wrench: Vector, largest_moment: Scalar, largest_force: Scalar) -> list[Scalar]:
    """Shortened where moment or force is larger; their directions stay."""
    found: list[Scalar] = []
    for part, most in ((wrench[:3], largest_moment), (wrench[3:], largest_force)):
        square = dot(part, part)
        share = where(less(most * most, square), most * reciprocal(sqrt(square + TINY)), 1.0)
        found += [share * value for value in part]
    return found


class Stiffening(NamedTuple):
    """Stiffness of this step, and what the tank holds after it, J."""

    K: list[list[Scalar]]
    tank: Scalar


def stiffen(
    now: Matrix, wanted: Matrix, error: Vector, tank: Scalar, most: Scalar, gained: Scalar, share: Scalar
) -> Stiffening:
    """Move stiffness a share of the way from `now` to `wanted`, as far as the tank pays for the energy that this adds.

    gained: what has been dissipated into the tank meanwhile, J. most: the tank's size, J; 0: there is none, the way
    is always gone. What a spring that becomes softer sets free is the tank's.
    """
    before, after = spring_energy(now, error), spring_energy(wanted, error)
    needed = share * (after - before)
    paid = where(less(tank, needed), tank * reciprocal(where(less(tank, needed), needed, 1.0)), 1.0)
    step = share * where(less(0.0, most), paid, 1.0)
    K = [[a + step * (b - a) for a, b in zip(*rows)] for rows in zip(now, wanted)]
    left = tank - step * (after - before) + gained
    left = where(less(left, 0.0), 0.0, left)
    return Stiffening(K, where(less(most, left), most, left))


def limit_torque(
    q: Scalar, v: Scalar, lower: Scalar, upper: Scalar, margin: Scalar, torque: Scalar, inertia: Scalar, fastest: Scalar
) -> Scalar:
    """Keeps a joint from its limits: a spring that begins at `margin` (rad, m) from them, critically damped.

    torque: N m or N, what it has where the limit is; inertia: of the joint's own freedom. fastest: rad/s, of the spring
    on this inertia: one that is too light for the torque has less.
    """
    below, above = lower + margin - q, q - (upper - margin)
    inside = where(less(0.0, below), below, where(less(0.0, above), -above, 0.0))
    stiffness, most = torque * reciprocal(margin + TINY), inertia * fastest * fastest
    stiffness = where(less(stiffness, most), stiffness, most)
    deep = inside * inside * reciprocal(margin * margin + TINY)  # the damper comes smoothly, too
    deep = where(less(1.0, deep), 1.0, deep)
    return stiffness * inside - 2.0 * deep * sqrt(stiffness * inertia + TINY) * v


def singularity_torque(measure: Scalar, gradient: Vector, least: Scalar, stiffness: Scalar) -> list[Scalar]:
    """Minus the derivative of stiffness (1 - measure / least)^2 / 2 where the measure is below the least."""
    inverse = reciprocal(least + TINY)
    share = where(less(measure, least), stiffness * (1.0 - measure * inverse) * inverse, 0.0)
    return [share * x for x in gradient]
