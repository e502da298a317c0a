# SPDX-License-Identifier: Apache-2.0
"""The arguments of the commands that need ROS 2, each with examples."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rbd_dynamics.cli.command import add_command, later
from rbd_dynamics.cli.completion import (
    complete_node,
    complete_parameter,
    complete_service,
    complete_topic,
    complete_values,
)
from rbd_dynamics.cli.sources import above_zero, positive
from rbd_dynamics.cli.switch import add_switch

VALUES = "fields as {name: value}, or @FILE; what is not given keeps its default"
PLAY_EXAMPLES = """\
Examples:
  rbd_dynamics play excitation.yaml
  rbd_dynamics play excitation.yaml --topic /left/feedforward/joint_trajectory
  rbd_dynamics play motion.yaml --no-wait
"""
STATUS_EXAMPLES = """\
Examples:
  rbd_dynamics status
  rbd_dynamics status --json
"""
ECHO_EXAMPLES = """\
Examples:
  rbd_dynamics echo
  rbd_dynamics echo /feedforward/effort --count 1
  rbd_dynamics echo /joint_states --rate
"""
NODES_EXAMPLES = """\
Examples:
  rbd_dynamics nodes
  rbd_dynamics nodes --services
"""
CALL_EXAMPLES = """\
Examples:
  rbd_dynamics call /hybrid_controller/tare
  rbd_dynamics call /hybrid_controller/engage "{data: true}"
  rbd_dynamics call /feedforward/set_payload "{payload: {inertia: {m: 1.5}}}"
"""
GET_EXAMPLES = """\
Examples:
  rbd_dynamics get /feedforward
  rbd_dynamics get /feedforward kp kd --json
"""
SET_EXAMPLES = """\
Examples:
  rbd_dynamics set /feedforward terms "[inertia, coriolis]"
  rbd_dynamics set /feedforward kp "[50.0]" kd "[5.0]"
"""
PUB_EXAMPLES = """\
Examples:
  rbd_dynamics pub /feedforward/joint_trajectory @motion.yaml
  rbd_dynamics pub /left/force "{header: auto, wrench: {force: {z: -5.0}}}"
"""
RECORD_EXAMPLES = """\
Examples:
  rbd_dynamics record -o run1 --seconds 60
  rbd_dynamics record /joint_states /robot_description -o run2
"""
DEMO_EXAMPLES = """\
Examples:
  rbd_dynamics demo
  rbd_dynamics demo --short --output /tmp/demo
