# SPDX-License-Identifier: Apache-2.0
"""`/diagnostics` once a second: what the node says about itself."""

from __future__ import annotations

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from rbd_dynamics.nodes.managed.messages import COMMANDS

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
PERIOD = 1.0  # s


class Status:
    """One report: the worst level and its message, and values."""

    def __init__(self) -> None:
        self.level: bytes = OK
        self.messages: list[str] = []
        self.values: dict[str, object] = {}

    def warn(self, message: str) -> None:
        self._add(WARN, message)

    def error(self, message: str) -> None:
        self._add(ERROR, message)

    def _add(self, level: bytes, message: str) -> None:
        if level > self.level:
            self.level = level
            self.messages.insert(0, message)
        else:
            self.messages.append(message)


class Diagnostics:
    """Asks `report` for a Status once a second of wall time and publishes it."""

    def __init__(self, node: Node, executable: str, report: Callable[[Status], None]) -> None:
        self._node, self._executable, self._report = node, executable, report
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", COMMANDS)
        self._timer = node.create_timer(PERIOD, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        status = Status()
        self._report(status)
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [
            DiagnosticStatus(
                level=status.level,
                name=f"{self._node.get_fully_qualified_name()[1:]}: {self._executable}",
                message="; ".join(status.messages) or "ok",
                hardware_id=str(status.values.pop("robot", "")),
                values=[KeyValue(key=key, value=str(value)) for key, value in status.values.items()],
            )
        ]
        self._publisher.publish(message)
