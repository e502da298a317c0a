# SPDX-License-Identifier: Apache-2.0
"""The service of `dynamics_server` for inverse kinematics: looked at between callbacks, solved in another thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.nodes.interface.dynamics_server import DynamicsServerParameters
from rbd_dynamics.nodes.managed.messages import flat, pose_matrix
from rbd_dynamics.nodes.server.held_joints import held_positions
from rbd_dynamics.nodes.server.samples import Layout
from rbd_dynamics.nodes.server.server_engine import ServerEngine

if TYPE_CHECKING:
    from rbd_dynamics_interfaces import srv

Array = NDArray[np.float64]
TOLERANCE, RESTARTS = 1e-6, 50
MOST_TRIES = 2_000_000  # of all samples: minutes, where none is reached; the default for as many as may be


def inverse_kinematics(
    engine: ServerEngine,
    params: DynamicsServerParameters,
    request: srv.InverseKinematics.Request,
    response: srv.InverseKinematics.Response,
) -> Callable[[], None]:
    robot, prefix = engine.frictionless, engine.prefix
    held: list[str] = []

    def others(moving: Sequence[str]) -> Array:
        held.extend(joint.name for joint in engine.model.joints if joint.name not in moving)
        return held_positions(robot, engine.reader, prefix, moving, request.other_joints, "joint_names")

    layout = Layout(engine.model, request.joint_names, prefix, others)
    frames = [prefix.inside(name) for name in request.frames]
    if not frames or len(set(frames)) != len(frames):
        raise ValueError("frames: expected different frames, at least one")
    count, rest = divmod(len(request.poses), len(frames))
    if rest or not count:
        raise ValueError(
            f"poses has {len(request.poses)} poses for {len(frames)} frames: expected one of each a sample"
        )
    if count > params.most_trajectory_points:
        raise ValueError(
            f"poses: {count} samples are more than parameter 'most_trajectory_points' allows "
            f"({params.most_trajectory_points})"
        )
    poses = np.array([pose_matrix(pose, f"poses: entry {k}") for k, pose in enumerate(request.poses)])
    if len(request.positions):
        start = layout.positions(request.positions)
        if len(start) not in (1, count):
            raise ValueError(f"positions holds {len(start)} samples: expected one, or {count} as of poses")
    else:
        start = layout.positions(engine.model.start_position()[layout.q_columns])
    posture = None
    if len(request.posture):
        posture = layout.positions(request.posture)
        if len(posture) != 1:
            raise ValueError(f"posture holds {len(posture)} samples: expected one")
        posture = posture[0]
    tolerance = request.tolerance or TOLERANCE
    if not 0.0 < tolerance < np.inf:
        raise ValueError(f"tolerance {request.tolerance:g} is not a positive number")
    restarts = max(request.restarts, 0) if request.restarts else RESTARTS
    if restarts * count > MOST_TRIES:
        raise ValueError(f"restarts {restarts} of {count} samples are more than {MOST_TRIES} in all")

    def work() -> None:
        found = robot.inverse_kinematics(
            frames, poses.reshape(count, len(frames), 4, 4), start, posture=posture, held=held, tolerance=tolerance,
            limits=not request.ignore_limits, restarts=restarts,
        )  # fmt: skip
        response.positions = flat(found.q[:, layout.q_columns])
        response.reached = found.reached.tolist()
        response.rotation_errors, response.distances = flat(found.rotation_error), flat(found.distance)
        response.joint_names = layout.names

    return work
