# SPDX-License-Identifier: Apache-2.0
"""Queues have no more places than their use needs: the middleware keeps the size of the largest message for each."""

from __future__ import annotations

import importlib

import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics.nodes.interface import INTERFACES

pytestmark = needs_ros

#: places for what others send; what is not named here has those of a wish
PLACES = {
    "joint_states": 25, "monitor/joint_states": 100, "dynamics_server/joint_states": 10, "wrench": 10,
    "unguarded_commands": 10, "continued_effort": 10, "robot_description": 1, "clock": 1, "set_points": 1,
}  # fmt: skip
RECORDED = {"effort", "joint_states", "residual", "external_torque", "external_wrench", "task_state"}
WISH, REQUESTS, SMALL_REQUESTS, ACTION = 4, 64, 1000, 10
#: requests without a text or a list
SMALL = {
    "resume", "engage", "tare", "reset", "pause", "step", "hand_over", "accept_description", "calibrate_sensor",
    "forget_calibration",
}  # fmt: skip
#: of an action: its goals, and what is asked about them
GOALS, ABOUT_GOALS = {"send_goal": 2}, {"cancel_goal": 10, "get_result": 10}
#: what rclpy makes by itself
OWN_SERVICES = {
    "describe_parameters", "get_parameter_types", "get_parameters", "list_parameters", "set_parameters",
    "set_parameters_atomically", "change_state", "get_state", "get_available_states", "get_available_transitions",
    "get_transition_graph", "get_type_description",
}  # fmt: skip
OWN_TOPICS = {"parameter_events", "rosout"}


@pytest.fixture(scope="module", params=[each.executable for each in INTERFACES])
def node(request, ros):
    """A node of the kind, configured, in this process: rclpy tells nobody else how long queues are."""
    from rclpy.parameter import Parameter

    from rbd_dynamics.nodes.managed.managed_node import ManagedNode

    module = importlib.import_module(f"rbd_dynamics.nodes.{request.param}")
    (kind,) = (
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, ManagedNode) and each.__module__ == module.__name__
    )
    given = {"robot_description": ARM}
    if request.param == "hybrid_controller":
        given |= {"tool_frame": "hand", "controlled": ["x", "rx"]}
    if request.param == "cartesian_controller":
        given |= {"tool_frame": "hand"}
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = kind(context=ros.context, parameter_overrides=overrides)
    try:
        node.trigger_configure()
        assert node.configured
        yield node
    finally:
        node.finish()
        node.trigger_cleanup()
        node.destroy_node()


def everything(node, kind):
    """Also what is taken in threads beside the executor."""
    from rclpy.node import Node

    return list(getattr(Node, kind).fget(node))


def test_no_subscription_has_more_places_than_its_use_needs(node):
    executable = node.get_name()
    found = {}
    for subscription in everything(node, "subscriptions"):
        name = subscription.topic_name.rpartition("/")[2]
        if name not in OWN_TOPICS:
            found[name] = subscription.qos_profile.depth
    assert found
    expected = {name: PLACES.get(f"{executable}/{name}", PLACES.get(name, WISH)) for name in found}
    assert found == expected


def test_no_service_has_more_places_than_its_use_needs(node):
    for service in everything(node, "services"):
        name = service.srv_name.rpartition("/")[2]
        if name not in OWN_SERVICES:
            expected = (GOALS | ABOUT_GOALS).get(name, SMALL_REQUESTS if name in SMALL else REQUESTS)
            assert service.qos_profile.depth == expected, name


def test_no_publisher_keeps_more_than_a_recorder_may_miss(node):
    for publisher in node.publishers:
        name = publisher.topic_name.rpartition("/")[2]
        if name not in OWN_TOPICS:
            most = 1000 if name in RECORDED else 10
            assert publisher.qos_profile.depth <= most, name
