# SPDX-License-Identifier: Apache-2.0
"""A family of kinds: what it knows, writes, reads and refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from rbd_dynamics.constraints.forms import value_of
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.open_kinds import OpenKind, built, plain, required
from rbd_dynamics.model.passive_forces import Elastic, Friction, PassiveForce, Spring
from rbd_dynamics.spatial import exp_so3
from rbd_dynamics.spatial.se3 import Transform

if TYPE_CHECKING:
    from fractions import Fraction


class Shape(OpenKind):
    """A family that says in its own words what is wrong."""

    FAMILY: ClassVar[str] = "shape"
    name: ClassVar[str]

    @classmethod
    def unknown_type(cls, name, known):
        return f"unknown shape type {name!r}; known: {', '.join(known)}"

    @classmethod
    def unknown_field(cls, key, known):
        return f"a {cls.name} shape has no {key!r}; it has: {', '.join(known) or 'nothing to set'}"


@dataclass(frozen=True)
class Point(Shape):
    name: ClassVar[str] = "point"


@dataclass(frozen=True)
class Box(Shape):
    sides: tuple[float, ...]
    filled: bool = True
    turned: Transform = Transform.of()
    inside: Shape | None = None
    weight: float = required(1.0)
    name: ClassVar[str] = "box"

    def __post_init__(self):
        if len(self.sides) != 3:
            raise ValueError(f"{len(self.sides)} sides")
        object.__setattr__(self, "sides", tuple(map(float, self.sides)))
        object.__setattr__(
            self, "inside", Shape.from_dict(self.inside) if isinstance(self.inside, dict) else self.inside
        )


def test_a_kind_is_written_and_read():
    box = Box((1, 2, 3), inside=Box(np.array([0.5, 1.0, 1.5]), False, weight=np.float64(2.0)))
    data = json.loads(json.dumps(box.to_dict()))
    assert data == {
        "type": "box",
        "sides": [1.0, 2.0, 3.0],
        "inside": {"type": "box", "sides": [0.5, 1.0, 1.5], "filled": False, "weight": 2.0},
        "weight": 1.0,
    }
    assert Shape.from_dict(data) == box
    assert Shape.from_dict("point") == Point() and Point().to_dict() == {"type": "point"}


def test_families_have_their_own_words():
    with pytest.raises(ModelError, match="^unknown shape type 'bix'; known: point, box$"):
        Shape.from_dict("bix")
    with pytest.raises(ModelError, match="^here: unknown shape type 3; known: point, box$"):
        Shape.from_dict({"type": 3}, where="here")
    with pytest.raises(ModelError, match="^a point shape has no 'x'; it has: nothing to set$"):
        Shape.from_dict({"type": "point", "x": 1})
    with pytest.raises(ModelError, match="^a box shape has no 'x'; it has: sides, filled, turned, inside, weight$"):
        Shape.from_dict({"type": "box", "x": 1})
    for missing in ("sides", "weight"):
        data = {"type": "box", "sides": [1, 2, 3], "weight": 1.0}
        del data[missing]
        with pytest.raises(ModelError, match=f"^`{missing}` is missing$"):
            Shape.from_dict(data)


def test_what_a_kind_refuses_names_the_place():
    data = {"type": "box", "sides": [1.0], "weight": 1.0}
    with pytest.raises(ValueError, match="^1 sides$"):
        Shape.from_dict(data)
    with pytest.raises(ModelError, match="^here: 1 sides$"):
        Shape.from_dict(data, where="here")


def test_a_class_within_a_family_reads_its_own_kinds_only():
    assert Elastic.from_dict({"type": "spring", "stiffness": 2.0}) == Spring(2.0)
    with pytest.raises(ModelError, match="unknown type 'spring'; did you mean 'damping'"):
        Friction.from_dict({"type": "spring", "stiffness": 2.0})


def test_families_do_not_know_each_other():
    assert set(Shape.known) == {"point", "box"}
    assert "spring" in PassiveForce.known and "box" not in PassiveForce.known


def test_classes_that_cannot_be_kinds():
    with pytest.raises(TypeError, match="Box is already the shape 'box'"):

        class Crate(Shape):
            name = "box"

    with pytest.raises(TypeError, match="`name` is 3, expected a text"):

        class Three(Shape):
            name = 3

    with pytest.raises(TypeError, match="a field cannot be called `type`"):

        class Typed(Shape):
            name = "typed"
            type: str

    assert set(Shape.known) == {"point", "box"}


def test_poses_are_written_as_position_and_quaternion():
    R = exp_so3([0.0, 0.0, 0.6])
    pose = Transform.of(tuple(R.ravel().tolist()), (1.0, 2.0, 3.0))
    found = plain(pose, "pose")
    assert found["xyz"] == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(found["quaternion"], [0.0, 0.0, np.sin(0.3), np.cos(0.3)], atol=1e-15)
    assert value_of(Transform, found, "pose").p == pose.p
    np.testing.assert_allclose(value_of(Transform, found, "pose").rotation, pose.rotation, atol=1e-15)


def test_what_no_file_can_hold_is_said_with_its_place():
    for value in (print, {"a": [1.0, object()]}, 1j):
        with pytest.raises(ModelError, match="^here: .*which no file can hold"):
            plain(value, "here:")
    with pytest.raises(ModelError, match="^here: inside: Nameless is a shape without a name of its own, which no file"):

        class Nameless(Box):
            pass

        Box((1, 2, 3), inside=Nameless((1, 2, 3))).to_dict(where="here")


def test_annotations_that_are_not_there_at_run_time_are_named():
    @dataclass(frozen=True)
    class Ratio:
        value: Fraction

    with pytest.raises(ModelError, match="Ratio: the annotations of its fields cannot be read: .*'Fraction'"):
        built(Ratio, {"value": 1}, "here", value_of)
