# SPDX-License-Identifier: Apache-2.0
"""The work of service `fill_trajectory_efforts`: a trajectory message comes back complete with efforts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.control.trajectory import Waypoints
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.description import Prefix
from rbd_dynamics.nodes.held_joints import held_positions
from rbd_dynamics.nodes.messages import points_of
from rbd_dynamics.nodes.samples import flat, wrenches
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

Array = NDArray[np.float64]


def filled_trajectory(
    request: FillTrajectoryEfforts.Request,
    robot: Robot,
    reader: JointStateReader | None,
    prefix: Prefix,
    terms: Sequence[str],
) -> JointTrajectory:
    """The trajectory of a request, with velocities, accelerations and efforts. Raises ValueError."""
    trajectory = request.trajectory
    names = [prefix.inside(name) for name in trajectory.joint_names]
    index = single_freedom_indices(robot, names)
    waypoints = Waypoints.of(trajectory.joint_names, points_of(trajectory)).completed()
    held = held_positions(robot, reader, prefix, names, request.other_joints, "the trajectory")
    q = np.repeat(held[None], len(waypoints.times), axis=0)
    v, a = np.zeros_like(q), np.zeros_like(q)
    q[:, index], v[:, index], a[:, index] = waypoints.positions, waypoints.velocities, waypoints.accelerations
    f_ext = wrenches(request.external_wrenches, len(q), prefix)
    efforts = inverse_dynamics_terms(robot, q, v, a, terms, f_ext=f_ext)[:, index]
    for k, point in enumerate(trajectory.points):
        point.velocities, point.accelerations = flat(waypoints.velocities[k]), flat(waypoints.accelerations[k])
        point.effort = flat(efforts[k])
    return trajectory
