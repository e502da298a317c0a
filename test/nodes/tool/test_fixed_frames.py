# SPDX-License-Identifier: Apache-2.0
"""Wrenches of a sensor that reports in another frame of the tool; the oracle is Pinocchio's action on forces."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from helpers.models.arms import ARM

from rbd_dynamics.model.urdf import load_urdf

FIXED = """
  <link name="sensor"/><joint name="mount" type="fixed"><parent link="hand"/><child link="sensor"/>
    <origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/></joint>
  <link name="tip"/><joint name="flange" type="fixed"><parent link="hand"/><child link="tip"/>
    <origin xyz="-0.05 0.02 0.1" rpy="3.1 0 -1.2"/></joint></robot>"""


@pytest.mark.ros
def test_a_wrench_in_a_frame_of_the_tool_is_moved_and_in_another_refused():
    pytest.importorskip("rclpy")
    from rbd_dynamics.nodes.tool.fixed_frames import FixedFrames

    text = ARM.replace("</robot>", FIXED)
    model, oracle = load_urdf(text), pinocchio.buildModelFromXML(text)
    frames = FixedFrames(model, "tip")
    placed = {name: oracle.frames[oracle.getFrameId(name)].placement for name in ("sensor", "tip")}
    rng = np.random.default_rng(3)
    for _ in range(3):
        wrench = rng.normal(size=6)
        force = pinocchio.Force(wrench[3:], wrench[:3])  # (f, m)
        moved = placed["tip"].actInv(placed["sensor"].act(force))
        found = frames.moved("sensor", wrench)
        np.testing.assert_allclose(found, [*moved.angular, *moved.linear], rtol=1e-12, atol=1e-14)
    with pytest.raises(KeyError, match="it moves against 'tip'"):
        frames.moved("base", wrench)
    with pytest.raises(KeyError, match="tool0_controller"):
        frames.moved("tool0_controller", wrench)
