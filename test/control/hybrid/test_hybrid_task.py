# SPDX-License-Identifier: Apache-2.0
"""A tool against a surface, as numbers: which rows are held, which are moved, and where they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.models.arms import FLOATING_ARM
from scipy.spatial.transform import Rotation

from rbd_dynamics.constraints import Cylinder, Plane, Sphere
from rbd_dynamics.control import HybridTask
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import exp_so3

PRESSING = HybridTask("hand", controlled=("rx", "ry", "x"))


@pytest.fixture(scope="module")
def robot():
    return Robot(load_urdf(FLOATING_ARM, base="floating"))


def test_directions_are_held_besides_the_surface_or_moved(robot):
    held, moved = replace(PRESSING, constrained=("y", "rz")).sets(robot.model)
    assert held.row_names == ("surface.normal", "held.rz", "held.y")
    assert moved.row_names == ("tool.rx", "tool.ry", "tool.x")
    held, _ = PRESSING.sets(robot.model)
    assert held.row_names == ("surface.normal",)
    held, _ = replace(PRESSING, surface="none", constrained=("z",)).sets(robot.model)
    assert held.row_names == ("held.z",)


@pytest.mark.parametrize(
    ("name", "surface"), [("plane", Plane()), ("sphere", Sphere(0.3)), ("cylinder", Cylinder(0.3))]
)
def test_surface_is_the_one_that_is_named(robot, name, surface):
    held, _ = replace(PRESSING, surface=name, surface_radius=0.3).sets(robot.model)
    assert held["surface"].surface == surface


def test_rows_are_those_of_the_placements(robot):
    """Height of a point of the tool above a plane of a link, by poses; and the tool's own position there."""
    task = HybridTask(
        "hand", tool_position=(0.1, -0.2, 0.3), tool_orientation=(0.0, 0.4, 0.0), reference="upper",
        task_position=(0.5, 0.6, -0.7), task_orientation=(0.3, 0.0, 0.0), contact_offset=0.05,
        controlled=("x", "y"), constrained=("z",),
    )  # fmt: skip
    q = robot.model.random(3)
    point = (robot.pose(q, "hand") @ [0.1, -0.2, 0.3, 1.0])[:3]
    link = robot.pose(q, "upper")
    R = link[:3, :3] @ exp_so3([0.3, 0.0, 0.0])
    inside = R.T @ (point - (link @ [0.5, 0.6, -0.7, 1.0])[:3])
    held, moved = task.sets(robot.model)
    at_rest = np.zeros(robot.model.nv)
    np.testing.assert_allclose(robot.constraint_rows(q, at_rest, held).h, [inside[2] - 0.05, inside[2]], atol=1e-12)
    np.testing.assert_allclose(robot.constraint_rows(q, at_rest, moved).h, inside[:2], atol=1e-12)


def test_a_frame_that_is_not_moved_keeps_its_place_for_another(robot):
    """Sets with and without placements have the same structure: a controller may move from one to the other."""
    here, _ = PRESSING.sets(robot.model)
    for other in ({"task_position": (1.0, 2.0, 3.0)}, {"tool_orientation": (0.1, 0.2, 0.3)}):
        assert replace(PRESSING, **other).sets(robot.model)[0].key == here.key
    q, at_rest = robot.model.random(1), np.zeros(robot.model.nv)
    height = robot.pose(q, "hand")[2, 3]
    np.testing.assert_allclose(robot.constraint_rows(q, at_rest, here).h, [height], rtol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"surface": "cone"}, "surface is 'cone', expected one of"),
        ({"constrained": ("x",)}, "direction 'x' is both constrained and controlled"),
        ({"surface": "none"}, "nothing is constrained"),
        ({"controlled": ()}, "nothing is controlled"),
        ({"tool_position": (0.0, 0.0)}, "tool_position and tool_orientation must have 3 numbers"),
        ({"tool_orientation": (0.0,) * 4}, "tool_position and tool_orientation must have 3 numbers"),
        ({"task_position": ()}, "task_position and task_orientation must have 3 numbers"),
        ({"controlled": ("up",)}, "'tool': directions"),
        ({"surface": "sphere", "surface_radius": 0.0}, "radius"),
    ],
)
def test_what_does_not_fit_together_is_refused(robot, wrong, reason):
    with pytest.raises(ValueError, match=reason):
        replace(PRESSING, **wrong).sets(robot.model)
    with pytest.raises(KeyError, match="no frame named 'finger'"):
        replace(PRESSING, tool_frame="finger").sets(robot.model)


@pytest.mark.parametrize("directions", [("rx", "ry", "rz"), ("rz",), ("rx", "rz")])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 0.3, 0.62, 0.64, 1.0, 2.5, 3.1])
def test_rotations_that_are_commanded_are_angles(robot, directions, angle):
    """Components of the rotation vector, by scipy; rates and their drift by differences along a motion."""
    rng = np.random.default_rng(int(1e3 * angle) + len(directions))
    axis = {1: [0.0, 0.0, 1.0], 2: [0.6, 0.0, 0.8], 3: rng.normal(size=3)}[len(directions)]
    vector = angle * np.array(axis) / np.linalg.norm(axis)
    q = robot.model.random(1)
    v = rng.normal(size=robot.model.nv)
    turned = robot.pose(q, "hand")[:3, :3] @ Rotation.from_rotvec(vector).as_matrix().T
    roll, pitch, yaw = Rotation.from_matrix(turned).as_euler("xyz")
    task = HybridTask("hand", task_orientation=(roll, pitch, yaw), controlled=(*directions, "x"))
    _, moved = task.sets(robot.model)
    rows = robot.constraint_rows(q, v, moved)
    held = [("rx", "ry", "rz").index(d) for d in directions]
    np.testing.assert_allclose(rows.h[:-1], vector[held], atol=1e-9)

    def along(t):
        there = robot.constraint_rows(robot.model.integrate(q, t * v), v, moved)
        return there.h, there.A @ v

    step = 1e-5
    (h_back, rate_back), (h_on, rate_on) = along(-step), along(step)
    scale = 1.0 + np.abs(rows.A @ v).max() ** 2
    np.testing.assert_allclose(rows.A @ v, (h_on - h_back) / (2 * step), atol=1e-6 * scale)
    np.testing.assert_allclose(rows.Adot_v, (rate_on - rate_back) / (2 * step), atol=1e-4 * scale)
