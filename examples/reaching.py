# SPDX-License-Identifier: Apache-2.0
"""A UR5 takes 5 kg to the other side in 0.72 s with half of its torques: differential dynamic programming with bounds.

The cost is the hand's distance to the goal at the end, and a little effort (ilqr.py, hand_task.py). The optimal
motion leaves no gradient but where a torque is at its limit; the hand arrives within a millimetre, at rest, and no
torque is ever beyond its limit. The same problem without limits, its torques cut off at them afterwards, misses: the
limits have to be known when the motion is planned.
"""

from __future__ import annotations

import numpy as np
from hand_task import HandTask, Weights
from ilqr import Array, Solution, projected_gradient, roll_out_controls, solve
from picture import new_figure, output_path, save

import rbd_dynamics as rbd

START = np.array([0.0, -2.2, 2.0, -1.4, -1.57, 0.0])
GOAL = np.array([-0.1, -0.5, 0.6])  # m
DURATION, NODES = 0.72, 60
SHARE = 0.5  # of the torques that the description allows
WEIGHTS = Weights(last=3e5, axis=1.0, rest=1e3, effort=1e-4, speed=1e-2)
NEAR, STILL = 1e-3, 0.02  # m, rad/s


def task(share: float = SHARE) -> HandTask:
    """With that share of the torques."""
    robot = rbd.Robot(rbd.load("ur5_robot"))
    robot.set_payload("tool0", mass=5.0, com=(0.0, 0.0, 0.1))
    goals = np.tile(GOAL, (NODES + 1, 1))
    made = HandTask(robot, "tool0", goals, WEIGHTS, step=DURATION / NODES, posture=START)
    made.lower, made.upper = share * made.lower, share * made.upper
    return made


def at_rest(problem: HandTask) -> tuple[Array, Array]:
    """The state at the start, and torques that hold it."""
    return np.concatenate([START, np.zeros(6)]), np.tile(problem.robot.gravity(START), (NODES, 1))


def missed(problem: HandTask, x: Array) -> float:
    """How far the hand is from its goal, m."""
    return float(np.linalg.norm(problem.robot.pose(x[:6], "tool0")[:3, 3] - GOAL))


def stationarity(problem: HandTask, found: Solution) -> float:
    """Largest entry of the projected gradient, as a share of the largest at the start."""
    start, us = at_rest(problem)
    first = projected_gradient(problem, roll_out_controls(problem, start, us), us)
    return float(np.abs(projected_gradient(problem, found.xs, found.us)).max() / np.abs(first).max())


def main() -> None:
    path = output_path("reaching", __doc__)
    problem = task()
    found = solve(problem, *at_rest(problem), iterations=300)
    unlimited = solve(task(share=np.inf), *at_rest(problem))
    cut = np.clip(unlimited.us, problem.lower, problem.upper)
    without = missed(problem, roll_out_controls(problem, found.xs[0], cut)[-1])

    last, share = found.xs[-1], np.abs(found.us) / problem.upper
    gradient = stationarity(problem, found)
    print(f"{len(found.costs) - 1} iterations, cost from {found.costs[0]:.0f} to {found.costs[-1]:.3f}")
    print(f"gradient where no torque is at its limit: {gradient:.1e} of that at the start")
    print(f"at a limit: {(share == 1).sum(axis=0)} of {NODES} nodes, joint by joint; beyond: {(share > 1).sum()}")
    print(f"hand at the goal within {1e3 * missed(problem, last):.3f} mm, joints at {np.abs(last[6:]).max():.4f} rad/s")
    print(f"planned without limits and cut off at them: {1e3 * without:.0f} mm off")

    figure = new_figure(12, 4)
    left, middle, right = figure.subplots(1, 3)
    times = np.linspace(0.0, DURATION, NODES + 1)
    for k, name in enumerate(problem.robot.model.joint_names):
        left.step(times[:-1], found.us[:, k] / problem.upper[k], where="post", label=name.removesuffix("_joint"))
        middle.plot(times, found.xs[:, 6 + k])
    left.axhspan(-1, 1, color="0.95")
    left.set(xlabel="time [s]", ylabel="torque / limit", title="torques")
    left.legend(fontsize=7)
    middle.set(xlabel="time [s]", ylabel="[rad/s]", title="velocities of the joints")
    right.semilogy(found.costs, "o-", ms=3)
    right.set(xlabel="iteration", title="cost")
    for axes in (left, middle, right):
        axes.grid(alpha=0.3)
    save(figure, path)

    if not (found.converged and gradient < 1e-3):
        raise SystemExit("the motion is not optimal")
    if (share > 1).any() or not (share == 1).any():
        raise SystemExit("torques are beyond their limits, or never at them")
    if missed(problem, last) > NEAR or np.abs(last[6:]).max() > STILL:
        raise SystemExit("the hand is not at its goal")
    if without < 10 * NEAR:
        raise SystemExit("limits make no difference")


if __name__ == "__main__":
    main()
