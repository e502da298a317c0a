# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot in JAX: each transformation of each function, against complex steps of the algorithms."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache, partial

import numpy as np
import pytest
from helpers.checks.gradients import CASES, ROBOTS, Cell, assert_near, floating_arm, small_arm, state
from helpers.models.robots import load_robot
from helpers.wide import table, wide

import rbd_dynamics as rbd
from rbd_dynamics.jax import functions

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite", reason="functions of JAX need machine code")
jnp = pytest.importorskip("jax.numpy")

from rbd_dynamics.jax.call_frame import HEADER, LAYOUT, fields_of, minor_version  # noqa: E402

TRANSFORMATIONS = (
    "eager", "jit", "vmap", "grad", "jvp", "vjp", "jacfwd", "jacrev", "hessian", "grad of grad", "scan", "export",
)  # fmt: skip
#: of one function each time
OFTEN = ("jit", "vmap", "grad", "hessian", "scan", "export")
CELLS = [(of, name, how) for of in ROBOTS for name in CASES for how in TRANSFORMATIONS]


@pytest.fixture(autouse=True)
def double():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


cell_of = cache(partial(Cell, functions, jnp.concatenate))


@pytest.mark.parametrize(
    ("of", "name", "how"), table(CELLS, lambda cell: cell[:2] == ("arm", "forward_dynamics") and cell[2] in OFTEN)
)
def test_each_transformation_of_each_function(of, name, how):
    cell = cell_of(of, name)
    x, d, w, oracle = cell.x, cell.direction, cell.weights, cell.oracle
    if how == "eager":
        assert_near(cell(x), oracle(x), 1e-14)
    elif how == "jit":
        assert_near(jax.jit(cell)(x), oracle(x), 1e-14)
    elif how == "vmap":
        batch = x + 1e-3 * np.arange(5)[:, None] * d
        assert_near(jax.vmap(cell)(batch), oracle(batch), 1e-13)
        slopes = np.stack([w @ oracle.jacobian(each) for each in batch])
        assert_near(jax.vmap(jax.grad(cell.weighted))(batch), slopes, cell.first)
    elif how == "grad":
        assert_near(jax.grad(cell.weighted)(x), w @ oracle.jacobian(x), cell.first)
    elif how == "jvp":
        assert_near(jax.jvp(cell, (x,), (d,))[1], oracle.jacobian(x) @ d, cell.first)
    elif how == "vjp":
        assert_near(jax.vjp(cell, x)[1](jnp.asarray(w))[0], w @ oracle.jacobian(x), cell.first)
    elif how in ("jacfwd", "jacrev"):
        assert_near(getattr(jax, how)(cell)(x), oracle.jacobian(x), cell.first)
    elif how == "hessian":
        assert_near(jax.hessian(cell.weighted)(x) @ d, oracle.curvature(x, w, d), cell.second)
    elif how == "grad of grad":
        found = jax.grad(lambda x: jax.grad(cell.weighted)(x) @ d)(x)
        assert_near(found, oracle.curvature(x, w, d), cell.second)
    elif how == "scan":

        def steps(x):
            moved, _ = jax.lax.scan(
                lambda x, k: (x + 1e-3 * d * jnp.tanh(k * cell.weighted(x)), None), x, jnp.arange(3.0)
            )
            return moved @ d

        def one_by_one(x):
            for k in range(3):
                x = x + 1e-3 * d * jnp.tanh(k * cell.weighted(x))
            return x @ d

        assert_near(jax.jit(jax.grad(steps))(x), jax.grad(one_by_one)(x), 1e-13)
    elif how == "export":
        exported = cell.f.export(jax.jit(jax.grad(cell.weighted)))(x)
        assert_near(exported.call(x), w @ oracle.jacobian(x), cell.first)


def quadruped() -> rbd.Model:
    """Configuration 19, tangent 18."""
    return load_robot("solo12", "floating")


# --- tangents of quaternions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", table([floating_arm, quadruped], (floating_arm,)))
def test_a_floating_base_has_gradients_by_its_tangent(model):
    """Configurations have a number more than tangents: along `integrate` they are the library's own derivatives."""
    robot = rbd.Robot(model())
    f, values = functions(robot), state(robot)
    q, v, tau = (values[name] for name in ("q", "v", "tau"))
    still = jnp.zeros(robot.model.nv)

    def acceleration(dq, v, tau):
        return f.forward_dynamics(f.integrate(q, dq), v, tau)

    expected = robot.forward_dynamics_derivatives(q, v, tau)
    for how in (jax.jacfwd, jax.jacrev):
        for found, wanted in zip(how(acceleration, argnums=(0, 1, 2))(still, v, tau), expected):
            assert_near(found, wanted, 1e-13)
    nq, nv = robot.model.nq, robot.model.nv
    assert jax.jacrev(f.forward_dynamics)(q, v, tau).shape == (nv, nq) and nq == nv + 1
    assert_near(
        jax.jacrev(f.difference, argnums=1)(q, q) @ jax.jacfwd(f.integrate, argnums=1)(q, still), np.eye(nv), 1e-13
    )


# --- precision, batches, what is bad -----------------------------------------------------------------------------


