# SPDX-License-Identifier: Apache-2.0
"""Models as dictionaries and YAML: without loss, readable, and checked like a URDF."""

from __future__ import annotations

import copy
import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
import yaml
from helpers.models.mixed_trees import mixed_tree
from helpers.models.robots import ROBOTS, load_robot, needs_pinocchio, random_tree, robot_file, sampled
from helpers.paths import ROOT

import rbd_dynamics as rbd
from rbd_dynamics import Model, ModelError, Robot
from rbd_dynamics.model import ModelWarning
from rbd_dynamics.model.dictionary import to_yaml
from rbd_dynamics.model.joints import Helical, Universal
from rbd_dynamics.spatial.se3 import Transform

DOCUMENT = ROOT / "docs" / "model_format.md"


def same(a: Model, b: Model) -> bool:
    """Equal to the last bit, the sign of zeros included."""
    return a == b and repr(a) == repr(b)


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_every_robot_comes_back_as_it_was(name, base):
    model = load_robot(name, base)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        assert same(rbd.model_from_dict(rbd.model_to_dict(model)), model)
        assert same(rbd.model_from_dict(json.loads(json.dumps(rbd.model_to_dict(model)))), model)
        assert same(rbd.load_yaml(to_yaml(model)), model)


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_come_back_as_they_were(seed, tmp_path):
    base = "floating" if seed % 3 == 0 else "fixed"
    model = random_tree(seed, n=1 + seed % 9, mimic=0.3, base=base) if seed % 2 else mixed_tree(seed, n=1 + seed % 7)
    rbd.save_yaml(model, tmp_path / "robot.yaml")
    found = rbd.load_yaml(tmp_path / "robot.yaml")
    assert same(found, model)
    q = model.random(seed)
    np.testing.assert_array_equal(
        Robot(found, backend="reference").gravity(q), Robot(model, backend="reference").gravity(q)
    )


@needs_pinocchio
def test_a_reordered_robot_keeps_its_order():
    names = load_robot("ur5_robot").joint_names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = rbd.load_urdf(robot_file("ur5_robot"), joints=[names[0], names[3]], locked={names[1]: 0.3})
        assert same(rbd.model_from_dict(rbd.model_to_dict(model)), model)


def test_a_pose_of_several_rotations_comes_back():
    model = mixed_tree(3, n=2)
    place = model.bodies[1].placement
    double = replace(model.bodies[1], placement=Transform(place.factors * 2, place.p))
    model = replace(model, bodies=(model.bodies[0], double))
    assert same(rbd.load_yaml(to_yaml(model)), model)


def test_odd_names_come_back():
    data = small()
    data["name"] = "no"
    data["bodies"][0]["name"] = "1.5"
    data["bodies"][1]["parent"] = "1.5"
    data["bodies"][1]["joint"]["name"] = "Gelenk: ä # ~"
    model = rbd.model_from_dict(data)
    assert same(rbd.load_yaml(to_yaml(model)), model)


# --- the document --------------------------------------------------------------------------------


