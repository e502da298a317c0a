# SPDX-License-Identifier: Apache-2.0
"""A pendulum: equation of motion, period and energy.

Source 001 (chapter 4): a bob of mass m on a massless rod of length l, theta from the vertical, obeys
m l^2 thetadd + m g l sin(theta) = tau, with the energy m l^2 thetad^2 / 2 + m g l (1 - cos(theta)).
Released at rest at A it swings with the period 4 sqrt(l / g) K(sin^2(A / 2)), K the complete
elliptic integral of the first kind, and sin(theta / 2) = k cd(t sqrt(g / l)), k = sin(A / 2).

The source prints thetad for thetad^2 in the Lagrangian; the equation that follows is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from roll_out import Motion, roll_out
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ellipj, ellipk

import rbd_dynamics as rbd

Array = NDArray[np.float64]

MASS, LENGTH, GRAVITY = 0.8, 0.5, 9.81  # kg, m, m/s^2

URDF = f"""
<robot name="pendulum">
  <link name="pivot"/>
  <link name="rod"/>
  <link name="bob"><inertial><mass value="{MASS}"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="swing" type="continuous"><parent link="pivot"/><child link="rod"/><axis xyz="0 -1 0"/></joint>
  <joint name="end" type="fixed"><parent link="rod"/><child link="bob"/><origin xyz="0 0 {-LENGTH}"/></joint>
</robot>"""


def pendulum() -> rbd.Robot:
    """The pendulum from its URDF; it hangs at q = 0 and swings in the x-z plane, towards x for q > 0."""
    return rbd.Robot(rbd.load_urdf(URDF, gravity=(0.0, 0.0, -GRAVITY)))


def equation_of_motion(angle: Array, acceleration: Array) -> Array:
    """tau [N m] of source 001."""
    return MASS * LENGTH**2 * acceleration + MASS * GRAVITY * LENGTH * np.sin(angle)


def energy(angle: Array, rate: Array) -> Array:
    """Of source 001 [J], zero at rest at the bottom."""
    return 0.5 * MASS * LENGTH**2 * rate**2 + MASS * GRAVITY * LENGTH * (1 - np.cos(angle))


def period(amplitude: Array | float) -> Array:
    """[s], by the elliptic integral."""
    return np.asarray(4 * np.sqrt(LENGTH / GRAVITY) * ellipk(np.sin(np.asarray(amplitude) / 2) ** 2))


def swing(amplitude: float, times: Array) -> Array:
    """The angle at those times after the release at rest, by Jacobi's elliptic functions."""
    k = np.sin(amplitude / 2)
    _, cn, dn, _ = ellipj(times * np.sqrt(GRAVITY / LENGTH), k**2)
    return np.asarray(2 * np.arcsin(k * cn / dn))


def released(amplitude: float, duration: float, steps: int = 2000) -> Motion:
    """The motion after the release at rest, by forward dynamics."""
    return roll_out(pendulum(), [amplitude], [0.0], duration, steps)


def measured_period(motion: Motion) -> float:
    """Time between the first and the third passage of the bottom, on the cubic through angles and rates."""
    passages = CubicHermiteSpline(motion.times, motion.q[:, 0], motion.v[:, 0]).roots(extrapolate=False)
    return float(passages[2] - passages[0])


def main() -> None:
    path = output_path("pendulum", __doc__)
    robot = pendulum()
    q, v, a = np.random.default_rng(0).normal(size=(3, 100, 1))
    torque = equation_of_motion(q, a)
    print(f"equation of motion, largest difference {np.abs(robot.inverse_dynamics(q, v, a) - torque).max():.1e} N m")
    amplitudes = np.radians([10, 30, 60, 90, 120, 150, 170])
    motions = [released(A, 1.3 * float(period(A))) for A in amplitudes]
    periods = np.array([measured_period(motion) for motion in motions])
    for A, measured in zip(amplitudes, periods):
        print(
            f"amplitude {np.degrees(A):5.0f} degrees: period {measured:.9f} s, by elliptic integral {period(A):.9f} s"
        )
    drift = max(float(np.ptp(energy(motion.q, motion.v))) for motion in motions)
    print(f"largest change of energy {drift:.1e} J")

    figure = new_figure(11, 4.4)
    left, right = figure.subplots(1, 2)
    angles, rates = np.meshgrid(np.linspace(-1.3 * np.pi, 1.3 * np.pi, 241), np.linspace(-12, 12, 121))
    levels = MASS * GRAVITY * LENGTH * np.array([0.1, 0.5, 1, 1.5, 2, 2.5, 3, 3.5])
    left.contour(np.degrees(angles), rates, energy(angles, rates), levels=levels, colors="0.8", linewidths=0.8)
    for motion in motions:
        left.plot(np.degrees(motion.q[:, 0]), motion.v[:, 0], color="tab:blue", lw=1.5)
    left.set(xlabel="angle [degrees]", ylabel="rate [rad/s]", title="motions (blue) follow lines of energy (grey)")
    fine = np.linspace(0.01, np.radians(175), 200)
    right.plot(np.degrees(fine), period(fine), color="k", lw=1, label="elliptic integral")
    right.plot(np.degrees(amplitudes), periods, "o", color="tab:blue", label="simulated")
    right.axhline(2 * np.pi * np.sqrt(LENGTH / GRAVITY), color="k", ls=":", lw=1, label="small swings")
    right.set(xlabel="amplitude [degrees]", ylabel="period [s]", title="period", ylim=(1.2, None))
    right.legend()
    right.grid(alpha=0.3)
    save(figure, path)


if __name__ == "__main__":
    main()
