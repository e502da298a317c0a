# SPDX-License-Identifier: Apache-2.0
"""Where a frame can get to, against closed forms of arms whose workspace is known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.analysis.workspace import workspace
from rbd_dynamics.constraints import placement
from rbd_dynamics.joints import Floating, Prismatic, Revolute, Spherical
from rbd_dynamics.model import Limits, Mimic

UPPER, FORE = 0.5, 0.3  # m
EDGE = 1e-6  # m: nearer to the edge of a workspace a point may count as either
BASE = (0.2, -0.1, 0.4)


def arm(*links):
    """Of links one after the other: joint, where it is in the link before, and more."""
    builder, parent = rbd.ModelBuilder("arm"), None
    for k, (joint, at, more) in enumerate(links):
        builder.add_body(f"link{k}", parent, joint, placement=placement(at), mass=1.0, inertia=np.eye(3), **more)
        parent = f"link{k}"
    return rbd.Robot(builder.build())


def with_wrist(**first):
    """An upper arm and a forearm between a ball, a hinge and a ball: any orientation, anywhere in a hollow ball."""
    return arm(
        (Spherical(), BASE, first), (Revolute((0, 1, 0)), (UPPER, 0, 0), {}), (Spherical(), (FORE, 0, 0), {})
    )  # fmt: skip


def test_an_arm_with_balls_reaches_a_hollow_ball_in_every_orientation():
    found = workspace(with_wrist(), "link2", spacing=0.11)
    far = np.linalg.norm(found.points - BASE, axis=1)
    sure = np.minimum(np.abs(far - (UPPER + FORE)), np.abs(far - (UPPER - FORE))) > EDGE
    np.testing.assert_array_equal(found.share[sure], ((far < UPPER + FORE) & (far > UPPER - FORE))[sure])
    assert sure.sum() > 0.9 * len(found.points) and (far > UPPER - FORE).sum() < len(found.points)
    whole = 4.0 / 3.0 * np.pi * ((UPPER + FORE) ** 3 - (UPPER - FORE) ** 3)
    assert found.volume() == found.volume(share=0.9) == pytest.approx(whole, rel=0.05)


def test_a_flat_arm_reaches_a_ring_and_turns_in_its_plane_alone():
    hinge = Revolute((0, 0, 1))
    robot = arm((hinge, BASE, {}), (hinge, (UPPER, 0, 0), {}), (hinge, (FORE, 0, 0), {}))
    region = np.add(BASE, [[-0.9, -0.9, 0.0], [0.9, 0.9, 0.0]])
    found = workspace(robot, "link2", spacing=0.1, region=region)
    assert found.points.shape == (19 * 19, 3) and found.rotations.shape == (24, 3, 3)
    far = np.linalg.norm(found.points - BASE, axis=1)
    np.testing.assert_array_equal(found.share > 0.0, (far <= UPPER + FORE + EDGE) & (far >= UPPER - FORE - EDGE))
    level = np.abs(found.rotations[:, 2, 2] - 1.0) < 1e-12
    np.testing.assert_array_equal(found.reached.any(axis=0), level)
    assert level.sum() == 4
    poses = robot.pose(found.q, "link2")  # q brings it there
    off = np.abs(poses[..., :3, 3] - found.points[:, None]) + np.abs(poses[..., :3, :3] - found.rotations).max(axis=-1)
    assert off[found.reached].max() < 1e-5


def test_a_gantry_reaches_its_box_and_a_follower_reaches_as_far_as_its_leader_takes_it():
    def along(axis, lower, upper, **more):
        return Prismatic(axis), (0, 0, 0), {"limits": Limits(lower=lower, upper=upper), **more}

    twice = {"joint_name": "y2", "mimic": Mimic("y", multiplier=2.0, offset=0.1)}
    robot = arm(
        along((1, 0, 0), -0.35, 0.25), along((0, 1, 0), 0.0, 0.1, joint_name="y"),
        (Prismatic((0, 1, 0)), (0, 0, 0), twice), along((0, 0, 1), -0.15, 0.15),
    )  # fmt: skip
    found = workspace(robot, "link3", spacing=0.1, rotations=np.eye(3)[None], region=[[-1, -1, -1], [1, 1, 1]])
    low, high = np.array([-0.35, 0.1, -0.15]), np.array([0.25, 0.4, 0.15])  # y + 2 y + .1
    inside = ((found.points > low - EDGE) & (found.points < high + EDGE)).all(axis=1)
    np.testing.assert_array_equal(found.share, inside)
    assert found.volume() == pytest.approx(6 * 4 * 3 * 1e-3)
    with pytest.raises(ValueError, match="may shift the frame without limit"):
        workspace(robot, "link3", spacing=0.1, limits=False)
    by_itself = workspace(robot, "link3", spacing=0.1, rotations=np.eye(3)[None])
    assert by_itself.volume() > 0.0 and np.linalg.norm(by_itself.points, axis=1).max() <= 0.35 + 0.1 + 0.3 + 0.15


def test_threads_share_a_robot():
    robot = with_wrist()
    alone = workspace(robot, "link2", spacing=0.5)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: workspace(robot, "link2", spacing=0.5), range(8)))
    for each in found:
        np.testing.assert_array_equal(each.q, alone.q)


def test_joints_that_are_held_stay_and_what_begins_there_is_repeatable():
    robot = rbd.Robot(rbd.load("panda", joints=[f"panda_joint{k}" for k in range(1, 8)]))
    q0 = robot.model.start_position()
    q0[0] = 0.7
    options = {"spacing": 0.3, "rotations": [np.diag([1.0, -1.0, -1.0])], "q0": q0, "held": ["panda_joint1"]}
    found, again = (workspace(robot, "panda_hand_tcp", **options) for _ in range(2))
    np.testing.assert_array_equal(found.q, again.q)
    assert (found.q[..., 0] == 0.7).all()
    free = workspace(robot, "panda_hand_tcp", **options | {"held": ()})
    assert 0.0 < found.volume() < free.volume()
    q = free.q[free.reached]
    assert (q >= robot.model.lower).all() and (q <= robot.model.upper).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"spacing": 0.0}, "spacing 0.0 is not a positive length"),
        ({"spacing": 1e-4}, "poses, more than 1e"),
        ({"rotations": np.eye(3)}, r"expected \(K, 3, 3\), got \(3, 3\)"),
        ({"rotations": 2.0 * np.eye(3)[None]}, "not a homogeneous matrix"),
        ({"region": [[1, 0, 0], [0, 1, 1]]}, "expected least and largest coordinates"),
        ({"q0": np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], (2, 1))}, "expected one configuration"),
    ],
)
def test_what_is_no_grid_is_said(options, said):
    with pytest.raises(ValueError, match=said):
        workspace(with_wrist(), "link2", **options)
    with pytest.raises(TypeError, match="expected names of joints"):
        workspace(with_wrist(), "link2", held="link1_joint")


def test_what_has_no_bound_needs_a_region():
    builder = rbd.ModelBuilder("free")
    builder.add_body("base", None, Floating(), mass=1.0, inertia=np.eye(3))
    builder.add_body("hand", "base", Revolute((0, 0, 1)), mass=1.0, inertia=np.eye(3))
    robot = rbd.Robot(builder.build())
    with pytest.raises(ValueError, match="joint 'base_joint' may shift the frame without limit: give a region"):
        workspace(robot, "hand")
    assert workspace(robot, "hand", spacing=1.0, region=[[0, 0, 0], [1, 1, 1]]).reached.all()
    with pytest.raises(KeyError):
        workspace(robot, "no such frame")
