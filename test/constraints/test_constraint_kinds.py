# SPDX-License-Identifier: Apache-2.0
"""Constraint kinds and surfaces of one's own, each a few lines here, are at home wherever the built-in ones are."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
import yaml
from helpers.checks.oracles import assert_close
from helpers.models.robots import load_robot, random_state

import rbd_dynamics as rbd
from rbd_dynamics.algorithms.constrained_dynamics import Rows
from rbd_dynamics.constraints import (
    Constraint,
    ConstraintSet,
    FrameConstraint,
    HolonomicRows,
    PairConstraint,
    Plane,
    Quadric,
    RollingBall,
    RollingDisk,
    Sphere,
    Surface,
    SurfaceConstraint,
    constraints_to_dict,
    load_constraints,
    placement,
)
from rbd_dynamics.model.joints import Floating, Helical, Planar, Prismatic
from rbd_dynamics.model.open_kinds import required
from rbd_dynamics.simulation.scene import load_scene
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.spatial.scalar import atan2, sqrt


@dataclass(frozen=True)
class ScrewConstraint(PairConstraint):
    """`frame` turns about and moves along the reference's z axis, by `pitch` m/rad."""

    kind: ClassVar[str] = "test screw"
    pitch: float = field(kw_only=True)

    row_names = ("rx", "ry", "x", "y", "z")

    @property
    def numbers(self):
        return (self.pitch,)

    def position(self, pose, parameters):
        R, (x, y, z) = pose.rotation, pose.p
        return [R[7], -R[6], x, y, z - parameters[0] * atan2(R[3], R[0])]


@dataclass(frozen=True)
class Skate(PairConstraint):
    """No velocity along the frame's own y axis."""

    kind: ClassVar[str] = "test skate"

    row_names = ("y",)

    def velocity(self, pose, twist, parameters):
        return [twist[4]]


@dataclass(frozen=True)
class JointProduct(Constraint):
    """The product of two joints' positions is given."""

    kind: ClassVar[str] = "test product"
    joints: tuple[str, ...] = ()
    product: float = 0.0

    row_names = ("product",)

    @property
    def parameters(self):
        return (self.product,)

    def renamed(self, rename):
        return JointProduct(self.name, tuple(map(rename, self.joints)), self.product)

    def rows(self, kinematics, parameters):
        one, other = (kinematics.model.joint(name) for name in self.joints)
        x, y = kinematics.q[one.q_index], kinematics.q[other.q_index]
        row = [0.0] * kinematics.model.nv
        row[one.v_index], row[other.v_index] = y, x
        bias = 2.0 * kinematics.v[one.v_index] * kinematics.v[other.v_index]
        return Rows([x * y - next(parameters)], [row], [bias])


@dataclass(frozen=True)
class ParabolicTrough(Surface):
    """z = curvature x^2 / 2, outside above."""

    kind: ClassVar[str] = "test trough"
    curvature: float = required(1.0)

    @property
    def numbers(self):
        return (self.curvature,)

    def value(self, point, numbers):
        x, _, z = point
        return z - 0.5 * numbers[0] * x * x


@dataclass(frozen=True)
class Torus(Surface):
    """About z: radii of the ring and of its section, m. Its value is the distance."""

    kind: ClassVar[str] = "test torus"
    is_distance: ClassVar[bool] = True
    radii: tuple[float, float] = (1.0, 0.25)
    closed: bool = True

    def __post_init__(self):
        if self.radii[1] > self.radii[0]:
            raise ValueError("a torus needs a hole")

    @property
    def numbers(self):
        return self.radii

    def value(self, point, numbers):
        x, y, z = point
        ring = sqrt(x * x + y * y) - numbers[0]
        return sqrt(ring * ring + z * z) - numbers[1]


TEXT = """
constraints:
  - {name: screw, type: test screw, frame: tool0, reference: base_link, pitch: 1, placement: {xyz: [0.1, 0, 0]}}
  - {name: skate, type: test skate, frame: forearm_link}
  - {name: product, type: test product, joints: [elbow_joint, wrist_1_joint], product: 0.3}
  - {name: trough, type: surface, frame: tool0, surface: {type: test trough, curvature: 0.5}, aligned: true}
  - {name: torus, type: rolling_ball, frame: tool0, surface: {type: test torus, radii: [2, 0.5]}, radius: 0.1}
  - {name: again, type: surface, frame: tool0, surface: test torus}
"""


