# SPDX-License-Identifier: Apache-2.0
"""What the page needs to move a robot by its dynamics: kernels in WebAssembly, joints, points that touch the floor."""

from __future__ import annotations

import itertools
import math
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.kinematics import body_poses
from rbd_dynamics.compiler.precision import DOUBLE
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.object_files import object_files
from rbd_dynamics.export.selection import selected
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Floating, Helical, Planar, Prismatic, Revolute, Screw, Spherical
from rbd_dynamics.model.joints.base import UNLIMITED
from rbd_dynamics.model.model import WORLD, Body, Joint, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.scene.scene import matrix_rows
from rbd_dynamics.viewer.masses import EARTH, reach_of

Array = NDArray[np.float64]
SINGLE = (Revolute, Prismatic, Helical, Screw)
GROUPS: dict[type, str] = {Planar: "planar", Spherical: "spherical", Floating: "floating"}
#: N m or N, of joints without a limit
STRONG = 1e6
#: m above the floor at which a free robot begins
DROP = 0.05
#: m below its lowest point at which a robot on a base has the floor, where that is not the ground
BELOW = 0.02
#: directions in which a mesh is felt: those of a cube's lattice
WAYS = np.array([way for way in itertools.product((-2, -1, 0, 1, 2), repeat=3) if math.gcd(*way) == 1], dtype=float)
AROUND = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)  # points on the rim of a cylinder


def kernels_of(model: Model) -> tuple[str, str]:
    """The mass matrix and the bias as WebAssembly in base 64, and the script whose `load` takes its bytes."""
    robot = Robot(model)
    exported = Exported(robot, "robot", selected(robot, ("mass_matrix", "bias")), DOUBLE)
    files = object_files(exported, "wasm32")
    code, script = files["wasm32/robot.wasm"], files["wasm32/robot.mjs"]
    assert isinstance(code, bytes) and isinstance(script, str)
    script = script.replace("export async", "async")
    return b64encode(code).decode("ascii"), f"const load = (() => {{\n{script}\nreturn load;\n}})();\n"


def physics_of(model: Model, q: Array, touching: dict[str, Any]) -> dict[str, Any]:
    """Data for `Physics` of physics.js.

    touching: the content of a scene of the collision elements. Raises ModelError for a robot that the page cannot
    simulate.
    """
    if model.loops:
        raise ModelError(f"loop {model.loops[0].name!r}: a robot with closed loops cannot be simulated in a page")
    if not model.nv:
        raise ModelError(f"robot {model.name!r} has no joint that moves: nothing to simulate")
    joints = [_joint(model, joint) for joint in model.joints]
    points = _points(touching)
    lowest = _lowest(model, q, points)
    free = any(isinstance(joint.kind, Floating) for joint in model.joints)
    weight = model.mass * (math.hypot(*model.gravity) or EARTH)
    floor = lowest - DROP if free else min(0.0, lowest - BELOW)
    return {
        "nv": model.nv,
        "q": q.tolist(),
        "joints": joints,
        "moves": [_moves(body) for body in model.bodies],
        "damping": [value for joint in model.joints for value in [joint.damping] * joint.kind.nv],
        "points": [{"body": body, "at": at.ravel().round(6).tolist()} for body, at in points.items()],
        "floor": floor if math.isfinite(floor) else 0.0,
        "weight": weight,
        "carried": weight * reach_of(model) if free else 0.0,
    }


def _joint(model: Model, joint: Joint) -> dict[str, Any]:
    kind = joint.kind
    body = next(k for k, body in enumerate(model.bodies) if body.joint.name == joint.name)
    entry: dict[str, Any] = {"name": joint.name, "q": joint.q_index, "v": joint.v_index, "body": body}
    if isinstance(kind, SINGLE):
        low, high = (x if abs(x) < UNLIMITED else None for x in (joint.limits.lower, joint.limits.upper))
        effort = joint.limits.effort
        return {
            **entry,
            "kind": "single",
            "low": low,
            "high": high,
            "effort": effort if 0.0 < effort < STRONG else STRONG,
            "friction": joint.friction,
        }
    name = next((name for group, name in GROUPS.items() if isinstance(kind, group)), None)
    if name is None:
        raise ModelError(f"joint {joint.name!r} is of kind {kind.name!r}, which the page cannot simulate")
    directions = [*kind.directions, kind.axis] if isinstance(kind, Planar) else []
    return {**entry, "kind": name, "placement": matrix_rows(model.bodies[body].placement), "directions": directions}


def _moves(body: Body) -> dict[str, Any]:
    """Twists of a body in its frame as the coordinates of its joint move by one: constant for these kinds."""
    joint, factor = body.joint, 1.0 if body.joint.mimic is None else body.joint.mimic.multiplier
    columns = joint.kind.columns(joint.kind.neutral().tolist())
    return {"first": joint.v_index, "columns": [[factor * float(x) for x in column] for column in columns]}


def _points(touching: dict[str, Any]) -> dict[int, Array]:
    """Points and the radii of balls about them (n, 4), m, which reach as far down as the shapes of each body do."""
    found: dict[int, list[Array]] = {}
    for shape in touching["shapes"]:
        if shape["body"] == WORLD:
            continue
        own = _felt(shape, touching["meshes"])
        at = np.reshape(shape["at"], (3, 4))
        found.setdefault(shape["body"], []).append(np.column_stack([own[:, :3] @ at[:, :3].T + at[:, 3], own[:, 3]]))
    return {body: np.concatenate(parts) for body, parts in found.items()}


def _felt(shape: dict[str, Any], meshes: list[dict[str, Any]]) -> Array:
    kind, size = shape["kind"], shape["size"]
    radius = 0.0
    if kind == "mesh":
        mesh = meshes[shape["mesh"]]
        steps = np.frombuffer(b64decode(mesh["points"]), "<u2").reshape(-1, 3)
        corners = (np.array(mesh["low"]) + steps * np.array(mesh["step"])) * size
        points = corners[np.unique(np.argmax(corners @ WAYS.T, axis=0))]
    elif kind == "box":
        points = 0.5 * np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * size
    elif kind == "ellipsoid":
        ways = WAYS * size
        points = WAYS * np.square(size) / np.linalg.norm(ways, axis=1)[:, None]
    elif kind in ("sphere", "capsule"):
        radius = size[0]
        ends = [0.0] if kind == "sphere" else [-0.5 * size[1], 0.5 * size[1]]
        points = np.array([[0.0, 0.0, end] for end in ends])
    else:  # a cylinder, or a cone with its tip up
        rim = np.column_stack(
            [size[0] * np.cos(AROUND), size[0] * np.sin(AROUND), np.full(len(AROUND), -0.5 * size[1])]
        )
        points = np.concatenate([rim, [[0.0, 0.0, 0.5 * size[1]]] if kind == "cone" else rim * (1.0, 1.0, -1.0)])
    return np.column_stack([points, np.full(len(points), radius)])


def _lowest(model: Model, q: Array, points: dict[int, Array]) -> float:
    """Height of the lowest point of all moving bodies, m; infinite without any."""
    poses = body_poses(model, q.tolist())
    heights = [
        at[:, :3] @ np.reshape(poses[k].rotation, (3, 3))[2] + poses[k].p[2] - at[:, 3] for k, at in points.items()
    ]
    return min((float(height.min()) for height in heights), default=math.inf)
