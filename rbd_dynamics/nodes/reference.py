# SPDX-License-Identifier: Apache-2.0
"""Writes docs/nodes.md, config/ and missing launch files from `interface`: python -m rbd_dynamics.nodes.reference"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbd_dynamics.nodes.interface import INTERFACES, Interface
from rbd_dynamics.nodes.interface.parameters import Parameter
from rbd_dynamics.nodes.tools.policies import policy

#: what the YAML of ROS parameter files takes for a boolean
AMBIGUOUS = ("y", "n", "yes", "no", "on", "off", "true", "false")
INTRODUCTION = """\
# Nodes

Written by `python -m rbd_dynamics.nodes.reference`; tests compare it with the running nodes.

Each node is started by its launch file or by `ros2 run rbd_dynamics NODE`. The executables come with a colcon build, in
`lib/rbd_dynamics`; `pip install` alone installs none of them. The robot comes by launch argument, by topic or parameter
`robot_description`, or by `NODE --urdf FILE`, before `--ros-args`: a URDF, xacro or SDF file, or the name of a robot of
example-robot-data.

All are lifecycle nodes. With `autostart` (the default) they configure themselves, and activate themselves as soon as
there is a robot: an active node is ready. They compile the robot's kernels while they configure, and say so in the
log; the next start takes them from the cache. Relative names are in the node's namespace; `~/` stands for the node's
own. Parameters marked * may change while the node runs; the others only while it is not configured. `joint_states` is
subscribed with the sensor-data (best-effort) QoS.

A wrong parameter ends the start with one line that names it. A wrong robot description, message or request
changes nothing: the node keeps what it has, says why in its log and in `/diagnostics`, and publishes nothing in
response. When a description or task turns out to be wrong while it is built, the parameter is set back to the value in
use. Numbers are finite and at most 1e12; infinity is accepted where it means that there is no limit, in
`effort_limits`. `NODE --help` prints what this page says.

A joint must have one degree of freedom to be in a `JointState`. For `feedforward`, lock floating, planar and ball
joints (`locked_joints`); `dynamics_server` takes them in requests; `simulator` moves them, but publishes and commands
only the others. Mimic joints follow their leader and are neither expected nor commanded.

TF is neither read nor needed: the description and the joint states determine where frames are.

## See what they do

`rbd_dynamics status` prints what each running node says in `/diagnostics`: its state, its rates, what it refuses now,
and what it refused last. Nodes that follow trajectories also say how many they accepted and refused, and how the last
one ended; `rbd_dynamics play` sends a trajectory and waits for its end. `rbd_dynamics echo` lists topics, and with a
topic prints its messages or, with `--rate`, how often they come. `rbd_dynamics switch` activates a
controller of ros2_control once torques arrive there ([ros2_control.md](ros2_control.md#in-command-or-not)).

`rbd_dynamics nodes`, `call`, `get`, `set`, `pub` and `record` do what `ros2 node list`, `service call`, `param get`,
`param set`, `topic pub` and `bag record` do, also where there is no `ros2`. They look up the types, take values as
YAML or `@FILE`, and name the field or parameter that is wrong; `set` changes either all that it names or nothing:

```
rbd_dynamics call /hybrid_controller/engage "{data: true}"
rbd_dynamics set /feedforward kp "[50.0]" kd "[5.0]"
rbd_dynamics pub /feedforward/joint_trajectory @motion.yaml
```

`rbd_dynamics layouts robot.urdf --nodes feedforward,monitor,guard -o layouts` writes what PlotJuggler, Foxglove and
rviz2 should show of these nodes, with the robot's joints by name: efforts, tracking errors, forces, contact and the
levels of the diagnostics; and in 3-D the robot, the actual and the desired pose of the tool, wrenches, and the surface
that it presses on. Poses and wrenches are the nodes' own topics, which viewers draw as axes and arrows; for the robot,
a `robot_state_publisher` must be running. `--namespace`, `--tf-prefix` and `NAME=NODE` say what the nodes are called.
Topics that are only there to be looked at (`~/tracking_error`, `~/wanted_pose`, `~/surface_normal`) are published while
somebody subscribes, after the command.
"""


def markdown() -> str:
    """All of docs/nodes.md."""
    return "\n".join([INTRODUCTION, *(_section(interface) for interface in INTERFACES)])


def config(interface: Interface) -> str:
    """The parameter file of a node with all defaults, commented."""
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# Parameters of the node `{interface.executable}` with their defaults; `ros2 param describe` says the same.",
        "# In launch files $(var tf_prefix) stands for the argument tf_prefix.",
        f"/**/{interface.executable}:",
        "  ros__parameters:",
    ]
    for parameter in interface.parameters:
        if parameter.name != "robot_description":  # the launch argument or the topic says it
            lines += [f"    # {line}" for line in textwrap.wrap(_meaning(parameter), 110)]
            lines.append(f"    {parameter.name}: {_value(parameter.default)}")
    return "\n".join([*lines, ""])


def _section(interface: Interface) -> str:
    topics = [
        (f"`{topic.name}`", f"`{topic.kind}`", "out" if topic.published else "in", topic.description)
        for topic in interface.topics
    ]
    actions = [(f"`{action.name}`", f"`{action.kind}`", action.description) for action in interface.actions]
    services = [(f"`{service.name}`", f"`{service.kind}`", service.description) for service in interface.services]
    used = [
        (f"`{each.name}`", f"`{each.kind}`", each.description)
        for each in (*interface.used_services, *interface.used_actions)
    ]
    parameters = [
        (
            f"`{parameter.name}`" + (" *" if parameter.dynamic else ""),
            parameter.kind.replace("_array", "[]"),
            f"`{_value(parameter.default)}`",
            parameter.constraint,
            parameter.description,
        )
        for parameter in interface.parameters
    ]
    return "\n".join(
        [
            f"## {interface.executable}",
            "",
            interface.summary,
            "",
            _table(("topic", "type", "", "meaning"), topics),
            _table(("service", "type", "meaning"), services),
            *([_table(("action", "type", "meaning"), actions)] if actions else []),
            *([_table(("used of other nodes", "type", "meaning"), used)] if used else []),
            _table(("parameter", "type", "default", "range", "meaning"), parameters),
        ]
    )


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _meaning(parameter: Parameter) -> str:
    return f"{parameter.description} ({parameter.constraint})" if parameter.constraint else parameter.description


def _value(value: Any) -> str:
    """A value as YAML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if value in AMBIGUOUS:
        return f'"{value}"'
    return value or '""' if isinstance(value, str) else repr(value)


def launch_file(interface: Interface[Any]) -> str:
    """The launch file of a node, as it is at first."""
    name = interface.executable
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f'"""Start the node `{name}`:',
        "",
        f"    ros2 launch rbd_dynamics {name}.launch.py urdf:=robot.urdf",
        "",
        "-s lists the arguments.",
        '"""',
        "",
        "from launch import LaunchDescription",
        "from rbd_dynamics.nodes.tools.launching import launch_node",
        "",
        "",
        "def generate_launch_description() -> LaunchDescription:",
        f'    return launch_node("{name}", "{name}.yaml")',
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Write the files of the checkout that the current folder is. A launch file that there is stays as it is."""
    Path("docs", "nodes.md").write_text(markdown())
    for interface in INTERFACES:
        Path("config", f"{interface.executable}.yaml").write_text(config(interface))
        Path("config", "security", f"{interface.executable}.policy.xml").write_text(policy(interface))
        launch = Path("launch", f"{interface.executable}.launch.py")
        if not launch.exists():
            launch.write_text(launch_file(interface))


if __name__ == "__main__":
    main()
