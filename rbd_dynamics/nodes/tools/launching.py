# SPDX-License-Identifier: Apache-2.0
"""What the launch files share: their arguments, and the action that starts a node. Needs launch and launch_ros."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from launch import LaunchContext, LaunchDescription
from rbd_dynamics.formats.load import needs_xacro
from rbd_dynamics.formats.packages import folders_of
from rbd_dynamics.formats.source import read_file
from rbd_dynamics.formats.xacro_files import expanded
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.nodes.interface.every import INTERFACES, interface_of
from rbd_dynamics.nodes.interface.guard import GuardParameters
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.process.parameter_files import entries_of

PACKAGE = "rbd_dynamics"

ARGUMENTS = {
    "namespace": ("", "name space of the node and its topics"),
    "tf_prefix": ("", "put before joint and frame names; xacro gets it, and params_file as $(var tf_prefix)"),
    "use_sim_time": ("", "take time from /clock: true or false. Empty: as params_file says, or false"),
    "urdf": ("", "file of the robot: URDF, SDF or xacro. Without it: from the topic robot_description"),
    "xacro": ("", "the same: a file that xacro is to expand"),
    "xacro_args": ("", "arguments for xacro, as in 'arm_id:=panda hand:=true'"),
    "packages": ("", "folders with packages for xacro, at any depth, beside those of ROS; several with : between them"),
    "log_level": ("info", "debug, info, warn, error or fatal"),
}
#: topics that arguments of the same name rename, where a node has them
TOPICS = {
    "joint_states": ("", "topic of the joint states. Empty: joint_states"),
    "commands": ("", "topic of the effort controller. Empty: the node's own, NODE/commands"),
    "wrench": ("", "topic of the force-torque sensor. Empty: the node's own"),
    "unguarded_commands": ("feedforward/commands", "topic of the torque node's commands"),
}
#: of torque nodes: the node `guard` can stand behind them, and their controller be activated once they are ready
GUARDED = {
    "guard": ("false", "true: start the node guard, between this node and the effort controller"),
    "activate": (
        "false",
        "true: activate the controller that `commands` names once torques arrive there: spawn it with --inactive",
    ),
    "deactivate": ("", "controllers that are deactivated in the same cycle, by name; several with spaces between them"),
}
OWN_ARGUMENTS = {
    **{each.executable: GUARDED for each in INTERFACES if issubclass(each.parameter_set, TorqueParameters)},
    "trajectory_proxy": {
        "controller": ("joint_trajectory_controller", "the controller behind it, in whose name space it is started")
    },
}


def topics_named(executable: str) -> dict[str, str]:
    """{argument: topic} of those of TOPICS that a node has."""
    names = [topic.name for topic in interface_of(executable).topics]
    return {name.removeprefix("~/"): name for name in names if name.removeprefix("~/") in TOPICS}


def launch_node(executable: str, config: str) -> LaunchDescription:
    """A launch description with one node and the usual arguments; `config` is the default of params_file."""
    default = os.path.join(share_folder(), "config", config)
    topics = topics_named(executable)
    own = {**OWN_ARGUMENTS.get(executable, {}), **{name: TOPICS[name] for name in topics}}

    def start(context: LaunchContext) -> list[Any]:
        value = {name: context.launch_configurations.get(name, default) for name, (default, _) in own.items()}
        then = switch_action(value) if _is_true(value.get("activate", "")) else []
        if _is_true(value.get("guard", "")):
            return [*guarded(context, executable, value), *then]
        if executable == "trajectory_proxy":
            return [beside_controller(context, executable, value)]
        return [node_action(context, executable, renamed(topics, value)), *then]

    return LaunchDescription(
        [
            DeclareLaunchArgument("params_file", default_value=default, description="YAML file of parameters"),
            *common_arguments(),
            *(
                DeclareLaunchArgument(name, default_value=value, description=text)
                for name, (value, text) in own.items()
            ),
            OpaqueFunction(function=start),
        ]
    )


def renamed(topics: Mapping[str, str], value: Mapping[str, str]) -> list[tuple[str, str]]:
    """The remappings that the arguments say."""
    return [(topic, value[name]) for name, topic in topics.items() if value.get(name)]


def _is_true(text: str) -> bool:
    return text.lower() in ("true", "1")


def switch_action(value: Mapping[str, str]) -> list[Any]:
    """Activates the controller that `commands` names, once torques arrive there. Raises RuntimeError."""
    space, _, name = value["commands"].removesuffix("/commands").rpartition("/")
    if not name or not value["commands"].endswith("/commands"):
        raise RuntimeError("activate: commands must name the controller's topic, as in /effort_controller/commands")
    off = value.get("deactivate", "").split()
    manager = f"{space}/controller_manager"
    command = [sys.executable, "-m", PACKAGE, "switch", "--manager", manager, "--on", name]
    return [ExecuteProcess(cmd=[*command, *(["--off", *off] if off else [])], name="switch", output="screen")]


def outliving(seconds: float = 2.5) -> str:
    """The `prefix` of a launch_ros Node that is to end so long after the others: what applies torques."""
    return f"{sys.executable} -m rbd_dynamics.nodes.tools.outlive {seconds:g} "


def beside_controller(context: LaunchContext, executable: str, value: Mapping[str, str]) -> Any:
    """A node in the name space of a controller, CONTROLLER/NODE, with the topics of the controller's name space.

    So clients of CONTROLLER/follow_joint_trajectory find it by one more word, whatever the controller is called.
    """
    outer = context.launch_configurations.get("namespace", "").strip("/")
    controller = value["controller"]
    if not controller.startswith("/"):
        controller = f"/{outer}/{controller}" if outer else f"/{controller}"
    around = controller.rpartition("/")[0]
    states = value.get("joint_states") or f"{around}/joint_states"
    topics = [("joint_states", states), ("robot_description", f"{around}/robot_description")]
    return node_action(context, executable, topics, {"controller": controller}, namespace=controller)


def guarded(context: LaunchContext, executable: str, value: Mapping[str, str]) -> list[Any]:
    """A torque node and its guard, whose commands go where the torque node's would without it.

    What renames `~/commands` for both, such as SetRemap around the launch file, counts for the guard alone.
    """
    inputs = {name: topic for name, topic in topics_named(executable).items() if name != "commands"}
    own = renamed(inputs, value)
    states = [rule for rule in own if rule[0] == "joint_states"]
    text = parameter_text(context)
    return [
        node_action(context, executable, own, first=[("~/commands", "guard/unguarded_commands")]),
        node_action(
            context,
            "guard",
            [("~/commands", value["commands"] or f"{executable}/commands"), *states],
            defaults=shared_parameters(text, executable),
            # without a section of its own the guard would say that the file has nothing for it
            with_file=any(name.rpartition("/")[2] in ("*", "**", "guard") for name in entries_of(text)),
        ),
    ]


def parameter_text(context: LaunchContext) -> str:
    """The text of params_file, arguments put in."""
    file = ParameterFile(LaunchConfiguration("params_file"), allow_substs=True)
    return str(file.evaluate(context).read_text())  # gone with `file`


def shared_parameters(text: str, executable: str) -> dict[str, Any]:
    """What a parameter file says of a torque node, of those parameters that its guard has as well."""
    names = {parameter.name for parameter in GuardParameters.table()} - {"autostart", "robot_description"}
    found: dict[str, Any] = {}
    for name, section in (yaml.safe_load(text) or {}).items():
        if name.rsplit("/", 1)[-1] in ("*", "**", executable):
            found.update(section.get("ros__parameters", {}))
    # launch takes no empty lists
    return {name: value for name, value in found.items() if name in names and value != []}


def common_arguments(*names: str) -> list[Any]:
    """The arguments with those names, by default all of ARGUMENTS, as actions."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
        if not names or name in names
    ]


