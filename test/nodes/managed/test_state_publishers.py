# SPDX-License-Identifier: Apache-2.0
"""Which nodes have published joint states, as far as they are known."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from helpers.nodes.ros_nodes import needs_ros

pytestmark = needs_ros


def test_a_publisher_whose_node_is_not_discovered_yet_is_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the robot's driver under the name that rcl gives it for a moment."""
    from rbd_dynamics.nodes.managed import state_publishers

    seen = ["_NODE_NAMESPACE_UNKNOWN_/_NODE_NAME_UNKNOWN_"]
    monkeypatch.setattr(state_publishers, "publishers_of", lambda node, topic: seen)
    publishers = state_publishers.StatePublishers(SimpleNamespace(active=True))  # type: ignore[arg-type]
    assert not publishers.since_activation()
    seen = ["/driver"]
    assert not publishers.since_activation()
    seen = ["/driver", "/joint_state_publisher"]
    assert publishers.since_activation() == "/driver, /joint_state_publisher"
