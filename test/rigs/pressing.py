# SPDX-License-Identifier: Apache-2.0
"""A Panda presses on a table and on a sphere while its tool follows a circle: cases, with MuJoCo as the plant.

The controller of `rbd_dynamics.control.hybrid.controller` runs at 1 kHz on measured joint states and
contact force. Needs MuJoCo and example-robot-data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, Plane, Sphere, SurfaceConstraint
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.law import Law
from rbd_dynamics.simulation.perturbation import perturb_inertias
from rbd_dynamics.spatial.se3 import Transform
from rigs.mujoco_plant import MujocoPlant

Array = NDArray[np.float64]

ARM = [f"panda_joint{k}" for k in range(1, 8)]
TOOL = "panda_hand_tcp"
START = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
BALL = 0.01  # m, at the tool
RADIUS, PERIOD, TURNS = 0.08, 4.0, 2  # of the circle: m, s
FORCE, RAMP = 10.0, 0.5  # N, s
PERIOD_OF_CONTROL = 1e-3
AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
DOWN = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)  # the tool's axes in the surface's
GAINS: dict[str, HybridGains] = {
    "geometric": HybridGains(kp=900.0, kd=60.0, ki=10.0, normal_damping=30.0, posture_kp=25.0, posture_kd=10.0),
    "gauge_invariant": HybridGains(kp=30.0, kd=30.0, ki=10.0, normal_damping=30.0, posture_kp=25.0),
}


@dataclass(frozen=True)
class Case:
    """One run. wrong: largest relative error of the controller's inertias. noise: of joints in rad and rad/s, and N."""

    surface: Plane | Sphere = Plane()
    law: Law = "geometric"
    friction: float = 0.0
    wrong: float = 0.0
    noise: tuple[float, float, float] = (0.0, 0.0, 0.0)


class Press(NamedTuple):
    """What was measured, one row a control period."""

    times: Array
    path: Array  # (N, 2) of the ball, m, along the surface's x and y
    wanted: Array  # (N, 2)
    force: Array  # (N) N
    commanded: Array  # (N) N

    @property
    def settled(self) -> NDArray[np.bool_]:
        return np.asarray(self.times > 1.5)

    @property
    def tracking_error(self) -> float:
        """Largest distance from the wanted point once the motion has begun, m."""
        return float(np.linalg.norm(self.path - self.wanted, axis=1)[self.settled].max())

    @property
    def force_error(self) -> tuple[float, float]:
        """Mean and largest error relative to the wanted force, once it is reached."""
        error = np.abs(self.force - self.commanded)[self.settled] / FORCE
        return float(error.mean()), float(error.max())


class Scene(NamedTuple):
    """Robot, plant and controller of a case; the tool touches the surface at q."""

    robot: rbd.Robot
    plant: MujocoPlant
    controller: HybridController
    q: Array
    position: tuple[float, float, float]  # of the surface's frame


def scene(case: Case, seed: int = 0) -> Scene:
    """Everything at rest."""
    urdf = robots()["panda"]
    model = rbd.load_urdf(urdf, joints=ARM)
    robot = rbd.Robot(model)
    believed = rbd.Robot(perturb_inertias(model, case.wrong, seed=seed)) if case.wrong else robot
    height = robot.pose(START, TOOL)[:3, 3]
    depth = BALL + (case.surface.radius if isinstance(case.surface, Sphere) else 0.0)
    position = (float(height[0]), float(height[1]), float(height[2] - depth))

    surface = SurfaceConstraint(
        "surface", TOOL, surface=case.surface, offset=BALL, reference_placement=Transform.of(AXES, position)
    )
    tool = FrameConstraint(
        "tool", TOOL, directions=("rx", "ry", "rz", "x", "y"),
        placement=Transform.of(DOWN), reference_placement=Transform.of(AXES, position),
    )  # fmt: skip
    q = robot.project_configuration(START, ConstraintSet(model, [surface, tool]))
    controller = HybridController(
        believed, ConstraintSet(model, [surface]), ConstraintSet(model, [tool]), law=case.law, gains=GAINS[case.law]
    )
    plant = MujocoPlant(urdf, ARM, TOOL, BALL, case.surface, position, case.friction)
    plant.reset(q)
    return Scene(robot, plant, controller, q, position)


def press(case: Case, seed: int = 0) -> Press:
    """Run one case."""
    robot, plant, controller, _, position = scene(case, seed)
    rng = np.random.default_rng(seed)
    angle_noise, speed_noise, force_noise = case.noise
    steps = round((RAMP + TURNS * PERIOD) / PERIOD_OF_CONTROL)
    seen = []
    for k in range(steps):
        t = k * PERIOD_OF_CONTROL
        q, v = plant.state
        force = plant.normal_force
        theta, rate, acceleration = circle(t)
        wanted = np.array([FORCE * min(1.0, (t + 0.05) / RAMP)])
        out = controller.step(
            q + angle_noise * rng.standard_normal(7), v + speed_noise * rng.standard_normal(7),
            theta, rate=rate, acceleration=acceleration, force=wanted,
            measured=np.array([force + force_noise * rng.standard_normal()]), dt=PERIOD_OF_CONTROL, posture=START,
        )  # fmt: skip
        ball = robot.pose(q, TOOL)[:2, 3] - position[:2]
        seen.append((t, *ball, *theta[3:], force, wanted[0]))
        plant.advance(out.tau, PERIOD_OF_CONTROL)
    rows = np.array(seen)
    return Press(rows[:, 0], rows[:, 1:3], rows[:, 3:5], rows[:, 5], rows[:, 6])


def circle(t: float) -> tuple[Array, Array, Array]:
    """Task rows (rx, ry, rz, x, y) at a time, their rates and accelerations: out along x, then round.

    The angle starts with a quintic of one second, so that nothing jumps.
    """
    t = max(0.0, t - RAMP)
    speed = 2 * np.pi / PERIOD
    if t < 1.0:  # angle = speed * (t^3 - t^4 / 2) has speed and acceleration zero at 0, speed and zero at 1
        angle, first, second = speed * (t**3 - t**4 / 2), speed * (3 * t**2 - 2 * t**3), speed * 6 * (t - t**2)
    else:
        angle, first, second = speed * (t - 0.5), speed, 0.0
    c, s = np.cos(angle), np.sin(angle)
    p = RADIUS * np.array([1.0 - c, s])
    tangent = RADIUS * np.array([s, c])
    normal = RADIUS * np.array([c, -s])
    rest = np.zeros(3)
    return (
        np.concatenate([rest, p]),
        np.concatenate([rest, first * tangent]),
        np.concatenate([rest, second * tangent + first**2 * normal]),
    )


CASES: dict[str, Case] = {
    "table": Case(),
    "table, gauge-invariant law": Case(law="gauge_invariant"),
    "sphere": Case(surface=Sphere(0.3)),
    "sphere, gauge-invariant law": Case(surface=Sphere(0.3), law="gauge_invariant"),
    "table, inertias 10 % wrong": Case(wrong=0.1),
    "table, friction 0.2": Case(friction=0.2),
    "table, noise": Case(noise=(1e-5, 1e-3, 0.2)),
    "table, noise, friction 0.2, inertias 10 % wrong": Case(friction=0.2, wrong=0.1, noise=(1e-5, 1e-3, 0.2)),
    "sphere, noise, friction 0.2, inertias 10 % wrong": Case(Sphere(0.3), "geometric", 0.2, 0.1, (1e-5, 1e-3, 0.2)),
}
