# SPDX-License-Identifier: Apache-2.0
"""Three arms of two links hold one point: three motors for two freedoms, so the inside can be stressed at will.

Source 001 (chapter 4, redundant parallel manipulator): theta in R^6, H(theta) in R^4, motors at the shoulders. Only
the columns of P_w that belong to motors count. Of the torques that make a motion the shortest is
(P_w S)^+ P_w tau; what is left of them, one direction, moves nothing and presses the arms against each other.
"""

from __future__ import annotations

import numpy as np
from closed_chains import arms, joints_of, reaching, tips_together
from numpy.typing import NDArray
from picture import new_figure, output_path, save

import rbd_dynamics as rbd

Array = NDArray[np.float64]

LINK, MASS = 0.35, 0.5  # m, kg
BASES = tuple((0.5 * np.cos(a), 0.5 * np.sin(a)) for a in np.radians([90.0, 210.0, 330.0]))
ELBOWS = (1.0, 1.0, 1.0)
MOTORS = np.array([True, False] * 3)


def manipulator() -> rbd.Robot:
    """q = (theta_1, ..., theta_6), horizontal."""
    return arms(BASES, LINK, MASS)


def configuration(point: Array) -> Array:
    """q (6) with all tips at a point."""
    return reaching(BASES, LINK, point, ELBOWS)


def printed_closure(q: Array) -> Array:
    """H(theta) (4) of the source: each other arm's tip less the first one's, with the sign turned."""
    tips = []
    for k, (x, y) in enumerate(BASES):
        one, both = q[2 * k], q[2 * k] + q[2 * k + 1]
        tips.append([x + LINK * (np.cos(one) + np.cos(both)), y + LINK * (np.sin(one) + np.sin(both))])
    first, second, third = np.array(tips)
    return np.concatenate([first - second, first - third])


def shortest_torque(robot: rbd.Robot, q: Array, wanted: Array) -> Array:
    """tau (6), zero at the elbows, with P_w tau = P_w wanted."""
    P_w, _ = robot.force_projection(q, tips_together(robot, 3))
    tau = np.zeros(6)
    tau[MOTORS] = np.linalg.pinv(P_w[:, MOTORS], rcond=1e-9) @ (P_w @ wanted)
    return tau


def internal_torque(robot: rbd.Robot, q: Array) -> Array:
    """tau (6) of unit length that moves nothing."""
    P_w, _ = robot.force_projection(q, tips_together(robot, 3))
    direction = np.linalg.svd(P_w[:, MOTORS])[2][-1]
    tau = np.zeros(6)
    tau[MOTORS] = direction * np.sign(direction[0])
    return tau


def tip_acceleration(robot: rbd.Robot, q: Array, tau: Array) -> Array:
    """(2,) from rest, m/s^2."""
    a = robot.constrained_forward_dynamics(q, np.zeros(6), tau, tips_together(robot, 3)).a
    R = robot.pose(q, "tip0")[:2, :2]
    return np.asarray(R @ (robot.jacobian(q, "tip0") @ a)[3:5])


def main() -> None:
    path = output_path("parallel_manipulator", __doc__)
    robot = manipulator()
    q = configuration(np.array([0.05, -0.03]))
    print(f"printed H(theta) where the tips meet: {np.abs(printed_closure(q)).max():.1e} m")
    wanted = robot.mass_matrix(q) @ np.linalg.pinv(robot.jacobian(q, "tip0")[3:5]) @ np.array([1.0, 0.5])
    shortest, internal = shortest_torque(robot, q, wanted), internal_torque(robot, q)
    found = robot.constrained_inverse_dynamics(
        q, np.zeros(6), robot.constrained_forward_dynamics(q, np.zeros(6), shortest, tips_together(robot, 3)).a,
        tips_together(robot, 3), actuated=MOTORS, objective="torque",
    )  # fmt: skip
    print(f"least torque by the library and by the projection: {np.abs(found.tau - shortest).max():.1e} N m")
    a = tip_acceleration(robot, q, shortest)
    b = tip_acceleration(robot, q, shortest + 5.0 * internal)
    print(f"tip's acceleration {a.round(4)}, with 5 N m of internal torque the same to {np.abs(a - b).max():.1e}")
    still = robot.constrained_forward_dynamics(q, np.zeros(6), internal, tips_together(robot, 3)).multipliers
    forces = [-(still[:2] + still[2:]), still[:2], still[2:]]

    figure = new_figure(10, 4.4)
    left, right = figure.subplots(1, 2)
    for points, color in zip(joints_of(robot, q, 3), ("tab:blue", "tab:orange", "tab:green")):
        left.plot(*points.T, "o-", color=color)
    R = robot.pose(q, "tip0")[:2, :2]
    tip = robot.pose(q, "tip0")[:2, 3]
    for force, color in zip(forces, ("tab:blue", "tab:orange", "tab:green")):
        along = R @ force
        left.annotate("", tip + 0.06 * along, tip, arrowprops={"arrowstyle": "->", "color": color, "lw": 2})
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="forces on the arms by internal torque (6 cm per N)")
    amounts = np.linspace(-4.0, 4.0, 81)
    norms = [np.linalg.norm(shortest + x * internal) for x in amounts]
    right.plot(amounts, norms)
    right.plot(0.0, np.linalg.norm(shortest), "ko", label="(P_w S)⁺ P_w τ")
    right.set(xlabel="internal torque [N m]", ylabel="norm of the motors' torque [N m]", title="the same motion")
    right.grid(alpha=0.3)
    right.legend()
    save(figure, path)


if __name__ == "__main__":
    main()
