# SPDX-License-Identifier: Apache-2.0
"""A stand-in for `ros2 run` and `ros2 launch`, as far as this package's nodes and launch files need them.

    python ros2.py run rbd_dynamics feedforward --ros-args ...
    python ros2.py launch rbd_dynamics feedforward.launch.py urdf:=robot.urdf

Launch files are those of the package, as they are; `launch` and `launch_ros` are the few classes below, which give a
process the arguments that launch_ros gives it. An interrupt is passed on, and the command ends after its processes.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def executable(package: str, name: str) -> str:
    """The file that `ros2 run` starts. Raises SystemExit."""
    from ament_index_python.packages import get_package_prefix

    file = Path(get_package_prefix(package)) / "lib" / package / name
    return str(file) if file.is_file() else sys.exit(f"No executable found: {name}")


class LaunchContext:
    def __init__(self, given: Mapping[str, str]) -> None:
        self.launch_configurations = dict(given)


class LaunchDescription:
    def __init__(self, entities: Iterable[Any]) -> None:
        self.entities = list(entities)


class LaunchConfiguration:
    def __init__(self, name: str) -> None:
        self.name = name

    def perform(self, context: LaunchContext) -> str:
        return context.launch_configurations[self.name]


class DeclareLaunchArgument:
    declared: set[str] = set()

    def __init__(self, name: str, *, default_value: str, description: str) -> None:
        self.name, self.default = name, default_value

    def commands(self, context: LaunchContext) -> list[list[str]]:
        self.declared.add(self.name)
        context.launch_configurations.setdefault(self.name, self.default)
        return []


class OpaqueFunction:
    def __init__(self, *, function: Callable[[LaunchContext], list[Any]]) -> None:
        self.function = function

    def commands(self, context: LaunchContext) -> list[list[str]]:
        return [words for entity in self.function(context) for words in entity.commands(context)]


class ExecuteProcess:
    def __init__(self, *, cmd: Sequence[str], **_: Any) -> None:
        self.words = list(cmd)

    def commands(self, context: LaunchContext) -> list[list[str]]:
        return [self.words]


class ParameterFile:
    """Of which $(var NAME) is put in."""

    def __init__(self, file: LaunchConfiguration, *, allow_substs: bool) -> None:
        self.file, self.substitutes = file, allow_substs

    def evaluate(self, context: LaunchContext) -> Path:
        text = Path(self.file.perform(context)).read_text()
        if self.substitutes:
            text = re.sub(r"\$\(var (\w+)\)", lambda found: context.launch_configurations[found[1]], text)
        return written(text)


class ParameterValue:
    def __init__(self, value: Any, *, value_type: type) -> None:
        self.value = value_type(value)


class Node:
    def __init__(
        self,
        *,
        package: str,
        executable: str,
        name: str,
        namespace: str,
        parameters: Sequence[ParameterFile | Mapping[str, Any]],
        remappings: Sequence[tuple[str, str]],
        arguments: Sequence[str],
        prefix: str | None,
        output: str,
        emulate_tty: bool,
    ) -> None:
        self.program, self.name, self.namespace = (package, executable), name, namespace
        self.parameters, self.remappings, self.arguments = parameters, remappings, arguments
        self.prefix = shlex.split(prefix or "")

    def commands(self, context: LaunchContext) -> list[list[str]]:
        words = [*self.prefix, executable(*self.program), *self.arguments, "--ros-args", "-r", f"__node:={self.name}"]
        words += ["-r", f"__ns:=/{self.namespace.strip('/')}"] if self.namespace else []
        for each in self.parameters:
            if isinstance(each, ParameterFile):
                words += ["--params-file", str(each.evaluate(context))]
            elif each:
                values = {
                    key: value.value if isinstance(value, ParameterValue) else value for key, value in each.items()
                }
                words += ["--params-file", str(written(yaml.safe_dump({"/**": {"ros__parameters": values}})))]
        return [[*words, *(word for old, new in self.remappings for word in ("-r", f"{old}:={new}"))]]


def written(text: str) -> Path:
    """A file with that text, which stays as long as whoever reads it may."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write(text)
    return Path(file.name)


MODULES = {
    "launch": [LaunchContext, LaunchDescription],
    "launch.actions": [DeclareLaunchArgument, ExecuteProcess, OpaqueFunction],
    "launch.substitutions": [LaunchConfiguration],
    "launch_ros": [],
    "launch_ros.actions": [Node],
    "launch_ros.parameter_descriptions": [ParameterFile, ParameterValue],
}


def launched(file: Path, given: Mapping[str, str]) -> list[list[str]]:
    """The commands that a launch file starts. Raises SystemExit for an argument that it has not."""
    for name, classes in MODULES.items():
        sys.modules[name] = module = ModuleType(name)
        for each in classes:
            setattr(module, each.__name__, each)
    spec = importlib.util.spec_from_file_location("launch_file", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    context = LaunchContext(given)
    commands = [words for entity in module.generate_launch_description().entities for words in entity.commands(context)]
    unknown = set(given) - DeclareLaunchArgument.declared
    return commands if not unknown else sys.exit(f"no such launch argument: {', '.join(sorted(unknown))}")


def until_all_end(commands: Iterable[Sequence[str]]) -> int:
    """Start them and wait; the largest exit code."""
    processes = [subprocess.Popen(words, start_new_session=True) for words in commands]
    signal.signal(signal.SIGINT, lambda number, _: [each.send_signal(number) for each in processes])
    return max(abs(each.wait()) for each in processes)


def main(verb: str, package: str, what: str, *rest: str) -> int:
    if verb == "run":
        os.execv(executable(package, what), [what, *rest])
    given = {name: value for name, _, value in (word.partition(":=") for word in rest)}
    return until_all_end(launched(ROOT / "launch" / what, given))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