def node_action(
    context: LaunchContext,
    executable: str,
    remappings: Iterable[tuple[str, str]] = (),
    parameters: Mapping[str, Any] | None = None,
    description: str | None = None,
    *,
    defaults: Mapping[str, Any] | None = None,
    first: Iterable[tuple[str, str]] = (),
    namespace: str | None = None,
    prefix: str | None = None,
    with_file: bool = True,
) -> Any:
    """The action that starts a node as the arguments say.

    defaults: parameters that the parameter file may change; `parameters` it may not. first: remappings that come before
    those of a SetRemap around the launch file: the first that fits a name counts. namespace: in place of the
    argument's. prefix: put before the command. with_file: hand the parameter file over.
    """
    value = {name: context.launch_configurations.get(name, default) for name, (default, _) in ARGUMENTS.items()}
    text = robot_description(value) if description is None else description
    own: dict[str, Any] = {}
    if value["use_sim_time"]:
        own["use_sim_time"] = value["use_sim_time"].lower() in ("true", "1")
    if value["tf_prefix"]:
        own["tf_prefix"] = value["tf_prefix"]
    if text:
        own["robot_description"] = ParameterValue(text, value_type=str)
    files = []
    if with_file and "params_file" in context.launch_configurations:
        files.append(ParameterFile(LaunchConfiguration("params_file"), allow_substs=True))
    rules = [word for name, topic in first for word in ("-r", f"{name}:={topic}")]
    return Node(
        package=PACKAGE,
        executable=executable,
        name=executable,
        namespace=value["namespace"] if namespace is None else namespace,
        parameters=[dict(defaults or {}), *files, own, dict(parameters or {})],
        remappings=list(remappings),
        arguments=["--ros-args", *rules, "--log-level", value["log_level"]],
        output="screen",
        emulate_tty=True,
        prefix=prefix,
    )


def robot_description(value: Mapping[str, str]) -> str:
    """The text that arguments `urdf` or `xacro` name; empty where they are. Raises RuntimeError."""
    if value["urdf"] and value["xacro"]:
        raise RuntimeError("urdf and xacro are both given: which one is the robot?")
    for kind in ("urdf", "xacro"):
        if value[kind] and not os.path.isfile(value[kind]):
            raise RuntimeError(f"{kind}: there is no file {value[kind]!r}")
    if value["urdf"] and not needs_xacro(Path(value["urdf"])):
        return read_file(Path(value["urdf"])).text
    file = value["urdf"] or value["xacro"]
    return _expanded(Path(file), value) if file else ""


def _expanded(file: Path, value: Mapping[str, str]) -> str:
    pairs = [argument.split(":=", 1) for argument in value["xacro_args"].split()]
    for pair in pairs:
        if len(pair) != 2:
            raise RuntimeError(f"xacro_args: expected name:=value, got {pair[0]!r}")
    mappings = {pair[0]: pair[1] for pair in pairs}
    if value["tf_prefix"]:
        mappings.setdefault("tf_prefix", value["tf_prefix"])
    folders = [folder for folder in value["packages"].split(os.pathsep) if folder]
    findings = Findings()
    try:
        text = expanded(read_file(file), folders_of(folders), mappings, findings, optional=("tf_prefix",)).text
        findings.warn_of_defects()
        return text
    except ModelError as error:
        raise RuntimeError(str(error)) from error


def share_folder() -> str:
    """The folder where the package's config and launch folders are installed."""
    from ament_index_python.packages import get_package_share_directory

    return str(get_package_share_directory(PACKAGE))
