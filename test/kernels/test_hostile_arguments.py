# SPDX-License-Identifier: Apache-2.0
"""Whatever is passed: the right numbers, or an error that names the argument. Nothing else, and never wrong numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.model import ModelError
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions

#: what an error may be; ModelError is a ValueError
ERRORS = (ValueError, TypeError, ArithmeticError, KeyError)


ROUND = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)


def builder() -> rbd.ModelBuilder:
    made = rbd.ModelBuilder("arm")
    one = (0.02, 0.0, 0.0, 0.03, 0.0, 0.04)
    made.add_body("base", None, Floating(), mass=3.0, com=(0.0, 0.1, 0.0), inertia=one)
    made.add_body("upper", "base", Revolute((0, 1, 0)), placement=(0, 0, 0.1), mass=1.0, com=(0, 0, 0.2), inertia=one)
    made.add_body("lower", "upper", Prismatic((1, 0, 0)), placement=(0, 0, 0.3), mass=0.5, com=(0.1, 0, 0), inertia=one)
    return made


MODEL = builder().build()
Q, V = MODEL.random(1), np.linspace(-0.5, 0.5, MODEL.nv)
A, TAU = 2.0 * V[::-1], 3.0 * V**2
NQ, NV = MODEL.nq, MODEL.nv
SET = ConstraintSet(MODEL, [FrameConstraint("held", "lower", directions=("x", "z"))])
REFERENCE = rbd.Robot(MODEL, backend="reference")


class Subclass(np.ndarray):
    """Behaves as little as an array as a subclass may."""

    def __array_finalize__(self, other: Any) -> None:
        self.flags.writeable = False


def same(x: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Other forms of the same numbers."""
    yield "list", x.tolist()
    yield "tuple", tuple(x.tolist())
    yield "scalars", [np.float64(number) for number in x]
    yield "arrays in a list", [np.array(number) for number in x]
    yield "not contiguous", np.repeat(x, 3)[::3]
    yield "negative strides", x[::-1].copy()[::-1]
    frozen = x.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    yield "subclass", x.copy().view(Subclass)
    yield "nothing masked", np.ma.array(x, mask=np.zeros(x.shape, bool))
    yield "other byte order", x.astype(">f8")
    yield "long doubles", x.astype(np.longdouble)
    yield "not aligned", np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64)


def wrong(x: np.ndarray) -> Iterator[tuple[str, Any]]:
    """What is no vector like x."""
    first = np.arange(x.size) == 0
    yield "none", None
    yield "text", "abc"
    yield "bytes", b"abc"
    yield "complex", x + 1j
    yield "complex without imaginary part", x + 0j
    yield "objects", x.astype(object)
    yield "texts", [str(number) for number in x]
    yield "too long", np.append(x, 0.0)
    yield "too short", x[:-1]
    yield "empty", []
    yield "a number", 1.0
    yield "huge integers", [10**400] * x.size
    yield "masked", np.ma.array(x, mask=first)
    yield "masked in a list", [np.ma.masked, *x[1:].tolist()]
    yield "masked in a batch", [np.ma.array(x, mask=first)]
    yield "nan", np.where(first, np.nan, x)
    yield "infinite", np.where(first, np.inf, x)
    yield "infinite, negative", np.where(first[::-1], -np.inf, x)
    yield "dictionary", {0: 1.0}
    yield "set", set(x.tolist())
    yield "generator", (number for number in x)
    yield "ragged", [[1.0], [1.0, 2.0]]
    yield "object", object()
    yield "dates", np.zeros(x.size, "datetime64[s]")
    yield "too large for a float", np.full(x.size, np.longdouble("1e400"))
    yield "structure", np.zeros(x.size, [("a", float)])


