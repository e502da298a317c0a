# SPDX-License-Identifier: Apache-2.0
"""Node `hybrid_controller` in a process of its own, in lockstep with the arm: however long an answer takes, time waits.

Once it has fallen silent, a run is over. It answers what `bench.Bench` answers. Times have no meaning for it
(`state_timeout` 0), so that states that do not come are left to the bench.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from helpers.nodes.ros_nodes import Ros, joint_state, joint_trajectory
from helpers.nodes.torque_talk import answer_in_time
from numpy.typing import NDArray

import rbd_dynamics as rbd
from campaigns.pressing.arms import ARMS
from campaigns.pressing.bench import LONGEST_REFUSED, way
from campaigns.pressing.cases import Case
from campaigns.pressing.scene import Scene

Array = NDArray[np.float64]

MODE = re.compile(r"\[hybrid_controller\]: (hold|approach|press)(?:: (.*))?$", re.MULTILINE)
ANSWERS = 1.5  # s of real time, in which a state is answered
GIVES_UP = 3  # states that are not answered, one after the other
LOOKS = 5  # steps between two looks at what it says
LATER = 0.3  # s, after which a motion begins: it is planned by then
PLANS = 1.0  # s of real time, for it to be planned


class NodeOfProcess:
    """See the module. Ends its process when it is closed."""

    left_alone = 1  # what it commands then is a matter of real time

    def __init__(self, scene: Scene, case: Case) -> None:
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_srvs.srv import SetBool
        from trajectory_msgs.msg import JointTrajectory

        from rbd_dynamics_interfaces.msg import TaskState

        self.params, self.refused, self.ended, self.motion_problem = scene.params, list[str](), False, ""
        arm = ARMS[case.arm]
        self._arm, self._names, self._tau = arm, list(scene.plant.names), np.zeros(len(scene.plant.efforts))
        self._open = ExitStack()
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="pressing_"))
        self._ros = ros = self._open.enter_context(Ros(Path(folder)))
        changed = {key: value for key, value in dataclasses.asdict(self.params).items() if value not in ((), "", [])}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in changed.items()}
        plain |= {"robot_description": Path(arm.urdf).read_text(), "locked_joints": list(arm.locked)}
        plain |= {"state_timeout": 0.0}
        if not arm.locked:
            del plain["locked_joints"]
        self._node = self._open.enter_context(ros.start("hybrid_controller", plain))
        self._states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self._wrenches = ros.publisher(WrenchStamped, "wrench", qos_profile_sensor_data)
        self._wishes = ros.publisher(WrenchStamped, "hybrid_controller/desired_wrench")
        self._trajectories = ros.publisher(JointTrajectory, "hybrid_controller/joint_trajectory")
        self._efforts = ros.collect(JointState, "hybrid_controller/effort", 1000)
        self._task = ros.collect(TaskState, "hybrid_controller/task_state", 1000)
        self._engage = ros.client(SetBool, "hybrid_controller/engage")
        self._now, self._count, self._unanswered, self.mode, self.reason = 0, 0, 0, "hold", "not engaged"

    def close(self) -> None:
        self._open.close()

    def answer(self, stamp: int, q: Array | None, v: Array, wrench: Array | None) -> Array | None:
        if q is None or self.ended:
            return None
        self._now = stamp
        if wrench is not None:
            self._wrenches.publish(self._message(wrench))
        found = self._effort(joint_state(self._names, q, v, self._tau, stamp=stamp))
        self._unanswered = 0 if found is not None else self._unanswered + 1
        if found is None:
            if self._unanswered == GIVES_UP:
                self.ended, self.mode, self.reason = True, "hold", f"silent: {self._said()}"
            return None
        self._tau = found
        del self._efforts[:-5], self._task[:-5]
        self._count += 1
        if self._count % LOOKS == 0:
            self._look()
        return self._tau

    def _effort(self, state: Any) -> Array | None:
        """The one that answers a state; None where none comes."""
        found: Array | None = answer_in_time(self._states, state, self._efforts, ANSWERS)
        return found

    def _said(self) -> str:
        """Why it answers no more."""
        lines = [line for line in self._node.log.splitlines() if "joint state refused" in line]
        return lines[-1].partition("]: ")[2] if lines else "no answer"

    def _look(self) -> None:
        """At what it says."""
        said = MODE.findall(self._node.log)
        if said:
            self.mode, self.reason = said[-1]

    def _message(self, wrench: Array) -> Any:
        from geometry_msgs.msg import WrenchStamped

        message = WrenchStamped()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._now, 1_000_000_000)
        message.header.frame_id = self._arm.tool
        torque, force = message.wrench.torque, message.wrench.force
        torque.x, torque.y, torque.z, force.x, force.y, force.z = (float(each) for each in wrench)
        return message

    # --- what is done to it -----------------------------------------------------------------------

    def engage(self, wanted: bool) -> None:
        answer = self._engage(data=wanted)
        if not answer.success:
            self.refused.append(answer.message[:LONGEST_REFUSED])
        self._look()

    def set(self, **changes: Any) -> None:
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in changes.items()}
        results = self._ros.set_parameters("hybrid_controller", **plain)
        problems = [result.reason for result in results if not result.successful]
        self.refused += [problem[:LONGEST_REFUSED] for problem in problems]
        if not problems:
            self.params = dataclasses.replace(self.params, **changes)

    def carry(self, mass: float) -> None:
        from rbd_dynamics_interfaces.srv import SetPayload

        request = SetPayload.Request()
        request.payload.header.frame_id, request.payload.inertia.m = self._arm.tool, mass
        answer = self._ros.client(SetPayload, "hybrid_controller/set_payload")(request)
        if not answer.success:
            self.refused.append(answer.message[:LONGEST_REFUSED])

    def describe(self, model: rbd.Model) -> None:
        self.set_description(model.to_urdf())

    def set_description(self, text: str) -> None:
        results = self._ros.set_parameters("hybrid_controller", robot_description=text)
        self.refused += [result.reason[:LONGEST_REFUSED] for result in results if not result.successful]

    def wish(self, wrench: Array) -> None:
        self._wishes.publish(self._message(wrench))
        time.sleep(0.05)

    def move(self, ways: dict[int, float], speed: float) -> None:
        if not self._task:
            self.refused.append("not engaged")
            return
        task = self._task[-1]
        points = [
            (point.time, point.positions, point.velocities) for point in way(np.array(task.positions), ways, speed)
        ]
        stamp = self._now + round(1e9 * LATER)
        self._trajectories.publish(joint_trajectory(task.controlled_names, points, stamp=stamp))
        time.sleep(PLANS)

    def reactivate(self) -> None:
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        change = self._ros.client(ChangeState, "hybrid_controller/change_state")
        for number in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE):
            request = ChangeState.Request()
            request.transition.id = number
            change(request)
        self.mode, self.reason = "hold", "activated anew"
