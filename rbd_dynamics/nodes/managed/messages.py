# SPDX-License-Identifier: Apache-2.0
"""ROS messages in the library's terms, and shared choices about topics."""

from __future__ import annotations

import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.cartesian.pose_chart import UNIT
from rbd_dynamics.control.motion.trajectory import Point
from rbd_dynamics.joint_states.plausibility import Plausibility
from rbd_dynamics.model.model import Joint
from rbd_dynamics.spatial import rotation_from_quaternion

SECOND = 1_000_000_000  # ns

# The middleware keeps a buffer for each place of a queue, as large as the largest message that was ever in it. So a
# queue for what others send has no more places than its use needs.

#: to be answered: best effort; what has waited longer than 25 ms at 1 kHz is better passed over for what comes next
JOINT_STATES = QoSProfile(depth=25, reliability=ReliabilityPolicy.BEST_EFFORT)
#: of which none should be missed: a tenth of a second of 1 kHz
OBSERVED_STATES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
#: of which the latest counts, of several senders
LATEST = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
#: reliable: the latest counts, but one that is refused must not hide one that came just before it
WISHES = QoSProfile(depth=4)
COMMANDS = QoSProfile(depth=10)  # reliable: each is passed on
RECORDED = QoSProfile(depth=1000)  # reliable: whoever records on a busy machine may fall behind by so many
#: requests that wait while others are answered; a client that sends more at once than its own queue holds loses some
REQUESTS = QoSProfile(depth=64)
SMALL_REQUESTS = QoSProfile(depth=1000)  # without texts and lists
#: what there is one of, for those as well that come later
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SMALL = {"boolean", "octet", "float", "double", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def plausibility_of(joints: Sequence[Joint], names: Sequence[str], factor: float) -> Plausibility:
    """Bounds on measured states by the limits of a model's joints, which messages call by these names."""
    limits = [(each.limits.lower, each.limits.upper, each.limits.velocity) for each in joints]
    return Plausibility(names, limits, [each.kind.name == "continuous" for each in joints], factor=factor)


def publishers_of(node: Node, topic: str) -> list[str]:
    """Full names of the nodes that publish a topic, as this node calls it; one for each publisher, in their order."""
    found = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    return sorted(f"{each.node_namespace.rstrip('/')}/{each.node_name}" for each in found)


def queue_of(kind: type) -> QoSProfile:
    """The queue for the requests of a kind of service."""
    fields = kind.Request.get_fields_and_field_types().values()  # type: ignore[attr-defined]
    return SMALL_REQUESTS if all(field in SMALL for field in fields) else REQUESTS


def nanoseconds(time: Time | Duration) -> int:
    return time.sec * SECOND + time.nanosec


def flat(values: NDArray[np.float64]) -> array.array[float]:
    """All numbers, as messages take them fastest."""
    return array.array("d", np.ascontiguousarray(values, dtype=float).tobytes())


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
    doubt = "is use_sim_time right, and the machine fast enough?"
    return f"stale joint state: its stamp is more than {timeout:g} s {which}: {doubt}"


def finite_numbers(what: str, numbers: list[float]) -> NDArray[np.float64]:
    found = np.array(numbers, dtype=float)
    if not np.isfinite(found).all():
        raise ValueError(f"{what} refused: it is not finite")
    return found


def pose_matrix(pose: Pose, what: str) -> NDArray[np.float64]:
    """(4, 4). Raises ValueError that begins with `what`, for numbers that are not finite, or no rotation."""
    p, q = pose.position, pose.orientation
    numbers = finite_numbers(what, [p.x, p.y, p.z, q.x, q.y, q.z, q.w])
    length = float(np.linalg.norm(numbers[3:]))
    if abs(length - 1.0) > UNIT:
        raise ValueError(f"{what} refused: its quaternion has the length {length:.4g}, not one")
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = rotation_from_quaternion(numbers[3:] / length), numbers[:3]
    return found
