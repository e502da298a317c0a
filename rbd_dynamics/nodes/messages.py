# SPDX-License-Identifier: Apache-2.0
"""ROS messages in the library's terms, and shared choices about topics."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.trajectory import Point

SECOND = 1_000_000_000  # ns

#: sensor data: best effort; a tenth of a second of 1 kHz, so that nothing is lost while the processor is busy elsewhere
JOINT_STATES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
RECORDED = QoSProfile(depth=1000)  # reliable: whoever records on a busy machine may fall behind by so many
#: requests that wait while others are answered; a client that sends more at once than its own queue holds loses some
SERVICES = QoSProfile(depth=1000)
#: what there is one of, for those as well that come later
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def nanoseconds(time: Time | Duration) -> int:
    return time.sec * SECOND + time.nanosec


def points_of(message: JointTrajectory) -> list[Point]:
    return [
        Point(1e-9 * nanoseconds(point.time_from_start), point.positions, point.velocities, point.accelerations)
        for point in message.points
    ]


def staleness(stamp: int, now: int, timeout: float) -> str:
    """What is wrong with a joint state's stamp (ns) at the time `now` (ns); empty: nothing.

    timeout: s; 0: any stamp is good. A stamp of zero says nothing.
    """
    if not stamp or not timeout or abs(now - stamp) <= timeout * SECOND:
        return ""
    which = "old" if now > stamp else "in the future"
    return f"stale joint state: its stamp is more than {timeout:g} s {which}: is use_sim_time right?"
