# SPDX-License-Identifier: Apache-2.0
"""Wrenches that `hybrid_controller` gets: what the sensor reads, and what it is to read."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from std_srvs.srv import Trigger

from rbd_dynamics.control.hybrid.checks import force_problem
from rbd_dynamics.nodes.commanding.node_clock import NodeClock
from rbd_dynamics.nodes.managed.description_text import message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import LATEST, nanoseconds
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.tool.hybrid_engine import HybridEngine
from rbd_dynamics.nodes.tool.sensor_calibration import ToolOnSensor

Array = NDArray[np.float64]


class WrenchInput(Part):
    """The latest reading of the sensor, and what others want of it.

    Attributes:
        bias (6): (m, f) that it reads where nothing is felt; on top of the tool's, where that is known.
        carried: the tool on the sensor.
        stamp: of the reading, ns; 0: there was none.
    """

    def __init__(self, node: ManagedNode[Any, HybridEngine], clock: NodeClock) -> None:
        self._node, self._clock = node, clock
        self._numbers, self._reading = np.zeros(6), np.zeros(6)
        self.carried = ToolOnSensor(node, clock)
        self.bias = np.zeros(6)
        self.stamp = self._read = 0

    def open(self) -> None:
        self.carried.remember()
        if self._node.engine is not None:  # it was adopted already
            self._use_given(self._node.engine)
        entities = self._node.entities
        entities.subscribe(WrenchStamped, "wrench", self._on_wrench, LATEST, urgent=True)
        entities.subscribe(WrenchStamped, "~/desired_wrench", self._on_desired_wrench)
        entities.serve(Trigger, "~/tare", self._on_tare)
        entities.serve(Trigger, "~/calibrate_sensor", self._on_calibrate)
        entities.serve(Trigger, "~/forget_calibration", self._on_forget)

    def take(self, numbers: Array, stamp: int) -> None:
        """Another reading: (m, f) at a time (ns)."""
        self._numbers[:], self.stamp = numbers, stamp

    def multipliers(self, engine: HybridEngine, q: Array, v: Array) -> Array | None:
        """Measured multipliers of the constraints; None before the first reading, and where they have no rows there.

        What the reading has besides is the engine's `sensor.beside`.
        """
        if not self.stamp:
            return None
        self._reading = self._numbers - self.bias
        if self.carried.tool is not None:
            self._reading -= self.carried.felt(engine, q)
        supervisor = engine.supervisor
        passed, self._read = 1e-9 * (self.stamp - self._read), self.stamp
        tare = supervisor.limits.tare
        engine.free.update(supervisor.mode, supervisor.tared, self._reading, max(passed, 0.0), tare=tare)
        try:
            return engine.sensor.read(q, v, self._reading, engine.free.zero)
        except ArithmeticError:
            return None

    @property
    def reading(self) -> Array:
        """(m, f) of the latest multipliers, without the bias and the tool."""
        return self._reading

    def report(self, status: Status) -> None:
        self.carried.report(status)

    def _on_wrench(self, message: WrenchStamped) -> None:
        node = self._node
        try:
            numbers = numbers_of(message, "wrench", node.engine, of_robot=node.params.wrench_of_robot)
        except ValueError as error:
            node.refuse(str(error))
        else:
            self.take(numbers, nanoseconds(message.header.stamp) or self._clock.now())
            if node.engine is not None:
                self.carried.keep(node.engine, numbers)

    def _on_desired_wrench(self, message: WrenchStamped) -> None:
        node, engine, what = self._node, self._node.engine, "desired wrench"
        try:
            numbers = numbers_of(message, what, engine, of_robot=node.params.wrench_of_robot)
            if engine is not None:
                engine.supervisor.desired[:] = desired_force(numbers, what, engine)
        except ValueError as error:
            node.refuse(str(error))

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        engine = self._node.engine
        if not self.stamp:
            response.success, response.message = False, "no wrench received"
        elif engine is not None and engine.supervisor.engaged:
            response.success, response.message = False, "not while engaged"
        else:
            self.bias[:] = self._numbers
            if engine is not None:
                self.bias -= self.carried.felt(engine, engine.reader.q)
                engine.supervisor.offset[:] = engine.free.zero[:] = 0.0
            response.success, response.message = True, f"zero is now {self.bias.round(3).tolist()}"
        return response

    def _on_calibrate(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        engine = self._node.engine
        before = self.carried.tool
        try:
            if engine is None:
                raise ValueError("the node has no robot")
            response.success, response.message = True, self.carried.add_pose(engine, self.stamp)
        except (ValueError, ArithmeticError) as error:
            response.success, response.message = False, message_of(error)
        if self.carried.tool is not before:
            self._begin_anew()
        return response

    def _on_forget(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        engine = self._node.engine
        if engine is not None and engine.supervisor.engaged:
            response.success, response.message = False, "not while engaged"
        else:
            self.forget_tool()
            response.success, response.message = True, "no tool and no bias is taken off"
        return response

    def adopt(self, engine: HybridEngine) -> None:
        """Another robot or task: a tool of another sensor, or under another gravity, is forgotten."""
        if not self.carried.fits(engine):
            self.forget_tool("the sensor's frame or gravity is another one")
        self._use_given(engine)

    def _use_given(self, engine: HybridEngine) -> None:
        if self.carried.use_given(engine):
            self._begin_anew()

    def forget_tool(self, reason: str = "") -> None:
        """No tool and no bias is known. reason: it is said where poses were taken."""
        self.carried.forget(reason)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """What was zero before says nothing about the readings from now on."""
        self.bias[:] = 0.0
        engine = self._node.engine
        if engine is not None:
            engine.supervisor.offset[:] = engine.free.zero[:] = 0.0


def numbers_of(message: WrenchStamped, what: str, engine: HybridEngine | None, *, of_robot: bool) -> Array:
    """(m, f) on the robot, in the sensor's frame: from there, or from another frame that is fixed to it.

    of_robot: the message has what the robot exerts. Raises ValueError, which names `what` it is, where a number is not
    finite, and where the frame is not known or moves against the sensor's.
    """
    force, torque, frame = message.wrench.force, message.wrench.torque, message.header.frame_id
    numbers = np.array([torque.x, torque.y, torque.z, force.x, force.y, force.z])
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} is not finite")
    if engine is not None and frame:
        expected = engine.prefix.outside(engine.sensor.frame)
        if frame != expected:
            try:
                numbers = engine.frames.moved(engine.prefix.inside(frame), numbers)
            except KeyError as error:
                raise ValueError(
                    f"{what} is in frame {frame!r}, expected {expected!r} (parameter sensor_frame) or one that is "
                    f"fixed to it: {message_of(error)}"
                ) from None
    return -numbers if of_robot else numbers


def desired_force(numbers: Array, what: str, engine: HybridEngine) -> Array:
    """Multipliers of the wrench (m, f) that is wanted. Raises ValueError where the controller may not press so."""
    wanted = engine.sensor.multipliers(engine.reader.q, numbers)
    names, supervisor = engine.controller.constraints.row_names, engine.supervisor
    if problem := force_problem(wanted, names, supervisor.unilateral, supervisor.limits.largest_force):
        raise ValueError(f"{what} refused: {problem}")
    return wanted
