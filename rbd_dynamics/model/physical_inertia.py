# SPDX-License-Identifier: Apache-2.0
"""Which inertias some distribution of mass has, and by how much another misses being one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.so3 import Sym3

Array = NDArray[np.float64]

# An inertia may miss being physical by this much, which is what rounding in files comes to:
ROUNDED = 1e-3  # of its largest principal moment
ROUNDED_RADIUS = 1e-4  # m, as a radius of gyration of the body's mass
# From here on it is no slip in a file but an error:
GROSS = 5.0  # the largest principal moment is this many times the sum of the others
GROSS_RADIUS = 0.1  # m, imaginary extent of the body
#: part of the moments below which a second moment of mass may be rounding
CLEAR = 1e-9
#: kg or kg m^2, beyond which squares may be too large or too small for a float
LARGEST, SMALLEST = 1e150, 1e-140


def is_clearly_physical(rotational: Sym3, mass: float) -> bool:
    """Whether a rotational inertia about the centre of mass is one of mass that extends in all directions.

    It is where the second moments of mass, tr(J) 1 / 2 - J, are positive definite (Wensing, Kim and Slotine 2018): the
    pivots of that matrix, which need no eigenvalues. False: `Excess` can tell.
    """
    xx, xy, xz, yy, yz, zz = rotational
    half = 0.5 * (xx + yy + zz)
    if not (0.0 < mass < LARGEST and SMALLEST < half < LARGEST):
        return False
    least, first = CLEAR * half, half - xx
    if not first > least:
        return False
    second = half - yy - xy * xy / first
    if not second > least:
        return False
    left = yz + xy * xz / first
    return half - zz - xz * xz / first - left * left / second > least


class Excess(NamedTuple):
    """Excess by which principal moments p1 <= p2 <= p3 break 0 <= p1 and p3 <= p1 + p2."""

    principal: tuple[float, float, float]
    missing: float  # kg m^2, beyond rounding
    radius: float  # m: the missing second moment of mass as a radius of gyration

    @classmethod
    def of(cls, rotational: Sym3, mass: float) -> Excess:
        """Excess of one inertia about the centre of mass."""
        return cls.of_all([(*rotational, mass)])[0]

    @classmethod
    def of_all(cls, bodies: Sequence[Sequence[float]] | Array) -> list[Excess]:
        """Excess of each (ixx, ixy, ixz, iyy, iyz, izz, mass) about the centre of mass; none if one is not finite."""
        numbers = np.array(bodies, dtype=float).reshape(-1, 7)
        finite = np.isfinite(numbers).all(axis=1)
        numbers[~finite] = 0.0
        mass = numbers[:, 6]
        principal = principal_moments(numbers[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3))
        p1, p2, p3 = principal.T
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            missing = np.maximum(-p1, p3 - p1 - p2)
            rounding = ROUNDED * np.maximum(np.abs(p3), np.abs(p1)) + ROUNDED_RADIUS**2 * np.maximum(mass, 0.0)
            missing[missing <= rounding] = 0.0
            radius = np.where(mass > 0.0, np.sqrt(missing / 2.0 / mass), np.copysign(np.inf, missing))
            radius[missing == 0.0] = 0.0
        return [
            cls((least, middle, most), lacking, reach)
            for (least, middle, most), lacking, reach in zip(principal.tolist(), missing.tolist(), radius.tolist())
        ]

    @classmethod
    def found_in(cls, bodies: Sequence[tuple[Sym3, float]]) -> dict[int, Excess]:
        """{place: excess} of those inertias about the centre of mass, with the mass, that have one."""
        unclear = [
            place
            for place, (rotational, mass) in enumerate(bodies)
            if any(rotational) and not is_clearly_physical(rotational, mass)
        ]
        excesses = cls.of_all([(*bodies[place][0], bodies[place][1]) for place in unclear]) if unclear else []
        return {place: excess for place, excess in zip(unclear, excesses) if excess}

    @property
    def gross(self) -> bool:
        p1, p2, p3 = self.principal
        return self.missing > 0.0 and (p3 >= GROSS * (p1 + p2) * (1.0 - 1e-9) or self.radius > GROSS_RADIUS)

    def __bool__(self) -> bool:
        return self.missing > 0.0

    def __str__(self) -> str:
        p1, p2, p3 = self.principal
        shown = f"of the principal moments {p1:.4g}, {p2:.4g}, {p3:.4g}"
        if p1 < 0.0:
            return f"{shown} one is negative"
        return f"{shown} the largest is more than the sum of the others (triangle inequality)"


def principal_moments(rotational: ArrayLike) -> Array:
    """(..., 3), from the smallest to the largest, of symmetric matrices of finite numbers, however large or small."""
    matrix = np.asarray(rotational, dtype=float)
    size = np.max(np.abs(matrix), axis=(-2, -1), keepdims=True, initial=0.0)
    with np.errstate(over="ignore"):  # too large for a float: infinite
        return np.asarray(np.linalg.eigvalsh(matrix / np.where(size > 0.0, size, 1.0))) * size[..., 0]


def about_com(inertia: RigidInertia) -> Sym3:
    """Rotational inertia about the centre of mass."""
    if inertia.mass == 0.0:
        return inertia.rotational
    hx, hy, hz = inertia.moment
    x, y, z = hx / inertia.mass, hy / inertia.mass, hz / inertia.mass
    xx, xy, xz, yy, yz, zz = inertia.rotational
    return (
        xx - (y * hy + z * hz), xy + x * hy, xz + x * hz, yy - (x * hx + z * hz), yz + y * hz, zz - (x * hx + y * hy)
    )  # fmt: skip
