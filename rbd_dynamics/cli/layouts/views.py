# SPDX-License-Identifier: Apache-2.0
"""What there is to be seen of nodes: charts of their topics, poses and wrenches in 3-D, diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rbd_dynamics.nodes.interface import Interface

#: {node: (title, topic, the message's field)}; the field's numbers are drawn as one chart
CHARTS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "feedforward": (
        ("Efforts", "~/effort", "effort"),
        ("Error of positions", "~/tracking_error", "position"),
        ("Error of velocities", "~/tracking_error", "velocity"),
    ),
    "cartesian_controller": (
        ("Efforts", "~/effort", "effort"),
        ("Place of the tool", "~/current_pose", "pose.position"),
        ("Where it is wanted", "~/wanted_pose", "pose.position"),
        ("Its velocity", "~/current_twist", "twist.linear"),
        ("What it presses with", "~/current_wrench", "wrench.force"),
    ),
    "hybrid_controller": (
        ("Efforts", "~/effort", "effort"),
        ("Force", "~/task_state", "forces"),
        ("Wanted force", "~/task_state", "desired_forces"),
        ("Depth in the surface", "~/task_state", "violations"),
        ("Normal of the surface", "~/surface_normal", "pose.orientation"),
    ),
    "simulator": (("Force at the sensor", "~/wrench", "wrench.force"),),
    "monitor": (
        ("External torques", "~/external_torque", "effort"),
        ("What the model gets wrong", "~/residual", "effort"),
        ("Contact", "~/contact", "data"),
    ),
    "guard": (("Commands that pass the guard", "~/commands", "data"),),
    "dynamics_server": (),
    "trajectory_proxy": (),
}
#: what is drawn in 3-D: {node: (name, topic)}
MARKS: dict[str, tuple[tuple[str, str], ...]] = {
    "cartesian_controller": (
        ("Tool", "~/current_pose"), ("Wanted tool", "~/wanted_pose"), ("Target", "~/target_pose"),
        ("Pressing", "~/current_wrench"),
    ),
    "hybrid_controller": (("Surface", "~/surface_normal"), ("Sensor", "wrench")),
    "simulator": (("Simulated sensor", "~/wrench"),),
}  # fmt: skip
POSE, WRENCH = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/WrenchStamped"
JOINT_STATE, BOOL = "sensor_msgs/msg/JointState", "std_msgs/msg/Bool"
#: arrows along x, the other poses are axes
ARROWS = ("~/surface_normal",)


@dataclass(frozen=True)
class Curve:
    """One number over time.

    Attributes:
        label: for people.
        series: what PlotJuggler calls it; its parser of joint states has names in place of indices.
        path: Foxglove's message path.
    """

    label: str
    series: str
    path: str


@dataclass(frozen=True)
class Chart:
    """Curves in one diagram."""

    title: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Mark:
    """A topic that is drawn in 3-D: a pose, as an arrow or as axes, or a wrench."""

    name: str
    topic: str
    kind: str
    is_arrow: bool


@dataclass
class Views:
    """All of it.

    Attributes:
        tabs: {its name: charts}.
        topics: that charts need, absolute.
        description: the topic of the robot's URDF.
        root: the frame that all is drawn in.
    """

    root: str
    description: str
    tabs: dict[str, list[Chart]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)


def views_of(
    nodes: Sequence[tuple[str, Interface[Any]]], joints: Sequence[str], *, namespace: str, robot: str, root: str
) -> Views:
    """Parameters: nodes with their names; joints as messages name them; the robot's name; its root frame."""
    own = namespace.rstrip("/")
    found = Views(root, f"{own}/robot_description")
    states = f"{own}/joint_states"
    fields = (("Positions", "position"), ("Velocities", "velocity"), ("Measured efforts", "effort"))
    found.tabs["robot"] = [Chart(title, _curves(states, JOINT_STATE, part, joints)) for title, part in fields]
    levels, topics = [], [states, "/diagnostics"]
    for name, interface in nodes:
        kinds = {topic.name: topic.kind for topic in interface.topics}
        charts = []
        for title, topic, part in CHARTS[interface.executable]:
            address = _address(topic, own, name)
            charts.append(Chart(title, _curves(address, kinds[topic], part, joints)))
            topics.append(address)
        if charts:
            found.tabs[name] = charts
        for title, topic in MARKS.get(interface.executable, ()):
            found.marks.append(Mark(title, _address(topic, own, name), kinds[topic], topic in ARROWS))
        levels.append(_level(f"{own}/{name}"[1:], interface.executable, robot))
    found.tabs["robot"].append(Chart("State: 0 fine, 1 warning, 2 error", tuple(levels)))
    found.topics = list(dict.fromkeys(topics))
    return found


def _address(topic: str, namespace: str, node: str) -> str:
    if topic.startswith("~/"):
        return f"{namespace}/{node}/{topic[2:]}"
    return topic if topic.startswith("/") else f"{namespace}/{topic}"


def _curves(topic: str, kind: str, part: str, joints: Sequence[str]) -> tuple[Curve, ...]:
    slashes = f"{topic}/{part.replace('.', '/')}"
    if kind == JOINT_STATE:
        return tuple(Curve(each, f"{topic}/{each}/{part}", f"{topic}.{part}[{k}]") for k, each in enumerate(joints))
    if kind == BOOL:
        return (Curve("contact", slashes, f"{topic}.{part}"),)
    if part == "data":  # one for each joint
        return tuple(Curve(each, f"{slashes}[{k}]", f"{topic}.data[{k}]") for k, each in enumerate(joints))
    if "." in part:
        parts = "xyzw" if part.endswith("orientation") else "xyz"
        return tuple(Curve(f"{part} {x}", f"{slashes}/{x}", f"{topic}.{part}.{x}") for x in parts)
    return (Curve(f"{part.replace('_', ' ')}, first row", f"{slashes}[0]", f"{topic}.{part}[0]"),)


def _level(node: str, executable: str, robot: str) -> Curve:
    status = f"{node}: {executable}"
    path = f'/diagnostics.status[:]{{name=="{status}"}}.level'
    return Curve(node, f"/diagnostics/{robot}/{status}/level" if robot else f"/diagnostics/{status}/level", path)
