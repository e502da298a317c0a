# SPDX-License-Identifier: Apache-2.0
"""A case in space: where the arm begins, what there is to touch, and what the node is told of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from campaigns.pressing.arms import ARMS, model_of
from campaigns.pressing.cases import Case
from campaigns.pressing.plant import BALL, PressedArm
from campaigns.pressing.surfaces import Surface, Vector
from rbd_dynamics.nodes.interface.hybrid_controller import HybridControllerParameters

Array = NDArray[np.float64]

DAMPING_RATIO = 0.05  # of contacts


class Freed(NamedTuple):
    """What friction that lets go makes of an arm, for each 1 N s, along the worst direction of a surface: joint speeds
    (joints) and the speed of the tool's point, m/s."""

    joints: Array
    tool: float

    @classmethod
    def of(cls, plant: PressedArm, normal: Array) -> Freed:
        """Of a surface with that outward normal, where the ball touches it."""
        moving, turning = np.split(plant.whole_jacobian(), 2)
        touching = moving + np.cross(turning.T, -BALL * normal).T
        along = np.linalg.svd(normal.reshape(1, 3))[2][1:]
        answers = plant.solve((along @ touching).T)
        return cls(np.linalg.norm(answers, axis=1), float(np.linalg.norm(moving @ answers, ord=2)))


class Scene(NamedTuple):
    """axes: of the surface as it is told, in the world; z is the normal. rows: of the task along its x and y.

    touch: the point that would be touched first. mass, wall_mass: kg, effective, along the normal and along x. thrown,
    wall_thrown: how fast the tool is after a blow along these, for each 1 m/s before it: it is thrown aside as well;
    joints_thrown: likewise, joints (joints) at the wall.
    freed, wall_freed: what friction does that lets go.
    """

    plant: PressedArm
    params: HybridControllerParameters
    axes: Array
    touch: Array
    told: Surface
    mass: float
    wall_mass: float
    thrown: float
    wall_thrown: float
    joints_thrown: Array
    freed: Freed
    wall_freed: Freed


def scene_of(case: Case) -> Scene:
    """With the arm at rest."""
    arm, model = ARMS[case.arm], model_of(case.arm)
    efforts = np.array([joint.limits.effort for joint in model.joints])
    point = [0.0, 0.0, 0.0]
    point[arm.axis] = case.reach
    hardest = max(
        case.stiffness,
        0.0 if case.wall is None else case.wall_stiffness,
        0.0 if case.beyond is None else case.beyond[1],
    )
    step = 2e-4 if hardest <= 2e5 else 1e-4 if hardest <= 2e6 else 5e-5
    plant = PressedArm(
        arm, model.joint_names, efforts, (point[0], point[1], point[2]), case.imperfect, step=step,
        seed=1000 * case.seed + case.number,
    )  # fmt: skip
    plant.reset(np.array(case.q))
    axes = _axes(plant.rotation, arm.axis, case.leaning)
    normal = axes[:, 2]
    touch = plant.position - (BALL + case.height) * normal
    mass, wall_mass = plant.effective_mass(normal), plant.effective_mass(axes[:, 0])
    thrown = tuple(_thrown(plant, each) for each in (normal, axes[:, 0]))
    joints_thrown = 2.0 * wall_mass * np.abs(plant.solve(axes[:, 0] @ plant.jacobian()))
    freed = tuple(Freed.of(plant, each) for each in (normal, -axes[:, 0]))
    about = math.cos(case.tilted_about) * axes[:, 0] + math.sin(case.tilted_about) * axes[:, 1]
    real = Rotation.from_rotvec(case.tilt * about).as_matrix() @ axes
    plant.touch(*_surfaces(case, real, axes, touch, mass, wall_mass))
    plant.reset(np.array(case.q))
    told = _surface(replace(case, edge=None), axes, touch, mass)
    params = _params(case, plant.rotation, axes, touch, point)
    return Scene(plant, params, axes, touch, told, mass, wall_mass, *thrown, joints_thrown, *freed)