def test_single_precision_follows_the_arguments():
    robot = rbd.Robot(small_arm())
    f, values = functions(robot), state(robot)
    given = [values[name] for name in ("q", "v", "tau")]
    small = [jnp.asarray(x, jnp.float32) for x in given]
    found = f.forward_dynamics(*small)
    assert found.dtype == jnp.float32 and f.forward_dynamics(*given).dtype == jnp.float64
    assert_near(found, robot.forward_dynamics(*given), 1e-5)
    slopes = jax.grad(lambda *x: f.forward_dynamics(*x).sum(), argnums=(0, 1, 2))(*small)
    for slope, matrix in zip(slopes, robot.forward_dynamics_derivatives(*given)):
        assert slope.dtype == jnp.float32
        assert_near(slope, matrix.sum(axis=0), 1e-4)
    with pytest.raises(TypeError, match="complex128"):
        f.gravity(1j * given[0])


def test_leading_axes_broadcast_and_nested_maps_are_one_batch():
    robot = rbd.Robot(small_arm())
    f, rng = functions(robot), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 1, 2)), rng.normal(size=(4, 2)), rng.normal(size=2)
    expected = robot.forward_dynamics(q, v, tau)
    assert_near(f.forward_dynamics(q, v, tau), expected, 1e-14)
    inner = jax.vmap(f.forward_dynamics, (None, 0, None))
    nested = jax.vmap(inner, (0, None, None))
    assert_near(nested(q[:, 0], v, tau), expected, 1e-14)
    calls = re.findall(r"custom_call @\"rbd_dynamics/[^\n]*", jax.jit(nested).lower(q[:, 0], v, tau).as_text())
    assert len(calls) == 1 and "tensor<3x4x2xf64>" in calls[0]
    wanted = jax.vmap(lambda x: jax.jacfwd(f.forward_dynamics)(x, v[0], tau))(q[:, 0])
    assert_near(wanted, robot.forward_dynamics_derivatives(q[:, 0], v[0], tau)[0], 1e-13)
    assert f.forward_dynamics(np.zeros((0, 2)), v[0], tau).shape == (0, 2)
    with pytest.raises(ValueError, match=r"forward_dynamics: v has shape \(3,\), expected \(..., 2\)"):
        f.forward_dynamics(q, np.zeros(3), tau)
    with pytest.raises(ValueError, match="numbers of samples differ: q has .*, v has"):
        f.forward_dynamics(np.zeros((3, 2)), v, tau)


def test_bad_samples_are_nan_and_no_others():
    """Angles beyond the fast sine are no bad ones: the plain algorithm has them."""
    robot = rbd.Robot(small_arm())
    f, rng = functions(robot), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 200, 2))
    q[7, 1], v[150, 0], q[3, 0] = np.nan, np.inf, 3e7
    slopes = jax.jit(
        jax.grad(lambda q, v: jnp.where(jnp.arange(200) == 7, 0.0, 1.0) @ f.forward_dynamics(q, v, tau)[:, 0])
    )
    for found in (f.forward_dynamics(q, v, tau), slopes(q, v)):
        assert set(np.flatnonzero(~np.isfinite(found).all(axis=1))) == {7, 150}
    assert_near(f.forward_dynamics(q[3], v[3], tau[3]), robot.forward_dynamics(q[3], v[3], tau[3]), 1e-14)
    assert_near(slopes(q, v)[3], robot.forward_dynamics_derivatives(q[3], v[3], tau[3])[0][0], 1e-12)
    assert np.isnan(f.gravity(np.array([np.nan, 0.0]))).all()


def test_loads_and_wrenches_have_gradients():
    robot = rbd.Robot(small_arm())
    f, values = functions(robot), state(robot)
    q, v, a = (values[name] for name in ("q", "v", "a"))
    wrench = np.array([0.3, -0.2, 0.5, 4.0, 1.0, -2.0])
    assert_near(
        f.inverse_dynamics(q, v, a, f_ext={"tool": wrench}),
        robot.inverse_dynamics(q, v, a, f_ext={"tool": wrench}),
        1e-14,
    )
    slope = jax.jacrev(lambda w: f.inverse_dynamics(q, v, a, f_ext={"tool": w}))(wrench)
    assert_near(slope, robot.inverse_dynamics_wrench_derivative(q, "tool"), 1e-13)

    by_inertia = jax.jacfwd(lambda p: f.inverse_dynamics(q, v, a, inertial_parameters=p))(robot.inertial_parameters)
    assert_near(by_inertia.reshape(2, 20), robot.regressor(q, v, a), 1e-13)

    with pytest.raises(TypeError, match="expected a mapping"):
        f.inverse_dynamics(q, v, a, f_ext=wrench)


