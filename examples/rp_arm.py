# SPDX-License-Identifier: Apache-2.0
"""The RP arm: a joint that turns and one that slides along it; what its tip weighs.

Source 002 names the RP manipulator as its example of the canonical form, and then effective inertia,
but its formulas are not in the text. By Lagrange's equations, with the angle th from x, the slide d,
r1 from the joint to the mass centre of link 1 and d to that of link 2, gravity along -y:

    M = diag(I1 + I2 + m1 r1^2 + m2 d^2, m2)
    C v = (2 m2 d thd dd, -m2 d thd^2),  N = ((m1 r1 + m2 d) g cos(th), m2 g sin(th))

A force at the mass centre of link 2 meets the mass m2 along the slide and, across it, M11 / d^2:
infinite at d = 0, where the arm is singular. Without gravity and torques the arm flings link 2 out:
M11 thd is constant, and so is the energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import roll_out

import rbd_dynamics as rbd
from rbd_dynamics.analysis.operational_space import effective_inertia, effective_mass
from rbd_dynamics.joints import Prismatic, Revolute

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s^2


class Arm(NamedTuple):
    """Masses [kg], mass centre of link 1 [m], inertias about the mass centres [kg m^2]."""

    m1: float = 2.0
    r1: float = 0.2
    I1: float = 0.05
    m2: float = 1.2
    I2: float = 0.02


def model(arm: Arm, gravity: float = GRAVITY) -> rbd.Model:
    """The arm in the x-y plane with q = (th, d); frame "slider" at the mass centre of link 2, x along the slide."""
    builder = rbd.ModelBuilder("rp_arm", gravity=(0.0, -gravity, 0.0))
    one, two = arm.I1 * np.eye(3), arm.I2 * np.eye(3)
    builder.add_body("turret", None, Revolute((0.0, 0.0, 1.0)), mass=arm.m1, com=(arm.r1, 0, 0), inertia=one)
    builder.add_body("slider", "turret", Prismatic((1.0, 0.0, 0.0)), mass=arm.m2, inertia=two)
    return builder.build()


def mass_matrix(arm: Arm, d: float) -> Array:
    """M (2, 2)."""
    return np.diag([arm.I1 + arm.I2 + arm.m1 * arm.r1**2 + arm.m2 * d * d, arm.m2])


def coriolis_matrix(arm: Arm, d: float, thd: float, dd: float) -> Array:
    """C (2, 2) by Christoffel symbols: Gamma_112 = Gamma_121 = -Gamma_211 = m2 d."""
    return arm.m2 * d * np.array([[dd, thd], [-thd, 0.0]])


def gravity_torque(arm: Arm, th: float, d: float, gravity: float = GRAVITY) -> Array:
    """N (2), N m and N."""
    return gravity * np.array([(arm.m1 * arm.r1 + arm.m2 * d) * np.cos(th), arm.m2 * np.sin(th)])


def fling(arm: Arm, d: float, thd: float, thd_now: Array) -> tuple[Array, Array]:
    """(d, dd) when the free arm, let go with the slide at rest at d, has come to turn at thd_now [rad/s].

    Momentum: M11 thd is constant, which gives d. Energy: M11 thd^2 + m2 dd^2 is constant, which gives dd.
    """
    start = mass_matrix(arm, d)[0, 0]
    now = start * thd / thd_now
    return np.sqrt(d * d + (now - start) / arm.m2), np.sqrt((start * thd**2 - now * thd_now**2) / arm.m2)


def main() -> None:
    path = output_path("rp_arm", __doc__)
    arm = Arm()
    robot = rbd.Robot(model(arm))
    q, v = np.array([0.7, 0.35]), np.array([1.5, -0.4])
    for name, ours, known in (
        ("mass matrix", robot.mass_matrix(q), mass_matrix(arm, q[1])),
        ("Coriolis matrix", robot.coriolis_matrix(q, v), coriolis_matrix(arm, q[1], *v)),
        ("gravity torque", robot.gravity(q), gravity_torque(arm, *q)),
    ):
        print(f"{name:>15} less its closed form, largest entry: {np.abs(ours - known).max():.1e}")
    singular = effective_inertia(robot, [0.0, 0.0], "slider", rows=[3, 4])
    print(f"effective masses of link 2 in the plane at d = 0: {singular.masses} kg")

    free = rbd.Robot(model(arm, gravity=0.0))
    motion = roll_out(free, [0.0, 0.1], [6.0, 0.0], 0.8, 800)
    d, dd = fling(arm, 0.1, 6.0, motion.v[:, 0])
    off = max(np.abs(motion.q[1:, 1] - d[1:]).max(), np.abs(motion.v[1:, 1] - dd[1:]).max())
    print(f"flung out: slide and its rate less those by momentum and energy, at most {off:.1e}")

    figure = new_figure(12, 4)
    left, middle, right = figure.subplots(1, 3)
    slides = np.linspace(0.02, 0.8, 118)
    across = [effective_mass(robot, [0.3, d], "slider", (0, 1, 0)) for d in slides]
    along = [effective_mass(robot, [0.3, d], "slider", (1, 0, 0)) for d in slides]
    left.semilogy(slides, across, color="tab:blue", label="across the slide")
    left.semilogy(slides, along, color="tab:orange", label="along the slide")
    few = slides[::9]
    M11 = np.array([mass_matrix(arm, d)[0, 0] for d in few])
    left.semilogy(few, M11 / few**2, "o", mfc="none", ms=5, color="tab:blue", label="M11 / d^2")
    left.semilogy(few, np.full(few.size, arm.m2), "o", mfc="none", ms=5, color="tab:orange", label="m2")
    left.set(xlabel="slide d [m]", ylabel="[kg]", title="effective mass of link 2")
    left.legend(fontsize=8)
    th, out = motion.q.T
    middle.plot(out * np.cos(th), out * np.sin(th), color="tab:blue")
    for k in range(0, 801, 100):
        middle.plot([0, out[k] * np.cos(th[k])], [0, out[k] * np.sin(th[k])], "-o", ms=3, lw=0.8, color="0.6")
    middle.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="flung out, every 0.1 s")
    right.plot(motion.times, motion.v[:, 0], label="turning rate [rad/s]")
    right.plot(motion.times, motion.v[:, 1], label="rate of the slide [m/s]")
    right.plot(motion.times[::50], dd[::50], "o", mfc="none", color="tab:orange", label="by momentum and energy")
    right.set(xlabel="time [s]", title="free motion")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
