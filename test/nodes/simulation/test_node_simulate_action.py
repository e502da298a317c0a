# SPDX-License-Identifier: Apache-2.0
"""Action `simulate` of the simulator over real DDS: rollouts like the library's, feedback, cancel, refusals."""

from __future__ import annotations

import os
import re
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import needs_ros, others_run, wait_until

from rbd_dynamics.constraints import load_constraints
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions

pytestmark = needs_ros
START = [0.3, -0.4, 0.05]


#: without Coulomb friction, which only one method accepts
DAMPED_ARM = re.sub(' friction="[^"]*"', "", ARM)


class Talk:
    """Goals to the simulator."""

    def __init__(self, ros, node):
        from rbd_dynamics_interfaces.action import Simulate

        self.ros, self.node, self.kind = ros, node, Simulate
        self.client = ros.action_client(Simulate, f"{node.name}/simulate")
        self.feedback = []

    def begin(self, **fields):
        fields = {"duration": 1.0, "sample_period": 0.1, "positions": START, "velocities": [0.0] * 3} | fields
        future = self.client.send_goal_async(
            self.kind.Goal(**fields), feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        wait_until(future.done, "the goal's acceptance")
        handle = future.result()
        assert handle.accepted
        return handle

    def result(self, handle):
        future = handle.get_result_async()
        wait_until(future.done, "the result")
        return future.result().result

    def run(self, **fields):
        return self.result(self.begin(**fields))

    def threads(self):
        return len(os.listdir(f"/proc/{self.node.process.pid}/task"))


@pytest.fixture(scope="module")
def talk(ros):
    with ros.start("simulator", {"robot_description": DAMPED_ARM}) as node:
        node.is_active()
        talk = Talk(ros, node)
        yield talk
        talk.client.destroy()


def test_methods_that_cannot_hold_a_joint_by_friction_say_so(ros):
    with ros.start("simulator", {"robot_description": ARM}) as node:
        node.is_active()
        talk = Talk(ros, node)
        result = talk.run(integrator="rk4")
        assert not result.success and "'rk4' cannot hold joint 'shoulder' by its Coulomb friction" in result.message
        assert talk.run().success
        talk.client.destroy()


def efforts(*points):
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=JOINTS)
    for t, values in points:
        point = JointTrajectoryPoint(effort=list(map(float, values)))
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(1e9 * t), 1_000_000_000)
        message.points.append(point)
    return message


def library(seconds, effort, constraints=None, **options):
    simulation = Simulation(
        load_urdf(DAMPED_ARM),
        q=np.array(START),
        options=SimulationOptions(start_braked=False, **options),
        constraints=constraints,
    )
    simulation.command(np.array(effort, float), np.arange(3))
    simulation.advance(round(seconds / simulation.options.step))
    return simulation


def test_rollout_is_the_librarys(talk):
    result = talk.run(efforts=efforts((0.0, [1.0, -2.0, 3.0])))
    assert result.success, result.message
    assert list(result.trajectory.joint_names) == JOINTS and len(result.trajectory.points) == 11
    np.testing.assert_allclose(result.trajectory.points[0].positions, START)
    expected = library(1.0, [1.0, -2.0, 3.0])
    np.testing.assert_allclose(result.trajectory.points[-1].positions, expected.q, rtol=1e-12)
    np.testing.assert_allclose(result.trajectory.points[-1].velocities, expected.v, rtol=1e-12)
    np.testing.assert_allclose(result.trajectory.points[-1].effort, expected.tau)


def test_other_method_step_and_constraints(talk):
    name = JOINTS[1]
    text = f"[{{name: stuck, type: coupling, coefficients: {{{name}: 1.0}}, offset: {START[1]}}}]"
    result = talk.run(integrator="rk4", step=0.002, constraints_yaml=text)
    assert result.success, result.message
    assert list(result.row_names) == ["stuck.coupling"] and len(result.multipliers) == 11
    of = load_constraints(text + "\n", load_urdf(DAMPED_ARM))
    expected = library(1.0, [0.0] * 3, of, integrator="rk4", step=0.002)
    np.testing.assert_allclose(result.trajectory.points[-1].positions, expected.q, rtol=1e-9)
    assert abs(result.trajectory.points[-1].positions[1] - START[1]) < 1e-9
    assert result.worst_violation < 1e-9


