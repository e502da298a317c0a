# SPDX-License-Identifier: Apache-2.0
"""Service `~/set_payload`: loads attached to frames, kept when a new description comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from geometry_msgs.msg import InertiaStamped
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD
from rbd_dynamics.model.payload import Payload
from rbd_dynamics.nodes.managed.description_text import Prefix, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import E
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import LATCHED
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from rbd_dynamics_interfaces.srv import SetPayload

Array = NDArray[np.float64]
#: mass, com, (ixx, ixy, ixz, iyy, iyz, izz), or None for a point mass
Load = tuple[float, tuple[float, float, float], tuple[float, ...] | None]

# No robot carries more; what is larger is a slip of a unit or of a digit.
MOST_MASS = 1e6  # kg
FARTHEST = 1e3  # m
MOST_INERTIA = 1e9  # kg m^2
MOST_EFFORT = 1e9  # N m, N: more is no load of a robot
LONGEST_TRANSITION = 60.0  # s


def attach(robot: Robot, frame: str, load: Load) -> None:
    """`Robot.set_payload`, and its errors."""
    mass, com, inertia = load
    robot.set_payload(frame, mass, com=com, inertia=inertia)


class Payloads:
    """The loads by frame."""

    def __init__(self) -> None:
        self._loads: dict[str, Load] = {}

    @property
    def mass(self) -> float:
        return sum(load[0] for load in self._loads.values())

    @property
    def loads(self) -> list[tuple[str, Load]]:
        """The loads with their frames."""
        return list(self._loads.items())

    def set(self, robots: Sequence[Robot], frame: str, load: Load, attempt: Callable[[Robot], None]) -> None:
        """Attach, replace or (mass zero) detach. Raises ValueError or KeyError, and then changes nothing.

        attempt: called with each robot as it would be; may raise too.
        """
        mass, com, inertia = load
        if mass and any(robot.model.frame(frame).body == WORLD for robot in robots):
            raise ValueError(f"payload at {frame!r}: it is fixed to the world, so a load there changes no torque")
        for robot in robots:
            attempt(robot.carrying(frame, mass, com=com, inertia=inertia))
        for robot in robots:
            attach(robot, frame, load)
        self._loads.pop(frame, None)
        if load[0] != 0.0:
            self._loads[frame] = load

    def apply_to(self, robots: Sequence[Robot]) -> dict[str, str]:
        """Attach all loads to other robots of one model. Why some do not fit it, by frame: they are not attached."""
        problems = {}
        for frame, load in self._loads.items():
            try:
                for robot in robots:
                    attach(robot, frame, load)
            except (ValueError, KeyError) as error:
                problems[frame] = f"payload of {frame!r} dropped: {message_of(error)}"
        return problems

    def forget(self, frames: Iterable[str]) -> None:
        """Those of robots that are no more."""
        for frame in frames:
            del self._loads[frame]

    def move_to(self, robots: Sequence[Robot], warn: Callable[[str], None]) -> None:
        """`apply_to`, and loads that do not fit are forgotten."""
        problems = self.apply_to(robots)
        for problem in problems.values():
            warn(problem)
        self.forget(problems)


class PayloadService(Part, Generic[E]):
    """The service of one node.

    Parameters:
        robots: those of an engine that shall carry the loads.
        attempt: raises ValueError or ArithmeticError for a robot whose new load the engine cannot work with.
        changed: called when the load has changed: over how long commands shall change over, s; 0: as usual.

    Attributes:
        payloads: what the robot carries.
    """

    def __init__(
        self,
        node: ManagedNode[Any, E],
        robots: Callable[[E], Sequence[Robot]],
        attempt: Callable[[E, Robot], None] = lambda engine, robot: None,
        changed: Callable[[float], None] = lambda takes: None,
    ) -> None:
        self._node, self._robots, self._attempt, self._changed = node, robots, attempt, changed
        self.payloads = Payloads()

    def move_to(self, engine: E) -> None:
        """Attach all to another engine's robots; what does not fit them is forgotten."""
        self.payloads.move_to(self._robots(engine), self._node.get_logger().warning)

    def open(self) -> None:
        node = self._node
        try:
            from rbd_dynamics_interfaces.msg import Payloads as PayloadsMessage
            from rbd_dynamics_interfaces.srv import SetPayload
        except ImportError:  # the node works without its services
            node.get_logger().warning("rbd_dynamics_interfaces is not built: no service set_payload")
            return
        self._told = node.entities.publish_on(PayloadsMessage, "~/payloads", LATCHED)
        node.entities.serve(SetPayload, "~/set_payload", self._on_request)
        node.description.when_adopted(self._tell)
        self._tell()

    def report(self, status: Status) -> None:
        if self.payloads.mass:
            status.values["payload, kg"] = f"{self.payloads.mass:g}"

    def _on_request(self, request: SetPayload.Request, response: SetPayload.Response) -> SetPayload.Response:
        self._node.poll()
        engine = self._node.engine
        try:
            if engine is None:
                raise ValueError("there is no robot yet")
            takes = request.transition_time
            if not 0.0 <= takes <= LONGEST_TRANSITION:
                raise ValueError(f"transition_time must be from 0 to {LONGEST_TRANSITION:g} s, got {takes:g}")
            frame, load = _load_of(request.payload, engine.prefix)
            robots = self._robots(engine)
            self.payloads.set(robots, frame, load, lambda robot: self._attempt(engine, robot))
            self._changed(takes)
            response.success = True
            response.message = f"{frame}: {load[0]:g} kg" if load[0] else f"{frame}: no load"
            response.total_mass = _total_mass(robots[0])
            self._tell()
        except (ValueError, KeyError, ArithmeticError) as error:
            response.success = False
            response.message = message_of(error)
        return response

    def _tell(self) -> None:
        """What the robot carries, latched."""
        engine = self._node.engine
        if engine is None:
            return
        robot = self._robots(engine)[0]
        message = self._told.msg_type(total_mass=_total_mass(robot))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.payloads = [_message_of(engine.prefix.outside(frame), load) for frame, load in robot.payloads.items()]
        self._told.publish(message)


