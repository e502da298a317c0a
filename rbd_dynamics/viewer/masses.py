# SPDX-License-Identifier: Apache-2.0
"""What the page has to know of a robot's masses: to compute gravity torques, and to draw ellipsoids of inertia."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbd_dynamics.model.joints.base import UNLIMITED
from rbd_dynamics.model.model import WORLD, Joint, Model
from rbd_dynamics.spatial.inertia import RigidInertia

TURN = math.pi  # rad, of a slider of an angle without limits; one of a length goes as far as the robot reaches
#: of the robot's weight at its reach: less than this a bar without an effort limit does not have at its end
LEAST = 0.05
EARTH = 9.81  # m/s^2, for the weight of a robot without gravity


def masses_of(model: Model) -> dict[str, Any]:
    """Data for `Gravity` of gravity.js: mass (kg), first moment (kg m) of each body in its frame; gravity (m/s^2)."""
    return {
        "gravity": [float(x) for x in model.gravity],
        "bodies": [_mass(body.inertia) for body in model.bodies],
        "fixed": _mass(model.fixed_inertia),
    }


def sliders_of(model: Model, movable: Mapping[str, float]) -> list[dict[str, Any]]:
    """One for each joint that the page can move. movable: {joint: where it stands}."""
    reach = reach_of(model)
    weight = model.mass * (math.hypot(*model.gravity) or EARTH)
    return [_slider(joint, movable[joint.name], reach, weight) for joint in model.joints if joint.name in movable]


def reach_of(model: Model) -> float:
    """How far a body's origin or centre of mass is from its root along the links, at most, m; 1 where nothing is."""
    ways: list[float] = []
    farthest = 0.0
    for body in model.bodies:
        before = 0.0 if body.parent == WORLD else ways[body.parent] + math.hypot(*body.placement.p)
        ways.append(before)
        mass = body.inertia.mass
        farthest = max(farthest, before, before + (math.hypot(*body.inertia.moment) / mass if mass > 0.0 else 0.0))
    return farthest or 1.0


def ellipsoids_of(model: Model) -> list[dict[str, Any]]:
    """Marks for `RobotView`: of each body the ellipsoid of even density that has its mass and inertia."""
    inertias = [(WORLD, model.fixed_inertia), *((k, body.inertia) for k, body in enumerate(model.bodies))]
    return [_ellipsoid(index, inertia) for index, inertia in inertias if inertia.mass > 0.0]


def _mass(inertia: RigidInertia) -> dict[str, Any]:
    mass, *moment = (float(x) for x in inertia.parameters[:4])
    return {"mass": mass, "moment": moment}


def _slider(joint: Joint, position: float, reach: float, weight: float) -> dict[str, Any]:
    limits, angle = joint.limits, joint.kind.is_angle
    span = TURN if angle else reach
    low, high = (
        limit if math.isfinite(limit) and abs(limit) < UNLIMITED else other
        for limit, other in ((limits.lower, -span), (limits.upper, span))
    )
    effort = limits.effort if math.isfinite(limits.effort) and limits.effort > 0.0 else None
    return {
        "name": joint.name,
        "low": min(low, high, position),
        "high": max(low, high, position),
        "position": position,
        "effort": effort,
        "least": LEAST * weight * (reach if angle else 1.0),
        "unit": "rad" if angle else "m",
        "torque_unit": "N m" if angle else "N",
    }


def _ellipsoid(body: int, inertia: RigidInertia) -> dict[str, Any]:
    """Semi-axes a with I_1 = m (a_2^2 + a_3^2) / 5 and so on; those of impossible inertias are cut off at zero."""
    mass, *numbers = (float(x) for x in inertia.parameters)
    com = np.array(numbers[:3]) / mass
    xx, xy, xz, yy, yz, zz = numbers[3:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_com = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
    moments, axes = np.linalg.eigh(about_com)
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    size = np.sqrt(np.maximum(squares, 1e-10))
    return {
        "kind": "ellipsoid",
        "body": body,
        "at": np.column_stack([axes, com]).ravel().tolist(),
        "size": size.tolist(),
    }
