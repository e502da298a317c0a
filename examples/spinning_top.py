# SPDX-License-Identifier: Apache-2.0
"""A spinning top with viscous friction at its tip (source 003).

One body on a ball joint. Without friction it can precess steadily, at the rate W with
I3 w3 W - I1 W^2 cos(theta) = m g l (w3: spin, theta: tilt), and energy, spin and the vertical
angular momentum stay constant. With friction torque -c w the energy falls at the rate c |w|^2: the
top sinks, swings below its tip and comes to rest there, where the tip carries just its weight. The
force at the tip comes from splitting the chain at the ball joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture import front_side, new_figure, output_path, save
from roll_out import roll_out

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.joints import Spherical
from rbd_dynamics.model.model import WORLD, Body, Frame, Joint, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY
from rbd_dynamics.theory import screws

Array = NDArray[np.float64]

MASS, LENGTH = 0.5, 0.06  # kg; m from the tip to the mass centre
ACROSS, ALONG = 3.0e-4, 4.0e-4  # kg m^2, about the mass centre
GRAVITY = 9.81  # m/s^2
FRICTION = 4.0e-4  # N m s
VIEW = (15.0, 30.0)  # elevation and azimuth of the picture, degrees
I1, I3 = ACROSS + MASS * LENGTH**2, ALONG  # about the tip


def top() -> Model:
    """The top; its axis is z of the body, with the tip at the origin."""
    rotational = (ACROSS, 0.0, 0.0, ACROSS, 0.0, ALONG)
    inertia = RigidInertia.from_com(MASS, (0.0, 0.0, LENGTH), rotational)
    body = Body("top", WORLD, IDENTITY, Joint("tip", Spherical(), 0, 0), inertia)
    return Model("spinning_top", (body,), frames=(Frame("top", 0),), gravity=(0.0, 0.0, -GRAVITY))


class Motion(NamedTuple):
    """times (N,), quaternions (N, 4), body angular velocities (N, 3), tip forces (N, 3) in the fixed frame."""

    times: Array
    q: Array
    w: Array
    force: Array

    @property
    def axis(self) -> Array:
        """The top's axis (N, 3) in the fixed frame."""
        return spatial.rotate_by_quaternion(self.q, np.array([0.0, 0.0, 1.0]))

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy (N,) [J], zero of the latter at the height of the tip."""
        kinetic = 0.5 * np.sum(np.array([I1, I1, I3]) * self.w**2, axis=1)
        return np.asarray(kinetic + MASS * GRAVITY * LENGTH * self.axis[:, 2])

    @property
    def angular_momentum(self) -> Array:
        """About the tip (N, 3), in the fixed frame."""
        return spatial.rotate_by_quaternion(self.q, np.array([I1, I1, I3]) * self.w)


def steady_precession(tilt: float, rate: float) -> tuple[Array, Array]:
    """(q (4,), w (3,)) that precesses at that rate [rad/s] at that tilt [rad], for ever without friction."""
    spin = (MASS * GRAVITY * LENGTH + I1 * rate**2 * np.cos(tilt)) / (I3 * rate)
    q = spatial.quaternion_exp([0.0, tilt, 0.0])
    return q, np.array([-rate * np.sin(tilt), 0.0, spin])


def spin_the_top(q: Array, w: Array, friction: float, duration: float, h: float = 1e-3) -> Motion:
    """Motion from q (4,), w (3,); friction [N m s] times w is the torque against the motion."""
    model = top()
    motion = roll_out(rbd.Robot(model), q, w, duration, round(duration / h), lambda _, v: -friction * v)
    tree = screws.articulated_tree(model, motion.q, motion.v, -friction * motion.v)
    wrench = screws.split_chain(model, tree, "tip").wrench
    return Motion(motion.times, motion.q, motion.v, spatial.rotate_by_quaternion(motion.q, wrench[:, 3:]))


def main() -> None:
    path = output_path("spinning_top", __doc__)
    start = steady_precession(np.radians(25.0), 5.0)
    free = spin_the_top(*start, friction=0.0, duration=2.0)
    print(f"without friction: tilt varies by {np.degrees(np.ptp(np.arccos(free.axis[:, 2]))):.1e} degrees,", end=" ")
    print(f"energy by {np.ptp(free.energy):.1e} J")
    slowed = spin_the_top(*start, friction=FRICTION, duration=30.0, h=2e-3)
    lost = FRICTION * np.sum(slowed.w**2, axis=1)
    lost = np.concatenate([[0.0], np.cumsum(0.5 * (lost[1:] + lost[:-1]) * np.diff(slowed.times))])
    print(f"with friction: energy plus heat varies by {np.ptp(slowed.energy + lost):.1e} J of {lost[-1]:.2f} J lost")
    print(f"force at the tip at the end {slowed.force[-1, 2]:.4f} N, weight {MASS * GRAVITY:.4f} N")

    figure = new_figure(12, 4.6)
    left = figure.add_subplot(1, 3, 1, projection="3d")
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, np.pi, 20))
    left.plot_wireframe(np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color="0.88", lw=0.4)
    shown = slowed.times < 10.0
    seen = front_side(left, slowed.axis[shown], *VIEW)
    left.plot(*seen.T, color="0.6", lw=0.5)
    points = left.scatter(*seen.T, c=slowed.times[shown], s=1.5, cmap="viridis")
    left.plot(*front_side(left, free.axis, *VIEW).T, color="tab:red", lw=2)
    left.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1), zticks=(-1, 0, 1))
    left.set_box_aspect((1, 1, 1), zoom=0.95)
    left.set_title("path of the axis\nred: without friction, steady precession")
    figure.colorbar(points, ax=left, shrink=0.6, label="time [s]")

    middle, right = figure.add_subplot(1, 3, 2), figure.add_subplot(1, 3, 3)
    middle.plot(slowed.times, slowed.energy, label="energy")
    middle.plot(slowed.times, lost, label="heat")
    middle.plot(slowed.times, slowed.energy + lost, "k--", lw=1, label="sum")
    middle.set(xlabel="time [s]", ylabel="[J]", title="energy and heat")
    middle.legend()
    right.plot(slowed.times, slowed.force[:, 2], lw=0.6, label="vertical force at the tip")
    right.axhline(MASS * GRAVITY, color="k", ls="--", lw=1, label="weight")
    right.set(xlabel="time [s]", ylabel="[N]", title="reaction, by chain splitting")
    right.legend()
    for axes in (middle, right):
        axes.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
