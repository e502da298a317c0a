# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of random poses that can be reached: one after the other, side by side, and beside a peer.

    python -m benchmarks.dynamics.inverse_kinematics [--quick] [--json FILE]

The peer is closed-loop inverse kinematics over Pinocchio, in Python, as its documentation shows it: damped steps along
the logarithm of the error, here within the same limits and with as many restarts. Needs Pinocchio (`pin`) and
example-robot-data.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import stay_on_one_core
from rbd_dynamics.common.example_robots import robots

Array = NDArray[np.float64]
ARMS = {
    "UR3": ("ur3_robot", "tool0"), "UR5": ("ur5_robot", "tool0"), "UR10": ("ur10_robot", "tool0"),
    "Panda": ("panda", "panda_hand"), "xArm7": ("xarm7", "link_eef"), "Z1": ("z1", "gripperMover"),
    "Baxter, left arm": ("baxter", "left_gripper"),
}  # fmt: skip
TOLERANCE, RESTARTS = 1e-6, 50
STEPS, SHARE, DAMPING = 200, 0.5, 1e-6  # of a try of the peer, of the way in a step, in it
WANTED = 0.1  # of the peer's time


class Peer:
    """Closed-loop inverse kinematics over Pinocchio for a robot with one position for each joint."""

    def __init__(self, name: str, frame: str) -> None:
        import pinocchio as pin

        self._pin, self._model = pin, pin.buildModelFromUrdf(str(robots()[name]))
        self._data, self._frame = self._model.createData(), self._model.getFrameId(frame)
        self._rng = np.random.default_rng(0)

    def __call__(self, pose: Array) -> bool:
        pin, model, data, frame = self._pin, self._model, self._data, self._frame
        wanted, q = pin.SE3(pose), np.clip(pin.neutral(model), model.lowerPositionLimit, model.upperPositionLimit)
        for _ in range(RESTARTS + 1):
            for _ in range(STEPS):
                pin.framesForwardKinematics(model, data, q)
                off = data.oMf[frame].actInv(wanted)
                error = pin.log6(off).vector
                if np.abs(error).max() < TOLERANCE:
                    return True
                J = -pin.Jlog6(off.inverse()) @ pin.computeFrameJacobian(model, data, q, frame)
                v = -J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error)
                q = np.clip(pin.integrate(model, q, SHARE * v), model.lowerPositionLimit, model.upperPositionLimit)
            q = pin.randomConfiguration(model)
        return False


def seconds(solve: Callable[[Array], Any], poses: Array) -> tuple[float, float]:
    """Time of one pose, s, and the share that is reached."""
    begun = time.process_time()
    reached = [bool(solve(pose)) for pose in poses]
    return (time.process_time() - begun) / len(poses), float(np.mean(reached))


def main() -> int:
    arguments = parser("dynamics.inverse_kinematics", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    count, peers, rounds = (50, 10, 2) if arguments.quick else (1000, 50, 5)
    heads = ("arm", "a pose, µs", "reached, %", "in a batch, µs", "reached, %", "peer, µs", "reached, %", "ratio")
    table, guard = Table("inverse_kinematics", heads), Guard.of(quick=arguments.quick)
    for title, (name, frame) in ARMS.items():
        robot, rng = rbd.Robot(rbd.load(name)), np.random.default_rng(1)
        poses = robot.pose(np.array([robot.model.random(rng) for _ in range(count)]), frame)
        robot.inverse_kinematics(frame, poses[:2])
        robot.inverse_kinematics(frame, poses[0])
        peer = Peer(name, frame)

        def measure(robot: rbd.Robot = robot, frame: str = frame, poses: Array = poses, peer: Peer = peer) -> Any:
            found: list[tuple[float, ...]] = []
            for _ in range(rounds):
                alone = seconds(lambda pose: robot.inverse_kinematics(frame, pose).reached, poses)
                begun = time.process_time()
                many = robot.inverse_kinematics(frame, poses).reached
                each = (time.process_time() - begun) / count
                found.append((*alone, each, float(many.mean()), *seconds(peer, poses[:peers])))
            return np.array(found).T

        times, trouble = guard.run(title, measure)
        own, batch, theirs = (Figure.of(times[k], 1e6) for k in (0, 2, 4))
        shares = [Figure(100.0 * float(times[k].mean())) for k in (1, 3, 5)]
        table.add(
            title, own, shares[0], batch, shares[1], theirs, shares[2], ratio(own, theirs, WANTED), trouble=trouble
        )
    return deliver(arguments, [table], "pin", settings=f"one core, {count} poses, within 1e-6 rad and 1e-6 m")


if __name__ == "__main__":
    raise SystemExit(main())