def own():
    return [
        ScrewConstraint("screw", "tool0", "base_link", placement=(0.1, 0.0, 0.0), pitch=1.0),
        Skate("skate", "forearm_link"),
        JointProduct("product", ("elbow_joint", "wrist_1_joint"), 0.3),
        SurfaceConstraint("trough", "tool0", surface=ParabolicTrough(0.5), aligned=True),
        RollingBall("torus", "tool0", surface=Torus((2.0, 0.5)), radius=0.1),
        SurfaceConstraint("again", "tool0", surface=Torus()),
    ]


@pytest.fixture(scope="module")
def model():
    return load_robot("ur5_robot")


# --- files ----------------------------------------------------------------------------------------


def test_files_hold_them(model):
    of = load_constraints(TEXT, model)
    assert list(of.constraints) == own()
    text = yaml.safe_dump(constraints_to_dict(of))
    assert load_constraints(text, model).constraints == of.constraints
    entry = constraints_to_dict(of)["constraints"][1]
    assert entry == {"name": "skate", "type": "test skate", "frame": "forearm_link"}


def test_turned_placements_come_back(model):
    pose = placement((0.1, 0.2, 0.3), (0.4, -0.5, 3.0))
    of = ConstraintSet(model, [ScrewConstraint("screw", "tool0", reference_placement=pose, pitch=0.1)])
    back = load_constraints(constraints_to_dict(of), model)
    np.testing.assert_allclose(back.parameters, of.parameters, atol=1e-15)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"type": "test scrw"}, "'a': unknown type 'test scrw'; did you mean 'test screw'"),
        ({"type": "test screw"}, "'a': `pitch` is missing"),
        ({"type": "test screw", "pitch": "much"}, "'a': pitch: 'much' is not a number"),
        ({"type": "test screw", "pitch": True}, "'a': pitch: True is not a number"),
        ({"type": "test screw", "pitch": float("inf")}, "'a': pitch: inf is not finite"),
        ({"type": "test screw", "pich": 1.0}, "'a': type test screw: unknown key 'pich'; did you mean 'pitch'"),
        ({"type": "test skate", "placement": 3}, "'a': placement: expected xyz and rpy"),
        ({"type": "surface", "surface": "test trough"}, "'a': surface: `curvature` is missing"),
        (
            {"type": "surface", "surface": "test troug"},
            "'a': surface: unknown type 'test troug'; did you mean 'test tr",
        ),
        ({"type": "surface", "surface": {"type": "test torus", "radii": 2.0}}, "'a': surface: radii: expected a list"),
        ({"type": "surface", "surface": {"type": "test torus", "radii": [1, 2, 3]}}, "'a': surface: radii: .* 3 numb"),
        ({"type": "surface", "surface": {"type": "test torus", "radii": [1, "x"]}}, "'a': surface: radii: 'x' is not"),
        ({"type": "surface", "surface": {"type": "test torus", "closed": "no"}}, "'a': surface: closed: expected true"),
        ({"type": "surface", "surface": {"type": "test torus", "radii": [1, 2]}}, "'a': surface: a torus needs a hole"),
    ],
)
def test_what_is_wrong_in_files_is_named(model, entry, reason):
    with pytest.raises(ValueError, match=reason):
        load_constraints([{"name": "a", "frame": "tool0"} | entry], model)


def test_a_direct_kind_refuses_what_it_does_not_have(model):
    with pytest.raises(ValueError, match="constraint 'a': joints: expected a list of names, got 'elbow_joint'"):
        load_constraints([{"name": "a", "type": "test product", "joints": "elbow_joint"}], model)
    with pytest.raises(KeyError, match="constraint 'a': no joint named 'elbow'"):
        load_constraints([{"name": "a", "type": "test product", "joints": ["elbow", "wrist_1_joint"]}], model)


def test_a_name_is_that_of_one_kind():
    with pytest.raises(TypeError, match="FrameConstraint is already the constraint 'frame'"):

        class Frame(PairConstraint):
            kind = "frame"

    with pytest.raises(TypeError, match="Plane is already the surface 'plane'"):

        class Table(Surface):
            kind = "plane"

    assert Constraint.known["frame"] is FrameConstraint and Surface.known["plane"] is Plane


