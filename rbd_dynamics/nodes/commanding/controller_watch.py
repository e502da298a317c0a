# SPDX-License-Identifier: Apache-2.0
"""What ros2_control says of the controller behind a node's commands: is it active, and which joints does it command?"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.node import Node

from rbd_dynamics.nodes.managed.description_text import BuildError
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import LATCHED
from rbd_dynamics.nodes.managed.part import Part

LOOK = 0.1  # s: how often it is looked who is there
SEARCH = 5  # looks, of which one searches the graph for the controller
ASK = 0.5  # s: how often a controller manager is asked that publishes no activity
PATIENCE = 2.0  # s without an answer after which it is asked again
AT_START = 1.0  # s: as long the first command waits for a controller that has been asked for its joints
MANAGER = "controller_manager"
COMMANDS, UNGUARDED = "/commands", "/unguarded_commands"
EFFORTS = "std_msgs/msg/Float64MultiArray"


class ControllerWatch(Part):
    """The controller that a node commands, by its manager's activity, or by its list where there is none.

    Nothing here waits: a manager that is busy, dead or not there leaves the state as it was, or unknown.

    Parameters:
        joints: those that the node commands, as messages name them; none: not known yet.
        end: called with the reason where the controller commands other joints.

    Attributes:
        name: the controller's node, in full; empty: not known, or there is none.
        state: as the manager calls it; empty: not known.
    """

    def __init__(
        self, node: ManagedNode[Any, Any], joints: Callable[[], Sequence[str]], end: Callable[[str], None]
    ) -> None:
        self._node, self._joints, self._end = node, joints, end
        self._messages: tuple[Any, Any] | None = None
        self._forget()

    def _forget(self) -> None:
        self.name = self.state = ""
        self._listed = False  # it was there
        self._heard = False  # the manager's activity
        self._list: Request | None = None
        self._parameters: Request | None = None
        self._theirs: tuple[list[str], str] | None = None  # joints and interface, as its parameters say
        self._begun = 0.0
        self._searched = 0  # looks without a name

    def open(self) -> None:
        self._forget()
        try:
            self._messages = (
                importlib.import_module("controller_manager_msgs.msg").ControllerManagerActivity,
                importlib.import_module("controller_manager_msgs.srv").ListControllers,
            )
        except ImportError:
            pass  # said once there is a controller
        self._node.entities.every(LOOK, self._look)

    def activated(self) -> None:
        self._begun, self._searched = time.monotonic(), 0
        self._look()
        if problem := self._mismatch():
            raise BuildError(problem)

    @property
    def problem(self) -> str:
        """Why commands do not reach the motors; empty: they do, or that is not known."""
        return f"controller {self.name!r} is {self.state}" if self.state not in ("", "active") else ""

    @property
    def undecided(self) -> bool:
        """It has just been asked for its joints: a first command may wait for the answer."""
        asked = self._parameters is not None and self._parameters.pending and self._theirs is None
        return asked and time.monotonic() - self._begun < AT_START

    def report(self, status: Status) -> None:
        if self.state:
            status.values["controller"] = f"{self.name}: {self.state}"
        if problem := self._mismatch():
            status.error(problem)

    # --- in between -------------------------------------------------------------------------------

    def _look(self) -> None:
        if not self.name:
            self._searched += 1
            if self._searched % SEARCH != 1 or not self._find():
                return
        if self._list is not None:
            self._look_at_manager(self._list)
        if self._parameters is not None:
            self._look_at_joints(self._parameters)

    def _find(self) -> bool:
        node = self._node
        self.name = node.params.controller or _commanded(node, node.resolve_topic_name("~/commands"))
        if not self.name:
            return False
        if not self.name.startswith("/"):
            self.name = f"{node.get_namespace().rstrip('/')}/{self.name}"
        if self._messages is not None:
            activity, listing = self._messages
            manager = f"{self.name.rpartition('/')[0]}/{MANAGER}"
            self._topic = f"{manager}/activity"
            node.entities.subscribe(activity, self._topic, self._on_activity, LATCHED)
            self._list = Request(node, listing, f"{manager}/list_controllers", self._on_list)
        else:
            node.get_logger().info(
                f"controller_manager_msgs is not installed: whether {self.name!r} is active is judged by measurements"
            )
        self._parameters = Request(node, GetParameters, f"{self.name}/get_parameters", self._on_parameters)
        return True

    def _look_at_manager(self, listing: Request) -> None:
        publishes = self._node.count_publishers(self._topic) > 0
        if self._heard and publishes:
            return
        self._heard = False
        if listing.ready:
            listing.ask(every=ASK)
        elif not publishes and self.state:
            self._node.get_logger().warning(f"the manager of controller {self.name!r} has gone: its state is not known")
            self.state, self._listed = "", False

    def _on_activity(self, message: Any) -> None:
        self._heard = True
        self._take({each.name: each.state.label for each in message.controllers})

    def _on_list(self, response: Any) -> None:
        if not self._heard:
            self._take({each.name: each.state for each in response.controller})

    def _take(self, states: dict[str, str]) -> None:
        """What the manager says of all its controllers."""
        state = states.get(self.name.rpartition("/")[2], "")
        self._listed = self._listed or bool(state)
        if not state and (self._listed or self._node.params.controller):
            state = "not loaded"  # else it may be a node of somebody's own that takes commands
        if state != self.state and state == "active":
            self._theirs = None  # it may have been configured anew
        self.state = state

    # --- its joints -------------------------------------------------------------------------------

    def _look_at_joints(self, parameters: Request) -> None:
        if not parameters.ready:
            self._theirs = None
        elif self._theirs is None:
            parameters.ask(every=PATIENCE, names=["joints", "interface_name"])
        elif self._node.active and (problem := self._mismatch()):
            self._node.get_logger().fatal(f"{problem}; no torques until the node is activated again")
            self._end(problem)

    def _on_parameters(self, response: Any) -> None:
        values = list(response.values)
        if len(values) == 2:
            self._theirs = list(values[0].string_array_value), values[1].string_value
        else:
            self._theirs = [], ""
        if self._parameters is not None:
            self._look_at_joints(self._parameters)

    def _mismatch(self) -> str:
        """Why this controller does something else with the node's commands; empty: it does not, or is of another kind.

        Controllers that forward commands have a parameter `interface_name`.
        """
        ours = list(self._joints())
        if self._theirs is None or not self._theirs[1] or not ours:
            return ""
        joints, interface = self._theirs
        if interface != "effort":
            return f"controller {self.name!r} takes commands as {interface}, not as effort (its interface_name)"
        if joints and joints != ours:
            return (
                f"controller {self.name!r} commands {', '.join(joints)}, in this order, and the node "
                f"{', '.join(ours)}: parameter 'joints' is to be the same in both"
            )
        return ""


class Request:
    """One to a service that may be missing, busy or gone; at most one is on its way.

    Parameters:
        take: called with the response.
    """

    def __init__(self, node: ManagedNode[Any, Any], kind: Any, name: str, take: Callable[[Any], None]) -> None:
        self._kind, self._take = kind, take
        self._client: Client = node.entities.keep(node.create_client(kind, name), node.destroy_client)
        self._future: Any = None  # a Future, or None
        self._asked = 0.0

    @property
    def ready(self) -> bool:
        """The service is there."""
        return bool(self._client.service_is_ready())

    @property
    def pending(self) -> bool:
        """It was asked and has not answered."""
        return self._future is not None

    def ask(self, *, every: float, **fields: Any) -> None:
        """Ask, unless that was done less than `every` s ago; one that is not answered is given up after PATIENCE."""
        now = time.monotonic()
        if now - self._asked < (every if self._future is None else PATIENCE):
            return
        if self._future is not None:
            self._client.remove_pending_request(self._future)
        self._asked = now
        self._future = future = self._client.call_async(self._kind.Request(**fields))
        future.add_done_callback(self._answered)

    def _answered(self, future: Any) -> None:
        if future is not self._future:
            return
        self._future = None
        if future.exception() is None and (response := future.result()) is not None:
            self._take(response)


def _commanded(node: Node, topic: str) -> str:
    """The node whose `~/commands` that topic is, behind a guard also; empty where it is the node's own, or none."""
    if topic.endswith(UNGUARDED):
        space, _, guard = topic.removesuffix(UNGUARDED).rpartition("/")
        known = guard in [name for name, where in node.get_node_names_and_namespaces() if where == (space or "/")]
        found = node.get_publisher_names_and_types_by_node(guard, space or "/") if known else []
        topic = next((name for name, kinds in found if EFFORTS in kinds and name.endswith(COMMANDS)), "")
        own = f"{space}/{guard}"
    else:
        own = node.get_fully_qualified_name()
    name = topic.removesuffix(COMMANDS)
    return name if topic.endswith(COMMANDS) and name not in (own, node.get_fully_qualified_name()) else ""
