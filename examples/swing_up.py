# SPDX-License-Identifier: Apache-2.0
"""A pole on a cart swings up in the least time that a limited force allows.

Direct multiple shooting: the states at the nodes, a constant force between them and the duration are unknown; an
interval is some Runge-Kutta steps, and their derivatives follow from those of forward dynamics, all intervals in one
batch. The duration is the cost and the force acts linearly, so linear programs in a trust region solve it (Fletcher
and Sainz de la Maza 1989): the solution is a vertex, as Pontryagin's principle says, with the force at a limit but in
the intervals where it changes sides. With these switching times as the only unknowns, four for the four numbers of
the final state, the motion is found again without any discretisation, and the simulator plays it without feedback.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture import new_figure, output_path, save
from scipy import sparse
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve, linprog

import rbd_dynamics as rbd
from rbd_dynamics.simulation import Simulation, SimulationOptions

Array = NDArray[np.float64]

HANGING, UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0]), np.zeros(4)  # cart, pole and their rates: m, rad
LIMIT = 10.0  # N
NODES, SUBSTEPS, GUESS = 40, 2, 1.5  # intervals, Runge-Kutta steps in each, s
PENALTY, SCALE = 10.0, np.array([1.0, 1.0, 5.0, 5.0])  # of gaps between intervals, in s; of the states


def cart_pole() -> rbd.Robot:
    """A cart of 1 kg with a rod of 0.3 kg and 1 m, upright at zero."""
    builder = rbd.ModelBuilder("cart_pole")
    builder.add_body("cart", None, rbd.joints.Prismatic((1.0, 0.0, 0.0)), mass=1.0)
    rod = 0.3 / 12 * np.diag([1.0, 1.0, 0.0])
    builder.add_body("pole", "cart", rbd.joints.Revolute((0.0, 1.0, 0.0)), mass=0.3, com=(0, 0, 0.5), inertia=rod)
    return rbd.Robot(builder.build())


class Motion(NamedTuple):
    """states (NODES + 1, 4), forces (NODES) [N], duration [s], gains: what each linear program promised, s."""

    states: Array
    forces: Array
    duration: float
    gains: list[float]


def rate(robot: rbd.Robot, x: Array, u: Array) -> tuple[Array, Array]:
    """Of states (N, 4) under forces (N), and its derivatives by both (N, 4, 5)."""
    q, v, tau = x[:, :2], x[:, 2:], np.stack([u, 0 * u], axis=1)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
    J = np.zeros((len(x), 4, 5))
    J[:, :2, 2:4], J[:, 2:, :2], J[:, 2:, 2:4], J[:, 2:, 4] = np.eye(2), by_q, by_v, by_tau[:, :, 0]
    return np.concatenate([v, robot.forward_dynamics(q, v, tau)], axis=1), J


def ends(robot: rbd.Robot, x: Array, u: Array, duration: float) -> tuple[Array, Array]:
    """States (N, 4) where the intervals from x (N, 4) end, and their derivatives by x, u and duration (N, 4, 6)."""
    by_duration = 1.0 / (len(u) * SUBSTEPS)
    h, D = duration * by_duration, np.tile(np.eye(4, 6), (len(u), 1, 1))
    for _ in range(SUBSTEPS):
        at, D_at, mean, D_mean = x, D, np.zeros_like(x), np.zeros_like(D)
        for share, weight in ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6)):
            f, J = rate(robot, at, u)
            D_f = J[:, :, :4] @ D_at
            D_f[:, :, 4] += J[:, :, 4]
            mean, D_mean = mean + weight * f, D_mean + weight * D_f
            at, D_at = x + share * h * f, D + share * h * D_f
            D_at[:, :, 5] += share * by_duration * f
        x, D = x + h * mean, D + h * D_mean
        D[:, :, 5] += by_duration * mean
    return x, D


def best_change(z: Array, gap: Array, D: Array, radius: float) -> tuple[Array, float]:
    """Of z, all unknowns, by a linear program: within `radius` and bounds; the duration and penalties it leaves."""
    N = len(gap)
    blocks: list[list[Any]] = [[None] * (N + 1) for _ in range(N)]
    for k in range(N):
        blocks[k][k], blocks[k][k + 1] = sparse.csr_array(D[k, :, :4]), -sparse.eye_array(4)
    forces, slack = sparse.block_diag([D[k, :, 4:5] for k in range(N)]), sparse.eye_array(4 * N)
    A = sparse.hstack([sparse.block_array(blocks), forces, D[:, :, 5].reshape(-1, 1), slack, -slack]).tocsc()
    reach = np.concatenate([radius * np.tile(SCALE, N + 1), np.full(N, 4 * LIMIT * radius), [radius]])
    reach[:4] = reach[4 * N : 4 * N + 4] = 0.0  # the first and the last state are given
    lower, upper = -reach, reach.copy()
    force = slice(4 * N + 4, -1)
    lower[force], upper[force] = np.maximum(lower[force], -LIMIT - z[force]), np.minimum(upper[force], LIMIT - z[force])
    lower[-1] = max(lower[-1], 0.1 - z[-1])
    bounds = np.concatenate([np.stack([lower, upper], axis=1), np.tile([0.0, np.inf], (8 * N, 1))])
    cost = np.concatenate([np.zeros(len(z) - 1), [1.0], np.tile(PENALTY / SCALE, 2 * N)])
    found: Any = linprog(cost, A_eq=A, b_eq=-gap.ravel(), bounds=bounds, method="highs-ds")
    return found.x[: len(z)], z[-1] + float(found.fun)


def least_time(robot: rbd.Robot, guess: float = GUESS, iterations: int = 80) -> Motion:
    """From a straight line between the two rests, without force."""

    def gaps(z: Array) -> tuple[Array, Array, float]:
        """Between intervals (N, 4), with the ends' derivatives, and the merit: duration and penalties."""
        x = z[: 4 * NODES + 4].reshape(-1, 4)
        to, D = ends(robot, x[:-1], z[4 * NODES + 4 : -1], z[-1])
        return to - x[1:], D, z[-1] + PENALTY * float((np.abs(to - x[1:]) / SCALE).sum())

    line = np.linspace(HANGING, UPRIGHT, NODES + 1)
    z, radius, gains = np.concatenate([line.ravel(), np.zeros(NODES), [guess]]), 0.3, []
    gap, D, merit = gaps(z)
    for _ in range(iterations):
        change, promised = best_change(z, gap, D, radius)
        gains.append(merit - promised)
        if gains[-1] < 1e-8:
            break
        tried = z + change, *gaps(z + change)
        if merit - tried[3] < 0.7 * gains[-1]:  # second-order correction: gaps that bend are taken back
            moved = change[: 4 * NODES + 4].reshape(-1, 4)
            step = np.concatenate(
                [moved[:-1], change[4 * NODES + 4 : -1, None], np.full((NODES, 1), change[-1])], axis=1
            )
            linear = (D @ step[:, :, None])[:, :, 0] - moved[1:]
            corrected = z + best_change(z, tried[1] - linear, D, radius)[0]
            tried = min(tried, (corrected, *gaps(corrected)), key=lambda each: each[3])
        ratio = (merit - tried[3]) / gains[-1]
        radius = min(1.0, 2 * radius) if ratio > 0.7 else 0.4 * radius if ratio < 0.2 else radius
        if ratio > 0.01:
            z, gap, D, merit = tried
    return Motion(z[: 4 * NODES + 4].reshape(-1, 4), z[4 * NODES + 4 : -1], float(z[-1]), gains)