def test_a_module_may_be_loaded_again(model, tmp_path, monkeypatch):
    (tmp_path / "reloaded_kind.py").write_text(
        "from dataclasses import dataclass\n"
        "from rbd_dynamics.constraints import PairConstraint\n\n"
        "@dataclass(frozen=True)\n"
        "class Above(PairConstraint):\n"
        "    kind = 'test above'\n"
        "    row_names = ('z',)\n"
        "    def position(self, pose, parameters):\n"
        "        return [pose.p[2]]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("reloaded_kind")
    before = ConstraintSet(model, [module.Above("a", "tool0")])
    importlib.reload(module)
    after = load_constraints(constraints_to_dict(before), model)
    assert isinstance(after["a"], module.Above) and not isinstance(before["a"], module.Above)
    assert after.key == before.key
    Constraint.known.pop("test above")
    sys.modules.pop("reloaded_kind")


def test_a_kind_without_a_name_of_its_own_is_not_written_as_its_base(model):
    class BigSphere(Sphere):
        pass

    of = ConstraintSet(model, [SurfaceConstraint("a", "tool0", surface=BigSphere(9.0))])
    with pytest.raises(ValueError, match="constraint 'a': surface: BigSphere is a surface without a name of its own"):
        constraints_to_dict(of)


# --- dynamics -------------------------------------------------------------------------------------


def test_a_body_on_a_screw_moves_as_on_a_helical_joint():
    load = {"mass": 2.0, "com": (0.3, -0.1, 0.2), "inertia": (0.2, 0.01, 0.0, 0.3, 0.02, 0.4)}
    free, held = rbd.ModelBuilder("free", gravity=(1.0, 2.0, -9.0)), rbd.ModelBuilder("held", gravity=(1.0, 2.0, -9.0))
    free.add_body("nut", None, Floating(), **load)
    held.add_body("nut", None, Helical((0.0, 0.0, 1.0), 0.05), **load)
    free, held = rbd.Robot(free.build()), rbd.Robot(held.build())
    x, speed, torque = 0.7, 1.3, 0.4
    expected = float(held.forward_dynamics([x], [speed], [torque])[0])
    q = [0.0, 0.0, 0.05 * x, 0.0, 0.0, np.sin(x / 2), np.cos(x / 2)]
    v = np.array([0.0, 0.0, speed, 0.0, 0.0, 0.05 * speed])
    of = ConstraintSet(free.model, [ScrewConstraint("screw", "nut", pitch=0.05)])
    h, A, _ = free.constraint_rows(q, v, of)
    np.testing.assert_allclose([h, A @ v], 0.0, atol=1e-15)
    found = free.constrained_forward_dynamics(q, v, [0.0, 0.0, torque, 0.0, 0.0, 0.0], of)
    assert_close(found.a, expected * np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.05]), 1e-11)


def test_rows_of_velocities_alone_have_no_h():
    """A skate that turns: the blade's force is m w v, and nothing else brakes it."""
    builder = rbd.ModelBuilder("skate", gravity=(0.0, 0.0, 0.0))
    builder.add_body("blade", None, Planar((0.0, 0.0, 1.0)), mass=3.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.2))
    robot = rbd.Robot(builder.build())
    of = ConstraintSet(robot.model, [Skate("skate", "blade")], stabilization=4.0)
    assert of.holonomic.tolist() == [False]
    q, v = np.array([0.3, 0.4, 0.5]), np.array([2.0, 0.0, 1.5])
    found = robot.constrained_forward_dynamics(q, v, np.zeros(3), of)
    assert_close(found.multipliers, np.array([3.0 * 1.5 * 2.0]), 1e-12)
    # v is the body's velocity: its components stay, the direction turns
    assert_close(1.0 + found.a, np.ones(3), 1e-12)


@pytest.mark.parametrize(
    ("constraint", "flags"),
    [
        (RollingBall("b", "tool0", spin=False), (True, False, False, False)),
        (RollingDisk("d", "tool0"), (True, False, False)),
        (ScrewConstraint("s", "tool0", pitch=0.1), (True,) * 5),
    ],
)
def test_rows_are_told_apart_by_the_function_that_gives_them(constraint, flags):
    assert constraint.holonomic == flags


def test_what_lies_on_a_surface_or_rolls_on_it_only_pushes():
    pushing = {RollingBall, RollingDisk, SurfaceConstraint}
    builtin = [kind for kind in vars(rbd.constraints).values() if isinstance(kind, type) and hasattr(kind, "one_sided")]
    assert {kind for kind in builtin if kind.one_sided} == pushing and len(builtin) > 2 * len(pushing)


