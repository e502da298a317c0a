# SPDX-License-Identifier: Apache-2.0
"""Springs and forces of one's own: in every algorithm, in energy, in derivatives, in files; nothing drops a field."""

import json
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative, every_backend
from helpers.models.built import moderate_state, robot_of
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import random_tree

from rbd_dynamics import (
    Drive,
    Limits,
    Mimic,
    ModelBuilder,
    ModelError,
    Robot,
    joints,
    load_yaml,
    model_from_dict,
    model_to_dict,
    save_yaml,
)
from rbd_dynamics.algorithms.passive_forces import drag_torque, is_viscous
from rbd_dynamics.constraints import ConstraintSet, JointCoupling
from rbd_dynamics.control.contact.momentum_observer import MomentumObserver
from rbd_dynamics.model.model import Body, Frame, Joint, Model
from rbd_dynamics.model.passive_forces import Damping, Elastic, Friction, PolynomialDamping, PolynomialSpring, Spring
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import cos, tanh
from rbd_dynamics.spatial.se3 import Transform


@dataclass(frozen=True)
class Detent(Elastic):
    """Notches: c (1 - cos(n q))."""

    depth: float
    count: int = 4
    name: ClassVar[str] = "test detent"

    def energy(self, q):
        return self.depth * (1.0 - cos(self.count * q))


@dataclass(frozen=True)
class SquareDrag(Friction):
    """d v |v|, smooth."""

    coefficient: float
    name: ClassVar[str] = "test square drag"

    def resistance(self, v):
        return self.coefficient * v * v * tanh(v / 0.1)


def spring_of(joint: Joint, q: float) -> float:
    """Torque that holds a joint's springs, by hand."""
    torque = 0.0
    for force in joint.passive:
        if isinstance(force, Spring):
            torque += force.stiffness * (q - force.rest)
        elif isinstance(force, Detent):
            torque += force.depth * force.count * np.sin(force.count * q)
        elif isinstance(force, PolynomialSpring):
            torque += sum(k * (q - force.rest) ** (n + 1) for n, k in enumerate(force.coefficients))
    return torque


def sprung(model: Model, rng: np.random.Generator) -> Model:
    """With springs and forces of one's own wherever a joint takes them, mimics included."""
    bodies = []
    for body in model.bodies:
        passive: tuple = (SquareDrag(rng.uniform(0, 2)), PolynomialDamping(rng.uniform(-1, 2, 3)))
        if body.joint.kind.velocity_is_rate:
            passive += (Spring(rng.uniform(1, 50), rest=rng.uniform(-1, 1)), Detent(rng.uniform(0, 3)))
            passive += (PolynomialSpring(rng.uniform(-2, 4, 3), rest=rng.uniform(-1, 1)),)
        bodies.append(replace(body, joint=replace(body.joint, passive=passive)))
    return replace(model, bodies=tuple(bodies))


def by_hand(model: Model, q: np.ndarray) -> np.ndarray:
    torque = np.zeros(model.nv)
    for body in model.bodies:
        joint = body.joint
        ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        if joint.kind.velocity_is_rate:
            for k in range(joint.kind.nv):
                torque[joint.v_index + k] += ratio * spring_of(joint, ratio * q[joint.q_index + k] + offset)
    return torque


def trees(backend="reference"):
    for seed in range(4 if backend == "reference" else 1):
        rng = np.random.default_rng(seed)
        yield sprung(mixed_tree(seed), rng), rng
    followed = random_tree(3, 6, mimic=0.6)
    assert any(body.joint.mimic and body.joint.mimic.offset for body in followed.bodies)
    yield sprung(followed, rng), rng


@every_backend
def test_springs_act_in_inverse_forward_and_hybrid_dynamics(backend):
    for model, rng in trees(backend):
        bodies = tuple(replace(body, joint=replace(body.joint, passive=())) for body in model.bodies)
        with_springs, bare = Robot(model, backend=backend), Robot(replace(model, bodies=bodies), backend=backend)
        q, v, a = moderate_state(model, rng)
        held = by_hand(model, q)
        assert_close(with_springs.spring_torque(q), held)
        assert_close(with_springs.inverse_dynamics(q, v, a), bare.inverse_dynamics(q, v, a) + held)
        assert_close(with_springs.bias(q, v), bare.bias(q, v) + held)
        assert_close(with_springs.gravity(q), bare.gravity(q))
        assert_close(with_springs.coriolis(q, v), bare.coriolis(q, v))
        assert_close(with_springs.forward_dynamics(q, v, a), bare.forward_dynamics(q, v, a - held), 1e-9)
        prescribed = rng.random(model.nv) < 0.5
        found = with_springs.hybrid_dynamics(q, v, a, a, prescribed)
        expected = bare.hybrid_dynamics(q, v, a, a - held, prescribed)
        assert_close(found[0], expected[0], 1e-9)
        assert_close(found[1], np.where(prescribed, expected[1] + held, a), 1e-9)


