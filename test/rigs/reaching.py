# SPDX-License-Identifier: Apache-2.0
"""Arms in MuJoCo that are sent to random poses, within reach and beyond it, past singular postures and joint limits.

Torques come two samples late through actuators with a lag of 5 ms, encoders are quantised, joints rub, and the
controller's inertias are up to 10 % off. Needs MuJoCo and example-robot-data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.control.cartesian.controller import CartesianController
from rbd_dynamics.control.cartesian.gains import CartesianGains
from rbd_dynamics.control.cartesian.law import Law
from rbd_dynamics.control.cartesian.motion import CartesianMotion
from rbd_dynamics.control.cartesian.reachable import BEHIND, ReachableReference
from rbd_dynamics.control.cartesian.stability import StiffnessCheck, softer_where_unstable
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.safety.closed_loop import Timing
from rbd_dynamics.simulation.perturbation import perturb_inertias
from rbd_dynamics.spatial import log_so3
from rigs.mujoco_plant import Plant, bare_description
from rigs.reaching_rivals import Rival

Array = NDArray[np.float64]
#: arm -> its description, the joints that move (none: all), the link of the tool
ARMS: dict[str, tuple[str, list[str], str]] = {
    "UR3": ("ur3_robot", [], "tool0"),
    "UR5": ("ur5_robot", [], "tool0"),
    "UR10": ("ur10_robot", [], "tool0"),
    "Panda": ("panda", [f"panda_joint{k}" for k in range(1, 8)], "panda_hand_tcp"),
    "Kinova j2s6s200": ("kinova", [], "j2s6s200_end_effector"),
    "xArm7": ("xarm7", [], "link_eef"),
    "Z1": ("z1", [f"joint{k}" for k in range(1, 7)], "gripperStator"),
    "TIAGo": ("tiago", [f"arm_{k}_joint" for k in range(1, 8)], "hand_palm_link"),
}
MS = 1_000_000  # ns
PERIOD, STEP = 1e-3, 5e-4  # s, of control and of the simulation
LAG, DELAY = 5e-3, 2  # s; samples
TICK = 2.0 * math.pi / 2**17  # rad, of encoders
FRICTION, BREAKAWAY = 0.003, 20.0  # share of the effort limit; at most so many rad/s^2 of the joint's own inertia
TOLERANCE = 0.2  # m, rad: as a node's path tolerance
#: velocities are those of a period ago
TIMING = Timing(PERIOD, (2 + DELAY) * PERIOD, 1.0 / (2.0 * math.pi * LAG))
SPEEDS = (0.1, 0.3, 1.0)  # m/s; rad/s twice of that


class Arm(NamedTuple):
    """A model and the link of its tool."""

    model: rbd.Model
    frame: str

    @classmethod
    def of(cls, name: str) -> Arm:
        description, joints, frame = ARMS[name]
        return cls(rbd.load_urdf(robots()[description], **({"joints": joints} if joints else {})), frame)

    @property
    def speeds(self) -> Array:
        """Limits of the joints' velocities, rad/s."""
        return np.array([joint.limits.velocity for joint in self.model.joints])


class LatePlant(Plant):
    """An arm whose torques come late, and whose states are measured by encoders."""

    def __init__(self, name: str, arm: Arm) -> None:
        joints = list(arm.model.joint_names)
        super().__init__(mujoco.MjSpec.from_string(bare_description(robots()[ARMS[name][0]], joints)), joints, STEP)
        self.model.jnt_limited[:] = 0
        self._efforts = np.array([min(joint.limits.effort, 50.0) for joint in arm.model.joints])

    def stand(self, q: Array, robot: rbd.Robot) -> None:
        """At rest at q, held there."""
        self.reset(q)
        rubs = np.minimum(FRICTION * self._efforts, BREAKAWAY * np.diag(robot.mass_matrix(q)))
        self.model.dof_frictionloss[self._v] = rubs
        self._acts = robot.gravity(q)
        self._late = [self._acts] * DELAY
        self._read = [np.round(q / TICK) * TICK] * 3

    def measured(self) -> tuple[Array, Array]:
        """q, and v over two periods."""
        self._read = [*self._read[1:], np.round(self.state[0] / TICK) * TICK]
        return self._read[2], (self._read[2] - self._read[0]) / (2.0 * PERIOD)

    def command(self, tau: Array) -> None:
        """For a period."""
        self._late.append(tau.copy())
        acts = self._late.pop(0)
        for _ in range(round(PERIOD / STEP)):
            self._acts = self._acts + (1.0 - math.exp(-STEP / LAG)) * (acts - self._acts)
            self.advance(self._acts, STEP)


class Outcome(NamedTuple):
    """How a run went.

    fastest: largest speed of a joint over its limit. beyond: how far a joint passed its limit of position, rad.
    moving: largest speed at the end, likewise. off: m from the target. ended: how often the motion was ended.
    """

    fastest: float
    beyond: float
    moving: float
    off: float
    ended: int


