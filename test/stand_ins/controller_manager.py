# SPDX-License-Identifier: Apache-2.0
"""A stand-in for ros2_control's controller manager and two of its controllers, around a robot in MuJoCo.

By their sources (ros2_control 4.46, ros2_controllers 4.42): the manager lists its controllers, switches them between
two cycles, and latches its activity; a controller acts while it is active, and no longer. `effort_controller` forwards
its latest command of the right length, forgets it when it is switched, and an array of the wrong length is an error,
after which the manager deactivates it and activates its `fallback_controllers`. `arm_controller` goes where
`~/joint_trajectory` says, and holds there. Effort interfaces keep their last value when nobody commands them.

Each cycle publishes a joint state, waits for its answer if the one before was answered, and advances the robot: never
faster than real time, and slower where the machine is busy.

    python controller_manager.py robot.urdf --ros-args -p joints:="[a, b]"
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import mujoco
import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from controller_manager_msgs.msg import ControllerManagerActivity, ControllerState, NamedLifecycleState
from controller_manager_msgs.srv import ListControllers, SwitchController
from lifecycle_msgs.msg import State
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

sys.path.insert(0, str(Path(__file__).parents[1]))
from rigs.mujoco_plant import Plant, bare_description

ANSWER = 0.5  # s: as long a cycle waits for the command that answers its state
STATES = {"inactive": State.PRIMARY_STATE_INACTIVE, "active": State.PRIMARY_STATE_ACTIVE}


class Controller:
    """A controller of the manager's: a node of its own, and what it commands in a cycle."""

    kind = ""

    def __init__(self, name, joints):
        self.name, self.state = name, "inactive"
        self.node = Node(name)
        self.node.declare_parameter("joints", joints)

    @property
    def active(self):
        return self.state == "active"


class EffortController(Controller):
    kind = "forward_command_controller/ForwardCommandController"

    def __init__(self, name, joints):
        super().__init__(name, joints)
        self.node.declare_parameter("interface_name", "effort")
        self.command, self.came = None, threading.Event()
        self.node.create_subscription(Float64MultiArray, "~/commands", self.take, 10)

    def take(self, message):
        if np.isfinite(message.data).all():
            self.command = np.array(message.data)
            self.came.set()

    def switched(self, plant):
        self.command = None

    def update(self, plant, efforts, period):
        """False: an error."""
        if self.command is None:
            return True
        if len(self.command) != len(efforts):
            self.node.get_logger().error("command size does not match number of interfaces")
            return False
        efforts[:] = self.command
        return True


class ArmController(Controller):
    """Computed torques by MuJoCo's own dynamics, along a polynomial from rest to rest."""

    kind = "joint_trajectory_controller/JointTrajectoryController"

    def __init__(self, name, joints):
        super().__init__(name, joints)
        self.node.declare_parameter("command_interfaces", ["effort"])
        self.goal = None
        self.node.create_subscription(JointTrajectory, "~/joint_trajectory", self.take, 10)

    def take(self, message):
        if self.active:
            self.goal = np.array(message.points[-1].positions), message.points[-1].time_from_start.sec or 1.0

    def switched(self, plant):
        self.begin = self.end = plant.state[0]
        self.duration, self.passed = 1.0, 1.0
        self.goal = None

    def update(self, plant, efforts, period):
        if self.goal is not None:
            self.begin, (self.end, self.duration), self.passed, self.goal = plant.state[0], self.goal, 0.0, None
        self.passed = min(self.passed + period, self.duration)
        s, way = self.passed / self.duration, self.end - self.begin
        wanted = self.begin + way * (10 * s**3 - 15 * s**4 + 6 * s**5)
        rate = way * (30 * s**2 - 60 * s**3 + 30 * s**4) / self.duration
        q, v = plant.state
        efforts[:] = plant.torque(400.0 * (wanted - q) + 40.0 * (rate - v))
        return True


class Robot(Plant):
    def torque(self, acceleration):
        """What accelerates it so."""
        full = np.zeros(self.model.nv)
        full[self._v] = acceleration
        found = np.zeros(self.model.nv)
        mujoco.mj_mulM(self.model, self.data, found, full)
        return (found + self.data.qfrc_bias)[self._v]


