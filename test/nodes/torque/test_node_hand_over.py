# SPDX-License-Identifier: Apache-2.0
"""hybrid_controller and cartesian_controller take over from each other while the tool presses, in real processes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.nodes.ros_nodes import PATIENCE, joint_state, needs_ros, others_run

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
from helpers.nodes.pressing_rig import MS, PARAMETERS, Rig, start  # noqa: E402
from helpers.nodes.torque_talk import LOST  # noqa: E402

pytestmark = [
    *needs_ros,
    pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data"),
]
COMMON = ("robot_description", "locked_joints", "use_sim_time", "state_timeout", "plausible_velocity")
HYBRID, CARTESIAN = "hands_hybrid", "hands_cartesian"


class TwoRig(Rig):
    """Both nodes hear the states; whoever answers moves the robot, and of two the one that took over last."""

    nodes = 2

    def __init__(self, ros, node, other, plant, height):
        from sensor_msgs.msg import JointState
        from std_srvs.srv import Trigger

        super().__init__(ros, node, plant, height)
        self.other = other
        self.others = ros.collect(JointState, f"{other.name}/effort", 1000)
        self.others.wakes(self.efforts)
        self.commander = self.efforts
        self.hand_over = {name: ros.client(Trigger, f"{name}/hand_over") for name in (HYBRID, CARTESIAN)}

    def step(self):
        q, v = self.plant.state
        force = self.plant.normal_force
        self.forces.append(force)
        self.clock.tell(self.time)
        self.wrenches.publish(self.reading(force))
        state = joint_state(pressing.ARM, q, v, stamp=self.time)
        self.states.publish(state)
        begin, found = time.monotonic(), []

        def came():
            for efforts in (self.commander, self.others if self.commander is self.efforts else self.efforts):
                if efforts and efforts[-1].header.stamp == state.header.stamp:
                    found.append(efforts[-1])
                    if efforts[-1].header.frame_id:
                        self.commander = efforts
            return bool(found)

        while not self.efforts.wait_for(came, LOST):
            assert time.monotonic() < begin + PATIENCE, f"no effort\n{self.node.log}\n{self.other.log}"
            self.states.publish(state)
        tau = np.array(found[-1].effort)
        self.plant.advance(tau, 1e-3)
        self.time += MS
        return tau

    def takes_over(self, name):
        """The node of that name is asked to, while states go on; the largest step of an effort, N m."""
        import threading

        answers, gives_up = [], self.node if name == CARTESIAN else self.other
        said = gives_up.log.count("another node has taken over")
        thread = threading.Thread(target=lambda: answers.append(self.hand_over[name]()))
        before = self.step()
        thread.start()
        steps = []
        for _ in range(2000):
            tau = self.step()
            steps.append(float(np.abs(tau - before).max()))
            before = tau
            if answers and self.commander is (self.efforts if name == HYBRID else self.others):
                break
        thread.join()
        assert answers[0].success, answers[0].message
        end = time.monotonic() + PATIENCE
        while gives_up.log.count("another node has taken over") == said:  # it hears of it by and by
            assert time.monotonic() < end, f"{gives_up.name} does not stand by"
            self.run(0.01)
        self.run(0.3)
        return max(steps)


@pytest.fixture(scope="module")
def rig(ros):
    _, plant, _, _, position = pressing.scene(pressing.Case())
    hybrid = PARAMETERS | {"task_position": list(position)}
    own = {name: PARAMETERS[name] for name in COMMON}
    cartesian = own | {"tool_frame": pressing.TOOL, "standby": True, "gravity": [0.0, 0.0, -9.7]}
    heard = "~/continued_effort:=/{}/effort"
    with (
        ros.start("hybrid_controller", hybrid, "-r", heard.format(CARTESIAN), name=HYBRID) as node,
        ros.start("cartesian_controller", cartesian, "-r", heard.format(HYBRID), name=CARTESIAN) as other,
    ):
        other.is_active()
        rig = TwoRig(ros, node, other, plant, position[2])
        plant.reset(start(0.002))
        yield rig


def test_the_force_stays_while_they_take_over_from_each_other(rig):
    rig.run(0.1)
    assert rig.engage().success
    rig.run(2.0)
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=0.02)
    for name in (CARTESIAN, HYBRID, CARTESIAN, HYBRID):
        begin = len(rig.forces)
        step = rig.takes_over(name)
        assert step < 0.05  # N m, in a millisecond
        deviation = np.abs(np.array(rig.forces[begin:]) - 10.0).max()
        assert deviation < 0.02, (name, deviation)  # N, though one of them believes in less gravity
    rig.node.says("another node has taken over: standing by")


def test_they_take_over_in_motion_and_the_force_stays(rig):
    """While the tool goes along the surface at 40 mm/s: who takes over stops it near where it is, gently."""
    rig.run(0.1)
    if rig.commander is not rig.efforts:
        rig.takes_over(HYBRID)
    assert rig.engage().success
    rig.run(1.5)
    rig.move((0.1, 0.0, 0.0), (2.1, 0.06, 0.0))
    rig.run(0.8)
    place = rig.plant.data.body(pressing.TOOL).xpos
    before = place.copy()
    rig.run(0.01)
    assert np.linalg.norm(place - before) > 2e-4
    begin, before = len(rig.forces), place.copy()
    assert rig.takes_over(CARTESIAN) < 1.0  # N m, in a millisecond
    rig.run(2.0)
    assert np.linalg.norm(place - before) < 0.02 and np.abs(rig.plant.state[1]).max() < 0.03
    rig.takes_over(HYBRID)
    assert np.abs(np.array(rig.forces[begin:]) - 10.0).max() < 1.5


def test_who_stands_by_refuses_and_who_commands_does_not_take_over(rig):
    rig.run(0.01)
    answer = rig.hand_over[HYBRID]()
    assert not answer.success and "commands already" in answer.message
    assert rig.engage(True).success  # it presses
    rig.takes_over(CARTESIAN)
    answer = rig.engage(True)
    assert not answer.success and "another node commands" in answer.message
    rig.move((1.0, 0.0, 0.0))
    rig.node.says("trajectory refused: another node commands")
    rig.takes_over(HYBRID)


def test_without_anybody_to_take_over_from_that_is_refused(rig):
    others_run(0.3)  # no states: nobody commands
    answer = rig.hand_over[CARTESIAN]()
    assert not answer.success and "no other node is commanding" in answer.message
