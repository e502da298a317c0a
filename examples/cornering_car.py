# SPDX-License-Identifier: Apache-2.0
"""A car that corners and accelerates, as a planar screw problem (source 003, projective geometry).

At one instant the car turns at w about a point C. The rear axle stands d away from it, at right
angles to the car; the front wheels stand L ahead, their axle points at C too. The driving force
F_A acts at the front wheels, in their direction of motion. The mass centre is (1 - eps) L ahead of
the rear axle, rho is the radius of gyration. Which side forces do the axles take?

The motion is one twist s, the rotation about C; the side forces act on lines through C, so they
are the reaction subspace R; the inertia maps C to the axis of percussion T. Then the answer is
mu = U^T (p - driving wrench), p = -ad*_V I V, whatever the acceleration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save

from rbd_dynamics.theory.screws import planar

Array = NDArray[np.float64]


class Car(NamedTuple):
    """mass [kg]; wheelbase L, radius of gyration rho, turn radius of the rear axle d [m]; front share eps."""

    mass: float = 1200.0
    L: float = 2.6
    rho: float = 1.3
    d: float = 6.0
    eps: float = 0.4  # of the wheelbase that the mass centre is behind the front axle


def screw_answer(car: Car, w: float, drive: float) -> tuple[float, Array]:
    """(angular acceleration [rad/s^2], side forces (rear, front) [N], positive away from C).

    w: turning rate [rad/s]; drive: force F_A at the front wheels [N]. Frame: at C, y along the car.
    """
    m, L, rho, d, eps = car
    rear, front = np.array([d, 0.0]), np.array([d, L])
    inertia = planar.inertia(m, [d, (1 - eps) * L], m * rho**2)
    s = planar.rotation_about([0.0, 0.0])
    R = np.stack([planar.force_along(axle, axle / np.hypot(*axle)) for axle in (rear, front)], axis=1)
    driving = planar.force_along(front, drive * np.array([-L, d]) / np.hypot(L, d))

    twist = w * s
    bias = -planar.ad(twist).T @ inertia @ twist  # f = I a + p, p = -ad*_V I V
    T = inertia @ s / (s @ inertia @ s)
    mobility_R = np.linalg.solve(inertia, R)
    U = mobility_R @ np.linalg.inv(R.T @ mobility_R)
    # I a + p = driving + R mu with a = s alpha: s^T gives alpha; U^T, blind to T = I s / (s^T I s), gives mu
    assert np.allclose(U.T @ T, 0.0)
    alpha = s @ (driving - bias) / (s @ inertia @ s)
    mu = U.T @ (bias - driving)
    return float(alpha), mu


def known_answer(car: Car, w: float, drive: float) -> Array:
    """The source's printed answer mu = (rear, front) [N]."""
    m, L, rho, d, e = car
    whole = rho**2 + d**2 + (1 - e) ** 2 * L**2
    diagonal = np.sqrt(d**2 + L**2)
    rear = -(e * (1 - e) * L**2 - rho**2) / whole * diagonal / L * drive - e * d * m * w**2
    front = (e * (2 - e) * L**2 - rho**2) / whole * d / L * drive - m * w**2 * (1 - e) * diagonal
    return np.array([rear, front])


def main() -> None:
    path = output_path("cornering_car", __doc__)
    car, w, drive = Car(), 0.9, 3000.0
    alpha, mu = screw_answer(car, w, drive)
    print(f"angular acceleration {alpha:.4f} rad/s^2, side forces rear {mu[0]:.1f} N, front {mu[1]:.1f} N")
    print(f"source 003:                              side forces rear {known_answer(car, w, drive)[0]:.1f} N,", end=" ")
    print(f"front {known_answer(car, w, drive)[1]:.1f} N")

    figure = new_figure(10, 5)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    _draw_car(left, car, drive, mu)
    shares = np.linspace(0.1, 0.9, 81)
    answers = np.array([screw_answer(car._replace(eps=e), w, drive)[1] for e in shares])
    known = np.array([known_answer(car._replace(eps=e), w, drive) for e in shares])
    for k, (name, color) in enumerate((("rear", "tab:blue"), ("front", "tab:orange"))):
        right.plot(shares, answers[:, k], color=color, label=f"{name}, screws")
        right.plot(shares[::8], known[::8, k], "o", color=color, mfc="none", label=f"{name}, source 003")
    right.set(xlabel="eps: mass centre behind the front axle / L", ylabel="side force, away from C [N]")
    right.set_title(f"w = {w} rad/s, driving force {drive:.0f} N")
    right.legend()
    right.grid(alpha=0.3)
    save(figure, path)


def _draw_car(axes: Any, car: Car, drive: float, mu: Array) -> None:
    m, L, rho, d, eps = car
    rear, front, com = np.array([d, 0.0]), np.array([d, L]), np.array([d, (1 - eps) * L])
    body = np.array([[-0.8, -0.9], [0.8, -0.9], [0.8, L + 0.8], [-0.8, L + 0.8], [-0.8, -0.9]]) + [d, 0]
    axes.fill(*body.T, color="0.93", zorder=0)
    axes.plot(*body.T, color="0.5", lw=1)
    for point in (rear, front):
        axes.plot(*np.stack([np.zeros(2), 1.3 * point]).T, "--", color="0.6", lw=1)
        along = np.array([-point[1], point[0]]) / np.hypot(*point)
        for side in (-0.7, 0.7):
            wheel = point + [side, 0]
            axes.plot(*np.stack([wheel - 0.3 * along, wheel + 0.3 * along]).T, color="0.2", lw=4)
    axes.plot(0, 0, "ko")
    axes.annotate("C, centre of rotation: s", (0, 0), xytext=(0.0, -0.5))
    axes.plot(*com, "k+", ms=10)
    axes.annotate("mass centre", com, xytext=(8, 8), textcoords="offset points")
    line = planar.line_of_action(planar.inertia(m, com, m * rho**2) @ planar.rotation_about([0.0, 0.0]))
    along = np.array([-line.normal[1], line.normal[0]])
    middle = line.normal * line.distance
    axes.plot(*np.stack([middle - 3.4 * along, middle + 2.4 * along]).T, color="tab:green", lw=1.5)
    axes.annotate("axis of percussion: T", middle - 3.5 * along, color="tab:green", ha="center", va="top")
    scale = 2.2 / max(abs(drive), *np.abs(mu))
    for point, force, name, color in (
        (rear, mu[0] * rear / np.hypot(*rear), "rear", "tab:blue"),
        (front, mu[1] * front / np.hypot(*front), "front", "tab:orange"),
        (front, drive * np.array([-L, d]) / np.hypot(L, d), "F_A", "tab:red"),
    ):
        axes.annotate(
            "", point + scale * force, xytext=point, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2}
        )
        axes.annotate(name, point + scale * force, color=color, ha="right", va="bottom")
    axes.set(xlim=(-1, 9.5), ylim=(-2.6, 6), xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.set_title("lines of reaction through C, axis of percussion, forces")


if __name__ == "__main__":
    main()
