# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot for GPUs: each by its kernel, compiled for the processor, and on a device where there is one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from helpers.checks.cuda_on_host import Processor, needs_device
from helpers.checks.exported import needs
from helpers.checks.gradients import CASES, ROBOTS, Cell, assert_near, floating_arm, small_arm
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.cuda import functions
from rbd_dynamics.cuda.robot_functions import CudaFunctions

FEW = {"inverse_dynamics", "hybrid_dynamics", "potential_energy", "constrained_forward_dynamics", "step"}


@pytest.fixture
def on_processor(tmp_path):
    def made(robot: rbd.Robot, **options: Any) -> CudaFunctions:
        return CudaFunctions(robot, Processor(tmp_path), **options)

    return made


@needs("g++")
@pytest.mark.parametrize(
    ("of", "name"), table([(of, name) for of in ROBOTS for name in CASES], lambda c: c[0] == "arm" and c[1] in FEW)
)
def test_each_function(on_processor, of, name):
    cell = Cell(on_processor, np.concatenate, of, name)
    assert_near(cell(cell.x), cell.oracle(cell.x), 1e-12)


@needs("g++")
def test_batches_loads_and_wrenches(on_processor):
    """Leading axes that broadcast, the robot's payload as it is at the call, a bad sample, double precision by one."""
    robot, rng = rbd.Robot(floating_arm(), errors="nan"), np.random.default_rng(1)
    f, nv = on_processor(robot), robot.model.nv
    q = np.array([robot.model.random(rng) for _ in range(15)]).reshape(5, 3, -1)
    v, tau = rng.normal(size=(3, nv)), rng.normal(size=(5, 1, nv))
    q[2, 1, 3:7] *= 1.1
    wrench = rng.normal(size=(3, 6))
    for _ in range(2):
        expected = robot.forward_dynamics(q, v, tau, f_ext={"tool": wrench})
        found = f.forward_dynamics(q, v, tau, f_ext={"tool": wrench})
        assert found.shape == (5, 3, nv) and np.isnan(found[2, 1]).all()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.nanmax(np.abs(expected)))
        assert np.isfinite(found).all(axis=-1).sum() == 14
        robot.set_payload("tool", 1.5, com=(0.0, 0.1, 0.0))
    robot.set_payload("tool", 0.0)
    heavy = f.with_payload("tool", np.array([0.5, 2.0]), com=(0.1, 0.0, 0.0))
    many = f.forward_dynamics(q[0, 0], v[0], tau[0, 0], f_ext={"tool": wrench[0]}, inertial_parameters=heavy)
    for own, mass in zip(many, (0.5, 2.0), strict=True):
        loaded = robot.carrying("tool", mass, com=(0.1, 0.0, 0.0))
        assert_near(own, loaded.forward_dynamics(q[0, 0], v[0], tau[0, 0], f_ext={"tool": wrench[0]}), 1e-12)
    assert f.forward_dynamics(q[:0], v[:1], tau[:0]).shape == (0, 3, nv)
    with pytest.raises(ValueError, match=r"forward_dynamics: v has shape \(2,\), expected \(..., 8\)"):
        f.forward_dynamics(q, [1.0, 2.0], tau)


@needs("g++")
def test_precision_is_that_of_the_widest_array(on_processor):
    robot = rbd.Robot(small_arm())
    f = on_processor(robot)
    q, v, a = np.random.default_rng(2).normal(size=(3, 4, 2)).astype(np.float32)
    single, double = f.inverse_dynamics(q, v, a), f.inverse_dynamics(q.astype(float), v, a)
    assert single.dtype == np.float32 and double.dtype == np.float64
    assert f.inverse_dynamics(q[0], [0.1, 0.2], [0, 0]).dtype == np.float32
    assert_near(double, robot.inverse_dynamics(q, v, a), 1e-12)
    assert_near(single, double, 1e-5)
    with pytest.raises(TypeError, match="real numbers"):
        f.gravity(q + 1j)


@needs("g++")
def test_derivatives_are_those_of_the_robot(on_processor):
    robot = rbd.Robot(small_arm())
    f = on_processor(robot)
    q, v, x = np.random.default_rng(3).normal(size=(3, 4, 2))
    for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        for own, right in zip(getattr(f, name)(q, v, x), getattr(robot, name)(q, v, x), strict=True):
            assert_near(own, right, 1e-12)


def test_without_cupy_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match=r"^functions on a GPU need the package cupy-cuda12x: pip install '[^\n]*'$"):
        functions(rbd.Robot(small_arm(), backend="reference"))


# --- on a device --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("of", "name"), [(of, name) for of in ROBOTS for name in CASES])
def test_each_function_on_a_device(of, name):
    needs_device()
    import cupy

    cell = Cell(functions, cupy.concatenate, of, name)
    assert_near(cupy.asnumpy(cell(cupy.asarray(cell.x))), cell.oracle(cell.x), 1e-12)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries_on_a_device(library):
    needs_device()
    import cupy

    robot = rbd.Robot(small_arm())
    q, v, a = np.random.default_rng(3).normal(size=(3, 1000, 2)).astype(np.float32)
    if library == "torch":
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("PyTorch has no device")
        given, back = [torch.from_numpy(x).cuda() for x in (q, v, a)], torch.from_dlpack
    else:
        jax = pytest.importorskip("jax")
        if jax.default_backend() != "gpu":
            pytest.skip("JAX has no device")
        given, back = [jax.numpy.asarray(x) for x in (q, v, a)], jax.dlpack.from_dlpack
    found = functions(robot).inverse_dynamics(*given)
    assert_near(cupy.asnumpy(found), robot.inverse_dynamics(q, v, a), 1e-5)
    assert back(found).shape == (1000, 2)
    if library == "torch":
        with pytest.raises(TypeError, match="q: cannot be read by DLPack"):
            functions(robot).gravity(given[0].requires_grad_())
