# SPDX-License-Identifier: Apache-2.0
"""Piston and crank: the loop is closed by the force at the wrist pin.

Source 003 cuts the mechanism at the piston, ignores the contact, and finds the contact force that brings the
accelerations together. With crank r and rod l the piston is at x = r cos(q) + sqrt(l^2 - r^2 sin(q)^2), which gives its
speed and acceleration at any crank angle; the force at the pin is what accelerates the piston.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import roll_out

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.joints import Prismatic, Revolute

Array = NDArray[np.float64]

CRANK, ROD = 0.05, 0.16  # m
MASSES = {"crank": 0.8, "rod": 0.5, "piston": 0.4}  # kg
AXIS = (0.0, 0.0, 1.0)


def engine() -> rbd.Robot:
    """q = (crank angle, rod angle relative to it, piston position); no gravity."""
    builder = rbd.ModelBuilder("engine", gravity=(0.0, 0.0, 0.0))
    for name, length, parent, at in (("crank", CRANK, None, 0.0), ("rod", ROD, "crank", CRANK)):
        inertia = MASSES[name] * length**2 / 12 * np.diag([0.0, 1.0, 1.0])
        builder.add_body(
            name, parent, Revolute(AXIS), placement=(at, 0.0, 0.0),
            mass=MASSES[name], com=(length / 2, 0.0, 0.0), inertia=inertia,
        )  # fmt: skip
    builder.add_frame("pin", "rod", placement=(ROD, 0.0, 0.0))
    builder.add_body("piston", None, Prismatic((1.0, 0.0, 0.0)), mass=MASSES["piston"])
    return rbd.Robot(builder.build())


def closed(robot: rbd.Robot) -> ConstraintSet:
    """The rod's end at the piston."""
    return ConstraintSet(robot.model, [FrameConstraint("pin", "pin", "piston", directions=("x", "y"))])


def piston(angle: Array, speed: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of the piston at constant speed of the crank."""
    s, c = np.sin(angle), np.cos(angle)
    root = np.sqrt(ROD**2 - (CRANK * s) ** 2)
    x = CRANK * c + root
    first = -CRANK * s - CRANK**2 * s * c / root  # by the angle
    second = -CRANK * c - CRANK**2 * (c * c - s * s) / root - CRANK**4 * (s * c) ** 2 / root**3
    return x, first * speed, second * speed**2


def configuration(angle: float, speed: float) -> tuple[Array, Array]:
    """(q, v) (3) of the closed mechanism."""
    lean = np.arcsin(-CRANK * np.sin(angle) / ROD)  # of the rod, from the axis
    turning = -CRANK * np.cos(angle) * speed / (ROD * np.cos(lean))
    x, xd, _ = piston(np.asarray(angle), speed)
    return np.array([angle, lean - angle, float(x)]), np.array([speed, turning - speed, float(xd)])


def at_constant_speed(robot: rbd.Robot, angle: float, speed: float) -> tuple[Array, Array, float]:
    """(a (3), force on the piston (2), crank torque) while the crank is driven at constant speed."""
    q, v = configuration(angle, speed)
    found = robot.constrained_hybrid_dynamics(
        q, v, np.zeros(3), np.zeros(3), np.array([True, False, False]), closed(robot)
    )
    return found.a, -found.multipliers, float(found.tau[0])


def main() -> None:
    path = output_path("piston_and_crank", __doc__)
    robot, speed = engine(), 2 * np.pi * 50.0
    angles = np.linspace(0.0, 2 * np.pi, 361)
    answers = [at_constant_speed(robot, angle, speed) for angle in angles]
    acceleration = np.array([a[2] for a, _, _ in answers])
    force = np.array([f for _, f, _ in answers])
    torque = np.array([t for _, _, t in answers])
    _, _, known = piston(angles, speed)
    print(f"piston's acceleration against the closed form: {np.abs(acceleration / known - 1).max():.1e} relative")
    off = np.abs(force[:, 0] - MASSES["piston"] * known).max() / np.abs(force).max()
    print(f"force along the cylinder against m a: {off:.1e} relative")
    q, v = configuration(0.3, 100.0)
    free = roll_out(robot, q, v, 0.2, 4000, constraints=closed(robot))
    energy = robot.kinetic_energy(free.q, free.v)
    print(f"free running: energy constant to {np.ptp(energy) / energy[0]:.1e}, closure to "
          f"{np.abs(robot.constraint_rows(free.q, free.v, closed(robot)).h).max():.1e} m")  # fmt: skip

    figure = new_figure(11, 4.0)
    panels = figure.subplots(1, 3)
    degrees = np.degrees(angles)
    panels[0].plot(degrees, acceleration, label="library")
    panels[0].plot(degrees[::15], known[::15], "k.", label="closed form")
    panels[0].set(ylabel="m/s²", title="acceleration of the piston")
    panels[0].legend(fontsize=8)
    panels[1].plot(degrees, force[:, 0], label="along the cylinder")
    panels[1].plot(degrees, force[:, 1], label="on its wall")
    panels[1].set(ylabel="N", title="force of the rod on the piston")
    panels[1].legend(fontsize=8)
    panels[2].plot(degrees, torque)
    panels[2].set(ylabel="N m", title="torque at the crank")
    for axes in panels:
        axes.set(xlabel="crank angle [degrees]", xticks=range(0, 361, 90))
        axes.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
