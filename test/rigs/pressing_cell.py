# SPDX-License-Identifier: Apache-2.0
"""An arm of example-robot-data, the supervisor of `rbd_dynamics.control` and a surface that gives, in one loop."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.constraints import SurfaceConstraint
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.law import LAWS, Law
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.normal import NormalEstimator
from rbd_dynamics.control.hybrid.supervisor import HybridSupervisor
from rbd_dynamics.control.hybrid.task import HybridTask
from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.trajectory import Point, Waypoints
from rigs.compliant_plant import CompliantPlant, Surroundings

Array = NDArray[np.float64]

BALL = 0.01  # m
MS = 1_000_000  # ns
DEFAULTS = HybridGains(ki=5.0, normal_damping=30.0, task_ki=8.0)  # what the node has
ROWS = ("rx", "ry", "rz", "x", "y")
ALONG_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # axes whose z is the world's y


@dataclass(frozen=True)
class Arm:
    """description: its name in example-robot-data. q: a posture with room all around the tool. locked: joints."""

    description: str
    tool: str
    q: tuple[float, ...]
    locked: tuple[str, ...] = ()


ARMS = {
    "panda": Arm("panda", "panda_hand_tcp", (0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785), ("panda_finger_joint1",)),
    "ur5": Arm("ur5_robot", "tool0", (0.0, -1.2, 1.6, -1.97, -1.57, 0.0)),
    "ur10": Arm("ur10_robot", "tool0", (0.0, -1.2, 1.6, -1.97, -1.57, 0.0)),
    "xarm7": Arm("xarm7", "link_eef", (0.0, 0.2, 0.0, 0.9, 0.0, 0.7, 0.0)),
}


@dataclass(frozen=True)
class Setting:
    """One run. believed: kg that the controller's model has too much at the tool (negative: too little)."""

    _: KW_ONLY
    arm: str = "panda"
    law: Law = "geometric"
    gains: HybridGains = DEFAULTS
    limits: HybridLimits = field(default_factory=HybridLimits)
    around: Surroundings = field(default_factory=Surroundings)
    height: float = 0.01
    believed: float = 0.0
    force: float = 10.0
    estimate_normal: bool = False
    noise: float = 0.0  # N
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)  # N, of the sensor, in the tool's axes turned to the world's
    misplaced: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m, where the controller has the surface, from where it is


