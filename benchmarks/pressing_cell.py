# SPDX-License-Identifier: Apache-2.0
"""An arm of example-robot-data, the supervisor of `rbd_dynamics.control` and a surface that gives, in one loop."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from benchmarks.compliant_plant import CompliantPlant, Surroundings
from rbd_dynamics.control.desired_motion import DesiredMotion
from rbd_dynamics.control.hybrid_law import Law
from rbd_dynamics.control.hybrid_limits import HybridLimits
from rbd_dynamics.control.hybrid_normal import NormalEstimator
from rbd_dynamics.control.hybrid_position_force import HybridController, HybridGains
from rbd_dynamics.control.hybrid_supervisor import HybridSupervisor
from rbd_dynamics.control.hybrid_task import HybridTask
from rbd_dynamics.control.trajectory import Point, Waypoints
from rbd_dynamics.example_robots import robots

Array = NDArray[np.float64]

BALL = 0.01  # m
MS = 1_000_000  # ns
DEFAULTS = HybridGains(ki=5.0, normal_damping=30.0, task_ki=20.0)  # what the node has
ROWS = ("rx", "ry", "rz", "x", "y")


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
    """believed: kg that the controller's model has too much at the tool (negative: too little)."""

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
        upright = pose[:3, :3].T  # the tool's axes are the world's where it starts
        task = HybridTask(
            arm.tool, tool_orientation=_rpy(upright), task_position=tuple(point), contact_offset=BALL, controlled=ROWS
        )
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
        measured = np.array([self._normal_of(q) @ force])
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
        gap = float((after - plant.point) @ plant.normal) - BALL
        self.seen.append((plant.normal_force, gap, float((after - before)[2] / 1e-3), float(np.hypot(*error[3:]))))
        self.now += MS

    def _normal_of(self, q: Array) -> Array:
        placement = self.supervisor.controller.constraints["surface"].reference_placement  # type: ignore[attr-defined]
        return np.array(placement.rotation).reshape(3, 3)[:, 2]

    def run(self, seconds: float) -> Cell:
        for _ in range(round(1000 * seconds)):
            self.step()
        return self

    def engage(self) -> Cell:
        q, _, force = self.plant.read()
        self.supervisor.engage(self.now, np.array([self._normal_of(q) @ force]), self.now)
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
