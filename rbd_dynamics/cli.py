# SPDX-License-Identifier: Apache-2.0
"""The command line: `rbd_dynamics info`, `check`, `replay`, `excite`, `rehearse`; `play` and `demo` need ROS."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rbd_dynamics import __version__
from rbd_dynamics.replay.command import add_replay, known_load
from rbd_dynamics.replay.excitation.command import add_excite
from rbd_dynamics.replay.rehearsal.command import add_rehearse

if TYPE_CHECKING:
    from rbd_dynamics.model.errors import Finding
    from rbd_dynamics.model.model import Joint, Model

URDF_HELP = (
    "path of a URDF, xacro, SDF, MJCF or of a model as YAML, - for standard input, or the name of a robot of "
    "example-robot-data (panda, ur5_robot...)"
)
COLORS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
#: kernels whose size `info --kernels` tells
KERNELS = ("inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "mass_matrix", "bias", "gravity")
FILE_WIDTH = 200  # columns, where the output is no terminal


class UsageError(Exception):
    """Something on the command line cannot be done; the message is all that is shown."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0 fine, 1 the answer is bad news, 2 it could not be done."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (UsageError, ValueError, KeyError, ArithmeticError, OSError) as error:
        print(f"rbd_dynamics: {_one_line(error)}", file=sys.stderr)
        return 2


