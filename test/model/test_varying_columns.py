# SPDX-License-Identifier: Apache-2.0
"""Joints whose S depends on q without being chains: cams, and kinds of one's own given by their pose alone.

Every quantity is checked against simpler ones, down to the poses, whose differences need no S.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative, error, every_backend
from helpers.checks.robot_methods import CHECKS
from helpers.checks.robot_methods.state import CALLS, DIFFERENCES, NO_DYNAMICS, State
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import random_state
from helpers.models.varying_kinds import VARYING, NoChain, PoseOnly, varying_tree
from helpers.wide import table
from numpy.typing import NDArray

from rbd_dynamics import Model, Robot
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.simulation.smooth_methods import RungeKutta4
from rbd_dynamics.theory.closed_forms import PoeKinematics, kinematics_jacobian, lagrange
from rbd_dynamics.theory.closed_forms.stacked import StackedOperators
from rbd_dynamics.theory.screws import articulated_tree, projected_motion

Array = NDArray[np.float64]
#: every kind alone under a revolute joint, cams with followers, floating bases, all kinds mixed
TREES: dict[str, Callable[[], Model]] = {
    **{name: lambda name=name: varying_tree(1, (name, "revolute")) for name in VARYING},  # type: ignore[misc]
    "cams and followers": lambda: varying_tree(2, ("harmonic cam", "polynomial cam", "cam of a function") * 2, 0, 0.5),
    "wobbles and followers": lambda: varying_tree(4, ("wobble",) * 4, followers=0.8),
    "on a floating base": lambda: varying_tree(5, ("floating", "harmonic cam", "on a curve", "loose ball")),
    "chains between": lambda: varying_tree(6, ("universal", "wobble", "product_of_exponentials", "eccentric")),
    **{f"mixed {seed}": lambda seed=seed: varying_tree(seed, n=5, followers=0.3) for seed in range(7, 11)},  # type: ignore[misc]
}
every_tree = pytest.mark.parametrize("name", TREES)
#: those with each kind of kind, and with followers, groups and chains among them
SEVERAL = ("spherical coordinates", "cams and followers", "on a floating base", "chains between")
#: derivatives take as long as all others together: the longest have followers only, the others chains as well
DERIVED = ("cams and followers", "chains between")
LONG = {
    "center_of_mass_derivatives", "centroidal_momentum_derivatives", "hybrid_dynamics_derivatives",
    "constrained_forward_dynamics_derivatives", "constrained_inverse_dynamics_derivatives",
    "constrained_hybrid_dynamics_derivatives",
}  # fmt: skip


def is_narrow(case: tuple[str, str]) -> bool:
    method, name = case
    if method in LONG:
        return name == DERIVED[0]
    return name in (DERIVED if "derivative" in method else SEVERAL)


def test_every_public_method_is_checked():
    methods = {name for name in dir(Robot) if not name.startswith("_")} - NO_DYNAMICS
    assert methods == set(CALLS) == set(CHECKS)


@pytest.fixture(scope="module")
def states() -> Callable[[str], State]:
    known: dict[str, State] = {}

    def state(name: str) -> State:
        if name not in known:
            known[name] = State(TREES[name]())
        return known[name]

    return state


@pytest.mark.parametrize(("method", "name"), table(product(sorted(CALLS), TREES), is_narrow))
def test_method(name, method, states):
    CHECKS[method](states(name))


# --- against the same motion, given in another way -----------------------------------------------


def same(ours: State, theirs: State, tolerance: float, methods: Any = CALLS) -> None:
    """Every method gives the same on both robots, at the state of the second."""
    for name in methods:
        found, expected = (CALLS[name](x.robot, theirs if x is theirs else _at(ours, theirs)) for x in (ours, theirs))
        several = isinstance(expected, (tuple, list))
        for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
            assert error(one, other, 1e-3) <= tolerance, name


def _at(ours: State, theirs: State) -> State:
    """One robot at the state of another, under the same constraints."""
    for what in ("q", "v", "a", "x", "tau", "prescribed", "f_ext"):
        setattr(ours, what, getattr(theirs, what))
    ours.constraints = ConstraintSet(ours.model, theirs.constraints.constraints, stabilization=2.0)
    return ours


@pytest.mark.parametrize(
    ("seed", "wrapped"),
    table([(k, NoChain if k in (2, 5) else PoseOnly) for k in range(6)], lambda case: case[0] in (2, 4, 5)),
)
def test_a_kind_by_its_pose_alone_is_that_kind(seed, wrapped):
    """Chains without being expanded, groups and single joints without their own S: all as they are otherwise."""
    given, built = (varying_tree(seed, MIXED[seed], followers=0.3, wrapped=how) for how in (wrapped, lambda kind: kind))
    assert any(not body.joint.kind.has_constant_columns for body in given.bodies)
    same(State(given), State(built), 1e-9)


MIXED = [
    ("universal", "product_of_exponentials", "revolute"),
    ("product_of_exponentials", "helical", "universal", "screw"),
    ("floating", "universal", "prismatic"),
    ("planar", "product_of_exponentials", "spherical"),
    ("revolute", "spherical", "universal", "revolute"),
    ("screw", "screw", "universal", "screw", "screw"),
]


@pytest.mark.parametrize(
    ("name", "backend"),
    table(
        [("harmonic cam", "llvm"), ("eccentric", "llvm"), ("on a curve", "python"), ("loose ball", "python")],
        [("harmonic cam", "llvm")],
    ),
)
def test_backends_agree(name, backend, states):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    reference = states(name)
    # jets of jets make long programs, which Python takes long to read
    long = {"constrained_hybrid_dynamics_derivatives", "constrained_inverse_dynamics_derivatives",
            "constraint_impulse_derivatives", "forward_dynamics_second_derivatives"}  # fmt: skip
    same(State(reference.model, backend), reference, 1e-9, set(CALLS) - (long if backend == "python" else set()))


@every_backend
def test_a_batch_is_its_samples(backend, states):
    model = states("chains between").model
    robot, rng = Robot(model, backend=backend), np.random.default_rng(3)
    q, v, a = (np.stack(x) for x in zip(*(random_state(model, rng) for _ in range(4))))
    batches = [robot.inverse_dynamics(q, v, a), *robot.inverse_dynamics_derivatives(q, v, a)]
    for k in range(4):
        one = [robot.inverse_dynamics(q[k], v[k], a[k]), *robot.inverse_dynamics_derivatives(q[k], v[k], a[k])]
        for batch, sample in zip(batches, one):
            assert_close(batch[k], sample, 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_a_chain_needs_no_expansion(seed):
    """World-frame sums of the tree as it is and of the tree of single joints."""
    from rbd_dynamics.algorithms.expansion import expanded
    from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
    from rbd_dynamics.algorithms.momentum import centroidal_momentum_bias

    model = mixed_tree(seed, n=4)
    q, v, a = (x.tolist() for x in random_state(model, np.random.default_rng(seed)))
    tree = expanded(model).model
    both = [(one, [body.inertia for body in one.bodies]) for one in (model, tree)]

    def momentum_bias(one, inertias, q, v):
        return centroidal_momentum_bias(one, inertias, model.fixed_inertia, q, v)

    for algorithm, more in ((inverse_dynamics_derivatives, [a]), (momentum_bias, [])):
        found, expected = (algorithm(one, inertias, q, v, *more) for one, inertias in both)
        for ours, theirs in zip(found, expected):
            assert_close(np.array(ours, dtype=float), np.array(theirs, dtype=float), 1e-10, least=1e-3)


@pytest.mark.parametrize("name", ["harmonic cam", "loose ball", "eccentric", "on a floating base"])
def test_motion_without_torque_keeps_its_energy(name, states):
    """But for the integrator's error, which is of fourth order."""
    model = states(name).model
    robot = Robot(model, backend="python")
    steps = (2e-3, 1e-3)
    lost = []
    for h in steps:
        q, v, _ = random_state(model, np.random.default_rng(11))
        integrator = RungeKutta4(robot, h, robot.forward_dynamics)
        start = robot.kinetic_energy(q, v) + robot.potential_energy(q)
        for _ in range(round(0.4 / h)):
            q, v, _ = integrator.step(q, v, np.zeros(model.nv))
        lost.append(abs(float(robot.kinetic_energy(q, v) + robot.potential_energy(q) - start)) / max(1.0, abs(start)))
    assert lost[0] < 1e-6
    assert lost[1] < max(lost[0] / 14.0, 1e-12)


