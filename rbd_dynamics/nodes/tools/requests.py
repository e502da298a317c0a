# SPDX-License-Identifier: Apache-2.0
"""Ask the nodes of a ROS graph: their services and parameters, and publish to their topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import JointState

from rbd_dynamics.common.excerpt import close_names
from rbd_dynamics.nodes.tools.listening import Spin, topics
from rbd_dynamics.nodes.tools.message_values import field_names, filled, message_class, number

LOOK_PERIOD = 0.02  # s
SETTLED = 1.5  # s in which nothing new was found


class NodeEntry(NamedTuple):
    name: str  # with its name space
    services: dict[str, str]  # {name: type}


class ParameterEntry(NamedTuple):
    name: str
    value: Any
    description: str


class Graph:
    """What a visitor may ask, and how long it waits for it.

    Parameters:
        node, spin: of `listening.visitor`. patience: s.
    """

    def __init__(self, node: Node, spin: Spin, patience: float) -> None:
        self._node, self._spin, self._patience = node, spin, patience

    def nodes(self) -> list[NodeEntry]:
        """All nodes but this visitor, once nothing new is found."""
        own = (self._node.get_name(), self._node.get_namespace())
        known: set[tuple[str, str]] = set()
        end, settled = time.monotonic() + self._patience, time.monotonic() + SETTLED
        while time.monotonic() < min(end, settled):
            found = set(self._node.get_node_names_and_namespaces())
            if found != known:
                known, settled = found, time.monotonic() + SETTLED
            self._spin(LOOK_PERIOD)
        return sorted(
            NodeEntry(
                f"{space.rstrip('/')}/{name}",
                {each: kinds[0] for each, kinds in self._node.get_service_names_and_types_by_node(name, space)},
            )
            for name, space in known
            if (name, space) != own
        )

    def call(self, service: str, values: Any) -> Any:
        """The answer of a service to a request of those values. Raises ValueError, also where none comes."""
        name = self._node.resolve_service_name(service)

        def kinds() -> list[str]:
            return next((kinds for each, kinds in self._node.get_service_names_and_types() if each == name), [])

        if not self._wait(kinds):
            raise ValueError(f"waited {self._patience:g} s in vain for service {name}{self._instead_of(name)}")
        kind = message_class(kinds()[0])
        return self._answer(kind, name, filled(kind.Request, values, self._node.get_clock().now().to_msg()))

    def _instead_of(self, service: str) -> str:
        """What to say of a service that there is not: those of its node, which may not be ready, else of all."""
        owner, _, last = service.rpartition("/")
        own = next((list(each.services) for each in self.nodes() if each.name == owner), None)
        if own is None:
            known = [each for each, _ in self._node.get_service_names_and_types() if not _is_of_parameters(each)]
            return _meant(service, known)
        known = [each.removeprefix(f"{owner}/") for each in own if not _is_of_parameters(each)]
        if near := close_names(last, known, 1):
            return f"; did you mean {near[0]}?"
        return f": node {owner} runs, and has it once it has its robot; see `rbd_dynamics status`, and its log"

    def fields(self, name: str) -> tuple[list[str], list[str]]:
        """Names of the fields that a service or a topic takes, and those of joints, where messages have such."""
        name = self._node.resolve_topic_name(name)

        def kinds() -> list[str]:
            everything = (*self._node.get_service_names_and_types(), *self._node.get_topic_names_and_types())
            return next((kinds for each, kinds in everything if each == name), [])

        if not self._wait(kinds):
            return [], []
        kind = message_class(kinds()[0])
        found = field_names(getattr(kind, "Request", kind))
        return found, self._joints() if {"joint_names", "name"} & set(found) else []

    def _joints(self) -> list[str]:
        """Names in the next message of joint_states, where one comes."""
        came: list[JointState] = []
        self._node.create_subscription(JointState, "joint_states", came.append, qos_profile_sensor_data)
        self._wait(lambda: came)
        return list(came[0].name) if came else []

    def parameters(self, of: str, names: list[str]) -> list[ParameterEntry]:
        """Parameters of a node, all where none is named. Raises ValueError."""
        of = self._full(of)
        if not names:
            listed = self._answer(ListParameters, f"{of}/list_parameters", ListParameters.Request())
            names = sorted(listed.result.names)
        values = self._answer(GetParameters, f"{of}/get_parameters", GetParameters.Request(names=names)).values
        told = self._describe(of, names)
        return [
            ParameterEntry(name, parameter_value_to_python(value), each.description)
            for name, value, each in zip(names, values, told, strict=True)
        ]

    def set_parameters(self, of: str, values: Mapping[str, Any]) -> str:
        """Set parameters of a node together; why they are refused, empty where they are not. Raises ValueError."""
        of, names = self._full(of), list(values)
        message = SetParametersAtomically.Request()
        for name, described in zip(names, self._describe(of, names), strict=True):
            value = parameter_value(values[name], described.type, name)
            message.parameters.append(Parameter(name=name, value=value))
        result = self._answer(SetParametersAtomically, f"{of}/set_parameters_atomically", message).result
        return "" if result.successful else result.reason or "refused without a reason"

    def publish(self, topic: str, kind: str | None, values: Any, *, count: int, rate: float) -> str:
        """Publish a message, again and again at a rate, Hz, once somebody subscribes; the topic's name.

        kind: of the message; default: what the subscribers take. Raises ValueError.
        """
        name = self._node.resolve_topic_name(topic)

        def subscribers() -> list[Any]:
            return self._node.get_subscriptions_info_by_topic(name)

        if not self._wait(subscribers):
            known = [each.name for each in topics(self._node, self._spin) if each.subscriptions]
            raise ValueError(f"waited {self._patience:g} s in vain for a subscriber of {name}{_meant(name, known)}")
        made = message_class(kind or subscribers()[0].topic_type)
        message = filled(made, values, self._node.get_clock().now().to_msg())
        # what is reliable and latched reaches every kind of subscriber
        qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        publisher = self._node.create_publisher(made, name, qos)
        self._wait(publisher.get_subscription_count)
        for k in range(count):
            if k:
                self._spin(1.0 / rate)
                message = filled(made, values, self._node.get_clock().now().to_msg())
            publisher.publish(message)
        if not publisher.wait_for_all_acked(Duration(seconds=self._patience)):
            raise ValueError(f"nobody says that the message has come on {name}")
        return name

    def _full(self, of: str) -> str:
        """The node's full name, once it answers. Raises ValueError."""
        of = of if of.startswith("/") else f"/{of}"

        def has_parameters() -> bool:
            return any(each == f"{of}/get_parameters" for each, _ in self._node.get_service_names_and_types())

        if not self._wait(has_parameters):
            raise ValueError(
                f"waited {self._patience:g} s in vain for node {of}{_meant(of, [x.name for x in self.nodes()])}"
            )
        return of

    def _describe(self, of: str, names: list[str]) -> list[Any]:
        answer = self._answer(DescribeParameters, f"{of}/describe_parameters", DescribeParameters.Request(names=names))
        described = list(answer.descriptors)
        unknown = [name for name, each in zip(names, described) if each.type == ParameterType.PARAMETER_NOT_SET]
        if len(described) != len(names) or unknown:
            listed = self._answer(ListParameters, f"{of}/list_parameters", ListParameters.Request()).result.names
            for name in names:
                if name not in listed:
                    near = close_names(name, list(listed), 1)
                    raise ValueError(f"{of} has no parameter {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
        return described

    def _answer(self, kind: Any, name: str, request: Any) -> Any:
        client = self._node.create_client(kind, name)
        try:
            if not self._wait(client.service_is_ready):
                raise ValueError(f"waited {self._patience:g} s in vain for service {name}")
            future = client.call_async(request)
            if not self._wait(future.done):
                raise ValueError(f"service {name} has not answered for {self._patience:g} s")
            return future.result()
        finally:
            self._node.destroy_client(client)

    def _wait(self, condition: Callable[[], Any]) -> bool:
        end = time.monotonic() + self._patience
        while not (found := condition()) and time.monotonic() < end:
            self._spin(LOOK_PERIOD)
        return bool(found)


def parameter_value(value: Any, kind: int, name: str) -> ParameterValue:
    """A value for a parameter of that type (rcl_interfaces/ParameterType). Raises ValueError that names it."""
    fields = {
        ParameterType.PARAMETER_BOOL: ("bool_value", bool, False),
        ParameterType.PARAMETER_INTEGER: ("integer_value", int, False),
        ParameterType.PARAMETER_DOUBLE: ("double_value", float, False),
        ParameterType.PARAMETER_STRING: ("string_value", str, False),
        ParameterType.PARAMETER_BOOL_ARRAY: ("bool_array_value", bool, True),
        ParameterType.PARAMETER_INTEGER_ARRAY: ("integer_array_value", int, True),
        ParameterType.PARAMETER_DOUBLE_ARRAY: ("double_array_value", float, True),
        ParameterType.PARAMETER_STRING_ARRAY: ("string_array_value", str, True),
    }
    if kind not in fields:
        raise ValueError(f"parameter {name!r} has no type that could be set here")
    field, type_, is_array = fields[kind]
    values = value if is_array and isinstance(value, list) else [value]
    if is_array != isinstance(value, list) and not is_array:
        raise ValueError(f"parameter {name!r}: {value!r} is a list, expected one {type_.__name__}")
    if type_ is float:
        values = [number(each) for each in values]
    for each in values:
        if type(each) is not type_:
            raise ValueError(f"parameter {name!r}: {each!r} is no {type_.__name__}")
    return ParameterValue(type=kind, **{field: values if is_array else values[0]})


def _is_of_parameters(service: str) -> bool:
    return service.rpartition("/")[2] in {
        "describe_parameters", "get_parameter_types", "get_parameters", "get_type_description", "list_parameters",
        "set_parameters", "set_parameters_atomically",
    }  # fmt: skip


def _meant(name: str, known: list[str]) -> str:
    near = close_names(name, known, 1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(sorted(known))}" if known else ": is the node running, in this ROS_DOMAIN_ID?"
