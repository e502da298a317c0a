# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics excite`: a robot in, a motion and what it will tell out. What is heavy is imported when needed."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.help_format import HelpFormatter

if TYPE_CHECKING:
    from rich.table import Table

    from rbd_dynamics.model.model import Model
    from rbd_dynamics.replay.excitation.basis import Basis
    from rbd_dynamics.replay.excitation.limits import ExcitationLimits
    from rbd_dynamics.replay.excitation.obstacles import Obstacles
    from rbd_dynamics.replay.excitation.options import Options
    from rbd_dynamics.replay.excitation.result import Excitation
    from rbd_dynamics.robot import Robot

HASTY_STEP = 0.005  # s: over which the change of efforts is looked at
BASE = "Base parameters: combinations of those of several bodies, each named after one. They may be negative."
EPILOG = """\
Examples:
  rbd_dynamics excite robot.urdf --acceleration 5 -o excitation.yaml
  rbd_dynamics excite panda --joints panda_joint1,panda_joint2 --share 0.5
  rbd_dynamics excite robot.urdf --tool tool0 --obstacle=0,0,-0.05,2,2,0.1

Played by the feedforward node, or by any controller that takes a
JointTrajectory:
  rbd_dynamics play excitation.yaml
"""


def add_excite(
    commands: Any,
    load: Callable[[argparse.Namespace], Model],
    urdf_help: str,
    name_and_position: Callable[[str], tuple[str, float]],
) -> argparse.Action:
    """The command's arguments; `load` makes the model of them. The one that names the robot is returned."""
    parser = commands.add_parser(
        "excite",
        help="the motion that identifies a robot's parameters best, within its limits",
        description="Find a motion that identifies base parameters and friction best, within limits of position, "
        "velocity, acceleration and effort along all of it, and the intervals that a recording of it will give. Links "
        "are not checked against each other: look at the motion, or play it slowly, before you trust it.",
        epilog=EPILOG,
        formatter_class=HelpFormatter,
    )
    add = parser.add_argument
    urdf: argparse.Action = add("urdf", metavar="URDF", help=urdf_help)
    add("--output", "-o", metavar="FILE", type=Path, help="the motion as YAML, a JointTrajectory; default: none")
    add("--json", action="store_true", help="print JSON in place of tables")
    add("--joints", metavar="NAMES", type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        help="keep these joints (comma-separated) and lock all others at zero")  # fmt: skip
    add("--lock", metavar="NAME=POSITION", action="append", default=[], type=name_and_position,
        help="lock a joint there (rad, m); may be repeated")  # fmt: skip
    add("--model", metavar="NAME", help="which model of an SDF with several; default: the only one with joints")
    add("--gravity", metavar=("X", "Y", "Z"), nargs=3, type=float, help="m/s^2")

    motion = parser.add_argument_group("the motion")
    add = motion.add_argument
    add("--kind", choices=("fourier", "via-points"), default="fourier", help="default: a finite Fourier series")
    add("--period", metavar="S", type=float, default=10.0, help="of the series, or duration; default: 10")
    add("--harmonics", metavar="N", type=int, default=5, help="of a series; default: 5")
    add("--points", metavar="N", type=int, default=8, help="via points; default: 8")
    add("--periods", metavar="N", type=int, default=1, help="of a series, in a row; default: 1")
    add("--lead", metavar="S", type=float, default=3.0, help="to go to where the motion begins; default: 3")

    limits = parser.add_argument_group("limits", "[NAME=]NUMBER is for all joints or for one, and may be repeated.")
    add = limits.add_argument
    add("--share", metavar="X", type=float, default=0.9, help="of the description's limits that is used; default: 0.9")
    for name, unit in (("lower", "rad, m"), ("upper", "rad, m")):
        add(f"--{name}", metavar="NAME=NUMBER", action="append", default=[], type=name_and_position,
            help=f"limit of a joint's position ({unit})")  # fmt: skip
    for name, unit in (("velocity", "rad/s, m/s"), ("acceleration", "rad/s^2, m/s^2"), ("effort", "N m, N")):
        add(f"--{name}", metavar="[NAME=]NUMBER", action="append", default=[], type=_number, help=f"in {unit}")
    add("--tool", metavar="FRAME", action="append", default=[], help="keeps away from obstacles; may be repeated")
    add("--radius", metavar="M", type=float, default=0.05, help="of a ball around each tool; default: 0.05")
    add("--obstacle", metavar="X,Y,Z,A,B,C[,ROLL,PITCH,YAW]", action="append", default=[], type=_box,
        help="a box in the base frame: centre, edges (m), axes (rad); may be repeated")  # fmt: skip

    what = parser.add_argument_group("what is to be found")
    add = what.add_argument
    add("--criterion", choices=("gain", "condition"), default="gain",
        help="smallest errors of all parameters (D-optimality), or the smallest condition number")  # fmt: skip
    add(
        "--friction", action=argparse.BooleanOptionalAction, default=True, help="offset and friction of each joint, too"
    )
    add("--noise", metavar="[NAME=]NUMBER", action="append", default=[], type=_number,
        help="standard deviation of one effort sample (N m, N); default: 1 %% of the limit")  # fmt: skip
    add("--rate", metavar="HZ", type=float, default=100.0, help="of the recording; default: 100")
    add("--starts", metavar="N", type=int, default=3, help="random motions from which the search starts; default: 3")
    add("--seed", metavar="N", type=int, default=0, help="of these; default: 0")
    parser.set_defaults(run=lambda options: run_excite(options, load), floating=False)
    return urdf


