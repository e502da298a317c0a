# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot in PyTorch: each transformation of each function, against complex steps of the algorithms."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from helpers.checks.gradients import CASES, ROBOTS, Cell, assert_near, floating_arm, small_arm, state
from helpers.wide import table, wide

import rbd_dynamics as rbd
from rbd_dynamics.torch import functions

torch = pytest.importorskip("torch")

TRANSFORMATIONS = ("eager", "vmap", "grad", "jvp", "jacfwd", "jacrev", "hessian", "gradgradcheck", "compile")
CELLS = [(of, name, how) for of in ROBOTS for name in CASES for how in TRANSFORMATIONS]
#: of one function each time
OFTEN = ("vmap", "grad", "jacrev", "hessian", "gradgradcheck")


cell_of = cache(partial(Cell, functions, torch.cat, array=torch.tensor))


@pytest.mark.parametrize(
    ("of", "name", "how"), table(CELLS, lambda cell: cell[:2] == ("arm", "forward_dynamics") and cell[2] in OFTEN)
)
def test_each_transformation_of_each_function(of, name, how):
    cell = cell_of(of, name)
    d, w, oracle = cell.direction, cell.weights.numpy(), cell.oracle
    x = torch.tensor(cell.x)
    if how == "eager":
        assert_near(cell(x), oracle(cell.x), 1e-14)
    elif how == "vmap":
        batch = cell.x + 1e-3 * np.arange(5)[:, None] * d
        assert_near(torch.func.vmap(cell)(torch.tensor(batch)), oracle(batch), 1e-13)
        slopes = np.stack([w @ oracle.jacobian(each) for each in batch])
        assert_near(torch.func.vmap(torch.func.grad(cell.weighted))(torch.tensor(batch)), slopes, cell.first)
    elif how == "grad":
        x.requires_grad_()
        cell.weighted(x).backward()
        assert_near(x.grad, w @ oracle.jacobian(cell.x), cell.first)
        assert_near(torch.func.grad(cell.weighted)(x.detach()), w @ oracle.jacobian(cell.x), cell.first)
    elif how == "jvp":
        assert_near(torch.func.jvp(cell, (x,), (torch.tensor(d),))[1], oracle.jacobian(cell.x) @ d, cell.first)
    elif how in ("jacfwd", "jacrev"):
        assert_near(getattr(torch.func, how)(cell)(x), oracle.jacobian(cell.x), cell.first)
    elif how == "hessian":
        for found in (torch.func.hessian(cell.weighted)(x), torch.func.jacrev(torch.func.jacrev(cell.weighted))(x)):
            assert_near(found @ torch.tensor(d), oracle.curvature(cell.x, w, d), cell.second)
    elif how == "gradgradcheck":
        x.requires_grad_()
        for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
            assert check(cell, x, fast_mode=True, atol=1e-4)
    elif how == "compile":
        torch._dynamo.reset()  # it counts how often the same code was compiled
        compiled = torch.compile(cell.weighted, fullgraph=True, backend="aot_eager")
        x.requires_grad_()
        compiled(x).backward()
        assert_near(x.grad, w @ oracle.jacobian(cell.x), cell.first)


def test_a_floating_base_has_gradients_by_its_tangent():
    robot = rbd.Robot(floating_arm())
    f, values = functions(robot), state(robot)
    q, v, tau = (torch.tensor(values[name]) for name in ("q", "v", "tau"))
    still = torch.zeros(robot.model.nv, dtype=torch.float64)
    found = torch.func.jacrev(lambda dq: f.forward_dynamics(f.integrate(q, dq), v, tau))(still)
    assert_near(found, robot.forward_dynamics_derivatives(*(x.numpy() for x in (q, v, tau)))[0], 1e-13)


def test_broadcasts_precision_and_what_is_bad():
    robot = rbd.Robot(small_arm())
    f, rng = functions(robot), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 1, 2)), rng.normal(size=(4, 2)), rng.normal(size=2)
    given = [torch.tensor(x, requires_grad=True) for x in (q, v, tau)]
    found = f.forward_dynamics(*given)
    assert_near(found.detach(), robot.forward_dynamics(q, v, tau), 1e-14)
    found.sum().backward()
    by_q, by_v, by_tau = (each.sum(axis=-2) for each in robot.forward_dynamics_derivatives(q, v, tau))
    for tensor, slope in zip(given, (by_q.sum(axis=1, keepdims=True), by_v.sum(axis=0), by_tau.sum(axis=(0, 1)))):
        assert_near(tensor.grad, slope, 1e-13)
    single = [x.detach().to(torch.float32) for x in given]
    assert f.forward_dynamics(*single).dtype == torch.float32
    bad = torch.tensor(q[:, 0])
    bad[1, 0] = torch.nan
    assert torch.isfinite(f.gravity(bad)).all(dim=1).tolist() == [True, False, True]
    with pytest.raises(ValueError, match=r"forward_dynamics: v has shape \(3,\), expected \(..., 2\)"):
        f.forward_dynamics(given[0], torch.zeros(3), given[2])
    with pytest.raises(ValueError, match="gravity: q is on meta, expected one on the processor"):
        f.gravity(torch.zeros(2, device="meta"))


@wide
def test_the_operator_keeps_what_operators_promise():
    """Its fake kernel, autograd and schema, by PyTorch's own checks."""
    from rbd_dynamics.torch import operators

    robot = rbd.Robot(small_arm())
    f, values = functions(robot), state(robot)
    tensors = [torch.tensor(values[name], requires_grad=True) for name in ("q", "v", "tau", "inertial_parameters")]
    number = operators._ROBOTS.index(f.operations)
    torch.library.opcheck(operators._operator, (tensors, "forward_dynamics", number))


@wide
def test_payloads_have_gradients():
    robot = rbd.Robot(small_arm())
    f, q = functions(robot), torch.tensor(state(robot)["q"])
    mass = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    com = torch.tensor([0.1, 0.0, 0.2], dtype=torch.float64, requires_grad=True)

    def held(mass, com):
        return f.gravity(q, inertial_parameters=f.with_payload("tool", mass, com=com))

    carrying = robot.carrying("tool", 1.5, com=com.tolist())
    assert_near(held(mass, com).detach(), carrying.gravity(q.numpy()), 1e-14)
    assert torch.autograd.gradcheck(held, (mass, com))
