# SPDX-License-Identifier: Apache-2.0
"""The messages of efforts, which are made once: only their numbers change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.entities import Entities
from rbd_dynamics.nodes.managed.messages import RECORDED, SECOND, flat
from rbd_dynamics.nodes.managed.part import Part


class EffortOutput(Part):
    """The efforts of some joints, and what has cut their efforts off since the last report.

    Attributes:
        joints: their names, in the order of the efforts.
        command: the message for a controller.
        numbers (joints): the memory of its array.
    """

    def __init__(self, entities: Entities) -> None:
        self._entities = entities
        self.use([])

    def open(self) -> None:
        self._publisher = self._entities.publish_on(JointState, "~/effort", RECORDED)

    def use(self, joints: Sequence[str]) -> None:
        """Have messages for these joints from now on."""
        self.joints = list(joints)
        zeros = np.zeros(len(joints))
        self.command = Float64MultiArray(data=flat(zeros))
        self._named = JointState(name=self.joints, effort=flat(zeros))
        self.numbers = np.frombuffer(self.command.data)
        self._named_numbers = np.frombuffer(self._named.effort)
        self._saturated, self._rate_limited = np.zeros((2, len(joints)), dtype=bool)

    @property
    def is_heard(self) -> bool:
        """Somebody listens to `~/effort`."""
        return bool(self._publisher.get_subscription_count())

    def tell(self, time: int, mark: str = "") -> None:
        """The same efforts with names, in answer to the state of this time (ns). mark: what the header says of them."""
        self._named_numbers[:] = self.numbers
        self._named.header.frame_id = mark
        stamp = self._named.header.stamp
        stamp.sec, stamp.nanosec = divmod(time, SECOND)
        self._publisher.publish(self._named)

    def cut_off(self, saturated: NDArray[np.bool_], rate_limited: NDArray[np.bool_]) -> None:
        """Which of them (joints) are at a limit."""
        self._saturated |= saturated
        self._rate_limited |= rate_limited

    def report(self, status: Status) -> None:
        for what, cut in (
            ("effort limit reached", self._saturated),
            ("rate limit of the effort reached", self._rate_limited),
        ):
            if cut.any():
                status.warn(f"{what}: {', '.join(np.array(self.joints)[cut])}")
            cut[:] = False
