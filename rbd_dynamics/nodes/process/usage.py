# SPDX-License-Identifier: Apache-2.0
"""What an executable says of itself with `--help`, from the table of its interface. Imports no ROS."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rbd_dynamics.nodes.interface import Interface

WIDTHS = 60, 100  # columns, least and most
#: what every node of ROS 2 takes
ROS_ARGUMENTS = (
    ("-p NAME:=VALUE", "set a parameter; a list as -p 'kp:=[1.0, 2.0]'"),
    ("--params-file FILE", "set parameters from a YAML file"),
    ("-r FROM:=TO", "another name for a topic or service, or for the node with __node and __ns"),
    ("--log-level LEVEL", "debug, info, warn, error or fatal"),
)
#: in place of parameter and topic robot_description
URDF_ARGUMENT = (
    "--urdf FILE",
    "the robot: a URDF, xacro or SDF file, or the name of a robot of example-robot-data; NAME:=VALUE after a xacro are "
    "its arguments, and --packages DIR is where its packages are, at any depth, beside those of ROS; may be repeated",
)


def usage(interface: Interface[Any]) -> str:
    """One line: how it is called."""
    urdf = " [--urdf FILE]" if reads_urdf(interface) else ""
    ros = "[--ros-args [-p NAME:=VALUE] [--params-file FILE] [-r FROM:=TO] ...]"
    return f"usage: {interface.executable} [--help]{urdf} {ros}"


def reads_urdf(interface: Interface[Any]) -> bool:
    """It has a robot."""
    return any(each.name == "robot_description" for each in interface.parameters)


def help_text(interface: Interface[Any]) -> str:
    """What the node is, its topics, services, actions and parameters with types, defaults and ranges, examples."""
    kinds = [(f"{each.name} ({each.kind})", each.description) for each in (*interface.services, *interface.actions)]
    called = textwrap.fill(usage(interface), _width(), subsequent_indent="           ", break_on_hyphens=False)
    parts = [called, "", *textwrap.wrap(interface.summary, _width())]
    for head, topics in (
        ("subscribes:", [topic for topic in interface.topics if not topic.published]),
        ("publishes:", [topic for topic in interface.topics if topic.published]),
    ):
        parts += _section(head, [(f"{topic.name} ({topic.kind})", topic.description) for topic in topics])
    parts += _section("services and actions:", kinds)
    parts += _section(
        "parameters, * those that may change while the node is configured:",
        [
            (
                f"{each.name}{' *' if each.dynamic else ''} ({each.kind}, default {each.default!r})",
                each.description + (f" ({each.constraint})" if each.constraint else ""),
            )
            for each in interface.parameters
        ],
    )
    if reads_urdf(interface):
        parts += _section("arguments of its own:", [URDF_ARGUMENT])
    if interface.examples:
        parts += ["", "examples:", *(_example(interface.executable, each) for each in interface.examples)]
    parts += _section("arguments of every ROS 2 node, after --ros-args:", ROS_ARGUMENTS)
    return "\n".join(parts)


def _section(head: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not entries:
        return
    yield from ("", head)
    for name, meaning in entries:
        yield from _wrapped(name, 2, 4)
        yield from _wrapped(meaning, 6, 6)


def _wrapped(text: str, first: int, others: int) -> list[str]:
    """Lines of the terminal's width with these indents; words keep their hyphens."""
    return textwrap.wrap(
        text, _width(), initial_indent=" " * first, subsequent_indent=" " * others, break_on_hyphens=False
    )


def _width() -> int:
    """The width of the terminal, or what COLUMNS says."""
    least, most = WIDTHS
    return min(max(shutil.get_terminal_size().columns, least), most)


def _example(executable: str, arguments: str) -> str:
    """A command that can be pasted: where it is too long it goes on in the next line."""
    line = f"  ros2 run rbd_dynamics {executable} {arguments}"
    if len(line) <= _width():
        return line
    return f"  ros2 run rbd_dynamics {executable} \\\n      {arguments}"