def test_a_spring_has_energy_whose_slope_is_its_torque():
    for model, rng in trees():
        robot = Robot(model, backend="reference")
        bodies = tuple(replace(body, joint=replace(body.joint, passive=())) for body in model.bodies)
        bare = Robot(replace(model, bodies=bodies), backend="reference")
        q, v, _ = moderate_state(model, rng)

        def energy(t, robot=robot, bare=bare, model=model, q=q, v=v):
            at = model.integrate(q, t * v)
            return np.asarray(robot.potential_energy(at) - bare.potential_energy(at))

        assert_close(derivative(energy), np.asarray(by_hand(model, q) @ v), 1e-7)


def test_friction_is_viscous_where_what_is_not_dry_is_in_proportion_to_the_velocity():
    """Said by the friction that a model has; measured by the drag at a velocity and at twice that."""
    rng = np.random.default_rng(5)
    for model, viscous in ((rough(mixed_tree(1), rng), True), (sprung(mixed_tree(1), rng), False)):
        v = rng.uniform(0.5, 1.0, model.nv)
        once, twice = (np.array(drag_torque(model, (k * v).tolist())) for k in (1.0, 2.0))
        assert once.all() and np.allclose(twice, 2.0 * once, rtol=1e-12) == viscous
        assert is_viscous(model) is viscous


