# SPDX-License-Identifier: Apache-2.0
"""The law of contact as an equation, how far forces are from it, and Newton's method for it.

Alart and Curnier's function is zero exactly where Signorini's and Coulomb's laws hold: with z = f - rho u for some
rho > 0, f_n = max(0, z_n), and f_t is z_t brought to the length mu f_n where it is longer (with the pyramid: each
component of it). Where the mode of each contact (open, sticking, sliding) is known it is smooth. Velocities
are then unique, forces of redundant contacts are not, and `least` takes the shortest (theory.md section 10). Joints
(`joint_law`) follow contacts; theirs is the same function with bounds of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.joint_law import NO_JOINTS, JointLaw
from rbd_dynamics.contacts.laws.base import FrictionLaw
from rbd_dynamics.contacts.least_forces import Cone, Fixed, ForceSet, Ray, least_forces

Array = NDArray[np.float64]
SAME = 1e-9  # of the largest velocity: what is slower is at rest
ALIKE = 1e-9  # of the largest force: what the shortest forces may lack
STEPS = 12
RANK_TOLERANCE = 1e-11


class Law:
    """u = G f + free, friction coefficients (n) and their law, and the law of m joints; rows and forces (3 n + m)."""

    def __init__(
        self, G: Array, free: Array, mu: Array, friction: FrictionLaw, *, joints: JointLaw = NO_JOINTS
    ) -> None:
        self.G, self.free, self.mu, self.friction, self.joints = G, free, mu, friction, joints
        self.rows = 3 * len(mu)  # of contacts
        mobility = np.diagonal(G)
        response = mobility[: self.rows].reshape(-1, 3).mean(axis=1)
        self.rho = 1.0 / np.where(response > 0.0, response, 1.0)
        self._mobility = mobility[self.rows :]

    def velocity(self, f: Array) -> Array:
        """Velocities (n, 3) of the contacts."""
        return (self.G @ f + self.free)[: self.rows].reshape(-1, 3)

    def residual(self, f: Array) -> float:
        """How much the law would change the forces, over the largest of them; 0: it holds."""
        forces, u = f[: self.rows].reshape(-1, 3), self.G @ f + self.free
        z = forces - self.rho[:, None] * u[: self.rows].reshape(-1, 3)
        wanted = np.maximum(z, 0.0)
        wanted[:, 1:] = self.friction.bounded(z[:, 1:], self.mu * np.maximum(forces[:, 0], 0.0))
        off = float(np.abs(forces - wanted).max(initial=0.0))
        if len(self.joints):
            v, own = u[self.rows :], f[self.rows :]
            lacking = self.joints.velocity(v, own, self._mobility) - v
            movable = self._mobility > 0.0
            off = max(off, float(np.abs(lacking[movable] / self._mobility[movable]).max(initial=0.0)))
        largest = float(np.abs(f).max(initial=0.0))
        return off / largest if largest > 0.0 else float(off > 0.0)

    def improved(self, f: Array, tolerance: float, *, steps: int = STEPS) -> Array:
        """Newton's method from f; the best forces that it came by, f itself if none is better."""
        best, least = f, self.residual(f)
        for _ in range(steps):
            f = self._step(f)
            if not np.isfinite(f).all():
                break
            found = self.residual(f)
            if found < least:
                best, least = f, found
            if found <= tolerance:
                break
        return best

    def least(self, f: Array) -> Array:
        """The shortest forces with the same velocities, f itself where there are no others."""
        _, sizes, across = np.linalg.svd(self.G)
        known = sizes > RANK_TOLERANCE * sizes.max(initial=0.0)
        if known.all():
            return f
        u = self.velocity(f)
        still = SAME * float(np.abs(self.free).max(initial=0.0))
        sets: list[ForceSet] = []
        for k, mu in enumerate(self.mu.tolist()):
            slip = float(np.hypot(*u[k, 1:]))
            if u[k, 0] > still:
                sets.append(Fixed(np.zeros(3)))
            elif slip > still and self.friction.as_one:
                direction = self.friction.direction(u[k : k + 1, 1:], still)[0]
                sets.append(Ray(np.array([1.0, *(-mu * direction)])))
            else:
                sets.append(Cone(self.friction, mu))
        B = np.sqrt(sizes[known])[:, None] * across[known]
        shorter = least_forces(B, B @ f, sets)
        return shorter if self.residual(shorter) <= max(ALIKE, self.residual(f)) else f

    def _step(self, f: Array) -> Array:
        n = len(self.mu)
        z = f[: self.rows].reshape(n, 3) - self.rho[:, None] * self.velocity(f)
        system, target = np.eye(len(f)), np.zeros(len(f))
        for k in range(n):
            own, rho, mu = slice(3 * k, 3 * k + 3), self.rho[k], self.mu[k]
            if z[k, 0] <= 0.0:
                continue
            tangents, side = slice(3 * k + 1, 3 * k + 3), z[k, 1:]
            system[own], target[own] = rho * self.G[own], -rho * self.free[own]
            by_side, by_normal = self.friction.slope(side, mu * z[k, 0], mu, f[3 * k])
            # f_t = by_side z_t + by_normal f_n, the bound being in proportion to f_n, with z_t = f_t - rho u_t
            system[tangents] = rho * by_side @ self.G[tangents]
            system[tangents, tangents] += np.eye(2) - by_side
            system[tangents, 3 * k] -= by_normal
            target[tangents] = -rho * by_side @ self.free[tangents]
        if len(self.joints):
            places = np.arange(self.rows, len(f))
            v = (self.G @ f + self.free)[places]
            held, known = self.joints.equations(v, f[places], self._mobility)
            held &= self._mobility > 0.0
            target[places] = known
            stopped = places[held]
            rho = 1.0 / self._mobility[held]
            system[stopped] = rho[:, None] * self.G[stopped]
            target[stopped] = rho * (known[held] - self.free[stopped])
            # where constraints leave several forces possible, those nearest to f: it knows the bounds
            return f + np.linalg.lstsq(system, target - system @ f, rcond=RANK_TOLERANCE)[0]
        found = np.linalg.lstsq(system, target, rcond=RANK_TOLERANCE)[0]
        return np.asarray(found, dtype=float)
