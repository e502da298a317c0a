# SPDX-License-Identifier: Apache-2.0
"""Loads that the last bodies of a robot may carry, beside the errors that a description may have of them."""

from __future__ import annotations

import numpy as np

from rbd_dynamics.replay.diagnosis.causes.load import last_bodies
from rbd_dynamics.replay.diagnosis.free_fit import Load
from rbd_dynamics.replay.identification.base_errors import largest_errors
from rbd_dynamics.replay.identification.payload import DISTANCE, LARGEST_SHARE
from rbd_dynamics.robot import Robot

MOST = 2  # of several fingers or hands each could carry all
SIZE = 0.1  # m: of a load, from which its inertia follows


def loads_of(robot: Robot) -> list[Load]:
    """The loads of a few last bodies that have a mass, in units of what their descriptions may have wrong."""
    heaviest = LARGEST_SHARE * sum(body.inertia.mass for body in robot.model.bodies)  # of what joints move
    usual = heaviest * np.array([1.0, *3 * [DISTANCE], *6 * [SIZE**2]])
    found: list[Load] = []
    for tip in last_bodies(robot.model):
        errors = largest_errors(robot.inertial_parameters[tip])
        if errors.any() and len(found) < MOST:
            sizes = np.linalg.norm(np.linalg.solve(errors, np.diag(usual)), axis=1)
            found.append(Load(10 * tip + np.arange(10), np.maximum(1.0, sizes)))
    return found
