# SPDX-License-Identifier: Apache-2.0
"""Send a trajectory from a file to a node that follows it, and hear what becomes of it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics.control.motion.trajectory import Waypoints
from rbd_dynamics.nodes.managed.messages import SECOND
from rbd_dynamics.nodes.tools.listening import Spin, visitor
from rbd_dynamics.nodes.torque.motion_record import (
    AT_ITS_END,
    LATEST,
    MOTION,
    NO_ROBOT,
    NO_STATES,
    PLANNED,
    REFUSAL,
    REFUSED,
    TAKEN,
    UNDER_WAY,
)
from rbd_dynamics.trajectories.trajectory_file import read_trajectory

LOOK_PERIOD = 0.02  # s
HEARD = 2.5  # s in which a node that publishes diagnostics has done so
QUIET = 10.0  # s without a word of a node that spoke before
IDLE = 3  # reports of a node that plans nothing, and has neither taken nor refused what came
NOT_READY = (NO_STATES, NO_ROBOT)
NEW = "the node has begun anew"


class NotFollowed(RuntimeError):
    """The trajectory came, and was refused or not followed to its end; the message says why."""


class NotReady(NotFollowed):
    """It was refused by a node that may follow it soon: it has been started, and lacks a robot or joint states."""


@dataclass(frozen=True)
class Played:
    """What was sent, to which topic, and how it ended by the word of a node that subscribes; "": none says."""

    waypoints: Waypoints
    topic: str
    end: str


def play(
    path: str | os.PathLike[str],
    topic: str,
    *,
    patience: float = 10.0,
    wait: bool = True,
    say: Callable[[str], object] = lambda line: None,
) -> Played:
    """Publish the trajectory of a YAML file once; it starts when it arrives. Wait until it has ended.

    Parameters:
        patience: s to wait for a subscriber, for its receipt, and for a node that has no robot or no joint states yet.
        wait: for the end, by the diagnostics of whoever subscribes; else until it is taken.
        say: told what is waited for.

    Raises NotFollowed, with the node's reason; ValueError for a file that is no trajectory, for a topic that nobody
    subscribes to, and where nobody says that it has come; OSError.
    """
    waypoints = read_trajectory(path)
    with visitor("play") as (node, spin):
        try:
            publisher = node.create_publisher(JointTrajectory, topic, 1)
        except Exception as error:  # rclpy has a kind for every part of a name that may be wrong
            raise ValueError(f"topic {topic!r}: {error}") from error
        topic = publisher.topic_name
        say(f"waiting for a subscriber of {topic}")
        end = time.monotonic() + patience
        while not publisher.get_subscription_count():
            if time.monotonic() > end:
                raise ValueError(f"waited {patience:g} s in vain for a subscriber of {topic}{others(node)}")
            time.sleep(LOOK_PERIOD)
        words = Words(node, spin, topic)
        before = words.first()
        latest, end = None, time.monotonic() + patience
        while latest is None:
            publisher.publish(trajectory_message(waypoints))
            if not publisher.wait_for_all_acked(Duration(seconds=patience)):
                raise ValueError(f"no subscriber of {topic} has confirmed that the trajectory has arrived")
            if before is None:
                return Played(waypoints, topic, "")
            say("waiting for the node to take it")
            try:
                latest = words.taken(before)
            except NotReady as error:
                if time.monotonic() > end:
                    raise NotFollowed(f"{error}, after {patience:g} s as well") from None
                say(f"{error}: waiting up to {patience:g} s for it")
                before = words.last()
        if wait and latest:
            say(f"waiting for its end, {waypoints.times[-1]:g} s")
            latest = words.ended(latest)
    return Played(waypoints, topic, latest)


class Words:
    """What the nodes that subscribe to a topic say of trajectories in /diagnostics."""

    def __init__(self, node: Node, spin: Spin, topic: str) -> None:
        self._node, self._spin, self._topic = node, spin, topic
        self._latest: dict[str, dict[str, str]] = {}  # by node: the values of its last report
        self._heard = 0  # reports
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def first(self) -> dict[str, str] | None:
        """The report of the first node that speaks, None where none does."""
        end = time.monotonic() + HEARD
        while not self._latest and time.monotonic() < end:
            self._spin(LOOK_PERIOD)
        return next(iter(self._latest.values()), None)

    def last(self) -> dict[str, str]:
        """The latest report of that node, after `first` had one."""
        return next(iter(self._latest.values()))

    def taken(self, before: dict[str, str]) -> str:
        """Wait until the trajectory is taken; "" where it is not counted, as a set-point.

        Raises NotFollowed, NotReady where the node may take it soon.
        """
        idle = 0
        while idle < IDLE:
            now = self._next()
            idle += now.get(MOTION) != PLANNED
            if now[REFUSED] != before[REFUSED]:
                why = now.get(REFUSAL, NEW)
                raise (NotReady if why in NOT_READY else NotFollowed)(f"refused: {why}")
            if now[TAKEN] != before[TAKEN]:
                return now.get(LATEST, NEW)
        return ""

    def ended(self, latest: str) -> str:
        """Wait for the end. Raises NotFollowed where it comes early."""
        while latest.startswith(UNDER_WAY):
            latest = self._next().get(LATEST, NEW)
        if not latest.startswith(AT_ITS_END):
            raise NotFollowed(latest)
        return latest

    def _next(self) -> dict[str, str]:
        """The next report of the node. Raises NotFollowed where none comes."""
        heard, end = self._heard, time.monotonic() + QUIET
        while self._heard == heard:
            if time.monotonic() > end:
                raise NotFollowed(f"the node has said nothing in /diagnostics for {QUIET:g} s: is it running?")
            self._spin(LOOK_PERIOD)
        return self.last()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        names = {
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"[1:]
            for info in self._node.get_subscriptions_info_by_topic(self._topic)
        }
        for status in message.status:
            name, values = status.name.split(":")[0], {each.key: each.value for each in status.values}
            if name in names and TAKEN in values and (not self._latest or name in self._latest):
                self._latest[name] = values
                self._heard += 1


def trajectory_message(waypoints: Waypoints) -> JointTrajectory:
    """The message; its stamp is zero: at once."""
    message = JointTrajectory(joint_names=list(waypoints.joint_names))
    for k, seconds in enumerate(waypoints.times.tolist()):
        point = JointTrajectoryPoint()
        for name in ("positions", "velocities", "accelerations"):
            row = getattr(waypoints, name)[k].tolist()
            setattr(point, name, [] if any(map(math.isnan, row)) else row)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(seconds * SECOND), SECOND)
        message.points.append(point)
    return message


def others(node: Node) -> str:
    """The end of a sentence about a topic that nobody subscribes to: those of trajectories that somebody does."""
    kind = "trajectory_msgs/msg/JointTrajectory"
    known = node.get_topic_names_and_types()
    names = [name for name, kinds in known if kind in kinds and node.count_subscribers(name)]
    return f"; subscribed are {', '.join(names)}" if names else ": is the node running?"
