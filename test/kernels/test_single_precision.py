# SPDX-License-Identifier: Apache-2.0
"""Robots in single precision: their numbers beside those of double precision, and what refuses them.

Errors are relative to the largest number of a result; a number of single precision is right to 6e-8.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.robots import SAMPLE, load_robot, random_state
from helpers.wide import table, wide

import rbd_dynamics as rbd
from rbd_dynamics import Constrained, ConstraintSet, Robot
from rbd_dynamics.compiler.precision import DOUBLE, SINGLE
from rbd_dynamics.constraints import FrameConstraint
from rbd_dynamics.contacts import Contact, ContactDynamics
from rbd_dynamics.control import Feedforward, MomentumObserver, ResidualMonitor, SafeStop
from rbd_dynamics.kernels.catalog import CATALOG
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.trajectories import Limits

EPS = float(np.finfo(np.float32).eps)


@pytest.fixture(scope="module")
def arm():
    return rbd.load_urdf(ARM)


def states(model, count, seed=0):
    rng = np.random.default_rng(seed)
    rows = [random_state(model, rng) for _ in range(count)]
    q, v, a = (np.array([getattr(row, name) for row in rows]) for name in ("q", "v", "a"))
    # what single precision holds: the difference then is that of the arithmetic
    return [array.astype(np.float32).astype(np.float64) for array in (q, v, a)]


def parts(result):
    return [result] if isinstance(result, np.ndarray) else list(result)


def error(found, exact):
    pairs = list(zip(parts(found), parts(exact), strict=True))
    assert all(one.dtype == np.float32 and one.shape == other.shape for one, other in pairs)
    return max(np.abs(one - other).max() / (np.abs(other).max() or 1.0) for one, other in pairs if other.size)


# --- numbers --------------------------------------------------------------------------------------


#: compiled twice each; with small, mimicking and branched ones, and both bases
FEW = {("double_pendulum_continuous", "fixed"), ("panda", "floating"), ("kinova", "fixed")}


@pytest.mark.parametrize(
    ("name", "base"),
    table([(name, base) for name in SAMPLE for base in ("fixed", "floating")], FEW),
)
def test_dynamics_of_real_robots(name, base):
    model = load_robot(name, base)
    single, double = Robot(model, dtype=np.float32), Robot(model)
    q, v, a = states(model, 40)
    tau, mass = double.inverse_dynamics(q, v, a), double.mass_matrix(q)
    assert error(single.inverse_dynamics(q, v, a), tau) < 50 * EPS
    assert error(single.mass_matrix(q), mass) < 20 * EPS
    # an acceleration is as uncertain as the mass matrix is near to a singular one: its force counts
    found = single.forward_dynamics(q, v, tau)
    assert found.dtype == np.float32
    again = double.inverse_dynamics(q, v, found)
    assert np.abs(again - tau).max() < 200 * EPS * np.abs(tau).max() + 20 * EPS * np.abs(mass).max() * np.abs(a).max()


#: of a fixed base; steps are the simulator's, which is in double precision
KERNELS = [name for name, entry in CATALOG.items() if entry.of != "constraints" and not name.endswith("_step")]


@pytest.mark.parametrize("entry", KERNELS)
def test_every_kernel_of_the_catalog(arm, entry):
    name = f"{entry}:hand" if CATALOG[entry].of == "frame" else entry
    single, double = Robot(arm, dtype=np.float32, friction=True), Robot(arm, backend="reference", friction=True)
    kernel, exact = single.evaluation(name), double.evaluation(name)
    assert (kernel.kernel.signature.precision, exact.kernel.signature.precision) == (SINGLE, DOUBLE)
    rng = np.random.default_rng(3)
    inputs, samples = [], 37
    for argument in kernel.arguments:
        if argument.name == "inertia":
            inputs.append(single.inertial_parameters.astype(np.float32))
            continue
        shape = argument.shape if argument.shared else (samples, *argument.shape)
        value = rng.uniform(0.1, 1.0, size=shape).astype(np.float32)
        inputs.append(value > 0.5 if argument.boolean else value)
    found, right = kernel(inputs), exact(inputs)
    assert error(found, right) < 2e-4
    one = [given if argument.shared else given[5] for argument, given in zip(kernel.arguments, inputs)]
    assert error(kernel(one), [part[5] for part in parts(right)]) < 2e-4


@pytest.mark.parametrize("samples", [1, 2, 15, 16, 17, 33, 70])
def test_one_sample_and_many_agree(arm, samples):
    robot = Robot(arm, dtype="float32")
    q, v, a = states(arm, samples)
    many = robot.inverse_dynamics(q, v, a)
    for k in range(samples):
        one = robot.inverse_dynamics(q[k], v[k], a[k])
        assert np.abs(one - many[k]).max() <= 8 * EPS * np.abs(one).max()
    by_leads = robot.inverse_dynamics(q[None], v[None], a[0])
    assert by_leads.shape == (1, samples, arm.nv)
    assert np.abs(by_leads[0, 0] - many[0]).max() <= 8 * EPS * np.abs(many[0]).max()


@wide
def test_derivatives_of_a_large_robot_go_through_loops():
    model = load_robot("talos_reduced", "floating")
    single, double = Robot(model, dtype=np.float32), Robot(model)
    q, v, a = states(model, 20)
    tau, mass = double.inverse_dynamics(q, v, a), double.mass_matrix(q)
    found, right = (robot.forward_dynamics_derivatives(q, v, tau) for robot in (single, double))
    assert [part.dtype for part in found] == [np.float32] * 3
    for one, other in zip(found, right):  # their forces, as above
        scale = np.abs(mass).max() * np.abs(other).max()
        assert np.abs(mass @ (one - other)).max() < 50 * EPS * scale
    one = single.forward_dynamics_derivatives(q[3], v[3], tau[3])
    assert all(np.abs(x - y[3]).max() <= 1e-3 * np.abs(x).max() for x, y in zip(one, found))


@pytest.mark.parametrize("backend", ["llvm", "python", "reference"])
def test_backends_agree(arm, backend):
    q, v, a = states(arm, 5)
    exact = Robot(arm).inverse_dynamics(q, v, a)
    robot = Robot(arm, backend=backend, dtype=np.float32)
    assert error(robot.inverse_dynamics(q, v, a), exact) < 20 * EPS
    assert error(robot.inverse_dynamics(q[0], v[0], a[0]), exact[0]) < 20 * EPS


def test_large_angles_are_computed_all_the_same(arm):
    q, v, a = states(arm, 20)
    q[3, 0] = 65536.5  # beyond what the kernel's sine takes, and a number of single precision
    assert (
        error(Robot(arm, dtype=np.float32).inverse_dynamics(q, v, a), Robot(arm).inverse_dynamics(q, v, a)) < 50 * EPS
    )


def test_payloads_and_wrenches_count(arm):
    robots = [Robot(arm, dtype=dtype) for dtype in (np.float32, np.float64)]
    q, v, a = states(arm, 3)
    for robot in robots:
        robot.set_payload("hand", 1.1, com=(0.01, 0.02, 0.03))
    push = {"hand": [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]}
    single, double = (robot.inverse_dynamics(q, v, a, f_ext=push) for robot in robots)
    assert error(single, double) < 20 * EPS
    assert (robots[0].inertial_parameters == robots[1].inertial_parameters).all()
    assert robots[0].loaded_model().bodies == robots[1].loaded_model().bodies


# --- what goes in and out -------------------------------------------------------------------------


def test_arguments_of_any_type_are_taken_and_results_are_single(arm):
    robot = Robot(arm, dtype=np.float32)
    q, v, a = states(arm, 1)
    wanted = robot.inverse_dynamics(*(x[0].astype(np.float32) for x in (q, v, a)))
    for given in ([x[0] for x in (q, v, a)], [x[0].tolist() for x in (q, v, a)]):
        found = robot.inverse_dynamics(*given)
        assert found.dtype == np.float32
        assert (found == wanted).all()
    out = np.empty(arm.nv, np.float32)
    assert robot.inverse_dynamics(q[0], v[0], a[0], out=out) is out
    assert (out == wanted).all()
    with pytest.raises(ValueError, match=r"inverse_dynamics: out must be a float32 array of shape .*, got float64"):
        robot.inverse_dynamics(q[0], v[0], a[0], out=np.empty(arm.nv))
    with pytest.raises(ValueError, match=r"inverse_dynamics: out must be a float64 array of shape .*, got float32"):
        Robot(arm).inverse_dynamics(q[0], v[0], a[0], out=out)


@pytest.mark.filterwarnings("error")
def test_numbers_that_single_precision_does_not_hold_are_named(arm):
    robot = Robot(arm, dtype=np.float32)
    q, v, a = states(arm, 3)
    v[1, 2] = 1e300
    with pytest.raises(ValueError, match=r"inverse_dynamics: v of joint '\w+' is inf in sample 1"):
        robot.inverse_dynamics(q, v, a)
    spared = Robot(arm, dtype=np.float32, errors="nan").inverse_dynamics(q, v, a)
    assert np.isfinite(spared).all(axis=1).tolist() == [True, False, True]
    v[1, :] = 1e25  # its square is too large
    with pytest.raises(ArithmeticError, match=r"inverse_dynamics: the result is not finite \(sample 1\)"):
        robot.inverse_dynamics(q, v, a)
    with pytest.raises(ModelError, match="'hand': with it the inertia is too large to compute with"):
        robot.set_payload("hand", 1e39)
    assert robot.payloads == {}


def test_copies_stay_in_single_precision(arm):
    robot = Robot(arm, dtype=np.float32)
    q, v, a = states(arm, 2)
    wanted = robot.inverse_dynamics(q, v, a)
    for other in (copy.copy(robot), copy.deepcopy(robot), pickle.loads(pickle.dumps(robot)), robot.carrying("hand", 0)):
        assert other.dtype == np.float32
        assert (other.inverse_dynamics(q, v, a) == wanted).all()
    assert "float32" in repr(robot) and "float" not in repr(Robot(arm))


@pytest.mark.parametrize(
    "dtype", [np.float16, np.longdouble, int, complex, None, "single", "f", 4, object(), "f8,f8", []]
)
def test_other_types_are_refused(arm, dtype):
    if dtype in ("single", "f"):  # NumPy's other names
        assert Robot(arm, dtype=dtype).dtype == np.float32
    elif dtype is np.longdouble and np.dtype(dtype) == np.float64:
        assert Robot(arm, dtype=dtype).dtype == np.float64
    else:
        with pytest.raises(ValueError, match="dtype .* is neither float64 nor float32"):
            Robot(arm, dtype=dtype)


def held(robot):
    return Constrained(robot, ConstraintSet(robot.model, [FrameConstraint("hand", "hand")]))


def on_floor(robot):
    return ContactDynamics(robot, [Contact("floor", "hand", radius=0.1)])


@pytest.mark.parametrize(
    "make",
    [
        lambda robot: held(robot).forward_dynamics(*[np.zeros(robot.model.nv)] * 3),
        lambda robot: on_floor(robot).forward_dynamics(*[np.zeros(robot.model.nv)] * 3),
        lambda robot: Feedforward(robot),
        lambda robot: MomentumObserver(robot),
        lambda robot: ResidualMonitor(robot),
        lambda robot: SafeStop(robot),
        lambda robot: Limits.of(robot, robot.model.joint_names),
        lambda robot: rbd.base_parameters.base_parameters(robot),
        lambda robot: rbd.operational_space.effective_inertia(robot, np.ones(3), "hand"),
        lambda robot: rbd.operational_space.manipulability(robot, np.ones(3), "hand"),
        lambda robot: rbd.operational_space.torque_null_space(robot, np.ones(3), "hand"),
    ],
    ids=[
        "constraints",
        "contacts",
        "feedforward",
        "observer",
        "monitor",
        "stop",
        "limits",
        "base_parameters",
        "effective_inertia",
        "manipulability",
        "null_space",
    ],
)
def test_what_needs_double_precision_says_so(arm, make):
    with pytest.raises(TypeError, match="needs a robot in double precision, not one of dtype float32"):
        make(Robot(arm, dtype=np.float32))


def test_an_inertia_that_single_precision_does_not_hold_is_named():
    text = ARM.replace('mass value="0.5"', 'mass value="1e39"')
    assert text != ARM
    with pytest.raises(ModelError, match=r"the inertia of body '\w+' is too large for float32"):
        Robot(rbd.load_urdf(text), dtype=np.float32)
    assert Robot(rbd.load_urdf(text)).model.nv == 3
