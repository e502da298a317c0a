# SPDX-License-Identifier: Apache-2.0
"""Derivatives of dynamics under constraints against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.differences import along_tangent, along_velocity, relative
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import load_robot, random_state

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    ConstraintSet,
    Cylinder,
    FrameConstraint,
    HolonomicRows,
    RollingBall,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.spatial.scalar import sin

STEP = 1e-6
APART = (0.7, -0.9, 0.8)  # of the surface from its reference frame: no robot stands at its centre


def differences(robot, q, v, tau, of, target):
    """As `ConstrainedDerivatives` has them, by central differences."""
    n = robot.model.nv

    def at(q, v, tau):
        found = robot.constrained_forward_dynamics(q, v, tau, of, target=target)
        return np.concatenate([found.a, found.multipliers])

    columns = [[], [], []]
    for unit in np.eye(n):
        step = STEP * unit
        moved = [robot.model.integrate(q, s * step) for s in (1.0, -1.0)]
        columns[0].append(at(moved[0], v, tau) - at(moved[1], v, tau))
        columns[1].append(at(q, v + step, tau) - at(q, v - step, tau))
        columns[2].append(at(q, v, tau + step) - at(q, v, tau - step))
    matrices = [np.array(c).T / (2 * STEP) for c in columns]
    return [*(m[:n] for m in matrices), *(m[n:] for m in matrices)]


def check(robot, constraints, seed, tolerance=2e-6, friction=False):
    model = robot.model
    rng = np.random.default_rng(seed)
    q, v, _ = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    of = ConstraintSet(model, constraints, stabilization=3.0)
    target = rng.normal(size=len(of))
    found = robot.constrained_forward_dynamics_derivatives(q, v, tau, of, target=target)
    for ours, theirs in zip(found, differences(robot, q, v, tau, of, target)):
        scale = np.abs(theirs).max() + 1e-9
        np.testing.assert_allclose(ours / scale, theirs / scale, atol=tolerance)


def kinds(frame, reference):
    return [
        [FrameConstraint("f", frame, reference, directions=("rx", "y", "z"))],
        [
            SurfaceConstraint(
                "s",
                frame,
                reference,
                placement=(0.1, 0.2, 0.3),
                reference_placement=APART,
                surface=Cylinder(0.4),
                offset=0.1,
                aligned=True,
            )
        ],
        [RollingBall("r", frame, reference, reference_placement=APART, surface=Sphere(0.5), radius=0.2)],
        [HolonomicRows("h", lambda q: [q[0] * q[1] + sin(q[2])])],
    ]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(
    "name, frame, reference", [("ur5_robot", "tool0", "shoulder_link"), ("panda", "panda_hand", "panda_link1")]
)
def test_real_robots(name, frame, reference, base, kind):
    robot = rbd.Robot(load_robot(name, base), backend="reference")
    check(robot, kinds(frame, reference)[kind], seed=kind)


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_every_joint_kind(seed):
    robot = rbd.Robot(mixed_tree(seed, n=4), backend="reference")
    check(robot, [FrameConstraint("f", "link3", directions=("x", "z"))], seed, 2e-5)


def test_compiled_and_with_friction():
    model = load_robot("panda")
    constraints = [SurfaceConstraint("s", "panda_hand", surface=Sphere(0.5))]
    robots = [rbd.Robot(model, backend=backend, friction=True) for backend in ("llvm", "reference")]
    check(robots[0], constraints, 1)
    q, v, tau = model.random(2), np.ones(model.nv), np.ones(model.nv)
    one, other = (robot.constrained_forward_dynamics_derivatives(q, v, tau, constraints) for robot in robots)
    for a, b in zip(one, other):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


def test_redundant_rows_do_not_change_the_accelerations():
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    q, v, tau = robot.model.random(1), np.ones(6), np.ones(6)
    one = [FrameConstraint("a", "tool0", directions=("x", "z"))]
    two = [*one, FrameConstraint("b", "tool0", directions=("x", "z"))]
    once, twice = (robot.constrained_forward_dynamics_derivatives(q, v, tau, rows) for rows in (one, two))
    for name in ("a_dq", "a_dv", "a_dtau"):
        ours, theirs = getattr(twice, name), getattr(once, name)
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


# --- constrained inverse and hybrid dynamics, impulses, wrenches ------------------------------------


def bound(name="ur5_robot", frame="tool0", redundant=False, backend="python"):
    """A robot held by three rows, of which one is given twice; a state and a wrench."""
    robot = rbd.Robot(load_robot(name), backend=backend, friction=True)
    rows = [FrameConstraint("f", frame, directions=("rx", "y", "z"))]
    rows += [FrameConstraint("g", frame, directions=("y",))] * redundant
    of = ConstraintSet(robot.model, rows, stabilization=3.0)
    rng = np.random.default_rng(1)
    q, v, a = random_state(robot.model, rng)
    return (
        robot.constrained(of),
        q,
        v,
        a,
        rng.normal(size=len(a)),
        {frame: rng.normal(size=6)},
        rng.normal(size=len(of)),
    )


def close(found, function, model, q, *vectors, tolerance=1e-6):
    """Derivatives by q and by each vector, stacked over the outputs as `function` stacks them."""
    by_q = along_tangent(model, q, lambda x: function(x, *vectors))
    assert relative(found[0], by_q) < tolerance
    for k, vector in enumerate(vectors):

        def moved(x, k=k):
            return function(q, *vectors[:k], x, *vectors[k + 1 :])

        assert relative(found[k + 1], along_velocity(vector, moved)) < tolerance


def stacked(found, inputs):
    """By each input, all outputs one above the other."""
    return [np.vstack(found[k::inputs]) for k in range(inputs)]


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("prescribed", [0, 1, 3])
def test_hybrid_dynamics(prescribed, redundant):
    held, q, v, a, tau, f, target = bound(redundant=redundant)
    given = np.arange(6) < prescribed
    options = {"f_ext": f, "target": target}

    def at(q, v, x):
        found = held.hybrid_dynamics(q, v, np.where(given, x, 0.0), np.where(given, 0.0, x), given, **options)
        return np.concatenate(found[:3])

    found = held.hybrid_dynamics_derivatives(q, v, a, tau, given, **options)
    close(stacked(found, 3), at, held.robot.model, q, v, np.where(given, a, tau))


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("objective", ["torque", "constraint_force"])
@pytest.mark.parametrize("passive", [0, 2])
def test_inverse_dynamics(passive, objective, redundant):
    held, q, v, a, tau, f, target = bound(redundant=redundant)
    options = {"actuated": np.arange(6) >= passive, "objective": objective, "f_ext": f, "target": target}

    def at(q, v, a, tau):
        return np.concatenate(held.inverse_dynamics(q, v, a, tau=tau, **options)[:2])

    found = held.inverse_dynamics_derivatives(q, v, a, tau=tau, **options)
    close(stacked(found, 4), at, held.robot.model, q, v, a, tau)


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_impulses(restitution, redundant):
    held, q, v, *_ = bound(redundant=redundant)
    options = {"restitution": restitution} if restitution else {}  # none is the default

    def at(q, v):
        return np.concatenate(held.impulse(q, v, restitution=restitution)[:2])

    found = held.impulse_derivatives(q, v, **options)
    close([np.vstack(found[0::3]), np.vstack(found[1::3])], at, held.robot.model, q, v)


def test_impulses_by_the_velocity_after():
    held, q, v, *_, after = bound()

    def at(q, v, after):
        return np.concatenate(held.impulse(q, v, after=after)[:2])

    close(stacked(held.impulse_derivatives(q, v, after=after), 3), at, held.robot.model, q, v, after)


def test_forward_dynamics_with_wrenches():
    held, q, v, _, tau, f, target = bound()

    def at(q, v, tau):
        return np.concatenate(held.forward_dynamics(q, v, tau, f_ext=f, target=target)[:2])

    found = held.forward_dynamics_derivatives(q, v, tau, f_ext=f, target=target)
    close(stacked(found, 3), at, held.robot.model, q, v, tau)


def test_all_are_affine_in_wrenches():
    held, q, v, a, tau, _, _ = bound()
    given, actuated = np.arange(6) < 2, np.arange(6) > 0
    cases = [
        (held.forward_dynamics_wrench_derivative(q, "tool0"), held.forward_dynamics, (q, v, tau), {}, (0, 1)),
        (
            held.hybrid_dynamics_wrench_derivative(q, given, "tool0"),
            held.hybrid_dynamics, (q, v, a, tau, given), {}, (0, 1, 2),
        ),
        (
            held.inverse_dynamics_wrench_derivative(q, "tool0", actuated=actuated),
            held.inverse_dynamics, (q, v, a), {"actuated": actuated}, (0, 1),
        ),
    ]  # fmt: skip
    for found, method, inputs, options, fields in cases:
        before = method(*inputs, **options)
        for ours, field in zip(found, fields, strict=True):
            pushed = [method(*inputs, f_ext={"tool0": e}, **options)[field] - before[field] for e in np.eye(6)]
            assert relative(ours, np.stack(pushed, axis=-1)) < 1e-10


def test_batches_of_derivatives():
    held, q, v, a, tau, f, _ = bound(backend=None)
    plain, *_ = bound(backend="reference")
    many = (np.stack([q, q + 0.1, q - 0.2]), np.stack([v, v, -v]), np.stack([a, -a, a]))
    given = np.arange(6) < 1
    calls = [
        ("inverse_dynamics_derivatives", many, {"tau": tau, "f_ext": f}),
        ("hybrid_dynamics_derivatives", (*many, tau, given), {}),
        ("impulse_derivatives", many[:2], {"restitution": 0.5}),
    ]
    for name, inputs, options in calls:
        found = getattr(held, name)(*inputs, **options)
        for k in range(3):
            one = [x[k] if x.ndim == 2 else x for x in inputs]
            for ours, theirs in zip(found, getattr(plain, name)(*one, **options), strict=True):
                assert relative(ours[k], theirs) < 1e-9


def test_errors_of_derivatives_name_what_is_wrong():
    held, q, v, a, *_ = bound(backend="reference")
    with pytest.raises(ValueError, match="objective 'least' is not one of torque, constraint_force"):
        held.inverse_dynamics_derivatives(q, v, a, objective="least")
    with pytest.raises(ValueError, match="v of joint"):
        held.inverse_dynamics_derivatives(q, np.full(6, np.nan), a)
    with pytest.raises(ValueError, match="restitution"):
        held.impulse_derivatives(q, v, restitution=np.inf)
    with pytest.raises(ValueError, match=r"q has shape \(5,\)"):
        held.hybrid_dynamics_derivatives(q[:5], v, a, a, np.zeros(6, bool))
    with pytest.raises(KeyError, match="nothing"):
        held.forward_dynamics_wrench_derivative(q, "nothing")
