# SPDX-License-Identifier: Apache-2.0
"""Switch controllers of ros2_control once torques arrive at those that are to forward them."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from rbd_dynamics.nodes.managed.messages import COMMANDS
from rbd_dynamics.nodes.tools.listening import Spin, visitor

LOOK = 0.02  # s
ENOUGH = 5  # commands in a row, none more than APART after the one before: a torque node answers
APART = 0.5  # s
ANSWER = 5.0  # s: the manager switches within, or gives up
UNFIT = ("unconfigured", "finalized")


class NotSwitched(RuntimeError):
    """The controllers are as they were; the message says why."""


def switch(
    on: Sequence[str],
    off: Sequence[str] = (),
    *,
    manager: str = "/controller_manager",
    patience: float = 60.0,
    say: Callable[[str], object] = lambda line: None,
) -> str:
    """Activate and deactivate controllers, all in one cycle, and return what the manager says of it.

    Of those that are to be activated, one that takes commands (`~/commands`) first gets some: who commands is ready,
    and the robot is never without torques. What is active or inactive already stays so.

    Parameters:
        manager: the controller manager's node.
        patience: s to wait for the manager, for the controllers and for commands, each.
        say: told what is waited for.

    Raises NotSwitched where the manager refuses, ValueError for what was waited for in vain, ImportError where
    controller_manager_msgs is not installed.
    """
    srv = importlib.import_module("controller_manager_msgs.srv")
    with visitor("switch") as (node, spin):
        waits = _Waits(node, spin, patience, say)
        listing = node.create_client(srv.ListControllers, f"{manager}/list_controllers")
        switching = node.create_client(srv.SwitchController, f"{manager}/switch_controller")
        waits.until(
            lambda: listing.service_is_ready() and switching.service_is_ready(), f"controller manager {manager}"
        )
        states: dict[str, str] = {}

        def known() -> bool:
            response = waits.answer(listing, srv.ListControllers.Request(), manager)
            states.update({each.name: each.state for each in response.controller})
            return all(states.get(name, UNFIT[0]) not in UNFIT for name in (*on, *off))

        waits.until(known, f"controllers {', '.join((*on, *off))} of {manager} to be loaded and configured")
        to_do = [name for name in on if states[name] != "active"]
        for name in to_do:
            waits.commands(f"{manager.rpartition('/')[0]}/{name}/commands")
        request = srv.SwitchController.Request(
            activate_controllers=to_do, deactivate_controllers=[name for name in off if states[name] == "active"]
        )
        if not request.activate_controllers and not request.deactivate_controllers:
            return "all were so already"
        request.strictness = srv.SwitchController.Request.STRICT
        request.timeout.sec = round(ANSWER)
        response = waits.answer(switching, request, manager)
    if not response.ok:
        raise NotSwitched(getattr(response, "message", "") or f"{manager} has not switched: its log says why")
    return getattr(response, "message", "") or "switched"  # before Jazzy there is none


class _Waits:
    """Waiting, for so long."""

    def __init__(self, node: Node, spin: Spin, patience: float, say: Callable[[str], object]) -> None:
        self._node, self._spin, self._patience, self._say = node, spin, patience, say

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Raises ValueError."""
        self._say(f"waiting for {what}")
        end = time.monotonic() + self._patience
        while not condition():
            if time.monotonic() > end:
                raise ValueError(f"waited {self._patience:g} s in vain for {what}")
            self._spin(LOOK)

    def answer(self, client: Any, request: Any, of: str) -> Any:
        """Raises ValueError where none comes."""
        future, end = client.call_async(request), time.monotonic() + 2.0 * ANSWER
        while not future.done():
            if time.monotonic() > end:
                raise ValueError(f"{of} does not answer for {2.0 * ANSWER:g} s")
            self._spin(LOOK)
        return future.result()

    def commands(self, topic: str) -> None:
        """Wait for some, where it is a topic that takes any."""
        kinds = dict(self._node.get_topic_names_and_types()).get(topic, [])
        if "std_msgs/msg/Float64MultiArray" not in kinds or not self._node.count_subscribers(topic):
            return
        came: list[float] = []

        def take(message: Float64MultiArray) -> None:
            now = time.monotonic()
            if came and now - came[-1] > APART:
                came.clear()
            came.append(now)

        subscription = self._node.create_subscription(Float64MultiArray, topic, take, COMMANDS)
        try:
            self.until(lambda: len(came) >= ENOUGH, f"commands on {topic}: is a node ready that commands there?")
        finally:
            self._node.destroy_subscription(subscription)
