# SPDX-License-Identifier: Apache-2.0
"""A spherical pendulum, in two angles and on a ball joint.

Source 001 (chapter 4): a bob of mass m at l (sin(theta) cos(phi), sin(theta) sin(phi), -cos(theta)) has

    M = m l^2 diag(1, s^2),  C v = m l^2 (-s c phid^2, 2 s c thetad phid),  N = (m g l s, 0).

The two angles are singular where the bob hangs straight down; a ball joint is not. On the ball joint
swings a body with the moments m l and m l^2 about the pivot that the bob has: without spin it goes
the same way. Energy and angular momentum about the vertical are constant, and between them they
say how high and how low the bob goes.

The source prints thetad for thetad^2 in the Lagrangian; the equations that follow are right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import roll_out

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.joints import Revolute, Spherical

Array = NDArray[np.float64]

MASS, LENGTH, GRAVITY = 0.8, 0.5, 9.81  # kg, m, m/s^2


def in_angles() -> rbd.Robot:
    """The bob in the coordinates (phi, theta): a chain turns by phi first."""
    builder = rbd.ModelBuilder("spherical_pendulum", gravity=(0.0, 0.0, -GRAVITY))
    builder.add_body("fork", None, Revolute((0.0, 0.0, 1.0)), joint_name="phi")
    builder.add_body("bob", "fork", Revolute((0.0, -1.0, 0.0)), joint_name="theta", mass=MASS, com=(0, 0, -LENGTH))
    return rbd.Robot(builder.build())


def on_ball_joint() -> rbd.Robot:
    """A round body on a ball joint with mass m / 0.8 at 0.8 l, and the rest of m l^2 about its own centre."""
    share = 0.8
    builder = rbd.ModelBuilder("ball_pendulum", gravity=(0.0, 0.0, -GRAVITY))
    own = (1 - share) * MASS * LENGTH**2 * np.eye(3)
    builder.add_body("bob", None, Spherical(), mass=MASS / share, com=(0, 0, -share * LENGTH), inertia=own)
    return rbd.Robot(builder.build())


def printed_terms(theta: float, thetad: float, phid: float) -> tuple[Array, Array, Array]:
    """M (2, 2), C v (2), N (2) of source 001, in the order (theta, phi)."""
    s, c = np.sin(theta), np.cos(theta)
    inertia = MASS * LENGTH**2
    M = inertia * np.diag([1.0, s * s])
    coriolis = inertia * np.array([-s * c * phid**2, 2 * s * c * thetad * phid])
    return M, coriolis, np.array([MASS * GRAVITY * LENGTH * s, 0.0])


def coriolis_matrix(theta: float, thetad: float, phid: float) -> Array:
    """C (2, 2) by Christoffel symbols, in the order (theta, phi): Mdot - 2 C is skew-symmetric."""
    sc = MASS * LENGTH**2 * np.sin(theta) * np.cos(theta)
    return np.array([[0.0, -sc * phid], [sc * phid, sc * thetad]])


def conical(theta: float) -> float:
    """phid [rad/s] at which the bob goes round at constant theta: phid^2 = g / (l cos(theta))."""
    return float(np.sqrt(GRAVITY / (LENGTH * np.cos(theta))))


def direction(q: Array) -> Array:
    """From the pivot to the bob, unit vectors (N, 3), for q = (phi, theta) (N, 2)."""
    phi, theta = q.T
    return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), -np.cos(theta)], axis=1)


def ball_start(theta: float, thetad: float, phid: float) -> tuple[Array, Array]:
    """(quaternion (4), body angular velocity (3)) of the same state at phi = 0, without spin about the rod."""
    q = spatial.quaternion_exp([0.0, -theta, 0.0])
    return q, np.array([phid * np.sin(theta), -thetad, 0.0])


def momentum_about_vertical(q: Array, v: Array) -> Array:
    """m l^2 s^2 phid (N,) for q and v (N, 2) in (phi, theta)."""
    return np.asarray(MASS * LENGTH**2 * np.sin(q[:, 1]) ** 2 * v[:, 0])


def turning_points(theta: float, thetad: float, phid: float) -> Array:
    """The two heights u = cos(theta) between which the bob moves, from its two constants.

    With e = E / (m l^2), k = g / l and j = L / (m l^2): thetad = 0 where 2 (e + k u) (1 - u^2) = j^2.
    """
    k, j = GRAVITY / LENGTH, np.sin(theta) ** 2 * phid
    e = 0.5 * (thetad**2 + np.sin(theta) ** 2 * phid**2) - k * np.cos(theta)
    roots = np.roots([-2 * k, -2 * e, 2 * k, 2 * e - j * j]).real
    return np.sort(roots)[1:]  # the third is below -1


def main() -> None:
    path = output_path("spherical_pendulum", __doc__)
    robot, ball = in_angles(), on_ball_joint()
    theta, thetad, phid = np.radians(70.0), 0.0, 2.0
    motion = roll_out(robot, [0.0, theta], [phid, thetad], 8.0, 8000)
    same = roll_out(ball, *ball_start(theta, thetad, phid), 8.0, 8000)
    bob = direction(motion.q)
    other = -spatial.rotate_by_quaternion(same.q, np.array([0.0, 0.0, 1.0]))
    energy = robot.kinetic_energy(motion.q, motion.v) + robot.potential_energy(motion.q)
    L = momentum_about_vertical(motion.q, motion.v)
    found, known = -bob[:, 2], turning_points(theta, thetad, phid)
    print(f"two angles and ball joint, largest distance over l: {np.abs(bob - other).max():.1e}")
    print(f"change of energy {np.ptp(energy):.1e} J, of vertical angular momentum {np.ptp(L):.1e} kg m^2/s")
    print(
        f"cos(theta) between {found.min():.6f} and {found.max():.6f}, by the constants {known[0]:.6f}, {known[1]:.6f}"
    )

    figure = new_figure(5.4, 8.6)
    left, middle, right = figure.subplots(3, 1, height_ratios=[1.6, 1, 1])
    left.plot(*LENGTH * bob[:, :2].T, color="tab:blue", label="two angles")
    left.plot(*LENGTH * other[::100, :2].T, "o", ms=3, color="tab:orange", label="ball joint")
    circle = np.linspace(0, 2 * np.pi, 200)
    for u in known:
        r = LENGTH * np.sqrt(1 - u * u)
        left.plot(r * np.cos(circle), r * np.sin(circle), "k:", lw=1)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="from above; dotted: turning points")
    left.set(xlim=(-0.55, 0.55), ylim=(-0.5, 0.65))
    left.legend(loc="upper center", fontsize=9, ncols=2)
    middle.plot(motion.times, np.degrees(motion.q[:, 1]))
    for u in known:
        middle.axhline(np.degrees(np.arccos(u)), color="k", ls=":", lw=1)
    middle.set(xlabel="time [s]", ylabel="theta [degrees]", title="angle from the vertical")
    right.plot(motion.times, 1e9 * (energy - energy[0]), label="energy [nJ]")
    right.plot(motion.times, 1e9 * (L - L[0]), label="vertical angular momentum [$10^{-9}$ kg m²/s]")
    right.set(xlabel="time [s]", title="constants, less their first values")
    right.set_ylim(-3.5, 7.5)
    right.legend(fontsize=9, loc="upper center", frameon=False)
    for axes in (middle, right):
        axes.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
