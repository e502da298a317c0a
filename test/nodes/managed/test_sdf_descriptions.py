# SPDX-License-Identifier: Apache-2.0
"""A robot that is described as SDF, alone in the file or one of several."""

from __future__ import annotations

import json

import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics import load

pytestmark = needs_ros
LINK = "<link name='{}'><inertial><pose>0 0 {}</pose><mass>2</mass></inertial></link>"
JOINT = (
    "<joint name='hinge' type='revolute'><parent>base</parent><child>arm</child><axis><xyz>0 1 0</xyz></axis></joint>"
)
MODEL = "<model name='{}'>" + LINK.format("base", "0 0 0 0") + LINK.format("arm", "{} 0 0 0") + JOINT + "</model>"
WORLD = "<?xml version='1.0'?><sdf version='1.9'><world name='w'>{}{}{}</world></sdf>".format(
    "<gravity>0 0 -1.6</gravity>", MODEL.format("a", 0.3), MODEL.format("b", 0.6)
)


def read(text, warned=None, **parameters):
    from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters
    from rbd_dynamics.nodes.managed.description_text import read_model

    return read_model(text, FeedforwardParameters(**parameters), ([] if warned is None else warned).append)


def test_the_parameter_model_names_one_of_several():
    warned: list[str] = []
    assert read(WORLD, warned, model="b") == load(WORLD, model="b", base="fixed", gravity=(0.0, 0.0, -9.81))
    assert any("gravity is [0.0, 0.0, -9.81] m/s^2" in each for each in warned)
    warned.clear()
    assert read(WORLD, warned, model="b", gravity=(0.0, 0.0, -1.6)) == load(WORLD, model="b", base="fixed")
    assert not any("gravity" in each for each in warned)
    for model, reason in (("", "expected one: a, b"), ("c", "no model 'c'; there are: a, b")):
        with pytest.raises(ValueError, match=reason):
            read(WORLD, model=model)
    with pytest.raises(ValueError, match="`model` is for SDF"):
        read(ARM, model="b")


def test_a_file_in_sdf_may_stand_for_the_robot(tmp_path):
    from rbd_dynamics.nodes.process.own_arguments import OwnArguments

    path = tmp_path / "world.sdf"
    path.write_text(WORLD)
    *_, rule = OwnArguments(["feedforward", "--urdf", str(path)]).for_ros({"robot_description"})
    assert json.loads(rule.partition(":=")[2]) == WORLD