def run_excite(options: argparse.Namespace, load: Callable[[argparse.Namespace], Model]) -> int:
    """Exit code 0 once there is a motion; what it leaves unknown is said."""
    from rbd_dynamics.common.console import progress_bar
    from rbd_dynamics.common.whole_files import check_file
    from rbd_dynamics.replay.excitation import design, random_motion
    from rbd_dynamics.robot import Robot

    if options.output is not None:
        check_file(options.output)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(options)
    for warning in caught:
        print(f"rbd_dynamics: warning: {warning.message}", file=sys.stderr)
    basis, limits, obstacles, chosen = _basis(options), _limits(options, model), _obstacles(options), _options(options)
    robot = Robot(model)
    given: dict[str, Any] = {"obstacles": obstacles, "options": chosen}
    with progress_bar() as bar:
        task = bar.add_task("looking for the motion", total=1.0)
        found = design(robot, limits, basis, progress=lambda share: bar.update(task, completed=share), **given)
    random = random_motion(robot, limits, basis, **given)
    if options.output is not None:
        found.save(options.output)
    if options.json:
        print(json.dumps(_plain(found, random), indent=1))
    else:
        _show(found, random, limits, options.output)
    unknown = [estimate.name for estimate in found.expected if not estimate.identifiable]
    if unknown:
        print(f"rbd_dynamics: the motion leaves unknown: {', '.join(unknown)}", file=sys.stderr)
    for text in hasty(robot, found):
        print(f"rbd_dynamics: {text}", file=sys.stderr)
    return 0


def hasty(robot: Robot, found: Excitation) -> list[str]:
    """Joints whose efforts change faster than the torque nodes let them by default. Robot: without friction."""
    import numpy as np

    from rbd_dynamics.control.safety.effort_rates import usual_effort_rates

    times = np.arange(found.waypoints.times[0], found.waypoints.times[-1], HASTY_STEP)
    states = [found.trajectory.sample(time) for time in times]
    order = [found.waypoints.joint_names.index(name) for name in robot.model.joint_names]
    q, v, a = (np.array([state[k] for state in states])[:, order] for k in range(3))
    rates = np.abs(np.diff(robot.inverse_dynamics(q, v, a), axis=0)).max(axis=0) / HASTY_STEP
    usual = usual_effort_rates(robot.model.effort_limit)
    return [
        f"the effort of {name!r} changes by up to {rate:.0f} N m/s, and the torque nodes allow {most:g} unless "
        "`effort_rate_limits` says more: a smaller --share, --velocity or --acceleration makes it slower"
        for name, rate, most in zip(robot.model.joint_names, rates, usual)
        if rate > most
    ]


def _basis(options: argparse.Namespace) -> Basis:
    from rbd_dynamics.replay.excitation import Fourier, ViaPoints

    if options.kind == "fourier":
        return Fourier(period=options.period, harmonics=options.harmonics)
    return ViaPoints(duration=options.period, points=options.points)


def _limits(options: argparse.Namespace, model: Model) -> ExcitationLimits:
    from rbd_dynamics.replay.excitation import ExcitationLimits

    return ExcitationLimits.of(
        model,
        share=options.share,
        lower=dict(options.lower),
        upper=dict(options.upper),
        **{name: _by_joint(getattr(options, name), model) for name in ("velocity", "acceleration", "effort")},
    )


