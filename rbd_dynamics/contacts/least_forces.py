# SPDX-License-Identifier: Apache-2.0
"""The shortest forces in their cones that do what is asked: min |f|^2 / 2 with B f = c, f in K.

By the dual, whose unknowns are the few that B has rows: f = P_K(B^T y), where y makes B f + eps y = c. For every
eps > 0 there is one such y, and Newton's method with a line search finds it; eps goes down to rounding. What B f then
lacks to c is what no forces in the cones can do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.laws.base import FrictionLaw

Array = NDArray[np.float64]
WEIGHTS = (1e-3, 1e-6, 1e-9, 1e-12)  # of eps, relative to the rows of B
STEPS = 40
HALVINGS = 20
ACCURATE = 1e-12


class ForceSet(ABC):
    """Forces that one contact can make (3)."""

    @abstractmethod
    def nearest(self, z: Array) -> tuple[Array, Array]:
        """The force nearest to z, and its derivative by z (3, 3)."""


class Cone(ForceSet):
    """All that a law of friction lets the contact make."""

    def __init__(self, law: FrictionLaw, mu: float) -> None:
        self.law, self.mu = law, mu

    def nearest(self, z: Array) -> tuple[Array, Array]:
        return self.law.nearest(z, self.mu)


class Ray(ForceSet):
    """What slides: multiples, not negative, of one force."""

    def __init__(self, force: Array) -> None:
        self.force = force / np.linalg.norm(force)

    def nearest(self, z: Array) -> tuple[Array, Array]:
        along = float(self.force @ z)
        if along <= 0.0:
            return np.zeros(3), np.zeros((3, 3))
        return along * self.force, np.outer(self.force, self.force)


class GivenNormal(ForceSet):
    """What is compliant: the normal force is the spring's; friction is bounded by it."""

    def __init__(self, normal: float, law: FrictionLaw, mu: float) -> None:
        self.normal, self.law, self.mu = normal, law, mu

    def nearest(self, z: Array) -> tuple[Array, Array]:
        bound, by_z = self.mu * self.normal, np.zeros((3, 3))
        tangential = self.law.bounded(z[None, 1:], np.array([bound]))[0]
        by_z[1:, 1:] = self.law.slope(z[1:], bound, self.mu, self.normal)[0]
        return np.array([self.normal, *tangential]), by_z


class Fixed(ForceSet):
    """One force only: none, or what is compliant and slides."""

    def __init__(self, force: Array) -> None:
        self.force = force

    def nearest(self, z: Array) -> tuple[Array, Array]:
        return self.force, np.zeros((3, 3))


def least_forces(B: Array, c: Array, sets: Sequence[ForceSet]) -> Array:
    """Forces (3n) of the n sets; what B f then lacks to c is as short as these sets allow."""
    rows, n = B.shape[0], len(sets)
    scale = float((B * B).sum()) / max(rows, 1)
    y = np.zeros(rows)
    f = np.concatenate([own.nearest(np.zeros(3))[0] for own in sets])
    if scale <= 0.0:
        return f
    size = float(np.abs(c).max(initial=0.0))

    def at(y: Array) -> tuple[Array, Array]:
        z = (B.T @ y).reshape(n, 3)
        found = [own.nearest(z[k]) for k, own in enumerate(sets)]
        return np.concatenate([force for force, _ in found]), np.stack([by_z for _, by_z in found])

    for weight in WEIGHTS:
        eps = weight * scale
        f, by_z = at(y)
        rest = c - B @ f - eps * y
        for _ in range(STEPS):
            if np.abs(rest).max() <= ACCURATE * (size + float(np.abs(f).max()) * np.sqrt(scale)):
                break
            blocks = np.einsum("rki,kij,skj->rs", B.reshape(rows, n, 3), by_z, B.reshape(rows, n, 3))
            step = np.linalg.solve(blocks + eps * np.eye(rows), rest)
            length = 1.0
            for _ in range(HALVINGS):
                f, by_z = at(y + length * step)
                new = c - B @ f - eps * (y + length * step)
                if new @ step >= 0.0 or new @ new < (1.0 - 0.1 * length) * (rest @ rest):
                    break  # the dual still rises, or the rest is shorter
                length *= 0.5
            stuck = new @ new >= rest @ rest and length < 1.0  # by rounding
            y, rest = y + length * step, new
            if stuck:
                break
    return f