def test_the_example_of_the_document_is_a_robot():
    text = re.search(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    model = rbd.load_yaml(text[1])
    assert model.joint_names == ["shoulder", "spindle", "cardan"] and model.nv == 4
    assert model.joint("spindle").kind == Helical((1.0, 0.0, 0.0), 0.00159)
    assert model.joint("cardan").kind == Universal()
    assert model.frame("tool").placement.p == (0.0, 0.0, 0.1)
    assert np.isfinite(Robot(model).forward_dynamics(np.full(4, 0.3), np.ones(4), np.zeros(4))).all()


def test_the_document_has_every_kind_and_key():
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, kind in rbd.joints.JointKind.known.items():
        if kind.__module__.startswith("rbd_dynamics."):
            assert f"`{name}`" in text, name
    keys = set(_keys(rbd.model_to_dict(mixed_tree(1, n=6)))) | {"mimic", "leader", "multiplier", "offset"}
    assert {key for key in keys if not re.search(rf"`[^`]*\b{key}\b[^`]*`", text)} == set()


def _keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


# --- what a person writes ------------------------------------------------------------------------


def small() -> dict:
    load = {"mass": 1.0, "com": [0.1, 0.0, 0.0], "inertia_at_com": [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]}
    return {
        "format": "rbd_dynamics model",
        "version": 1,
        "name": "two",
        "bodies": [
            {"name": "upper", "joint": {"name": "one", "type": "revolute", "axis": [0, 0, 1]}, "inertia": dict(load)},
            {
                "name": "lower",
                "parent": "upper",
                "joint": {"name": "two", "type": "prismatic", "axis": [0, 2, 0], "limits": {"lower": -1, "upper": 1}},
                "placement": {"position": [1, 0, 0], "rpy": [0, 0, 1.0]},
                "inertia": dict(load),
            },
        ],
    }


def test_short_forms_are_understood():
    model = rbd.model_from_dict(small())
    assert model.frame_names == ["upper", "lower", "one", "two"]
    assert model.bodies[1].joint.kind == rbd.joints.Prismatic((0.0, 1.0, 0.0))
    np.testing.assert_allclose(model.bodies[1].inertia.parameters[:2], (1.0, 0.1))
    np.testing.assert_allclose(model.bodies[1].inertia.rotational, (0.01, 0, 0, 0.02, 0, 0.02), atol=1e-16)
    data = small()
    data["bodies"][1]["placement"] = {"position": [1, 0, 0], "quaternion": [0, 0, np.sin(0.5), np.cos(0.5)]}
    np.testing.assert_allclose(
        rbd.model_from_dict(data).bodies[1].placement.rotation, model.bodies[1].placement.rotation, atol=1e-15
    )


def test_numbers_with_an_exponent_but_no_point_are_numbers():
    """YAML 1.1 reads 1e-3 as a text."""
    data = small()
    assert yaml.safe_load("1e-3") == "1e-3"
    data["bodies"][0]["inertia"] = {"mass": "1e-1", "com": ["1e-3", 0, 0]}
    assert rbd.model_from_dict(data).bodies[0].inertia.mass == 0.1


def broken(path: str, value: object) -> dict:
    """The small robot with one entry changed; the path is as in "bodies.1.joint.name", `...` removes it."""
    data = copy.deepcopy(small())
    *way, last = path.split(".")
    at = data
    for key in way:
        at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "urdf", "format is 'urdf', expected 'rbd_dynamics model'"),
        ("version", 2, "version is 2, this program reads 1"),
        ("base", "wheels", "base 'wheels'"),
        ("gravity", [0, 0], "gravity: .* 2 numbers, expected 3"),
        ("colour", "red", "model: no key named 'colour'"),
        ("bodies", "upper", "bodies: expected a list"),
        ("bodies.1.name", "upper", "body 'upper' is given twice"),
        ("bodies.1.name", True, "body number 2: True is not a name"),
        ("bodies.1.parent", "uper", "body 'lower': parent: no body named 'uper'; did you mean 'upper'.*come first"),
        ("bodies.1.parent", "lower", "body 'lower': parent: no body named 'lower'"),
        ("bodies.1.joint", ..., "body 'lower': joint: expected keys and values"),
        ("bodies.1.joint.name", "one", "joint 'one' is given twice"),
        ("bodies.1.joint.type", "prismatik", "joint 'two': unknown joint type 'prismatik'"),
        ("bodies.1.joint.pitch", 0.1, "joint 'two': a prismatic joint has no 'pitch'"),
        ("bodies.1.joint.axis", [0, 0, 0], "joint 'two': axis .* no direction"),
        ("bodies.1.joint.limits", {"lower": 2, "upper": 1}, "joint 'two' has limits lower=2 > upper=1"),
        ("bodies.1.joint.limits", {"min": 2}, "joint 'two': limits: no key named 'min'"),
        ("bodies.1.joint.limits", {"effort": "much"}, "joint 'two': limit effort: 'much' is not a number"),
        ("bodies.1.joint.limits", {"lower": float("nan")}, "joint 'two': limit lower: nan is not finite"),
        ("bodies.1.joint.damping", -1, "joint 'two' has the negative damping -1"),
        ("bodies.1.joint.armature", float("inf"), "joint 'two': armature: inf is not finite"),
        ("bodies.1.joint.mimic", {"leader": "on"}, "joint 'two' mimics an unknown one.*did you mean 'one'"),
        ("bodies.1.joint.mimic", {"leader": "two"}, "joint 'two': mimics itself"),
        ("bodies.1.joint.mimic", {"leader": "one", "multiplier": "x"}, "'two': mimic multiplier: 'x' is not a number"),
        ("bodies.1.placement.rotation", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "rotation and rpy both say the rotation"),
        ("bodies.1.placement", {"rotation": [[1, 0, 0], [0, 1, 0]]}, "lower': placement: rotation: expected three"),
        ("bodies.1.placement", {"rotation": [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}, "is not a rotation matrix"),
        ("bodies.1.placement", {"rotation": [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]}, "is not a rotation matrix"),
        ("bodies.1.placement", {"quaternion": [0, 0, 0, 2]}, "body 'lower': placement: quaternion .* has norm 2"),
        ("bodies.1.placement.position", [0, 0, float("nan")], "body 'lower': placement: position: .*not finite"),
        ("bodies.1.inertia.mass", -1, "link 'lower': has the negative mass -1"),
        ("bodies.1.inertia", {"mass": 1, "com": [0, 0, 0], "first_moment": [0, 0, 0]}, "lower': inertia: give com"),
        ("bodies.1.inertia.inertia_at_com", [1, 0, 0, 0.1, 0, 0.1], "link 'lower': has an inertia that no"),
        ("bodies.1.inertia.masss", 1, "body 'lower': inertia: no key named 'masss'; did you mean 'mass'"),
        ("frames", [{"name": "tool", "body": "hand"}], "frame 'tool': body: no body named 'hand'"),
        ("frames", [{"body": "upper"}], "frame number 1: None is not a name"),
        ("frames", [{"name": "tool", "kind": "camera"}], "frame 'tool': kind 'camera'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(path, value, message):
    with pytest.raises(ModelError, match=message):
        rbd.model_from_dict(broken(path, value))


def test_a_defect_is_a_warning_unless_strict():
    data = small()
    del data["bodies"][1]["inertia"]
    with pytest.warns(ModelWarning, match="joint 'two': moves no mass"):
        rbd.model_from_dict(data)
    with pytest.raises(ModelError, match="joint 'two': moves no mass"):
        rbd.load_yaml(yaml.safe_dump(data), strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format: [1,\nversion: }", "YAML text is not well-formed YAML: .* at line 2"),
        ("just a text\nof two lines", "holds no model"),
        ("- 1\n- 2\n", "holds no model"),
        ("format: !!python/object:os.system x\nversion: 1", "not well-formed"),
    ],
)
def test_what_is_no_yaml_model_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        rbd.load_yaml(text)


def test_a_missing_file_is_named():
    with pytest.raises(ModelError, match="file nowhere.yaml cannot be read: No such file"):
        rbd.load_yaml("nowhere.yaml")


def test_two_bodies_of_one_name_cannot_be_written():
    model = mixed_tree(2, n=2)
    twice = replace(model, bodies=tuple(replace(body, name="same") for body in model.bodies))
    with pytest.raises(ModelError, match="body 'same' is given twice"):
        rbd.model_to_dict(twice)
