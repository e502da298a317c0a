# SPDX-License-Identifier: Apache-2.0
"""Why a joint_trajectory_controller has rejected a goal: its action does not say."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.task import Future

from rbd_dynamics.nodes.commanding.controller_watch import MANAGER
from rbd_dynamics.nodes.managed.managed_node import ManagedNode

NAMES = ["joints", "allow_partial_joints_goal"]


class Rejection:
    """What its manager says of its state, and its parameters of its joints.

    Parameters:
        controller: its node, in full.
    """

    def __init__(self, node: ManagedNode[Any, Any], controller: str) -> None:
        space, _, self._name = controller.rpartition("/")

        def client(kind: Any, name: str) -> Any:
            return node.entities.keep(node.create_client(kind, name), node.destroy_client)

        self._parameters = client(GetParameters, f"{controller}/get_parameters")
        self._list: Any = None
        try:
            self._kind = importlib.import_module("controller_manager_msgs.srv").ListControllers
        except ImportError:
            return
        self._list = client(self._kind, f"{space}/{MANAGER}/list_controllers")

    def look_into(self, names: Sequence[str], tell: Callable[[str], None]) -> None:
        """Tell the reason, empty where none is found, once all have answered who are there: that may be never.

        names: the goal's joints.
        """
        asked: dict[str, Future] = {}
        if self._list is not None and self._list.service_is_ready():
            asked["state"] = self._list.call_async(self._kind.Request())
        if self._parameters.service_is_ready():
            asked["joints"] = self._parameters.call_async(GetParameters.Request(names=NAMES))
        if not asked:
            return tell("")

        def answered(_: Future) -> None:
            if all(future.done() for future in asked.values()):
                found = {what: future.result() for what, future in asked.items() if future.exception() is None}
                tell(self._state(found.get("state")) or _missing(names, found.get("joints")))

        for future in list(asked.values()):
            future.add_done_callback(answered)

    def _state(self, response: Any) -> str:
        states = {each.name: each.state for each in response.controller} if response is not None else {}
        state = states.get(self._name, "active")
        return "" if state == "active" else f"the controller is {state}"


def _missing(names: Sequence[str], response: Any) -> str:
    values = list(response.values) if response is not None else []
    joints = list(values[0].string_array_value) if len(values) == len(NAMES) else []
    left = [name for name in joints if name not in names]
    if not left or values[1].bool_value:
        return ""
    return f"the goal lacks its joint {left[0]!r}, and its parameter allow_partial_joints_goal is false"
