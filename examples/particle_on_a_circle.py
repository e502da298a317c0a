# SPDX-License-Identifier: Apache-2.0
"""A particle on a rod in a vertical plane: the tension is a Lagrange multiplier.

Source 001 (chapter 4): with the constraint x^2 + y^2 = l^2 the tension is printed as m (g y + v^2) / l,
y upwards. The sum of forces along the rod gives m (v^2 - g y) / l: at rest at the lowest point,
y = -l, that is the weight, while the printed formula has minus the weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import roll_out

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, DistanceConstraint
from rbd_dynamics.joints import Prismatic

Array = NDArray[np.float64]

MASS, LENGTH, GRAVITY = 0.5, 0.7, 9.81  # kg, m, m/s^2


def particle() -> rbd.Robot:
    """A point that moves freely in the plane; q = (x, y), y upwards."""
    builder = rbd.ModelBuilder("particle", gravity=(0.0, -GRAVITY, 0.0))
    builder.add_body("across", None, Prismatic((1.0, 0.0, 0.0)), joint_name="x")
    builder.add_body("bob", "across", Prismatic((0.0, 1.0, 0.0)), joint_name="y", mass=MASS)
    return rbd.Robot(builder.build())


def string(robot: rbd.Robot) -> ConstraintSet:
    """The distance from the origin."""
    return ConstraintSet(robot.model, [DistanceConstraint("string", "bob", distance=LENGTH)])


def tension(robot: rbd.Robot, q: Array, v: Array) -> Array:
    """Of the string (N,), by the multiplier, for states (N, 2)."""
    found = robot.constrained_forward_dynamics(q, v, np.zeros(2), string(robot))
    return np.asarray(-found.multipliers[..., 0])  # the multiplier pushes apart


def by_forces(q: Array, v: Array) -> Array:
    """m (v^2 - g y) / l."""
    return np.asarray(MASS / LENGTH * ((v * v).sum(axis=-1) - GRAVITY * q[..., 1]))


def printed(q: Array, v: Array) -> Array:
    """m (v^2 + g y) / l, with the slip."""
    return np.asarray(MASS / LENGTH * ((v * v).sum(axis=-1) + GRAVITY * q[..., 1]))


def main() -> None:
    path = output_path("particle_on_a_circle", __doc__)
    robot = particle()
    motion = roll_out(robot, [0.0, -LENGTH], [6.0, 0.0], 2.5, 5000, constraints=string(robot))
    found = tension(robot, motion.q, motion.v)
    print(f"tension against the sum of forces: {np.abs(found - by_forces(motion.q, motion.v)).max():.1e} N")
    print(f"against the printed formula: {np.abs(found - printed(motion.q, motion.v)).max():.1f} N")
    print(f"drift of the length in {motion.times[-1]:g} s: {np.ptp(np.hypot(*motion.q.T)):.1e} m")

    figure = new_figure(10, 4.0)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
    dots = left.scatter(*motion.q.T, c=found, s=4, cmap="viridis")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="path")
    figure.colorbar(dots, ax=left, label="tension [N]", shrink=0.8)
    right.plot(motion.times, found, label="multiplier", lw=2)
    right.plot(motion.times, by_forces(motion.q, motion.v), "k:", label="m (v² - g y) / l")
    right.plot(motion.times, printed(motion.q, motion.v), color="tab:red", lw=1, label="as printed")
    right.set(xlabel="time [s]", ylabel="tension [N]", title="tension of the string")
    right.legend(fontsize=8, loc="upper right")
    right.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
