# SPDX-License-Identifier: Apache-2.0
"""A spherical pendulum as a particle that is held on a sphere.

Source 001 (chapter 4): with q in R^3, M = m 1 and q^T q = r^2 the projection of forces on the tangent plane is
P_w = 1 - q q^T / r^2, and what keeps the particle on the sphere is the centrifugal force m |qd|^2 / r and what
gravity has along the normal. The particle moves as the pendulum in two angles does. (One element of the
printed P_w, -yz in its second row, should be -yx.)
"""

from __future__ import annotations

import numpy as np
import spherical_pendulum
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import Motion, roll_out

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, Sphere, SurfaceConstraint
from rbd_dynamics.joints import Prismatic

Array = NDArray[np.float64]

MASS, RADIUS, GRAVITY = spherical_pendulum.MASS, spherical_pendulum.LENGTH, spherical_pendulum.GRAVITY
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def particle() -> rbd.Robot:
    """A point with q = (x, y, z)."""
    builder = rbd.ModelBuilder("particle", gravity=(0.0, 0.0, -GRAVITY))
    parent = None
    for name, axis in AXES.items():
        mass = {"mass": MASS} if name == "z" else {}
        builder.add_body(f"moved_{name}", parent, Prismatic(axis), joint_name=name, **mass)
        parent = f"moved_{name}"
    return rbd.Robot(builder.build())


def sphere(robot: rbd.Robot) -> ConstraintSet:
    """The particle on a sphere about the origin."""
    return ConstraintSet(robot.model, [SurfaceConstraint("sphere", "moved_z", surface=Sphere(RADIUS))])


def printed_projection(q: Array) -> Array:
    """P_w (3, 3) = 1 - q q^T / r^2."""
    return np.asarray(np.eye(3) - np.outer(q, q) / RADIUS**2)


def normal_force(q: Array, v: Array) -> Array:
    """What the sphere exerts outwards (N,), for states (N, 3): -m |v|^2 / r + m g z / r."""
    return np.asarray(MASS / RADIUS * (GRAVITY * q[..., 2] - (v * v).sum(axis=-1)))


def same_start(theta: float, phid: float) -> tuple[Array, Array]:
    """(q, v) of the pendulum at phi = 0 with thetad = 0."""
    return (
        RADIUS * np.array([np.sin(theta), 0.0, -np.cos(theta)]),
        RADIUS * np.array([0.0, np.sin(theta) * phid, 0.0]),
    )


def both(theta: float, phid: float, duration: float, steps: int) -> tuple[Motion, Motion]:
    """The particle's motion, and the pendulum's in two angles."""
    robot = particle()
    motion = roll_out(robot, *same_start(theta, phid), duration, steps, constraints=sphere(robot))
    pendulum = roll_out(spherical_pendulum.in_angles(), [0.0, theta], [phid, 0.0], duration, steps)
    return motion, pendulum


def main() -> None:
    path = output_path("constrained_particle", __doc__)
    robot = particle()
    motion, pendulum = both(np.radians(70.0), 2.0, 8.0, 8000)
    bob = RADIUS * spherical_pendulum.direction(pendulum.q)
    projection, rank = robot.force_projection(motion.q[10], sphere(robot))
    found = robot.constrained_forward_dynamics(motion.q, motion.v, np.zeros(3), sphere(robot)).multipliers[:, 0]
    print(
        f"P_w against 1 - q q^T / r^2: {np.abs(projection - printed_projection(motion.q[10])).max():.1e}, rank {rank:g}"
    )
    print(f"particle and pendulum in two angles, largest distance: {np.abs(motion.q - bob).max():.1e} m")
    print(f"multiplier against the normal force: {np.abs(found - normal_force(motion.q, motion.v)).max():.1e} N")
    height = np.linalg.norm(motion.q, axis=1) - RADIUS
    print(f"drift from the sphere in {motion.times[-1]:g} s, not stabilised: {np.abs(height).max():.1e} m")

    figure = new_figure(11, 4.0)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
    left.plot(*motion.q[:, :2].T, color="tab:blue", label="particle")
    left.plot(*bob[::100, :2].T, "o", ms=3, color="tab:orange", label="two angles")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="from above", ylim=(-0.5, 0.65))
    left.legend(fontsize=8, loc="upper center", ncols=2)
    right.plot(motion.times, -found, label="multiplier, inwards")
    right.plot(motion.times[::100], -normal_force(motion.q, motion.v)[::100], "k.", ms=4, label="m (|v|² - g z) / r")
    right.set(xlabel="time [s]", ylabel="force [N]", title="force that keeps it on the sphere")
    right.grid(alpha=0.3)
    right.legend(fontsize=8, loc="upper right")
    right.margins(y=0.25)
    save(figure, path)


if __name__ == "__main__":
    main()
