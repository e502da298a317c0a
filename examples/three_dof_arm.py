# SPDX-License-Identifier: Apache-2.0
"""The arm with three joints of source 001 (chapter 4): mass matrix and the listed Christoffel symbols.

Joint 1 turns about z; joints 2 and 3 about -x, at the height l0; the links lie along y at q = 0, with
mass centres r1 and r2 from their joints. With t = m3 (l1 c2 + r2 c23) the non-zero symbols are

    Gamma_112 = Gamma_121 = -Gamma_211 = (Iy2 - Iz2 - m2 r1^2) c2 s2 + (Iy3 - Iz3) c23 s23 - t (l1 s2 + r2 s23)
    Gamma_113 = Gamma_131 = -Gamma_311 = (Iy3 - Iz3) c23 s23 - t r2 s23
    Gamma_223 = Gamma_232 = Gamma_233 = -Gamma_322 = -m3 l1 r2 s3

Slips of the source: Gamma_112 is printed with Iy2 - Iz3 for Iy3 - Iz3 (Gamma_121, which is the same, is
right), M22 with m2 l1^2 for m3 l1^2, and the place of link 3 at rest without its height l0. The script
shows by how much the first two are off. Gravity is not printed; it is added here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save

import rbd_dynamics as rbd
from rbd_dynamics.joints import Revolute
from rbd_dynamics.theory.closed_forms import christoffel_symbols

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s^2


class Arm(NamedTuple):
    """Lengths l0, l1 and mass centres r1, r2 [m], masses [kg], moments (Ix, Iy, Iz) of the links [kg m^2]."""

    l0: float = 0.4
    l1: float = 0.5
    r1: float = 0.23
    r2: float = 0.27
    masses: tuple[float, float, float] = (1.1, 0.9, 0.6)
    moments: tuple[tuple[float, float, float], ...] = (
        (0.02, 0.03, 0.04),
        (0.05, 0.042, 0.061),
        (0.033, 0.008, 0.041),
    )


def model(arm: Arm) -> rbd.Model:
    """Links "column", "upper" and "fore"."""
    builder = rbd.ModelBuilder("three_dof_arm", gravity=(0.0, 0.0, -GRAVITY))
    (m1, m2, m3), (first, second, third) = arm.masses, map(np.diag, arm.moments)
    builder.add_body("column", None, Revolute((0.0, 0.0, 1.0)), mass=m1, com=(0, 0, arm.l0 / 2), inertia=first)
    axis, upper = Revolute((-1.0, 0.0, 0.0)), (0.0, 0.0, arm.l0)
    builder.add_body("upper", "column", axis, placement=upper, mass=m2, com=(0, arm.r1, 0), inertia=second)
    builder.add_body("fore", "upper", axis, placement=(0, arm.l1, 0), mass=m3, com=(0, arm.r2, 0), inertia=third)
    return builder.build()


def christoffel(arm: Arm, q: Array, as_printed: bool = False) -> Array:
    """Gamma_ijk (3, 3, 3) of source 001; as_printed: with its slip in Gamma_112."""
    (_, m2, m3), (_, (_, Iy2, Iz2), (_, Iy3, Iz3)) = arm.masses, arm.moments
    s2, c2, s23, c23 = *_sin_cos(q[1]), *_sin_cos(q[1] + q[2])
    t = m3 * (arm.l1 * c2 + arm.r2 * c23)
    G112 = (Iy2 - Iz2 - m2 * arm.r1**2) * c2 * s2 + (Iy3 - Iz3) * c23 * s23 - t * (arm.l1 * s2 + arm.r2 * s23)
    G113 = (Iy3 - Iz3) * c23 * s23 - t * arm.r2 * s23
    G223 = -arm.l1 * m3 * arm.r2 * np.sin(q[2])
    Gamma = np.zeros((3, 3, 3))
    Gamma[0, 0, 1], Gamma[0, 1, 0], Gamma[1, 0, 0] = G112, G112, -G112
    Gamma[0, 0, 2], Gamma[0, 2, 0], Gamma[2, 0, 0] = G113, G113, -G113
    Gamma[1, 1, 2], Gamma[1, 2, 1], Gamma[1, 2, 2], Gamma[2, 1, 1] = G223, G223, G223, -G223
    if as_printed:
        Gamma[0, 0, 1] += (Iy2 - Iy3) * c23 * s23
    return Gamma


def mass_matrix(arm: Arm, q: Array, as_printed: bool = False) -> Array:
    """M (3, 3) of source 001; as_printed: with its slip in M22."""
    (_, m2, m3), ((_, _, Iz1), (Ix2, Iy2, Iz2), (Ix3, Iy3, Iz3)) = arm.masses, arm.moments
    l1, r1, r2 = arm.l1, arm.r1, arm.r2
    s2, c2, s23, c23 = *_sin_cos(q[1]), *_sin_cos(q[1] + q[2])
    M = np.zeros((3, 3))
    M[0, 0] = Iy2 * s2**2 + Iy3 * s23**2 + Iz1 + Iz2 * c2**2 + Iz3 * c23**2
    M[0, 0] += m2 * r1**2 * c2**2 + m3 * (l1 * c2 + r2 * c23) ** 2
    bent = m3 * l1 * r2 * np.cos(q[2])
    M[1, 1] = Ix2 + Ix3 + (m2 if as_printed else m3) * l1**2 + m2 * r1**2 + m3 * r2**2 + 2 * bent
    M[1, 2] = M[2, 1] = Ix3 + m3 * r2**2 + bent
    M[2, 2] = Ix3 + m3 * r2**2
    return M


def gravity_torque(arm: Arm, q: Array) -> Array:
    """N (3) [N m]: the links sink as the angles grow."""
    _, m2, m3 = arm.masses
    far = -m3 * GRAVITY * arm.r2 * np.cos(q[1] + q[2])
    return np.array([0.0, -(m2 * arm.r1 + m3 * arm.l1) * GRAVITY * np.cos(q[1]) + far, far])


def _sin_cos(angle: float) -> tuple[float, float]:
    return float(np.sin(angle)), float(np.cos(angle))


def main() -> None:
    path = output_path("three_dof_arm", __doc__)
    arm = Arm()
    robot = rbd.Robot(model(arm))
    q = np.array([0.4, 0.7, -1.2])
    M, Gamma = robot.mass_matrix(q), christoffel_symbols(robot, q)
    for name, ours, known, printed in (
        ("mass matrix", M, mass_matrix(arm, q), mass_matrix(arm, q, as_printed=True)),
        ("Christoffel symbols", Gamma, christoffel(arm, q), christoffel(arm, q, as_printed=True)),
    ):
        off = f"{np.abs(ours - known).max():.1e}; with the slip printed {np.abs(ours - printed).max():.4f}"
        print(f"{name} less closed form, largest entry [kg m^2]: {off}")

    figure = new_figure(12, 4.2)
    angles = np.linspace(-np.pi, np.pi, 121)
    sweep = np.stack([np.zeros(121), np.full(121, 0.7), angles], axis=1)
    ours = np.array([christoffel_symbols(robot, q) for q in sweep])
    left, right = figure.subplots(1, 2)
    for indices, color in (((0, 0, 1), "tab:blue"), ((0, 0, 2), "tab:orange"), ((1, 1, 2), "tab:green")):
        known = np.array([christoffel(arm, q)[indices] for q in sweep[::6]])
        label = "Gamma_" + "".join(str(i + 1) for i in indices)
        left.plot(np.degrees(angles), ours[(slice(None), *indices)], color=color, label=label)
        left.plot(np.degrees(angles[::6]), known, "o", ms=4, mfc="none", color=color)
    printed = np.array([christoffel(arm, q, as_printed=True)[0, 0, 1] for q in sweep])
    left.plot(np.degrees(angles), printed, "--", color="tab:blue", lw=1, label="Gamma_112 as printed")
    left.set(title="Christoffel symbols; circles: source 001", ylabel="[kg m^2]")
    M = robot.mass_matrix(sweep)
    known = np.array([mass_matrix(arm, q) for q in sweep[::6]])
    for (i, j), color in (((0, 0), "tab:blue"), ((1, 1), "tab:orange"), ((1, 2), "tab:green"), ((2, 2), "tab:red")):
        right.plot(np.degrees(angles), M[:, i, j], color=color, label=f"M{i + 1}{j + 1}")
        right.plot(np.degrees(angles[::6]), known[:, i, j], "o", ms=4, mfc="none", color=color)
    M22 = [mass_matrix(arm, q, as_printed=True)[1, 1] for q in sweep]
    right.plot(np.degrees(angles), M22, "--", color="tab:orange", lw=1, label="M22 as printed")
    right.set(title="mass matrix; circles: source 001", ylabel="[kg m^2]")
    for axes in (left, right):
        axes.set(xlabel="third joint [degrees], second at 40 degrees", xticks=range(-180, 181, 90))
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