def _total_mass(robot: Robot) -> float:
    return float(robot.model.mass + sum(load.mass for load in robot.payloads.values()))


def _message_of(frame: str, load: Payload) -> InertiaStamped:
    message = InertiaStamped()
    message.header.frame_id = frame
    message.inertia.m = load.mass
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = load.com.tolist()
    moments = load.inertia[np.triu_indices(3)].tolist()
    for name, value in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), moments):
        setattr(message.inertia, name, value)
    return message


def _load_of(message: InertiaStamped, prefix: Prefix) -> tuple[str, Load]:
    """Frame and load of a message."""
    inertia = message.inertia
    com = (inertia.com.x, inertia.com.y, inertia.com.z)
    moments = (inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz)
    if not message.header.frame_id:
        raise ValueError("header.frame_id is empty: it names the link or joint that carries the load")
    for what, numbers, most in (("mass", (inertia.m,), MOST_MASS), ("com", com, FARTHEST),
                                ("inertia", moments, MOST_INERTIA)):  # fmt: skip
        for number in numbers:
            if most < abs(number) < math.inf:
                raise ValueError(f"payload: {what} {number:g} is more than any robot carries ({most:g})")
    return prefix.inside(message.header.frame_id), (inertia.m, com, moments)


def check_holding(
    names: Sequence[str], before: Array, efforts: Array, limits: Array, *, limits_before: Array | None = None
) -> None:
    """Raise ValueError where a robot could hold itself still before, and after a change cannot.

    Parameters:
        names: of the joints.
        before, efforts: what holds it still, before and after (joints), N m or N.
        limits: of the efforts (joints). limits_before: before the change; default: the same.
    """
    limits = np.minimum(limits, MOST_EFFORT)
    could = np.abs(before) <= (limits if limits_before is None else limits_before)
    wrong = ~(np.abs(efforts) <= limits) & could
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"joint {names[k]!r} would need {efforts[k]:.4g} to hold still where it is; its limit is {limits[k]:.4g}"
        )