@wide
def test_payloads_have_gradients():
    robot = rbd.Robot(small_arm())
    f, q = functions(robot), state(robot)["q"]
    com, inertia = np.array([0.1, 0.0, 0.2]), np.array([0.02, 0.0, 0.001, 0.03, 0.0, 0.02])

    def held(mass, com, inertia):
        return f.gravity(q, inertial_parameters=f.with_payload("tool", mass, com=com, inertia=inertia))

    carrying = robot.carrying("tool", 1.5, com=com, inertia=inertia)
    assert_near(held(1.5, com, inertia), carrying.gravity(q), 1e-14)
    assert_near(functions(carrying).gravity(q), carrying.gravity(q), 1e-14)
    slopes = jax.jacrev(held, argnums=(0, 1))(1.5, com, inertia)
    ahead, behind = (robot.carrying("tool", 1.5 + h, com=com, inertia=inertia).gravity(q) for h in (1e-4, -1e-4))
    assert_near(slopes[0], (ahead - behind) / 2e-4, 1e-9)
    masses = np.linspace(0.5, 2.0, 5)
    many = jax.vmap(held, (0, None, None))(masses, com, inertia)
    assert_near(many[3], held(masses[3], com, inertia), 1e-14)
    with pytest.raises(KeyError, match="no_such_frame"):
        f.with_payload("no_such_frame", 1.0)


# --- the way in -------------------------------------------------------------------------------------------------


@wide
def test_an_exported_function_runs_in_another_process(tmp_path):
    pytest.importorskip("flatbuffers")
    write = (
        "import sys, numpy as np, jax, rbd_dynamics as rbd; sys.path.insert(0, 'test')\n"
        "from jax import export\n"
        "from helpers.checks.gradients import small_arm\n"
        "from rbd_dynamics.jax import functions\n"
        "jax.config.update('jax_enable_x64', True)\n"
        "robot = rbd.Robot(small_arm()); f = functions(robot); path = sys.argv[1]\n"
        "q = np.linspace(-1.0, 1.0, 8).reshape(4, 2)\n"
    )
    made = write + (
        "many, = export.symbolic_shape('b')\n"
        "shape = jax.ShapeDtypeStruct((many, 2), q.dtype)\n"
        "exported = f.export(jax.jit(jax.grad(lambda q: f.gravity(q).sum())))(shape)\n"
        "open(path, 'wb').write(exported.serialize())\n"
    )
    used = write + (
        "exported = export.deserialize(bytearray(open(path, 'rb').read()))\n"
        "f.prepare(exported)\n"
        "zeros = np.zeros_like(q)\n"
        "wanted = robot.inverse_dynamics_derivatives(q, zeros, zeros)[0].sum(axis=1)\n"
        "assert abs(exported.call(q) - wanted).max() < 1e-12\n"
        "try:\n  functions(rbd.Robot(robot.model, friction=True).carrying('tool', 1.0)).prepare(exported)\n"
        "  functions(rbd.Robot(rbd.load('ur5'))).prepare(exported)\n"
        "except ValueError as error:\n  assert 'another robot' in str(error) or 'no such kernel' in str(error)\n"
        "else:\n  raise SystemExit('taken for another robot')\n"
    )
    for code in (made, used):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "f")], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr


def test_a_call_frame_that_is_not_known_is_refused(tmp_path):
    """Every field that is read must be where it was; new minor versions may add some at the end of some structures."""
    header = (jax.ffi.include_dir() / HEADER) if not isinstance(jax.ffi.include_dir(), str) else None
    text = (header or __import__("pathlib").Path(jax.ffi.include_dir(), HEADER)).read_text()
    assert minor_version(jax.ffi.include_dir()) >= 1
    place = tmp_path / HEADER
    place.parent.mkdir(parents=True)

    def refused(changed: str, what: str) -> None:
        assert changed != text
        place.write_text(changed)
        with pytest.raises(RuntimeError, match=rf"not known here.*{what}"):
            minor_version(str(tmp_path))

    place.write_text(text)
    assert minor_version(str(tmp_path)) == minor_version(jax.ffi.include_dir())
    place.write_text(text.replace("XLA_FFI_Future* future;", "XLA_FFI_Future* future;\n  int more;"))
    assert minor_version(str(tmp_path)) >= 1
    refused(re.sub(r"XLA_FFI_API_MAJOR \d+", "XLA_FFI_API_MAJOR 1", text), "major version is 1, known is 0")
    refused(text.replace("  XLA_FFI_RetType* types;", "  XLA_FFI_RetType* types;\n  void* more;"), "XLA_FFI_Rets")
    refused(text.replace("  void* data;\n  int64_t rank;", "  int64_t rank;\n  void* data;"), "XLA_FFI_Buffer")
    refused(text.replace("struct XLA_FFI_Metadata {", "struct XLA_FFI_Meta {"), "XLA_FFI_Metadata has the fields none")
    assert all(fields_of(text, name) for name in LAYOUT)
    with pytest.raises(RuntimeError, match="no description"):
        minor_version(str(tmp_path / "nowhere"))


def test_without_machine_code_or_a_robot_functions_say_so():
    with pytest.raises(RuntimeError, match=r"need machine code, not backend 'python'"):
        functions(rbd.Robot(small_arm(), backend="python"))
    with pytest.raises(TypeError, match="expected a Robot, not Model"):
        functions(small_arm())
    with pytest.raises(ValueError, match="needs constraints"):
        functions(rbd.Robot(small_arm())).constrained_forward_dynamics(*np.zeros((3, 2)))
