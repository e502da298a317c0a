# SPDX-License-Identifier: Apache-2.0
"""Every constraint kind, alone and beside every other, through all constrained algorithms and their derivatives.

The oracle is dense and written here: least-squares solutions of the whole system by singular values, and central
differences of these. The robot has a quaternion joint, a payload, friction and an external wrench.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from helpers.checks.differences import along_tangent, along_velocity, relative
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    Constraint,
    ConstraintSet,
    Cylinder,
    DistanceConstraint,
    FrameConstraint,
    HolonomicRows,
    JointCoupling,
    PairConstraint,
    PfaffianRows,
    RollingBall,
    RollingDisk,
    ScrewConstraint,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.model.joints import Prismatic, Revolute, Spherical
from rbd_dynamics.spatial.jets import Jet
from rbd_dynamics.spatial.scalar import cos, less, sin, where

APART = (0.7, -0.9, 0.8)
#: an example or several of each kind
EXAMPLES = {
    "coupling": JointCoupling("c", {"arm": 0.7, "slide": -0.4}, 0.1),
    "polynomial coupling": JointCoupling("p", {"arm": (0.5, -0.2, 0.3), "slide": 1.0}),
    "polynomial alone": JointCoupling("o", {"wrist": (0.0, 0.6)}),
    "holonomic": HolonomicRows("h", lambda q: [q[0] * q[5] + sin(q[6]) * q[1]]),
    "holonomic, of one joint": HolonomicRows("i", lambda q: [q[5] * q[5] - 0.3]),
    "pfaffian": PfaffianRows("n", lambda q: [[cos(q[5]), q[1], sin(q[6]), q[0], 0.3 * q[5], q[6], q[7]]]),
    "pfaffian, numbers and functions": PfaffianRows("m", lambda q: [[1.0, 0.0, 0.5, 0.0, q[5], 0.2, 0.0]]),
    "pfaffian, numbers": PfaffianRows("u", lambda q: [[0.0, 1.0, 0.0, -0.5, 0.0, 0.0, 0.0]]),
    "frame": FrameConstraint("f", "hand", directions=("rx", "z")),
    "distance": DistanceConstraint("d", "hand", "base", reference_placement=APART, distance=1.3),
    "screw": ScrewConstraint("w", "hand", "tip", reference_placement=APART, pitch=-0.6),
    "surface": SurfaceConstraint("s", "hand", reference_placement=APART, surface=Cylinder(0.4), offset=0.1),
    "ball": RollingBall("b", "hand", reference_placement=APART, surface=Sphere(0.5), radius=0.2),
    "disk": RollingDisk("k", "hand", reference_placement=(0.0, 0.0, -2.0), radius=0.2),
}
OBJECTIVES = ("torque", "constraint_force")


def kinds(base=Constraint):
    """All kinds of the package that can be made."""
    for kind in base.__subclasses__():
        if kind.__module__.startswith("rbd_dynamics."):
            yield kind
            yield from kinds(kind)


def test_every_kind_has_an_example():
    lacking = set(kinds()) - {PairConstraint} - {type(each) for each in EXAMPLES.values()}
    assert not lacking, f"{lacking}: give one in EXAMPLES"


@pytest.fixture(scope="module")
def robot():
    builder = rbd.ModelBuilder("tree")
    solid = {"mass": 1.3, "com": (0.1, 0.05, -0.2), "inertia": np.diag([0.3, 0.4, 0.5])}
    builder.add_body("base", None, Prismatic((0.3, 0.0, 1.0)), joint_name="lift", **solid, damping=0.2)
    builder.add_body("ball", "base", Spherical(), placement=(0.1, 0.2, 0.3), joint_name="ball", **solid)
    builder.add_body("fore", "ball", Revolute((0, 1, 0)), placement=(0.4, 0.0, 0.1), joint_name="arm", **solid)
    builder.add_body("hand", "fore", Prismatic((1, 0, 0)), placement=(0.3, 0.1, 0.0), joint_name="slide", **solid)
    builder.add_body("tip", "base", Revolute((1, 0, 0)), placement=(0.0, 0.3, 0.0), joint_name="wrist", **solid)
    made = rbd.Robot(builder.build(), backend="python", friction=True)
    made.set_payload("hand", 0.8, com=(0.1, 0.0, 0.2), inertia=np.diag([0.01, 0.02, 0.02]))
    return made


def state(robot, seed):
    rng = np.random.default_rng(seed)
    q = robot.model.random(rng)
    v, a, tau = rng.normal(size=(3, robot.model.nv))
    return q, v, a, tau, {"tip": rng.normal(size=6)}, rng


def inverse_of(matrix, scale):
    """The pseudoinverse, with what is rounding beside another matrix as zero."""
    U, sizes, V = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > 1e-9 * np.linalg.norm(scale)
    return V.T[:, kept] / sizes[kept] @ U[:, kept].T


class Dense:
    """What the algorithms have to be, by singular values of the whole system."""

    def __init__(self, robot, of, f_ext, target):
        self.robot, self.of, self.f_ext, self.target = robot, of, f_ext, target
        self.terms = cache(lambda q, v: self._terms(np.frombuffer(q), np.frombuffer(v)))

    def _terms(self, q, v):
        still = np.zeros(self.robot.model.nv)
        bias = self.robot.inverse_dynamics(q, v, still, f_ext=self.f_ext)
        rows = self.robot.constraint_rows(q, v, self.of)
        rate = self.of.stabilization
        pull = 2.0 * rate * (rows.A @ v) + rate * rate * rows.h
        return self.robot.mass_matrix(q), bias, rows.A, self.target - rows.Adot_v - pull

    def hybrid(self, q, v, a, tau, given):
        """a, tau, multipliers."""
        M, bias, A, rhs = self.terms(q.tobytes(), v.tobytes())
        n, m = len(v), len(A)
        # unknown: a, tau, multipliers
        system = np.block([
            [M, -np.eye(n), -A.T], [A, np.zeros((m, n + m))],
            [np.diag(given * 1.0), np.diag(~given * 1.0), np.zeros((n, m))],
        ])  # fmt: skip
        right = np.concatenate([-bias, rhs, np.where(given, a, tau)])
        found = np.linalg.lstsq(system, right, rcond=1e-11)[0]
        found[2 * n :] = np.linalg.pinv(A[:, ~given].T, rcond=1e-9) @ (A[:, ~given].T @ found[2 * n :])
        left = M @ found[:n] + bias - A.T @ found[2 * n :]
        return found[:n], np.where(given, left, tau), found[2 * n :]

    def inverse(self, q, v, a, tau, actuated, objective):
        """tau, multipliers."""
        M, bias, A, _ = self.terms(q.tobytes(), v.tobytes())
        needed, passive = M @ a + bias, A[:, ~actuated].T
        shortest = inverse_of(passive, A)
        multipliers = shortest @ (needed - tau)[~actuated]
        if objective == "torque":
            free = np.eye(len(A)) - shortest @ passive
            felt = A[:, actuated].T @ free
            step = inverse_of(felt, A) @ (needed[actuated] - A[:, actuated].T @ multipliers)
            multipliers = multipliers + free @ step
        multipliers = A @ np.linalg.pinv(A, rcond=1e-9) @ multipliers
        return np.where(actuated, needed - A.T @ multipliers, tau), multipliers

    def impulse(self, q, v, after):
        """v+, impulses."""
        M, _, A, _ = self.terms(q.tobytes(), v.tobytes())
        response = np.linalg.solve(M, A.T)
        impulses = np.linalg.pinv(A @ response, rcond=1e-11, hermitian=True) @ (after - A @ v)
        return v + response @ impulses, impulses


def check(robot, constraints, seed):
    of = ConstraintSet(robot.model, constraints, stabilization=2.0)
    q, v, a, tau, f_ext, rng = state(robot, seed)
    target = rng.normal(size=len(of))
    dense, options = Dense(robot, of, f_ext, target), {"f_ext": f_ext, "target": target}
    given, actuated = np.arange(7) == 3, np.arange(7) != 4
    model, bound = robot.model, robot.constrained(of)

    found = bound.forward_dynamics(q, v, tau, **options)
    nothing = np.zeros(7, bool)
    expected = dense.hybrid(q, v, a, tau, nothing)
    assert relative(np.r_[found.a, found.multipliers], np.r_[expected[0], expected[2]]) < 1e-9
    if found.rank < len(of):
        return  # rows contradict each other here, or depend on others: `test_constrained_dynamics` is about these

    def forward(q, v, tau):
        parts = dense.hybrid(q, v, a, tau, nothing)
        return np.r_[parts[0], parts[2]]

    by = bound.forward_dynamics_derivatives(q, v, tau, **options)
    agree([np.vstack([by[k], by[k + 3]]) for k in range(3)], forward, model, q, v, tau)

    hybrid = bound.hybrid_dynamics(q, v, a, tau, given, **options)
    if hybrid.rank == len(of):
        assert relative(np.concatenate(hybrid[:3]), np.concatenate(dense.hybrid(q, v, a, tau, given))) < 1e-9

        def complete(q, v, x):
            return np.concatenate(dense.hybrid(q, v, np.where(given, x, 0.0), np.where(given, 0.0, x), given))

        by = bound.hybrid_dynamics_derivatives(q, v, a, tau, given, **options)
        agree([np.vstack(by[k::3]) for k in range(3)], complete, model, q, v, np.where(given, a, tau))

    for objective in OBJECTIVES:
        torque = bound.inverse_dynamics(q, v, a, tau=tau, actuated=actuated, objective=objective, f_ext=f_ext)

        def inverse(q, v, a, tau, objective=objective):
            return np.concatenate(dense.inverse(q, v, a, tau, actuated, objective))

        assert relative(np.concatenate(torque[:2]), inverse(q, v, a, tau)) < 1e-9
        by = bound.inverse_dynamics_derivatives(q, v, a, tau=tau, actuated=actuated, objective=objective, f_ext=f_ext)
        agree([np.vstack(by[k::4]) for k in range(4)], inverse, model, q, v, a, tau)

    after = rng.normal(size=len(of))

    def impulse(q, v, after):
        return np.concatenate(dense.impulse(q, v, after))

    assert relative(np.concatenate(bound.impulse(q, v, after=after)[:2]), impulse(q, v, after)) < 1e-9
    by = bound.impulse_derivatives(q, v, after=after)
    agree([np.vstack(by[k::3]) for k in range(3)], impulse, model, q, v, after)

    M, _, A, _ = dense.terms(q.tobytes(), v.tobytes())
    project = np.eye(7) - A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ np.linalg.inv(M))
    assert relative(bound.force_projection(q)[0], project) < 1e-9


def agree(found, function, model, q, *vectors):
    """Derivatives by q and by each vector."""
    assert relative(found[0], along_tangent(model, q, lambda x: function(x, *vectors))) < 1e-5
    for k, vector in enumerate(vectors):

        def moved(x, k=k):
            return function(q, *vectors[:k], x, *vectors[k + 1 :])

        assert relative(found[k + 1], along_velocity(vector, moved)) < 1e-5


FREEDOMS = 7
#: but what cannot hold together
PAIRS = [
    pair
    for pair in itertools.combinations(EXAMPLES, 2)
    if sum(len(EXAMPLES[name].row_names) for name in pair) <= FREEDOMS
]
NEIGHBOURS = set(itertools.pairwise([*EXAMPLES][::2]))
#: what none of the neighbours has
SINGLE = [*EXAMPLES][1::2]


@pytest.mark.parametrize("name", table(EXAMPLES, SINGLE))
def test_a_kind_alone(robot, name):
    check(robot, [EXAMPLES[name]], 1)


@pytest.mark.parametrize("one, other", table(PAIRS, NEIGHBOURS))
def test_two_kinds(robot, one, other):
    check(robot, [EXAMPLES[other], EXAMPLES[one]], 2)


def test_scalars_of_all_kinds_are_compared_and_chosen(robot):
    """A number, what is traced, and jets of both: whichever stands first."""
    from rbd_dynamics.compiler.trace import Graph

    graph = Graph()
    x = graph.inputs("x", 1)[0]
    scalars = [0.5, x, Jet(1.0, 2.0), Jet(x, 1.0), Jet(Jet(x, 1.0), 0.5, 0.0, 1), Jet(2.0, x, 0.0, 1)]
    for a, b in itertools.product(scalars, repeat=2):
        condition = less(a, b)
        assert not isinstance(condition, Jet)
        chosen = where(condition, a, b)
        levels = [s.level for s in (a, b) if isinstance(s, Jet)]
        if levels and condition not in (0.0, 1.0):
            assert chosen.level == max(levels)