def replay() -> None:
    """Entry point of the executable `replay`."""
    sys.exit(main(["replay", *sys.argv[1:]]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rbd_dynamics",
        description="Rigid-body dynamics of a robot, from its URDF.",
        epilog="Example: rbd_dynamics info panda --lock panda_finger_joint1=0.04",
    )
    parser.add_argument("--version", action="version", version=f"rbd_dynamics {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    info = commands.add_parser(
        "info",
        help="tables of the robot: joints, bodies, totals",
        description="Show the robot as the dynamics see it: joints in their order, bodies with their mass, totals.",
    )
    info.add_argument("urdf", metavar="URDF", help=URDF_HELP)
    info.add_argument("--floating", action="store_true", help="free the base: a joint with six degrees of freedom")
    info.add_argument(
        "--lock",
        metavar="NAME=POSITION",
        action="append",
        default=[],
        type=_name_and_position,
        help="lock a joint there (rad, m); may be repeated",
    )
    info.add_argument(
        "--joints", metavar="NAMES", type=_names, help="keep these joints (comma-separated) and lock all others at zero"
    )
    info.add_argument("--gravity", metavar=("X", "Y", "Z"), nargs=3, type=float, help="m/s^2")
    info.add_argument("--kernels", action="store_true", help="also count the operations of the specialised algorithms")
    info.add_argument("--json", action="store_true", help="print JSON in place of tables")
    info.set_defaults(run=run_info)

    check = commands.add_parser(
        "check",
        help="find what is wrong with a URDF before it matters",
        description="Preflight: all that dynamics would stumble over in a URDF. Exit code 1 if there are errors.",
    )
    check.add_argument("urdf", metavar="URDF", help=URDF_HELP)
    check.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only, no notes")
    check.add_argument("--json", action="store_true", help="print JSON in place of a list")
    check.set_defaults(run=run_check)

    add_replay(commands, _file_or_text, _name_and_position)
    add_excite(commands, _load, URDF_HELP, _name_and_position)
    add_rehearse(commands, _load, URDF_HELP, _name_and_position, known_load)

    play = commands.add_parser(
        "play",
        help="send a motion to a node that follows it (needs ROS 2)",
        description="Publish a JointTrajectory of a YAML file, as `excite` writes it, once somebody subscribes. The "
        "robot moves as soon as it arrives; whether the node follows it, its diagnostics say.",
    )
    play.add_argument("file", metavar="FILE", type=Path, help="trajectory_msgs/JointTrajectory as YAML")
    play.add_argument(
        "--topic",
        default="/feedforward/joint_trajectory",
        help="where to; default: that of feedforward, /feedforward/joint_trajectory",
    )
    play.add_argument("--patience", metavar="S", type=float, default=10.0, help="to wait for a subscriber; default: 10")
    play.set_defaults(run=run_play)

    demo = commands.add_parser(
        "demo",
        help="a fast motion of a simulated Franka Panda, with and without feedforward (needs ROS 2)",
        description="Simulator, feedforward node, dynamics server and a client as processes of ROS 2. A fast motion of "
        "a Franka Panda is played with PD alone, with gravity, and with full feedforward; the dynamics services are "
        "checked. Exit code 1 if anything did not work.",
    )
    demo.add_argument("--output", metavar="FOLDER", type=Path, default=Path("demo_output"), help="default: demo_output")
    demo.add_argument("--short", action="store_true", help="a shorter motion, as the tests run it")
    demo.set_defaults(run=run_demo)
    return parser


# --- commands ---------------------------------------------------------------------------------------


def run_info(options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _load(options)
    for warning in caught:
        print(f"rbd_dynamics: warning: {warning.message}", file=sys.stderr)
    operations = _count_operations(model) if options.kernels else {}
    if options.json:
        print(json.dumps(_info(model, operations), indent=2))
        return 0
    console = _console()
    console.print(_summary(model), highlight=False)
    console.print(_joint_table(model, narrow=console.width < 115))
    console.print(_body_table(model))
    if operations:
        console.print(_kernel_table(operations))
    return 0


def run_check(options: argparse.Namespace) -> int:
    from rbd_dynamics.formats import check

    findings = check(_source(options.urdf))
    if options.quiet:
        findings = [finding for finding in findings if finding.severity != "note"]
    errors = sum(finding.severity == "error" for finding in findings)
    if options.json:
        entries = [
            {"severity": f.severity, "element": f.element, "message": f.message, "hint": f.hint} for f in findings
        ]
        print(json.dumps({"urdf": options.urdf, "errors": errors, "findings": entries}, indent=2))
    else:
        _print_findings(findings)
    return 1 if errors else 0


def run_play(options: argparse.Namespace) -> int:
    try:
        from rbd_dynamics.nodes.play import play
    except ImportError as error:
        raise UsageError(
            f"play needs ROS 2 (no module named {error.name!r}): source a ROS installation first"
        ) from error

    found = play(options.file, options.topic, patience=options.patience)
    print(
        f"sent to {options.topic}: {len(found.times)} points of {len(found.joint_names)} joints, {found.times[-1]:g} s"
    )
    return 0


def run_demo(options: argparse.Namespace) -> int:
    from rbd_dynamics.demo.run import run

    return run(options.output, short=options.short)


# --- what is shown ----------------------------------------------------------------------------------


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)


def _summary(model: Model) -> str:
    gravity = ", ".join(f"{g:g}" for g in model.gravity)
    return (
        f"[bold]{escape(model.name)}[/], {model.base} base: {len(model.joints)} joints, {model.nv} degrees of freedom "
        f"(nq {model.nq}, nv {model.nv}), {len(model.bodies)} bodies, {len(model.frames)} frames, "
        f"[bold]{model.mass:.6g} kg[/], gravity ({gravity}) m/s²"
    )


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _joint_table(model: Model, narrow: bool) -> Table:
    """Every movable joint with what it moves; columns without any entry are left out."""
    names = ["#", "joint", "type", "range", "speed", "effort", "damping", "friction", "armature", "mimic"]
    names += [] if narrow else ["moves", "on"]
    columns: dict[str, list[str]] = {name: [] for name in names}
    for body in model.bodies:
        joint, limits, mimic = body.joint, body.joint.limits, body.joint.mimic
        bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
        cells = [
            "" if mimic else _index(joint),
            joint.name,
            joint.kind.name,
            f"{limits.lower:.4g} .. {limits.upper:.4g}" if bounded else "",
            *(f"{x:.6g}" if math.isfinite(x) else "" for x in (limits.velocity, limits.effort)),
            *(f"{x:.6g}" if x else "" for x in (joint.damping, joint.friction, joint.armature)),
            f"{mimic.multiplier:g} * {mimic.leader} {mimic.offset:+g}" if mimic else "",
            body.name,
            model.bodies[body.parent].name if body.parent >= 0 else "world",
        ]
        for column, cell in zip(columns.values(), cells):
            column.append(cell)
    table = _table("Joints, in the order of q and v (rad, m, s, N, N m)")
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    for name in shown:
        text = name in ("joint", "type", "moves", "on", "mimic")
        table.add_column(name, justify="left" if text else "right", overflow="fold", no_wrap=name == "range")
    for row in zip(*shown.values()):
        table.add_row(*map(escape, row))
    return table


def _index(joint: Joint) -> str:
    """Where its numbers are in v."""
    first, count = joint.v_index, joint.kind.nv
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _body_table(model: Model) -> Table:
    table = _table("Bodies: links with all that is fixed to them (kg, m)")
    table.add_column("body", overflow="fold")
    table.add_column("mass", justify="right")
    table.add_column("centre of mass", justify="right")
    table.add_column("frames", overflow="fold")
    rows = [("fixed to the world", model.fixed_inertia, -1)] if model.fixed_inertia.mass else []
    rows += [(body.name, body.inertia, k) for k, body in enumerate(model.bodies)]
    for name, inertia, index in rows:
        mass = float(inertia.mass)
        com = " ".join(f"{float(h) / mass:.4f}" for h in inertia.moment) if mass else ""
        links = [frame.name for frame in model.frames if frame.body == index and frame.element == "link"]
        table.add_row(escape(name), f"{mass:.6g}", com, escape(", ".join(links)))
    return table


def _kernel_table(operations: dict[str, int]) -> Table:
    from rbd_dynamics.compiler.backends import best_backend

    table = _table(f"Operations per call, backend {best_backend()}")
    table.add_column("algorithm")
    table.add_column("operations", justify="right")
    for name, count in operations.items():
        table.add_row(name, str(count))
    return table


def _count_operations(model: Model) -> dict[str, int]:
    from rbd_dynamics.compiler.program import trace
    from rbd_dynamics.kernels.specialise import specialise

    def count(name: str) -> int:
        signature, function = specialise(model, name, friction=False)
        return trace(function, signature).operations

    return {name: count(name) for name in KERNELS}


def _info(model: Model, operations: dict[str, int]) -> dict[str, Any]:
    """All that the tables show, as plain data; None stands for no limit."""
    return {
        "name": model.name,
        "base": model.base,
        "nq": model.nq,
        "nv": model.nv,
        "mass": model.mass,
        "gravity": list(model.gravity),
        "frames": model.frame_names,
        "joints": [
            {
                "name": body.joint.name,
                "type": body.joint.kind.name,
                "moves": body.name,
                "parent": model.bodies[body.parent].name if body.parent >= 0 else None,
                "q_index": body.joint.q_index,
                "v_index": body.joint.v_index,
                "limits": {
                    name: value if math.isfinite(value := getattr(body.joint.limits, name)) else None
                    for name in ("lower", "upper", "velocity", "effort")
                },
                "damping": body.joint.damping,
                "friction": body.joint.friction,
                "armature": body.joint.armature,
                "mimic": None
                if body.joint.mimic is None
                else {
                    "leader": body.joint.mimic.leader,
                    "multiplier": body.joint.mimic.multiplier,
                    "offset": body.joint.mimic.offset,
                },
            }
            for body in model.bodies
        ],
        "bodies": [{"name": body.name, "mass": float(body.inertia.mass)} for body in model.bodies],
        "fixed_mass": float(model.fixed_inertia.mass),
        **({"operations": operations} if operations else {}),
    }


def _print_findings(findings: Sequence[Finding]) -> None:
    console = _console()
    for finding in findings:
        color = COLORS[finding.severity]
        hint = f" [dim]({escape(finding.hint)})[/]" if finding.hint else ""
        line = f"[{color}]{finding.severity:>7}[/]  [bold]{escape(finding.element)}[/]: {escape(finding.message)}{hint}"
        console.print(line, highlight=False)
    counts = {name: sum(f.severity == name for f in findings) for name in COLORS}
    parts = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    color = next((COLORS[name] for name, count in counts.items() if count and name != "note"), "green")
    console.print(f"[{color}]{', '.join(parts) or 'nothing to complain about'}[/]", highlight=False)


# --- what comes in ----------------------------------------------------------------------------------


def _load(options: argparse.Namespace) -> Model:
    """The robot with the options of `info` and `excite`."""
    from rbd_dynamics.formats import load

    return load(
        _source(options.urdf),
        base="floating" if options.floating else None,
        gravity=options.gravity,
        joints=options.joints,
        locked=dict(options.lock) or None,
    )


def _source(urdf: str) -> str:
    """What `load` takes: a text from standard input, or a path or name. Raises UsageError."""
    if Path(urdf).is_dir():
        raise UsageError(f"{urdf} is a directory, expected a file that describes a robot")
    return sys.stdin.read() if urdf == "-" else urdf


def _file_or_text(urdf: str) -> str | Path:
    """The text from standard input, or the file that a path or name stands for. Raises UsageError, ModelError."""
    from rbd_dynamics.formats.source import read_source

    source = _source(urdf)
    return source if urdf == "-" else read_source(source).path or source


def _name_and_position(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        position = float(value)
    except ValueError:
        position = math.nan
    if not name or not math.isfinite(position):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=POSITION")
    return name, position


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return " ".join(str(text).split()) or type(error).__name__
