# SPDX-License-Identifier: Apache-2.0
"""The arguments of `rbd_dynamics replay`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.help_format import HelpFormatter
from rbd_dynamics.replay.command import kinds
from rbd_dynamics.replay.questions import QUESTIONS

if TYPE_CHECKING:
    from rbd_dynamics.replay.command.chosen import Source

FORMATS_HELP = "comma-separated: html, png, csv, parquet, bag, urdf, or all; default: html,png,urdf, of many html,urdf"
EPILOG = """\
Examples:
  rbd_dynamics replay run.mcap --urdf panda.urdf -o result      one recording
  rbd_dynamics replay run.mcap --payload tool0 --inertias       what it carries
  rbd_dynamics replay archive/ -o result --workers 8            many, the fleet
  rbd_dynamics replay archive/ --together --load one/run3:tool0
      one fit over all of them, with a load in one
"""


def add_replay(commands: Any, source: Source, name_and_number: Callable[[str], tuple[str, float]]) -> None:
    """The command's arguments; `source` reads --urdf, `name_and_number` NAME=NUMBER."""
    parser = commands.add_parser(
        "replay",
        help="compare recordings with the model: torques, friction, payload, contacts",
        description="Compare recorded efforts with those of the robot's model, and find friction, load, inertias and "
        "contacts. Reads rosbag2 (sqlite3, mcap), ROS 1 bags, and tables (CSV, Parquet, MATLAB, HDF5, NumPy), without "
        "ROS. Exit code 1 if a recording failed or had nothing to compare, or if a corrected description was not "
        "written since it would be worse.",
        epilog=EPILOG,
        formatter_class=HelpFormatter,
    )
    add = parser.add_argument
    add("recordings", metavar="BAG", nargs="+", type=kinds.place,
        help="a recording, or a folder with many of them; also elsewhere, as s3://bucket/runs")  # fmt: skip
    add("--urdf", metavar="URDF", help="path, -, or name of a robot; default: robot_description in the recording")
    add("--robot", metavar="NAME",
        help="which one, where several are recorded: the namespace of its topics, the name in its description, or what "
        "its joints' names begin with")  # fmt: skip
    add("--gravity", metavar=("X", "Y", "Z"), nargs=3, type=kinds.finite,
        help="in the frame of the robot's base, m/s^2, as 9.81 0 0 on a wall; default: the description's")  # fmt: skip
    add("--meshes", metavar="DIR", action="append", default=[], type=Path,
        help="where the packages are whose meshes the description names, beside those of ROS, to draw the robot in the "
        "report; may be repeated")  # fmt: skip
    add("--output", "-o", metavar="DIR", type=kinds.place,
        help="where to write, also elsewhere, as s3://bucket/results; default: nothing is written")  # fmt: skip
    add("--formats", metavar="LIST", type=kinds.formats, help=FORMATS_HELP)
    add("--json", action="store_true", help="print summary.json (of many recordings fleet.json) in place of tables")

    signals = parser.add_argument_group("what was recorded")
    add = signals.add_argument
    add("--topic", action="append",
        help="of the joint states; default: the one that names most of the robot's joints; may be repeated, for topics "
        "that name some of them each: these are joined")  # fmt: skip
    add("--columns", metavar="FIELD=COLUMNS|FILE", action="append", default=[], type=kinds.columns_or_file,
        help="of a table: which columns are the time (t), positions (q), velocities (dq) and efforts (tau), as "
        "t=stamp[ms], q=pos_meas{} ({} is the joint's name or number), tau=16-22; JOINT.q=NAME for one joint; may be "
        "repeated; or the YAML file that --explain writes; the rest goes by its names")  # fmt: skip
    add("--explain", action="store_true",
        help="print what the recording is taken for, column by column, with units and why, and no more; of a table, "
        "write it as NAME.columns.yaml for --columns, into --output or here")  # fmt: skip
    add("--start", metavar="S", type=float, help="leave out what was before, s since the first sample")
    add("--end", metavar="S", type=float, help="and what came after")
    add("--joint-map", metavar="RECORDED=JOINT|FILE", action="append", default=[], type=kinds.pair_or_file,
        help="what a joint of the robot is called in the recording; may be repeated; or a YAML file with all of "
        "them")  # fmt: skip
    add("--terms", metavar="LIST", type=kinds.names,
        help="what the efforts contain: inertia, coriolis, gravity, spring, friction; default: all but the "
        "last")  # fmt: skip
    add("--position", metavar="NAME=VALUE", action="append", default=[], type=name_and_number,
        help="of a joint that was not recorded (rad, m); may be repeated")  # fmt: skip
    add("--lock", metavar="NAME=VALUE", action="append", default=[], type=name_and_number,
        help="a joint that does not move (rad, m); may be repeated")  # fmt: skip

    add("--angles", choices=("radians", "degrees"), help="unit of positions and velocities of joints that turn")
    add("--effort-scale", metavar="[NAME=]NUMBER|FILE", action="append", default=[], type=kinds.number_or_file,
        help="by which efforts are multiplied: N m per ampere, or -1; for all joints, for one (may be repeated), or by "
        "joint from a YAML file")  # fmt: skip
    add("--joint-offset", metavar="NAME=RAD|FILE", action="append", default=[], type=kinds.number_or_file,
        help="added to a joint's position (rad, m), where its zero is not that of the description; may be repeated; or "
        "by joint from a YAML file")  # fmt: skip
    add("--position-scale", metavar="NAME=NUMBER", action="append", default=[], type=name_and_number,
        help="by which a joint's position and velocity are multiplied: -1 where its axis is turned; may be "
        "repeated")  # fmt: skip
    add("--offsets", metavar="FILE", type=Path, help="offsets.yaml of an earlier replay: subtracted from the efforts")
    add("--delay", metavar="SIGNAL[:NAME]=S", action="append", default=[], type=kinds.delay,
        help="by how much effort or velocity is late against the positions, as effort=0.02 or velocity:elbow=0.15; may "
        "be repeated")  # fmt: skip

    processing = parser.add_argument_group("how it is processed")
    add = processing.add_argument
    add("--cutoff", metavar="HZ", type=float, help="of the low-pass filter; default: 5, at most a fifth of the rate")
    add("--rate", metavar="HZ", type=float,
        help="of the samples; default: that of the messages; of a table without times, that of its rows")  # fmt: skip
    add("--edge", metavar="S", type=float, help="left out at both ends of a segment; default: 2 / cutoff")
    add("--velocity", choices=("auto", "measured", "differentiated"), help="where velocities come from")
    add("--clock", choices=("auto", "header", "received"), help="which stamps count")
    add("--settings", metavar="FILE", type=Path, help="all of these as JSON, as summary.json has them")

    questions = parser.add_argument_group("what is asked")
    for question in QUESTIONS:
        question.add_option(questions.add_argument)

    gains = parser.add_argument_group("drive gains, in place of all else")
    add = gains.add_argument
    add("--known-load", metavar="FRAME=KG[,X,Y,Z]", type=kinds.known_load,
        help="the recordings BAG carry this load, with its centre in the frame, m: find what efforts must be "
        "multiplied by (Gautier and Briot); DIR/drive_gains.yaml is for --effort-scale")  # fmt: skip
    add("--unloaded", metavar="BAG", action="append", default=[], type=Path,
        help="a recording of the same robot without it; may be repeated")  # fmt: skip

    many = parser.add_argument_group("many recordings")
    add = many.add_argument
    add("--together", action="store_true",
        help="one fit over all recordings, of robots of one kind (a folder each): inertias that all share, friction of "
        "each, loads; each recording left out in turn, and what transfers; DIR/together.json")  # fmt: skip
    add("--load", metavar="BAG[,BAG]:FRAME[=KG[,X,Y,Z]]", action="append", default=[], type=kinds.carried,
        help="for --together: these recordings carry a load, the same in all; known, with its centre, m, or to be "
        "found; may be repeated")  # fmt: skip
    add("--workers", metavar="N", type=int, help="processes on this machine; default: one a core")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster that sees the same paths, as tcp://host:8786")

    def run(options: argparse.Namespace) -> int:
        from rbd_dynamics.replay.command.run import run_replay

        return run_replay(options, source)

    parser.set_defaults(run=run)
