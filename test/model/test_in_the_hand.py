# SPDX-License-Identifier: Apache-2.0
"""What a prompt or a notebook shows of models and robots, and what it says to those who err or wait."""

from __future__ import annotations

import copy
import logging
import pickle
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.robots import random_tree

import rbd_dynamics as rbd
from rbd_dynamics.common.by_name import ByName
from rbd_dynamics.compiler import notice


@pytest.fixture
def model():
    return rbd.load_urdf(ARM)


def cells(text: str) -> list[list[str]]:
    """Of a table, row by row; the text has to be well-formed."""
    return [["".join(cell.itertext()) for cell in row] for row in ET.fromstring(text).iter("tr")]


# --- shown ---------------------------------------------------------------------------------------------


def test_a_model_is_a_line_that_tells_it(model):
    text = repr(model)
    assert len(text) < 120 and "\n" not in text
    for part in (repr(model.name), "fixed base", f"nv {model.nv}", f"{model.mass:.4g} kg"):
        assert part in text


def test_a_robot_tells_its_options_and_loads_too(model):
    robot = rbd.Robot(model, backend="python", friction=True, errors="nan")
    assert repr(rbd.Robot(model, backend="reference")) == f"<Robot {repr(model)[7:-1]}; reference>"
    assert repr(robot).endswith('; python, friction, errors="nan">')
    robot.set_payload(model.frame_names[-1], 2.5)
    assert f"payload 2.5 kg at {model.frame_names[-1]!r}" in repr(robot)


def test_however_long_names_are_a_line_stays_short():
    builder = rbd.ModelBuilder("x" * 900)
    builder.add_body("bob", None, rbd.joints.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5))
    assert len(repr(builder.build())) < 150
    assert "1 joint (nq 1, nv 1), 1 moving body" in repr(builder.build())


def test_a_notebook_shows_joints_and_masses(model):
    for shown in (model._repr_html_(), rbd.Robot(model, backend="reference")._repr_html_()):
        heads, *rows = cells(shown)
        by_name = {row[heads.index("joint")]: row for row in rows}
        for body in model.bodies:
            row = by_name[body.joint.name]
            assert float(row[heads.index("mass, kg")]) == pytest.approx(body.inertia.mass, rel=1e-3)
            assert row[heads.index("moves")] == body.name and row[heads.index("v")] == str(body.joint.v_index)
        total = sum(float(row[-1]) for row in rows)
        assert total == pytest.approx(model.mass, rel=1e-3)


def test_a_notebook_is_not_taken_in_by_names():
    builder = rbd.ModelBuilder("<script>alert(1)</script>")
    builder.add_body("<b>&", None, rbd.joints.Revolute((0, 1, 0)), joint_name='"><img>', mass=1.0, com=(0, 0, 1))
    text = builder.build()._repr_html_()
    assert "<script" not in text and "<img" not in text
    assert "<b>&" in cells(text)[1]


def test_a_large_model_is_a_short_table():
    shown = random_tree(3, n=150)._repr_html_()
    assert len(cells(shown)) < 110 and "and 50 more" in shown


# --- by name -------------------------------------------------------------------------------------------


def test_joints_and_frames_are_found_by_name_in_both_ways(model):
    for found, things in ((model.joint, model.joints), (model.frame, model.frames)):
        assert isinstance(found, ByName) and len(found) == len({thing.name for thing in things})
        for thing in things:
            assert found(thing.name) is found[thing.name]
            assert found[thing.name].name == thing.name and thing.name in found
        assert found._ipython_key_completions_() == list(found)
        assert found.get("no such name") is None and 3 not in found


@pytest.mark.parametrize("wrong", ["elbo", "elbow_", "Elbow"])
def test_a_mistyped_name_gets_the_near_ones(wrong):
    builder = rbd.ModelBuilder("arm")
    builder.add_body("upper", None, rbd.joints.Revolute((0, 1, 0)), joint_name="elbow", mass=1.0, com=(0, 0, 1))
    model = builder.build()
    for find in (model.joint, model.joint.__getitem__):
        with pytest.raises(KeyError, match=f"no joint named '{wrong}'; did you mean 'elbow'"):
            find(wrong)