class Cell:
    """The loop at 1 kHz. `forces`, `heights`, `speeds`, `errors` have a row for each millisecond."""

    def __init__(self, setting: Setting) -> None:
        arm, around = ARMS[setting.arm], setting.around
        model = rbd.load_urdf(robots()[arm.description], locked=dict.fromkeys(arm.locked, 0.0))
        true, self.robot = rbd.Robot(model), rbd.Robot(model)
        if setting.believed:
            (self.robot if setting.believed > 0.0 else true).set_payload(arm.tool, abs(setting.believed))
        q = np.array(arm.q)
        pose = true.pose(q, arm.tool)
        point = pose[:3, 3] - [0.0, 0.0, BALL + setting.height]
        upright = self._upright = pose[:3, :3].T  # the tool's axes are the world's where it starts
        turned, place, controlled = np.eye(3), point + setting.misplaced, ROWS
        if around.shape != "plane":
            place = place - [0.0, 0.0, around.radius]
        if around.shape == "cylinder":  # the task's z axis is the world's y
            turned, controlled = ALONG_Y, ("rx", "ry", "rz", "x", "z")
        task = HybridTask(
            arm.tool, tool_orientation=_rpy(upright @ turned), task_position=tuple(place),
            task_orientation=_rpy(turned), surface=around.shape, surface_radius=around.radius, contact_offset=BALL,
            controlled=controlled,
        )  # fmt: skip
        constraints, moved = task.sets(model)
        controller = HybridController(self.robot, constraints, moved, law=setting.law, gains=setting.gains)
        self.supervisor = HybridSupervisor(controller, DesiredMotion(moved.row_names), setting.limits)
        self.supervisor.desired[:] = setting.force
        self.normal = NormalEstimator(self.supervisor, arm.tool) if setting.estimate_normal else None
        A = true.constraint_rows(q, np.zeros(len(q)), constraints).A
        self.effective_mass = 1.0 / float((A @ np.linalg.solve(true.mass_matrix(q), A.T))[0, 0])
        self.plant = CompliantPlant(true, arm.tool, BALL, point, around, self.effective_mass)
        self.plant.reset(q)
        self.setting, self.arm, self.rows = setting, arm, moved.row_names
        self.now = 1_000_000_000
        self._rng = np.random.default_rng(0)
        self.seen: list[tuple[float, ...]] = []

    def step(self) -> None:
        """One millisecond."""
        supervisor, plant = self.supervisor, self.plant
        q, v, force = plant.read()
        if self.setting.noise:
            force = force + self.setting.noise * self._rng.standard_normal(3)
        rotation = self.robot.pose(q, self.arm.tool)[:3, :3]
        force = force + rotation @ self._upright @ self.setting.bias
        measured = np.array([self.normal_of(q) @ force])
        tau = supervisor.torque(self.now, q, v, measured, self.now).copy()
        if self.normal is not None:
            wrench = np.concatenate([np.zeros(3), rotation.T @ force])
            self.normal.update(q, v, wrench, 1e-3)
        if not np.isfinite(tau).all():
            raise ArithmeticError("a torque is not finite")
        before = plant.position
        plant.advance(tau)
        after = plant.position
        out = supervisor.output
        error = np.zeros(5) if out is None else out.theta - supervisor.motion.state()[0]
        gap = plant.normal_at(after)[1] - BALL
        self.seen.append((plant.normal_force, gap, float((after - before)[2] / 1e-3), float(np.hypot(*error[3:]))))
        self.now += MS

    def normal_of(self, q: Array) -> Array:
        """Of the surface as the controller has it, where the tool is."""
        surface = self.supervisor.controller.constraints["surface"]
        assert isinstance(surface, SurfaceConstraint)
        placement, shape = surface.reference_placement, surface.surface
        R = np.array(placement.rotation).reshape(3, 3)
        x, y, z = R.T @ (self.robot.pose(q, self.arm.tool)[:3, 3] - np.array(placement.p))
        gradient = np.array(shape.gradient((float(x), float(y), float(z)), shape.numbers), dtype=float)
        return np.asarray(R @ gradient / np.linalg.norm(gradient))

    def run(self, seconds: float) -> Cell:
        for _ in range(round(1000 * seconds)):
            self.step()
        return self

    def engage(self) -> Cell:
        q, _, force = self.plant.read()
        force = force + self.robot.pose(q, self.arm.tool)[:3, :3] @ self._upright @ self.setting.bias
        self.supervisor.engage(self.now, np.array([self.normal_of(q) @ force]), self.now)
        return self

    def move(self, *points: tuple[float, float, float]) -> Cell:
        """Times, x and y; from where the tool is."""
        supervisor = self.supervisor
        assert supervisor.output is not None
        theta = supervisor.output.theta
        ways = [Point(t, [0.0, 0.0, 0.0, x, y], [], []) for t, x, y in points]
        waypoints = Waypoints.of(list(self.rows), ways, positions=True)
        supervisor.motion.follow(waypoints, self.now, self.now, theta, 0.0 * theta)
        return self

    @property
    def forces(self) -> Array:
        return np.array(self.seen)[:, 0]

    @property
    def gaps(self) -> Array:
        return np.array(self.seen)[:, 1]

    @property
    def speeds(self) -> Array:
        return np.array(self.seen)[:, 2]

    @property
    def errors(self) -> Array:
        """Along the surface, m, as the controller sees them."""
        return np.array(self.seen)[:, 3]