def rough(model: Model, rng: np.random.Generator) -> Model:
    """With damping and dry friction everywhere."""
    joints = [replace(b.joint, damping=rng.uniform(1, 2), friction=rng.uniform(1, 2)) for b in model.bodies]
    return replace(model, bodies=tuple(replace(b, joint=joint) for b, joint in zip(model.bodies, joints)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("friction", [False, True])
def test_derivatives_of_dynamics_with_passive_forces_are_finite_differences(friction, seed):
    rng = np.random.default_rng(seed)
    model = sprung(mixed_tree(seed), rng)
    robot = Robot(model, backend="reference", friction=friction)
    q, v, a = moderate_state(model, rng)
    prescribed = rng.random(model.nv) < 0.5

    def by(function):
        eye = np.eye(model.nv)
        by_q = np.array([derivative(lambda t, e=e: function(model.integrate(q, t * e), v)) for e in eye]).T
        by_v = np.array([derivative(lambda t, e=e: function(q, v + t * e)) for e in eye]).T
        return by_q, by_v

    by_q, by_v, _ = robot.inverse_dynamics_derivatives(q, v, a)
    expected = by(lambda q, v: robot.inverse_dynamics(q, v, a))
    assert_close(by_q, expected[0], 3e-6)
    assert_close(by_v, expected[1], 3e-6)
    by_q, by_v, _ = robot.forward_dynamics_derivatives(q, v, a)
    expected = by(lambda q, v: robot.forward_dynamics(q, v, a))
    assert_close(by_q, expected[0], 3e-6)
    assert_close(by_v, expected[1], 3e-6)
    found = robot.hybrid_dynamics_derivatives(q, v, a, a, prescribed)
    for part, (by_q, by_v) in enumerate(((found.a_dq, found.a_dv), (found.tau_dq, found.tau_dv))):
        expected = by(lambda q, v, part=part: robot.hybrid_dynamics(q, v, a, a, prescribed)[part])
        assert_close(by_q, expected[0], 3e-6)
        assert_close(by_v, expected[1], 3e-6)


def two_sliders() -> Model:
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("one", None, joints.Prismatic((1, 0, 0)), mass=2.0, passive=(Spring(8.0, rest=0.1),))
    builder.add_body("two", None, joints.Prismatic((0, 1, 0)), mass=3.0, damping=0.5)
    return builder.build()


def test_springs_act_under_constraints():
    """Two sliders geared to each other: one freedom with the mass of both and the spring of one."""
    model = two_sliders()
    held = ConstraintSet(model, [JointCoupling("gear", {"one_joint": 1.0, "two_joint": -1.0})])
    q, v, tau = np.array([0.4, 0.4]), np.array([0.3, 0.3]), np.array([1.0, 2.0])
    for friction, drag in ((False, 0.0), (True, 0.5 * 0.3)):
        robot = Robot(model, friction=friction)
        expected = (3.0 - 8.0 * 0.3 - drag) / 5.0
        assert_close(robot.constrained_forward_dynamics(q, v, tau, held).a, np.full(2, expected), 1e-12)
        found = robot.constrained_inverse_dynamics(q, v, np.full(2, expected), held)
        assert_close(np.asarray(found.tau.sum()), np.asarray(3.0), 1e-12)
        by_q = robot.constrained_forward_dynamics_derivatives(q, v, tau, held).a_dq
        assert_close(by_q @ np.ones(2), np.full(2, -8.0 / 5.0), 1e-12)


def test_a_mass_on_a_spring_swings_as_its_closed_form_and_keeps_its_energy():
    model = two_sliders()
    options = SimulationOptions(step=1e-4, start_braked=False, friction=False, integrator="rk4")
    simulation = Simulation(model, q=np.array([0.6, 0.0]), options=options)
    robot, start = Robot(model), float(Robot(model).potential_energy(np.array([0.6, 0.0])))
    for _ in range(10_000):
        simulation.advance()
    time = simulation.time
    assert_close(simulation.q[:1], np.array([0.1 + 0.5 * np.cos(2.0 * time)]), 1e-9)
    total = float(robot.potential_energy(simulation.q) + robot.kinetic_energy(simulation.q, simulation.v))
    assert abs(total - start) < 1e-10
    assert start == pytest.approx(0.5 * 8.0 * 0.25)


def test_the_observer_knows_springs():
    """Held still by the torque of its spring, nothing external acts."""
    robot = Robot(two_sliders())
    observer, q = MomentumObserver(robot, rate=50.0), np.array([0.7, -0.2])
    for _ in range(100):
        found = observer.update(q, np.zeros(2), robot.spring_torque(q), 0.01)
    assert_close(found, np.zeros(2), 1e-12)


def test_a_spring_needs_a_position_whose_rate_is_the_velocity():
    for kind in (joints.Spherical(), joints.Planar(), joints.Floating()):
        with pytest.raises(ModelError, match=r"joint 'ball_joint' is \w+: a spring needs"):
            ModelBuilder().add_body("ball", None, kind, mass=1.0, inertia=(1, 0, 0, 1, 0, 1), passive=(Spring(1.0),))
    ModelBuilder().add_body("ball", None, joints.Spherical(), mass=1.0, passive=(Damping(1.0),))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"type": "sprung"}, "unknown type 'sprung'; did you mean 'spring'"),
        ({"stiffness": 1.0}, "`type` is missing"),
        ({"type": "spring"}, "`stiffness` is missing"),
        ({"type": "spring", "stifness": 1.0}, "unknown key 'stifness'; did you mean 'stiffness'"),
        ({"type": "spring", "stiffness": -1.0}, "stiffness -1 is negative"),
        ({"type": "spring", "stiffness": "soft"}, "stiffness .* is not made of numbers"),
        ({"type": "spring", "stiffness": 1.0, "rest": float("nan")}, "rest .* is not finite"),
        ("spring", "`stiffness` is missing"),
        ([1.0], "unknown type"),
        ({"type": "polynomial spring", "coefficients": [1.0, float("inf")]}, "coefficients .* is not finite"),
        ({"type": "polynomial damping", "coefficients": "soft"}, "coefficients .* is not made of numbers"),
    ],
)
def test_errors_in_files_name_the_joint(data, message):
    model = model_to_dict(robot_of([joints.Revolute()]))
    model["bodies"][0]["joint"]["passive"] = [data]
    with pytest.raises(ModelError, match=f"joint '{model['bodies'][0]['joint']['name']}': passive: .*{message}"):
        model_from_dict(model)


# --- nothing is dropped ---------------------------------------------------------------------------

