# SPDX-License-Identifier: Apache-2.0
"""Base parameters of a robot, which joints feel them, and by how much a description may have them wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rbd_dynamics.analysis.base_parameters import BaseParameters, base_parameters
from rbd_dynamics.replay.identification.pseudo_inertia import inertial_parameters, pseudo_inertia
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.rank import least_squares

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

WRONG = 0.5  # of a body's mass, and so on: by so much a given model may be wrong
SMALLEST = 0.01  # m: of a body, where its scale is judged
APART = 1e-6  # of a rotor's torque: what bodies cannot do


class BaseErrors:
    """Errors of one robot's base parameters, without friction.

    Attributes:
        base: the base parameters (n,). felt: for each degree of freedom those that it feels; columns: where these stand
            in a regressor.
        errors: (n, 10 bodies), of the base parameters by the largest errors of each body (`largest_errors`).
        scale: (n,), large values.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.base: BaseParameters = base_parameters(robot)
        rng = np.random.default_rng(0)
        q = np.stack([robot.model.random(rng) for _ in range(8)])
        v, a = rng.normal(size=(2, 8, robot.model.nv))
        seen = (robot.regressor(q, v, a)[:, :, self.base.independent] != 0.0).any(axis=0)
        self.felt: list[Indices] = [np.flatnonzero(row) for row in seen]
        self.columns: list[Indices] = [self.base.independent[felt] for felt in self.felt]
        parameters = robot.inertial_parameters
        self.errors: Array = self.base.combination @ scipy.linalg.block_diag(*map(largest_errors, parameters))
        self.scale: Array = np.sqrt(self.base.combination**2 @ inertial_scale(parameters).ravel() ** 2)

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Degrees of freedom (nv,) where a rotor's torque is one that no inertias of bodies can have."""
        robot, rng = self._robot, np.random.default_rng(0)
        count = 8 * (self.base.count // robot.model.nv + 1)
        q = np.stack([robot.model.random(rng) for _ in range(count)])
        v, a = rng.normal(size=(2, count, robot.model.nv))
        bodies = robot.regressor(q, v, a)[:, :, self.base.independent].reshape(-1, self.base.count)
        found = np.zeros(robot.model.nv, dtype=bool)
        for dof in range(robot.model.nv):
            rotor = np.zeros((count, robot.model.nv))
            rotor[:, dof] = a[:, dof]
            left = rotor.ravel() - bodies @ least_squares(bodies, rotor.ravel())
            found[dof] = np.linalg.norm(left) > APART * np.linalg.norm(rotor)
        return found

    def block(self, regressor: Array) -> Callable[[int], Array]:
        """Columns (N, n) that each degree of freedom feels, of a regressor (N, nv, 10 bodies)."""
        return lambda dof: regressor[:, dof, self.columns[dof]]


def largest_errors(parameters: Array) -> Array:
    """What the largest errors of a body's mass, centre (3) and inertia about it (6) do to its parameters, (10, 10).

    A share `WRONG` of the mass, of the radius of gyration along each axis, and of the mean moment of inertia.
    """
    mass = float(parameters[0])
    if not mass > 0.0:
        return np.zeros((10, 10))
    com = parameters[1:4] / mass
    point = inertial_parameters(np.outer(np.append(com, 1.0), np.append(com, 1.0)))  # of one kilogram there
    moment = max(float(np.trace(pseudo_inertia(parameters - mass * point)[:3, :3])), mass * SMALLEST**2)
    found = np.zeros((10, 10))
    found[:, 0] = WRONG * mass * point
    for k in range(3):
        shift = WRONG * np.sqrt(moment / mass) * np.eye(4)[k]
        away = np.outer(shift, np.append(com, 1.0))
        found[:, 1 + k] = mass * inertial_parameters(away + away.T)
        found[4 + k, 4 + k], found[7 + k, 7 + k] = WRONG * moment, WRONG * moment
    return found


def inertial_scale(parameters: Array) -> Array:
    """Likely errors of each body's parameters (bodies, 10): a share of mass, mass times size and so on."""
    mass = parameters[:, 0]
    usual = float(mass.mean()) if mass.any() else 1.0
    mass = np.where(mass > 0.0, mass, usual)
    second = np.array([np.trace(pseudo_inertia(row)[:3, :3]) for row in parameters])
    size = np.sqrt(np.maximum(second / mass, SMALLEST**2))
    return WRONG * np.column_stack([mass, *3 * [mass * size], *6 * [mass * size**2]])