def test_the_same_as_built_in_kinds(model):
    """A trough is a quadric, a product of joints a function of q."""
    robot = rbd.Robot(model, backend="reference")
    q, v, _ = random_state(model, np.random.default_rng(3))
    k, l = (model.joint(name).q_index for name in ("elbow_joint", "wrist_1_joint"))
    quadric = Quadric(xx=-0.25, z=1.0)
    for ours, theirs in (
        (own()[2], HolonomicRows("rows", lambda q: [q[k] * q[l] - 0.3])),
        (own()[3], SurfaceConstraint("rows", "tool0", surface=quadric, aligned=True)),
    ):
        for one, other in zip(robot.constraint_rows(q, v, [ours]), robot.constraint_rows(q, v, [theirs])):
            assert_close(one, other, 1e-12)


@pytest.mark.parametrize("number", range(6))
def test_derivatives_are_finite_differences(model, number):
    robot, constraint = rbd.Robot(model, backend="reference"), own()[number]
    of = ConstraintSet(model, [constraint], stabilization=3.0)
    rng = np.random.default_rng(number)
    q, v, tau = random_state(model, rng)
    found = robot.constrained_forward_dynamics_derivatives(q, v, tau, of)
    step = 1e-6

    def at(q, v, tau):
        moved = robot.constrained_forward_dynamics(q, v, tau, of)
        return np.concatenate([moved.a, moved.multipliers])

    for part, (by_a, by_multipliers) in enumerate(zip(found[:3], found[3:])):
        columns = []
        for unit in step * np.eye(model.nv):
            arguments = [[q, v, tau], [q, v, tau]]
            arguments[0][part], arguments[1][part] = (q, v, tau)[part] + unit, (q, v, tau)[part] - unit
            columns.append((at(*arguments[0]) - at(*arguments[1])) / (2 * step))
        assert_close(np.concatenate([by_a, by_multipliers]), np.array(columns).T, 2e-6)


def test_numbers_are_read_at_run_time(model):
    of = ConstraintSet(model, own())
    others = {"screw": {"pitch": 0.2}, "product": {"product": 0.5}, "trough": {"surface": ParabolicTrough(0.9)}}
    for name, fields in others.items():
        changed = of.changed(name, **fields)
        assert changed.key == of.key and (changed.parameters != of.parameters).sum() == 1
        assert changed[name] != of[name]


@dataclass(frozen=True)
class Miscounted(PairConstraint):
    """Two rows of which only one has a name; for files it has none, either."""

    row_names = ("x",)

    def position(self, pose, parameters):
        return [pose.p[0], pose.p[1]]


def test_kinds_that_contradict_themselves_are_refused(model):
    with pytest.raises(ValueError, match="constraint 'a': it returns 2 rows, its names are x"):
        ConstraintSet(model, [Miscounted("a", "tool0")])
    with pytest.raises(ValueError, match="constraint 'a': one of its numbers: 'x' is not a number"):
        ConstraintSet(model, [ScrewConstraint("a", "tool0", pitch="x")])

    class Forgotten(JointProduct):
        holonomic = (True, False)

    with pytest.raises(ValueError, match="constraint 'a': 1 rows have 2 `holonomic`"):
        ConstraintSet(model, [Forgotten("a", ("elbow_joint", "wrist_1_joint"))])


# --- simulator and nodes --------------------------------------------------------------------------


def particle(**options):
    """A point in space; q = (x, y, z)."""
    builder = rbd.ModelBuilder("particle", **options)
    for k, (name, parent) in enumerate((("x", None), ("y", "x"), ("z", "y"))):
        axis = tuple(float(i == k) for i in range(3))
        builder.add_body(name, parent, Prismatic(axis), **({"mass": 0.7} if name == "z" else {}))
    return builder.build()


def test_a_particle_in_a_trough_keeps_to_it_and_its_energy():
    model = particle()
    text = "constraints:\n  - {name: way, type: surface, frame: z, surface: {type: test trough, curvature: 2.0}}\n"
    options = SimulationOptions(step=1e-3, integrator="rk4", start_braked=False)
    simulation = Simulation(model, q=[0.5, 0.0, 0.25], options=options, **load_scene(text, model)._asdict())
    simulation.v = np.array([0.0, 0.3, 0.0])
    robot = rbd.Robot(model)

    def energy():
        return float(robot.kinetic_energy(simulation.q, simulation.v) + robot.potential_energy(simulation.q))

    begin = energy()
    simulation.advance(500)
    x, y, z = simulation.q
    assert abs(x) < 0.5 and abs(z - x * x) < 1e-8 and y == pytest.approx(0.15, rel=1e-9)
    assert energy() == pytest.approx(begin, rel=1e-8)


