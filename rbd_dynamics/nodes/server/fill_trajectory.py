# SPDX-License-Identifier: Apache-2.0
"""The work of service `fill_trajectory_efforts`: a trajectory message comes back complete with efforts.

From bytes to bytes: Python objects of 10,000 points would take ten times as long as all the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.common.cdr import ORIGIN
from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_message import FIELDS, SMALLEST_POINT, TrajectoryReader
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.nodes.managed.messages import SECOND
from rbd_dynamics.nodes.server.held_joints import held_positions
from rbd_dynamics.nodes.server.samples import wrenches
from rbd_dynamics.nodes.server.server_engine import ServerEngine

Array = NDArray[np.float64]


class FillRequest:
    """A serialised request of at most `largest` points. Raises ValueError."""

    def __init__(self, raw: bytes, largest: int) -> None:
        from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

        header = TrajectoryReader(raw)
        self._stamp, self._frame = divmod(header.time(), SECOND), header.text()
        names = [header.text() for _ in range(header.count(4))]
        if not names:
            raise TrajectoryError("the trajectory names no joints")
        points = header.count(SMALLEST_POINT)
        if points > largest:
            bound = f"{largest}, which parameter 'most_trajectory_points' allows"
            raise TrajectoryError(f"the trajectory has {points} points, more than {bound}")
        reader = TrajectoryReader(raw)
        message = reader.message(largest, positions=True)
        self._other = deserialize_message(_without_trajectory(raw, reader.place), FillTrajectoryEfforts.Request)
        if message.waypoints is None:
            raise TrajectoryError("the trajectory has no points")
        self._waypoints = message.waypoints.completed()

    def begin(self, engine: ServerEngine) -> Callable[[], bytes]:
        """What gives the response, whenever and in whatever thread. Raises ValueError or KeyError."""
        request, waypoints, robot, prefix = self._other, self._waypoints, engine.frictionless, engine.prefix
        names = [prefix.inside(name) for name in waypoints.joint_names]
        index = single_freedom_indices(robot, names)
        held = held_positions(robot, engine.reader, prefix, names, request.other_joints, "the trajectory")
        terms = request.terms or engine.terms

        def work() -> bytes:
            q = np.repeat(held[None], len(waypoints.times), axis=0)
            v, a = np.zeros_like(q), np.zeros_like(q)
            q[:, index], v[:, index], a[:, index] = waypoints.positions, waypoints.velocities, waypoints.accelerations
            f_ext = wrenches(request.external_wrenches, len(q), prefix, robot.model)
            return self._response(inverse_dynamics_terms(robot, q, v, a, terms, f_ext=f_ext)[:, index])

        return work

    def _response(self, efforts: Array) -> bytes:
        """A successful one with the complete trajectory."""
        from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

        waypoints = self._waypoints
        trajectory = JointTrajectory(joint_names=list(waypoints.joint_names))
        trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = self._stamp
        trajectory.header.frame_id = self._frame
        raw: bytes = serialize_message(FillTrajectoryEfforts.Response(success=True, trajectory=trajectory))
        order = "<" if raw[1] else ">"
        points, joints = efforts.shape
        # a number of eight bytes stands where its place is a multiple of eight: behind each count there is a gap
        row = [("count", order + "u4"), ("gap", "u4"), ("numbers", order + "f8", (joints,))]
        fields = [*((what, row) for what in FIELDS), ("sec", order + "i4"), ("nanosec", order + "u4")]
        records = np.zeros(points, fields)
        for what, numbers in zip(FIELDS, (waypoints.positions, waypoints.velocities, waypoints.accelerations, efforts)):
            records[what]["count"], records[what]["numbers"] = joints, numbers
        records["sec"], records["nanosec"] = np.divmod(np.rint(waypoints.times / 1e-9).astype(np.int64), SECOND)
        body = records.tobytes()
        if (len(raw) - ORIGIN) % 8:  # but not where the first point begins between two such places
            body = body[:4] + body[8:]
        return raw[:-4] + struct.pack(order + "I", points) + body  # no point had been counted


def _without_trajectory(raw: bytes, place: int) -> bytes:
    """A request whose trajectory, which ends at `place`, is empty: the rest is aligned as it was."""
    order = "<" if raw[1] else ">"
    frame = b"xxxx" if (place - ORIGIN) % 8 else b""
    head = bytes(8) + struct.pack(order + "I", len(frame) + 1) + frame + b"\0"
    return raw[:ORIGIN] + head + bytes(-len(head) % 4) + bytes(8) + raw[place:]
