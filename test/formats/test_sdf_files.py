# SPDX-License-Identifier: Apache-2.0
"""Edges of SDFormat, a small file each, against numbers worked out by hand (those that Drake reads agree with it)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.formats import check
from rbd_dynamics.spatial.so3 import rotation_from_rpy

FILES = Path(__file__).with_name("sdf_files")
#: joint positions, and where links are then, as poses one after the other: x, y, z, roll, pitch, yaw
CASES = {
    "frame_before_link": (
        {"shoulder": 0.7},
        {
            "mount": [(1, 2, 3, 0, 0, 0.5), (0, 0, 0.4)],
            "plate": [(1, 2, 3, 0, 0, 0.5), (0.1, 0, 0.4, 0, 0.3)],
            "arm": [(1, 2, 3, 0, 0, 0.5), (0, 0.2, 0.4, 0.7)],
        },
    ),
    "parent_model_frame_1_6": ({"spin": 0.7}, {"rotor": [(0.2, 0, 0), (0, 0, 0, 0, 0, 0.7), (0, 0, 0, np.pi / 2)]}),
    "parent_model_frame_1_7": ({"spin": 0.7}, {"rotor": [(0.2, 0, 0, np.pi / 2), (0, 0, 0, 0, 0, 0.7)]}),
    "world_joint": (
        {"shoulder": 0.7},
        {"base": [(4, 0.5, 1)], "arm": [(4, 0.5, 1.3, 0, 0.7)], "world::pad": [(4, 0, 1)]},
    ),
    "world_joint_to_another_model": (
        {"world::rail": 0.3, "shoulder": 0.7},
        {"table::top": [(2, 0, 0.7)], "base": [(2.3, 0, 0.7)], "arm": [(2.3, 0, 1.0, 0, 0.7)]},
    ),
    # the shoulder's child stays, so its parent goes the other way; likewise the elbow's
    "joint_against_the_grain": (
        {"shoulder": 0.3, "elbow": 0.7},
        {
            "ceiling": [(0, 0, 2, 0, 0.4)],
            "upper": [(0, 0, 2, 0, 0.4), (0.1, 0, 0), (0, 0, -0.3), (-0.1, 0, 0), (0, 0, 0, 0, -0.4), (0, 0, -0.3)],
            "forearm": [
                *[(0, 0, 2, 0, 0.4), (0.1, 0, 0), (0, 0, -0.3), (-0.1, 0, 0), (0, 0, 0, 0, -0.4), (0, 0, -0.3)],
                *[(0, 0, 0, 0, -0.7), (0, 0, -0.5, 0, 0, 0.3)],
            ],
        },
    ),
    "joint_to_a_nested_link": (
        {"root": 0.2, "tool": 0.3, "hand::flange": 0.7},
        {
            "hand::wrist": [(0, 0, 1, 0, 0.2), (0.3, 0, 0, 0, 0, 0.3)],
            "hand::palm": [(0, 0, 1, 0, 0.2), (0.3, 0, 0, 0, 0, 0.3), (0, 0, 0, -0.7), (0.2, 0, 0)],
        },
    ),
    "screws": (
        {"neither": 0.7, "old": 0.7, "both": 0.7},
        {
            "a": [(0, 0, 0.7 / (2 * np.pi), 0, 0, 0.7)],
            "b": [(0, 0, 0.7 / 40, 0, 0, 0.7)],
            "c": [(0, 0, 0.7 * 0.02 / (2 * np.pi), 0, 0, 0.7)],
        },
    ),
    "drakes_mimic": ({"lead": 0.7}, {"b": [(0, 0, 0, 0, 0, 2 * 0.7 + 0.1)]}),
    "pose_frame_1_6": (
        {"wrist": 0.7},
        {"tip": [(0, 0, 0.1, 0, 0, 0.3), (0.2, 0, 0, 0, 0.7), (0.3, 0, 0)]},
    ),
    "includes_urdf": (
        {"left::elbow": 0.7},
        {
            "left::foot": [(0, 0.3, 0.8, 0, 0, 0.5)],
            "left::upper": [(0, 0.3, 0.8, 0, 0, 0.5), (0, 0, 0.1, 0, 0, 0.2), (0, 0, 0, 0, 0.7)],
            "left::tip": [(0, 0.3, 0.8, 0, 0, 0.5), (0, 0, 0.1, 0, 0, 0.2), (0, 0, 0, 0, 0.7), (0, 0, 0.47)],
        },
    ),
    "merged": (
        {"bend": 0.7},
        # the axis is the part's x; where the part was is a frame of its own
        {
            "upper": [(0, 0, 1, 0, 0, 0.3), (0.1, 0, 0, 0, 0, 0.4)],
            "lower": [(0, 0, 1, 0, 0, 0.3), (0.1, 0, 0, 0, 0, 0.4), (0, 0.2, 0, 0, 0, -0.4), (0, 0, 0, 0.7, 0, 0),
                      (0, 0, 0, 0, 0, 0.4)],
            "mark": [(0, 0, 1, 0, 0, 0.3), (0, 0, 0.5)],
        },
    ),
    "version_1_2": (
        {"wheel_joint": 0.7},
        # in the axes of the model, so that it leans over with the wheel's pose
        {"body": [(0, 0, 0)], "wheel": [(0.3, 0, 0), (0, 0, 0, 0, 0.7), (0, 0, 0, 0, 0, 0.5)]},
    ),
    # the left axis points down: +3 q about it is -3 q about the palm's
    "gearbox": ({"right_joint": 0.2}, {"left": [(0, -0.1, 0, 0, 0, -0.6), (0, 0, 0, np.pi)]}),
    # the spindle turns by 0.5 against x; by that the nut goes along x
    "screw_that_closes_a_loop": (
        {"slide": 0.5 * 0.004 / (2 * np.pi)},
        {"spindle": [(0, 0, 0, -0.5)], "nut": [(0.1 + 0.5 * 0.004 / (2 * np.pi), 0, 0)]},
    ),
}  # fmt: skip


def pose(*steps: tuple[float, ...]) -> np.ndarray:
    whole = np.eye(4)
    for x, y, z, *rpy in steps:
        T = np.eye(4)
        T[:3, :3] = np.reshape(rotation_from_rpy(*[*rpy, 0.0, 0.0, 0.0][:3]), (3, 3))
        T[:3, 3] = x, y, z
        whole = whole @ T
    return whole


def position(model: rbd.Model, given: dict[str, float]) -> np.ndarray:
    q = model.neutral()
    for name, value in given.items():
        q[model.joint(name).q_index] = value
    return q


@pytest.mark.filterwarnings("ignore::rbd_dynamics.model.ModelWarning")
@pytest.mark.parametrize("name", CASES)
def test_links_are_where_the_format_says(name):
    given, expected = CASES[name]
    model = rbd.load(FILES / f"{name}.sdf")
    assert (model.base, model.nv) == ("fixed", len(given))
    robot, q = rbd.Robot(model, backend="reference"), position(model, given)
    for frame, steps in expected.items():
        np.testing.assert_allclose(robot.pose(q, frame), pose(*steps), atol=1e-14, err_msg=frame)
    assert not model.loops


def test_joints_that_are_turned_round_keep_limits_and_signs():
    model = rbd.load(FILES / "joint_against_the_grain.sdf")
    assert (model.joint("elbow").limits.lower, model.joint("elbow").limits.upper) == (-0.5, 2.0)
    jack = rbd.load(FILES / "screw_against_the_grain.sdf")
    robot = rbd.Robot(jack, backend="reference")
    q = jack.neutral()
    q[jack.joint("thread").q_index] = 0.7
    neck = jack.joint("neck").q_index
    q[neck : neck + 2] = 0.2, 0.3
    top = robot.pose(q, "top")
    down = pose((0, 0, 0.7 * 0.02 / (2.0 * np.pi), 0, 0, 0.7))  # the foot's, seen from the top, before what is fixed
    np.testing.assert_allclose(top @ pose((0, 0, -1)) @ down, np.eye(4), atol=1e-14)
    # the second of the file's angles comes first
    turned = pose((0, 0, 0, 0.3), (0, 0, 0, 0, 0.2))
    np.testing.assert_allclose(robot.pose(q, "head") @ pose((0, 0, 1)) @ turned, top, atol=1e-14)
    messages = [str(finding) for finding in check(FILES / "screw_against_the_grain.sdf")]
    assert any("joint 'neck': is turned round" in message for message in messages)


@pytest.mark.parametrize("seed", range(6))
def test_a_joint_the_other_way_round_is_the_same_with_the_other_sign(seed):
    """On the world, from links that are given in any order: poses, and efforts, friction and springs among them."""
    random = np.random.default_rng(seed)
    count = 6
    flipped = random.random(count) < 0.5
    flipped[0] = False
    links, joints = [], ([], [])
    for k in range(count):
        numbers = " ".join(map(str, random.normal(size=6)))
        links.append(
            f'<link name="l{k}"><pose>{numbers}</pose><inertial><pose>0.1 {0.1 * k} 0 0 0 0</pose>'
            "<mass>2</mass></inertial></link>"
        )
        above = "world" if k == 0 else f"l{random.integers(k)}"
        axis = " ".join(map(str, random.normal(size=3)))
        kind, at = random.choice(["revolute", "prismatic", "screw"]), " ".join(map(str, random.normal(size=6)))
        for ends, text in zip([(above, f"l{k}"), (f"l{k}", above) if flipped[k] else (above, f"l{k}")], joints):
            text.append(
                f'<joint name="j{k}" type="{kind}"><pose relative_to="__model__">{at}</pose><parent>{ends[0]}</parent>'
                f"<child>{ends[1]}</child><axis><xyz expressed_in='__model__'>{axis}</xyz><dynamics>"
                "<damping>0.3</damping><spring_stiffness>2</spring_stiffness></dynamics></axis></joint>"
            )
    both = []
    for text in joints:
        parts = [*links, *text]
        inner = "".join(parts[k] for k in random.permutation(len(parts)))
        model = rbd.load(f'<sdf version="1.9"><model name="m">{inner}</model></sdf>')
        assert (model.base, model.nv, model.loops) == ("fixed", count, ())
        both.append(rbd.Robot(model, backend="reference", friction=True))
    states = random.normal(size=(3, count))
    efforts, poses = [], []
    for robot, sign in zip(both, (np.ones(count), np.where(flipped, -1.0, 1.0))):
        order = [robot.model.joint(f"j{k}").q_index for k in range(count)]
        q, v, a = (np.zeros(count) for _ in states)
        q[order], v[order], a[order] = sign * states
        efforts.append(sign * robot.inverse_dynamics(q, v, a)[order])
        poses.append([robot.pose(q, f"l{k}") for k in range(count)])
    np.testing.assert_allclose(poses[1], poses[0], atol=1e-13)
    np.testing.assert_allclose(efforts[1], efforts[0], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(("name", "gravity"), [("gravity_1_5", -1.62), ("world_joint", -1.62), ("worlds", -9.8)])
def test_gravity_is_that_of_the_world(name, gravity):
    assert rbd.load(FILES / f"{name}.sdf").gravity == (0.0, 0.0, gravity)


def test_a_world_has_models_by_name():
    path = FILES / "worlds.sdf"
    assert rbd.load(path).joint_names == ["swing"]  # the only one with a joint that moves, so it is taken
    (note,) = [finding for finding in check(path) if finding.element == f"file {path}"]
    assert note.message == "has other models, which are not read: no_such_sun, crate, stone"
    assert rbd.load(path, model="crate").mass == 4.0
    with pytest.raises(rbd.ModelError, match=r"worlds.sdf has no model 'crates'; did you mean 'crate'\?"):
        rbd.load(path, model="crates")
    with pytest.raises(rbd.ModelError, match="'model://no_such_sun': there is no package 'no_such_sun'"):
        rbd.load(path, model="no_such_sun")
    two = path.read_text().replace('type="fixed"', 'type="revolute"')
    with pytest.raises(rbd.ModelError, match="4 models, 2 of them with joints, expected one: pendulum, crate, no_such"):
        rbd.load(two)
    with pytest.raises(rbd.ModelError, match="is one robot: `model` is for SDF"):
        rbd.load(FILES / "arm.urdf", model="arm")


def test_an_included_urdf_has_its_dynamics():
    model, urdf = rbd.load(FILES / "includes_urdf.sdf"), rbd.load(FILES / "arm.urdf")
    ours, theirs = (rbd.Robot(each, backend="reference", friction=True) for each in (model, urdf))
    np.testing.assert_allclose(
        ours.inverse_dynamics([0.4], [0.6], [0.8]), theirs.inverse_dynamics([0.4], [0.6], [0.8]), rtol=1e-13
    )
    assert model.joint("left::elbow").limits == urdf.joint("elbow").limits


def test_inertias_of_shapes():
    """Mass, centre of mass, and moments about it."""
    model = rbd.load(FILES / "auto_inertia.sdf")
    inertias = {}
    for name in ("dumbbell", "brick", "roll", "egg", "pill", "hat"):
        text = (FILES / "auto_inertia.sdf").read_text().replace("<static>true</static>", "")
        free = rbd.load(text)
        body = next(body for body in free.bodies if body.name == name)
        centre = np.array(body.inertia.moment) / body.inertia.mass
        xx, xy, xz, yy, yz, zz = body.inertia.rotational
        at_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about = at_origin - body.inertia.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        inertias[name] = body.inertia.mass, centre, about
    ball = 4.0 / 3.0 * np.pi * 0.1**3
    one, two = 1000 * ball, 500 * ball
    own, apart = 0.4 * (one + two) * 0.01, one * two / (one + two) * 0.6**2
    cylinder, volume, cone = np.pi * 0.01 * 0.5, np.pi * 0.01 * 0.4 + ball, np.pi * 0.01 * 0.4 / 3.0
    # a capsule is the cylinder and, at its ends, two half balls whose centres are 3/8 r further out
    half = 1000 * ball * ((0.4 - (3 / 8) ** 2) * 0.01 + (0.2 + 3 / 8 * 0.1) ** 2)
    across = 1000 * np.pi * 0.01 * 0.4 * (3 * 0.01 + 0.4**2) / 12 + half
    along = 1000 * (np.pi * 0.01 * 0.4 * 0.005 + ball * 0.004)
    expected = {
        "dumbbell": (one + two, (0.1, 0, 0), (own, own + apart, own + apart)),
        "brick": (3.0, (0, 0, 0.1), tuple(3 / 12 * np.array([0.01 + 0.09, 0.04 + 0.09, 0.05]))),
        "roll": (2000 * cylinder, (0, 0, 0), tuple(2000 * cylinder * np.array([0.28 / 12, 0.28 / 12, 0.005]))),
        "egg": (6000 * ball, (0, 0, 0), tuple(6000 * ball / 5 * np.array([0.13, 0.10, 0.05]))),
        "pill": (1000 * volume, (0, 0, 0), (across, across, along)),
        "hat": (1000 * cone, (0, 0, -0.1), tuple(1000 * cone * np.array([0.0075, 0.0075, 0.003]))),
    }
    for name, (mass, centre, moments) in expected.items():
        found = inertias[name]
        np.testing.assert_allclose(found[0], mass, rtol=1e-13, err_msg=name)
        np.testing.assert_allclose(found[1], centre, atol=1e-15, err_msg=name)
        np.testing.assert_allclose(found[2], np.diag(moments), rtol=1e-12, atol=1e-14, err_msg=name)
    assert model.nv == 0


def test_what_an_included_file_has_is_said_once_and_only_if_it_is_read(tmp_path):
    (tmp_path / "hand.sdf").write_text('<sdf version="1.9">\n<model name="hand"><link name="l" nme=""/></model></sdf>')
    (tmp_path / "wrong.sdf").write_text("<sdf")
    include = "<include><uri>hand.sdf</uri><name>{}</name></include>".format
    path = tmp_path / "robot.sdf"
    path.write_text(f'<sdf version="1.9"><model name="m">{include("a")}{include("b")}</model></sdf>')
    (finding,) = [finding for finding in check(path) if finding.severity == "warning"]
    assert finding.element == f"file {tmp_path / 'hand.sdf'}, line 2, sdf/model[hand]/link[l]"
    assert (finding.message, finding.hint) == (
        "'nme' of <link> is unknown to SDFormat, it is left out",
        "did you mean 'name'?",
    )
    world = (
        "<model name='m'><link name='l'/></model><model name='n'><lnk/></model><include><uri>wrong.sdf</uri></include>"
    )
    path.write_text(f'<sdf version="1.9"><world name="w">{include("a")}{world}</world></sdf>')
    assert {finding.severity for finding in check(path, model="m")} <= {"note"}


def test_slips_of_xml_are_overlooked_and_said():
    path = FILES / "slips_of_xml.sdf"
    with pytest.warns(rbd.model.ModelWarning, match="has a comment with -- in it.*and 1 more"):
        model = rbd.load(path)
    assert model.joint("elbow").armature == 0.01  # the ratio is Drake's in its namespace only
    slip, ratio = [finding for finding in check(path) if finding.severity == "warning"]
    assert (slip.element, slip.hint) == (f"file {path}", "strict readers refuse it")
    assert ratio.element == "line 10, sdf/model[arm]/joint[elbow]/gear_ratio"
    assert ratio.hint == "did you mean 'gearbox_ratio' or 'drake:gear_ratio'?"


def test_a_screw_between_more_than_two_joints_closes_a_loop():
    """As in PR2's grippers: seen from the finger, which only slides, the spindle goes 4 mm a turn."""
    path = FILES / "screw_between_three_joints.sdf"
    model = rbd.load(path)
    assert not [finding for finding in check(path) if finding.severity != "note"]
    (loop,) = model.loops
    assert (loop.frame, loop.reference, loop.joint_type) == ("spindle", "finger", "screw")
    held = rbd.constraints.ConstraintSet(model, rbd.constraints.loop_constraints(model))
    robot, rate = rbd.Robot(model, backend="reference"), 0.004 / (2.0 * np.pi)
    for turns in (0.3, -7.6, 21.0):
        angle = 2.0 * np.pi * turns
        q = position(model, {"motor": angle, "slide": 0.05, "rail": 0.05 - rate * angle})
        v = position(model, {"motor": 1.0, "slide": 0.2, "rail": 0.2 - rate})
        rows = robot.constraint_rows(q, v, held)
        np.testing.assert_allclose(rows.h, 0.0, atol=1e-14)
        np.testing.assert_allclose(rows.A @ v, 0.0, atol=1e-15)
        q[model.joint("rail").q_index] += 0.0003
        assert np.abs(robot.constraint_rows(q, v, held).h).max() == pytest.approx(0.0003, rel=1e-9)
    assert rbd.model_from_dict(rbd.model_to_dict(model)) == replace(model, source=None)
    again = rbd.load(rbd.model_to_sdf(model))
    assert again.loops[0].pitch == pytest.approx(loop.pitch, rel=1e-15)
    for write in (rbd.model_to_urdf, rbd.model_to_mjcf):
        with pytest.raises(rbd.ModelError, match="loop 'thread' holds"):
            write(model)