def test_models_travel_with_what_was_looked_up(model):
    assert model.joint[model.joint_names[0]] and model.frame[model.frame_names[0]]
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other == model
        assert other.joint(model.joint_names[-1]) == model.joint(model.joint_names[-1])


# --- errors --------------------------------------------------------------------------------------------


@pytest.fixture
def robot(model):
    return rbd.Robot(model, backend="reference")


def test_positions_by_name_are_told_what_order_they_need(robot):
    zeros = np.zeros(robot.model.nv)
    with pytest.raises(ValueError, match=r"inverse_dynamics: q: expected numbers, not a mapping .*order"):
        robot.inverse_dynamics(dict.fromkeys(robot.model.joint_names, 0.0), zeros, zeros)


@pytest.mark.parametrize(
    ("wrench", "kind", "message"),
    [
        (np.zeros(6), TypeError, r"f_ext: expected a mapping \{frame: wrench \(m, f\)\}.*not ndarray of shape \(6,\)"),
        ([0.0] * 6, TypeError, "f_ext: expected a mapping .*not list"),
        ({"FRAME": {"force": [0, 0, 1]}}, ValueError, r"f_ext\['FRAME'\]: expected numbers, not a mapping"),
        ({"FRAME": [0, 0, 1]}, ValueError, r"shape \(3,\), expected \(6,\) or .*moment first"),
        ({"FRAMEx": np.zeros(6)}, KeyError, "no frame named 'FRAMEx'; did you mean 'FRAME'"),
    ],
)
def test_a_wrench_in_another_form_is_told_the_right_one(robot, wrench, kind, message):
    frame = robot.model.frame_names[-1]
    zeros = np.zeros(robot.model.nv)
    if isinstance(wrench, dict):
        wrench = {name.replace("FRAME", frame): value for name, value in wrench.items()}
    with pytest.raises(kind, match=message.replace("FRAME", frame)):
        robot.inverse_dynamics(zeros, zeros, zeros, f_ext=wrench)


def test_a_frame_that_is_none_is_told(robot):
    q, frame = np.zeros(robot.model.nq), robot.model.frame_names[-1]
    for method in (robot.pose, robot.jacobian, robot.inverse_effective_inertia):
        with pytest.raises(KeyError, match=f"no frame named '{frame}x'; did you mean '{frame}'"):
            method(q, f"{frame}x")
        with pytest.raises(KeyError, match="no frame named ''"):
            method(q, "")
        with pytest.raises(TypeError, match=f"{method.__name__}: frame: expected the name of a frame"):
            method(frame, q)


