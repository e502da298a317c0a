# SPDX-License-Identifier: Apache-2.0
"""Efforts of joints that follow others: they are measured at joints of their own, and act on the leader's number.

By virtual work (d'Alembert), with q_follower = multiplier * q_leader: effort_leader + sum of multiplier * effort.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates
from rbd_dynamics.replay.signals.joint_names import JointNames


class Followers:
    """Those that a recording names.

    Parameters:
        joints: of the robot, whose efforts are looked for. there: names in the recording. robot: as of `JointNames`.

    Attributes:
        names: in the recording.
    """

    def __init__(self, model: Model, joints: Sequence[str], there: Collection[str], robot: str | None) -> None:
        found = [body.joint for body in model.bodies if body.joint.mimic and body.joint.mimic.leader in joints]
        recorded = JointNames([joint.name for joint in found], {}, robot).recorded(there, "")
        self._found = [(joint, name) for joint, name in zip(found, recorded) if name in there]
        self.names = tuple(name for _, name in self._found)
        self._leads = [
            (joints.index(joint.mimic.leader), joint.mimic.multiplier) for joint, _ in self._found if joint.mimic
        ]
        self._joints = len(joints)

    def taken_in(self, states: JointStates, log: Log) -> JointStates:
        """Joint states of joints and followers, as those of the joints alone."""
        if not self.names:
            return states
        numbers = states.numbers[:, :, : self._joints].copy()
        for k, (leader, multiplier) in enumerate(self._leads):
            effort = np.nan_to_num(states.numbers[:, 2, self._joints + k])
            numbers[:, 2, leader] += multiplier * effort
            if effort.any():
                joint = self._found[k][0]
                assert joint.mimic is not None
                log.remark(
                    f"efforts of {joint.name} are counted with those of {joint.mimic.leader}, which it follows, times "
                    f"{multiplier:g}"
                )
        return replace(states, numbers=numbers)
