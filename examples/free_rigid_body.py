# SPDX-License-Identifier: Apache-2.0
"""A free rigid body tumbles: its wrench is zero, so its momentum is constant in space.

Sources 000 (section 1), 002 and 004: I Vdot = ad*_V I V in the body frame, whose rotational part at
the mass centre is Euler's J wdot + w x J w = 0. Spinning about the middle axis is unstable: the
body turns over again and again, although energy and angular momentum do not change. The body
frame here is not at the mass centre, which the equations do not mind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from group_step import group_step
from numpy.typing import NDArray
from picture import front_side, new_figure, output_path, save

from rbd_dynamics import spatial

Array = NDArray[np.float64]

MOMENTS = (0.02, 0.05, 0.06)  # kg m^2, about the mass centre
VIEW = (25.0, 55.0)  # elevation and azimuth of the picture, degrees
MASS, COM = 1.5, (0.03, -0.02, 0.05)  # kg, m in the body frame


class Tumble(NamedTuple):
    """times (N,), poses (N, 4, 4) of the body frame, body twists (N, 6), inertia (6, 6)."""

    times: Array
    poses: Array
    twists: Array
    inertia: Array

    @property
    def energy(self) -> Array:
        """Kinetic energy (N,) [J]: constant."""
        return spatial.kinetic_energy(self.inertia, self.twists)

    @property
    def momentum(self) -> Array:
        """Momentum (N, 6) seen from the fixed frame: all six components are constant."""
        return spatial.transform_wrench(self.poses, spatial.momentum(self.inertia, self.twists))

    @property
    def spin(self) -> Array:
        """Angular momentum (N, 3) about the mass centre, in the body frame: its norm is constant."""
        return self.twists[:, :3] * np.array(MOMENTS)


def tumble(w: Array, v: Array, duration: float, h: float = 2e-3, moments: tuple[float, ...] = MOMENTS) -> Tumble:
    """Free motion from the body angular velocity w [rad/s] and velocity v [m/s] of the body frame's origin."""
    inertia = spatial.inertia_matrix(MASS, COM, np.diag(moments))

    def acceleration(_: Array, twist: Array) -> Array:
        return spatial.body_acceleration(inertia, twist, np.zeros(6))

    pose, twist = np.eye(4), np.concatenate([w, v])
    poses, twists = [pose], [twist]
    for _ in range(round(duration / h)):
        pose, twist = group_step(
            pose, twist, h, acceleration, lambda t, x: t @ spatial.exp_se3(x), spatial.right_jacobian_inverse_se3
        )
        poses.append(pose)
        twists.append(twist)
    return Tumble(h * np.arange(len(poses)), np.array(poses), np.array(twists), inertia)


def main() -> None:
    path = output_path("free_rigid_body", __doc__)
    motion = tumble(np.array([0.02, 6.0, 0.0]), np.array([0.1, 0.0, 0.2]), 8.0, h=4e-3)
    drift = np.abs(motion.momentum - motion.momentum[0]).max()
    print(f"relative drift of the energy {np.ptp(motion.energy) / motion.energy[0]:.1e}")
    print(f"largest drift of a component of the momentum in space {drift:.1e}")

    figure = new_figure(11, 4.6)
    left = figure.add_subplot(1, 2, 1)
    for k, name in enumerate("xyz"):
        left.plot(motion.times, motion.twists[:, k], label=f"w_{name}, J = {MOMENTS[k]} kg m^2")
    left.set(xlabel="time [s]", ylabel="body angular velocity [rad/s]", ylim=(-11, 7))
    left.set_title("the middle axis is unstable")
    left.legend(loc="lower right")
    left.grid(alpha=0.3)

    right = figure.add_subplot(1, 2, 2, projection="3d")
    u, w = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, np.pi, 20))
    right.plot_wireframe(np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w), color="0.85", lw=0.4)
    for direction, duration in _starts():
        spin = tumble(0.24 * direction / np.array(MOMENTS), np.zeros(3), duration, h=1e-2).spin
        right.plot(*front_side(right, spin / np.linalg.norm(spin[0]), *VIEW).T, color="tab:blue", lw=1)
    spin = motion.spin / np.linalg.norm(motion.spin[0])
    right.plot(*front_side(right, spin, *VIEW).T, color="tab:red", lw=2)
    right.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1), zticks=(-1, 0, 1), xlabel="L_x", ylabel="L_y", zlabel="L_z")
    right.set_title("angular momentum in the body, |L| = 1\nred: the motion on the left")
    right.set_box_aspect((1, 1, 1), zoom=0.9)
    save(figure, path)


def _starts() -> list[tuple[Array, float]]:
    """Directions of the angular momentum near the two stable axes, and for how long to follow each [s]."""
    found = []
    for angle in (0.2, 0.4, 0.6):
        c, s = np.cos(angle), np.sin(angle)
        found += [(np.array([c, 0.0, s]), 3.0), (np.array([0.7 * s, 0.7 * s, c]), 7.0)]
    return [(direction / np.linalg.norm(direction), duration) for direction, duration in found]


if __name__ == "__main__":
    main()