def _rpy(R: Array) -> tuple[float, float, float]:
    return (
        float(np.arctan2(R[2, 1], R[2, 2])),
        float(np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2]))),
        float(np.arctan2(R[1, 0], R[0, 0])),
    )


class Outcome(NamedTuple):
    """Of one case. speed: m/s just before the touch. blow: N, in the first 50 ms, and what speed, stiffness and mass
    make of it. force, deviation: N, mean and largest error over the last 0.5 s at rest. along: m, largest error along
    the surface on a circle of 40 mm radius in 3 s. reason: why it stopped, if it did."""

    speed: float
    blow: float
    expected: float
    force: float
    deviation: float
    along: float
    reason: str


def tried(setting: Setting) -> Outcome:
    """Approach, press with the wanted force, and draw a circle where there is friction."""
    cell = Cell(setting).run(0.3).engage().run(3.5)
    forces = cell.forces
    if not (forces > 0.0).any():
        return Outcome(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, cell.supervisor.reason or "never touched")
    touch = int(np.argmax(forces > 0.0))
    speed = -float(np.mean(cell.speeds[max(touch - 20, 0) : touch - 1]))
    expected = speed * float(np.sqrt(setting.around.stiffness * cell.effective_mass))
    at_rest = forces[-500:]
    along = 0.0
    if setting.around.friction and cell.supervisor.mode == "press":
        begin = len(cell.seen)
        cell.move(*circle_points(0.04, 3.0)).run(3.5)
        along = float(cell.errors[begin:].max())
    wanted = setting.force
    return Outcome(
        speed, float(forces[touch : touch + 50].max()), expected, float(at_rest.mean()),
        float(np.abs(at_rest - wanted).max()), along, cell.supervisor.reason,
    )  # fmt: skip


def circle_points(radius: float, seconds: float, points: int = 40) -> list[tuple[float, float, float]]:
    """Of a circle that begins and ends at rest, 0.2 s from now on."""
    found = []
    for k in range(points + 1):
        s = k / points
        angle = 2.0 * np.pi * (10 * s**3 - 15 * s**4 + 6 * s**5)
        x, y = radius * (1.0 - np.cos(angle)), radius * np.sin(angle)
        found.append((0.2 + seconds * s, float(x), float(y)))
    return found


def grid(
    arms: Sequence[str],
    stiffnesses: Sequence[float],
    lags: Sequence[float],
    delays: Sequence[float],
    *,
    seed: int = 0,
    most: int | None = None,
) -> None:
    """Print a table of both laws with the node's gains on all of these, or on `most` of them, in the order of a seed.

    lags: Hz, 0: none. delays: s, of sensors.
    """
    print("| arm | law | stiffness [N/m] | actuators [Hz] | sensors late [ms] | speed [mm/s] | blow [N] | v sqrt(k m) "
          "[N] | force at rest [N] | off by [N] | along, friction 0.3 [mm] | |")  # fmt: skip
    print("|---" * 12 + "|")
    combinations = list(product(arms, LAWS, stiffnesses, lags, delays))
    random.Random(seed).shuffle(combinations)  # a run that is ended early is a sample of all
    for arm, law, stiffness, lag, delay in combinations[:most]:
        around = Surroundings(
            stiffness=stiffness, bandwidth=lag, sensor_delay=delay, state_delay=delay, friction=0.3
        )  # fmt: skip
        of = tried(Setting(arm=arm, law=law, around=around))  # type: ignore[arg-type]
        print(f"| {arm} | {law} | {stiffness:g} | {lag:g} | {1e3 * delay:g} | {1e3 * of.speed:.2f} | {of.blow:.1f} | "
              f"{of.expected:.1f} | {of.force:.2f} | {of.deviation:.2f} | {1e3 * of.along:.2f} | {of.reason} |",
              flush=True)  # fmt: skip
