# SPDX-License-Identifier: Apache-2.0
"""A joint kind of one's own, given by its pose: what is made of it, and what of one that contradicts itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative
from helpers.checks.robot_methods.of_dynamics import vee
from helpers.models.mixed_trees import any_kind
from helpers.models.varying_kinds import VARYING, Eccentric, LooseBall, Wobble, X, under_gravity, varying_tree
from numpy.typing import NDArray

from rbd_dynamics import Model, ModelBuilder, ModelError, Robot, model_to_dict, spatial
from rbd_dynamics.constraints import JointCoupling
from rbd_dynamics.model.joints import Cam, JointKind, Prismatic, Revolute, Universal
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.model.passive_forces import Elastic
from rbd_dynamics.spatial.scalar import sqrt
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_about

Array = NDArray[np.float64]


def test_built_in_kinds_keep_what_they_know():
    rng = np.random.default_rng(5)
    for name in ("revolute", "continuous", "prismatic", "planar", "spherical", "floating", "helical", "screw"):
        kind = any_kind(rng, name)
        assert kind.has_constant_columns and not np.any(kind.columns_rate(kind.neutral().tolist(), [1.0] * kind.nv))
    for name in VARYING:
        assert not VARYING[name](rng).has_constant_columns
    assert not Universal().has_constant_columns


@pytest.mark.parametrize("name", VARYING)
def test_columns_and_their_derivatives_follow_from_the_pose(name):
    rng = np.random.default_rng(7)
    for _ in range(5):
        kind = VARYING[name](rng)
        q, v, w = kind.random(rng, -1.0, 1.0), rng.normal(size=kind.nv), rng.normal(size=kind.nv)

        def at(t: float, w: Array = w, kind: JointKind = kind, q: Array = q) -> list[float]:
            return [float(x) for x in kind.integrate(q, t * w)]

        def pose(t: float, at: Any = at, kind: JointKind = kind) -> Array:
            return spatial.arrays.pose_array(kind.transform(at(t)))

        S = np.array(kind.columns(at(0.0))).T
        np.testing.assert_allclose(S @ w, vee(np.linalg.inv(pose(0.0)) @ derivative(pose, 1e-2)), atol=1e-8)
        along = derivative(lambda t, at=at, kind=kind: np.array(kind.columns(at(t))), 1e-2)
        np.testing.assert_allclose(kind.columns_rate(at(0.0), w.tolist()), along, atol=1e-8)
        along = derivative(lambda t, at=at, kind=kind, v=v: np.array(kind.columns_rate(at(t), v.tolist())), 1e-2)
        found = kind.columns_rate_derivative(at(0.0), v.tolist(), w.tolist())
        np.testing.assert_allclose(found, along, atol=1e-7)
        # d[S_k, .]: the structure of motion, dS_l/dq_k - dS_k/dq_l = [S_l, S_k] for coordinates
        if type(kind).rates is JointKind.rates:
            slopes = [np.array(kind.columns_rate(at(0.0), u.tolist())) for u in np.eye(kind.nv)]
            for k in range(kind.nv):
                for j in range(kind.nv):
                    bracket = spatial.ad(S[:, j]) @ S[:, k]
                    np.testing.assert_allclose(slopes[k][j] - slopes[j][k], bracket, atol=1e-12)


def test_what_no_longer_belongs_together_is_refused():
    def kind(base: type, **given: Any) -> Any:
        return type("Own", (base,), given)

    with pytest.raises(TypeError, match="Own: gives 'transform', but 'columns' is still that of Revolute"):
        kind(Revolute, transform=lambda self, q: None)
    with pytest.raises(TypeError, match="gives 'transform', but 'columns' is still that of CoordinateChain"):
        kind(Universal, transform=lambda self, q: None)
    with pytest.raises(TypeError, match="gives 'columns', but 'columns_rate' is still that of CoordinateChain"):
        kind(Universal, columns=JointKind.columns)
    with pytest.raises(TypeError, match="gives 'rates', so it must give 'integrate'"):
        kind(JointKind, rates=lambda self, q, v: None)
    kind(LooseBall, transform=lambda self, q: None, columns=JointKind.columns)
    kind(Prismatic, reach=2.0)


@dataclass(frozen=True)
class Bent(JointKind):
    """A slider on a parabola, whose parts can be wrong."""

    wrong: str = ""

    def transform(self, q: Any) -> Transform:
        turn = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.1 if self.wrong == "rotation" else 1.0)
        return Transform((turn,), (q[0], q[0] * q[0], 0.0))

    def columns(self, q: Any) -> Any:
        return ((0.0, 0.0, 0.0, 1.0, (1.0 if self.wrong == "columns" else 2.0) * q[0], 0.0),)

    def columns_rate(self, q: Any, v: Any) -> Any:
        return ((0.0, 0.0, 0.0, 0.0, (0.0 if self.wrong == "columns_rate" else 2.0) * v[0], 0.0),)

    def rates(self, q: Any, v: Any) -> Any:
        return v, (0.1 if self.wrong == "second" else 0.0,)

    def integrate(self, q: Any, dv: Any) -> Any:
        return q + (2.0 if self.wrong == "integrate" else 1.0) * dv

    def as_chain(self) -> Any:
        return (Prismatic(X),) if self.wrong == "as_chain" else None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("columns", "`columns` are not the body twists of `transform`"),
        ("columns_rate", "`columns_rate` is not the rate of `columns`"),
        ("integrate", "`rates` are not those of `integrate`"),
        ("second", "second `rates` are not those"),
        ("rotation", "no rotation matrix"),
        ("as_chain", "`as_chain` has not the pose"),
    ],
)
def test_a_kind_that_contradicts_itself_is_refused(wrong, message):
    for kind in (Bent(), Bent(wrong)):
        builder = ModelBuilder()
        builder.add_body("slide", None, kind, joint_name="slider", mass=1.0)
        if kind.wrong:
            with pytest.raises(ModelError, match=f"joint 'slider': Bent: .*{message}"):
                builder.build()
        else:
            builder.build()


def posed(turn: Any, place: Any) -> Any:
    return lambda self, q: Transform(turn(q), place(q))


def turn(q: Any) -> Any:
    return (rotation_about((0.0, 0.0, 1.0), q[0]),)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (JointKind.transform, "gives no `transform`"),
        (posed(turn, lambda q: (math.sin(q[0]), 0.0, 0.0)), "not Jet; `transform` gets"),
        (posed(turn, lambda q: (np.sin(q[0]), 0.0, 0.0)), "those of math and numpy"),
        (posed(lambda q: turn(q)[0], lambda q: (0.0, 0.0, 0.0)), r"returns Transform\(\(rotation,\)"),
        (posed(lambda q: turn([q]), lambda q: (0.0, 0.0, 0.0)), "q as a sequence"),
    ],
)
def test_a_pose_that_cannot_be_computed_is_refused_with_what_is_expected(transform, message):
    builder = ModelBuilder()
    builder.add_body("link", None, type("Own", (JointKind,), {"transform": transform})(), joint_name="own", mass=1.0)
    with pytest.raises(ModelError, match=f"joint 'own': Own: .*{message}") as error:
        builder.build()
    assert error.value.__cause__ is not None


def test_a_kind_without_a_name_computes_but_is_not_written_down():
    robot = under_gravity(Bent())
    assert_close(robot.mass_matrix([0.5]), np.array([[2.0 * 2.0 + 0.3]]), 1e-14)
    with pytest.raises(ModelError, match="Bent is a joint kind without a name of its own"):
        model_to_dict(robot.model)


def test_a_kind_is_asked_within_its_limits():
    def build(limits: Limits | None) -> Model:
        builder = ModelBuilder()
        cam = Cam(profile=lambda q: sqrt(q - 1.0))
        builder.add_body("link", None, cam, joint_name="short", mass=1.0, armature=0.1, limits=limits)
        return builder.build()

    build(Limits(lower=1.1, upper=2.0))
    with pytest.raises(ModelError, match="joint 'short': Cam: it has no pose at .*within its limits"):
        build(None)


def test_a_kind_with_other_numbers_than_freedoms_says_how_they_move():
    class Angle(JointKind):
        name: ClassVar[str] = "test angle"
        nq: ClassVar[int] = 2

        def transform(self, q: Any) -> Transform:
            return Eccentric().transform(q)

    with pytest.raises(TypeError, match="'test angle' has nq = 2, nv = 1: it must give `rates`"):
        Angle().columns([1.0, 0.0])


def test_couplings_and_followers_need_a_coordinate():
    model = varying_tree(3, ("eccentric", "wobble"))
    robot = Robot(model, backend="reference")
    with pytest.raises(ValueError, match="joint0.*not the rate of its position"):
        robot.constraint_rows(model.neutral(), [0.1, 0.2], [JointCoupling("c", {"joint0": 1.0})])
    builder = ModelBuilder()
    builder.add_body("one", None, Wobble(), joint_name="first", mass=1.0, armature=0.1)
    builder.add_body("two", "one", Eccentric(), joint_name="second", mass=1.0, mimic=Mimic("first"))
    with pytest.raises(ModelError, match="'second': is test eccentric and cannot mimic"):
        builder.build()


@pytest.mark.parametrize("backend", ["python", "llvm"])
def test_kernels_of_like_kinds_with_other_code_are_told_apart(backend, tmp_path, monkeypatch):
    """The cache must not take an edited kind, or another function, for the one that it knows."""
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RBD_DYNAMICS_CACHE_DIR", raising=False)

    def edited(factor: float) -> JointKind:
        @dataclass(frozen=True)
        class Lift(JointKind):
            def transform(self, q: Any) -> Transform:
                return Transform((), (0.0, 0.0, factor * q[0] * q[0]))

            def __repr__(self) -> str:
                return "Lift()"

        return Lift()

    for make in (edited, lambda factor: Cam(profile=lambda q: factor * q * q)):
        found = []
        for factor in (1.0, 2.0, 1.0):
            builder = ModelBuilder()
            builder.add_body("link", None, make(factor), joint_name="joint", mass=1.0, armature=0.1)
            found.append(float(Robot(builder.build(), backend=backend).mass_matrix([0.5])[0, 0]))
        np.testing.assert_allclose(found, [1.1, 4.1, 1.1])

    def stiff(factor: float) -> Elastic:
        class Stop(Elastic):
            def energy(self, q: Any) -> Any:
                return factor * q * q

            def __repr__(self) -> str:
                return "Stop()"

        return Stop()

    found = []
    for factor in (1.0, 2.0):
        builder = ModelBuilder()
        builder.add_body("link", None, Prismatic(), joint_name="joint", mass=1.0, passive=[stiff(factor)])
        found.append(float(Robot(builder.build(), backend=backend).spring_torque([0.5])[0]))
    np.testing.assert_allclose(found, [1.0, 2.0])
