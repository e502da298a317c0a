# SPDX-License-Identifier: Apache-2.0
"""What contact detection finds, and what it invents: 200 seeded pushes of 2 to 50 N m on simulated arms.

    python -m benchmarks.contacts [--pushes 200] [--seed 1] [--free 20] [--json FILE]

Arms of `benchmarks.pushed_arms`, at rest and in motion, recorded as bags; each is replayed with the description, as a
user would, without any threshold. A contact counts for a push that it overlaps (the next 0.5 s with it), and is false
where it overlaps none. As many minutes as `--free` of motion that nobody touches tell how often that happens without
any pushes. Needs rosbags and example-robot-data.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.pushed_arms import ARMS, PERIOD, Arm, Push, Run, description_of, simulate
from rbd_dynamics.joint_states.layout import layout_of

START = 1_700_000_000 * 10**9  # ns
PERIODS = 12  # of a recording; the first two are without a push
SIZES = (2.0, 50.0)  # N m
LATE = 0.5  # s
CLASSES = ((2.0, 5.0), (5.0, 10.0), (10.0, 20.0), (20.0, 50.0))  # N m


@dataclass
class Score:
    """Pushes and what was found of them; contacts that are none.

    Attributes:
        pushes: each with whether it was found.
        contacts: how many there were; `false` of them overlap no push.
        seconds: of all recordings.
    """

    pushes: list[tuple[str, Push, bool]] = field(default_factory=list)
    contacts: int = 0
    false: int = 0
    seconds: float = 0.0

    def add(self, joints: Sequence[str], run: Run, events: Sequence[Any]) -> None:
        spans = [(event.start, event.end) for event in events]
        for push in run.pushes:
            found = any(begin < push.end + LATE and end > push.start for begin, end in spans)
            self.pushes.append((joints[push.joint], push, found))
        self.contacts += len(spans)
        self.false += sum(
            not any(begin < push.end + LATE and end > push.start for push in run.pushes) for begin, end in spans
        )
        self.seconds += float(run.t[-1])

    def recall(self, at_rest: bool, low: float = 0.0, high: float = np.inf) -> tuple[int, int]:
        """How many were found, of how many."""
        chosen = [f for _, p, f in self.pushes if p.at_rest == at_rest and low <= abs(p.size) < high]
        return sum(chosen), len(chosen)

    @property
    def precision(self) -> float:
        return 1.0 - self.false / self.contacts if self.contacts else 1.0

    def smallest(self, at_rest: bool) -> dict[str, float]:
        """{joint: N m}, of the pushes that were found."""
        return self._by_joint(at_rest, True, min)

    def largest_missed(self, at_rest: bool) -> dict[str, float]:
        """{joint: N m}, of the pushes that were not found."""
        return self._by_joint(at_rest, False, max)

    def _by_joint(self, at_rest: bool, seen: bool, which: Callable[[list[float]], float]) -> dict[str, float]:
        sizes: dict[str, list[float]] = {}
        for joint, push, found in self.pushes:
            if found == seen and push.at_rest == at_rest:
                sizes.setdefault(joint, []).append(abs(push.size))
        return {joint: which(each) for joint, each in sizes.items()}


def replayed(arm: Arm, model: rbd.Model, runs: Sequence[Run]) -> Score:
    """Each run as a bag of its own, without any threshold."""
    from rbd_dynamics import replay

    score, robot = Score(), rbd.Robot(model)
    for run in runs:
        with tempfile.TemporaryDirectory() as folder:
            path = write(arm, run, Path(folder) / "bag")
            found = replay.analyse(path, robot, questions=replay.Questions(energy=False))
        assert found.external_torque is not None
        score.add(arm.joints, run, found.external_torque.events)
    return score


def write(arm: Arm, run: Run, path: Path) -> Path:
    """A rosbag2 of joint states."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    kinds, zero = store.types, np.zeros(len(arm.joints))
    header = kinds["std_msgs/msg/Header"](kinds["builtin_interfaces/msg/Time"](0, 0), "")
    template = kinds["sensor_msgs/msg/JointState"](header, list(arm.joints), zero, zero, zero)
    raw = bytes(store.serialize_cdr(template, template.__msgtype__))
    layout = layout_of(raw, "cdr")
    stamps = START + np.rint(run.t * 1e9).astype(np.int64)
    records = np.frombuffer(raw * len(stamps), np.uint8).copy().view(layout.record)
    records["sec"], records["nanosec"] = stamps // 10**9, stamps % 10**9
    records["position"], records["velocity"], records["effort"] = run.q, run.v, run.tau
    data = records.tobytes()
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for k, stamp in enumerate(stamps.tolist()):
            writer.write(connection, stamp, data[k * len(raw) : (k + 1) * len(raw)])
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contacts", description=__doc__.splitlines()[0])
    parser.add_argument("--pushes", type=int, default=200, help="on each arm; ten in a recording")
    parser.add_argument("--free", type=float, default=20.0, help="minutes of motion of each arm that nobody touches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    recordings = -(-options.pushes // (PERIODS - 2))
    undisturbed = round(60.0 * options.free / (PERIODS * PERIOD))
    heads = " | ".join(f"{low:g} to {high:g} N m" for low, high in CLASSES)
    print(f"| arm | | {heads} | all | precision | false alarms |")
    print(f"|---|---|{'---|' * (len(CLASSES) + 3)}")
    results: dict[str, Any] = {}
    for arm in ARMS:
        model = description_of(arm)
        score = replayed(arm, model, simulate(arm, model, recordings, PERIODS, options.seed, SIZES))
        free = Score()
        if undisturbed:
            free = replayed(arm, model, simulate(arm, model, undisturbed, PERIODS, options.seed + 1, None))
        alone = f"{free.contacts} in {free.seconds / 60.0:.0f} min"
        for at_rest, more in ((False, f"{100 * score.precision:.1f} % | {alone}"), (True, " | ")):
            cells = [_share(*score.recall(at_rest, *each)) for each in (*CLASSES, (0.0, np.inf))]
            print(
                f"| {arm.name} | {'at rest' if at_rest else 'in motion'} | {' | '.join(cells)} | {more} |", flush=True
            )
        results[arm.name] = {
            "precision": score.precision, "contacts": score.contacts, "false": score.false,
            "in motion": score.recall(False), "at rest": score.recall(True),
            "free_false": free.contacts, "free_seconds": free.seconds,
            "smallest in motion": score.smallest(False), "missed in motion": score.largest_missed(False),
            "smallest at rest": score.smallest(True), "missed at rest": score.largest_missed(True),
        }  # fmt: skip
    print("\nSmallest push that was found and largest that was not, N m; breakaway:\n")
    print("| joint | found in motion | missed | found at rest | missed | breakaway |")
    print("|---|---|---|---|---|---|")
    for arm in ARMS:
        found = results[arm.name]
        for joint, friction in zip(arm.joints, arm.friction):
            kinds = ("smallest in motion", "missed in motion", "smallest at rest", "missed at rest")
            cells = [found[kind].get(joint) for kind in kinds]
            told = " | ".join("none" if cell is None else f"{cell:.1f}" for cell in cells)
            print(f"| {joint} | {told} | {arm.breakaway * friction:.1f} |")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def _share(found: int, of: int) -> str:
    return f"{found} of {of}"


if __name__ == "__main__":
    main()
