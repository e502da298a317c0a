# SPDX-License-Identifier: Apache-2.0
"""A Panda under Cartesian impedance and operational-space control beside a plain J^T impedance, in MuJoCo.

    python -m benchmarks.cartesian

Free motion, a stiff and a soft wall, a peg in a hole 1 mm wider, and pushes at the tool and at the elbow. All have the
same stiffness, 1 kHz, and joint states as they are; the operational-space law has the stiffness per effective inertia.
"plain" is tau = J^T (K e - D V) + N with D = 2 sqrt(K), as the usual examples have it, and a posture in a kinematic
null space. Needs MuJoCo and example-robot-data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from benchmarks.cartesian_plant import ARM, FRAME, LENGTH, Around, CartesianPlant, Surroundings
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.control.cartesian_control import CartesianController
from rbd_dynamics.control.cartesian_gains import CartesianGains
from rbd_dynamics.control.cartesian_motion import CartesianMotion
from rbd_dynamics.control.motion_limits import MotionLimits
from rbd_dynamics.simulation.perturbation import perturb_inertias
from rbd_dynamics.spatial import exp_so3

Array = NDArray[np.float64]
MS = 1_000_000  # ns
START = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
STIFFNESS, TURNING = 800.0, 40.0  # N/m, N m/rad
TOOL = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, LENGTH], [0.0, 0.0, 0.0, 1.0]])
GAINS = CartesianGains(stiffness=STIFFNESS, rotational_stiffness=TURNING)
CONTENDERS = ("impedance", "operational_space", "plain")
PERIOD, RADIUS = 2.0, 0.1  # of the circle: s, m
DEEP = 0.02  # m that a wall keeps the tool from where it is wanted
PUSH = 20.0  # N


class Plain:
    """The plain law, by NumPy."""

    def __init__(self, robot: rbd.Robot) -> None:
        self.robot = robot
        self.K = np.diag([TURNING] * 3 + [STIFFNESS] * 3)
        self.D = 2.0 * np.sqrt(self.K)

    def torque(self, q: Array, v: Array, pose: Array) -> Array:
        """The wanted pose (4, 4) counts, its motion not."""
        here = self.robot.pose(q, FRAME) @ TOOL
        J = np.kron(np.eye(2), here[:3, :3]) @ rbd.spatial.adjoint(np.linalg.inv(TOOL)) @ self.robot.jacobian(q, FRAME)
        error = np.concatenate([rbd.spatial.log_so3(pose[:3, :3] @ here[:3, :3].T), pose[:3, 3] - here[:3, 3]])
        free = np.eye(7) - J.T @ np.linalg.pinv(J.T)
        posture = free @ (10.0 * (START - q) - 2.0 * math.sqrt(10.0) * v)
        return np.asarray(J.T @ (self.K @ error - self.D @ J @ v) + self.robot.gravity(q) + posture)


class Run:
    """One contender in one surrounding. `tips`, `forces`: a row for each millisecond; `wanted`: places.

    wrong: largest relative error of the controller's inertias.
    """

    def __init__(self, contender: str, around: Surroundings, *, wrong: float = 0.0, law_gains: CartesianGains = GAINS):
        model = rbd.load_urdf(robots()["panda"], joints=ARM)
        self.true = rbd.Robot(model)
        robot = rbd.Robot(perturb_inertias(model, wrong, seed=1)) if wrong else self.true
        self.contender, self.plant = contender, CartesianPlant(around)
        self.plain = Plain(robot) if contender == "plain" else None
        if contender == "operational_space":
            mass = 2.5  # about what the tool has: so that the stiffness is about the same
            law_gains = replace(
                law_gains, stiffness=np.divide(law_gains.stiffness, mass), rotational_stiffness=TURNING / 0.1
            )
        law = "operational_space" if contender == "operational_space" else "impedance"
        self.controller = CartesianController(robot, FRAME, law=law, tool=TOOL, gains=law_gains)
        self.motion = CartesianMotion()
        self.motion.limits = MotionLimits.of(
            self.motion.joints, velocity=[1.0] * 3 + [0.1] * 3, acceleration=[5.0] * 3 + [1.0] * 3
        )
        self.plant.reset(START)
        self.now, self.tips, self.forces, self.wanted, self.turned = 1_000 * MS, [], [], [], []
        self.begin = self.controller.pose(START)
        self.motion.recentre(self.begin)
        self.motion.update(self.now, self.motion.chart.coordinates(self.begin), np.zeros(6))

    def step(self, state: Array | None = None) -> None:
        """A millisecond; state (3, 6): wanted in the motion's chart, else as the motion has it."""
        q, v = self.plant.state
        controller, motion = self.controller, self.motion
        self.now += MS
        motion.come_along()
        controller.base = motion.chart.base
        here = controller.chart(q)
        motion.update(self.now, here, np.zeros(6))
        theta, rate, acceleration = motion.state() if state is None else state
        if self.plain is not None:
            tau = self.plain.torque(q, v, motion.chart.pose(theta))
        else:
            tau = controller.step(q, v, theta, rate=rate, acceleration=acceleration, posture=START, dt=1e-3).tau
        self.plant.advance(tau, 1e-3)
        self.tips.append(self.plant.tip)
        self.forces.append(self.plant.force)
        self.wanted.append(theta[3:].copy())
        self.turned.append(float(np.linalg.norm(here[:3] - theta[:3])))

    def run(self, seconds: float) -> Run:
        for _ in range(round(1000 * seconds)):
            self.step()
        return self

    def go(self, x: float, y: float, z: float, seconds: float, *, tilt: float = 0.0) -> Run:
        """To a place relative to the begin, tilted about x and about y of the root, rad."""
        goal = self.begin.copy()
        goal[:3, :3] = exp_so3((tilt, tilt, 0.0)) @ goal[:3, :3]
        goal[:3, 3] += [x, y, z]
        self.motion.go_to(goal, self.now)
        return self.run(seconds)

    @property
    def off(self) -> Array:
        """Distance from where the tip is wanted, m."""
        return np.linalg.norm(np.array(self.tips) - np.array(self.wanted), axis=1)


