# SPDX-License-Identifier: Apache-2.0
"""The tool on the sensor of `hybrid_controller`: found out of poses that services name, and taken off its readings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.contact.sensor_tool import SensorCalibration, SensorTool, UntoldToolError
from rbd_dynamics.control.contact.settled_readings import SettledReadings
from rbd_dynamics.nodes.commanding.node_clock import NodeClock
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.tool.hybrid_engine import HybridEngine

Array = NDArray[np.float64]


class ToolOnSensor(Part):
    """Collects poses, and says what the sensor reads of the tool.

    Attributes:
        tool: as it was found; None: not yet.
    """

    def __init__(self, node: ManagedNode[Any, HybridEngine], clock: NodeClock) -> None:
        self._node, self._clock = node, clock
        self._settled = SettledReadings(0, 0)
        self._poses: SensorCalibration | None = None
        self._of: tuple[Any, ...] = ()  # frame and gravity of what is known
        self._forgotten: tuple[float, ...] = ()  # numbers of a parameter that count no more
        self.tool: SensorTool | None = None

    def keep(self, engine: HybridEngine, numbers: Array) -> None:
        """Another reading (m, f), as it came."""
        reader = engine.reader
        if self._settled.sizes != (len(reader.q), len(reader.v)):
            self._settled = SettledReadings(len(reader.q), len(reader.v))
        self._settled.add(numbers, reader.q, reader.v)

    def felt(self, engine: HybridEngine, q: Array) -> Array | float:
        """(m, f) (6,) that the sensor reads of tool and bias at q, or 0.0 where they are not known."""
        if self.tool is None:
            return 0.0
        return self.tool.felt(engine.robot.pose(q, engine.sensor.frame))

    @property
    def begun(self) -> bool:
        """Whether a tool is known, or poses were taken."""
        return self._poses is not None or self.tool is not None

    def fits(self, engine: HybridEngine) -> bool:
        """Whether what is known, if anything, is of the engine's sensor and gravity."""
        return not self.begun or self._of == _sensor_of(engine)

    def remember(self) -> None:
        """A parameter counts again, whatever was forgotten before."""
        self._forgotten = ()

    def use_given(self, engine: HybridEngine) -> bool:
        """Take what `sensor_tool` says, where nothing else is known and it was not forgotten; whether it was taken."""
        numbers = self._node.params.sensor_tool
        if not numbers or self.begun or numbers == self._forgotten:
            return False
        self.tool, self._of = SensorTool.known(numbers, engine.model.gravity), _sensor_of(engine)
        return True

    def forget(self, reason: str = "") -> None:
        """Nothing is known of a tool. reason: it is said where something was."""
        if reason and self.begun:
            self._node.get_logger().warning(f"the sensor's calibration is forgotten: {reason}")
        self._poses = self.tool = None
        self._forgotten = self._node.params.sensor_tool
        self._settled.forget()

    def add_pose(self, engine: HybridEngine, stamp: int) -> str:
        """Add the present pose; what is known by now. stamp: of the latest reading, ns; 0: there was none.

        Raises ValueError with the reason where the pose is not taken, or the readings contradict a tool.
        """
        node, reader = self._node, engine.reader
        if engine.supervisor.engaged:
            raise ValueError("not while engaged")
        if not stamp or not reader.stamp:
            raise ValueError("no wrench received" if not stamp else "no joint state received")
        if abs(self._clock.now() - reader.stamp) > 1e9 * node.params.state_timeout > 0.0:
            raise ValueError("joint states are silent")
        if abs(reader.stamp - stamp) > 1e9 * node.params.sensor_timeout:
            raise ValueError("the sensor is silent")
        mean, variance = self._settled.average()
        poses = self._poses or SensorCalibration(engine.model.gravity)
        poses.add(engine.robot.pose(reader.q, engine.sensor.frame)[:3, :3], mean, variance=variance)
        self._poses, self._of = poses, _sensor_of(engine)
        self._settled.forget()  # no reading counts twice
        try:
            self.tool = poses.tool()
        except UntoldToolError as error:
            return f"poses: {len(poses)}; {error}"
        except ValueError as error:
            self.tool = None
            raise ValueError(f"{error}; call ~/forget_calibration") from None
        torque, force = self.tool.noise
        rest = f"readings differ from it by {force:.2g} N, {torque:.2g} N m"
        given = ", ".join(f"{number:.6g}" for number in self.tool.numbers)
        return f"poses: {len(poses)}; taken off: {self.tool}; {rest}; as a parameter: sensor_tool: [{given}]"

    def report(self, status: Status) -> None:
        if self.tool is not None:
            status.values["tool on the sensor"] = str(self.tool)
        elif self._poses is not None:
            status.values["tool on the sensor"] = f"poses: {len(self._poses)}; {self._poses.missing}"


def _sensor_of(engine: HybridEngine) -> tuple[Any, ...]:
    """What a calibration is good for: the sensor's frame, and gravity."""
    return (engine.sensor.frame, *engine.model.gravity)
