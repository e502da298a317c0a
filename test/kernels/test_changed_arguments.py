# SPDX-License-Identifier: Apache-2.0
"""Arguments that their owner changes in place count as they are at each call: keys are values, never identities."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from helpers.checks.public_calls import calls, equal, state, world
from helpers.models.touching import balls_in_a_row
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.collisions import CollisionShape
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, JointCoupling

WORLD = world()
CALLS = calls()


def changeable(call):
    """Names of its arguments that can be changed in place, and are numbers."""
    at = state(0)
    names = (*call.needs, *([call.option] if call.option else []))
    return [name for name in names if isinstance(at.get(name), (np.ndarray, list, dict))]


def change(at, others, name):
    """The argument of this name becomes that of other arguments, in place."""
    value, other = at[name], others[name]
    if isinstance(value, np.ndarray):
        value[...] = other
    elif isinstance(value, dict):
        for key in value:
            value[key][...] = other[key]
    else:
        value[:] = list(reversed(other))
        others[name] = list(value)


@pytest.mark.parametrize(
    "call",
    table(filter(changeable, CALLS), lambda call: not call.option or call.option in changeable(call)),
    ids=str,
)
def test_an_array_that_is_changed_in_place_counts_as_it_is(call):
    if call.name.startswith("CollisionSet") and WORLD["shapes"] is None:
        pytest.skip("Coal is not installed")
    for name in changeable(call):
        at, others = state(0), state(1)
        first = copy.deepcopy(call(WORLD, at))
        change(at, others, name)
        expected = call(world() if call.name.startswith("Collision") else WORLD, {**state(0), name: others[name]})
        assert equal(call(WORLD, at), expected), name
        assert equal(call(WORLD, state(0)), first), "the call keeps something of its arguments"


def test_a_list_of_contacts_or_constraints_counts_as_it_is_at_each_call():
    model, contacts = balls_in_a_row(3, 0.1)
    q, v, tau = np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0])
    robot, given = rbd.Robot(model), contacts[:1]
    robot.contact_forward_dynamics(q, v, tau, given)
    given.append(contacts[1])
    found = robot.contact_forward_dynamics(q, v, tau, given)
    np.testing.assert_array_equal(found.a, rbd.Robot(model).contact_forward_dynamics(q, v, tau, contacts).a)
    assert len(found.forces) == 2

    at, held = state(0), [FrameConstraint("held", "block", directions=("x", "y"))]
    state_of, robot = (at["q"], at["v"], at["tau"]), WORLD["robot"]
    robot.constrained_forward_dynamics(*state_of, held)
    held[0] = FrameConstraint("held", "block", directions=("z",))
    fresh = rbd.Robot(WORLD["model"]).constrained_forward_dynamics(*state_of, list(held))
    np.testing.assert_array_equal(robot.constrained_forward_dynamics(*state_of, held).a, fresh.a)


def test_sets_and_their_members_keep_nothing_that_others_can_change():
    coefficients = {"a": 1.0, "b": -2.0}
    coupling = JointCoupling("gear", coefficients)
    coefficients["a"] = 5.0
    assert coupling.coefficients["a"] == 1.0
    with pytest.raises(TypeError):
        coupling.coefficients["a"] = 5.0
    assert replace(coupling, name="other").coefficients == coupling.coefficients
    for of in (WORLD["constraints"], WORLD["contacts"]):
        numbers = {name: value for name, value in vars(of).items() if isinstance(value, np.ndarray)}
        assert numbers and not any(value.flags.writeable for value in numbers.values())
    corners = np.random.default_rng(0).normal(size=(12, 3))
    mesh = CollisionShape("rock", "block", "mesh", points=corners)
    kept = mesh.points.copy()
    corners[:] = 0.0
    assert equal(mesh.points, kept) and not mesh.corners.flags.writeable
    directions = ["x", "y"]
    held = ConstraintSet(WORLD["model"], [FrameConstraint("held", "block", directions=directions)])
    directions[:] = ["z", "z"]
    assert len(held.row_names) == 2
    assert rbd.Robot(WORLD["model"]).constraint_rows(state(0)["q"], state(0)["v"], held).A.shape == (2, 6)


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_no_arrays_to_write_to_are_too_few(name):
    at = state(0)
    with pytest.raises(ValueError, match="3"):
        getattr(world()["robot"], name)(at["q"], at["v"], at["a"], out=())
