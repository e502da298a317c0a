# SPDX-License-Identifier: Apache-2.0
"""Pushes on simulated arms that a replay finds, and what it invents: arms of `rigs.pushed_arms`, recorded as bags.

Each is replayed with the description, as a user would, without any threshold. A contact counts for a push that it
overlaps (the next 0.5 s with it), and is false where it overlaps none. Needs rosbags and example-robot-data.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from rbd_dynamics.joint_states.layout import layout_of
from rigs.pushed_arms import Arm, Push, Run

START = 1_700_000_000 * 10**9  # ns
PERIODS = 12  # of a recording; the first two are without a push
SIZES = (2.0, 50.0)  # N m
LATE = 0.5  # s


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
