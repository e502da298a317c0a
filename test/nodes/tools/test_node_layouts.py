# SPDX-License-Identifier: Apache-2.0
"""What `rbd_dynamics layouts` writes is about topics and states that a running node has."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import needs_ros, wait_until

from rbd_dynamics.cli import main

pytestmark = needs_ros


@pytest.mark.parametrize("kind", ["feedforward", "monitor"])
def test_a_running_node_has_these_topics_and_this_state(ros, tmp_path, kind):
    from diagnostic_msgs.msg import DiagnosticArray

    (tmp_path / "arm.urdf").write_text(ARM)
    assert main(["layouts", str(tmp_path / "arm.urdf"), "--nodes", f"mine={kind}", "-o", str(tmp_path)]) == 0
    root = ET.fromstring((tmp_path / "plotjuggler.xml").read_text())
    selected = set(root.find("Plugins/plugin/selected_topics").get("value").split(";"))
    wanted = {curve.get("name") for curve in root.iter("curve") if curve.get("name").startswith("/diagnostics/")}
    with ros.start(kind, {"robot_description": ARM}, name="mine"):
        told = ros.collect(DiagnosticArray, "/diagnostics", 100)
        wait_until(lambda: selected <= {name for name, _ in ros.node.get_topic_names_and_types()}, "the topics")

        def states():
            return {f"/diagnostics/{s.hardware_id}/{s.name}/level" for message in list(told) for s in message.status}

        wait_until(lambda: wanted <= states(), f"{wanted}; there are {states()}")
