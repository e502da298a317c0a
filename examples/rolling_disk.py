# SPDX-License-Identifier: Apache-2.0
"""A disk that rolls on a table: upright as in the source, and leaning as a coin does.

Source 001 (chapter 4): an upright disk has q = (x, y, theta, phi), heading theta and rolling angle phi, and the
Pfaffian constraints xd = rho cos(theta) phid, yd = rho sin(theta) phid. On what they leave free the inertia is
diag(I1, I2 + m rho^2), I1 about the vertical and I2 about the axle: torques about the two act independently. (The
printed Lagrangian has thetadd^2 for thetad^2.)

A coin that may also lean is a free body with the constraint `RollingDisk`. Rolling steadily in a circle it leans by
an angle that the balance of moments gives; friction does no work, so its energy stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import Motion, roll_out
from scipy.optimize import brentq

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.constraints import ConstraintSet, PfaffianRows, RollingDisk
from rbd_dynamics.joints import Floating, Prismatic, Revolute
from rbd_dynamics.spatial.scalar import cos, sin

Array = NDArray[np.float64]

MASS, RADIUS, GRAVITY = 0.4, 0.15, 9.81  # kg, m, m/s^2
ABOUT_VERTICAL, ABOUT_AXLE = MASS * RADIUS**2 / 4, MASS * RADIUS**2 / 2  # I1, I2 of a uniform disk


def upright() -> rbd.Robot:
    """q = (x, y, theta, phi); the axle is the y axis of the heading frame."""
    builder = rbd.ModelBuilder("upright_disk", gravity=(0.0, 0.0, -GRAVITY))
    builder.add_body("a", None, Prismatic((1.0, 0.0, 0.0)), joint_name="x")
    builder.add_body("b", "a", Prismatic((0.0, 1.0, 0.0)), joint_name="y")
    builder.add_body("heading", "b", Revolute((0.0, 0.0, 1.0)), joint_name="theta")
    inertia = np.diag([ABOUT_VERTICAL, ABOUT_AXLE, ABOUT_VERTICAL])
    builder.add_body("disk", "heading", Revolute((0.0, 1.0, 0.0)), joint_name="phi", mass=MASS, inertia=inertia)
    return rbd.Robot(builder.build())


def no_slip(robot: rbd.Robot) -> ConstraintSet:
    """The source's two rows."""

    def rows(q: Array) -> list[list[object]]:
        return [[1.0, 0.0, 0.0, -RADIUS * cos(q[2])], [0.0, 1.0, 0.0, -RADIUS * sin(q[2])]]

    return ConstraintSet(robot.model, [PfaffianRows("rolling", rows, labels=("along_x", "along_y"))])


def reduced_inertia(robot: rbd.Robot, q: Array) -> Array:
    """J^T M J (2, 2) for qd = J (thetad, phid)."""
    J = np.array([[0.0, RADIUS * np.cos(q[2])], [0.0, RADIUS * np.sin(q[2])], [1.0, 0.0], [0.0, 1.0]])
    return np.asarray(J.T @ robot.mass_matrix(q) @ J)


def coin() -> rbd.Robot:
    """The same disk as a free body; its axis is the body's z."""
    builder = rbd.ModelBuilder("coin", gravity=(0.0, 0.0, -GRAVITY))
    inertia = np.diag([ABOUT_VERTICAL, ABOUT_VERTICAL, ABOUT_AXLE])
    builder.add_body("coin", None, Floating(), mass=MASS, inertia=inertia)
    return rbd.Robot(builder.build())


def rolling(robot: rbd.Robot) -> ConstraintSet:
    """The coin on the plane z = 0."""
    return ConstraintSet(robot.model, [RollingDisk("rolling", "coin", radius=RADIUS)])


