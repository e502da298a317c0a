# SPDX-License-Identifier: Apache-2.0
"""A quadrotor with an arm: a robot on a floating base (source 004).

Three answers that are known: equations (1), (2) and (4) of the source (Hamel's), from the Lagrangian
alone, give the same forces as inverse dynamics. In free flight, whatever the arm's motors do, the mass
centre falls on a parabola and the angular momentum about it is constant: with none at the start, the
base turns by just as much as the arm's swing asks. And to hover with the arm stretched forwards by
x_c of the common mass centre, the front rotors carry (1 + x_c / x_r) / 4 of the weight each and the
rear ones (1 - x_c / x_r) / 4, x_r being how far ahead of the base's centre the front ones are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import Motion, roll_out
from scipy.interpolate import CubicSpline

import rbd_dynamics as rbd
from rbd_dynamics.joints import Floating, Revolute
from rbd_dynamics.spatial import rotation_from_quaternion
from rbd_dynamics.theory.closed_forms import hamel_equations

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s^2
ROTOR_X, ROTOR_Y = 0.16, 0.16  # m, of the front left rotor in the base
ROTORS = {"front_left": (1, 1), "front_right": (1, -1), "rear_left": (-1, 1), "rear_right": (-1, -1)}
DRAG = 0.016  # m: moment of a rotor about its axis per thrust, of alternating sign
UPPER, FORE = 0.18, 0.16  # m, lengths of the arm's links


def model(gravity: float = GRAVITY) -> rbd.Model:
    """q: position and quaternion of the base, shoulder, elbow. The arm hangs at zero and swings in the x-z plane."""
    builder = rbd.ModelBuilder("floating_arm", gravity=(0.0, 0.0, -gravity))
    builder.add_body("base", None, Floating(), mass=1.0, inertia=np.diag([0.008, 0.009, 0.014]))
    for name, (x, y) in ROTORS.items():
        builder.add_frame(name, "base", placement=(x * ROTOR_X, y * ROTOR_Y, 0.0))
    axis = Revolute((0.0, -1.0, 0.0))
    for name, parent, place, mass, length in (
        ("upper", "base", (0.0, 0.0, -0.04), 0.16, UPPER),
        ("fore", "upper", (0.0, 0.0, -UPPER), 0.12, FORE),
    ):
        rod = mass * length**2 / 12 * np.diag([1.0, 1.0, 0.02])
        builder.add_body(name, parent, axis, placement=place, mass=mass, com=(0, 0, -length / 2), inertia=rod)
    return builder.build()


def thrust_wrenches(thrusts: Array) -> dict[str, Array]:
    """What each rotor does to the robot: wrenches (m, f) in the rotors' frames."""
    return {
        name: thrust * np.array([0.0, 0.0, -x * y * DRAG, 0.0, 0.0, 1.0])
        for (name, (x, y)), thrust in zip(ROTORS.items(), thrusts)
    }


def rotor_matrix(robot: rbd.Robot, q: Array) -> Array:
    """(nv, 4): generalised force per thrust, J^T (0, 0, +-DRAG, 0, 0, 1) for each rotor."""
    wrenches = thrust_wrenches(np.ones(4))
    return np.stack([robot.jacobian(q, name).T @ wrench for name, wrench in wrenches.items()], axis=1)


def hover(robot: rbd.Robot, q: Array) -> tuple[Array, Array]:
    """(thrusts (4) [N], arm torques (2) [N m]) that hold the robot still, N = B (thrusts, torques), at a level q.

    Six unknowns for eight equations: rotors cannot push along x and y, and where the base is level they need not.
    """
    B = np.hstack([rotor_matrix(robot, q), np.eye(8)[:, 6:]])
    found = np.linalg.pinv(B) @ robot.gravity(q)
    return found[:4], found[4:]


def known_hover_thrusts(robot: rbd.Robot, q: Array) -> Array:
    """(4) [N], by the balance of moments about the base's centre."""
    mass = robot.mass_matrix(q)[3, 3]
    ahead = robot.center_of_mass(q)[0] - q[0]
    return np.array([mass * GRAVITY / 4 * (1 + x * ahead / ROTOR_X) for x, _ in ROTORS.values()])


def swing(robot: rbd.Robot, start: Array, v: Array, duration: float = 1.2, steps: int = 1200) -> Motion:
    """Free flight while the arm's motors pull its joints to 1.9 and -1.2 rad, with some damping."""

    def torque(q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(6), 0.4 * (np.array([1.9, -1.2]) - q[7:]) - 0.02 * v[6:]])

    return roll_out(robot, start, v, duration, steps, torque)


def pitch(q: Array) -> Array:
    """Turn of the base about -y (N,) [rad] in motions within the x-z plane."""
    return np.unwrap(-2 * np.arctan2(q[:, 4], q[:, 6]))


def pitch_by_momentum(robot: rbd.Robot, motion: Motion) -> Array:
    """The same (N,) from the arm's motion alone, where the angular momentum is zero: A_base w = -A_arm v.

    A: the row about y of the centroidal momentum matrix, to which a velocity of the base adds nothing.
    """
    A = robot.centroidal_momentum_matrix(motion.q)[:, 1]
    rate = np.einsum("nk,nk->n", A[:, 6:], motion.v[:, 6:]) / A[:, 1]
    return np.asarray(CubicSpline(motion.times, rate).antiderivative()(motion.times))