class Reach:
    """An arm on its way to a random pose, that is 1.5 times as far where `seed` is 3, 7, 11, ..."""

    def __init__(self, name: str, law: Law | Rival, seed: int) -> None:
        self.arm, self.rival = Arm.of(name), law if isinstance(law, Rival) else None
        own: Law = "impedance" if isinstance(law, Rival) else law
        true, rng = rbd.Robot(self.arm.model), np.random.default_rng(seed)
        model, frame = self.arm
        lower, upper = np.maximum(model.lower, -2.8), np.minimum(model.upper, 2.8)
        margin = 0.1 * (upper - lower)
        self.begin, end = rng.uniform(lower + margin, upper - margin, (2, model.nv))
        self.target = np.array(true.pose(end, frame))
        if seed % 4 == 3:
            self.target[:3, 3] *= 1.5
        self.speed = SPEEDS[seed % 3]
        robot = rbd.Robot(perturb_inertias(model, 0.1, seed=1))
        self.controller = CartesianController(robot, frame, law=own)
        if self.controller.law == "impedance":
            usual = StiffnessCheck(self.controller).usual(CartesianGains(), TIMING)
            gains = softer_where_unstable(CartesianGains(reaction_time=TIMING.delay + LAG), usual)
            self.controller.use(self.controller.tuning(gains=gains))
        self.reference = ReachableReference(robot, frame)
        self.reference.largest_energy = self.controller.largest_energy
        self.motion = CartesianMotion()
        self.motion.limits = MotionLimits.of(
            self.motion.joints, velocity=[2.0 * self.speed] * 3 + [self.speed] * 3, acceleration=[10.0] * 3 + [5.0] * 3
        )
        self.plant = LatePlant(name, self.arm)
        self.plant.stand(self.begin, true)
        self._last = np.zeros(model.nv)

    def run(self) -> Outcome:
        """As long as the way takes, and 4 s."""
        motion, plant, now, ended = self.motion, self.plant, 1000 * MS, 0
        here = self.controller.pose(self.begin)
        self.reference.reset(self.begin)
        motion.recentre(here)
        motion.update(now, motion.chart.coordinates(here), np.zeros(6))
        motion.go_to(self.target, now)
        seconds = float(np.linalg.norm(self.target[:3, 3] - here[:3, 3])) / self.speed + 4.0
        fastest, beyond, speeds, model = 0.0, -math.inf, self.arm.speeds, self.arm.model
        for _ in range(round(seconds / PERIOD)):
            now += MS
            q, v = plant.measured()
            here = self.controller.pose(q)
            motion.come_along()
            motion.pace = 1.0 if self.rival else self.reference.pace
            motion.update(now, motion.chart.coordinates(here), np.zeros(6))
            wanted = motion.chart.pose(motion.state()[0])
            if not self.rival and apart(here, wanted) > TOLERANCE:
                motion.end(motion.chart.coordinates(here), "path tolerance violated")
                wanted, ended = here, ended + 1
            plant.command(self._of_rival(q, v, here, wanted) if self.rival else self._law(q, v, wanted))
            at, moves = plant.state
            fastest = max(fastest, float((np.abs(moves) / speeds).max()))
            beyond = max(beyond, float(np.maximum(model.lower - at, at - model.upper).max()))
        off = float(np.linalg.norm(here[:3, 3] - self.target[:3, 3]))
        return Outcome(fastest, beyond, float((np.abs(moves) / speeds).max()), off, ended)

    def _law(self, q: Array, v: Array, wanted: Array) -> Array:
        """Of the controller, as `cartesian_controller` calls it."""
        chart, reference = self.motion.chart, self.reference
        if self.motion.mode == "hold" and reference.away(wanted) > 5.0 * BEHIND:
            reference.reset(q)
        pose, twist, change = reference.follow(wanted, PERIOD, self.begin)
        theta = chart.coordinates(pose)
        rate = chart.rates(theta, twist)
        self.controller.base = chart.base
        out = self.controller.step(
            q, v, theta, rate=rate, acceleration=chart.accelerations(theta, rate, change),
            posture=reference.q, posture_rate=reference.v, dt=PERIOD,
        )  # fmt: skip
        return out.tau

    def _of_rival(self, q: Array, v: Array, here: Array, wanted: Array) -> Array:
        """Of another law, with the same stiffness."""
        assert self.rival is not None
        robot = self.controller.robot
        J = np.kron(np.eye(2), here[:3, :3]) @ robot.jacobian(q, self.controller.frame)
        self._last = self.rival.torque(
            robot, J, self.controller.wanted_stiffness, (here, wanted), (q, v), self.begin, self._last
        )
        limits = self.controller.effort_limits
        return np.clip(self._last + robot.gravity(q), -limits, limits)


def apart(a: Array, b: Array) -> float:
    """The largest of the six differences of two poses (4, 4), m or rad."""
    turned = log_so3(a[:3, :3] @ b[:3, :3].T)
    return float(max(np.abs(turned).max(), np.abs(a[:3, 3] - b[:3, 3]).max()))
