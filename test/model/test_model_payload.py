# SPDX-License-Identifier: Apache-2.0
"""Payloads: what a load at a frame adds to the body that carries it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import random_inertia, random_tree

from rbd_dynamics.model import ModelError
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.model.physical_inertia import about_com
from rbd_dynamics.spatial.inertia import RigidInertia

BOX = [[0.2, 0.01, 0.0], [0.01, 0.3, 0.02], [0.0, 0.02, 0.25]]


@pytest.fixture(scope="module")
def model() -> Model:
    return random_tree(1, n=4)


def test_a_load_is_the_inertia_that_its_frame_sees_moved_to_the_body(model):
    rng = np.random.default_rng(2)
    given = random_inertia(rng)
    com = np.array(given.moment) / given.mass
    body, load = payload_inertia(model, "tool2", given.mass, com=com, inertia=about_com(given))
    frame = model.frame("tool2")
    assert body == frame.body
    twist = tuple(rng.normal(size=6))  # of the body; the load's kinetic energy is the same in both frames
    from rbd_dynamics.spatial.se3 import dot6, twist_to_child

    seen = twist_to_child(frame.placement, twist)
    assert dot6(twist, load * twist) == pytest.approx(dot6(seen, given * seen), rel=1e-12)


def test_a_matrix_and_six_numbers_are_the_same_and_none_is_a_point_mass(model):
    upper = [0.2, 0.01, 0.0, 0.3, 0.02, 0.25]
    assert payload_inertia(model, "link1", 2.0, com=[0, 0, 1], inertia=BOX) == payload_inertia(
        model, "link1", 2.0, com=[0, 0, 1], inertia=upper
    )
    _, point = payload_inertia(model, "link1", 2.0, com=(0, 0, 1))
    np.testing.assert_allclose(point.rotational, [2, 0, 0, 2, 0, 0])


def test_mass_zero_is_no_load(model):
    assert payload_inertia(model, "link1", 0.0) == (model.frame("link1").body, RigidInertia())


def test_a_frame_fixed_to_the_world_carries_it_there(model):
    fixed = Model("r", model.bodies, frames=(Frame("table", WORLD),))
    body, load = payload_inertia(fixed, "table", 1.0)
    assert (body, load.mass) == (WORLD, 1.0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((-1.0,), "mass -1 is negative"),
        ((np.nan,), "mass .* is not finite"),
        (("heavy",), "mass: expected numbers, not text"),
        (([1.0, 2.0],), "mass has shape"),
        ((1.0, (0, 0)), r"com has shape \(2,\), expected \(3,\)"),
        ((1.0, (0, 0, np.inf)), "com .* is not finite"),
        ((1.0, (0, 0, 0), np.eye(2)), "inertia has shape"),
        ((1.0, (0, 0, 0), [1, 0, 0, 1, 0, "x"]), "inertia"),
        ((1.0, (0, 0, 0), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        ((1.0, (0, 0, 0), np.diag([1.0, 1.0, 3.0])), "at most the sum"),
        ((1.0, (0, 0, 0), np.diag([1.0, 1.0, -1.0])), "at most the sum"),
        ((0.0, (0, 0, 0), np.eye(3)), "inertia but no mass"),
    ],
)
def test_a_load_that_cannot_exist_is_refused_and_named(model, arguments, message):
    with pytest.raises(ModelError, match=f"payload at 'link1'.*{message}"):
        payload_inertia(model, "link1", arguments[0], **dict(zip(("com", "inertia"), arguments[1:])))


def test_an_unknown_frame_is_named(model):
    with pytest.raises(KeyError, match="did you mean"):
        payload_inertia(model, "lnk1", 1.0)
