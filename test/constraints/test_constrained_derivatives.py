# SPDX-License-Identifier: Apache-2.0
"""Derivatives of constrained forward dynamics against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.mixed_trees import mixed_tree
from helpers.robots import load_robot, random_state

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
    check(rbd.Robot(model, friction=True), constraints, 1)
    robots = [rbd.Robot(model, backend=backend) for backend in ("llvm", "reference")]
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
