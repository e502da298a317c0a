# SPDX-License-Identifier: Apache-2.0
"""Constraints as YAML: read, written, and refused with the culprit's name."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from helpers.models.robots import load_robot
from helpers.paths import ROOT

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    ConstraintSet,
    Cylinder,
    DistanceConstraint,
    FrameConstraint,
    HolonomicRows,
    ImplicitSurface,
    JointCoupling,
    Quadric,
    RollingBall,
    RollingDisk,
    ScrewConstraint,
    Sphere,
    SurfaceConstraint,
    constraints_to_dict,
    load_constraints,
    placement,
)
from rbd_dynamics.spatial import exp_so3

TEXT = """
stabilization: 5.0
constraints:
  - name: table
    type: surface
    frame: tool0
    surface: {type: sphere, radius: 0.5}
    offset: 0.01
    aligned: true
    reference_placement: {xyz: [0.4, 0.0, 0.1], rpy: [0.0, 0.0, 1.5708]}
  - {name: loop, type: frame, frame: tool0, reference: forearm_link, directions: [x, z]}
  - {name: gear, type: coupling, coefficients: {elbow_joint: 2, wrist_1_joint: -1.0}, offset: 0.2}
"""


@pytest.fixture(scope="module")
def model():
    return load_robot("ur5_robot")


def test_text_file_and_dictionary_are_the_same(model, tmp_path):
    file = tmp_path / "constraints.yaml"
    file.write_text(TEXT)
    sets = [load_constraints(source, model) for source in (TEXT, file, str(file), yaml.safe_load(TEXT))]
    for other in sets[1:]:
        assert other.constraints == sets[0].constraints and other.key == sets[0].key
    of = sets[0]
    assert of.stabilization == 5.0
    assert of.row_names == ("table.normal", "table.align_x", "table.align_y", "loop.x", "loop.z", "gear.coupling")
    assert of["table"].surface == Sphere(0.5) and of["gear"].coefficients["elbow_joint"] == 2.0


def test_every_kind_survives_the_way_there_and_back(model):
    placed = {"placement": placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), "reference_placement": placement((1, 0, 0))}
    of = ConstraintSet(
        model,
        [
            FrameConstraint("a", "tool0", "forearm_link", directions=("rx", "y"), **placed),
            DistanceConstraint("b", "tool0", distance=0.7, **placed),
            ScrewConstraint("i", "tool0", "forearm_link", pitch=0.002, **placed),
            SurfaceConstraint("c", "tool0", surface=Cylinder(0.3, hollow=True), offset=0.1, aligned=True),
            RollingBall("d", "tool0", surface=Sphere(0.4), radius=0.2, spin=False),
            RollingDisk("e", "tool0", radius=0.2, **placed),
            JointCoupling("f", {"elbow_joint": 1.0}, offset=0.5),
            JointCoupling("g", {"elbow_joint": (1.0, -0.5), "wrist_1_joint": 2.0}),
            SurfaceConstraint("h", "tool0", surface=Quadric(1.0, 2.0, 3.0, constant=4.0)),
        ],
        stabilization=2.0,
    )
    data = yaml.safe_load(yaml.safe_dump(constraints_to_dict(of)))
    back = load_constraints(data, model)
    assert back.row_names == of.row_names and back.stabilization == 2.0 and back.key == of.key
    np.testing.assert_allclose(back.parameters, of.parameters, atol=1e-12)


def test_placements():
    np.testing.assert_allclose(
        np.array(placement(rpy=(0.0, 0.0, 0.5)).rotation).reshape(3, 3), exp_so3([0.0, 0.0, 0.5]), atol=1e-15
    )
    assert placement((1, 2, 3)).p == (1.0, 2.0, 3.0)
    turned = placement(quaternion=(0.0, 0.0, np.sin(0.25), np.cos(0.25)))
    np.testing.assert_allclose(turned.rotation, placement(rpy=(0.0, 0.0, 0.5)).rotation, atol=1e-12)
    for wrong in ({"xyz": (1, 2)}, {"rpy": "abc"}, {"quaternion": (0, 0, 0, 2.0)}, {"xyz": (1, 2, np.nan)}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            placement(**wrong)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"type": "frame", "frame": "tool0"}, "constraint 0: needs a `name`"),
        ({"name": "a", "type": "fram", "frame": "tool0"}, "'a': unknown type 'fram'; did you mean 'frame'"),
        ({"name": "a", "type": "frame", "fram": "tool0"}, "unknown key 'fram'; did you mean 'frame'"),
        ({"name": "a", "type": "frame"}, "`frame` is missing"),
        ({"name": "a", "type": "frame", "frame": 3}, "frame: expected a name"),
        ({"name": "a", "type": "frame", "frame": "tool0", "directions": "x"}, "expected a list of names"),
        ({"name": "a", "type": "frame", "frame": "tool0", "directions": ["up"]}, "'a': directions"),
        ({"name": "a", "type": "surface", "frame": "tool0", "surface": {"type": "cone"}}, "unknown type 'cone'"),
        ({"name": "a", "type": "surface", "frame": "tool0", "surface": {"type": "sphere", "r": 1}}, "key 'r'"),
        ({"name": "a", "type": "surface", "frame": "tool0", "surface": {"type": "sphere", "radius": -1}}, "radius -1"),
        ({"name": "a", "type": "surface", "frame": "tool0", "aligned": 1}, "aligned: expected true or false"),
        ({"name": "a", "type": "surface", "frame": "tool0", "offset": "x"}, "'a': offset"),
        ({"name": "a", "type": "frame", "frame": "tool0", "placement": {"xyz": [1]}}, "'a': placement: xyz"),
        ({"name": "a", "type": "frame", "frame": "tool0", "placement": {"rpy": [0, 0, 0], "quaternion": [0, 0, 0, 1]}},
         "not both"),
        ({"name": "a", "type": "frame", "frame": "tool0", "placement": [1, 2, 3]}, "expected xyz and rpy"),
        ({"name": "a", "type": "coupling", "coefficients": {"elbow_joint": "much"}}, "of 'elbow_joint'"),
        ({"name": "a", "type": "coupling", "coefficients": [1.0]}, "expected joints with numbers"),
        ("frame", "expected a dictionary"),
        ({"name": "a", "frame": "tool0"}, "'a': `type` is missing; known: .*frame"),
        ({"name": "a", "type": "surface", "frame": "tool0", "offset": True}, "'a': offset: True is not a number"),
        ({"name": "a", "type": "surface", "frame": "tool0", "surface": "sphere"}, "'a': surface.*`radius` is missing"),
        ({"name": "a", "type": "distance", "frame": "tool0"}, "'a': `distance` is missing"),
        ({"name": "a", "type": "rolling_disk", "frame": "tool0"}, "'a': `radius` is missing"),
        ({"name": "a", "type": "coupling"}, "'a': `coefficients` names no joint"),
        ({"name": "a", "type": "coupling", "coefficients": {"elbow_joint": [1.0, "x"]}}, "of 'elbow_joint': 'x'"),
        ({"name": "a", "type": "coupling", "coefficients": {"elbow_joint": []}}, "of 'elbow_joint'"),
        ({"name": "a", "type": "surface", "frame": "tool0", "surface": {"type": "quadric", "xx": 1}}, "quadric"),
        ({"name": "a", "type": "frame", "frame": "tool0", "placement": 2 * np.eye(4)}, "'a': placement: expected a Tr"),
        ({"name": "a", "type": "frame", "frame": "tool0", "reference_placement": np.diag([1.0, 1.0, -1.0, 1.0])},
         "'a': reference_placement: .* is not a rotation matrix"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(model, entry, reason):
    with pytest.raises(ValueError, match=reason):
        load_constraints([entry], model)


def test_wrong_files(model, tmp_path):
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        load_constraints(tmp_path / "none.yaml", model)
    with pytest.raises(ValueError, match="not well-formed YAML.*line 2"):
        load_constraints("constraints:\n  - {name: [}\n", model)
    with pytest.raises(ValueError, match="expected a list"):
        load_constraints({"constraint": []}, model)
    with pytest.raises(ValueError, match="unknown key 'stabilisation'; did you mean 'stabilization'"):
        load_constraints({"constraints": [], "stabilisation": 1.0}, model)
    with pytest.raises(ValueError, match="key 'frame' is given twice at line 2"):
        load_constraints("constraints:\n  - {name: a, type: frame, frame: tool0, frame: base_link}\n", model)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"type": "frame", "frame": "toool0"}, "constraint 'a': no frame named 'toool0'; did you mean 'tool0'"),
        ({"type": "frame", "frame": "tool0", "reference": "worlds"}, "constraint 'a': no frame named 'worlds'"),
        ({"type": "coupling", "coefficients": {"elbow": 1.0}}, "constraint 'a': no joint named 'elbow'; did you"),
    ],
)
def test_what_the_model_does_not_have_is_named_with_its_constraint(model, entry, reason):
    with pytest.raises(KeyError, match=reason):
        load_constraints([{"name": "a"} | entry], model)


def test_text_of_one_line(model):
    assert load_constraints("[{name: a, type: frame, frame: tool0, directions: [x]}]", model).row_names == ("a.x",)


def test_placements_of_other_forms(model):
    """A Transform, a position and a matrix mean the same, in Python and in a dictionary."""
    pose = placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.reshape(pose.rotation, (3, 3)), pose.p
    of = FrameConstraint("a", "tool0", placement=pose)
    assert FrameConstraint("a", "tool0", placement=matrix) == of
    for form in (matrix, matrix.tolist(), pose):
        assert load_constraints([{"name": "a", "type": "frame", "frame": "tool0", "placement": form}], model)["a"] == of
    assert DistanceConstraint("b", "tool0", placement=[1, 2, 3]).placement == placement((1, 2, 3))


def test_surfaces_of_other_forms(model):
    """A surface and its dictionary mean the same; what is of another family is refused."""
    of = SurfaceConstraint("a", "tool0", surface=Sphere(0.5))
    entry = {"name": "a", "type": "surface", "frame": "tool0"}
    for form in (Sphere(0.5), {"type": "sphere", "radius": 0.5}):
        assert load_constraints([entry | {"surface": form}], model)["a"] == of
    with pytest.raises(ValueError, match="'a'.*surface"):
        load_constraints([entry | {"surface": JointCoupling("b", {"elbow_joint": 1.0})}], model)


@pytest.mark.parametrize("kind", [FrameConstraint, DistanceConstraint, SurfaceConstraint, RollingBall, RollingDisk])
def test_placements_that_are_none_are_refused_by_every_kind(kind):
    shear = np.eye(4)
    shear[0, 1] = 0.1
    for wrong in (2.0, np.eye(3), shear, np.diag([1.0, 1.0, -1.0, 1.0]), [0.0, np.inf, 0.0]):
        with pytest.raises(ValueError, match="constraint 'a': reference_placement"):
            kind("a", "tool0", reference_placement=wrong)
    with pytest.raises(ValueError, match="constraint 'a': frame 3 is not a name"):
        kind("a", 3)


def test_surfaces_that_are_none_are_refused():
    for kind in (SurfaceConstraint, RollingBall):
        with pytest.raises(ValueError, match="constraint 'a': surface 'plane' is none"):
            kind("a", "tool0", surface="plane")


def test_functions_have_no_plain_form(model):
    of_surface = SurfaceConstraint("s", "tool0", surface=ImplicitSurface())
    for constraint in (HolonomicRows("f", lambda q: [q[0]]), of_surface):
        with pytest.raises(ValueError, match="which no file can hold"):
            constraints_to_dict(ConstraintSet(model, [constraint]))


def test_the_file_of_config_loads():
    file = ROOT / "config" / "constraints.yaml"
    of = load_constraints(file, rbd.load_urdf(_panda()))
    assert "table.normal" in of.row_names


def _panda():
    from helpers.models.robots import robot_file

    return robot_file("panda")