def posture(shoulder: float, elbow: float) -> Array:
    """q (9) with the base level at the origin."""
    return np.array([0, 0, 0, 0, 0, 0, 1, shoulder, elbow], dtype=float)


def parabola(robot: rbd.Robot, motion: Motion) -> Array:
    """Where the mass centre has to be (N, 3)."""
    t = motion.times[:, None]
    velocity = robot.center_of_mass_jacobian(motion.q[0]) @ motion.v[0]
    return np.asarray(robot.center_of_mass(motion.q[0]) + t * velocity + 0.5 * t**2 * np.array(robot.model.gravity))


def main() -> None:
    path = output_path("floating_arm", __doc__)
    robot = rbd.Robot(model())
    rng = np.random.default_rng(0)
    q, v, a = robot.model.random(rng), rng.normal(size=8), rng.normal(size=8)
    terms, tau = hamel_equations(robot, q, v, a), robot.inverse_dynamics(q, v, a)
    base = rotation_from_quaternion(q[3:7]) @ tau[3:6]
    off = np.concatenate([terms.moment - tau[:3], terms.force - base, terms.torque - tau[6:]])
    print(f"Hamel's equations less inverse dynamics, largest entry: {np.abs(off).max():.1e}")

    start = posture(0.3, 0.2)
    motion = swing(robot, start, np.array([0, 0, 0, 1.5, 0, 4.0, 0, 0]))
    momentum = robot.momentum(motion.q, motion.v)
    found, known = pitch(motion.q), pitch_by_momentum(robot, motion)
    print(f"free flight: largest angular momentum about the mass centre {np.abs(momentum[:, :3]).max():.1e} kg m^2/s,")
    fallen = robot.center_of_mass(motion.q) - parabola(robot, motion)
    print(f"  mass centre off its parabola {np.abs(fallen).max():.1e} m,")
    print(f"  base turned by {np.degrees(found[-1]):.4f} degrees, by momentum {np.degrees(known[-1]):.4f} degrees")

    stretched = posture(np.pi / 2, 0.0)
    thrusts, torques = hover(robot, stretched)
    print(
        f"hover, arm forwards: thrusts {thrusts.round(4)} N, known {known_hover_thrusts(robot, stretched).round(4)} N"
    )
    a = robot.forward_dynamics(
        stretched, np.zeros(8), np.concatenate([np.zeros(6), torques]), f_ext=thrust_wrenches(thrusts)
    )
    print(f"  largest acceleration with these thrusts {np.abs(a).max():.1e}")

    figure = new_figure(5.4, 9.0)
    left, middle, right = figure.subplots(3, 1, height_ratios=[1.6, 1, 1])
    left.plot(*robot.center_of_mass(motion.q)[:, [0, 2]].T, color="tab:red", lw=1)
    for k in range(0, len(motion.times), 150):
        _draw(left, robot, motion.q[k])
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="free flight; red: mass centre")
    middle.plot(motion.times, np.degrees(found), color="tab:blue", label="base")
    middle.plot(
        motion.times[::60], np.degrees(known[::60]), "o", mfc="none", ms=5, color="tab:blue", label="by momentum"
    )
    middle.plot(motion.times, np.degrees(motion.q[:, 7]), color="0.4", label="shoulder")
    middle.plot(motion.times, np.degrees(motion.q[:, 8]), "--", color="0.4", label="elbow")
    middle.set(xlabel="time [s]", ylabel="angle [degrees]", title="the base turns against the arm")
    angles = np.linspace(-np.pi / 2, np.pi / 2, 61)
    held = np.array([hover(robot, posture(angle, 0.0))[0] for angle in angles])
    balance = np.array([known_hover_thrusts(robot, posture(angle, 0.0)) for angle in angles[::6]])
    for k, name, color in ((0, "each front rotor", "tab:blue"), (2, "each rear rotor", "tab:orange")):
        right.plot(np.degrees(angles), held[:, k], color=color, label=name)
        right.plot(np.degrees(angles[::6]), balance[:, k], "o", mfc="none", ms=5, color=color)
    right.set(xlabel="shoulder [degrees]", ylabel="thrust [N]", title="hover; circles: balance of moments")
    for axes in (middle, right):
        axes.legend(fontsize=9, frameon=False)
        axes.grid(alpha=0.3)
    save(figure, path)


def _draw(axes: Any, robot: rbd.Robot, q: Array) -> None:
    tip = robot.pose(q, "fore") @ [0.0, 0.0, -FORE, 1.0]
    arm = np.array([robot.pose(q, "upper")[:3, 3], robot.pose(q, "fore")[:3, 3], tip[:3]])
    rotors = np.array([robot.pose(q, name)[:3, 3] for name in ("front_left", "rear_left")])
    axes.plot(rotors[:, 0], rotors[:, 2], color="0.2", lw=3, solid_capstyle="butt")
    axes.plot(rotors[:1, 0], rotors[:1, 2], "o", color="tab:blue", ms=4)
    axes.plot(arm[:, 0], arm[:, 2], "-o", color="0.5", lw=1.5, ms=3)


if __name__ == "__main__":
    main()
