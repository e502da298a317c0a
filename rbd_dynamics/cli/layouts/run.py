# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics layouts`: three files that show a robot's nodes."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any

from rbd_dynamics.cli.layouts.foxglove import foxglove_layout
from rbd_dynamics.cli.layouts.plotjuggler import plotjuggler_layout
from rbd_dynamics.cli.layouts.rviz import rviz_config
from rbd_dynamics.cli.layouts.views import views_of
from rbd_dynamics.cli.sources import load_and_warn
from rbd_dynamics.cli.usage_error import UsageError
from rbd_dynamics.nodes.interface import INTERFACES, Interface

FILES = ("plotjuggler.xml", "foxglove.json", "robot.rviz")
#: what opens them
HOWS = (
    "ros2 run plotjuggler plotjuggler --layout",
    "Foxglove, with foxglove_bridge: Layout, Import from file",
    "rviz2 -d",
)


def run_layouts(options: argparse.Namespace) -> int:
    from rbd_dynamics.common.whole_files import write_whole
    from rbd_dynamics.model.model import WORLD

    namespace = _namespace(options.namespace)
    nodes = nodes_of(options.nodes)
    model = load_and_warn(options)
    prefix = options.tf_prefix

    def outside(name: str) -> str:
        return name if name.startswith(prefix) else prefix + name

    if not model.joints:
        raise UsageError(f"robot {model.name!r} has no joint that moves: there is nothing to be seen")
    joints = [outside(joint.name) for joint in model.joints if joint.kind.nv == 1]
    links = [frame.name for frame in model.frames if frame.body == WORLD and frame.element == "link"]
    root = outside(links[0]) if links else "world"
    views = views_of(nodes, joints, namespace=namespace, robot=model.name, root=root)
    texts = plotjuggler_layout(views), foxglove_layout(views), rviz_config(views, tf_prefix=prefix)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in zip(FILES, texts):
        write_whole(options.output / name, text)
    if options.json:
        print(json.dumps({"folder": str(options.output), "files": list(FILES), "topics": views.topics}, indent=2))
        return 0
    for name, how in zip(FILES, HOWS):
        print(f"{options.output / name}\n    {how}{f' {options.output / name}' if how[0].islower() else ''}")
    return 0


def nodes_of(names: Sequence[str]) -> list[tuple[str, Interface[Any]]]:
    """(a node's name, its interface) of KIND and NAME=KIND. Raises UsageError."""
    known = {interface.executable: interface for interface in INTERFACES}
    found: list[tuple[str, Interface[Any]]] = []
    for text in names:
        name, _, kind = text.rpartition("=")
        if kind not in known:
            raise UsageError(f"--nodes: {kind!r} is not one of {', '.join(known)}")
        name = name or kind
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"--nodes: {name!r} is not the name of a node")
        if name in (other for other, _ in found):
            raise UsageError(f"--nodes: {name!r} is given twice")
        found.append((name, known[kind]))
    if not found:
        raise UsageError("--nodes: there are none")
    return found


def _namespace(text: str) -> str:
    """The namespace with a slash in front and none behind. Raises UsageError."""
    found = f"/{text.strip('/')}" if text.strip("/") else ""
    if not re.fullmatch(r"(/[A-Za-z_]\w*)*", found):
        raise UsageError(f"--namespace: {text!r} is not a ROS namespace")
    return found