#: {name: (function of the arguments by name, the arguments)}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, np.ndarray]]] = {
    "inverse_dynamics": (lambda r, q, v, a: r.inverse_dynamics(q, v, a), {"q": Q, "v": V, "a": A}),
    "inverse_dynamics, f_ext": (
        lambda r, q, v, a, f_ext: r.inverse_dynamics(q, v, a, f_ext={"lower": f_ext}),
        {"q": Q, "v": V, "a": A, "f_ext": np.arange(6.0)},
    ),
    "forward_dynamics": (lambda r, q, v, tau: r.forward_dynamics(q, v, tau), {"q": Q, "v": V, "tau": TAU}),
    "hybrid_dynamics": (
        lambda r, q, v, a, tau: r.hybrid_dynamics(q, v, a, tau, np.arange(NV) % 2 == 0),
        {"q": Q, "v": V, "a": A, "tau": TAU},
    ),
    "hybrid_dynamics, prescribed": (
        lambda r, prescribed: r.hybrid_dynamics(Q, V, A, TAU, prescribed),
        {"prescribed": np.array([1.0, 0.0] * (NV // 2))},
    ),
    "mass_matrix": (lambda r, q: r.mass_matrix(q), {"q": Q}),
    "inverse_dynamics_derivatives": (
        lambda r, q, v, a: r.inverse_dynamics_derivatives(q, v, a),
        {"q": Q, "v": V, "a": A},
    ),
    "pose": (lambda r, q: r.pose(q, "lower"), {"q": Q}),
    "constrained_forward_dynamics": (
        lambda r, q, v, tau, target: r.constrained_forward_dynamics(q, v, tau, SET, target=target),
        {"q": Q, "v": V, "tau": TAU, "target": np.array([0.1, 0.2])},
    ),
    "constrained_inverse_dynamics": (
        lambda r, actuated: r.constrained_inverse_dynamics(Q, V, A, SET, actuated=actuated),
        {"actuated": np.array([0.0, 1.0] * (NV // 2))},
    ),
    "constraint_impulse": (
        lambda r, q, v: r.constraint_impulse(q, v, SET, restitution=0.5),
        {"q": Q, "v": V},
    ),
    "project_configuration": (lambda r, q: r.project_configuration(q, SET, tolerance=10.0), {"q": Q}),
    "constraint_wrenches": (
        lambda r, q, multipliers: r.constraint_wrenches(q, SET, multipliers)["held"],
        {"q": Q, "multipliers": np.array([1.0, -2.0])},
    ),
    "integrate": (lambda r, q, dv: MODEL.integrate(q, dv), {"q": Q, "dv": V}),
    "difference": (lambda r, q0, q1: MODEL.difference(q0, q1), {"q0": Q, "q1": MODEL.random(2)}),
    "Simulation": (lambda r, q: Simulation(MODEL, q=q).q, {"q": Q}),
    "command": (
        lambda r, efforts: _commanded(efforts),
        {"efforts": TAU},
    ),
    "set_payload, com": (lambda r, com: _loaded(r, com=com), {"com": np.array([0.1, 0.2, 0.3])}),
    "set_payload, inertia": (
        lambda r, inertia: _loaded(r, inertia=inertia),
        {"inertia": np.array([0.2, 0.0, 0.0, 0.2, 0.0, 0.2])},
    ),
}
CASES = [(name, argument) for name, (_, arguments) in FUNCTIONS.items() for argument in arguments]


def _commanded(efforts: Any) -> np.ndarray:
    simulation = Simulation(MODEL, q=Q, options=SimulationOptions(start_braked=False))
    simulation.command(efforts, np.arange(NV))
    simulation.advance(1)
    return simulation.v


def _loaded(robot: rbd.Robot, **load: Any) -> np.ndarray:
    robot.set_payload("lower", 1.0, **load)
    found = robot.inertial_parameters
    robot.set_payload("lower", 0.0)
    return found


@pytest.fixture(scope="module", params=["llvm", "reference"])
def robot(request) -> rbd.Robot:
    return rbd.Robot(MODEL, backend=request.param)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_other_forms_of_the_same_numbers_give_the_same(robot, name, argument):
    function, arguments = FUNCTIONS[name]
    expected = function(REFERENCE, **arguments)
    for form, value in same(arguments[argument]):
        result = function(robot, **{**arguments, argument: value})
        for one, other in zip(_arrays(result), _arrays(expected), strict=True):
            scale = 1.0 + np.abs(other).max()
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-11 * scale, err_msg=form)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_what_is_wrong_is_refused_by_name(robot, name, argument):
    function, arguments = FUNCTIONS[name]
    for form, value in wrong(arguments[argument]):
        if form == "a number" and name == "command":
            continue  # one effort for all
        if (form, name.partition(",")[0]) in (("none", "Simulation"), ("none", "set_payload")) or (
            form == "none" and argument in ("target", "actuated")
        ):
            continue  # the default
        if form == "texts" and name == "set_payload, com":
            continue  # numbers in YAML 1.1, as 1e-3, are texts
        if form == "objects" and name.startswith("set_payload, com"):
            continue  # as a list of them
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                result = function(robot, **{**arguments, argument: value})
            except ERRORS as error:
                assert argument in str(error), f"{form}: {error}"
                assert len(str(error)) < 1000
                continue
        raise AssertionError(f"{form} gave {result}")


def _arrays(result: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize(("name", "argument"), CASES)
@pytest.mark.parametrize("number", [1e308, -1e308, 1e200, 5e-324])
def test_extreme_numbers_give_finite_ones_or_an_error(robot, name, argument, number):
    function, arguments = FUNCTIONS[name]
    value = np.full_like(arguments[argument], number)
    try:
        result = function(robot, **{**arguments, argument: value})
    except ERRORS:
        return
    assert all(np.isfinite(x).all() for x in _arrays(result))


ODD: dict[str, Any] = {
    "none": None, "text": "abc", "bytes": b"a", "complex": 1j, "object": object(), "list": [1.0], "pairs": {"a": 1},
    "nan": math.nan, "infinite": math.inf, "negative": -1.0, "huge": 10**400, "masked": np.ma.masked,
    "array": np.ones(3), "matrix": np.matrix(np.ones(3)), "structure": np.zeros(2, [("a", float)]), "set": {1.0},
}  # fmt: skip

#: {what: (function of one odd value, word that the message must have, forms that are right)}
ONE_VALUE: dict[str, tuple[Callable[[Any], Any], str, set[str]]] = {
    "payload's frame": (lambda x: REFERENCE.set_payload(x, 1.0), "frame", set()),
    "payload's mass": (lambda x: REFERENCE.set_payload("lower", x), "mass", set()),
    "f_ext": (lambda x: REFERENCE.inverse_dynamics(Q, V, A, f_ext=x), "f_ext|frame", {"none"}),
    "frame": (lambda x: REFERENCE.pose(Q, x), "frame", set()),
    "model.frame": (MODEL.frame, "frame", set()),
    "model.joint": (MODEL.joint, "joint", set()),
    "gravity": (MODEL.with_gravity, "gravity", {"array"}),
    "rng": (MODEL.random, "rng", {"none", "huge"}),
    "compile": (REFERENCE.compile, "algorithm", set()),
    "model": (rbd.Robot, "Model", set()),
    "backend": (lambda x: rbd.Robot(MODEL, backend=x), "backend", {"none"}),
    "out": (lambda x: REFERENCE.inverse_dynamics(Q, V, A, out=x), "out", {"none"}),
    "outs": (lambda x: REFERENCE.hybrid_dynamics(Q, V, A, TAU, np.ones(NV, bool), out=x), "out", {"none"}),
    "three outs": (lambda x: REFERENCE.inverse_dynamics_derivatives(Q, V, A, out=x), "out", {"none"}),
    "constraints": (lambda x: REFERENCE.constraint_rows(Q, V, x), "constraint", set()),
    "restitution": (lambda x: REFERENCE.constraint_impulse(Q, V, SET, restitution=x), "restitution", {"negative"}),
    "iterations": (lambda x: REFERENCE.project_configuration(Q, SET, iterations=x), "iterations", {"huge"}),
    "tolerance": (lambda x: REFERENCE.project_configuration(Q, SET, tolerance=x), "tolerance", {"infinite"}),
    "objective": (lambda x: REFERENCE.constrained_inverse_dynamics(Q, V, A, SET, objective=x), "objective", set()),
    "stabilization": (lambda x: ConstraintSet(MODEL, SET.constraints, stabilization=x), "stabilization", set()),
    "set's model": (lambda x: ConstraintSet(x, SET.constraints), "model", set()),
    "set's constraints": (lambda x: ConstraintSet(MODEL, x), "constraint", set()),
    "step": (lambda x: SimulationOptions(step=x), "step", set()),
    "command_timeout": (lambda x: SimulationOptions(command_timeout=x), "command_timeout", set()),
    "integrator": (lambda x: SimulationOptions(integrator=x), "integrator", set()),
    "option's stabilization": (lambda x: SimulationOptions(stabilization=x), "stabilization", set()),
    "friction": (lambda x: SimulationOptions(friction=x), "friction", set()),
    "simulation's model": (Simulation, "model", set()),
    "options": (lambda x: Simulation(MODEL, options=x), "options", {"none"}),
    "simulation's constraints": (lambda x: Simulation(MODEL, constraints=x), "constraints", {"none"}),
    "contacts": (lambda x: Simulation(MODEL, contacts=x), "contacts", set()),
    "steps": (lambda x: Simulation(MODEL).advance(x), "steps", {"huge"}),
    "dofs": (lambda x: Simulation(MODEL).command([1.0], x), "dofs", set()),
    "axis": (Revolute, "axis", {"array"}),
    "builder's name": (rbd.ModelBuilder, "name", {"text"}),
    "builder's gravity": (lambda x: rbd.ModelBuilder("arm", gravity=x), "gravity", {"array"}),
    **{
        f"body's {key}": (lambda x, key=key: _built(key, x), "link 'tip'|joint 'tip_joint'|link|joint", right)
        for key, right in {
            "parent": {"none"}, "joint": set(), "joint_name": {"none", "text"}, "placement": {"array"}, "mass": set(),
            "com": {"array"}, "inertia": {"none"}, "limits": {"none"}, "damping": set(), "friction": set(),
            "armature": set(), "mimic": {"none"}, "passive": set(), "name": {"text"},
        }.items()
    },
}  # fmt: skip


def _built(key: str, value: Any) -> rbd.Model:
    arguments: dict[str, Any] = {"name": "tip", "parent": "lower", "joint": Revolute(), "mass": 1.0, "com": (0.1, 0, 0)}
    arguments |= {"inertia": (0.1, 0.0, 0.0, 0.1, 0.0, 0.1), key: value}
    made = builder()
    made.add_body(**arguments)
    return made.build()


@pytest.mark.parametrize("what", ONE_VALUE)
def test_odd_values_are_refused_by_name(what):
    function, words, right = ONE_VALUE[what]
    for form, value in ODD.items():
        if form in right:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy's of a masked number that becomes nan
            try:
                result = function(value)
            except ERRORS as error:
                assert any(word in str(error) for word in words.split("|")), f"{form}: {error!r}"
                assert len(str(error)) < 1000
                continue
        raise AssertionError(f"{form} gave {result}")


# --- outputs --------------------------------------------------------------------------------------


def test_outputs_that_share_memory_are_refused(robot):
    x = np.zeros(NV + 3)
    prescribed = np.ones(NV, bool)
    for pair in ((x[:NV], x[:NV]), (x[:NV], x[3:]), [x[3:], x[:NV]]):
        with pytest.raises(ValueError, match="out: arrays 0 and 1 share memory"):
            robot.hybrid_dynamics(Q, V, A, TAU, prescribed, out=pair)
        with pytest.raises(ValueError, match="out: arrays 0 and 1 share memory"):
            robot.hybrid_dynamics(Q, V, A, TAU, prescribed, f_ext={"lower": np.ones(6)}, out=pair)
    matrix = np.zeros((NV, NV))
    with pytest.raises(ValueError, match="out: arrays 0 and 2 share memory"):
        robot.inverse_dynamics_derivatives(Q, V, A, out=(matrix, np.zeros((NV, NV)), matrix))
    batch = np.zeros((4, NV))
    with pytest.raises(ValueError, match="share memory"):
        robot.hybrid_dynamics(np.tile(Q, (4, 1)), V, A, TAU, prescribed, out=(batch, batch))
    h = np.zeros(2)
    with pytest.raises(ValueError, match="arrays 0 and 2 share memory"):
        robot.constraint_rows(Q, V, SET, out=(h, np.zeros((2, NV)), h))


def test_an_output_that_is_an_input_gives_the_right_numbers(robot):
    expected = REFERENCE.inverse_dynamics(Q, V, A)
    for place in range(3):
        memory = np.concatenate([V, V])
        given = [Q, V.copy(), A.copy()]
        if place:
            out = given[place]
        else:
            out, given[1] = memory[2 : 2 + NV], memory[:NV]  # overlaps it
        np.testing.assert_allclose(robot.inverse_dynamics(*given, out=out), expected, rtol=1e-12, atol=1e-12)
    v, a = np.tile(V, (3, 1)), np.tile(A, (3, 1))
    np.testing.assert_allclose(
        robot.inverse_dynamics(Q, v, a, out=v), np.tile(expected, (3, 1)), rtol=1e-12, atol=1e-12
    )
    many = np.tile(expected, (3, 1))
    mixed = np.tile(V, (4, 1))
    np.testing.assert_allclose(robot.inverse_dynamics(Q, mixed[:3], a, out=mixed[1:]), many, rtol=1e-12, atol=1e-12)


def test_the_robots_own_numbers_are_no_output(robot):
    regressor = robot.inertia_input
    before = regressor.copy()
    with pytest.raises(ValueError, match="writeable|out must be"):
        robot.joint_reactions(Q, V, A, out=regressor[:, :6])
    with pytest.raises(ValueError, match="read-only"):
        regressor[0, 0] = 1.0
    np.testing.assert_array_equal(robot.inertia_input, before)


# --- configurations -------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [0.0, 0.5, 0.98, 1.02, 1e200])
def test_quaternions_far_from_unit_length_are_refused_with_the_joint(norm):
    q = Q.copy()
    q[3:7] *= norm
    for call in (
        lambda: MODEL.integrate(q, V),
        lambda: MODEL.difference(q, Q),
        lambda: MODEL.difference(Q, q),
        lambda: Simulation(MODEL, q=q),
        lambda: MODEL.integrate([Q, q], V),
    ):
        with pytest.raises(ValueError, match="quaternion of joint 'base_joint' has norm"):
            call()


def test_quaternions_near_unit_length_are_normalised():
    q = Q.copy()
    q[3:7] *= 1.005
    np.testing.assert_allclose(MODEL.integrate(q, V), MODEL.integrate(Q, V), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(MODEL.difference(q, MODEL.random(3)), MODEL.difference(Q, MODEL.random(3)), atol=1e-13)
    assert abs(np.linalg.norm(q[3:7]) - 1.005) < 1e-12  # what was passed stays


def test_configurations_broadcast_like_arrays():
    many = np.array([MODEL.random(k) for k in range(3)])
    expected = np.array([MODEL.integrate(q, V) for q in many])
    np.testing.assert_array_equal(MODEL.integrate(many, V), expected)
    velocities = np.array([V, 2 * V, 3 * V])
    np.testing.assert_array_equal(MODEL.integrate(Q, velocities), [MODEL.integrate(Q, dv) for dv in velocities])
    with pytest.raises(ValueError, match="numbers of samples differ: q has \\(3,\\), dv has \\(2,\\)"):
        MODEL.integrate(many, velocities[:2])


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"joint": Revolute((1, 0, 0)), "mimic": Mimic("upper_joint", multiplier=1e300)}, "joint 'tip_joint'"),
        ({"joint": Revolute((1, 0, 0)), "mimic": Mimic("upper_joint", multiplier=1e160)}, "joint 'tip_joint'"),
        ({"joint": Revolute((1, 0, 0)), "mimic": Mimic("upper_joint", offset=1e308, multiplier=1e308)}, "joint 'tip_"),
        ({"joint": Prismatic((1, 0, 0)), "placement": (1e300, 0, 0)}, "joint 'tip_joint'|link 'tip'"),
        ({"joint": Revolute((1, 0, 0)), "com": (1e200, 0, 0)}, "link 'tip'"),
        ({"joint": Revolute((1, 0, 0)), "mass": 1e308, "com": (1e10, 0, 0)}, "link 'tip'"),
        ({"joint": Revolute((1, 0, 0)), "inertia": (1e308, 0, 0, 1e308, 0, 1e308), "com": (0, 1e160, 0)}, "link 'tip'"),
    ],
)  # fmt: skip
def test_numbers_too_large_to_compute_with_name_the_joint_or_link(change, culprit):
    made = builder()
    with pytest.raises(ModelError, match=culprit), warnings.catch_warnings():
        warnings.simplefilter("error")
        made.add_body("tip", "lower", **{"mass": 1.0, "inertia": (0.1, 0, 0, 0.1, 0, 0.1), **change})
        made.build()


def test_chains_of_mimics_that_multiply_beyond_floats_name_the_joint():
    made = builder()
    leader = "upper_joint"
    for k in range(3):
        made.add_body(
            f"f{k}", "lower", Revolute(), mass=1.0, inertia=(1, 0, 0, 1, 0, 1), mimic=Mimic(leader, multiplier=1e150)
        )
        leader = f"f{k}_joint"
    with pytest.raises(ModelError, match="joint 'f"):
        made.build()


@pytest.mark.parametrize("axis", [(1.7e308, 0, 0), (1.7e308, 1.7e308, -1.7e308), (1e-8, 0, 0), (0, 3e200, 4e200)])
def test_axes_of_any_length_have_a_direction(axis):
    found = np.array(Revolute(axis).axis)
    expected = np.array(axis) / np.abs(axis).max()
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), rtol=1e-15)


