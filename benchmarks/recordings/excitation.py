# SPDX-License-Identifier: Apache-2.0
"""Designed motions against random ones, and against a motion that others designed and played.

    python -m benchmarks.recordings.excitation [--robots ur5_robot panda] [--random 20]
    python -m benchmarks.recordings.excitation --urdf ur10e.urdf --played run.csv --period 20 --harmonics 5

A played motion is a CSV file of times (s) and positions (rad) of all joints, in the columns before any others. The
design then has the peaks of its positions, velocities and accelerations for limits, and its duration.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.replay.excitation import ExcitationLimits, Fourier, Options, ViaPoints, design, random_motion
from rbd_dynamics.replay.excitation.information import Information, condition_number
from rbd_dynamics.replay.signals.filtering import LowPass

JOINTS = {"panda": [f"panda_joint{k}" for k in range(1, 8)]}
ACCELERATION = 10.0  # rad/s^2
CUTOFF = 5.0  # Hz, of what was played


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recordings.excitation", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--robots", nargs="+", default=["ur5_robot", "panda"], metavar="NAME")
    parser.add_argument("--random", type=int, default=20, metavar="N", help="random motions; their median is shown")
    parser.add_argument("--urdf", type=Path)
    parser.add_argument("--played", type=Path, metavar="CSV")
    parser.add_argument("--period", type=float, default=10.0)
    parser.add_argument("--harmonics", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.played is not None:
        against(options.urdf, options.played, Fourier(period=options.period, harmonics=options.harmonics))
        return
    print(
        "robot, motion: errors against the median random motion; condition number, with friction; parameters known; s"
    )
    for name in options.robots:
        compare(name, options.random)


def compare(name: str, count: int) -> None:
    robot = Robot(load_urdf(robots()[name], joints=JOINTS.get(name)))
    limits = ExcitationLimits.of(robot.model, acceleration=ACCELERATION)
    for basis in (Fourier(), ViaPoints()):
        random = [random_motion(robot, limits, basis, options=Options(seed=seed)) for seed in range(count)]
        usual = float(np.median([motion.gain for motion in random]))
        conditions = [
            np.median([getattr(m, which) for m in random]) for which in ("condition", "condition_with_friction")
        ]
        print(f"{name}, random {type(basis).__name__}: 1; {conditions[0]:.4g}, {conditions[1]:.4g}", flush=True)
        for criterion in ("gain", "condition"):
            begin = time.perf_counter()
            found = design(robot, limits, basis, options=Options(criterion=criterion))
            known = sum(estimate.identifiable for estimate in found.expected)
            print(
                f"{name}, {type(basis).__name__} by {criterion}: {np.exp(usual - found.gain):.2f}; "
                f"{found.condition:.4g}, {found.condition_with_friction:.4g}; {known} of {len(found.expected)}; "
                f"{time.perf_counter() - begin:.0f}",
                flush=True,
            )


def against(urdf: Path, played: Path, basis: Fourier) -> None:
    robot = Robot(load_urdf(urdf))
    nv = robot.model.nv
    table = np.loadtxt(played, delimiter=",", usecols=range(nv + 1))
    rate = (len(table) - 1) / (table[-1, 0] - table[0, 0])
    grid = np.arange(table[0, 0], table[-1, 0], 1.0 / rate)
    raw = np.array([np.interp(grid, table[:, 0], column) for column in table[:, 1:].T]).T
    q = LowPass(CUTOFF, 4, rate).both_ways(raw)
    v = np.gradient(q, 1.0 / rate, axis=0)
    a = np.gradient(v, 1.0 / rate, axis=0)
    inner = slice(round(rate), -round(rate))
    inner = slice(inner.start, min(len(q) + inner.stop, inner.start + round(basis.period * rate)))
    motion = np.array([q, v, a])[:, inner]
    peaks = np.abs(motion).max(axis=1)
    names = robot.model.joint_names
    limits = ExcitationLimits.of(
        robot.model,
        share=1.0,
        lower=dict(zip(names, motion[0].min(axis=0).tolist())),
        upper=dict(zip(names, motion[0].max(axis=0).tolist())),
        velocity=dict(zip(names, peaks[1].tolist())),
        acceleration=dict(zip(names, peaks[2].tolist())),
    )
    options = Options()
    found = design(robot, limits, basis, options=options)
    small = design(robot, limits, basis, options=Options(criterion="condition"))
    information = Information(robot, options.noise_of(limits), limits.effort)
    columns = information.columns(*motion)
    base = information.parameters.base
    # as many samples for both
    each = options.rate * basis.period / motion.shape[1]
    gram, _ = information.covariance(motion, each)
    gain = float(np.linalg.slogdet(np.eye(len(gram)) + gram)[1] / (2.0 * len(gram)))
    print(f"{played.stem}, {motion.shape[1] / rate:.1f} s; condition number, with friction; errors")
    print(f"played: {condition_number(columns[:, :, :base]):.4g}, {condition_number(columns):.4g}; 1")
    for name, motion_found in (("gain", found), ("condition", small)):
        print(
            f"by {name}: {motion_found.condition:.4g}, {motion_found.condition_with_friction:.4g}; "
            f"{np.exp(gain - motion_found.gain):.2f}"
        )


if __name__ == "__main__":
    main()
