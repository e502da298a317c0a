# SPDX-License-Identifier: Apache-2.0
"""Positions of the joints that a request does not move: as it says, else as they were last seen."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.robot import Robot


def held_positions(
    robot: Robot,
    reader: JointStateReader | None,
    prefix: Prefix,
    moving: Collection[str],
    others: JointState,
    where: str,
) -> NDArray[np.float64]:
    """(nq,) in robot order; neutral for joints that move.

    Parameters:
        moving: names of the joints that move, as the model has them.
        others: field `other_joints` of the request: names and positions.
        where: the field that names the joints that move, for errors.

    Raises ValueError for a joint that is unknown, and for one that nothing tells of.
    """
    if len(others.name) != len(others.position):
        raise ValueError(f"other_joints has {len(others.position)} positions for {len(others.name)} joints")
    given = dict(zip(map(prefix.inside, others.name), others.position))
    for name, position in given.items():
        if not np.isfinite(position):
            raise ValueError(f"other_joints: the position of joint {name!r} is not finite")
    if given:
        single_freedom_indices(robot, list(given))  # are they all known?
    held = robot.model.neutral()
    for joint in robot.model.joints:
        if joint.name in moving:
            continue
        if joint.name in given:
            held[joint.q_index] = given[joint.name]
        elif reader is not None and reader.seen[joint.v_index]:
            held[joint.q_index] = reader.q[joint.v_index]
        else:
            raise ValueError(
                f"joint {joint.name!r} is neither in {where} nor in other_joints, and no joint state has told where "
                "it is"
            )
    return held