#: a value for every field, that is not its default
OTHER = {
    Joint: {
        "name": "elbow", "kind": joints.Helical((0.0, 1.0, 0.0), 0.1), "q_index": 1, "v_index": 1,
        "limits": Limits(lower=-1.0, upper=2.0, velocity=3.0, effort=4.0),
        "damping": 0.5, "friction": 0.25, "armature": 0.125, "mimic": Mimic("shoulder", multiplier=2.0, offset=0.5),
        "passive": (Spring(7.0, rest=0.25), Detent(0.5), SquareDrag(0.5), PolynomialSpring((1.0, 2.0), rest=0.5)),
        "drive": Drive(gear_ratio=50.0, stiffness=9e3, damping=2.0, rotor_axis=(0.0, 0.0, 1.0), rotor_frame="tool"),
    },
    Body: {
        "name": "forearm", "parent": 0, "placement": Transform.of(p=(0.1, 0.2, 0.3)), "joint": None,
        "inertia": RigidInertia.from_com(2.0, (0.1, 0.0, 0.2), (0.2, 0.0, 0.0, 0.2, 0.0, 0.1)),
    },
}  # fmt: skip


def two_links(**changed: object) -> Model:
    """A model whose second body and joint have all their fields changed, or those given."""
    shoulder = Joint("shoulder", joints.Revolute(), 0, 0)
    load = RigidInertia.from_com(1.0, (0.0, 0.0, 0.1), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    joint = Joint(**OTHER[Joint])  # type: ignore[arg-type]
    if joint.mimic is not None:
        joint = replace(joint, q_index=0, v_index=0)
    body = Body(**{**OTHER[Body], "joint": joint})  # type: ignore[arg-type]
    return Model("arm", (Body("upper", -1, Transform.of(), shoulder, load), body), frames=(Frame("tool", 1),))


def test_every_field_of_joints_and_bodies_has_a_value_here():
    """A field that is added must be added above, and then has to survive below."""
    for cls, values in OTHER.items():
        assert [field.name for field in fields(cls)] == list(values)


def test_every_field_survives_dictionaries_and_files(tmp_path):
    model = two_links()
    assert model_from_dict(json.loads(json.dumps(model_to_dict(model)))) == model
    save_yaml(model, tmp_path / "arm.yaml")
    assert load_yaml(tmp_path / "arm.yaml") == model


@pytest.mark.parametrize("name", [name for name in OTHER[Joint] if name not in ("q_index", "v_index")])
def test_every_field_of_a_joint_shows_in_its_dictionary(name):
    plain = Joint("joint", joints.Revolute(), 0, 0)
    changed = replace(plain, **{name: OTHER[Joint][name]})
    body = Body("link", -1, Transform.of(), plain, RigidInertia())
    assert model_to_dict(Model("m", (body,))) != model_to_dict(Model("m", (replace(body, joint=changed),)))


@pytest.mark.parametrize("name", ["kind", "damping", "friction", "armature", "mimic", "passive"])
def test_every_field_of_a_joint_that_acts_shows_in_dynamics(name):
    """With friction on, in inverse and forward dynamics alike."""
    model = two_links()
    body = model.bodies[1]
    default = {field.name: field.default for field in fields(Joint)}
    other = joints.Revolute((1.0, 0.0, 0.0)) if name == "kind" else default[name]
    joint = replace(body.joint, **{name: other})
    if name == "mimic":
        joint = replace(joint, q_index=1, v_index=1)
    changed = replace(model, bodies=(model.bodies[0], replace(body, joint=joint)))
    if name == "mimic":
        assert changed.nv == model.nv + 1
        return
    q, v, a = np.full(model.nv, 0.3), np.full(model.nv, 0.7), np.full(model.nv, 1.1)
    ours, theirs = Robot(model, friction=True), Robot(changed, friction=True)
    for method in ("inverse_dynamics", "forward_dynamics"):
        assert np.abs(getattr(ours, method)(q, v, a) - getattr(theirs, method)(q, v, a)).max() > 1e-3


def test_an_energy_that_does_not_depend_on_the_position_makes_no_torque():
    class Loaded(Elastic):  # as a spring that is preloaded elsewhere
        def energy(self, q):
            return 3.0

    builder = ModelBuilder("arm")
    builder.add_body("link", None, joints.Revolute((0.0, 1.0, 0.0)), mass=1.0, com=(0.2, 0.0, 0.0), passive=(Loaded(),))
    robot = Robot(builder.build(), backend="reference")
    q = np.array([0.4])
    np.testing.assert_allclose(robot.inverse_dynamics(q, [0.0], [0.0]), robot.gravity(q), rtol=1e-12)
    bare = -9.81 * 0.2 * np.sin(0.4)
    assert float(robot.potential_energy(q)) == pytest.approx(3.0 + bare)