def switching_times(robot: rbd.Robot, motion: Motion) -> tuple[Array, float]:
    """(times (4) [s]: three switches and the end, first force [N]) of the motion with the force always at a limit."""
    edges = np.linspace(0.0, motion.duration, NODES + 1)
    signs = np.sign(motion.forces)
    changes = np.flatnonzero(np.diff(signs)) + 1
    start = np.append(edges[changes], motion.duration)
    if len(start) != len(UPRIGHT):
        raise SystemExit(f"{len(changes)} switches, where {len(UPRIGHT) - 1} and the end are to be found")

    def final(times: Array) -> Array:
        x, begin = HANGING, 0.0
        for k, end in enumerate(times):
            tau = np.array([signs[0] * LIMIT * (-1) ** k, 0.0])
            found = solve_ivp(
                lambda _, x, tau=tau: np.concatenate([x[2:], robot.forward_dynamics(x[:2], x[2:], tau)]),
                (begin, end), x, rtol=1e-10, atol=1e-10,
            )  # fmt: skip
            x, begin = found.y[:, -1], end
        return x - UPRIGHT

    times, _, success, message = fsolve(final, start, full_output=True, xtol=1e-10)
    if success != 1:
        raise SystemExit(f"no switching times: {message}")
    return times, float(signs[0] * LIMIT)


def play(robot: rbd.Robot, motion: Motion, steps: int = 20) -> Array:
    """The states (4) at the end in the simulator, the same forces step by step."""
    options = SimulationOptions(step=motion.duration / (NODES * steps), integrator="rk4")
    simulation = Simulation(robot.model, q=HANGING[:2], options=options)
    for force in motion.forces:
        simulation.command([force, 0.0], np.arange(2))
        simulation.advance(steps)
    return np.concatenate([simulation.q, simulation.v])


def main() -> None:
    path = output_path("swing_up", __doc__)
    robot = cart_pole()
    motion = least_time(robot)
    inside = int((np.abs(motion.forces) < (1 - 1e-6) * LIMIT).sum())
    times, first = switching_times(robot, motion)
    played = float(np.abs(play(robot, motion) - UPRIGHT).max())
    print(
        f"{len(motion.gains)} linear programs, the last two promised {motion.gains[-2]:.0e}, {motion.gains[-1]:.0e} s"
    )
    print(f"upright after {motion.duration:.5f} s, the force at a limit in {NODES - inside} of {NODES} intervals")
    print(f"with switches at {times[:-1].round(4)} s alone: {times[-1]:.5f} s")
    print(f"played by the simulator: upright within {played:.1e}")

    figure = new_figure(12, 4)
    left, middle, right = figure.subplots(1, 3)
    nodes, tip = np.linspace(0.0, motion.duration, NODES + 1), motion.states[:, :2]
    for k in range(0, NODES + 1, 2):
        x, angle = tip[k]
        left.plot([x, x + np.sin(angle)], [0, np.cos(angle)], color="tab:blue", alpha=0.15 + 0.85 * k / NODES)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="the pole, later darker")
    middle.stairs(motion.forces, nodes, color="tab:blue", label="intervals")
    middle.stairs(
        first * (-1.0) ** np.arange(len(times)), [0.0, *times], color="tab:red", ls="--", label="switches alone"
    )
    middle.set(xlabel="time [s]", ylabel="force [N]")
    middle.legend(fontsize=8)
    right.semilogy(motion.gains, "o-", ms=3)
    right.set(xlabel="linear program", ylabel="[s]", title="what is still to be gained")
    save(figure, path)

    if motion.gains[-1] > 1e-8 or inside > len(times) - 1:
        raise SystemExit("the motion is not the quickest one")
    if not 0.0 <= motion.duration - times[-1] < 0.02:
        raise SystemExit("the switches alone give another duration")
    if played > 1e-3:
        raise SystemExit("the simulator does not end upright")


if __name__ == "__main__":
    main()
