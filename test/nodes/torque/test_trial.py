# SPDX-License-Identifier: Apache-2.0
"""Whether a robot can be held is asked until it can: a second request does not slip past the first refusal."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.nodes.ros_nodes import in_this_process, needs_ros

pytestmark = needs_ros


def test_a_refusal_to_begin_stays_until_the_robot_can_be_held(ros):
    from helpers.models.arms import ARM

    from rbd_dynamics.nodes.feedforward import FeedforwardNode
    from rbd_dynamics.nodes.managed.diagnostics import Status

    with in_this_process(ros, FeedforwardNode, {"robot_description": ARM, "effort_limits": [5.0, 40.0, 30.0]}) as node:
        engine, trial = node.engine, node.trial
        assert trial.pending
        for _ in range(2):
            with pytest.raises(ValueError, match="joint 'shoulder' would need"):
                node.take_over(engine, np.zeros(3), np.zeros(3))
            assert trial.pending
            status = Status()
            trial.report(status)
            assert any("not begun: joint 'shoulder' would need" in message for message in status.messages)
        engine.reader.q[0] = -1.5  # upright
        node.take_over(engine, np.zeros(3), np.zeros(3))
        assert not trial.pending
        status = Status()
        trial.report(status)
        assert not status.messages


def test_stiffness_per_inertia_is_judged_at_the_rate_of_the_states_too(ros):
    """By M^-1 K, which has it in every direction of the tool: stable at 1 kHz and not at 100 Hz."""
    from helpers.models.robots import robot_file

    from rbd_dynamics.control.safety.closed_loop import Timing, instability
    from rbd_dynamics.nodes.cartesian_controller import CartesianControllerNode

    parameters = {
        "robot_description": robot_file("ur5_robot").read_text(), "tool_frame": "tool0", "law": "operational_space",
        "stiffness": [900.0], "rotational_stiffness": [900.0],
    }  # fmt: skip
    with in_this_process(ros, CartesianControllerNode, parameters) as node:
        robot, node.engine.reader.q[:] = node.engine.robot, [0.0, -1.2, 1.3, -0.5, 0.8, 0.0]
        M, found = robot.mass_matrix(node.engine.reader.q), node.feedback(node.engine, robot)
        moves = np.sort(np.linalg.eigvals(np.linalg.solve(M, found.stiffness)).real)
        assert 0.5 * 900.0 < moves[0] and moves[-1] == pytest.approx(900.0, rel=0.05)
        for period, stable in ((0.001, True), (0.02, False)):
            timing = Timing(period, period + found.delay, found.bandwidth)
            assert (instability(M, found.stiffness, found.damping, timing) is None) == stable