def test_live_simulation_goes_on_and_feedback_comes(ros, talk):
    from sensor_msgs.msg import JointState

    states = ros.collect(JointState, "joint_states", 1000)
    del talk.feedback[:]
    handle = talk.begin(duration=20.0, sample_period=0.01)
    wait_until(lambda: talk.feedback, "feedback")
    count = len(states)
    wait_until(lambda: len(states) > count + 20, "joint states meanwhile")
    result = talk.result(handle)
    assert result.success and len(result.trajectory.points) == 2001
    assert 0.0 < talk.feedback[-1].fraction <= 1.0
    times = [message.time for message in talk.feedback]
    assert times == sorted(times)


def test_cancel_gives_what_was_done(talk):
    handle = talk.begin(duration=100_000.0, sample_period=1.0)
    others_run(0.5)
    cancelled = handle.cancel_goal_async()
    wait_until(cancelled.done, "the cancellation")
    result = talk.result(handle)
    assert not result.success and "cancelled at" in result.message
    assert len(result.trajectory.points) > 1


@pytest.mark.parametrize(
    "fields",
    [
        {"duration": 100_000.0, "sample_period": 100_000.0},  # no sample until the end
        {"duration": 900_000.0, "sample_period": 100.0},
        {"duration": 100_000.0, "sample_period": 1.0, "integrator": "adaptive", "step": 0.1},
    ],
)
def test_cancel_does_not_wait_for_a_sample(talk, fields):
    handle = talk.begin(**fields)
    cancelled = handle.cancel_goal_async()
    wait_until(cancelled.done, "the cancellation")
    begin = time.monotonic()
    result = talk.result(handle)
    assert not result.success and "cancelled" in result.message
    assert time.monotonic() - begin < 10.0  # on any machine; the rollout takes an hour


def test_goals_beyond_those_that_a_node_takes_are_rejected(talk):
    assert talk.run().success
    before, handles = talk.threads(), []
    try:
        for _ in range(8):
            handles.append(talk.begin(duration=900_000.0, sample_period=100.0))
        future = talk.client.send_goal_async(talk.kind.Goal(duration=1.0, sample_period=0.1))
        wait_until(future.done, "an answer to the goal")
        assert not future.result().accepted
    finally:
        for handle in handles:
            wait_until(handle.cancel_goal_async().done, "the cancellation")
        assert all("cancelled" in talk.result(handle).message for handle in handles)
    assert talk.run().success
    wait_until(lambda: talk.threads() <= before, "the end of what was cancelled, however late it saw that")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"duration": -1.0}, "duration -1.0 must be positive"),
        ({"sample_period": 5.0}, "sample_period 5.0"),
        ({"joint_names": ["elbow", "wrist", "slide"]}, "no joint 'wrist'"),
        ({"positions": [1.0]}, "positions has 1 numbers for 3 joints"),
        ({"positions": [float("nan")] * 3}, "positions is not finite"),
        ({"integrator": "guess"}, "integrator 'guess'"),
        ({"step": -0.1}, "step -0.1"),
        ({"step": 1e-300}, "step 1e-300"),
        ({"step": 1e-9}, "step 1e-09"),
        ({"step": float("nan")}, "step nan"),
        ({"step": 1e6, "integrator": "adaptive"}, "step 1000000.0"),
        ({"step": 1e-6, "duration": 1e5}, "more than 1e+09"),
        ({"duration": 1e308}, "more than 1e+09"),
        ({"duration": float("inf")}, "duration inf"),
        ({"sample_period": 1e-300}, "sample_period 1e-300"),
        ({"duration": 1e5, "sample_period": 1e-3}, "fit into a result"),
        ({"constraints_yaml": "[{name: a, type: fram}]"}, "unknown type 'fram'"),
    ],
)
def test_what_is_wrong_is_in_the_result(talk, fields, reason):
    result = talk.run(**fields)
    assert not result.success
    assert reason in result.message


def test_divergence_is_told(talk):
    """A step of 0.1 s is far too long for that speed; what came before it diverged is sound, and the node goes on."""
    result = talk.run(integrator="explicit_euler", step=0.1, duration=100.0, velocities=[50.0, 50.0, 0.0])
    assert not result.success and "'elbow' reaches a speed of" in result.message
    states = [[*point.positions, *point.velocities] for point in result.trajectory.points]
    assert 0 < len(states) < 20 and np.isfinite(states).all() and np.abs(states).max() < 1e4
    assert talk.run().success
