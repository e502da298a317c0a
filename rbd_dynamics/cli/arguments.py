# SPDX-License-Identifier: Apache-2.0
"""The arguments of every command, each with examples. What a command needs is imported when it runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rbd_dynamics import __version__
from rbd_dynamics.cli.command import add_command, later
from rbd_dynamics.cli.gains import armature
from rbd_dynamics.cli.ros_arguments import add_ros_commands
from rbd_dynamics.cli.sources import (
    MODEL_HELP,
    URDF_HELP,
    above_zero,
    add_description_options,
    add_model_options,
    add_urdf,
    complete_urdf,
    file_or_text,
    from_zero,
    load_model,
    name_and_position,
    names,
)
from rbd_dynamics.common.help_format import HelpFormatter
from rbd_dynamics.replay.command.arguments import add_replay
from rbd_dynamics.replay.command.kinds import known_load
from rbd_dynamics.replay.excitation.command import add_excite
from rbd_dynamics.replay.rehearsal.command import add_rehearse

EXAMPLES = """\
Examples:
  rbd_dynamics info robot.urdf             what the dynamics see
  rbd_dynamics check robot.urdf            what is wrong with it
  rbd_dynamics torques robot.urdf          what its joints bear
  rbd_dynamics show robot.urdf             how it looks and moves, in a browser
  rbd_dynamics compile robot.urdf          so that nothing waits for a compiler
  rbd_dynamics convert robot.urdf r.xml    the same robot in another format
  rbd_dynamics export robot.urdf -o code   the same dynamics in C
  rbd_dynamics replay run.mcap -o result   what a recording says of the model
  rbd_dynamics doctor                      what this machine has, and lacks

rbd_dynamics COMMAND --help says more. The tab key completes commands, options
and robots after this, where the package argcomplete is installed:
  eval "$(register-python-argcomplete rbd_dynamics)"
"""
INFO_EXAMPLES = """\
Examples:
  rbd_dynamics info panda
  rbd_dynamics info robot.urdf --lock finger_joint1=0.04 --kernels
  rbd_dynamics info robot.urdf --floating --json
  rbd_dynamics info ur.urdf.xacro name:=ur ur_type:=ur5e --packages ~/ws/src
  rbd_dynamics info - --joints shoulder,elbow < robot.urdf
"""
CHECK_EXAMPLES = """\
Examples:
  rbd_dynamics check robot.urdf
  rbd_dynamics check robot.urdf --strict --quiet
  rbd_dynamics check world.sdf --json
"""
COMPILE_EXAMPLES = """\
Examples:
  rbd_dynamics compile robot.urdf
  rbd_dynamics compile talos_full_v2 --floating --kernels inverse_dynamics,bias
  rbd_dynamics compile panda --lock panda_finger_joint1=0 --frame panda_hand
  rbd_dynamics compile robot.urdf --kernels all --json
"""
CONVERT_EXAMPLES = """\
Examples:
  rbd_dynamics convert robot.urdf robot.xml
  rbd_dynamics convert panda panda.sdf --lock panda_finger_joint1=0.04
  rbd_dynamics convert humanoid.xml humanoid.urdf
"""
EXPORT_EXAMPLES = """\
Examples:
  rbd_dynamics export robot.urdf -o robot_c
  rbd_dynamics export panda --kernels inverse_dynamics,pose:panda_hand -o arm
  rbd_dynamics export ur5_robot --friction --target aarch64 -o ur5_c
  rbd_dynamics export robot.urdf --single --target thumbv7em,wasm32 -o small
  rbd_dynamics export robot.urdf --target cuda -o robot_cuda
  rbd_dynamics export robot.urdf --ros2-control -o my_robot_dynamics
"""
TORQUES_EXAMPLES = """\
Examples:
  rbd_dynamics torques ur5_robot
  rbd_dynamics torques ur5_robot --q 0 -1.57 1.57 0 0 0 --a elbow_joint=2
  rbd_dynamics torques robot.urdf --q elbow=1.2 --v elbow=0.5 --friction
  rbd_dynamics torques robot.urdf --floating --json
