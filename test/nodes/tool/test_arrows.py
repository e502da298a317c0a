# SPDX-License-Identifier: Apache-2.0
"""Arrows for viewers: the x axis of a pose along a direction, whichever it is."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros
from scipy.spatial.transform import Rotation

pytestmark = needs_ros


@pytest.mark.parametrize("direction", [(1, 0, 0), (-1, 0, 0), (0, 0, -1), (-0.6, 0, 0.8), (-1, 1e-7, 0), (1, 2, -3)])
def test_the_x_axis_is_along_it(direction):
    from rbd_dynamics.nodes.tool.tool_messages import arrow

    unit = np.array(direction, dtype=float) / np.linalg.norm(direction)
    message = arrow(np.array([0.1, 0.2, 0.3]), unit, "base", 3_000_000_007)
    q = message.pose.orientation
    numbers = np.array([q.x, q.y, q.z, q.w])
    assert np.linalg.norm(numbers) == pytest.approx(1.0)
    np.testing.assert_allclose(Rotation.from_quat(numbers).apply([1.0, 0.0, 0.0]), unit, atol=1e-9)
    assert (message.pose.position.x, message.pose.position.y, message.pose.position.z) == (0.1, 0.2, 0.3)
    assert (message.header.frame_id, message.header.stamp.sec, message.header.stamp.nanosec) == ("base", 3, 7)
