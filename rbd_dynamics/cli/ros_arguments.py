# SPDX-License-Identifier: Apache-2.0
"""The arguments of the commands that need ROS 2, each with examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rbd_dynamics.cli.command import add_command, later
from rbd_dynamics.cli.sources import positive

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
DEMO_EXAMPLES = """\
Examples:
  rbd_dynamics demo
  rbd_dynamics demo --short --output /tmp/demo
"""


def add_ros_commands(commands: Any) -> None:
    for add in (_add_play, _add_status, _add_echo, _add_demo):
        add(commands)


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
    play.add_argument("--patience", metavar="S", type=float, default=10.0, help="to wait for a subscriber; default: 10")
    play.add_argument("--no-wait", action="store_true", help="for the end: until the node has taken it is enough")
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
    echo.add_argument("topic", metavar="TOPIC", nargs="?", help="default: list all topics")
    echo.add_argument("--count", metavar="N", type=positive, help="end after so many messages, or lines of --rate")
    echo.add_argument("--rate", action="store_true", help="print how many come in a second instead")
    echo.add_argument("--json", action="store_true", help="print JSON, a line for each message")
    echo.add_argument("--patience", metavar="S", type=float, default=10.0, help="to wait for a publisher; default: 10")
    echo.set_defaults(run=later("rbd_dynamics.cli.listening", "run_echo"))


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
