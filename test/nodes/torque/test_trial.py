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