def steady_lean(rate: float, circle: float) -> float:
    """Lean from the vertical [rad] with which the coin's contact goes round a circle [m] at `rate` [rad/s].

    With lean a, centre at R - r sin(a) from the middle: the moment of gravity and centrifugal force about the
    contact equals the rate of the spin: I2 w_s W cos(a) + I1 W^2 sin(a) cos(a) + ..., solved for a.
    """

    def moment(a: float) -> float:
        s, c = np.sin(a), np.cos(a)
        centre = circle - RADIUS * s  # of the coin, from the vertical through the circle's middle
        spin = rate * circle / RADIUS  # about its axis, relative to the turning frame, backwards
        axial = rate * s - spin  # whole angular velocity along the axis
        # rate of angular momentum about the tangent, and moments about the contact
        gyroscopic = ABOUT_AXLE * axial * rate * c - ABOUT_VERTICAL * rate**2 * s * c
        return float(gyroscopic - MASS * rate**2 * centre * RADIUS * c + MASS * GRAVITY * RADIUS * s)

    return float(brentq(moment, 0.0, 1.5))


def steady_start(rate: float, circle: float) -> tuple[Array, Array]:
    """(q, v) of the coin leaning inwards, its contact at (circle, 0), moving along y."""
    a = steady_lean(rate, circle)
    s, c = np.sin(a), np.cos(a)
    # axis tilted by a from the horizontal outward direction; x of the body along the motion
    z = np.array([c, 0.0, s])
    x = np.array([0.0, 1.0, 0.0])
    R = np.column_stack([x, np.cross(z, x), z])
    centre = np.array([circle - RADIUS * s, 0.0, RADIUS * c])
    w = rate * np.array([0.0, 0.0, 1.0]) - rate * circle / RADIUS * z
    velocity = np.cross([0.0, 0.0, rate], centre)
    q = np.concatenate([centre, spatial.quaternion_from_rotation(R)])
    return q, np.concatenate([R.T @ w, R.T @ velocity])


def contact_path(motion: Motion) -> Array:
    """Where the coin touches (N, 2)."""
    R = spatial.rotation_from_quaternion(motion.q[:, 3:])
    axis = R[:, :, 2]
    up = np.array([0.0, 0.0, 1.0]) - axis * axis[:, 2:]
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    return np.asarray((motion.q[:, :3] - RADIUS * up)[:, :2])


def main() -> None:
    path = output_path("rolling_disk", __doc__)
    robot = upright()
    q = np.array([0.3, 0.1, 0.8, 0.2])
    expected = np.diag([ABOUT_VERTICAL, ABOUT_AXLE + MASS * RADIUS**2])
    print(f"reduced inertia against diag(I1, I2 + m rho^2): {np.abs(reduced_inertia(robot, q) - expected).max():.1e}")
    body = coin()
    steady = roll_out(body, *steady_start(2.0, 0.5), 3.5, 3500, constraints=rolling(body))
    q, v = steady_start(2.0, 0.5)
    pushed, _, _ = body.constraint_impulse(q, v + [0.6, 0.0, 0.0, 0.0, 0.0, 0.0], rolling(body))
    wobbling = roll_out(body, q, pushed, 3.5, 3500, constraints=rolling(body))
    radius = np.hypot(*contact_path(steady).T)
    print(f"lean {np.degrees(steady_lean(2.0, 0.5)):.2f} degrees; radius of the circle between {radius.min():.9f} and "
          f"{radius.max():.9f} m")  # fmt: skip
    energy = body.kinetic_energy(wobbling.q, wobbling.v) + body.potential_energy(wobbling.q)
    print(f"change of energy: {np.ptp(energy):.1e} J")

    figure = new_figure(10, 4.2)
    left, right = figure.subplots(1, 2)
    for motion, name in ((steady, "steady"), (wobbling, "pushed over")):
        left.plot(*contact_path(motion).T, label=name)
        axis = spatial.rotation_from_quaternion(motion.q[:, 3:])[:, 2, 2]
        right.plot(motion.times, np.degrees(np.arcsin(axis)), label=name)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="path of the contact")
    right.set(xlabel="time [s]", ylabel="lean [degrees]", title="lean of a coin")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, path)


if __name__ == "__main__":
    main()
