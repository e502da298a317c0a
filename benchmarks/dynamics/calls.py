# SPDX-License-Identifier: Apache-2.0
"""Speed against other libraries in the same run: one core, Python calls through `Robot` with `out=`.

    python -m benchmarks.dynamics.calls [--quick] [--robots UR5 Panda] [--json FILE]

Needs Pinocchio (`pin`) and example-robot-data; MuJoCo and Drake (`mujoco`, `drake`) take part where they are installed.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from benchmarks.dynamics import peers
from benchmarks.dynamics.contenders import ALGORITHMS, BATCH, SUBJECTS, Case, Subject
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import Call, seconds_per_call, stay_on_one_core
from rbd_dynamics.common.example_robots import robots

PEER = "Pinocchio"  # that ratios are to
#: those of our own that have no such thing, to our forward dynamics
OWN = "hybrid_dynamics"
SUMMARY = (
    ("UR5", "inverse dynamics"), ("UR5", "forward dynamics"), ("Panda with fingers", "inverse dynamics"),
    ("Talos", "forward dynamics"),
)  # fmt: skip


def main() -> int:
    options = parser("dynamics.calls", __doc__)
    options.add_argument("--robots", nargs="+", metavar="NAME", help="only robots whose name contains one of these")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    names = arguments.robots or (["UR5"] if arguments.quick else [""])
    chosen = [subject for subject in SUBJECTS if any(name.lower() in subject.title.lower() for name in names)]
    stay_on_one_core()
    found = peers.those_installed()
    if PEER not in found:
        options.error(f"{PEER} is not installed: pip install {peers.PEERS[PEER][0]}")
    for name in peers.PEERS.keys() - found:
        print(f"without {name}, which is not installed", file=sys.stderr)
    of_others = (f"{name}, µs" for name in found)
    calls = Table("calls", ("robot", "algorithm", "nv", "rbd_dynamics, µs", *of_others, "ratio"), labels=2)
    batches = Table("batches", ("robot", "algorithm", "a sample, µs", f"ratio to a call of {PEER}"), labels=2)
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 15
    for subject in chosen:
        measure(subject, found, guard, rounds, calls, batches)
    packages = [peers.PEERS[name][0] for name in found]
    return deliver(arguments, [calls, batches], *packages, settings=f"one core, batches of {BATCH}")


def measure(
    subject: Subject, others: dict[str, peers.Make], guard: Guard, rounds: int, table: Table, batches: Table
) -> None:
    """Adds a row for each algorithm; all calls of a robot take turns."""
    case = Case(subject)
    case.robot.compile(*ALGORITHMS)
    calls: dict[str, Call] = {name: case.call(name) for name in ALGORITHMS}
    for name, make in others.items():
        calls |= {f"{algorithm} {name}": call for algorithm, call in calls_of(make, name, subject).items()}
    several = {name: case.batch(name) for name in ALGORITHMS}
    times, trouble = guard.run(subject.title, lambda: seconds_per_call(calls, rounds))
    of_batches, trouble_of_batches = guard.run(
        f"{subject.title}, batches", lambda: seconds_per_call(several, max(3, rounds // 3), blocks=3)
    )
    for name in ALGORITHMS:
        title, own = name.replace("_", " "), Figure.of(times[name], 1e6)
        theirs = [Figure.of(times[key], 1e6) if (key := f"{name} {other}") in times else None for other in others]
        peer = times.get("forward_dynamics" if name == OWN else f"{name} {PEER}")
        wanted = {"mass_matrix": subject.mass_matrix, OWN: subject.hybrid}.get(name, subject.call)
        quotient = None if peer is None else ratio(own, Figure.of(peer, 1e6), wanted)
        table.add(subject.title, title, case.nv, own, *theirs, quotient, trouble=trouble)
        sample = Figure.of(of_batches[name], 1e6 / BATCH)
        wanted = subject.batch if name in ("inverse_dynamics", "forward_dynamics") else None
        quotient = None if peer is None or name == OWN else ratio(sample, Figure.of(peer, 1e6), wanted)
        batches.add(subject.title, title, sample, quotient, trouble=trouble_of_batches or trouble)


def calls_of(make: peers.Make, name: str, subject: Subject) -> dict[str, Call]:
    """Of another library; none where it cannot read the robot. Mimic joints are free there, and may be more."""
    try:
        peer = make(robots()[subject.file], subject.base == "floating")
    except (RuntimeError, ValueError) as error:
        print(f"{name} cannot read {subject.title}: {error}".partition("\n")[0], file=sys.stderr)
        return {}
    rng = np.random.default_rng(1)
    return dict(peer.calls(peer.position(rng), *rng.normal(size=(2, peer.nv))))


def summary(calls: Table, batches: Table) -> Table:
    """A few rows, for who has a minute."""
    peer = calls.heads.index(f"{PEER}, µs")
    samples = {row.cells[:2]: row.cells[2] for row in batches.rows}
    heads = ("robot", "one Python call of", "rbd_dynamics, µs", f"{PEER}, µs", "a sample in a batch, µs")
    table = Table("summary", heads, labels=2)
    for row in calls.rows:
        robot, algorithm, _, own = row.cells[:4]
        if (robot, algorithm) in SUMMARY:
            table.add(robot, algorithm, own, row.cells[peer], samples[robot, algorithm], trouble=row.trouble)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