class Figure(NamedTuple):
    """A row of the table: what, unit, the value of each contender."""

    what: str
    values: tuple[float, ...]
    digits: int = 2


def below(way: float) -> tuple[float, float, float]:
    """Where the tip begins, and so much lower, m."""
    robot = rbd.Robot(rbd.load_urdf(robots()["panda"], joints=ARM))
    x, y, z = (robot.pose(START, FRAME) @ TOOL)[:3, 3].tolist()
    return x, y, z - way


def circle(run: Run, turns: float = 1.5) -> Run:
    """With its motion; begins and ends at rest, turned along by up to 0.3 rad."""
    theta0 = run.motion.chart.coordinates(run.begin)
    duration = PERIOD * turns
    for k in range(round(1000 * duration)):
        s = (k + 1) / (1000 * duration)
        share = 10 * s**3 - 15 * s**4 + 6 * s**5
        speed, bend = (30 * s**2 - 60 * s**3 + 30 * s**4) / duration, (60 * s - 180 * s**2 + 120 * s**3) / duration**2
        angle, w, a = (2 * math.pi * turns * x for x in (share, speed, bend))
        c, n = math.cos(angle), math.sin(angle)
        state = np.array([theta0, np.zeros(6), np.zeros(6)])
        for row, (f, df, ddf) in {4: (1 - c, n, c), 5: (n, c, -n)}.items():
            state[:, row] += RADIUS * np.array([f, df * w, ddf * w * w + df * a])
        state[:, 2] += 0.3 * np.array([n, c * w, -n * w * w + c * a])
        run.step(state)
    return run


def free(wrong: float = 0.0) -> Iterator[Figure]:
    """A circle of 0.1 m in 2 s, up to 0.6 m/s."""
    runs = [circle(Run(name, Surroundings(), wrong=wrong)) for name in CONTENDERS]
    with_error = f", inertias off by up to {100 * wrong:.0f} %" if wrong else ""
    yield Figure(f"circle{with_error}: largest error [mm]", tuple(1e3 * float(run.off.max()) for run in runs))
    if not wrong:
        yield Figure("the same: rotation [mrad]", tuple(1e3 * max(run.turned) for run in runs))