@every_tree
def test_closed_forms(name, states):
    s = states(name)
    r, q, v = s.robot, s.q, s.v
    assert_close(PoeKinematics(s.model).pose(q, s.tool), r.pose(q, s.tool), 1e-12)
    assert_close(PoeKinematics(s.model).body_jacobian(q, s.tool), r.jacobian(q, s.tool), 1e-11)
    assert_close(lagrange.mass_matrix(r, q), r.mass_matrix(q), 1e-11)
    assert_close(lagrange.congruence_sum(r, q), r.mass_matrix(q), 1e-11)
    assert_close(lagrange.mass_matrix_derivatives(r, q), s.along(r.mass_matrix), DIFFERENCES)
    stacked = StackedOperators(r, q)
    assert_close(stacked.mass_matrix(), r.mass_matrix(q), 1e-11)
    assert_close(stacked.gravity(), r.gravity(q), 1e-10)
    assert_close(stacked.coriolis_matrix(v), r.coriolis_matrix(q, v), 1e-10)
    rate = derivative(lambda t: s.model.integrate(q, t * v), 1e-2)
    assert_close(kinematics_jacobian(s.model, q) @ v, rate, 1e-9)
    if not any(body.joint.mimic for body in s.model.bodies):
        tau = r.inverse_dynamics(q, v, s.a)
        assert_close(projected_motion(articulated_tree(s.model, q, v, tau)).qdd, s.a, 1e-9)
