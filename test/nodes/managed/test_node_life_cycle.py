# SPDX-License-Identifier: Apache-2.0
"""The life cycle over its services: every request gets its answer, in any order, also while a robot is being built."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import Conversation, joint_state, needs_ros, wait_until

pytestmark = needs_ros
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4
ALLOWED = {
    "unconfigured": {CONFIGURE: "inactive"},
    "inactive": {CLEANUP: "unconfigured", ACTIVATE: "active"},
    "active": {DEACTIVATE: "inactive"},
}
HEAVIER = ARM.replace('value="2.0"', 'value="2.5"')


class LifeCycle(Conversation):
    """A node's state, and requests to change it."""

    def __init__(self, ros, node):
        from lifecycle_msgs.srv import ChangeState, GetState

        node.is_there()
        super().__init__(ros, node)
        self.request = ChangeState.Request
        self.call = ros.client(ChangeState, f"{node.name}/change_state")
        self.get = ros.client(GetState, f"{node.name}/get_state")

    def change(self, transition=0, label=""):
        request = self.request()
        request.transition.id, request.transition.label = transition, label
        return self.call(request).success

    @property
    def state(self):
        return self.get().current_state.label

    def reported(self):
        """What the newest diagnostics say."""
        del self.reports[:]
        wait_until(lambda: any(self.node.name in s.name for r in self.reports for s in r.status), "diagnostics")
        status = next(s for r in reversed(self.reports) for s in r.status if self.node.name in s.name)
        return {value.key: value.value for value in status.values}["state"]


def test_what_goes_wrong_in_a_transition_is_kept_until_one_succeeds():
    from rclpy.lifecycle import TransitionCallbackReturn as Result

    from rbd_dynamics.nodes.managed.description_text import BuildError
    from rbd_dynamics.nodes.managed.managed_node import ManagedNode

    class Node:
        said: list[str] = []
        _failed = ""

        def get_logger(self):
            return self

        def error(self, text):
            self.said.append(text)

    def wrong(error):
        def action():
            raise error

        return action

    node = Node()
    assert ManagedNode._guarded(node, "configure", wrong(BuildError("no joints"))) == Result.FAILURE
    assert node._failed == "cannot configure: no joints" and node.said == [node._failed]
    assert ManagedNode._guarded(node, "recover", lambda: None) == Result.SUCCESS
    assert node._failed == "cannot configure: no joints"
    assert ManagedNode._guarded(node, "clean up", wrong(KeyError("elbow")), Result.ERROR) == Result.ERROR
    assert node._failed == "cannot clean up: internal error: KeyError: elbow" and "Traceback" in node.said[-1]
    assert ManagedNode._guarded(node, "activate", wrong(BuildError("late")), Result.ERROR) == Result.ERROR
    assert ManagedNode._guarded(node, "configure", wrong(ZeroDivisionError("x"))) == Result.FAILURE
    assert ManagedNode._guarded(node, "activate", lambda: None) == Result.SUCCESS and node._failed == ""


def test_transition_that_is_not_allowed_gets_its_answer(ros):
    """Nor are those for which a robot is missing: what is active is ready."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    with ros.start("feedforward", {"autostart": False, "description_timeout": 0.5}, name="refusing") as node:
        talk = LifeCycle(ros, node)
        for transition in (ACTIVATE, DEACTIVATE, CLEANUP, 0, 6, 7, 8, 10, 99, 255):
            assert not talk.change(transition), transition
        for label in ("activate", "magic", "x" * 10_000):
            assert not talk.change(label=label), label
        assert talk.state == talk.reported() == "unconfigured"
        assert not talk.change(label="configure")
        talk.diagnosed("cannot configure: no robot_description on topic /robot_description within 0.5 s")
        ros.set_parameters("refusing", description_timeout=0.0)
        assert talk.change(CONFIGURE) and not talk.change(ACTIVATE)  # it would not be ready
        talk.diagnosed("cannot activate: no robot_description yet")
        ros.set_parameters("refusing", description_timeout=60.0)
        assert talk.change(CLEANUP)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        texts = ros.node.create_publisher(String, "robot_description", latched)
        texts.publish(String(data=ARM))
        assert talk.change(label="configure") and not talk.change(CONFIGURE) and talk.state == "inactive"
        assert talk.change(6)  # shut down
        assert talk.state == talk.reported() == "finalized"
        assert not any(talk.change(transition) for transition in range(9))
        assert "Traceback" not in node.log
        ros.destroy(lambda: ros.node.destroy_publisher(texts))


@pytest.mark.parametrize("executable", ["feedforward", "dynamics_server", "simulator", "monitor"])
def test_transitions_in_any_order_leave_a_consistent_node(ros, executable):
    """A walk at random, with descriptions that come meanwhile; what is allowed succeeds, and nothing else."""
    rng = np.random.default_rng(10)
    with ros.start(executable, {"autostart": False, "robot_description": ARM}, name=f"walking_{executable}") as node:
        talk, state = LifeCycle(ros, node), "unconfigured"
        for k in range(60):
            if k % 5 == 0:
                ros.set_parameters(node.name, robot_description=str(rng.choice([ARM, HEAVIER, "<robot"])))
            transition = int(rng.integers(1, 5))
            expected = ALLOWED[state].get(transition)
            assert talk.change(transition) == (expected is not None), (k, state, transition)
            state = expected or state
            if k % 10 == 0:
                assert talk.state == state
        assert talk.state == talk.reported() == state
        assert "Traceback" not in node.log and "internal error" not in node.log


def test_requests_of_several_clients_at_once_are_all_answered(ros):
    from lifecycle_msgs.srv import ChangeState
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    with ros.start("feedforward", {"robot_description": ARM}, name="crowded") as node:
        node.is_active()
        talk = LifeCycle(ros, node)
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        stop, answers = threading.Event(), []

        def measure():
            while not stop.wait(0.002):
                states.publish(joint_state(JOINTS, [0.1] * 3, [0.0] * 3))

        def change(seed):  # each waits for its answer: of more than ten at once the middleware drops some
            call, rng = ros.client(ChangeState, "crowded/change_state"), np.random.default_rng(seed)
            for _ in range(20):
                request = ChangeState.Request()
                request.transition.id = int(rng.integers(0, 5))
                answers.append(call(request))

        measuring, clients = (
            threading.Thread(target=measure),
            [threading.Thread(target=change, args=(k,)) for k in range(3)],
        )
        for thread in (measuring, *clients):
            thread.start()
        try:
            for text in (HEAVIER, ARM, HEAVIER):
                ros.set_parameters("crowded", robot_description=text)
            for thread in clients:
                thread.join()
        finally:
            stop.set()
            measuring.join()
        assert len(answers) == 60
        found = talk.state
        assert found == talk.reported() and found in ALLOWED
        for state, transition in (("unconfigured", CONFIGURE), ("inactive", ACTIVATE)):
            if talk.state == state:
                assert talk.change(transition)
        efforts = ros.collect(JointState, "crowded/effort")
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        message = joint_state(JOINTS, [0.1] * 3, [0.0] * 3)
        wait_until(lambda: states.publish(message) or time.sleep(0.05) or efforts, "an effort")
        assert "Traceback" not in node.log
