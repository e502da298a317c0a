# SPDX-License-Identifier: Apache-2.0
"""A robot that goes on publishing its state while a node falls silent, and Pinocchio's word on what holds it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import Conversation, NodeProcess, Ros, joint_state, others_run, wait_until
from helpers.periodic import Periodic

Array = NDArray[np.float64]
LIMITS = np.array([80.0, 40.0, 30.0])
A = np.array([0.4, -0.6, 0.1]), np.array([0.5, -0.4, 0.2])
B = np.array([-0.3, 0.8, 0.0]), np.array([-0.2, 0.6, 0.1])
REST = np.zeros(3)


class Oracle:
    """Gravity torque and mass matrix of the arm, by Pinocchio."""

    def __init__(self, description: str = ARM) -> None:
        import pinocchio

        self._library = pinocchio
        self.model = pinocchio.buildModelFromXML(description)
        self._data = self.model.createData()

    def payload(self, mass: float) -> None:
        """A point mass at the hand."""
        inertia = self._library.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
        self.model.appendBodyToJoint(self.model.getJointId("slide"), inertia, self._library.SE3.Identity())
        self._data = self.model.createData()

    @staticmethod
    def _q(q: Array) -> Array:
        return np.array([q[0], math.cos(q[1]), math.sin(q[1]), q[2]])

    def gravity(self, q: Array) -> Array:
        return np.array(self._library.computeGeneralizedGravity(self.model, self._data, self._q(q)))

    def held(self, q: Array, v: Array) -> Array:
        """Gravity, and damping by which velocities die out at 10 1/s."""
        upper = np.triu(self._library.crba(self.model, self._data, self._q(q)))
        return self.gravity(q) - 10.0 * (upper + np.triu(upper, 1).T) @ v


class Stream(Periodic):
    """Joint states at 200 Hz, those of `state`, until the context is left; `shift` (s) is added to their stamps."""

    def __init__(self, ros: Ros, state: tuple[Array, Array] = A, names: Any = JOINTS, *, name: str = "") -> None:
        """name: of a node of its own that publishes them; else `ros.node` does."""
        import rclpy
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        super().__init__(0.005)
        self.state, self.names, self.shift, self.paused, self.stamped = state, names, 0.0, False, True
        self._clock = ros.node.get_clock()
        self._node = rclpy.create_node(name, context=ros.context) if name else None
        if self._node is None:
            self._publisher = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        else:
            self._publisher = self._node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
            wait_until(lambda: self._publisher.get_subscription_count() >= 1, "a subscriber of joint_states")

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._node is not None:
            self._node.destroy_node()

    def act(self) -> None:
        if not self.paused:
            stamp = self._clock.now().nanoseconds + round(1e9 * self.shift) if self.stamped else None
            self._publisher.publish(joint_state(self.names, *self.state, stamp=stamp))


class Watched(Conversation):
    """A node, and all that it commands."""

    recent = 3

    def __init__(self, ros: Ros, node: NodeProcess, topic: str = "") -> None:
        from std_msgs.msg import Float64MultiArray

        super().__init__(ros, node)
        self._messages = ros.collect(Float64MultiArray, topic or f"{node.name}/commands", 1000)

    @property
    def commands(self) -> list[Array]:
        return [np.array(message.data) for message in list(self._messages)]

    def forget(self) -> None:
        """What it has commanded until now."""
        self._messages.clear()

    def answers(self, efforts: Array | None = None, since: int | None = None) -> None:
        """Wait until it commands something, or just that. since: of command number `since` on; None: from now on."""
        count = len(self._messages) if since is None else since
        wait_until(
            lambda: any(efforts is None or np.allclose(c, efforts, rtol=1e-9) for c in self.commands[count:]),
            "a command",
        )

    def until_zero(self, start: int = 0) -> list[Array]:
        """All commands from number `start` on, once there was zero, and for a while after."""
        wait_until(lambda: any(not c.any() for c in self.commands[start:]), "zero")
        others_run(0.3)
        return self.commands[start:]

    def change(self, *transitions: str) -> None:
        """Of the life cycle."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        ask = self.ros.client(ChangeState, f"{self.node.name}/change_state")
        for name in transitions:
            assert ask(transition=Transition(id=getattr(Transition, f"TRANSITION_{name.upper()}"))).success, name


def ends_in_one_zero(commands: list[Array]) -> None:
    """Nothing comes after zero, and nothing before was zero."""
    assert not commands[-1].any()
    assert all(command.any() for command in commands[:-1])
    assert all(np.isfinite(command).all() and (np.abs(command) <= LIMITS).all() for command in commands)


def shares(commands: list[Array], whole: Array) -> list[float]:
    """What part of `whole` each command is; each must be one."""
    parts = [float(command @ whole / (whole @ whole)) for command in commands]
    for command, part in zip(commands, parts):
        np.testing.assert_allclose(command, part * whole, rtol=1e-6, atol=1e-6)
    return parts