def test_limits_as_wide_as_floats_are_limits():
    made = builder()
    made.add_body(
        "tip", "lower", Revolute(), mass=1.0, inertia=(1, 0, 0, 1, 0, 1), limits=Limits(lower=-1.7e308, upper=1.7e308)
    )
    made.add_body("end", "tip", Prismatic(), mass=1.0, inertia=(1, 0, 0, 1, 0, 1), limits=Limits(lower=5.0))
    model = made.build()
    assert np.isfinite(model.random(1)).all()
    assert model.start_position()[-1] == 5.0


@pytest.mark.parametrize("mass", [1e308, 1e300])
def test_loads_too_large_to_compute_with_are_refused_and_leave_the_robot_as_it_was(mass):
    robot = rbd.Robot(MODEL, backend="reference")
    before = robot.inertial_parameters
    with pytest.raises(ModelError, match="payload at 'lower'"):
        robot.set_payload("lower", mass, com=(1e10, 0.0, 0.0))
    np.testing.assert_array_equal(robot.inertial_parameters, before)
    robot.set_payload("lower", 1e308)
    robot_before = robot.inertial_parameters
    with pytest.raises(ModelError, match="payload at 'upper'|payload at 'lower_joint'"):
        robot.set_payload("lower_joint", 1.7e308)
    np.testing.assert_array_equal(robot.inertial_parameters, robot_before)


