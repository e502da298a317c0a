# SPDX-License-Identifier: Apache-2.0
"""What an executable takes itself, before what every ROS 2 node does: --help, and the file of the robot."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from typing import NoReturn

from rbd_dynamics.common.excerpt import excerpt

DESCRIPTION = "robot_description"
BEGIN, END = "--ros-args", "--"
PARAMETER = ("-p", "--param")


class OwnArguments:
    """The arguments of a process, its name first, in two parts.

    Of those that are not for ROS: wants_help: it shall only tell about itself. urdf: what stands for the robot, None
    where nothing does; packages, xacro: folders of packages, and the arguments of a xacro, NAME:=VALUE behind its
    name. unknown: none of these. Raises ValueError for an option without its value.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._ros: list[str] = list(arguments[:1])
        own: list[str] = []
        inside = False
        for each in arguments[1:]:
            before, inside = inside, each == BEGIN or (inside and each != END)
            (self._ros if before or inside else own).append(each)
        parser = _Parser(add_help=False, allow_abbrev=False)
        parser.add_argument("--help", "-h", action="store_true")
        parser.add_argument("--urdf")
        parser.add_argument("--packages", action="append", default=[])
        found, self.unknown = parser.parse_known_args(own)
        self.wants_help: bool = found.help
        self.urdf: str | None = found.urdf
        self.packages: list[str] = found.packages
        self.xacro: dict[str, str] = {}
        if self.urdf is not None and ".xacro" in self.urdf:  # else it is what ROS 1 took there, and is said
            given = {word: word.partition(":=") for word in self.unknown}
            self.xacro = {name: value for name, assigned, value in given.values() if assigned and name.isidentifier()}
            self.unknown = [word for word in self.unknown if given[word][0] not in self.xacro]

    def for_ros(self, texts: Collection[str]) -> list[str]:
        """Arguments that rcl reads as they are meant. texts: names of the parameters that are texts.

        The robot's file becomes the parameter robot_description. Raises ValueError for what is neither URDF nor SDF.
        """
        result = list(self._ros)
        for k in range(1, len(result)):
            if result[k - 1] in PARAMETER:
                result[k] = _as_text(result[k], texts)
        if self.urdf is not None:
            from rbd_dynamics.formats.load import node_text

            text = node_text(self.urdf, packages=self.packages, arguments=self.xacro)
            if text is None:
                raise ValueError(f"--urdf {excerpt(self.urdf)} is neither URDF nor SDF, which are what nodes read")
            result += [BEGIN, PARAMETER[0], f"{DESCRIPTION}:={json.dumps(text, ensure_ascii=False)}"]
        return result


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _as_text(rule: str, texts: Collection[str]) -> str:
    """NAME:=VALUE whose value is XML, in quotes: a colon in it would make it a mapping for rcl, which reads YAML."""
    name, assigned, value = rule.partition(":=")
    if assigned and name.rpartition(":")[2] in texts and value.lstrip("\ufeff \t\r\n").startswith("<"):
        return f"{name}:={json.dumps(value, ensure_ascii=False)}"
    return rule
