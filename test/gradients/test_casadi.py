# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot in CasADi: values are those of the kernels, derivatives those of the algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.gradients import CASES, Oracle, assert_near, call, coupled, small_arm, state
from helpers.models.robots import SAMPLE, load_robot, needs_pinocchio, sampled
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.casadi import functions

casadi = pytest.importorskip("casadi")


class Cell:
    """One function of the small arm, of all its real inputs in one column."""

    def __init__(self, name: str) -> None:
        model = small_arm()
        robot = rbd.Robot(model, backend="python")
        constraints = coupled(model) if name.startswith("constrained") else None
        f, frame = functions(robot, constraints=constraints), "tool" if CASES[name].frame else ""
        values = state(robot, rows=1)
        self.oracle = Oracle(robot, name, values, frame, constraints)
        self.x, begin = self.oracle.flat, 0
        self.symbol = casadi.SX.sym("x", len(self.x))
        shaped = dict(values)
        for word in self.oracle.words:
            shape = np.shape(values[word])
            part = self.symbol[begin : begin + int(np.prod(shape))]
            shaped[word] = casadi.reshape(part, shape[1], shape[0]).T if len(shape) == 2 else part
            begin += int(np.prod(shape))
        found = call(f, name, shaped, frame)
        self.expression = casadi.vertcat(*(casadi.vec(each.T) for each in found))
        rng = np.random.default_rng(0)
        self.weights = rng.normal(size=self.expression.numel())
        self.direction = rng.normal(size=len(self.x))

    def value(self, expression):
        return np.array(casadi.Function("value", [self.symbol], [expression])(self.x))


@pytest.mark.parametrize("name", table(CASES, ("forward_dynamics", "pose")))
def test_derivatives_of_each_function_are_those_of_its_algorithm(name):
    cell = Cell(name)
    x, w, d, (first, second) = cell.x, cell.weights, cell.direction, cell.oracle.tolerances
    assert_near(cell.value(cell.expression)[:, 0], cell.oracle(x), 1e-14)
    assert_near(cell.value(casadi.jacobian(cell.expression, cell.symbol)), cell.oracle.jacobian(x), first)
    hessian, _ = casadi.hessian(casadi.dot(casadi.DM(w), cell.expression), cell.symbol)
    assert_near(cell.value(hessian) @ d, cell.oracle.curvature(x, w, d), second)


@needs_pinocchio
@pytest.mark.parametrize("name", sampled(SAMPLE, ("ur5_robot",)))
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_values_are_those_of_the_kernels(name, base):
    model = load_robot(name, base)
    robot = rbd.Robot(model, friction=True)
    f, rng = functions(robot), np.random.default_rng(0)
    q, (v, a) = model.random(0), rng.normal(size=(2, model.nv))
    frame, wrench = model.frame_names[-1], rng.normal(size=6)
    tau = robot.inverse_dynamics(q, v, a, f_ext={frame: wrench})
    assert_near(f.inverse_dynamics(q, v, a, f_ext={frame: wrench}), tau[:, None], 1e-14)
    assert_near(f.mass_matrix(q), robot.mass_matrix(q), 1e-14)
    assert_near(f.pose(q, frame), robot.pose(q, frame), 1e-14)
    found, wanted = f.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau)[:, None]
    assert_near(found, wanted, 1e-16 * np.linalg.cond(robot.mass_matrix(q)) + 1e-14)


def test_payloads_symbols_and_code(tmp_path):
    robot = rbd.Robot(small_arm(), backend="python")
    f, q = functions(robot), state(robot)["q"]
    mass, com = casadi.SX.sym("mass"), casadi.SX.sym("com", 3)
    held = f.gravity(q, inertial_parameters=f.with_payload("tool", mass, com=com))
    value = casadi.Function("held", [mass, com], [held])
    carrying = robot.carrying("tool", 1.5, com=(0.1, 0.0, 0.2))
    assert_near(value(1.5, [0.1, 0.0, 0.2]), carrying.gravity(q)[:, None], 1e-14)
    wanted = (robot.carrying("tool", 1.6).gravity(q) - robot.carrying("tool", 1.4).gravity(q)) / 0.2
    slope = casadi.Function("slope", [mass, com], [casadi.jacobian(held, mass)])
    assert_near(slope(1.5, [0.0, 0.0, 0.0]), wanted[:, None], 1e-12)
    x = casadi.MX.sym("x", 2)  # of MX it is a call
    gravity = casadi.Function("gravity", [x], [f.gravity(x)])
    assert_near(gravity(q), robot.gravity(q)[:, None], 1e-14)
    code = casadi.CodeGenerator("held.c")
    code.add(value)
    assert "held" in code.dump()
    with pytest.raises(ValueError, match="gravity: q is 3 x 1, expected 2 x 1"):
        f.gravity(np.zeros(3))
    with pytest.raises(ValueError, match="com is 2 x 1, expected 3 numbers"):
        f.with_payload("tool", mass, com=(0.0, 0.0))
