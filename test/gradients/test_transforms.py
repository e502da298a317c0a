# SPDX-License-Identifier: Apache-2.0
"""Derivatives of programs, of each function and of each kind of joint, against complex steps of the algorithms."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from helpers.checks.gradients import CASES, Oracle, assert_near, coupled, small_arm, state
from helpers.models.mixed_trees import MORE_KINDS, any_kind
from helpers.models.robots import ALL_KINDS, random_inertia, random_transform
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.gradients import RobotOperations
from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Floating, JointKind, Revolute
from rbd_dynamics.simulation import SemiImplicitEuler

ARM = small_arm()
#: functions that between them have every part
FEW = ("forward_dynamics", "integrate", "step")


def tree_of(kind: str) -> rbd.Model:
    """A joint of that kind below two of one coordinate, and on the world; with friction and rotors."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    builder = rbd.ModelBuilder(kind)
    for k, name in enumerate([kind, "revolute", "prismatic", *[kind] * (kind != "floating")]):
        load = inertial_of(random_inertia(rng))
        builder.add_body(
            f"link{k}",
            f"link{k - 1}" if k else None,
            any_kind(rng, name),
            placement=random_transform(rng),
            mass=load.mass,
            com=load.com,
            inertia=load.rotational,
            damping=0.3,
            armature=0.05,
        )
    builder.add_frame("tool", f"link{k}", placement=random_transform(rng))
    return builder.build()


def directions_checked(oracle: Oracle, *, seed: int = 0) -> None:
    """Tangent, cotangent, and the tangent of the cotangent of an operation, along random directions."""
    rng, operation, x = np.random.default_rng(seed), oracle.operation, oracle.flat
    first, second = oracle.tolerances
    inputs = operation.signature.inputs
    values = oracle.shaped(x)
    named = {
        own.name: oracle._vector(own.name, {}) if own.name in ("parameters", "fixed_inertia") else None
        for own in inputs
    }
    called = {"step": "h", "inertia": "inertial_parameters"}
    if "dv" in oracle.words:
        called["v"] = "dv"
    if "q1" in oracle.words:
        called["q_after"] = "q1"
    arrays = [
        np.asarray(named[own.name] if named[own.name] is not None else values[called.get(own.name, own.name)]).reshape(
            own.shape
        )
        for own in inputs
    ]
    active = [called.get(own.name, own.name) in oracle.words for own in inputs]
    order = [called.get(own.name, own.name) for own, moves in zip(inputs, active) if moves]
    direction, weights = rng.normal(size=len(x)), rng.normal(size=sum(own.size for own in operation.signature.outputs))
    parts = oracle.shaped(direction)
    rates = [np.asarray(parts[word]) for word in order]
    weighted, begin = [], 0
    for own in operation.signature.outputs:
        weighted.append(weights[begin : begin + own.size].reshape(own.shape))
        begin += own.size

    jacobian = oracle.jacobian(x)
    found = operation.tangent(active)([*arrays, *rates])
    assert_near(np.concatenate([np.ravel(each) for each in found]), jacobian @ direction, first)
    reverse = operation.cotangent(active)
    found = dict(zip(order, reverse([*arrays, *weighted])))
    assert_near(np.concatenate([np.ravel(found[word]) for word in oracle.words]), weights @ jacobian, first)
    again = reverse.tangent([*active, *[False] * len(weighted)])
    found = dict(zip(order, again([*arrays, *weighted, *rates])))
    curvature = oracle.curvature(x, weights, direction)
    assert_near(np.concatenate([np.ravel(found[word]) for word in oracle.words]), curvature, second)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_each_function_are_those_of_its_algorithm(name):
    robot = rbd.Robot(ARM, backend="python")
    constraints = coupled(ARM) if name.startswith("constrained") else None
    frame = "tool" if CASES[name].frame else ""
    oracle = Oracle(robot, name, state(robot, rows=1), frame, constraints)
    directions_checked(oracle)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("kind", table((*ALL_KINDS, *MORE_KINDS), ("floating",)))
def test_derivatives_of_each_joint_kind_are_those_of_the_algorithms(kind, name):
    robot = rbd.Robot(tree_of(kind), backend="python", friction=True)
    directions_checked(Oracle(robot, name, state(robot)))


@pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
def test_configurations_move_and_lie_apart_as_the_model_says(kind):
    robot = rbd.Robot(tree_of(kind), backend="python")
    model, operations, rng = robot.model, RobotOperations(robot), np.random.default_rng(1)
    q = np.array([model.random(k) for k in range(4)])
    dv = rng.normal(size=(4, model.nv)) * np.array([1e-9, 0.1, 1.0, 3.0])[:, None]
    (moved,) = operations["integrate"]([q, dv])
    assert_near(moved, model.integrate(q, dv), 1e-14)
    (apart,) = operations["difference"]([q, q[::-1]])
    assert_near(apart, model.difference(q, q[::-1]), 1e-13)


@pytest.mark.parametrize("kind", table(["floating", "planar", "spherical"], ("planar",)))
def test_nothing_special_happens_at_rest(kind):
    """Where a joint does not turn, a formula with an exception for zero has wrong second derivatives."""
    robot = rbd.Robot(tree_of(kind), backend="python")
    values = state(robot)
    directions_checked(Oracle(robot, "integrate", values | {"dv": np.zeros(robot.model.nv)}))
    directions_checked(
        Oracle(robot, "difference", values | {"q1": robot.model.integrate(values["q"], 1e-3 * values["dv"])})
    )
    oracle = Oracle(robot, "step", values | {name: np.zeros(robot.model.nv) for name in ("v", "tau")})
    directions_checked(oracle)


@pytest.mark.parametrize("joint", [Revolute((0.0, 0.0, 1.0)), Floating()])
def test_a_step_is_the_simulator_s(joint):
    builder = rbd.ModelBuilder("robot")
    inertia = (0.2, 0.01, 0.0, 0.3, 0.02, 0.25)
    builder.add_body("base", None, joint, mass=3.0, com=(0.1, 0.0, 0.2), inertia=inertia)
    builder.add_body("arm", "base", Revolute((0.0, 1.0, 0.0)), mass=1.0, com=(0.3, 0.0, 0.0), inertia=inertia)
    robot = rbd.Robot(builder.build(), backend="python")
    values, h = state(robot), 1e-2
    free = np.full(robot.model.nv, np.inf)
    expected = SemiImplicitEuler(robot, h, False, -free, free).step(values["q"], values["v"], values["tau"])
    inputs = [values[name] for name in ("q", "v", "tau")]
    q, v = RobotOperations(robot)["step"]([*inputs, np.asarray(h), robot.inertial_parameters])
    assert_near(q, expected[0], 1e-13)
    assert_near(v, expected[1], 1e-13)


def test_bad_samples_are_nan_and_no_others():
    robot = rbd.Robot(ARM)
    reverse = RobotOperations(robot)["forward_dynamics"].cotangent((True, True, True, False))
    rng = np.random.default_rng(0)
    q, v, tau, w = rng.normal(size=(4, 200, 2))
    q[7, 1], v[150, 0], q[3, 0] = np.nan, np.inf, 3e7
    found = reverse([q, v, tau, robot.inertial_parameters, w])
    bad = {7, 150}
    for array in found:
        assert set(np.flatnonzero(~np.isfinite(array).all(axis=1))) == bad
    few = [x[[3]] for x in (q, v, tau)]
    for array, matrix in zip(found, rbd.Robot(ARM, backend="reference").forward_dynamics_derivatives(*few)):
        assert_near(array[3], w[3] @ matrix[0], 1e-12)


def test_a_kind_that_moves_in_its_own_way_is_named():
    class Odd(JointKind):
        name = "odd"

        def transform(self, q):
            return Revolute((0.0, 0.0, 1.0)).transform(q)

        def rates(self, q, v):
            return v, (0.0,)

        def integrate(self, q, dv):
            return q + dv

        difference = JointKind.difference
        displacement_rate = JointKind.displacement_rate

    builder = rbd.ModelBuilder("odd")
    builder.add_body("link", None, Odd(), joint_name="elbow", mass=1.0, com=(0.1, 0.0, 0.0))
    with pytest.raises(ModelError, match="joint 'elbow': kind 'odd'"):
        _ = RobotOperations(rbd.Robot(builder.build()))["step"]


@pytest.mark.parametrize("library", ["jax", "torch", "casadi"])
def test_a_library_that_is_not_installed_is_named_with_its_extra(library, monkeypatch):
    room = importlib.import_module(f"rbd_dynamics.{library}")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ValueError, match=rf"need the package {library}: pip install 'rbd_dynamics\[{library}\]'"):
        room.functions(rbd.Robot(ARM, backend="python"))
