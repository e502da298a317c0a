# SPDX-License-Identifier: Apache-2.0
"""A Panda in the simulator follows a circle by model predictive control at 200 Hz, and is pushed.

Every 5 ms one iteration of differential dynamic programming looks 0.4 s ahead, from where the last one ended
("real-time iteration", Diehl, Bock and Schloeder 2005); between, its gains are the controller at 1 kHz (as in Dantec,
Taix and Mansard 2022). What is found counts 5 ms after the measurement, as on a robot that has to compute meanwhile,
so each iteration starts from where its own policy will have led until then. The push is 80 N for 0.1 s, unknown to the
controller. Times are only printed: how fast the machine is does not change the motion.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from hand_task import HandTask, Weights
from ilqr import Array, Policy, backward, forward, solve
from picture import new_figure, output_path, save

import rbd_dynamics as rbd
from rbd_dynamics.simulation import Simulation, SimulationOptions

PERIOD, STEP = 0.005, 0.001  # s: of iterations and of the simulation
AHEAD, NODES = 0.02, 20  # s between nodes
CENTER, RADIUS, TURN = np.array([0.45, 0.0, 0.4]), 0.1, 2.0  # m, s
DURATION, PUSHED, FOR = 4.0, 2.0, 0.1  # s
PUSH = np.array([20.0, 60.0, -50.0])  # N, world axes
RECOVERED = 0.7  # s after the push
POSTURE = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.8])
WEIGHTS = Weights(hand=3e3, last=3e3, axis=10.0, rest=0.1, speed=0.05, effort=1e-4, posture=0.05)
CLOSE, FAR = 0.002, 0.02  # m: from the circle when nothing disturbs, and at least when pushed


def goal(times: Array) -> Array:
    """On the circle (..., 3), m."""
    angle = 2 * np.pi * np.asarray(times)[..., None] / TURN
    return CENTER + RADIUS * np.concatenate([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)


class Predictive:
    """The controller: `update` every period, `torque` as often as wanted."""

    def __init__(self, robot: rbd.Robot, q: Array) -> None:
        self.task = HandTask(robot, "panda_hand_tcp", goal(np.zeros(NODES + 1)), WEIGHTS, step=AHEAD, posture=POSTURE)
        n = robot.model.nv
        self.task.goals = goal(AHEAD * np.arange(NODES + 1))
        found = solve(self.task, np.append(q, np.zeros(n)), np.tile(robot.gravity(q), (NODES, 1)))
        self.xs, self.us, self.policy = found.xs, found.us, found.policy

    def torque(self, x: Array, since: float = 0.0) -> Array:
        """By the first node's gains, within the limits; `since` the period began, s."""
        expected = self.xs[0] + since / AHEAD * (self.xs[1] - self.xs[0])
        u = self.us[0] + self.policy.feedforward[0] + self.policy.gains[0] @ (x - expected)
        return np.clip(u, self.task.lower, self.task.upper)

    def update(self, now: float, x: Array) -> None:
        """One iteration from the state x that was measured at `now`, for the period that begins at now + PERIOD."""
        n, robot = self.task.nv, self.task.robot
        v = x[n:] + PERIOD * robot.forward_dynamics(x[:n], x[n:], self.torque(x))
        start = np.append(x[:n] + PERIOD * v, v)
        share = PERIOD / AHEAD  # of a node, by which the horizon moves on
        xs = _moved_on(self.xs, share)
        policy = Policy(_moved_on(self.policy.feedforward, share), _moved_on(self.policy.gains, share), 0.0)
        self.task.goals = goal(now + PERIOD + AHEAD * np.arange(NODES + 1))
        self.xs, self.us = forward(self.task, start, xs, _moved_on(self.us, share), policy, 1.0)
        self.policy = backward(self.task, self.xs, self.us)


def _moved_on(rows: Array, share: float) -> Array:
    """Rows between those of each node and the next one."""
    moved = rows.copy()
    moved[:-1] += share * (rows[1:] - rows[:-1])
    return moved