def test_the_command_line_chooses_a_model(capsys):
    assert main(["info", str(FILES / "worlds.sdf"), "--model", "crate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "crate"
    assert main(["check", str(FILES / "worlds.sdf"), "--model", "crates"]) == 1
    assert "did you mean 'crate'?" in " ".join(capsys.readouterr().out.split())


def test_what_is_not_used_is_said_with_its_line():
    with pytest.warns(rbd.model.ModelWarning) as caught:
        rbd.load(FILES / "not_used.sdf")
    assert [str(warning.message) for warning in caught] == [
        "line 5, sdf/model[arm]/link[base]/inertial/mas: <mas> is unknown to SDFormat in <inertial>, it is left out "
        "(did you mean 'mass'?) [and 5 more, see `rbd_dynamics check`]"
    ]
    found = [(f.severity, f.element.partition(",")[0], f.message, f.hint) for f in check(FILES / "not_used.sdf")]
    left_out, meant = "it is left out", "did you mean {!r}?".format
    assert found == [
        ("warning", "line 5", f"<mas> is unknown to SDFormat in <inertial>, {left_out}", meant("mass")),
        ("warning", "line 9", "<kinematic> is left out", ""),
        (
            "warning",
            "line 12",
            f"'express_in' of <xyz> is unknown to SDFormat, {left_out}",
            "did you mean 'expressed_in'?",
        ),
        ("warning", "line 12", f"<damping> is unknown to SDFormat in <axis>, {left_out}", "it belongs in <dynamics>"),
        ("warning", "line 12", f"<use_parent_model_frame> is not in SDFormat after 1.6, {left_out}", ""),
        ("warning", "line 15", "<drake:joint> is left out", ""),
        ("note", "line 6", f"<visual> has no bearing on the dynamics, {left_out}", ""),
        ("note", "line 16", f"<other:joint> has no bearing on the dynamics, {left_out}", ""),
    ]
    with pytest.raises(rbd.ModelError) as refused:
        rbd.load(FILES / "not_used.sdf", strict=True)
    assert len(refused.value.findings) == 6
