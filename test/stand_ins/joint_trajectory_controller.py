# SPDX-License-Identifier: Apache-2.0
"""A stand-in for joint_trajectory_controller, by its documentation (ros2_controllers, jazzy and kilted).

It follows what it accepts exactly, as time passes: action and topic, feedback at 20 Hz, one goal at a time, the newer
one aborts the older with INVALID_GOAL, a cancelled one ends without a code. Goals are rejected for other joints, no
points, times that do not increase, a last velocity that is not zero, an end in the past, and for efforts where effort
is none of the command_interfaces. What it has taken is published on ~/received.

Parameter `mode`: normal; "mute": takes a goal and sends neither feedback nor result; "deaf": does not answer goals for
ten seconds; "stubborn": does not heed cancels; "stuck": the robot does not move; "inactive": it rejects all.

    python joint_trajectory_controller.py --ros-args -r __node:=arm_controller -p joints:="[a, b]"
"""

from __future__ import annotations

import bisect
import time

import rclpy
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

try:
    from controller_manager_msgs.msg import ControllerState
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

Result = FollowJointTrajectory.Result
PERIOD = 0.01


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


class Controller(Node):
    def __init__(self):
        super().__init__("joint_trajectory_controller")
        self.joints = self.declare_parameter("joints", ["shoulder", "elbow", "slide"]).value
        self.declare_parameter("command_interfaces", ["effort"])
        self.declare_parameter("mode", "normal")
        self.declare_parameter("allow_partial_joints_goal", False)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.received = self.create_publisher(JointTrajectory, "~/received", latched)
        self.position = [0.0] * len(self.joints)
        self.goal = self.result = self.trajectory = None
        self.begin = self.told = 0.0
        self.create_subscription(JointTrajectory, "~/joint_trajectory", self.on_topic, 10)
        self.server = ActionServer(
            self, FollowJointTrajectory, "~/follow_joint_trajectory", self.finish, goal_callback=self.on_goal,
            handle_accepted_callback=self.on_accepted, cancel_callback=self.on_cancel,
        )  # fmt: skip
        self.results = {}
        if ListControllers is not None:
            self.create_service(ListControllers, "/controller_manager/list_controllers", self.on_list)
        self.create_timer(PERIOD, self.update)

    def on_list(self, request, response):
        """The manager's word."""
        state = "inactive" if self.mode == "inactive" else "active"
        response.controller = [ControllerState(name=self.get_name(), state=state)]
        return response

    @property
    def mode(self):
        return self.get_parameter("mode").value

    def problem(self, trajectory):
        """Why it is rejected; empty: it is not."""
        points = trajectory.points
        if self.mode == "inactive":
            return "Can't accept new action goals. Controller is not running."
        some = self.get_parameter("allow_partial_joints_goal").value and set(trajectory.joint_names) <= set(self.joints)
        if not some and sorted(trajectory.joint_names) != sorted(self.joints):
            return "Joints on incoming trajectory don't match the controller joints."
        if not points:
            return "Empty trajectory received."
        if any(abs(v) > 1e-6 for v in points[-1].velocities):
            return "Velocity of last trajectory point is not zero"
        times = [seconds(point.time_from_start) for point in points]
        if any(late <= early for early, late in zip(times, times[1:])):
            return "Time between points is not strictly increasing"
        stamp = seconds(trajectory.header.stamp)
        if stamp and stamp + times[-1] < time.time():
            return "Received trajectory with non-zero start time that ends in the past"
        if "effort" not in self.get_parameter("command_interfaces").value and any(len(p.effort) for p in points):
            return "Trajectories with effort fields are only supported for controllers using the 'effort' interface."
        return ""

    def on_topic(self, message):
        if not (why := self.problem(message)):
            self.follow(message)
        else:
            self.get_logger().error(why)

    def on_goal(self, request):
        if self.mode == "deaf":
            time.sleep(10.0)
        if why := self.problem(request.trajectory):
            self.get_logger().error(why)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def on_accepted(self, handle):
        if self.goal is not None:
            self.end(Result.INVALID_GOAL, "Current goal preempted by new incoming action.")
        self.goal = handle
        self.follow(handle.request.trajectory)

    def follow(self, trajectory):
        self.trajectory = trajectory
        stamp = seconds(trajectory.header.stamp)
        self.begin = max(stamp, time.time()) if stamp else time.time()
        self.received.publish(trajectory)

    def on_cancel(self, handle):
        return CancelResponse.REJECT if self.mode == "stubborn" else CancelResponse.ACCEPT

    def end(self, code, text):
        handle, self.goal = self.goal, None
        self.results[bytes(handle.goal_id.uuid)] = Result(error_code=code, error_string=text)
        handle.execute()

    def finish(self, handle):
        result = self.results.pop(bytes(handle.goal_id.uuid))
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.error_code == Result.SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        return result

    def update(self):
        if self.goal is not None and self.goal.is_cancel_requested:
            self.trajectory = None
            self.end(Result.SUCCESSFUL, "")
        if self.trajectory is None or self.mode == "mute":
            return
        points = self.trajectory.points
        times = [seconds(point.time_from_start) for point in points]
        elapsed = time.time() - self.begin
        index = min(bisect.bisect_right(times, elapsed), len(points) - 1)
        desired = points[index].positions
        if self.mode != "stuck":
            self.position = list(desired)
        error = [a - b for a, b in zip(desired, self.position)]
        if self.goal is None:
            return
        if elapsed >= times[-1]:
            time_tolerance = seconds(self.goal.request.goal_time_tolerance)
            outside = any(
                0.0 < tolerance.position < abs(error[self.joints.index(tolerance.name)])
                for tolerance in self.goal.request.goal_tolerance
            )
            if not outside:
                self.end(Result.SUCCESSFUL, "Goal successfully reached!")
            elif time_tolerance and elapsed > times[-1] + time_tolerance:
                self.end(Result.GOAL_TOLERANCE_VIOLATED, "Aborted due to goal_time_tolerance exceeding by 0.1 seconds")
        else:
            for tolerance in self.goal.request.path_tolerance:
                if 0.0 < tolerance.position < abs(error[self.joints.index(tolerance.name)]):
                    self.end(Result.PATH_TOLERANCE_VIOLATED, "Aborted due to path tolerance violation")
                    self.trajectory = None
                    return
        if self.goal is not None and time.time() - self.told > 0.05:
            self.told = time.time()
            feedback = FollowJointTrajectory.Feedback(joint_names=self.joints, index=index)
            feedback.header.stamp = self.get_clock().now().to_msg()
            feedback.desired = JointTrajectoryPoint(positions=desired)
            feedback.actual = JointTrajectoryPoint(positions=self.position)
            feedback.error = JointTrajectoryPoint(positions=error)
            self.goal.publish_feedback(feedback)


def main():
    rclpy.init()
    node = Controller()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    print("active", flush=True)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == "__main__":
    main()
