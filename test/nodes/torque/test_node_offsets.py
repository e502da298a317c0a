# SPDX-License-Identifier: Apache-2.0
"""Offsets that replay writes beside a corrected description, in the torques of node `feedforward`."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import needs_ros, wait_until
from helpers.nodes.torque_talk import Talk, in_lockstep

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.replay.results.export import Export
from rbd_dynamics.robot import Robot

pytestmark = needs_ros
OFFSETS = {"shoulder": 4.0, "slide": -2.5}
QUIET = {"robot_description": ARM, "state_timeout": 60.0, "plausible_velocity": 0.0}


def written(folder, offsets):
    """The file that a replay leaves."""
    file = folder / "offsets.yaml"
    file.write_text(Export(load_urdf(ARM), offsets, None, "", False).offsets_yaml())
    return str(file)


def test_offsets_that_replay_wrote_are_in_the_torques(ros, tmp_path):
    file = written(tmp_path, OFFSETS)
    with ros.start(
        "feedforward", {**QUIET, "effort_offsets_file": file, "effort_limits": [6.0]}, name="offset"
    ) as node:
        talk = Talk(ros, node)
        q, still = np.array([0.3, -0.4, 0.05]), np.zeros(3)

        def answered(q=q):
            return in_lockstep(talk.states, talk.message(q, still), talk.efforts, node)

        answered(np.array([-1.0, 0.0, 0.0]))  # where these limits can hold it
        gravity = Robot(load_urdf(ARM)).gravity(q)
        more = np.array([OFFSETS.get(name, 0.0) for name in JOINTS])
        # limits are those of the sum; limits that an offset is beyond are refused, with the joint's name
        results = ros.set_parameters(node.name, effort_limits=[3.0])
        assert "effort_offsets of joint 'shoulder' is 4, beyond its effort limit of 3" in str(results)
        np.testing.assert_allclose(answered(), np.clip(gravity + more, -6.0, 6.0), rtol=1e-9)
        (result,) = ros.set_parameters(node.name, effort_limits=[80.0])
        assert result.successful, result.reason
        wait_until(lambda: np.allclose(answered(), gravity + more, rtol=1e-9), "the whole sum")
        # a file that was damaged meanwhile counts with the next description, and is refused with it
        (tmp_path / "offsets.yaml").write_text("shoulder: [")
        heavier = ARM.replace('mass value="0.5"', 'mass value="0.6"')
        assert ros.set_parameters(node.name, robot_description=heavier)[0].successful
        talk.diagnosed("offsets.yaml is not well-formed YAML")
        np.testing.assert_allclose(answered(), gravity + more, rtol=1e-9)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "offsets.yaml cannot be read: No such file or directory"),
        ({"effort_offsets": {"elbw": 1.0}}, "effort_offsets: no joint named 'elbw'; did you mean 'elbow'"),
        ({"effort_offsets": {"elbow": "much"}}, "offset of joint 'elbow' must be a finite number, got 'much'"),
        ({"effort_offsets": {"elbow": 1e3}}, "effort_offsets of joint 'elbow' is 1000, beyond its effort limit of 40"),
    ],
)
def test_a_file_that_cannot_be_used_ends_the_start_with_one_line(ros, tmp_path, content, reason):
    file = tmp_path / "offsets.yaml"
    if content is not None:
        file.write_text(yaml.safe_dump(content))
    with ros.start("feedforward", {**QUIET, "effort_offsets_file": str(file)}, name="wrong") as node:
        node.says(reason)
