# SPDX-License-Identifier: Apache-2.0
"""The planar arm with two revolute joints: mass matrix, Christoffel symbols and Coriolis matrix.

Source 001 (chapter 4), with r_i from joint i to the mass centre of link i, c2 and s2 of the elbow's angle:

    alpha = I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2),  beta = m2 l1 r2,  delta = I2 + m2 r2^2
    M = [[alpha + 2 beta c2, delta + beta c2], [delta + beta c2, delta]]
    C = [[-beta s2 thetad2, -beta s2 (thetad1 + thetad2)], [beta s2 thetad1, 0]]

The source's arm is horizontal; gravity along -y is added here. A slip of the source: the kinetic energy
has I2 (thetad1^2 + thetad2^2) / 2, which would take I2 away from M12; M is printed, rightly, for
I2 (thetad1 + thetad2)^2 / 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import roll_out

import rbd_dynamics as rbd
from rbd_dynamics.joints import Revolute
from rbd_dynamics.theory.closed_forms import christoffel_symbols

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s^2


class Arm(NamedTuple):
    """Masses [kg], mass centres r from the joints and length l1 of the first link [m], inertias [kg m^2]."""

    m1: float = 2.0
    r1: float = 0.3
    I1: float = 0.06
    l1: float = 0.7
    m2: float = 1.5
    r2: float = 0.25
    I2: float = 0.04
    l2: float = 0.6  # m, to the tip, for the picture


def model(arm: Arm, gravity: float = GRAVITY) -> rbd.Model:
    """The arm in the x-y plane, stretched along x at q = 0, gravity [m/s^2] along -y."""
    builder = rbd.ModelBuilder("planar_2r", gravity=(0.0, -gravity, 0.0))
    axis = Revolute((0.0, 0.0, 1.0))
    one, two, elbow = arm.I1 * np.eye(3), arm.I2 * np.eye(3), (arm.l1, 0.0, 0.0)
    builder.add_body("upper", None, axis, mass=arm.m1, com=(arm.r1, 0, 0), inertia=one)
    builder.add_body("fore", "upper", axis, placement=elbow, mass=arm.m2, com=(arm.r2, 0, 0), inertia=two)
    builder.add_frame("tip", "fore", placement=(arm.l2, 0.0, 0.0))
    return builder.build()


def constants(arm: Arm) -> tuple[float, float, float]:
    """(alpha, beta, delta) [kg m^2]."""
    alpha = arm.I1 + arm.I2 + arm.m1 * arm.r1**2 + arm.m2 * (arm.l1**2 + arm.r2**2)
    return alpha, arm.m2 * arm.l1 * arm.r2, arm.I2 + arm.m2 * arm.r2**2


def mass_matrix(arm: Arm, q: Array) -> Array:
    """M (2, 2) of source 001."""
    alpha, beta, delta = constants(arm)
    c = np.cos(q[1])
    return np.array([[alpha + 2 * beta * c, delta + beta * c], [delta + beta * c, delta]])


def christoffel(arm: Arm, q: Array) -> Array:
    """Gamma_ijk (2, 2, 2) of source 001: -beta s2 for 112, 121 and 122, beta s2 for 211, zero for the rest."""
    h = constants(arm)[1] * np.sin(q[1])
    return np.array([[[0.0, -h], [-h, -h]], [[h, 0.0], [0.0, 0.0]]])


def coriolis_matrix(arm: Arm, q: Array, v: Array) -> Array:
    """C (2, 2) of source 001."""
    h = constants(arm)[1] * np.sin(q[1])
    return np.array([[-h * v[1], -h * (v[0] + v[1])], [h * v[0], 0.0]])


def gravity_torque(arm: Arm, q: Array, gravity: float = GRAVITY) -> Array:
    """N (2) [N m]."""
    far = arm.m2 * arm.r2 * gravity * np.cos(q[0] + q[1])
    return np.array([(arm.m1 * arm.r1 + arm.m2 * arm.l1) * gravity * np.cos(q[0]) + far, far])


def main() -> None:
    path = output_path("planar_2r", __doc__)
    arm = Arm()
    robot = rbd.Robot(model(arm))
    q, v = np.random.default_rng(0).normal(size=(2, 2))
    print("alpha, beta, delta [kg m^2]: {:.4f} {:.4f} {:.4f}".format(*constants(arm)))
    for name, ours, printed in (
        ("mass matrix", robot.mass_matrix(q), mass_matrix(arm, q)),
        ("Christoffel symbols", christoffel_symbols(robot, q), christoffel(arm, q)),
        ("Coriolis matrix", robot.coriolis_matrix(q, v), coriolis_matrix(arm, q, v)),
        ("gravity torque", robot.gravity(q), gravity_torque(arm, q)),
    ):
        print(f"{name:>19} less its closed form, largest entry: {np.abs(ours - printed).max():.1e}")

    figure = new_figure(12, 4.2)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1.3, 1])
    elbows = np.linspace(-np.pi, np.pi, 181)
    turns = np.stack([np.zeros_like(elbows), elbows], axis=1)
    M, known = robot.mass_matrix(turns), np.array([mass_matrix(arm, q) for q in turns[::12]])
    for (i, j), color in (((0, 0), "tab:blue"), ((0, 1), "tab:orange"), ((1, 1), "tab:green")):
        left.plot(np.degrees(elbows), M[:, i, j], color=color, label=f"M{i + 1}{j + 1}")
        left.plot(np.degrees(elbows[::12]), known[:, i, j], "o", ms=4, mfc="none", color=color)
    left.set(xlabel="angle of the elbow [degrees]", ylabel="[kg m^2]", xticks=range(-180, 181, 90))
    left.set(title="mass matrix; circles: source 001")
    left.legend()
    motion = roll_out(robot, [0.0, 0.0], [0.0, 0.0], 1.2, 1200)
    coriolis = robot.coriolis(motion.q, motion.v)
    printed = np.array([coriolis_matrix(arm, q, v) @ v for q, v in zip(motion.q, motion.v)])
    _draw_swing(middle, arm, motion.q[::60])
    for k, (name, color) in enumerate((("shoulder", "tab:blue"), ("elbow", "tab:orange"))):
        right.plot(motion.times, coriolis[:, k], color=color, label=name)
        right.plot(motion.times[::50], printed[::50, k], "o", ms=4, mfc="none", color=color)
    right.set(xlabel="time [s]", ylabel="C v [N m]", title="Coriolis torques; circles: source 001")
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)
    save(figure, path)


def _draw_swing(axes: Any, arm: Arm, positions: Array) -> None:
    for k, (first, second) in enumerate(positions):
        elbow = arm.l1 * np.array([np.cos(first), np.sin(first)])
        tip = elbow + arm.l2 * np.array([np.cos(first + second), np.sin(first + second)])
        shade = str(0.85 - 0.7 * k / len(positions))
        axes.plot(*np.stack([np.zeros(2), elbow, tip]).T, "-o", ms=3, lw=1.5, color=shade)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="a fall, every 0.06 s")


if __name__ == "__main__":
    main()
