# SPDX-License-Identifier: Apache-2.0
"""Whether a torque node is alone on its topic of commands: of two, motors hear now one, now the other."""

from __future__ import annotations

from typing import Any

from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import publishers_of
from rbd_dynamics.nodes.managed.part import Part

COMMANDS, CONTINUED = "~/commands", "~/continued_effort"


class Alone(Part):
    """Tells of other nodes that may publish there, but for one that this one takes over from and hands over to."""

    def __init__(self, node: ManagedNode[Any, Any]) -> None:
        self._node = node

    def report(self, status: Status) -> None:
        others = self._publishers(COMMANDS) - self._publishers(CONTINUED)
        if others:
            names, topic = ", ".join(sorted(others)), self._node.resolve_topic_name(COMMANDS)
            status.error(f"not alone: {names} may command on {topic}, too; the motors hear now one, now the other")

    def _publishers(self, topic: str) -> set[str]:
        """Other nodes with a publisher there."""
        return set(publishers_of(self._node, topic)) - {self._node.get_fully_qualified_name()}
