# SPDX-License-Identifier: Apache-2.0
"""Speed against Pinocchio in the same run: one core, Python calls through `Robot` with `out=`.

    python -m benchmarks [--quick] [--robots UR5 Panda] [--json FILE]

Needs Pinocchio (`pin`) and example-robot-data. Every ratio stands beside the largest that is wanted.
"""

from __future__ import annotations

import argparse
import json
import platform
import warnings
from pathlib import Path
from typing import Any

from benchmarks import start_up
from benchmarks.contenders import ALGORITHMS, BATCH, SUBJECTS, Case, Subject
from benchmarks.timing import seconds_per_call, stay_on_one_core

WARM_START = 0.5  # s


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less precise, and no compile times")
    parser.add_argument("--robots", nargs="+", metavar="NAME", help="only robots whose name contains one of these")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [
        subject
        for subject in SUBJECTS
        if not arguments.robots or any(name.lower() in subject.title.lower() for name in arguments.robots)
    ]
    stay_on_one_core()
    rounds = 3 if arguments.quick else 15
    print(f"{processor()}, Python {platform.python_version()}, Pinocchio {pinocchio_version()}; one core\n")

    results: list[dict[str, Any]] = []
    print("Time of a call (us); ratios to Pinocchio's call, for hybrid dynamics to our forward dynamics. ", end="")
    print(f"Batches of {BATCH}: time per sample.\n")
    show("robot", "nv", "algorithm", "Pinocchio", "a call", "ratio", "wanted", "batch", "ratio", "wanted")
    show(*["---"] * 10)
    for subject in chosen:
        for row in measure(subject, rounds):
            results.append(row)
            show(
                row["robot"], row["nv"], row["algorithm"].replace("_", " "), us(row["pinocchio"]), us(row["call"]),
                *ratio(row["ratio"], row["wanted"]), us(row["batch"]),
                *ratio(row["batch_ratio"], row["batch_wanted"]),
            )  # fmt: skip

    starts: dict[str, Any] = {}
    if not arguments.quick:
        print("\nStart (s). Warm: Robot(model) with these kernels from the cache, in a new process; ", end="")
        print(f"wanted {WARM_START}\n")
        short = [name.replace("_dynamics", "").replace("_", " ") for name in ALGORITHMS]
        show("robot", "import", "load_urdf", "warm start", *(f"compile {name}" for name in short))
        show(*["---"] * (4 + len(short)))
        for subject in chosen:
            found = starts[subject.title] = start_up.measure(subject, repetitions=3)
            late = "" if found["warm_start"] <= WARM_START else " (!)"
            times = [found["import"], found["load_urdf"]]
            show(
                subject.title, *(f"{time:.3f}" for time in times), f"{found['warm_start']:.3f}{late}",
                *(f"{time:.2f}" for time in found["compile"].values()),
            )  # fmt: skip

    missed = [
        f"{row['robot']}, {row['algorithm']}"
        for row in results
        if (row["wanted"] and row["ratio"] > row["wanted"])
        or (row["batch_wanted"] and row["batch_ratio"] > row["batch_wanted"])
    ]
    missed += [f"{title}, warm start" for title, found in starts.items() if found["warm_start"] > WARM_START]
    print("\nAll as fast as wanted." if not missed else f"\nSlower than wanted: {'; '.join(missed)}.")
    if arguments.json:
        versions = {"processor": processor(), "python": platform.python_version(), "pinocchio": pinocchio_version()}
        arguments.json.write_text(json.dumps({**versions, "calls": results, "start": starts}, indent=1))


def measure(subject: Subject, rounds: int) -> list[dict[str, Any]]:
    """A row for each algorithm; all calls of a robot take turns."""
    case = Case(subject)
    case.robot.compile(*ALGORITHMS)
    calls = {(name, who): call for name in ALGORITHMS for who, call in case.calls(name).items()}
    batches = {(name, "batch"): case.batch(name) for name in ALGORITHMS}
    seconds = seconds_per_call({repr(key): call for key, call in calls.items()}, rounds)
    seconds |= seconds_per_call({repr(key): call for key, call in batches.items()}, max(3, rounds // 3), blocks=3)
    rows = []
    for name in ALGORITHMS:
        own, theirs = seconds[repr((name, "ours"))], seconds.get(repr((name, "pinocchio")))
        batch = seconds[repr((name, "batch"))] / BATCH
        is_dynamics = name in ("inverse_dynamics", "forward_dynamics")
        against = theirs or seconds[repr(("forward_dynamics", "ours"))]
        wanted = {"mass_matrix": subject.mass_matrix, "hybrid_dynamics": subject.hybrid}.get(name, subject.call)
        rows.append({
            "robot": subject.title, "nv": case.nv, "algorithm": name, "pinocchio": theirs, "call": own,
            "ratio": own / against, "wanted": wanted, "batch": batch,
            "batch_ratio": batch / theirs if theirs else None, "batch_wanted": subject.batch if is_dynamics else None,
        })  # fmt: skip
    return rows


def show(*cells: object) -> None:
    """A row of a Markdown table that also reads well as it is."""
    widths = (18, 3, 17, 9, 7, 9, 6, 7, 9, 6) if len(cells) == 10 else (18, 7, 9, 10, 15, 15, 14, 19)
    texts = ["-" * width if cell == "---" else str(cell).ljust(width) for cell, width in zip(cells, widths)]
    print(f"| {' | '.join(texts)} |", flush=True)


def us(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:.3f}"


def ratio(value: float | None, wanted: float | None) -> tuple[str, str]:
    """Both as text, with a mark where too much time is taken."""
    if value is None:
        return "", ""
    return f"{value:.3f}" + (" (!)" if wanted and value > wanted else ""), f"{wanted:g}" if wanted else ""


def processor() -> str:
    """Its name, as the operating system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def pinocchio_version() -> str:
    import pinocchio

    return str(pinocchio.__version__)


if __name__ == "__main__":
    main()
