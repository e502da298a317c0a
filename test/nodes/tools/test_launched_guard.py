# SPDX-License-Identifier: Apache-2.0
"""What the launch file of a torque node hands its guard, by the stand-in of `ros2 launch`."""

from __future__ import annotations

import importlib.util
import sys
from unittest import mock

import pytest
import yaml
from helpers.nodes.ros_nodes import needs_ros
from helpers.paths import ROOT

import rbd_dynamics.nodes.tools

pytestmark = needs_ros


@pytest.mark.parametrize("own", [{}, {"/**/guard": {"silence_duration": 3.0}}])
def test_the_guard_gets_the_file_only_with_entries_for_it_and_the_parameters_of_both_in_any_case(own, tmp_path):
    """Else it would say that the file has nothing for it."""
    sections = {"/**/feedforward": {"joints": ["elbow"], "kp": [10.0], "terms": ["inertia"]}, **own}
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({name: {"ros__parameters": values} for name, values in sections.items()}))
    spec = importlib.util.spec_from_file_location("stand_in_of_ros2", ROOT / "test" / "stand_ins" / "ros2.py")
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    name = "rbd_dynamics.nodes.tools.launching"
    with mock.patch.dict(sys.modules), mock.patch.object(rbd_dynamics.nodes.tools, "launching", None, create=True):
        sys.modules.pop(name, None)  # it is made of launch and launch_ros, whose place the stand-in takes
        commands = stand_in.launched(
            ROOT / "launch" / "feedforward.launch.py", {"guard": "true", "params_file": str(file)}
        )
    _, guard = commands
    files = [open(path).read() for option, path in zip(guard, guard[1:]) if option == "--params-file"]
    given = [yaml.safe_load(text) for text in files]
    assert {"joints": ["elbow"], "terms": ["inertia"]}.items() <= given[0]["/**"]["ros__parameters"].items()
    assert [set(each) for each in given[1:]] == ([set(sections)] if own else [])