def wall(kind: Around) -> Iterator[Figure]:
    """Into it with 0.1 m/s, 20 mm deeper than it lets the tool."""
    runs = []
    for name in CONTENDERS:
        run = Run(name, Surroundings(kind, below(0.03)))
        run.go(0.0, 0.0, -0.03 - DEEP, 2.5)
        runs.append(run)
    pressed = [np.array(run.forces)[:, 2] for run in runs]
    yield Figure(f"{kind}: largest force [N]", tuple(float(f.max()) for f in pressed), 1)
    yield Figure(f"{kind}: at rest [N]", tuple(float(f[-300:].mean()) for f in pressed), 2)
    yield Figure(f"{kind}: times that contact was lost", tuple(bounces(f) for f in pressed), 0)


def bounces(force: Array) -> float:
    """How often contact was lost after the first touch."""
    touched = force > 0.0
    return float(np.sum(touched[:-1] & ~touched[1:]))


def hole(off: float = 4e-4, tilt: float = 0.02) -> Iterator[Figure]:
    """The peg goes 25 mm into the hole; where it is wanted is off to the side, and tilted."""
    runs = []
    soft = replace(GAINS, stiffness=(STIFFNESS / 2, STIFFNESS / 2, STIFFNESS))
    for name in CONTENDERS:
        run = Run(name, Surroundings("hole", below(0.01)), law_gains=soft)
        run.go(off, -off, -0.005, 0.8, tilt=tilt).go(off, -off, -0.035, 2.0, tilt=tilt)
        runs.append(run)
    yield Figure(
        "peg: depth reached of 25 [mm]", tuple(1e3 * float(r.begin[2, 3] - 0.01 - r.tips[-1][2]) for r in runs), 1
    )
    side = tuple(float(np.linalg.norm(np.array(run.forces)[:, :2], axis=1).max()) for run in runs)
    yield Figure("peg: largest force to the side [N]", side, 1)


def pushed(link: str, direction: tuple[float, float, float]) -> Iterator[Figure]:
    """With 20 N for a second, then left alone."""
    runs = []
    for name in CONTENDERS:
        run = Run(name, Surroundings()).run(0.2)
        run.plant.push(link, PUSH * np.array(direction))
        run.run(1.0)
        run.plant.push(link, np.zeros(3))
        runs.append(run.run(1.5))
    where = "tool" if link == FRAME else "elbow"
    yield Figure(f"pushed at the {where}: the tool gives [mm]", tuple(1e3 * float(r.off[1199]) for r in runs), 1)
    back = tuple(1e3 * float(r.off[1199 + 150 :].max()) for r in runs)
    yield Figure(f"pushed at the {where}: 0.15 s after, off by [mm]", back, 2)
    settled = tuple(settling(r.off[1200:]) for r in runs)
    yield Figure(f"pushed at the {where}: back within 1 mm after [s]", settled, 2)


def settling(off: Array) -> float:
    """When the last millimetre was reached for good, s."""
    away = np.flatnonzero(off > 1e-3)
    return 0.0 if not away.size else 1e-3 * float(away[-1] + 1)


SCENES: dict[str, Callable[[], Iterator[Figure]]] = {
    "free": free,
    "wrong": lambda: free(0.1),
    "stiff": lambda: wall("stiff wall"),
    "soft": lambda: wall("soft wall"),
    "hole": hole,
    "tool": lambda: pushed(FRAME, (0.0, 1.0, 0.0)),
    "elbow": lambda: pushed("panda_link4", (0.0, 1.0, 0.0)),
}


def main() -> None:
    print(f"| | {' | '.join(CONTENDERS)} |\n|---|{'---|' * len(CONTENDERS)}")
    for scene in SCENES.values():
        for figure in scene():
            print(
                f"| {figure.what} | {' | '.join(f'{value:.{figure.digits}f}' for value in figure.values)} |", flush=True
            )


if __name__ == "__main__":
    main()
