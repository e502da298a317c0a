# SPDX-License-Identifier: Apache-2.0
"""Which nodes publish the joint states that a node answers, now and since it was activated."""

from __future__ import annotations

from typing import Any

from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import publishers_of
from rbd_dynamics.nodes.managed.part import Part

TOPIC = "joint_states"
LOOK = 0.5  # s, between two looks
UNKNOWN = "_NODE_NAME_UNKNOWN_"  # rcl's, of a publisher whose node has not been discovered yet


class StatePublishers(Part):
    """Tells the reader of a node's states whether several publish them, and which have: one may be dead by now."""

    def __init__(self, node: ManagedNode[Any, Any]) -> None:
        self._node = node
        self._known: frozenset[str] = frozenset()  # since the activation
        self._reader: JointStateReader | None = None

    def watch(self, reader: JointStateReader) -> None:
        """This reader is in use from now on."""
        self._reader = reader
        reader.several_publishers, reader.zeros.publishers = self.several, self.since_activation

    @property
    def now(self) -> str:
        """Names of the nodes that publish states, where there are several publishers; else empty."""
        names = self._look()
        return ", ".join(names) if len(names) > 1 else ""

    def several(self) -> bool:
        """Whether several nodes publish states."""
        return len(set(self._look())) > 1

    def since_activation(self) -> str:
        """Names of the nodes that have published states since the activation, where they are several; else empty."""
        self._look()
        return ", ".join(sorted(self._known)) if len(self._known) > 1 else ""

    def open(self) -> None:
        self._node.entities.every(LOOK, self._note)

    def activated(self) -> None:
        self._known = frozenset()
        if self._reader is not None:  # whoever activates has looked at the robot
            self._reader.zeros.measured = False

    def _note(self) -> None:
        self._look()

    def _look(self) -> list[str]:
        names = publishers_of(self._node, TOPIC)
        if self._node.active:
            self._known |= {name for name in names if UNKNOWN not in name}
        return names
