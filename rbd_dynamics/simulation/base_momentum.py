# SPDX-License-Identifier: Apache-2.0
"""Momentum of what moves freely, carried over a step exactly: transport by the group's exponential.

The momentum mu = (M v)_b of all that hangs at a joint to the world with several degrees of freedom, in coordinates of
its body, changes by the forces on it alone, and by the motion of these coordinates: mu' = Ad*_D (mu + h f) is exact for
whatever displacement D the body makes. D turns by the exponential of the mean angular velocity, that of the middle of
the step, so a free body's energy neither grows nor fades, and moves such that the centre of mass goes as fast as the
linear momentum says: so the angular momentum is kept about the centre of mass as well (theory.md section 5: the
Lie-Poisson form of the equation of motion; Simo and Wong, Int. J. Numer. Methods Eng. 31, 1991).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.joints import Floating, Planar, Spherical
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.arrays import hat
from rbd_dynamics.spatial.rank import pseudoinverse

Array = NDArray[np.float64]
ITERATIONS = 12  # each gains a factor of |h w| / 2
ACCURATE = 1e-13  # relative, of the mean velocity
SMALL = 1e-4  # rad^2, below which a series is exact


class FreeBase:
    """A joint to the world whose motions are a group: floating, planar or spherical.

    Parameters:
        columns: (6, n) of the joint, orthonormal, each a rotation or a translation.
    """

    def __init__(self, dofs: slice, columns: Array) -> None:
        self.dofs = dofs
        rotations = np.asarray(columns[:3].any(axis=0), dtype=bool)
        self._a, self._l = _slice_of(rotations), _slice_of(~rotations)
        self._axes, self._ways = columns[:3, self._a], columns[3:, self._l]
        # of the centre of mass c, in the space of translations: coupling of the mass matrix = m axes^T (c x ways)
        levers = [(self._axes.T @ hat(way) @ self._ways).reshape(-1) for way in self._ways.T]
        self._center = np.zeros((3, 0))
        if levers:
            self._center = self._ways @ pseudoinverse(np.transpose(levers), scale=float(np.linalg.norm(levers)))
        self._moves = bool(levers)

    def turn(self, h: float, pushed: Array, mass: Array, share: Array, guess: Array) -> Array:
        """The rotation vector (3), in coordinates of the body, by which it turns in a step.

        pushed: momentum after the forces have acted; mass: (n, n) of all that hangs here; share: momentum that the
        other joints' velocities make; guess: of the velocity (n).
        """
        inertia, own = self._about_center(mass, pushed)
        inverse, share = np.linalg.inv(inertia), self._about_center(mass, share)[1]
        velocity = guess[self._a]
        for _ in range(ITERATIONS):
            before = velocity
            velocity = inverse @ (self._turned(-0.5 * h * (self._axes @ velocity), own, self._axes) - share)
            change = velocity - before
            if change @ change <= ACCURATE**2 * (velocity @ velocity):
                break
        return np.asarray(h * (self._axes @ velocity))

    def move(self, turn: Array, h: float, pushed: Array, before: Array, after: Array) -> tuple[Array, Array]:
        """(displacement x, momentum), both (n): q' = q exp(x), and what `pushed` is in the body's coordinates there.

        before, after: (n, n) the mass matrix of all that hangs here.
        """
        x, momentum = np.zeros(len(pushed)), np.zeros(len(pushed))
        x[self._a] = self._axes.T @ turn
        own = self._turned(-turn, self._about_center(before, pushed)[1], self._axes)
        if not self._moves:
            momentum[self._a] = own
            return x, momentum
        body = after[self._l, self._l][0, 0]
        way = h / body * pushed[self._l] + self._ways.T @ self._center_of(before)
        way -= self._turned(turn, self._ways.T @ self._center_of(after), self._ways)
        x[self._l] = self._ways.T @ _straight(turn, self._ways @ way)
        linear = self._turned(-turn, pushed[self._l], self._ways)
        momentum[self._l] = linear
        momentum[self._a] = own + after[self._a, self._l] @ linear / body
        return x, momentum

    def _about_center(self, mass: Array, momentum: Array) -> tuple[Array, Array]:
        """Inertia and angular momentum about the centre of mass; about the joint where that is fixed."""
        inertia, angular = mass[self._a, self._a], momentum[self._a]
        if not self._moves:
            return inertia, angular
        lever = mass[self._a, self._l] / mass[self._l, self._l][0, 0]
        return inertia - lever @ mass[self._l, self._a], angular - lever @ momentum[self._l]

    def _center_of(self, mass: Array) -> Array:
        """The centre of mass (3), but for what no translation reaches."""
        return np.asarray(self._center @ mass[self._a, self._l].reshape(-1) / mass[self._l, self._l][0, 0])

    @staticmethod
    def _turned(turn: Array, components: Array, directions: Array) -> Array:
        """A vector that is given along some directions, turned by a rotation vector, along the same ones."""
        rx, ry, rz = turn.tolist()
        x, y, z = (directions @ components).tolist()
        angle = math.sqrt(rx * rx + ry * ry + rz * rz)
        half = 0.5 * angle
        s = math.sin(angle) / angle if angle else 1.0
        k = 0.5 * (math.sin(half) / half) ** 2 if half else 0.5
        ux, uy, uz = ry * z - rz * y, rz * x - rx * z, rx * y - ry * x  # r x vector
        wx, wy, wz = ry * uz - rz * uy, rz * ux - rx * uz, rx * uy - ry * ux
        return np.asarray(directions.T @ (x + s * ux + k * wx, y + s * uy + k * wy, z + s * uz + k * wz))


def _slice_of(chosen: NDArray[np.bool_]) -> slice:
    """Those that are chosen, which follow each other."""
    indices = np.flatnonzero(chosen)
    return slice(int(indices[0]), int(indices[-1]) + 1) if len(indices) else slice(0, 0)


def _straight(turn: Array, way: Array) -> Array:
    """The velocity in a body that turns along which it comes that far: the inverse left Jacobian of the rotation."""
    square = float(turn @ turn)
    if square < SMALL:
        k = 1.0 / 12.0 + square / 720.0
    else:
        half = 0.5 * math.sqrt(square)
        k = (1.0 - half / math.tan(half)) / square
    tx, ty, tz = turn.tolist()
    x, y, z = way.tolist()
    ux, uy, uz = ty * z - tz * y, tz * x - tx * z, tx * y - ty * x  # turn x way
    wx, wy, wz = ty * uz - tz * uy, tz * ux - tx * uz, tx * uy - ty * ux
    return np.array([x - 0.5 * ux + k * wx, y - 0.5 * uy + k * wy, z - 0.5 * uz + k * wz])


def free_bases(model: Model) -> tuple[FreeBase, ...]:
    """Those of a model, none of a robot on a pedestal."""
    found = []
    for body in model.bodies:
        joint = body.joint
        if body.parent == WORLD and isinstance(joint.kind, (Floating, Planar, Spherical)):
            columns = np.array(joint.kind.columns(joint.kind.neutral().tolist()), dtype=float).T
            found.append(FreeBase(slice(joint.v_index, joint.v_index + joint.kind.nv), columns))
    return tuple(found)
