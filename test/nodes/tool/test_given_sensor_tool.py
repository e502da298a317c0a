# SPDX-License-Identifier: Apache-2.0
"""A tool on the sensor of `hybrid_controller` that a parameter gives: taken off its readings from the start."""

from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.nodes.pressing_rig import PARAMETERS, start
from helpers.nodes.ros_nodes import change, in_this_process, joint_state, needs_ros, wait_until
from rigs import pressing

from rbd_dynamics import load

pytestmark = [*needs_ros, pytest.mark.skipif("panda" not in pressing.robots(), reason="needs example-robot-data")]
MASS, CENTER, BIAS = 0.9, np.array([0.01, -0.02, 0.05]), np.array([0.1, -0.2, 0.05, 3.0, -2.0, 1.0])
GIVEN = [MASS, *CENTER.tolist(), *BIAS.tolist()]


@pytest.fixture
def node(ros):
    from rbd_dynamics.nodes.hybrid_controller import HybridControllerNode

    given = PARAMETERS | {"use_sim_time": False, "sensor_tool": GIVEN}
    with in_this_process(ros, HybridControllerNode, given) as node:
        yield node


def weight(node, q):
    """(m, f) of the tool."""
    force = MASS * node.engine.robot.pose(q, pressing.TOOL)[:3, :3].T @ [0.0, 0.0, -9.81]
    return np.concatenate([np.cross(CENTER, force), force])


def feels(node, q, extra):
    """Another reading, as messages bring it; the node's (m, f) without tool and bias."""
    from geometry_msgs.msg import WrenchStamped
    from rclpy.serialization import serialize_message

    numbers = weight(node, q) + BIAS + extra
    message = WrenchStamped()
    message.header.frame_id = pressing.TOOL
    message.header.stamp = node.get_clock().now().to_msg()
    torque, force = message.wrench.torque, message.wrench.force
    torque.x, torque.y, torque.z, force.x, force.y, force.z = numbers.tolist()
    node.wrench._on_wrench(message)
    joints = node.engine.reader.names
    node.on_joint_state(serialize_message(joint_state(joints, q, np.zeros(len(joints)), stamp=time.time_ns())))
    return node.wrench.reading


def test_a_given_tool_is_taken_off_at_every_orientation_until_it_is_forgotten(node):
    pushed, first = np.array([0.2, 0.1, -0.3, 1.0, -2.0, 4.0]), start(0.05)
    for turn in ([0.0] * 7, [0, 0, 0, 0, 1.2, 0.6, 0], [0, 0, 0, 0, -1.2, 0.9, 0]):
        np.testing.assert_allclose(feels(node, first + turn, pushed), pushed, atol=1e-9)
    assert str(node.wrench.carried.tool).startswith("mass 0.9 kg")
    change(node, wrench_of_robot=True)  # the sensor is another one
    assert node.wrench.carried.tool is None and not node.wrench.carried.begun
    change(node, wrench_of_robot=False)
    np.testing.assert_allclose(
        feels(node, first, pushed)[3:] - pushed[3:], weight(node, first)[3:] + BIAS[3:], atol=1e-9
    )
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.trigger_configure()
    wait_until(lambda: node.poll() or node.engine is not None, "a robot")
    node.trigger_activate()
    np.testing.assert_allclose(feels(node, first, pushed), pushed, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "reason"), [(GIVEN[:9], "10 finite numbers, not 9"), ([-1.0, *GIVEN[1:]], "below zero")]
)
def test_what_is_no_tool_is_refused_by_the_parameters_name(given, reason):
    from rbd_dynamics.nodes.interface.hybrid_controller import HybridControllerParameters
    from rbd_dynamics.nodes.tool.hybrid_engine import build_engine

    params = HybridControllerParameters(tool_frame=pressing.TOOL, sensor_tool=tuple(given))
    with pytest.raises(ValueError, match=f"parameter sensor_tool: .*{reason}"):
        build_engine(load(pressing.robots()["panda"]), params, lambda *_: None)
