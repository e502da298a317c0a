# SPDX-License-Identifier: Apache-2.0
"""Whose commands does a node pass on? The guard's link to the torque nodes before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.managed.payload import Load

RESTART = 0.2  # s: no process begins to command so soon after another one's last command
KNOWN = 0.3  # s: how long after its first command the middleware may not yet tell of a process
PARTICIPANT = 12  # bytes of an endpoint's identifier that are its process's


class Commanders(Part):
    """Which processes publish commands on a topic, and which of them are known.

    A torque node that was started again has no loads, and would let the robot sink under one. So while this node has a
    load, commands pass from no process that was not there before.

    Parameters:
        topic: of the commands.
        loads: those of this node, with their frames.
        keep_out: called with the reason when a stranger commands.
    """

    def __init__(
        self,
        node: ManagedNode[Any, Any],
        topic: str,
        loads: Callable[[], Sequence[tuple[str, Load]]],
        keep_out: Callable[[str], None],
    ) -> None:
        self._node, self._topic, self._loads, self._keep_out = node, topic, loads, keep_out
        self._known: frozenset[bytes] = frozenset()
        self._stranger = ""  # why commands of another process do not pass
        self._latest = 0.0  # by the lapse of time, of the last command
        self._due = 0.0  # monotonic, when it is to be found out whose commands have begun; 0: that is known
        self._may_be_another = False  # commands that have begun may be another process's

    def activated(self) -> None:
        self._stranger = ""

    def pass_now(self, now: float, begins: bool, lapse: float | None = None) -> bool:
        """Whether a good command may pass that came at a monotonic time (s).

        begins: after a gap, or as the first. lapse: `NodeClock.lapse` then, by which gaps are measured; default: now.
        """
        latest = now if lapse is None else lapse
        gap, self._latest = latest - self._latest, latest
        if gap > RESTART:  # it may be another process, of which the middleware does not tell yet
            self._due, self._may_be_another = now + KNOWN, True
        elif begins and not self._due:
            self._due = now
        return not (self._may_be_another and self._keeps_out)

    def look(self, now: float) -> None:
        """Find out whose commands have begun, if that is due at a monotonic time (s).

        Not while a command waits for it: the middleware takes 0.2 s where many processes begin.
        """
        if not self._due:
            return
        if self._keeps_out:
            if now < self._due:
                return
            present = self._present()
            if not present:
                return
            if not present <= self._known:
                self._tell_stranger()
        else:
            self._known = self._present()
        self._due, self._may_be_another = 0.0, False

    def accept(self) -> None:
        """Those that there are now are known, on request."""
        self._known, self._stranger = self._present(), ""

    def report(self, status: Status) -> None:
        if not self._node.active or self._node.engine is None:
            return
        if self._stranger:
            status.error(self._stranger)
        elif not self._known:
            self._known = self._present()

    @property
    def _keeps_out(self) -> bool:
        """It has loads that a process which was not there before does not know."""
        return bool(self._loads() and self._known)

    def _present(self) -> frozenset[bytes]:
        """The processes that publish commands: what their identifiers have in common that are of one process."""
        infos = self._node.get_publishers_info_by_topic(self._topic)
        return frozenset(bytes(info.endpoint_gid[:PARTICIPANT]) for info in infos)

    def _tell_stranger(self) -> None:
        """No command passes until somebody has said that it may."""
        loads = ", ".join(f"{load[0]:g} kg at {frame!r}" for frame, load in self._loads())
        self._stranger = (
            f"commands come from a new process, which does not know the payload that this node has ({loads}): "
            "tell it by its set_payload, then call ~/resume"
        )
        self._node.get_logger().error(self._stranger)
        self._keep_out(self._stranger)
