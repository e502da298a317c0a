# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of random poses that can be reached: one after the other, side by side, and beside others.

    python -m benchmarks.dynamics.inverse_kinematics [--quick] [--json FILE]

All search within the same limits, from zero and then at random, to 1e-6 rad and 1e-6 m. `inverse_kinematics_peers` says
who the others are; rows of those that are not installed are left out. Needs Pinocchio (`pin`) and example-robot-data.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from benchmarks.dynamics.inverse_kinematics_peers import RESTARTS, installed
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import stay_on_one_core
from rbd_dynamics.common.example_robots import robots

Array = NDArray[np.float64]
ARMS = {
    "UR3": ("ur3_robot", "tool0"), "UR5": ("ur5_robot", "tool0"), "UR10": ("ur10_robot", "tool0"),
    "Panda": ("panda", "panda_hand"), "xArm7": ("xarm7", "link_eef"), "Z1": ("z1", "gripperMover"),
    "Baxter, left arm": ("baxter", "left_gripper"), "SO-101": ("so101", "gripper_frame_link"),
}  # fmt: skip
WANTED = 0.1  # of the time of CLIK


def seconds(solve: Callable[[Array], Any], poses: Array) -> tuple[float, float]:
    """Time of one pose, s, and the share that is reached."""
    begun = time.process_time()
    reached = [bool(solve(pose)) for pose in poses]
    return (time.process_time() - begun) / len(poses), float(np.mean(reached))


def main() -> int:
    arguments = parser("dynamics.inverse_kinematics", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    count, asked, rounds = (50, 10, 2) if arguments.quick else (1000, 50, 3)
    heads = ("arm", "by", "a pose, µs", "reached, %", "ratio")
    table, guard = Table("inverse_kinematics", heads, labels=2), Guard.of(quick=arguments.quick)
    for title, (name, frame) in ARMS.items():
        robot, rng = rbd.Robot(rbd.load(name)), np.random.default_rng(1)
        poses = robot.pose(np.array([robot.model.random(rng) for _ in range(count)]), frame)
        urdf = str(robots()[name])

        def alone(pose: Array, robot: rbd.Robot = robot, frame: str = frame) -> bool:
            return bool(robot.inverse_kinematics(frame, pose, restarts=RESTARTS).reached)

        def together(robot: rbd.Robot = robot, frame: str = frame, poses: Array = poses) -> tuple[float, float]:
            begun = time.process_time()
            found = robot.inverse_kinematics(frame, poses, restarts=RESTARTS).reached
            return (time.process_time() - begun) / count, float(found.mean())

        def repeated(one: Callable[[], tuple[float, float]]) -> Any:
            one()  # kernels
            return np.array([one() for _ in range(rounds)]).T

        rows: dict[str, Callable[[], tuple[float, float]]] = {
            "rbd_dynamics": lambda alone=alone, poses=poses: seconds(alone, poses),  # type: ignore[misc]
            "rbd_dynamics, batch": together,
        }
        for by, kind in installed().items():
            peer = kind(urdf, frame)
            rows[by] = lambda peer=peer, poses=poses: seconds(peer, poses[:asked])  # type: ignore[misc]
        own: Figure | None = None
        for by, one in rows.items():
            (times, shares), trouble = guard.run(f"{title}, {by}", lambda one=one: repeated(one))  # type: ignore[misc]
            figure = Figure.of(times, 1e6)
            own = own or figure
            beside = ratio(own, figure, WANTED if by.startswith("CLIK") else None)
            table.add(title, by, figure, Figure(100.0 * float(shares.mean())), beside, trouble=trouble)
    return deliver(
        arguments, [table], "pin", "pin-pink", "placo", settings=f"one core, {count} poses, within 1e-6 rad and 1e-6 m"
    )


if __name__ == "__main__":
    raise SystemExit(main())
