# SPDX-License-Identifier: Apache-2.0
"""Service `~/set_payload`: loads attached to frames, kept when a new description comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic

from geometry_msgs.msg import InertiaStamped

from rbd_dynamics.nodes.description import Prefix, message_of
from rbd_dynamics.nodes.engines import E
from rbd_dynamics.nodes.managed_node import ManagedNode
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from rbd_dynamics_interfaces.srv import SetPayload

#: mass, com, (ixx, ixy, ixz, iyy, iyz, izz), or None for a point mass
Load = tuple[float, tuple[float, float, float], tuple[float, ...] | None]


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
        """By frame."""
        return list(self._loads.items())

    def set(self, robots: Sequence[Robot], frame: str, load: Load) -> None:
        """Attach, replace or (mass zero) detach. Raises ValueError or KeyError, and then changes nothing."""
        for robot in robots:
            attach(robot, frame, load)
        self._loads.pop(frame, None)
        if load[0] != 0.0:
            self._loads[frame] = load

    def apply_to(self, robots: Sequence[Robot]) -> list[str]:
        """Attach all loads to other robots of one model; says which do not fit it, and forgets them."""
        problems = []
        for frame, load in list(self._loads.items()):
            try:
                for robot in robots:
                    attach(robot, frame, load)
            except (ValueError, KeyError) as error:
                del self._loads[frame]
                problems.append(f"payload of {frame!r} dropped: {message_of(error)}")
        return problems


class PayloadService(Generic[E]):
    """The service of one node; `robots` are those of an engine that shall carry the loads."""

    def __init__(self, node: ManagedNode[Any, E], payloads: Payloads, robots: Callable[[E], Sequence[Robot]]) -> None:
        try:
            from rbd_dynamics_interfaces.srv import SetPayload
        except ImportError:  # the node works without its services
            node.get_logger().warning("rbd_dynamics_interfaces is not built: no service set_payload")
            return
        self._node, self._payloads, self._robots = node, payloads, robots
        node.serve(SetPayload, "~/set_payload", self._on_request)

    def _on_request(self, request: SetPayload.Request, response: SetPayload.Response) -> SetPayload.Response:
        self._node.poll()
        engine = self._node.engine
        try:
            if engine is None:
                raise ValueError("there is no robot yet")
            frame, load = _load_of(request.payload, engine.prefix)
            robots = self._robots(engine)
            self._payloads.set(robots, frame, load)
            response.success = True
            response.message = f"{frame}: {load[0]:g} kg" if load[0] else f"{frame}: no load"
            response.total_mass = robots[0].model.mass + self._payloads.mass
        except (ValueError, KeyError, ArithmeticError) as error:
            response.success = False
            response.message = message_of(error)
        return response


def _load_of(message: InertiaStamped, prefix: Prefix) -> tuple[str, Load]:
    """Frame and load of a message."""
    inertia = message.inertia
    com = (inertia.com.x, inertia.com.y, inertia.com.z)
    moments = (inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz)
    if not message.header.frame_id:
        raise ValueError("header.frame_id is empty: it names the link or joint that carries the load")
    return prefix.inside(message.header.frame_id), (inertia.m, com, moments)