def test_a_mistyped_kernel_gets_the_near_ones(robot):
    with pytest.raises(KeyError, match="no algorithm named 'invers_dynamics'; did you mean .*'inverse_dynamics'"):
        robot.compile("invers_dynamics")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda robot, n: robot.gravity(np.zeros((n, 5))), "expected .* samples are rows: give its transpose"),
        (lambda robot, n: robot.model.integrate(np.zeros((n, 5)), np.zeros(n)), "q has .*give its transpose"),
        (lambda robot, n: robot.gravity([[0.0] * n, [0.0]]), "gravity: q: expected numbers, in lists of the same len"),
        (
            lambda robot, n: robot.constrained_forward_dynamics(*np.zeros((3, n)), "loop"),
            "constraints must be .*not str",
        ),
        (lambda robot, n: robot.constrained({"a": 1}), "constraints must be .* a sequence of constraints, not dict"),
        (lambda robot, n: robot.in_contact("floor"), "contacts must be a ContactSet or .*not str"),
        (lambda robot, n: robot.model.with_gravity(9.81), "gravity 9.81 is not made of numbers: expected 3"),
        (lambda robot, n: rbd.load_urdf(ARM, locked=["shoulder"]), r"locked=\['shoulder'\] is not a mapping, expected"),
    ],
)
def test_what_is_given_in_another_form_is_told_the_right_one(robot, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(robot, robot.model.nv)


def test_a_batch_that_is_square_is_not_taken_for_a_transposed_one(robot):
    n = robot.model.nv
    for shape in ((n, n), (5, n)):
        assert robot.gravity(np.zeros(shape)).shape == shape
    with pytest.raises(ValueError, match="has shape") as told:
        robot.gravity(np.zeros((n + 1, n + 2)))
    assert "transpose" not in str(told.value)


def test_a_joint_that_does_not_move_by_itself_is_told_so():
    builder = rbd.ModelBuilder("gripper")
    builder.add_body("left", None, rbd.joints.Prismatic((0, 1, 0)), joint_name="slide", mass=1.0)
    builder.add_body(
        "right", None, rbd.joints.Prismatic((0, 1, 0)), joint_name="slides_too", mass=1.0, mimic=rbd.Mimic("slide")
    )
    with pytest.raises(KeyError, match="'slides_too' that moves by itself: it follows 'slide'"):
        builder.build().joint("slides_too")
    model = rbd.load_urdf(ARM)
    locked = rbd.load_urdf(ARM, locked={model.joint_names[0]: 0.1})
    with pytest.raises(KeyError, match=f"'{model.joint_names[0]}' that moves by itself: it is fixed or locked"):
        locked.joint(model.joint_names[0])
    assert model.joint_names[0] not in locked.joint and list(locked.joint) == locked.joint_names


def test_a_part_of_a_name_finds_it():
    names = ["left_arm_elbow_flexion_joint", "left_arm_wrist", "LEFT_ELBOW_JOINT_OF_THE_ARM"]
    with pytest.raises(KeyError, match="did you mean 'LEFT_ELBOW_JOINT_OF_THE_ARM', 'left_arm_elbow_flexion_joint'"):
        ByName("joint", dict.fromkeys(names))("elbow")
    with pytest.raises(KeyError, match="known: left_arm"):
        ByName("joint", dict.fromkeys(names))("zzz")


# --- who waits -----------------------------------------------------------------------------------------


@pytest.fixture
def slow_compiler(monkeypatch, tmp_path):
    """All kernels take long, by the estimate, and none is in the cache."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(notice, "_said", set())
    monkeypatch.setattr(notice, "PER_OPERATION", 1.0)


def test_a_long_compilation_is_told_once_before_it_begins(slow_compiler, model, caplog):
    robot = rbd.Robot(model)
    robot.gravity(model.neutral())
    robot.mass_matrix(model.neutral())
    (record,) = (record for record in caplog.records if "compiling" in record.message)
    assert record.name == "rbd_dynamics" and record.levelno == logging.WARNING
    assert record.message.startswith("compiling gravity: about ") and "rbd_dynamics compile" in record.message


def test_nothing_is_told_of_what_is_quick_or_in_the_cache(slow_compiler, model, caplog, monkeypatch):
    monkeypatch.setattr(notice, "PER_OPERATION", 1e-9)
    rbd.Robot(model).gravity(model.neutral())
    monkeypatch.setattr(notice, "PER_OPERATION", 1.0)
    rbd.Robot(model).gravity(model.neutral())
    assert not caplog.records


def test_nothing_is_told_to_those_who_watch_the_progress(slow_compiler, model, caplog):
    rbd.Robot(model).compile("gravity", progress=lambda *_: None)
    assert not caplog.records
    notice.turn_off()
    rbd.Robot(model).mass_matrix(model.neutral())
    assert not caplog.records


def test_the_estimate_grows_as_the_code_does():
    """Long programs are compiled in parts. Measured: 0.2 s for 1,300 operations, 4 for 42,000, 10 for 128,000."""
    assert 0.05 < notice.estimate(1_300) < 1.0
    assert 2.0 < notice.estimate(42_000) < 8.0
    assert 5.0 < notice.estimate(128_000) < 20.0