def _obstacles(options: argparse.Namespace) -> Obstacles:
    from rbd_dynamics.replay.excitation import Obstacles
    from rbd_dynamics.replay.excitation.obstacles import boxes_of

    return Obstacles(boxes_of(options.obstacle), tuple(options.tool), radius=options.radius)


def _options(options: argparse.Namespace) -> Options:
    from rbd_dynamics.replay.excitation import Options

    names = ("criterion", "friction", "rate", "periods", "starts", "seed", "lead")
    noise = _by_joint(options.noise, None)
    return Options(noise=noise, **{name: getattr(options, name) for name in names})


def _by_joint(given: Sequence[tuple[str, float]], model: Model | None) -> float | dict[str, float] | None:
    """Numbers by name, over one for all; None where none is given."""
    named = {name: number for name, number in given if name}
    every = [number for name, number in given if not name]
    if not named:
        return every[-1] if every else None
    if every and model is not None:
        return {**{joint.name: every[-1] for joint in model.joints if joint.mimic is None}, **named}
    return named


def _show(found: Excitation, random: Excitation, limits: ExcitationLimits, output: Path | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    from rbd_dynamics.common.console import output_console

    console = output_console()
    table = Table(title="What the motion tells", title_justify="left")
    for name in ("", "this motion", "a random one"):
        table.add_column(name, justify="left" if not name else "right")
    both = (found, random)
    table.add_row("errors, the random motion's are 1", *(f"{math.exp(random.gain - x.gain):.3g}" for x in both))
    table.add_row("condition number, base parameters", *(f"{x.condition:.4g}" for x in both))
    table.add_row("condition number, with friction", *(f"{x.condition_with_friction:.4g}" for x in both))
    known = (f"{sum(estimate.identifiable for estimate in x.expected)} of {len(x.expected)}" for x in both)
    table.add_row("parameters that will be known", *known)
    console.print(table)
    console.print(_peaks_table(found, limits))
    expected = Table(
        title="Intervals of 95 % to be expected", title_justify="left", caption=BASE, caption_justify="left"
    )
    for name in ("parameter", "description", "half interval", "unit"):
        expected.add_column(name, justify="left" if name in ("parameter", "unit") else "right", overflow="fold")
    for estimate in found.expected:
        half = f"{0.5 * (estimate.upper - estimate.lower):.2g}" if estimate.identifiable else "not identifiable"
        value = f"{estimate.value:.4g}" if estimate.identifiable else ""
        expected.add_row(escape(estimate.name), value, half, estimate.unit)
    console.print(expected)
    share, which = found.tightest
    console.print(f"at most {100 * share:.1f} % of {which}", markup=False)
    if output is not None:
        console.print(f"{output}: {len(found.waypoints.times)} points", markup=False)


def _peaks_table(found: Excitation, limits: ExcitationLimits) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="The motion, and its limits (rad, m, s, N m, N)", title_justify="left")
    names = ("joint", "position", "limits", "velocity", "limit", "acceleration", "limit", "effort", "limit")
    for name in names:
        table.add_column(name, justify="left" if name == "joint" else "right", overflow="fold")
    peaks, motion = found.peaks, limits.motion
    for k, joint in enumerate(limits.joints):
        table.add_row(
            escape(joint),
            f"{peaks.lower[k]:.3g} .. {peaks.upper[k]:.3g}", f"{motion.lower[k]:.3g} .. {motion.upper[k]:.3g}",
            f"{peaks.velocity[k]:.3g}", f"{motion.velocity[k]:.3g}",
            f"{peaks.acceleration[k]:.3g}", f"{motion.acceleration[k]:.3g}",
            f"{peaks.effort[k]:.3g}", f"{limits.effort[k]:.3g}",
        )  # fmt: skip
    return table


def _plain(found: Excitation, random: Excitation) -> dict[str, Any]:
    from rbd_dynamics.replay.identification.estimates import plain

    names = ("gain", "condition", "condition_with_friction", "expected", "peaks", "tightest", "noise", "rate")
    both = {"": found, "random": random}
    result = {key: {name: plain(getattr(motion, name)) for name in names} for key, motion in both.items()}
    return {"joints": list(found.waypoints.joint_names), **result[""], "random": result["random"]}


def _number(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not [NAME=]NUMBER") from None


def _box(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a box of 6 or 9 numbers") from None
