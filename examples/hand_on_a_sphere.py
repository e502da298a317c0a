# SPDX-License-Identifier: Apache-2.0
"""A hand with a round fingertip on a ball: it slides, or rolls, and Montana's equations tell where it touches.

Source 001 (chapter 4): a manipulator's hand with six freedoms touches a sphere. Without friction one row holds it,
v_z = 0 in the contact frame, and P_w = diag(1, 1, 0, 1, 1, 1) there (linear part first) for a hand with the inertia
of a point. Rolling holds three rows, four without spin about the normal; what is left is not integrable: rolled round
a closed path the hand comes back turned. Where finger and ball touch follows from the hand's twist by Montana's
equations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture import front_side, new_figure, output_path, save
from roll_out import Motion, roll_out

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.constraints import ConstraintSet, RollingBall, Sphere, SurfaceConstraint
from rbd_dynamics.joints import Floating
from rbd_dynamics.theory.montana import ContactSphere, contact_pose, contact_rates

Array = NDArray[np.float64]

BALL, TIP, MASS = 0.12, 0.03, 0.5  # radii m, kg
INERTIA = np.diag([4e-4, 5e-4, 3e-4])  # of the hand, kg m^2
OBJECT, FINGER = ContactSphere(BALL), ContactSphere(TIP)


def hand() -> rbd.Robot:
    """A free hand whose frame is the centre of its fingertip; no gravity."""
    builder = rbd.ModelBuilder("hand", gravity=(0.0, 0.0, 0.0))
    builder.add_body("finger", None, Floating(), mass=MASS, com=(0.0, 0.0, 0.0), inertia=INERTIA)
    return rbd.Robot(builder.build())


def sliding(robot: rbd.Robot) -> ConstraintSet:
    """Frictionless contact: the distance alone."""
    return ConstraintSet(robot.model, [SurfaceConstraint("touch", "finger", surface=Sphere(BALL), offset=TIP)])


def rolling(robot: rbd.Robot, spin: bool = True) -> ConstraintSet:
    """No slip; with spin=False no turning about the normal either."""
    return ConstraintSet(robot.model, [RollingBall("touch", "finger", surface=Sphere(BALL), radius=TIP, spin=spin)])


def start(push: Array) -> tuple[Array, Array, Array]:
    """(contact (5): a_o, a_f, psi; q (7); a velocity (6) that every contact above allows, made of `push` (w, v))."""
    contact = np.array([0.2, 0.3, -0.4, 0.2, 0.7])
    T = contact_pose(OBJECT.geometry(contact[:2]), FINGER.geometry(contact[2:4]), contact[4])
    q = np.concatenate([T[:3, 3], spatial.quaternion_from_rotation(T[:3, :3])])
    robot = hand()
    return contact, q, robot.constraint_impulse(q, push, rolling(robot, spin=False))[0]


def where_it_touches(q: Array) -> Array:
    """Contact coordinates (N, 4), a_o and a_f, out of the hand's poses (N, 7)."""
    normal = q[:, :3] / np.linalg.norm(q[:, :3], axis=1, keepdims=True)
    R = spatial.rotation_from_quaternion(q[:, 3:])
    inward = -np.einsum("nij,ni->nj", R, normal)  # the finger's contact point, in the finger
    return np.concatenate([_angles(normal), _angles(inward)], axis=1)


def _angles(n: Array) -> Array:
    return np.stack([np.arctan2(n[:, 1], n[:, 0]), np.arcsin(np.clip(n[:, 2], -1.0, 1.0))], axis=1)


def by_montana(contact: Array, motion: Motion) -> Array:
    """Contact coordinates (N, 5) by integrating Montana's equations along the hand's twists, with the midpoint rule."""
    found = [contact]
    h = motion.times[1]
    for k in range(len(motion.times) - 1):
        half = found[-1] + 0.5 * h * _rates(found[-1], motion.v[k])
        found.append(found[-1] + h * _rates(half, 0.5 * (motion.v[k] + motion.v[k + 1])))
    return np.array(found)


def _rates(contact: Array, v: Array) -> Array:
    finger = FINGER.geometry(contact[2:4])
    at_contact = np.linalg.inv(spatial.pose(finger.frame, finger.point))
    rates = contact_rates(OBJECT.geometry(contact[:2]), finger, contact[4], spatial.transform_twist(at_contact, v))
    return np.concatenate([rates.object, rates.finger, [rates.angle]])


def projection_in_contact_frame(robot: rbd.Robot, q: Array) -> Array:
    """P_w (6, 6) of the sliding hand, linear part first, in the axes of the contact frame at the fingertip's centre."""
    P_w, _ = robot.force_projection(q, sliding(robot))
    normal = q[:3] / np.linalg.norm(q[:3])
    R = spatial.rotation_from_quaternion(q[3:])
    z = R.T @ normal
    x = np.cross(z, [0.3, 0.5, 0.8])
    x /= np.linalg.norm(x)
    axes = np.column_stack([x, np.cross(z, x), z])
    turn = np.kron(np.eye(2), axes)  # wrenches (m, f) from the contact frame
    swap = np.roll(np.eye(6), 3, axis=0)
    return np.asarray(swap @ turn.T @ P_w @ turn @ swap.T)


def main() -> None:
    path = output_path("hand_on_a_sphere", __doc__)
    robot = hand()
    contact, q, v = start(np.array([0.0, 0.0, 0.0, 0.4, 0.5, -0.3]))
    expected = np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    print(f"P_w against diag(1, 1, 0, 1, 1, 1): {np.abs(projection_in_contact_frame(robot, q) - expected).max():.1e}")
    kinds = {"sliding": sliding(robot), "rolling": rolling(robot), "rolling without spin": rolling(robot, spin=False)}
    motions = {name: roll_out(robot, q, v, 1.5, 3000, constraints=of) for name, of in kinds.items()}
    for name, motion in motions.items():
        off = np.abs(np.sin(0.5 * (by_montana(contact, motion)[:, :4] - where_it_touches(motion.q)))).max()
        energy = robot.kinetic_energy(motion.q, motion.v)
        change = np.ptp(energy) / energy[0]
        print(f"{name}: Montana's contact points against the poses {off:.1e} rad, energy constant to {change:.1e}")

    figure = new_figure(10.5, 4.6)
    ball = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    u, w = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(-np.pi / 2, np.pi / 2, 20))
    sphere = np.stack([np.cos(w) * np.cos(u), np.cos(w) * np.sin(u), np.sin(w)])
    ball.plot_surface(*(0.97 * sphere), color="0.92", linewidth=0, shade=True)
    angle = figure.add_subplot(1, 2, 2)
    for name, motion in motions.items():
        normal = motion.q[:, :3] / np.linalg.norm(motion.q[:, :3], axis=1, keepdims=True)
        ball.plot(*front_side(ball, normal, 20.0, 20.0).T, lw=2, zorder=3)
        angle.plot(motion.times, np.unwrap(by_montana(contact, motion)[:, 4]), label=name)
    ball.set(aspect="equal", title="where the finger touches the ball")
    ball.set_axis_off()
    angle.set(xlabel="time [s]", ylabel="psi [rad]", title="angle between the contact frames")
    angle.grid(alpha=0.3)
    angle.legend()
    save(figure, path)


if __name__ == "__main__":
    main()
