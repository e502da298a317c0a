# SPDX-License-Identifier: Apache-2.0
"""A trajectory and its tolerances straight out of a serialised request to follow it.

Source of the form: action FollowJointTrajectory of control_msgs, the same in all distributions: a trajectory, one of
joints with several freedoms, tolerances of both. In the request (FollowJointTrajectory_SendGoal) the goal's identity of
16 bytes comes first.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_dynamics.common.cdr import ORIGIN, SECOND, CdrError
from rbd_dynamics.control.motion.goal import JointTolerance, Wishes
from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.control.motion.trajectory_message import TrajectoryReader

IDENTITY = slice(ORIGIN, ORIGIN + 16)  # of the goal, in the bytes of a request
SMALLEST_TOLERANCE = 32  # bytes: an empty name, three numbers


class GoalMessage(NamedTuple):
    """What a request says: the stamp of its start in ns, the checked waypoints, the tolerances."""

    stamp: int
    waypoints: Waypoints
    wishes: Wishes


def decoded_goal(raw: bytes | bytearray, largest: int) -> GoalMessage:
    """The goal of a request with at most `largest` points. Raises TrajectoryError.

    Tolerances of accelerations are passed over: no acceleration is measured.
    """
    try:
        return _read(TrajectoryReader(raw, begin=IDENTITY.stop), largest)
    except CdrError as error:
        raise TrajectoryError(str(error)) from None


def _read(reader: TrajectoryReader, largest: int) -> GoalMessage:
    stamp, waypoints = reader.message(largest, positions=True)
    reader.time()
    reader.text()
    if reader.count(4) or reader.count(4):  # names, points
        raise TrajectoryError("multi_dof_trajectory: joints with several freedoms are not moved here")
    path = _tolerances(reader, "path_tolerance")
    goal = _tolerances(reader, "goal_tolerance")
    wishes = Wishes(path, goal, reader.time() / SECOND)
    if waypoints is None:
        raise TrajectoryError("the trajectory has no points")
    return GoalMessage(stamp, waypoints, wishes)


def _tolerances(reader: TrajectoryReader, what: str) -> tuple[JointTolerance, ...]:
    found = []
    for _ in range(reader.count(SMALLEST_TOLERANCE)):
        name = reader.text()
        position, velocity, _acceleration = (reader.number() for _ in range(3))
        found.append(JointTolerance(name, position, velocity))
    if reader.count(8):
        raise TrajectoryError(f"component_{what}: joints with several freedoms are not moved here")
    return tuple(found)