def _thrown(plant: PressedArm, direction: Array) -> float:
    """Speed of the tool after an elastic blow along a direction of the world, of what it was."""
    return float(np.linalg.norm(2.0 * plant.effective_mass(direction) * plant.mobility(direction) - direction))


def _axes(tool: Array, axis: int, leaning: tuple[float, float]) -> Array:
    """Of a surface whose normal leans from the direction against the tool's axis; x is level, as far as that goes."""
    against, side = -tool[:, axis], tool[:, (axis + 1) % 3]
    other = np.cross(against, side)
    about = math.cos(leaning[1]) * side + math.sin(leaning[1]) * other
    normal = Rotation.from_rotvec(leaning[0] * about).apply(against)
    x = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x -= (x @ normal) * normal
    x /= np.linalg.norm(x)
    turned = Rotation.from_rotvec(leaning[1] * normal).apply(x)  # any heading
    return np.column_stack([turned, np.cross(normal, turned), normal])


def _vector(a: Array) -> Vector:
    x, y, z = (float(each) for each in a)
    return x, y, z


def _surface(case: Case, axes: Array, touch: Array, mass: float) -> Surface:
    normal, round_ = axes[:, 2], case.shape in ("sphere", "pipe")
    return Surface(
        case.shape if round_ else "plane", _vector(touch - case.radius * normal if round_ else touch), _vector(normal),
        along=_vector(axes[:, 1] if case.shape == "pipe" else axes[:, 0]), radius=case.radius,
        length=math.inf if case.edge is None else case.edge, stiffness=case.stiffness,
        damping=2.0 * DAMPING_RATIO * math.sqrt(case.stiffness * mass), friction=case.friction,
        swing=case.swing, speed=case.surface_speed, beyond=case.beyond,
    )  # fmt: skip


def _surfaces(
    case: Case, real: Array, axes: Array, touch: Array, mass: float, wall_mass: float
) -> list[Surface]:  # fmt: skip
    found = [_surface(case, real, touch, mass)]
    if case.wall is not None:
        damping = 2.0 * DAMPING_RATIO * math.sqrt(case.wall_stiffness * wall_mass)
        at = touch + (case.wall + BALL) * axes[:, 0]
        found.append(
            Surface("plane", _vector(at), _vector(-axes[:, 0]), stiffness=case.wall_stiffness, damping=damping,
                    friction=case.friction)
        )  # fmt: skip
    return found


def _params(case: Case, tool: Array, axes: Array, touch: Array, point: list[float]) -> HybridControllerParameters:
    """The tool's axes are the task frame's where it begins."""
    turned, place = axes, touch
    given: dict[str, Any] = {}
    if case.shape == "sphere":
        place = touch - case.radius * axes[:, 2]
        given = {"surface": "sphere", "surface_radius": case.radius}
    elif case.shape == "pipe":  # its z axis is the pipe's
        place = touch - case.radius * axes[:, 2]
        turned = np.column_stack([axes[:, 0], -axes[:, 2], axes[:, 1]])
        given = {"surface": "cylinder", "surface_radius": case.radius, "controlled": ("rx", "ry", "rz", "x", "z")}
    given |= {
        "tool_frame": ARMS[case.arm].tool,
        "tool_position": tuple(point),
        "tool_orientation": _rpy(tool.T @ turned),
        "task_position": tuple(float(x) for x in place),
        "task_orientation": _rpy(turned),
        "contact_offset": BALL,
        "desired_force": (case.force,),
        "largest_force": case.largest,
        "approach_speed": case.approach,
    }
    return HybridControllerParameters.of(given | case.params)


def _rpy(R: Array) -> tuple[float, float, float]:
    x, y, z = (float(each) for each in Rotation.from_matrix(R).as_euler("xyz"))
    return x, y, z