@pytest.mark.parametrize("step", [0.0, -1e-3, math.nan, math.inf, 1e-300, 5e-324])
def test_steps_that_make_no_sense_are_refused(step):
    with pytest.raises(ValueError, match="step .* must be finite and at least"):
        SimulationOptions(step=step)


def test_messages_never_hold_the_whole_value():
    long = "x" * 1_000_000
    calls = [
        lambda: MODEL.frame(long),
        lambda: REFERENCE.set_payload("lower", long),
        lambda: Revolute(list(range(100_000))),
        lambda: rbd.load_yaml(f"format: {long}\n"),
        lambda: rbd.load_yaml(f"{long}: 1\n"),
        lambda: rbd.load_urdf(f"<robot name='a'><link name='b'/><joint name='c' type='{long}'/></robot>"),
        lambda: rbd.load_urdf(f"<robot name='a'><link name='{long}'/><link name='{long}'/></robot>"),
        lambda: rbd.ModelBuilder(long),
        lambda: builder().add_body("a", long, Revolute()),
        lambda: SimulationOptions(integrator=long),
        lambda: MODEL.with_gravity([long] * 3),
        lambda: _built("mass", [[1.0] * 1000] * 1000),
    ]
    for call in calls:
        with pytest.raises(ERRORS) as caught:
            call()
        assert len(str(caught.value)) < 2100
