# SPDX-License-Identifier: Apache-2.0
"""Optimal control of examples/ against finite differences, dense solutions and other starts; what fails, says so."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers.checks.oracles import assert_close
from helpers.wide import table, wide
from scipy.optimize import lsq_linear

STEPS, STATES, CONTROLS = 6, 4, 2


class LinearQuadratic:
    """A random linear system with a cost of squares."""

    def __init__(self, bound: float) -> None:
        rng = np.random.default_rng(3)
        self.A = np.eye(STATES) + 0.3 * rng.normal(size=(STEPS, STATES, STATES))
        self.B = rng.normal(size=(STEPS, STATES, CONTROLS))
        self.target = rng.normal(size=STATES)
        self.lower, self.upper = np.full(CONTROLS, -bound), np.full(CONTROLS, bound)

    def step(self, k, x, u):
        return self.A[k] @ x + self.B[k] @ u

    def linearised(self, xs, us):
        return self.A, self.B

    def difference(self, start, end):
        return end - start

    def residuals(self, xs, us):
        return np.concatenate([(xs - self.target).ravel(), 0.5 * us.ravel()])

    def cost(self, xs, us):
        return 0.5 * float(self.residuals(xs, us) @ self.residuals(xs, us))

    def quadratic(self, xs, us):
        from ilqr import Quadratic

        xx, xu = np.tile(np.eye(STATES), (STEPS + 1, 1, 1)), np.zeros((STEPS, STATES, CONTROLS))
        return Quadratic(xs - self.target, 0.25 * us, xx, xu, np.tile(0.25 * np.eye(CONTROLS), (STEPS, 1, 1)))


@pytest.mark.parametrize("bound", [np.inf, 0.3])
def test_the_solver_finds_what_a_dense_solution_of_all_steps_finds(example, bound):
    ilqr = example("ilqr")
    problem, start = LinearQuadratic(bound), np.ones(STATES)
    still = np.zeros((STEPS, CONTROLS))

    def residuals(u):
        us = u.reshape(STEPS, CONTROLS)
        return problem.residuals(ilqr.roll_out_controls(problem, start, us), us)

    at_zero = residuals(still.ravel())
    J = np.stack([residuals(each) - at_zero for each in np.eye(still.size)], axis=1)
    dense = lsq_linear(J, -at_zero, bounds=(-bound, bound), method="bvls", tol=1e-15).x.reshape(still.shape)
    found = ilqr.solve(problem, start, still, tolerance=1e-14)
    assert found.converged
    assert len(found.costs) <= (2 if bound == np.inf else 12)  # without bounds: one iteration
    assert_close(found.us, dense, 1e-6)
    assert np.abs(found.us).max() <= bound
    assert (bound == np.inf) or (np.abs(found.us) == bound).any()


def test_bounded_minimum_is_that_of_another_solver(example):
    ilqr, rng = example("ilqr"), np.random.default_rng(0)
    for _ in range(20):
        R, lower = rng.normal(size=(7, 7)) + 2 * np.eye(7), -rng.uniform(0.0, 1.0, 7)
        upper, g = lower + rng.uniform(0.1, 1.0, 7), rng.normal(size=7)
        other = lsq_linear(R, -np.linalg.solve(R.T, g), bounds=(lower, upper), method="bvls", tol=1e-15).x
        x, free = ilqr.bounded_minimum(R.T @ R, g, lower, upper)
        assert_close(x, other, 1e-7)
        assert np.array_equal(free, (other > lower + 1e-9) & (other < upper - 1e-9))


def test_the_task_of_the_hand_has_the_derivatives_of_differences(example):
    reaching = example("reaching")
    problem, rng, e = reaching.task(), np.random.default_rng(1), 1e-6
    problem.goals = problem.goals[:9]
    problem._hand, problem._speed = problem._hand[-9:], problem._speed[-9:]
    problem.axis = np.array([0.6, 0.0, -0.8])
    xs, us = rng.uniform(-1.5, 1.5, (9, 12)), 20 * rng.normal(size=(8, 6))
    xs[4, 7], xs[5, 8] = 3.3, -3.4  # beyond the speed limits
    dx, du = rng.normal(size=xs.shape), rng.normal(size=us.shape)
    A, B = problem.linearised(xs, us)
    for k in range(8):
        ahead, back = (problem.step(k, xs[k] + s * dx[k], us[k] + s * du[k]) for s in (e, -e))
        assert_close(A[k] @ dx[k] + B[k] @ du[k], (ahead - back) / (2 * e), 1e-7)
    cost = problem.quadratic(xs, us)
    slope = (problem.cost(xs + e * dx, us + e * du) - problem.cost(xs - e * dx, us - e * du)) / (2 * e)
    assert_close((cost.x * dx).sum() + (cost.u * du).sum(), slope, 1e-6)


def test_the_projected_gradient_is_that_of_the_whole_motion(example):
    ilqr, reaching = example("ilqr"), example("reaching")
    problem = reaching.task()
    start, us = reaching.at_rest(problem)
    change = np.random.default_rng(2).normal(size=us.shape)

    def cost(length):
        return problem.cost(ilqr.roll_out_controls(problem, start, us + length * change), us + length * change)

    gradient = ilqr.projected_gradient(problem, ilqr.roll_out_controls(problem, start, us), us)
    assert_close((gradient * change).sum(), (cost(1e-5) - cost(-1e-5)) / 2e-5, 1e-6)


@wide  # kernels of a quadruped on its feet
def test_the_jump_has_the_derivatives_of_differences(example):
    ilqr, task, rng, e = example("ilqr"), example("jump_task"), np.random.default_rng(0), 1e-6
    problem = task.Jump()
    model = problem.model
    us = 0.3 * rng.normal(size=(task.NODES, 12))
    xs = np.tile(problem.stand, (task.NODES + 1, 1))
    xs[:, : model.nq] = model.integrate(xs[:, : model.nq], 0.05 * rng.normal(size=(len(xs), model.nv)))
    xs[:, model.nq :] = 0.1 * rng.normal(size=(len(xs), model.nv))
    d, w = rng.normal(size=(len(xs), 2 * model.nv)), rng.normal(size=us.shape)

    def moved(s):
        q, v = problem.split(xs)
        return np.concatenate([model.integrate(q, s * d[:, : model.nv]), v + s * d[:, model.nv :]], axis=1)

    for k in (3, task.STANCE, task.TOUCHDOWN - 1, task.TOUCHDOWN, task.NODES - 1):
        there = xs.copy()
        there[k + 1] = problem.step(k, xs[k], us[k])  # by where the step ends
        A, B = problem.linearised(there, us)
        back, ahead = (problem.step(k, moved(s)[k], us[k] + s * w[k]) for s in (-e, e))
        assert_close(A[k] @ d[k] + B[k] @ w[k], problem.difference(back, ahead) / (2 * e), 1e-6)
    cost = problem.quadratic(xs, us)
    slope = (problem.cost(moved(e), us + e * w) - problem.cost(moved(-e), us - e * w)) / (2 * e)
    assert_close((cost.x * d).sum() + (cost.u * w).sum(), slope, 1e-6)
    assert ilqr.backward(problem, xs, us).slope < 0


def test_intervals_of_the_swing_up_have_the_derivatives_of_differences(example):
    swing, rng, e = example("swing_up"), np.random.default_rng(0), 1e-6
    robot = swing.cart_pole()
    x, u, d = rng.normal(size=(5, 4)), 5 * rng.normal(size=5), rng.normal(size=(5, 6))
    d[:, 5] = 0.7
    _, D = swing.ends(robot, x, u, 0.2)
    ahead, back = (swing.ends(robot, x + s * d[:, :4], u + s * d[:, 4], 0.2 + s * 0.7)[0] for s in (e, -e))
    assert_close((D @ d[:, :, None])[:, :, 0], (ahead - back) / (2 * e), 1e-7)


def test_the_swing_up_from_another_guess_takes_the_same_time(example):
    swing = example("swing_up")
    robot = swing.cart_pole()
    motion = swing.least_time(robot, guess=2.5)
    times, _ = swing.switching_times(robot, motion)
    assert motion.duration == pytest.approx(1.71948, rel=1e-5)  # from 1.5 s too
    assert times[-1] == pytest.approx(1.71438, rel=1e-5)


def test_nodes_of_a_reach_have_the_derivatives_of_differences(example):
    import rbd_dynamics as rbd
    from rbd_dynamics.kernels.inputs import Inputs

    kernels, rng, e = example("node_kernels"), np.random.default_rng(6), 1e-6
    robot = rbd.Robot(rbd.load("panda", joints=[f"panda_joint{k}" for k in range(1, 8)]))
    goal, posture, frame = np.array([0.3, 0.4, 0.6]), robot.model.random(rng), "panda_hand_tcp"
    running, last = kernels.Weights(3.0, 0.2, 0.1, 2e-3), kernels.Weights(50.0, 0.1, 2.0, 7.0)
    horizon = kernels.Horizon(robot, frame, goal, posture, step=0.02, nodes=2, running=running, last=last)
    horizon.states[:] = [[*robot.model.random(rng), *rng.normal(size=7)] for _ in range(3)]
    horizon.us[:2] = 10.0 * rng.normal(size=(2, 7))

    def ahead(k, x, u):
        after, cost = horizon.step((x, u, horizon.weights[k], horizon.h[k], *horizon.shared))
        return np.append(after, cost)

    def weighted(k, x, u):
        """Residuals, of whose squares the cost is half the sum."""
        own = {"state": x, "u": u, "goal": goal, "posture": posture, "inertia": robot.inertia_input.ravel()}
        found = kernels.residuals(Inputs(robot.model, own, frame=robot.model.frame(frame)))
        return np.sqrt(np.repeat(horizon.weights[k], [3, 7, 7, 7])) * np.concatenate(found)

    def slopes(function, k):
        whole = np.append(horizon.states[k], horizon.us[k])
        moves = e * np.eye(21)
        sides = [function(k, z[:14], z[14:]) for z in (*(whole + moves), *(whole - moves))]
        return (np.array(sides[:21]) - sides[21:]).T / (2.0 * e)

    Fx, Fu, Lx, Lu, Lxx, Lxu = horizon.derivatives
    for k in range(3):
        slope, of_residuals = slopes(ahead, k), slopes(weighted, k)
        residual = weighted(k, horizon.states[k], horizon.us[k])
        assert_close(0.5 * residual @ residual, ahead(k, horizon.states[k], horizon.us[k])[-1], 1e-12)
        assert_close(np.hstack([Fx[k], Fu[k]]), slope[:14], 1e-7)
        assert_close(np.append(Lx[k], Lu[k]), slope[14], 1e-6)
        hessian = of_residuals.T @ of_residuals
        assert_close(np.hstack([Lxx[k], Lxu[k]]), hessian[:14], 1e-6)
    np.testing.assert_array_equal(Lu[2], 0.0)
    horizon.states[1] += 0.1
    assert horizon.derivatives[0] is Fx  # nobody has said that anything changed
    before = Fx[1].copy()
    horizon.forget()
    assert np.abs(horizon.derivatives[0][1] - before).max() > 1e-4


@pytest.mark.parametrize(
    "name", table(["reaching", "model_predictive_control", "swing_up", "jump"], ["reaching", "swing_up"])
)
def test_a_claim_that_does_not_hold_ends_the_script(example, monkeypatch, tmp_path, name):
    pytest.importorskip("matplotlib")
    script = example(name)
    if name in ("reaching", "jump"):
        solve = script.solve
        monkeypatch.setattr(script, "solve", lambda *given, **_: solve(*given, iterations=3))
    elif name == "swing_up":
        least = script.least_time
        monkeypatch.setattr(script, "least_time", lambda robot: least(robot, guess=1.7, iterations=12))
    else:
        monkeypatch.setattr(script, "DURATION", 1.5)
        monkeypatch.setattr(script, "PUSHED", 1.2)
        monkeypatch.setattr(script, "RECOVERED", 0.0)  # recovered at once
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path / "picture.png")])
    with pytest.raises(SystemExit) as stopped:
        script.main()
    assert isinstance(stopped.value.code, str)


def test_the_benchmark_compares_the_same_problem(example):
    pytest.importorskip("pinocchio")
    compared = pytest.importorskip("benchmarks.dynamics.optimal_control")
    assert compared.difference(*compared.both()) < 1e-11