"""
GAINS_EXAMPLES = """\
Examples:
  rbd_dynamics gains robot.urdf --rate 500 --delay 0.002 --lag 0.005
  rbd_dynamics gains ur5_robot --rate 500 --armature 0.1 -o pd.yaml
  rbd_dynamics gains robot.urdf --law computed_torque --bandwidth 3
"""
SHOW_EXAMPLES = """\
Examples:
  rbd_dynamics show panda
  rbd_dynamics show robot.urdf -o robot.html --position elbow=1.2
  rbd_dynamics show robot.urdf --meshes ~/ws/src
  rbd_dynamics show robot.urdf --motion excitation.yaml -o motion.html
"""
LAYOUTS_EXAMPLES = """\
Examples:
  rbd_dynamics layouts robot.urdf -o layouts
  rbd_dynamics layouts panda --nodes cartesian_controller,guard -o layouts
  rbd_dynamics layouts ur5_robot --namespace left --nodes ff=feedforward -o left
"""
SENSOR_TOOL_EXAMPLES = """\
Examples:
  rbd_dynamics sensor-tool panda poses.mcap --frame panda_hand_tcp \\
      --lock panda_finger_joint1=0
  rbd_dynamics sensor-tool arm.urdf poses --frame flange --topic /ft/wrench \\
      --output sensor_tool.yaml
"""
DOCTOR_EXAMPLES = """\
Examples:
  rbd_dynamics doctor
  rbd_dynamics doctor --json
