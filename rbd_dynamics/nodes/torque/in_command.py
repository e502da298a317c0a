# SPDX-License-Identifier: Apache-2.0
"""Does what a torque node publishes reach the motors? The controller manager may say so, and what is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.passive_forces import friction_torque
from rbd_dynamics.control.safety.command_evidence import EffortEvidence, MotionEvidence
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import TorqueEngine
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.part import Part

Array = NDArray[np.float64]
EVERY = 10_000_000  # ns: how often evidence is taken


class Commander(Protocol):
    """What is asked of the node."""

    meets_contact: bool  # contact is part of what its law is for: that the robot does not move is no sign

    def holding(self, engine: Any, robot: Any) -> tuple[Array, Array]:
        """Efforts that hold the robot still where it is, and their limits."""


class InCommand(Part):
    """Whether the node's efforts move the robot, as far as its controller's manager and its states tell.

    Where they do not, the node holds the robot where it is at each moment and takes no goals, so that it can take over
    without a step when they do again.

    Parameters:
        word: what the controller manager says against it; empty: nothing.

    Attributes:
        reason: why they do not, by the latest evidence; empty: nothing speaks against it.
    """

    def __init__(
        self,
        node: ManagedNode[Any, Any],
        commander: Commander,
        changed: Callable[[str], None],
        word: Callable[[], str] = lambda: "",
    ) -> None:
        self._node, self._commander, self._changed, self._word = node, commander, changed, word
        self.reason = ""
        self.use(())

    def use(self, joints: Sequence[str]) -> None:
        """Watch efforts of these joints from now on."""
        self._efforts, self._motion = EffortEvidence(joints), MotionEvidence(joints)
        self._last, self._known = np.zeros(len(joints)), False
        self._due = 0  # ns: when the next evidence is taken

    def activated(self) -> None:
        self.reason = ""
        self.silent("")

    def silent(self, reason: str) -> None:
        self._forget_evidence()
        self._known = False

    def _forget_evidence(self) -> None:
        self._efforts.reset()
        self._motion.reset()

    def commanded(self, efforts: Array) -> None:
        """Take in what was published."""
        self._last[:] = efforts
        self._known = True

    def look(self, engine: TorqueEngine, efforts: Sequence[float], time: int) -> None:
        """Take evidence of a state. efforts: as its message has them; time: its stamp, ns."""
        if self._due - EVERY <= time < self._due:
            return
        self._due = time + EVERY
        reason = ""
        if self._known:  # else, as on standby, nothing can follow
            self._efforts.commanded(self._last, time)
            self._motion.commanded(self._last)
            if self._node.params.check_in_command:
                if reason := self._word():  # then measurements tell nothing of this node's efforts
                    self._forget_evidence()
                else:
                    reason = self._problem(engine, efforts, time)
        if reason != self.reason:
            self._say(reason)

    def _problem(self, engine: TorqueEngine, efforts: Sequence[float], time: int) -> str:
        limits = engine.effort_limits
        measured = engine.reader.arranged(efforts)[engine.commanded]
        if problem := self._efforts.problem(measured, limits, time):
            return problem
        whole = isinstance(engine.commanded, slice)  # else what moves the other joints is not known
        if self._commander.meets_contact or not whole:
            return ""
        held, _ = self._commander.holding(engine, engine.robot)
        robot, q, v = engine.robot, engine.reader.q, engine.reader.v
        friction = np.array(friction_torque(robot.model, v.tolist()), dtype=float)
        return self._motion.problem(held, limits, v, time, lambda: robot.mass_matrix(q), friction)

    def _say(self, reason: str) -> None:
        before, self.reason = self.reason, reason
        if not reason:
            self._node.get_logger().info("in command again: the robot is held where it is")
        elif not before:
            self._node.get_logger().warning(f"not in command: {reason}")
            self._changed(f"not in command: {reason}")

    def report(self, status: Status) -> None:
        if self.reason and self._node.active:
            status.values["in command"] = "no"
            status.warn(f"not in command: {self.reason}; commanded is what holds the robot where it is")