def test_a_ball_comes_to_rest_on_a_surface_of_ones_own():
    model = particle()
    text = "contacts:\n  - {name: ring, frame: z, surface: test torus, radius: 0.1, friction_coefficient: 0.5}\n"
    scene = load_scene(text, model)
    assert scene.contacts[0].surface == Torus()
    simulation = Simulation(model, q=[1.0, 0.0, 0.4], options=SimulationOptions(start_braked=False), **scene._asdict())
    simulation.advance(1000)
    assert_close(simulation.q, np.array([1.0, 0.0, 0.35]), 1e-6)
    assert_close(simulation.contact_forces.reshape(-1)[0], np.asarray(0.7 * 9.81), 1e-6)
    for surface, reason in (("test trough", "`curvature` is missing"), ("test tor", "did you mean 'test torus'")):
        with pytest.raises(ValueError, match=f"contact 'ring': surface: .*{reason}"):
            load_scene(text.replace("test torus", surface), model)
    with pytest.raises(ValueError, match="^contact 'ring': radius -0.1 must be positive$"):
        load_scene(text.replace("0.1", "-0.1"), model)


@pytest.mark.ros
def test_requests_bring_them_along_and_files_name_them(model, tmp_path):
    """With the robot's prefix in all names of frames and joints, of every kind."""
    srv = pytest.importorskip("rbd_dynamics_interfaces.srv")
    from rbd_dynamics.nodes.managed.description_text import Prefix
    from rbd_dynamics.nodes.server import constrained_services as services
    from rbd_dynamics.nodes.server.known_constraints import KnownConstraints

    robot = rbd.Robot(model, backend="reference")
    names = ("tool0", "forearm_link", "base_link", "elbow_joint", "wrist_1_joint")
    prefixed = TEXT
    for name in names:
        prefixed = prefixed.replace(name, f"left_{name}")
    file = tmp_path / "constraints.yaml"
    file.write_text(prefixed)
    known = KnownConstraints(str(file), robot, Prefix("left_", model))
    assert [*known.chosen((), "").constraints] == own()
    q, v, tau = random_state(model, np.random.default_rng(5))
    for chosen in ({"constraints": ["product", "skate"]}, {"constraints_yaml": text_of(prefixed, "product", "skate")}):
        request = srv.ConstrainedForwardDynamics.Request(
            positions=q.tolist(), velocities=v.tolist(), efforts=tau.tolist(), **chosen
        )
        x = services.ConstrainedRequest(model, Prefix("left_", model), known, request)
        response = srv.ConstrainedForwardDynamics.Response()
        services.constrained_forward_dynamics(robot, x, request, response)
        expected = robot.constrained_forward_dynamics(q, v, tau, [own()[2], own()[1]])
        assert_close(np.array(response.accelerations), expected.a, 1e-9)
        assert list(response.row_names) == ["product.product", "skate.y"]


def text_of(text, *names):
    entries = {entry["name"]: entry for entry in yaml.safe_load(text)["constraints"]}
    return yaml.safe_dump([entries[name] for name in names])


@pytest.mark.parametrize("seed", range(4))
def test_a_disk_touches_with_its_lowest_point_and_that_point_does_not_slip(seed):
    """Height and velocity of the lowest of many points of its rim, on a leaning disk that moves anyhow."""
    builder = rbd.ModelBuilder("coin")
    builder.add_body("coin", None, Floating(), mass=1.0, inertia=np.diag([0.1, 0.1, 0.2]))
    robot = rbd.Robot(builder.build(), backend="reference")
    rng = np.random.default_rng(seed)
    q, v = robot.model.random(rng), rng.normal(size=6)
    T = robot.pose(q, "coin")
    angle = np.linspace(0.0, 2.0 * np.pi, 200_001)
    rim = 0.3 * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1) @ T[:3, :3].T
    lowest = rim[rim[:, 2].argmin()]
    w, u = T[:3, :3] @ v[:3], T[:3, :3] @ v[3:]
    h, A, _ = robot.constraint_rows(q, v, [RollingDisk("disk", "coin", radius=0.3)])
    np.testing.assert_allclose(h[0], T[2, 3] + lowest[2], atol=1e-9)
    np.testing.assert_allclose((A @ v)[1:], (u + np.cross(w, lowest))[:2], atol=1e-4)