"""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rbd_dynamics",
        description="Rigid-body dynamics of a robot, from its URDF.",
        epilog=EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rbd_dynamics {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_info(commands)
    _add_check(commands)
    _add_torques(commands)
    _add_gains(commands)
    _add_show(commands)
    _add_compile(commands)
    _add_convert(commands)
    _add_export(commands)
    _add_layouts(commands)
    _add_doctor(commands)
    add_replay(commands, file_or_text, name_and_position)
    for made in (
        add_excite(commands, load_model, URDF_HELP, name_and_position),
        add_rehearse(commands, load_model, URDF_HELP, name_and_position, known_load),
    ):
        made.completer = complete_urdf  # type: ignore[attr-defined]
    _add_sensor_tool(commands)
    add_ros_commands(commands)
    for command in commands.choices.values():
        if any(action.dest == "urdf" for action in command._actions):
            add_description_options(command)
    return parser


def _add_info(commands: Any) -> None:
    info = add_command(
        commands,
        "info",
        text="tables of the robot: joints, bodies, totals",
        description="Show the robot as the dynamics see it: joints in their order, bodies with their mass, totals.",
        examples=INFO_EXAMPLES,
    )
    add_urdf(info)
    add_model_options(info)
    info.add_argument("--kernels", action="store_true", help="also count the operations of the specialised algorithms")
    info.add_argument("--json", action="store_true", help="print JSON in place of tables")
    info.set_defaults(run=later("rbd_dynamics.cli.info", "run_info"))


def _add_check(commands: Any) -> None:
    check = add_command(
        commands,
        "check",
        text="find what is wrong with a URDF before it matters",
        description="Preflight: all that dynamics would stumble over in a URDF. Errors are what `load` and `load_urdf` "
        "refuse. Exit code 1 if there are any.",
        examples=CHECK_EXAMPLES,
    )
    add_urdf(check)
    check.add_argument("--model", metavar="NAME", help=MODEL_HELP)
    check.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only, no notes")
    check.add_argument("--strict", action="store_true",
        help="defects that leave a usable model are errors, too, as for load_urdf(strict=True)")  # fmt: skip
    check.add_argument("--json", action="store_true", help="print JSON in place of a list")
    check.set_defaults(run=later("rbd_dynamics.cli.check", "run_check"))


def _add_torques(commands: Any) -> None:
    torques = add_command(
        commands,
        "torques",
        text="inverse dynamics of one state, term by term",
        description="The torques that give the accelerations in a state, joint by joint: gravity, Coriolis and "
        "centrifugal terms, inertia, their sum, and how much of the effort limit that is. Each of --q, --v, --a takes "
        "all numbers in the order of `info`, or NAME=NUMBER for some joints; else positions are zero, or within the "
        "limits, and velocities and accelerations are zero.",
        examples=TORQUES_EXAMPLES,
    )
    add_urdf(torques)
    add_model_options(torques)
    for name, what in (("q", "positions, rad or m"), ("v", "velocities"), ("a", "accelerations")):
        torques.add_argument(f"--{name}", metavar="NUMBER", nargs="+", default=[], help=what)
    torques.add_argument("--friction", action="store_true", help="add the joints' damping and Coulomb friction")
    torques.add_argument("--json", action="store_true", help="print JSON in place of a table")
    torques.set_defaults(run=later("rbd_dynamics.cli.torques", "run_torques"))


def _add_gains(commands: Any) -> None:
    parser = add_command(
        commands,
        "gains",
        text="PD gains by joint that are stable, and what they promise",
        description="Compute kp and kd of each joint from the mass matrix over the robot's workspace, for a rate, a "
        "delay and a lag of the actuators, with half of the largest damping that is stable in every posture. Print "
        "the bandwidth, how far a torque that the model lacks moves each joint, and the margin; with --output also "
        "write the parameter file of the node feedforward, with friction among its terms where the description has it.",
        examples=GAINS_EXAMPLES,
    )
    add_urdf(parser)
    add_model_options(parser)
    add = parser.add_argument
    add("--rate", metavar="HZ", type=above_zero, default=500.0, help="of control; default: 500")
    add("--delay", metavar="S", type=from_zero, default=0.0,
        help="how late joint states are, filters included, besides a period for the command; default: 0")  # fmt: skip
    add("--lag", metavar="S", type=from_zero, default=0.0,
        help="time constant of the actuators' torque; 0.005 is a bandwidth of 32 Hz; default: 0")  # fmt: skip
    add("--bandwidth", metavar="HZ", type=above_zero,
        help="of the slowest motion; default: what leaves a margin of 2, but at most 10")  # fmt: skip
    add("--damping-ratio", metavar="RATIO", type=above_zero, default=0.7, help="of the slowest motion; default: 0.7")
    add("--law", choices=("feedforward", "computed_torque"), help="default: the one whose slowest motion is faster")
    add("--armature", metavar="[NAME=]VALUE", type=armature, action="append", default=[],
        help="assume a rotor, kg m^2 as seen at the joint, of one joint or of all; may be repeated")  # fmt: skip
    add("--output", "-o", metavar="FILE", type=Path, help="parameter file that is written")
    add("--node", metavar="NAME", default="feedforward", help="whose parameters they are; default: feedforward")
    add("--json", action="store_true", help="print JSON in place of a table")
    parser.set_defaults(run=later("rbd_dynamics.cli.gains", "run_gains"))


def _add_show(commands: Any) -> None:
    parser = add_command(
        commands,
        "show",
        text="the robot in 3-D, with sliders and the torques of gravity",
        description="Write a page with the robot in 3-D and open it in a browser: a slider for each joint, the torque "
        "that holds it against gravity, its inertia, frames and centre of mass. The page is one file that needs no "
        "network.",
        examples=SHOW_EXAMPLES,
    )
    add_urdf(parser)
    add_model_options(parser)
    add = parser.add_argument
    add("--output", "-o", metavar="FILE", type=Path, help="write the page there, and open no browser")
    add("--position", metavar="NAME=POSITION", action="append", default=[], type=name_and_position,
        help="where a joint stands at first (rad, m); may be repeated")  # fmt: skip
    add("--motion", metavar="FILE", type=Path,
        help="a JointTrajectory as YAML, as `excite` writes it: it is played with its torques")  # fmt: skip
    add(
        "--simulate",
        action="store_true",
        help="it moves by its dynamics, which the page computes: pull links, let a --floating robot fall on a floor, "
        "switch the motors off",
    )
    add("--meshes", metavar="DIR", action="append", default=[], type=Path,
        help="where the packages are whose meshes the description names, beside those of ROS; "
        "may be repeated")  # fmt: skip
    parser.set_defaults(run=later("rbd_dynamics.cli.show", "run_show"))


def _add_compile(commands: Any) -> None:
    parser = add_command(
        commands,
        "compile",
        text="make a robot's kernels ahead of time: the cache then has them",
        description="Compile the kernels of a robot and keep them in the cache, so that no program waits for a "
        "compiler. A kernel belongs to the joints that are free, the base and --friction: give the same options as the "
        "program that will use it. Masses of payloads need no other kernels.",
        examples=COMPILE_EXAMPLES,
    )
    add_urdf(parser)
    add_model_options(parser)
    add = parser.add_argument
    add("--kernels", metavar="NAMES", type=names,
        help="which ones (by commas or spaces), as Robot.compile names them, or all; default: what Robot's methods and "
        "the nodes use most, without derivatives and regressors")  # fmt: skip
    add("--frame", metavar="NAME", action="append", default=[],
        help="also the pose and the Jacobian of this frame, and its rate; may be repeated")  # fmt: skip
    add("--friction", action="store_true", help="for Robot(model, friction=True)")
    add("--json", action="store_true", help="print JSON in place of a table")
    parser.set_defaults(run=later("rbd_dynamics.cli.compile", "run_compile"))


def _add_convert(commands: Any) -> None:
    parser = add_command(
        commands,
        "convert",
        text="a robot in another format: URDF, SDF, MJCF, YAML",
        description="Write a robot in the format that the ending says: .urdf, .sdf, .xml or .mjcf (MJCF), .yaml. "
        "What is read back has the same dynamics; what the format cannot say is refused, or told on standard error.",
        examples=CONVERT_EXAMPLES,
    )
    add_urdf(parser)
    add_model_options(parser)
    parser.add_argument("output", metavar="FILE", type=Path, help="the file to be written")
    parser.set_defaults(run=later("rbd_dynamics.cli.convert", "run_convert"))


def _add_export(commands: Any) -> None:
    parser = add_command(
        commands,
        "export",
        text="a robot's dynamics in C, for real-time loops and small processors",
        description="Write kernels of a robot as a package in C99: one header, no dependency but math.h, no "
        "allocation, no globals; payloads are an input. With it a header for C++, CMake files, and a self-test with "
        "reference vectors; with --target also object files for other processors, and sources for CUDA.",
        examples=EXPORT_EXAMPLES,
    )
    add_urdf(parser)
    add_model_options(parser)
    add = parser.add_argument
    add("--output", "-o", metavar="FOLDER", type=Path, required=True, help="a new or empty folder")
    add("--kernels", metavar="NAMES", type=names,
        help="which ones (by commas or spaces), as Robot.compile names them, those of a frame as pose:tool0, and "
        "feedforward; default: inverse and forward dynamics, mass matrix, bias, gravity and feedforward")  # fmt: skip
    add("--target", metavar="NAMES", type=names, action="extend", default=[],
        help="also object files for these: aarch64, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, riscv64, thumbv7em "
        "(Cortex-M7), wasm32; or cuda: sources in CUDA C++; may be repeated")  # fmt: skip
    add("--single", action="store_true", help="single precision")
    add("--friction", action="store_true", help="with the joints' friction, as Robot(model, friction=True)")
    add("--name", metavar="NAME",
        help="what names in C begin with; default: the robot's name; with --ros2-control the package's, by default "
        "the folder's")  # fmt: skip
    add("--ros2-control", action="store_true",
        help="a package for ros2_control around them: chainable controllers with the feedforward law and for a "
        "compliant tool, the robot by its own dynamics as hardware, parameters with gains, tests")  # fmt: skip
    add(
        "--tip",
        metavar="FRAME",
        help="frame of the tool, which touches the floor of that hardware; default: the last link that moves",
    )
    add("--rate", metavar="HZ", type=int, help="of the controller manager; default: 1000")
    add("--json", action="store_true", help="print JSON in place of a list")
    parser.set_defaults(run=later("rbd_dynamics.cli.export", "run_export"))


def _add_layouts(commands: Any) -> None:
    parser = add_command(
        commands,
        "layouts",
        text="files for PlotJuggler, Foxglove and rviz that show a robot's nodes",
        description="Write a layout of PlotJuggler, one of Foxglove and a configuration of rviz2 for the topics of "
        "nodes: efforts, errors, forces, contact, the state that diagnostics tell, and in 3-D the robot with its "
        "tool, its target, wrenches and the surface. For 3-D a robot_state_publisher has to run.",
        examples=LAYOUTS_EXAMPLES,
    )
    add_urdf(parser)
    add_model_options(parser)
    add = parser.add_argument
    add("--output", "-o", metavar="FOLDER", type=Path, required=True, help="the three files are written there")
    add("--nodes", metavar="NAMES", type=names, default=["feedforward", "monitor", "guard"],
        help="which nodes run (comma-separated), one under another name as NAME=NODE; "
        "default: feedforward,monitor,guard")  # fmt: skip
    add("--namespace", metavar="NAME", default="", help="name space of the nodes")
    add("--tf-prefix", metavar="PREFIX", default="", help="before joint and frame names, as of the nodes")
    add("--json", action="store_true", help="print JSON in place of a list")
    parser.set_defaults(run=later("rbd_dynamics.cli.layouts.run", "run_layouts"))


def _add_doctor(commands: Any) -> None:
    parser = add_command(
        commands,
        "doctor",
        text="what this machine has, whether it works, and what real time would need",
        description="Versions, ROS 2 and its middleware, the cache of kernels, a test of the kernels against the "
        "plain algorithms, and the settings that real time depends on, each with what it would bring. Exit code 1 if "
        "something is broken; what is merely missing is none of that.",
        examples=DOCTOR_EXAMPLES,
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.set_defaults(run=later("rbd_dynamics.cli.doctor.run", "run_doctor"))


def _add_sensor_tool(commands: Any) -> None:
    parser = add_command(
        commands,
        "sensor-tool",
        text="mass and centre of mass of the tool on a force-torque sensor",
        description="Find the mass and the centre of mass of what a force-torque sensor carries, and the sensor's "
        "bias, from a recording in which the robot rests at several orientations and touches nothing. Exit code 1 "
        "where they do not tell it, with the orientation that is needed.",
        examples=SENSOR_TOOL_EXAMPLES,
    )
    add_urdf(parser)
    parser.add_argument("recording", metavar="RECORDING", type=Path, help="with joint states and wrenches")
    add_model_options(parser)
    add = parser.add_argument
    add("--frame", metavar="NAME", required=True, help="link or joint at which the wrench is measured")
    add("--topic", metavar="TOPIC", help="of the wrench; default: the only one")
    add("--joint-states", metavar="TOPIC", help="default: the one that names most joints of the robot")
    add("--of-robot", action="store_true", help="the sensor reports what the robot exerts, not what acts on it")
    add("--output", "-o", metavar="FILE", type=Path, help="parameter file that is written, for hybrid_controller")
    add("--node", metavar="NAME", default="hybrid_controller",
        help="whose parameters they are; default: hybrid_controller")  # fmt: skip
    add("--json", action="store_true", help="print JSON in place of text")
    parser.set_defaults(run=later("rbd_dynamics.cli.sensor_tool", "run_sensor_tool"))