class Run(NamedTuple):
    """times (N) [s], hand (N, 3) [m], torques (N, nv) as shares of their limits, seconds of each iteration."""

    times: Array
    hand: Array
    shares: Array
    seconds: Array

    @property
    def error(self) -> Array:
        """Distance of the hand to where it should be (N), m."""
        return np.asarray(np.linalg.norm(self.hand - goal(self.times), axis=1))


def run(push: Array = PUSH) -> Run:
    """The whole motion, in the simulator."""
    model = rbd.load("panda", joints=[f"panda_joint{k}" for k in range(1, 8)])
    robot, n = rbd.Robot(model, friction=True), model.nv
    robot.compile("forward_dynamics", "forward_dynamics_derivatives", "inverse_dynamics_derivatives", "gravity")
    # the push comes with the torques: the controller keeps to their limits, the simulator must not cut it off
    simulation = Simulation(model, q=POSTURE, options=SimulationOptions(step=STEP, effort_limits=False))
    control, every = Predictive(robot, POSTURE), round(PERIOD / STEP)
    hands, shares, seconds = [], [], []
    for k in range(round(DURATION / STEP)):
        x = np.append(simulation.q, simulation.v)
        tau = control.torque(x, k % every * STEP)
        if k % every == 0:
            measured, now = x, simulation.time
        if k % every == every - 1:  # the period is over: what was computed meanwhile counts from the next step on
            begin = time.perf_counter()
            control.update(now, measured)
            seconds.append(time.perf_counter() - begin)
        pose = robot.pose(simulation.q, "panda_hand_tcp")
        pushed = PUSHED <= simulation.time < PUSHED + FOR
        force = robot.jacobian(simulation.q, "panda_hand_tcp")[3:].T @ pose[:3, :3].T @ push if pushed else np.zeros(n)
        hands.append(pose[:3, 3])
        shares.append(tau / model.effort_limit)
        simulation.command(tau + force, np.arange(n))
        simulation.advance()
    return Run(STEP * np.arange(len(hands)), np.array(hands), np.array(shares), np.array(seconds))


def main() -> None:
    path = output_path("model_predictive_control", __doc__)
    found = run()
    t, error = found.times, found.error
    calm = ((t > 1.0) & (t < PUSHED)) | (t > PUSHED + FOR + RECOVERED)
    worst, farthest = error[calm].max(), error[t > PUSHED].max()
    print(
        f"from the circle: {1e3 * worst:.2f} mm at most, pushed {1e3 * farthest:.1f} mm, {RECOVERED} s later as before"
    )
    print(f"torques: at most {np.abs(found.shares).max():.3f} of their limits")
    median, slowest = 1e3 * np.median(found.seconds), 1e3 * found.seconds[1:].max()
    print(f"an iteration: median {median:.2f} ms, slowest {slowest:.2f} ms, which allows {1e3 / median:.0f} Hz")

    figure = new_figure(12, 4)
    left, middle, right = figure.subplots(1, 3)
    circle = goal(np.linspace(0.0, TURN, 200))
    left.plot(circle[:, 0], circle[:, 1], color="0.8", lw=4)
    left.plot(found.hand[:, 0], found.hand[:, 1], lw=1)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="the hand, from above")
    middle.semilogy(t, 1e3 * error)
    middle.set(xlabel="time [s]", ylabel="[mm]", title="from the circle")
    right.plot(t, found.shares, lw=0.8)
    right.set(xlabel="time [s]", ylabel="torque / limit", title="torques")
    for axes in (middle, right):
        axes.axvspan(PUSHED, PUSHED + FOR, color="tab:red", alpha=0.2)
        axes.grid(alpha=0.3)
    save(figure, path)

    if np.abs(found.shares).max() > 1.0:
        raise SystemExit("a torque is beyond its limit")
    if worst > CLOSE:
        raise SystemExit("the hand does not follow the circle")
    if farthest < FAR:
        raise SystemExit("the push does nothing")


if __name__ == "__main__":
    main()
