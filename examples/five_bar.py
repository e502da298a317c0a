# SPDX-License-Identifier: Apache-2.0
"""A five-bar linkage: two motors, three passive joints, and torques that are unique.

Source 000 (section 3.1) names it as the case of as many constraints as passive joints. Two arms of two links are
joined at their tips. In the plane that is two constraints for the two elbows (the joint between the tips is left
out of the tree). The motors' torques are those of inverse dynamics of the open arms, seen through the motion
that is left: tau_a = J_a^-T J^T tau_r with qd = J pd, p the tip's position. Written in space the closure has three more
rows, which are redundant: the motion is the same and the rank says so.
"""

from __future__ import annotations

import numpy as np
from closed_chains import arms, joints_of, reaching, tips_together
from numpy.typing import NDArray
from picture import new_figure, output_path, save

import rbd_dynamics as rbd

Array = NDArray[np.float64]

LINK, MASS, GRAVITY = 0.4, 0.6, 9.81  # m, kg, m/s^2
BASES = ((-0.15, 0.0), (0.15, 0.0))
ELBOWS = (-1.0, 1.0)
MOTORS = np.array([True, False, True, False])


def linkage() -> rbd.Robot:
    """q = (theta_1, theta_2, theta_3, theta_4): shoulder and elbow, left and right."""
    return arms(BASES, LINK, MASS, GRAVITY)


def configuration(point: Array) -> Array:
    """q (4) with the tips at a point, elbows outwards."""
    return reaching(BASES, LINK, point, ELBOWS)


def tip_motion(robot: rbd.Robot, q: Array) -> Array:
    """J (4, 2): qd = J pd for the velocity pd of the tip."""
    J = np.zeros((4, 2))
    for k in range(2):
        own = slice(2 * k, 2 * k + 2)
        R = robot.pose(q, f"tip{k}")[:2, :2]
        J[own] = np.linalg.inv((R @ robot.jacobian(q, f"tip{k}")[3:5])[:, own])
    return J


def motor_torques(robot: rbd.Robot, q: Array, v: Array, a: Array) -> Array:
    """By the library: constrained inverse dynamics."""
    found = robot.constrained_inverse_dynamics(q, v, a, tips_together(robot, 2), actuated=MOTORS)
    assert found.feasible
    return found.tau


def by_virtual_work(robot: rbd.Robot, q: Array, v: Array, a: Array) -> Array:
    """tau (4) of the motors: J_a^T tau_a = J^T tau_r."""
    J = tip_motion(robot, q)
    tau = np.zeros(4)
    tau[MOTORS] = np.linalg.solve(J[MOTORS].T, J.T @ robot.inverse_dynamics(q, v, a))
    return tau


def on_circle(robot: rbd.Robot, t: float) -> tuple[Array, Array, Array]:
    """q, v, a while the tip goes round a circle once a second."""
    w, r, centre = 2 * np.pi, 0.1, np.array([0.0, 0.5])
    c, s = np.cos(w * t), np.sin(w * t)
    q = configuration(centre + r * np.array([c, s]))
    J = tip_motion(robot, q)
    v = J @ (r * w * np.array([-s, c]))
    # elbows and shoulders together have to give the tip's acceleration
    a = np.zeros(4)
    for k in range(2):
        own = slice(2 * k, 2 * k + 2)
        R = robot.pose(q, f"tip{k}")[:2, :2]
        frame = robot.jacobian(q, f"tip{k}")[3:5, own], robot.jacobian_dot(q, v, f"tip{k}")[3:5, own]
        spin = v[own].sum()
        body = R.T @ (r * w * np.array([-s, c]))
        rate = R.T @ (-r * w * w * np.array([c, s])) - spin * np.array([-body[1], body[0]])
        a[own] = np.linalg.solve(frame[0], rate - frame[1] @ v[own])
    return q, v, a


def main() -> None:
    path = output_path("five_bar", __doc__)
    robot = linkage()
    times = np.linspace(0.0, 1.0, 201)
    torques, others = [], []
    for t in times:
        state = on_circle(robot, t)
        torques.append(motor_torques(robot, *state)[MOTORS])
        others.append(by_virtual_work(robot, *state)[MOTORS])
    found, known = np.array(torques), np.array(others)
    print(f"constrained inverse dynamics against virtual work: {np.abs(found - known).max():.1e} N m")
    q, v, _ = on_circle(robot, 0.3)
    planar, spatial_ = (tips_together(robot, 2, d) for d in (("x", "y"), ("rx", "ry", "x", "y", "z")))
    one, five = (robot.constrained_forward_dynamics(q, v, np.zeros(4), of) for of in (planar, spatial_))
    print(f"two rows and five: rank {one.rank:g} and {five.rank:g}, accelerations differ by "
          f"{np.abs(one.a - five.a).max():.1e} rad/s^2")  # fmt: skip

    figure = new_figure(10, 4.2)
    left, right = figure.subplots(1, 2)
    for t, color in ((0.0, "0.75"), (0.25, "0.55"), (0.6, "tab:blue")):
        for points in joints_of(robot, on_circle(robot, t)[0], 2):
            left.plot(*points.T, "o-", color=color)
    circle = np.array([robot.pose(on_circle(robot, t)[0], "tip0")[:2, 3] for t in times])
    left.plot(*circle.T, "k:", lw=1)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="three moments of the motion")
    right.plot(times, found[:, 0], label="left motor")
    right.plot(times, found[:, 1], label="right motor")
    right.plot(times[::10], known[::10, 0], "k.", label="virtual work")
    right.plot(times[::10], known[::10, 1], "k.")
    right.set(xlabel="time [s]", ylabel="torque [N m]", title="torques on a circle, once a second")
    right.grid(alpha=0.3)
    right.legend(fontsize=8)
    save(figure, path)


if __name__ == "__main__":
    main()
