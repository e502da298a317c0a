# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives: against Pinocchio, finite differences and the identities between them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.differences import along_tangent, along_velocity, relative
from helpers.models.robots import (
    ROBOTS,
    SAMPLE,
    SINGULAR,
    Twin,
    load_robot,
    load_twin,
    needs_pinocchio,
    quick_backend,
    random_state,
    random_tree,
)
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.model.model import Model


def trees() -> list[Model]:
    """Small trees of mixed kinds, fixed and floating, some with mimic joints."""
    return [
        random_tree(seed, 2 + seed % 5, base="floating" if seed % 2 else "fixed", mimic=0.3 * (seed % 3 == 0))
        for seed in range(24)
    ]


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in SINGULAR])
def test_inverse_dynamics_derivatives_are_pinocchios(name: str, base: str) -> None:
    import pinocchio as pin

    twin = load_twin(name, base)
    state = twin.random_state(np.random.default_rng(3))
    found = rbd.Robot(twin.model, backend="reference").inverse_dynamics_derivatives(*state)
    q, v, a = twin.q(state.q), twin.v(state.v), twin.v(state.a)
    by_q, by_v, by_a = pin.computeRNEADerivatives(twin.pinocchio, twin.data, q, v, a)
    by_a = np.triu(by_a) + np.triu(by_a, 1).T
    for ours, theirs in zip(found, (by_q, by_v, by_a)):
        assert relative(ours, twin.matrix(theirs)) < 1e-10


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", SAMPLE)
def test_forward_dynamics_derivatives_are_pinocchios(name: str, base: str) -> None:
    import pinocchio as pin

    twin: Twin = load_twin(name, base)
    if twin.P.shape[0] != twin.P.shape[1]:
        pytest.skip("with mimic joints Pinocchio's forward dynamics is another robot's")
    state = twin.random_state(np.random.default_rng(4))
    robot = rbd.Robot(twin.model, backend="reference")
    tau = robot.inverse_dynamics(*state)
    found = robot.forward_dynamics_derivatives(state.q, state.v, tau)
    q, v = twin.q(state.q), twin.v(state.v)
    by_q, by_v, by_tau = pin.computeABADerivatives(twin.pinocchio, twin.data, q, v, twin.P @ tau)
    by_tau = np.triu(by_tau) + np.triu(by_tau, 1).T
    for ours, theirs in zip(found, (by_q, by_v, by_tau)):
        assert relative(ours, twin.matrix(theirs)) < 1e-8  # the mass matrix is inverted


@pytest.mark.parametrize("model", table(trees(), trees()[:12]), ids=lambda m: f"{m.base}-{len(m.bodies)}-{m.nv}")
def test_derivatives_of_trees_are_finite_differences(model: Model) -> None:
    rng = np.random.default_rng(5)
    robot = rbd.Robot(model, backend=quick_backend(model), friction=True)
    q, _, a = random_state(model, rng)
    v = 0.3 * rng.normal(size=model.nv)
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(q, v, a)
    assert relative(by_q, along_tangent(model, q, lambda x: robot.inverse_dynamics(x, v, a))) < 1e-6
    assert relative(by_v, along_velocity(v, lambda x: robot.inverse_dynamics(q, x, a))) < 1e-5  # Coulomb is steep
    assert relative(by_a, robot.mass_matrix(q)) < 1e-12

    tau = robot.inverse_dynamics(q, v, a)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
    assert relative(by_q, along_tangent(model, q, lambda x: robot.forward_dynamics(x, v, tau))) < 1e-5
    assert relative(by_v, along_velocity(v, lambda x: robot.forward_dynamics(q, x, tau))) < 1e-5
    assert relative(by_tau @ robot.mass_matrix(q), np.eye(model.nv)) < 1e-9


@pytest.mark.parametrize(
    ("model", "share"),
    table(
        [(model, share) for model in trees()[:12] for share in (0.0, 0.5, 1.0)],
        [(model, 0.5) for model in trees()[:12]] + [(model, share) for model in trees()[:2] for share in (0.0, 1.0)],
    ),
    ids=lambda x: x if isinstance(x, float) else f"{x.base}-{len(x.bodies)}-{x.nv}",
)
def test_hybrid_derivatives_are_finite_differences(model: Model, share: float) -> None:
    rng = np.random.default_rng(6)
    robot = rbd.Robot(model, backend=quick_backend(model))
    q, v, a = random_state(model, rng)
    prescribed = rng.random(model.nv) < share
    _, tau = robot.hybrid_dynamics(q, v, a, robot.inverse_dynamics(q, v, a), prescribed)
    found = robot.hybrid_dynamics_derivatives(q, v, a, tau, prescribed)

    def by(k: int, q=q, v=v, a=a, tau=tau) -> np.ndarray:
        return robot.hybrid_dynamics(q, v, a, tau, prescribed)[k]

    for k, (by_q, by_v, by_input) in enumerate((found[:3], found[3:])):
        assert relative(by_q, along_tangent(model, q, lambda x, k=k: by(k, q=x))) < 1e-5
        assert relative(by_v, along_velocity(v, lambda x, k=k: by(k, v=x))) < 1e-6
        given = np.where(prescribed, a, tau)
        moved = along_velocity(
            given, lambda x, k=k: by(k, a=np.where(prescribed, x, a), tau=np.where(prescribed, tau, x))
        )
        assert relative(by_input, moved) < 1e-6


@needs_pinocchio
@pytest.mark.parametrize("name", table(["ur5_robot", "panda"], ["ur5_robot"]))
def test_compiled_derivatives_equal_the_reference(name: str) -> None:
    rng = np.random.default_rng(7)
    model = load_robot(name)
    compiled, reference = rbd.Robot(model, backend="llvm"), rbd.Robot(model, backend="reference")
    states = [random_state(model, rng) for _ in range(11)]
    q, v, a = map(np.stack, zip(*states))
    prescribed = rng.random((11, model.nv)) < 0.5
    batch = compiled.hybrid_dynamics_derivatives(q, v, a, a, prescribed)
    for k, state in enumerate(states):
        expected = reference.hybrid_dynamics_derivatives(*state, state.a, prescribed[k])
        for ours, theirs in zip(batch, expected):
            assert relative(ours[k], theirs) < 1e-9
    for method in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        for k, state in enumerate(states[:3]):
            for ours, theirs in zip(getattr(compiled, method)(*state), getattr(reference, method)(*state)):
                assert relative(ours, theirs) < 1e-9, (method, k)


@pytest.mark.parametrize("model", trees()[:12], ids=lambda m: f"{m.base}-{len(m.bodies)}-{m.nv}")
def test_frame_derivatives_are_finite_differences(model: Model) -> None:
    rng = np.random.default_rng(8)
    robot = rbd.Robot(model, backend=quick_backend(model))
    q, v, a = random_state(model, rng)
    frame = model.frames[-1].name

    def twist(q: np.ndarray) -> np.ndarray:
        return robot.jacobian(q, frame) @ v

    def rate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return robot.jacobian(q, frame) @ a + robot.jacobian_dot(q, v, frame) @ v

    twist_q, rate_q, rate_v = robot.frame_derivatives(q, v, a, frame)
    assert relative(twist_q, along_tangent(model, q, twist)) < 1e-6
    assert relative(rate_q, along_tangent(model, q, lambda x: rate(x, v))) < 1e-6
    assert relative(rate_v, along_velocity(v, lambda x: rate(q, x))) < 1e-6
