# SPDX-License-Identifier: Apache-2.0
"""Contact of two smooth surfaces: how the touching points move (001 section 5; Montana 1988).

A surface is described by two coordinates a = (u, v) with orthogonal coordinate lines, and by three forms at each
point: metric M, curvature K and torsion T, in the Gauss frame whose x and y axes run along the coordinate
lines and whose z axis is the outward normal. Two bodies o and f touch at a_o and a_f with opposite normals; psi is
the angle from the x axis of f's frame to that of o's. With V = (w, v) the twist of f's contact frame relative to
o's, in the former's axes, v_z = 0:

    a_f' = M_f^-1 (K_f + K~_o)^-1 ((-w_y, w_x) - K~_o (v_x, v_y))
    a_o' = M_o^-1 R_psi (K_f + K~_o)^-1 ((-w_y, w_x) + K_f (v_x, v_y))
    psi' = w_z + T_f M_f a_f' + T_o M_o a_o',        K~_o = R_psi K_o R_psi

Rolling without slip has v_x = v_y = 0, without spin w_z = 0 as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Geometry(NamedTuple):
    """Metric, curvature and torsion of a surface at one point."""

    point: Array  # (3,) in the body
    frame: Array  # (3, 3) columns x, y, z: the Gauss frame in the body
    metric: Array  # M (2, 2)
    curvature: Array  # K (2, 2)
    torsion: Array  # T (2,)


class ContactSurface(Protocol):
    """A surface in orthogonal coordinates."""

    def geometry(self, a: ArrayLike) -> Geometry:
        """Geometry at the coordinates a = (u, v)."""
        ...


@dataclass(frozen=True)
class ContactPlane:
    """z = 0 of the body, normal +z; a = (x, y) in m."""

    def geometry(self, a: ArrayLike) -> Geometry:
        """Geometry at (x, y)."""
        x, y = np.asarray(a, dtype=float)
        return Geometry(np.array([x, y, 0.0]), np.eye(3), np.eye(2), np.zeros((2, 2)), np.zeros(2))


@dataclass(frozen=True)
class ContactSphere:
    """A sphere about the body's origin; a = (longitude, latitude) in rad, singular at the poles. radius in m."""

    radius: float

    def geometry(self, a: ArrayLike) -> Geometry:
        """Geometry at (longitude, latitude)."""
        u, v = np.asarray(a, dtype=float)
        cu, su, cv, sv = np.cos(u), np.sin(u), np.cos(v), np.sin(v)
        normal = np.array([cv * cu, cv * su, sv])
        east, north = np.array([-su, cu, 0.0]), np.array([-sv * cu, -sv * su, cv])
        return Geometry(
            self.radius * normal,
            np.column_stack([east, north, normal]),
            np.diag([self.radius * cv, self.radius]),
            np.eye(2) / self.radius,
            np.array([sv / (self.radius * cv), 0.0]),
        )


@dataclass(frozen=True)
class ContactCylinder:
    """A cylinder about the body's z axis; a = (angle in rad, height in m). radius in m."""

    radius: float

    def geometry(self, a: ArrayLike) -> Geometry:
        """Geometry at (angle, height)."""
        u, z = np.asarray(a, dtype=float)
        normal = np.array([np.cos(u), np.sin(u), 0.0])
        around = np.array([-np.sin(u), np.cos(u), 0.0])
        return Geometry(
            self.radius * normal + [0.0, 0.0, z],
            np.column_stack([around, [0.0, 0.0, 1.0], normal]),
            np.diag([self.radius, 1.0]),
            np.diag([1.0 / self.radius, 0.0]),
            np.zeros(2),
        )


class ContactRates(NamedTuple):
    """Rates of the contact's coordinates."""

    object: Array  # a_o' (2,)
    finger: Array  # a_f' (2,)
    angle: float  # psi'


def rotation(psi: float) -> Array:
    """R_psi (2, 2), which is its own inverse: f's tangent axes seen from o's."""
    c, s = np.cos(psi), np.sin(psi)
    return np.array([[c, -s], [-s, -c]])


def contact_rates(o: Geometry, f: Geometry, psi: float, twist: ArrayLike) -> ContactRates:
    """Montana's equations for the twist (w, v) (6,) of f's contact frame relative to o's, in f's contact frame.

    Raises ArithmeticError where the two surfaces fit each other (K_f + K~_o singular): a touching line.
    """
    wx, wy, wz, vx, vy, _ = np.asarray(twist, dtype=float)
    R = rotation(psi)
    curvature = R @ o.curvature @ R
    relative = f.curvature + curvature
    if abs(np.linalg.det(relative)) < 1e-12 * max(1.0, float(np.abs(relative).max()) ** 2):
        raise ArithmeticError("the surfaces touch along a line: their relative curvature is singular")
    turning, sliding = np.array([-wy, wx]), np.array([vx, vy])
    finger = np.linalg.solve(f.metric, np.linalg.solve(relative, turning - curvature @ sliding))
    object_ = np.linalg.solve(o.metric, R @ np.linalg.solve(relative, turning + f.curvature @ sliding))
    angle = wz + f.torsion @ f.metric @ finger + o.torsion @ o.metric @ object_
    return ContactRates(np.asarray(object_, float), np.asarray(finger, float), float(angle))


def contact_pose(o: Geometry, f: Geometry, psi: float) -> Array:
    """(4, 4) pose of f in o that makes them touch at these points with this angle."""
    # f's Gauss frame in o's: tangent axes by R_psi, normals opposite
    touching = np.eye(3)
    touching[:2, :2] = rotation(psi)
    touching[2, 2] = -1.0
    pose = np.eye(4)
    pose[:3, :3] = o.frame @ touching @ f.frame.T
    pose[:3, 3] = o.point - pose[:3, :3] @ f.point
    return pose