"""


def add_ros_commands(commands: Any) -> None:
    _add_play(commands)
    _add_status(commands)
    _add_echo(commands)
    for each in (
        _add_nodes(commands),
        _add_call(commands),
        _add_get(commands),
        _add_set(commands),
        _add_pub(commands),
    ):
        each.add_argument("--patience", metavar="S", type=above_zero, default=10.0,
            help="to wait for what is asked; default: 10")  # fmt: skip
    _add_record(commands)
    add_switch(commands)
    _add_demo(commands)


def _add_play(commands: Any) -> None:
    play = add_command(
        commands,
        "play",
        text="send a motion to a node that follows it (needs ROS 2)",
        description="Publish a JointTrajectory of a YAML file, as `excite` writes it, once somebody subscribes, and "
        "wait until it has ended, by what the node says in /diagnostics. The robot moves as soon as it arrives. Exit "
        "code 1 where it is refused or ends early, with the node's reason. An interrupt ends the waiting, not the "
        "motion.",
        examples=PLAY_EXAMPLES,
    )
    play.add_argument("file", metavar="FILE", type=Path, help="trajectory_msgs/JointTrajectory as YAML")
    play.add_argument(
        "--topic",
        default="/feedforward/joint_trajectory",
        help="where to; default: that of feedforward, /feedforward/joint_trajectory",
    )
    play.add_argument("--patience", metavar="S", type=float, default=10.0,
        help="to wait for a subscriber, and for one that has no robot or no joint states yet; default: 10")  # fmt: skip
    play.add_argument("--no-wait", action="store_true", help="end once the node has taken it")
    play.set_defaults(run=later("rbd_dynamics.cli.ros", "run_play"))


def _add_status(commands: Any) -> None:
    status = add_command(
        commands,
        "status",
        text="what the running nodes say of themselves (needs ROS 2)",
        description="Listen to /diagnostics for some seconds, and print what each node says: its state, rates, what it "
        "refuses. Exit code 1 if any reports an error, or none reports.",
        examples=STATUS_EXAMPLES,
    )
    status.add_argument("--json", action="store_true", help="print JSON in place of a list")
    status.set_defaults(run=later("rbd_dynamics.cli.listening", "run_status"))


def _add_echo(commands: Any) -> None:
    echo = add_command(
        commands,
        "echo",
        text="print the messages of a topic, or which topics there are (needs ROS 2)",
        description="Print each message of a topic as YAML until it is interrupted; without a topic, list all. It is "
        "what `ros2 topic` does, for where that is not installed.",
        examples=ECHO_EXAMPLES,
    )
    topic = echo.add_argument("topic", metavar="TOPIC", nargs="?", help="default: list all topics")
    topic.completer = complete_topic  # type: ignore[attr-defined]
    echo.add_argument("--count", metavar="N", type=positive, help="end after this many messages, or lines of --rate")
    echo.add_argument("--rate", action="store_true", help="print how many come per second instead")
    echo.add_argument("--json", action="store_true", help="print JSON, a line for each message")
    echo.add_argument("--patience", metavar="S", type=float, default=10.0, help="to wait for a publisher; default: 10")
    echo.set_defaults(run=later("rbd_dynamics.cli.listening", "run_echo"))


def _add_nodes(commands: Any) -> argparse.ArgumentParser:
    nodes = add_command(
        commands,
        "nodes",
        text="which nodes are running, with their services (needs ROS 2)",
        description="List the nodes of this ROS_DOMAIN_ID.",
        examples=NODES_EXAMPLES,
    )
    nodes.add_argument("--services", action="store_true", help="also the services of each")
    nodes.add_argument("--json", action="store_true", help="print JSON in place of a list")
    nodes.set_defaults(run=later("rbd_dynamics.cli.requests", "run_nodes"))
    return nodes


def _add_call(commands: Any) -> argparse.ArgumentParser:
    call = add_command(
        commands,
        "call",
        text="call a service of a node (needs ROS 2)",
        description="Call a service, whose type is looked up, and print its answer as YAML. Exit code 1 where the "
        "answer has `success: false`.",
        examples=CALL_EXAMPLES,
    )
    call.add_argument("service", metavar="SERVICE", help="as /hybrid_controller/tare").completer = complete_service  # type: ignore[attr-defined]
    call.add_argument("values", metavar="YAML", nargs="?", default="{}", help=VALUES).completer = complete_values  # type: ignore[attr-defined]
    call.add_argument("--json", action="store_true", help="print JSON in place of YAML")
    call.set_defaults(run=later("rbd_dynamics.cli.requests", "run_call"))
    return call


def _add_get(commands: Any) -> argparse.ArgumentParser:
    get = add_command(
        commands,
        "get",
        text="parameters of a node (needs ROS 2)",
        description="Print parameters of a node: those named with what they mean, else the values of all.",
        examples=GET_EXAMPLES,
    )
    get.add_argument("node", metavar="NODE", help="as /feedforward").completer = complete_node  # type: ignore[attr-defined]
    get.add_argument("names", metavar="NAME", nargs="*", help="default: all").completer = complete_parameter  # type: ignore[attr-defined]
    get.add_argument("--json", action="store_true", help="print JSON in place of YAML")
    get.set_defaults(run=later("rbd_dynamics.cli.requests", "run_get"))
    return get


def _add_set(commands: Any) -> argparse.ArgumentParser:
    parser = add_command(
        commands,
        "set",
        text="change parameters of a node (needs ROS 2)",
        description="Change parameters of a node, several together: all are taken or none. Exit code 1 where the node "
        "refuses them, with its reason.",
        examples=SET_EXAMPLES,
    )
    parser.add_argument("node", metavar="NODE", help="as /feedforward").completer = complete_node  # type: ignore[attr-defined]
    values = parser.add_argument("values", metavar="NAME VALUE", nargs="+", help="a name, and its value as YAML")
    values.completer = complete_parameter  # type: ignore[attr-defined]
    parser.set_defaults(run=later("rbd_dynamics.cli.requests", "run_set"))
    return parser


def _add_pub(commands: Any) -> argparse.ArgumentParser:
    pub = add_command(
        commands,
        "pub",
        text="publish a message to a topic (needs ROS 2)",
        description="Publish a message, given as YAML, once somebody subscribes, and wait until it has come. A header "
        "may be `auto`, a stamp `now`.",
        examples=PUB_EXAMPLES,
    )
    pub.add_argument("topic", metavar="TOPIC").completer = complete_topic  # type: ignore[attr-defined]
    pub.add_argument("values", metavar="YAML", nargs="?", default="{}", help=VALUES).completer = complete_values  # type: ignore[attr-defined]
    pub.add_argument("--type", metavar="TYPE", help="as std_msgs/msg/String; default: what the subscriber takes")
    pub.add_argument("--count", metavar="N", type=positive, default=1, help="how often; default: 1")
    pub.add_argument("--rate", metavar="HZ", type=above_zero, default=10.0, help="of several; default: 10")
    pub.set_defaults(run=later("rbd_dynamics.cli.requests", "run_pub"))
    return pub


def _add_record(commands: Any) -> None:
    record = add_command(
        commands,
        "record",
        text="record topics into an MCAP that replay reads (needs ROS 2)",
        description="Record topics into a bag, by default all that replay reads: joint states, wrenches and "
        "descriptions of robots, also of nodes that start later. Exit code 1 where a topic brings no message.",
        examples=RECORD_EXAMPLES,
    )
    topics = record.add_argument("topics", metavar="TOPIC", nargs="*", help="default: all that replay reads")
    topics.completer = complete_topic  # type: ignore[attr-defined]
    record.add_argument("--output", "-o", metavar="FOLDER", type=Path, required=True, help="a new folder")
    record.add_argument("--seconds", metavar="S", type=above_zero, help="how long; default: until Ctrl-C")
    record.set_defaults(run=later("rbd_dynamics.cli.requests", "run_record"))


def _add_demo(commands: Any) -> None:
    demo = add_command(
        commands,
        "demo",
        text="a fast motion of a simulated Franka Panda, with and without feedforward (needs ROS 2)",
        description="Simulator, feedforward node, dynamics server and a client as processes of ROS 2. A fast motion of "
        "a Franka Panda is played with PD alone, with gravity, and with full feedforward; the dynamics services are "
        "checked. Exit code 1 if anything did not work.",
        examples=DEMO_EXAMPLES,
    )
    demo.add_argument("--output", metavar="FOLDER", type=Path, default=Path("demo_output"), help="default: demo_output")
    demo.add_argument("--short", action="store_true", help="a shorter motion, as the tests run it")
    demo.set_defaults(run=later("rbd_dynamics.cli.ros", "run_demo"))
