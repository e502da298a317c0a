# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics rehearse`: the whole way, from a description to an identified model, on a simulated robot."""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.help_format import HelpFormatter

if TYPE_CHECKING:
    from rbd_dynamics.model.model import Model
    from rbd_dynamics.replay.rehearsal.hidden_robot import HiddenRobot
    from rbd_dynamics.replay.rehearsal.loop import Rehearsal

EPILOG = """\
Examples:
  rbd_dynamics rehearse robot.urdf --known-load tool0=1.5
  rbd_dynamics rehearse panda --known-load panda_hand=2,0,0,0.1 \\
      --lock panda_finger_joint1=0 --output rehearsal --seed 3
"""
WANTED = 1.2  # times the tracking error with the true model


def add_rehearse(
    commands: Any,
    load: Callable[[argparse.Namespace], Model],
    urdf_help: str,
    name_and_position: Callable[[str], tuple[str, float]],
    known_load: Callable[[str], tuple[str, float, tuple[float, ...]]],
) -> argparse.Action:
    """The command's arguments; `load` makes the model of them. The one that names the robot is returned."""
    parser = commands.add_parser(
        "rehearse",
        help="excite, record, replay, identify, correct, and run again: on a simulated robot",
        description="A simulated robot hides inertias, friction, drive gains, delays and noise. It is excited, "
        "recorded, replayed and identified, then plays another motion with the feedforward of the description, of what "
        f"was identified, and of the truth. Exit code 1 if the error is over {WANTED:g} times that with the truth, or "
        "if the truth itself tracks hardly better than the description, so that this motion cannot tell.",
        epilog=EPILOG,
        formatter_class=HelpFormatter,
    )
    add = parser.add_argument
    urdf: argparse.Action = add("urdf", metavar="URDF", help=urdf_help)
    add("--known-load", metavar="FRAME=KG[,X,Y,Z]", type=known_load, required=True,
        help="what the robot carries in one recording, with its centre in the frame (m): it calibrates the "
        "drives")  # fmt: skip
    add(
        "--output", "-o", metavar="DIR", type=Path, help="keep the recordings, the motion and the corrected model there"
    )
    add("--seed", metavar="N", type=int, default=0, help="of what is hidden; default: 0")
    add("--share", metavar="X", type=float, default=0.6, help="of the description's limits that is used; default: 0.6")
    add("--joints", metavar="NAMES", type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        help="keep these joints (comma-separated) and lock all others at zero")  # fmt: skip
    add("--lock", metavar="NAME=POSITION", action="append", default=[], type=name_and_position,
        help="lock a joint there (rad, m); may be repeated")  # fmt: skip
    add("--model", metavar="NAME", help="which model of an SDF with several; default: the only one with joints")
    add("--gravity", metavar=("X", "Y", "Z"), nargs=3, type=float, help="m/s^2")
    add("--json", action="store_true", help="print JSON in place of the table")
    parser.set_defaults(run=lambda options: run_rehearse(options, load), floating=False)
    return urdf


def run_rehearse(options: argparse.Namespace, load: Callable[[argparse.Namespace], Model]) -> int:
    """Exit code 1 where the error is larger than `WANTED`, or where that tells nothing."""
    from rbd_dynamics.common.console import progress_bar
    from rbd_dynamics.common.whole_files import check_folder
    from rbd_dynamics.model import save_yaml
    from rbd_dynamics.replay.rehearsal import Plan, hide, rehearse

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `check` says them
        model = load(options)
    if options.output is not None:
        check_folder(options.output)
    frame, mass, (x, y, z) = options.known_load
    model.frame(frame)  # before minutes of work
    plan = Plan(share=options.share, load=mass, com=(x, y, z), seed=options.seed)
    hidden = hide(model, seed=options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        with progress_bar() as bar:
            task = bar.add_task("", total=1.0)
            found = rehearse(
                model, hidden, frame, folder, plan=plan,
                progress=lambda step, share: bar.update(task, description=step, completed=share),
            )  # fmt: skip
        if options.output is not None:
            found.excitation.save(folder / "excitation.yaml")
            save_yaml(found.known.model, folder / "identified.yaml")
    if options.json:
        print(json.dumps(_plain(found, hidden), indent=1, allow_nan=False))
    else:
        _show(found, hidden)
    return 0 if _verdict(found) == "good" else 1


def _verdict(found: Rehearsal) -> str:
    """Whether what was identified is as good as the truth, where the model matters for how the motion is tracked."""
    if not found.before > WANTED * found.best:
        return "cannot tell"
    return "good" if found.after <= WANTED * found.best else "worse"


def _plain(found: Rehearsal, hidden: HiddenRobot) -> dict[str, Any]:
    """What the table shows: errors as root mean squares, rad or m; times in s."""
    from rbd_dynamics.replay.identification.estimates import plain

    return {
        "joints": [
            {
                "name": joint,
                "errors": {name: float(run.error[k]) for name, run in found.runs.items()},
                "gain": plain(found.gains.gains[joint]),
                "true_gain": float(hidden.gains[k]),
            }
            for k, joint in enumerate(hidden.model.joint_names)
        ],
        "errors": {"description": found.before, "identified": found.after, "truth": found.best},
        "times_the_truth": found.after / found.best,
        "verdict": _verdict(found),
        "delay": plain(found.delay),
        "true_delay": hidden.effort_delay - hidden.command_delay,
    }


def _show(found: Rehearsal, hidden: HiddenRobot) -> None:
    from rich.markup import escape
    from rich.table import Table

    from rbd_dynamics.common.console import output_console

    console = output_console()
    table = Table(title="Tracking errors, root mean square (mrad, mm)", title_justify="left")
    names = ("joint", *found.runs, "gain", "true gain")
    for name in names:
        table.add_column(name, justify="left" if name == "joint" else "right", overflow="fold")
    for k, joint in enumerate(hidden.model.joint_names):
        errors = [f"{1e3 * run.error[k]:.3f}" for run in found.runs.values()]
        gain = found.gains.gains[joint]
        half = 0.5 * (gain.upper - gain.lower)
        told = f"{gain.value:.3f} ± {half:.3f}" if gain.identifiable else "unknown"
        table.add_row(escape(joint), *errors, told, f"{hidden.gains[k]:.3f}")
    console.print(table)
    text = f"description {1e3 * found.before:.3f}, identified {1e3 * found.after:.3f}, truth {1e3 * found.best:.3f}"
    console.print(f"all joints: {text}: {found.after / found.best:.2f} times that with the truth")
    if _verdict(found) == "cannot tell":
        console.print(
            "cannot tell: the truth tracks hardly better than the description, so the model matters little for this "
            "motion; a faster one (--share) would tell, or a description that is farther off"
        )
    late = hidden.effort_delay - hidden.command_delay
    console.print(f"efforts: {found.delay}; reported {1e3 * late:.3g} ms after they act", markup=False)
