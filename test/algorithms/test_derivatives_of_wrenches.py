# SPDX-License-Identifier: Apache-2.0
"""Derivatives with external wrenches and by them, of joint reactions, momentum and the centre of mass; second ones."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.differences import STEP, along_tangent, along_velocity, relative
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import (
    ROBOTS,
    SAMPLE,
    SINGULAR,
    load_robot,
    load_twin,
    needs_pinocchio,
    quick_backend,
    random_state,
    random_tree,
    sampled,
)
from helpers.wide import wide

import rbd_dynamics as rbd
from rbd_dynamics.analysis import operational_space
from rbd_dynamics.model.model import Model


def trees() -> list[Model]:
    """Of every joint kind, and with mimic joints."""
    mixed = [mixed_tree(seed, n=4) for seed in range(4)]
    return [*mixed, *(random_tree(seed, 5, base="floating" if seed % 2 else "fixed", mimic=0.4) for seed in range(4))]


every_tree = pytest.mark.parametrize("model", trees(), ids=lambda m: f"{m.base}-{len(m.bodies)}-{m.nv}")
every_base = pytest.mark.parametrize("base", ["fixed", "floating"])
sample = pytest.mark.parametrize("name", [name for name in SAMPLE if name not in SINGULAR])


def state_of(model: Model, seed: int = 3):
    """q, slow v, a; and wrenches on two frames."""
    rng = np.random.default_rng(seed)
    q, v, a = random_state(model, rng)
    frames = rng.choice(model.frame_names, 2)
    return q, 0.3 * v, a, {str(frame): rng.normal(size=6) for frame in frames}


@every_tree
def test_wrenches_count_in_derivatives(model: Model) -> None:
    robot = rbd.Robot(model, backend=quick_backend(model), friction=True)
    q, v, a, f = state_of(model)
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(q, v, a, f_ext=f)
    assert relative(by_q, along_tangent(model, q, lambda x: robot.inverse_dynamics(x, v, a, f_ext=f))) < 1e-6
    for with_f, without in zip((by_v, by_a), robot.inverse_dynamics_derivatives(q, v, a)[1:]):
        assert relative(with_f, without) < 1e-12
    tau = robot.inverse_dynamics(q, v, a)
    by_q, by_v, _ = robot.forward_dynamics_derivatives(q, v, tau, f_ext=f)
    assert relative(by_q, along_tangent(model, q, lambda x: robot.forward_dynamics(x, v, tau, f_ext=f))) < 1e-5
    assert relative(by_v, along_velocity(v, lambda x: robot.forward_dynamics(q, x, tau, f_ext=f))) < 1e-5
    given = np.arange(model.nv) % 2 == 0
    found = robot.hybrid_dynamics_derivatives(q, v, a, tau, given, f_ext=f)
    for k, by_q in enumerate((found.a_dq, found.tau_dq)):
        differences = along_tangent(model, q, lambda x, k=k: robot.hybrid_dynamics(x, v, a, tau, given, f_ext=f)[k])
        assert relative(by_q, differences) < 1e-5


@needs_pinocchio
@every_base
@pytest.mark.parametrize("name", sampled(name for name in ROBOTS if name not in SINGULAR))
def test_derivatives_with_wrenches_are_pinocchios(name: str, base: str) -> None:
    import pinocchio as pin

    twin = load_twin(name, base)
    q, v, a, f = state_of(twin.model)
    robot = rbd.Robot(twin.model, backend="reference")
    theirs = (twin.pinocchio, twin.data, twin.q(q), twin.v(v))
    by_q, by_v, _ = pin.computeRNEADerivatives(*theirs, twin.v(a), twin.wrenches(f))
    found = robot.inverse_dynamics_derivatives(q, v, a, f_ext=f)
    for ours, other in zip(found, (by_q, by_v)):
        assert relative(ours, twin.matrix(other)) < 1e-10


@needs_pinocchio
@every_base
@sample
def test_derivatives_of_momentum_are_pinocchios(name: str, base: str) -> None:
    import pinocchio as pin

    twin = load_twin(name, base)
    q, v, a, _ = state_of(twin.model)
    robot = rbd.Robot(twin.model, backend="reference")
    theirs = pin.computeCentroidalDynamicsDerivatives(twin.pinocchio, twin.data, twin.q(q), twin.v(v), twin.v(a))
    found = robot.centroidal_momentum_derivatives(q, v, a)
    if twin.model.fixed_inertia.mass:  # Pinocchio leaves it out of the centre of mass
        pytest.skip("part of the robot is fixed to the world")
    ours = (*found, robot.centroidal_momentum_matrix(q))
    for one, other in zip(ours, theirs):
        assert relative(one, np.roll(other, 3, axis=0) @ twin.P) < 1e-10
    kinematics = (twin.pinocchio, twin.data, twin.q(q), twin.v(v))
    pin.computeForwardKinematicsDerivatives(*kinematics, twin.v(a))
    pin.centerOfMass(*kinematics)
    by_q = pin.getCenterOfMassVelocityDerivatives(twin.pinocchio, twin.data)
    assert relative(robot.center_of_mass_derivatives(q, v, a).velocity_dq, by_q @ twin.P) < 1e-10


@every_tree
def test_derivatives_of_momentum_and_center_of_mass(model: Model) -> None:
    robot = rbd.Robot(model, backend=quick_backend(model))
    robot.set_payload(model.frame_names[0], 2.0, com=(0.3, -0.4, 0.5))  # what is fixed to the world counts, too
    q, v, a, _ = state_of(model)

    def rate(q, v):
        return robot.centroidal_momentum_matrix(q) @ a + robot.centroidal_momentum_bias(q, v)

    found = robot.centroidal_momentum_derivatives(q, v, a)
    assert relative(found.h_dq, along_tangent(model, q, lambda x: robot.momentum(x, v))) < 1e-7
    assert relative(found.hdot_dq, along_tangent(model, q, lambda x: rate(x, v))) < 1e-7
    assert relative(found.hdot_dv, along_velocity(v, lambda x: rate(q, x))) < 1e-7

    def acceleration(q, v):
        return robot.center_of_mass_jacobian(q) @ a + robot.center_of_mass_jacobian_dot(q, v) @ v

    found = robot.center_of_mass_derivatives(q, v, a)
    assert relative(found.velocity_dq, along_tangent(model, q, lambda x: robot.center_of_mass_jacobian(x) @ v)) < 1e-7
    assert relative(found.acceleration_dq, along_tangent(model, q, lambda x: acceleration(x, v))) < 1e-7
    assert relative(found.acceleration_dv, along_velocity(v, lambda x: acceleration(q, x))) < 1e-7


@every_tree
def test_derivatives_of_joint_reactions(model: Model) -> None:
    robot = rbd.Robot(model, backend=quick_backend(model))
    q, v, a, f = state_of(model)
    by_q, by_v, by_a = robot.joint_reaction_derivatives(q, v, a, f_ext=f)
    assert relative(by_q, along_tangent(model, q, lambda x: robot.joint_reactions(x, v, a, f_ext=f))) < 1e-6
    assert relative(by_v, along_velocity(v, lambda x: robot.joint_reactions(q, x, a, f_ext=f))) < 1e-6
    assert relative(by_a, along_velocity(a, lambda x: robot.joint_reactions(q, v, x, f_ext=f))) < 1e-6


@every_tree
def test_dynamics_are_affine_in_wrenches(model: Model) -> None:
    robot = rbd.Robot(model, backend=quick_backend(model))
    q, v, a, _ = state_of(model)
    frame = model.frame_names[-1]
    tau = robot.inverse_dynamics(q, v, a)
    given = np.arange(model.nv) % 2 == 1
    push = [{frame: unit} for unit in np.eye(6)]
    inverse = np.stack([robot.inverse_dynamics(q, v, a, f_ext=one) - tau for one in push], axis=-1)
    assert relative(robot.inverse_dynamics_wrench_derivative(q, frame), inverse) < 1e-11
    forward = np.stack([robot.forward_dynamics(q, v, tau, f_ext=one) - a for one in push], axis=-1)
    assert relative(robot.forward_dynamics_wrench_derivative(q, frame), forward) < 1e-9
    found = robot.hybrid_dynamics_wrench_derivative(q, given, frame)
    before = robot.hybrid_dynamics(q, v, a, tau, given)
    for k in range(2):
        pushed = [robot.hybrid_dynamics(q, v, a, tau, given, f_ext=one)[k] - before[k] for one in push]
        assert relative(found[k], np.stack(pushed, axis=-1)) < 1e-9


@every_tree
def test_second_derivatives(model: Model) -> None:
    robot = rbd.Robot(model, backend=quick_backend(model), friction=True)
    q, v, a, f = state_of(model)
    rng = np.random.default_rng(9)
    direction = tuple(rng.normal(size=(3, model.nv)))
    for name, force in (("inverse_dynamics", a), ("forward_dynamics", robot.inverse_dynamics(q, v, a))):
        for options in ({}, {"f_ext": f}):
            first = getattr(robot, f"{name}_derivatives")

            def at(step, first=first, force=force, options=options):
                moved = (model.integrate(q, step * direction[0]), v + step * direction[1], force + step * direction[2])
                return first(*moved, **options)

            found = getattr(robot, f"{name}_second_derivatives")(q, v, force, direction, **options)
            for ours, ahead, behind in zip(found, at(STEP), at(-STEP)):
                assert relative(ours, (ahead - behind) / (2 * STEP)) < 2e-5  # Coulomb friction bends sharply


def test_second_derivatives_of_a_pendulum_in_closed_form() -> None:
    builder = rbd.ModelBuilder("pendulum")
    builder.add_body("rod", None, rbd.joints.Revolute((0.0, 1.0, 0.0)), mass=2.0, com=(0.0, 0.0, -0.7))
    robot = rbd.Robot(builder.build(), backend="reference")
    by_q, by_v, by_a = robot.inverse_dynamics_second_derivatives([0.4], [1.0], [2.0], ([1.0], [0.0], [0.0]))
    weight = 2.0 * -robot.model.gravity[2] * 0.7
    assert relative(by_q, np.array([[-weight * np.sin(0.4)]])) < 1e-12
    assert not by_v.any() and not by_a.any()


@wide  # kernels/test_backends.py has each of them, of smaller robots
def test_batches_and_backends_agree() -> None:
    model = load_robot("panda")
    compiled, reference = rbd.Robot(model, backend="llvm"), rbd.Robot(model, backend="reference")
    rng = np.random.default_rng(4)
    q, v, a = (np.stack(x) for x in zip(*(random_state(model, rng) for _ in range(5))))
    direction = (np.ones(model.nv), v, a)
    frame = "panda_hand"
    cases = [
        ("joint_reaction_derivatives", (q, v, a), {"f_ext": {frame: np.ones(6)}}),
        ("inverse_dynamics_second_derivatives", (q, v, a, direction), {}),
        ("centroidal_momentum_derivatives", (q, v, a), {}),
        ("center_of_mass_derivatives", (q, v, a), {}),
        ("inverse_effective_inertia_derivative", (q, frame), {}),
        ("forward_dynamics_wrench_derivative", (q, frame), {}),
        ("hybrid_dynamics_wrench_derivative", (q, np.arange(model.nv) < 3, frame), {}),
    ]
    for name, arguments, options in cases:
        found = getattr(compiled, name)(*arguments, **options)
        for k in range(5):
            one = [
                x[k] if isinstance(x, np.ndarray) and x.dtype == float else tuple(d if d.ndim == 1 else d[k] for d in x)
                if isinstance(x, tuple) else x
                for x in arguments
            ]  # fmt: skip
            expected = getattr(reference, name)(*one, **options)
            pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
            for ours, theirs in pairs:
                assert relative(ours[k], theirs) < 1e-10, name


@every_tree
def test_derivative_of_the_effective_inertia(model: Model) -> None:
    robot = rbd.Robot(model, backend=quick_backend(model))
    q, *_ = state_of(model)
    frame = model.frame_names[-1]
    found = robot.inverse_effective_inertia_derivative(q, frame)
    differences = along_tangent(model, q, lambda x: robot.inverse_effective_inertia(x, frame))
    assert relative(found, differences) < 1e-6
    rows = [5]
    if operational_space.effective_inertia(robot, q, frame, rows=rows).rank == 1:
        found = operational_space.effective_inertia_derivative(robot, q, frame, rows=rows)
        differences = along_tangent(
            model, q, lambda x: operational_space.effective_inertia(robot, x, frame, rows=rows).inertia
        )
        assert relative(found, differences) < 1e-5
        for same in ([-1], slice(5, None)):
            again = operational_space.effective_inertia_derivative(robot, q, frame, rows=same)
            np.testing.assert_array_equal(again, found)


def test_what_is_wrong_is_named() -> None:
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    still = np.zeros(6)
    with pytest.raises(ValueError, match="direction: expected 3 vectors"):
        robot.inverse_dynamics_second_derivatives(still, still, still, still)
    with pytest.raises(ValueError, match="along_v has shape"):
        robot.inverse_dynamics_second_derivatives(still, still, still, (still, np.zeros(5), still))
    with pytest.raises(KeyError, match="nothing"):
        robot.forward_dynamics_wrench_derivative(still, "nothing")
    with pytest.raises(ArithmeticError, match="tool0.*no finite inertia"):
        operational_space.effective_inertia_derivative(robot, still, "tool0")
