# SPDX-License-Identifier: Apache-2.0
"""Where one force may have touched a robot, against forces that did."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics import ModelBuilder, Robot, load_urdf
from rbd_dynamics.model.joints import Revolute, Spherical
from rbd_dynamics.replay.torques.contact_place import contact_place

LINK = (
    "<link name='{}'><inertial><mass value='1'/>"
    "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
)
JOINT = (
    "<joint name='{0}' type='continuous'><parent link='{1}'/><child link='{2}'/>"
    "<origin xyz='0.3 0.1 0.2' rpy='0.3 0.2 1'/><axis xyz='{3}'/>{4}</joint>"
)


def tree():
    """A trunk of two joints, and arms of two joints each; the left hand's finger follows the left elbow."""
    links = ["trunk", "chest", "left", "left_hand", "right", "right_hand", "finger"]
    joints = [
        ("j1", "base", "trunk", "0 0 1", ""), ("j2", "trunk", "chest", "0 1 0", ""),
        ("l1", "chest", "left", "1 0 0", ""), ("l2", "left", "left_hand", "0 1 0", ""),
        ("r1", "chest", "right", "1 0 0", ""),
        ("r2", "right", "right_hand", "0 1 0", ""),
        ("f", "right", "finger", "0 0 1", "<mimic joint='l2' multiplier='0.5'/>"),
    ]  # fmt: skip
    inner = "".join(LINK.format(name) for name in links) + "".join(JOINT.format(*joint) for joint in joints)
    return load_urdf(f"<robot name='two_arms'><link name='base'/>{inner}</robot>")


def test_the_last_joint_tells_the_nearest_link():
    model = tree()
    place = contact_place(model, ["j1", "j2"])
    assert place.nearest == ("chest",)
    assert set(place.beyond) == {"left", "left_hand", "right", "right_hand", "finger"}
    assert contact_place(model, ["j2"]) == place
    assert contact_place(model, ["r2", "j1"]).nearest == ("right_hand",) and not contact_place(model, ["r2"]).beyond


def test_two_arms_at_once_are_no_single_force():
    place = contact_place(tree(), ["l1", "r1"])
    assert place.nearest == () and place.beyond == ()


def test_a_joint_may_be_turned_by_what_it_drives():
    assert contact_place(tree(), ["l2"]).nearest == ("left_hand", "finger")
    assert contact_place(tree(), ["l2", "r1"]).nearest == ("finger",)


def test_a_name_that_is_none_is_an_error():
    with pytest.raises(KeyError, match="no joint named 'elbow'"):
        contact_place(tree(), ["elbow"])


@pytest.mark.parametrize("seed", range(8))
def test_the_link_that_was_pushed_is_always_among_them(seed):
    """Whatever joints the force shows in."""
    model, rng = tree(), np.random.default_rng(seed)
    robot = Robot(model, backend="reference")
    q = model.random(rng)
    for body in model.bodies:
        torque = robot.jacobian(q, body.name).T @ rng.normal(size=6)
        felt = [name for name, value in zip(model.joint_names, torque) if abs(value) > 0.3]
        if felt:
            place = contact_place(model, felt)
            assert body.name in (*place.nearest, *place.beyond)
            assert len(place.nearest) <= 2


def test_degrees_of_freedom_of_one_joint():
    """The residual names them ball[0] to ball[2]."""
    builder = ModelBuilder("ball")
    builder.add_body("cup", None, Spherical(), joint_name="ball", mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
    builder.add_body("rod", "cup", Revolute((0, 1, 0)), joint_name="hinge", mass=1.0, com=(0, 0, 0.3))
    model = builder.build()
    assert contact_place(model, ["ball[1]"]) == contact_place(model, ["ball[0]", "ball[2]"])
    assert contact_place(model, ["ball[1]"]).nearest == ("cup",) and contact_place(model, ["ball[1]"]).beyond == (
        "rod",
    )
    assert contact_place(model, ["ball[1]", "hinge"]).nearest == ("rod",)