class Manager:
    def __init__(self, urdf):
        self.node = Node("controller_manager")
        joints = self.node.declare_parameter("joints", ["shoulder", "elbow", "slide"]).value
        theirs = self.node.declare_parameter("controller_joints", joints).value
        self.period = self.node.declare_parameter("period", 0.01).value
        active = self.node.declare_parameter("active", "effort_controller").value
        self.node.declare_parameter("services", "answer")  # or "hang"
        self.measures_efforts = self.node.declare_parameter("measures_efforts", True).value
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.joints, self.lock = joints, threading.Lock()
        self.plant = Robot(mujoco.MjSpec.from_string(bare_description(urdf, joints)), joints, 1e-3)
        self.plant.reset(np.zeros(len(joints)))
        self.efforts = np.zeros(len(joints))
        self.controllers = [EffortController("effort_controller", theirs), ArmController("arm_controller", joints)]
        self.fallback = {"effort_controller": self.node.declare_parameter("fallback_controllers", [""]).value}
        self.states = self.node.create_publisher(JointState, "joint_states", 10)
        self.activity = None
        if self.node.declare_parameter("publishes_activity", True).value:
            self.activity = self.node.create_publisher(ControllerManagerActivity, "~/activity", latched)
        self.node.create_service(ListControllers, "~/list_controllers", self.on_list)
        self.node.create_service(SwitchController, "~/switch_controller", self.on_switch)
        self.switch([active] if active else [], [])

    def hangs(self):
        while self.node.get_parameter("services").value == "hang":
            time.sleep(0.05)

    def on_list(self, request, response):
        self.hangs()
        response.controller = [ControllerState(name=c.name, state=c.state, type=c.kind) for c in self.controllers]
        return response

    def on_switch(self, request, response):
        self.hangs()
        known = {each.name: each for each in self.controllers}
        on, off = request.activate_controllers, request.deactivate_controllers
        if unknown := [name for name in (*on, *off) if name not in known]:
            response.message = f"Could not find: {', '.join(unknown)}"
            return response
        left = [each.name for each in self.controllers if each.active and each.name not in off] + list(on)
        if len(left) > 1:  # all claim the same interfaces
            response.message = f"Resource conflict: {', '.join(left)}"
            return response
        with self.lock:
            self.switch(on, off)
        response.ok, response.message = True, "Successfully switched controllers!"
        return response

    def switch(self, on, off):
        for each in self.controllers:
            before = each.state
            each.state = "active" if each.name in on else "inactive" if each.name in off else before
            if each.state != before:
                each.switched(self.plant)
        if self.activity is not None:
            message = ControllerManagerActivity()
            message.controllers = [
                NamedLifecycleState(name=each.name, state=State(id=STATES[each.state], label=each.state))
                for each in self.controllers
            ]
            self.activity.publish(message)

    def update(self):
        for each in self.controllers:
            if each.active and not each.update(self.plant, self.efforts, self.period):
                self.switch([name for name in self.fallback.get(each.name, ()) if name], [each.name])
                break
        self.plant.advance(self.efforts, self.period)

    def run(self):
        effort, stamp, due = self.controllers[0], time.time_ns(), time.monotonic()
        while rclpy.ok():
            q, v = self.plant.state
            answered = effort.came.is_set()  # the one before, or late
            effort.came.clear()
            sent = Time(sec=stamp // 1_000_000_000, nanosec=stamp % 1_000_000_000)
            message = JointState(name=self.joints, position=q.tolist(), velocity=v.tolist())
            message.header.stamp = sent
            if self.measures_efforts:
                message.effort = self.efforts.tolist()
            self.states.publish(message)
            if answered:
                effort.came.wait(ANSWER)
            with self.lock:
                self.update()
            stamp += round(1e9 * self.period)
            due = max(due + self.period, time.monotonic() - self.period)
            time.sleep(max(0.0, due - time.monotonic()))


def main():
    urdf = Path(sys.argv[1])
    rclpy.init(args=sys.argv[2:], signal_handler_options=SignalHandlerOptions.NO)
    manager = Manager(urdf)
    own, others = SingleThreadedExecutor(), SingleThreadedExecutor()
    own.add_node(manager.node)
    for each in manager.controllers:
        others.add_node(each.node)
    threads = [threading.Thread(target=spun, args=(executor,), daemon=True) for executor in (own, others)]
    for thread in threads:
        thread.start()
    print("active", flush=True)
    try:
        manager.run()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
        for thread in threads:
            thread.join()


def spun(executor):
    try:
        executor.spin()
    except ExternalShutdownException:
        pass


if __name__ == "__main__":
    main()
