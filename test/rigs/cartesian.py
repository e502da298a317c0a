# SPDX-License-Identifier: Apache-2.0
"""A Panda under Cartesian impedance and operational-space control beside a plain J^T impedance, in MuJoCo.

All have the same stiffness, 1 kHz, and joint states as they are; the operational-space law has the stiffness per
effective inertia. "plain" is tau = J^T (K e - D V) + N with D = 2 sqrt(K), as the usual examples have it, and a posture
in a kinematic null space. Needs MuJoCo and example-robot-data.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.control.cartesian.controller import CartesianController
from rbd_dynamics.control.cartesian.gains import CartesianGains
from rbd_dynamics.control.cartesian.motion import CartesianMotion
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.simulation.perturbation import perturb_inertias
from rbd_dynamics.spatial import exp_so3
from rigs.cartesian_plant import ARM, FRAME, LENGTH, CartesianPlant, Surroundings

Array = NDArray[np.float64]
MS = 1_000_000  # ns
START = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
STIFFNESS, TURNING = 800.0, 40.0  # N/m, N m/rad
TOOL = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, LENGTH], [0.0, 0.0, 0.0, 1.0]])
GAINS = CartesianGains(stiffness=STIFFNESS, rotational_stiffness=TURNING)
PERIOD, RADIUS = 2.0, 0.1  # of the circle: s, m


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
