# SPDX-License-Identifier: Apache-2.0
"""The judge's process: takes what the nodes publish, with the time at which it was written, and judges it on line."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter, deque
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.faults.cartesian_judge import CartesianJudge
from benchmarks.faults.hybrid_judge import HybridJudge
from benchmarks.faults.judge import KEPT, Judge
from benchmarks.faults.robot import Motion
from benchmarks.faults.sender import RING

JUDGES = {"hybrid_controller": HybridJudge, "cartesian_controller": CartesianJudge}
PERIOD = 0.004  # s between two looks
DELAY = 0.5  # s until an effort is judged: what was told of it by other ways is there then
GUARDS_DELAY = 1.0  # s, of the guard's: the node's own has arrived then, on a busy machine too
SETTLED = 5.0  # s after which a state counts as not answered
MATCHING = 2.0  # s between a command and the effort that says the same: the node's thread may wait in between
KNOWN = 3  # s for which the node's commands are remembered, to be told from the guard's own
TURN = 0.05  # s of judging at a time: in between all that has arrived is taken, before the reader's queue is full


class Watch:
    """One node: its topics, its judge, and which states it has answered."""

    def __init__(self, node: Any, kind: str, motion: Motion, ring: Any, tell: Any) -> None:
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from rbd_dynamics_interfaces.msg import TaskState

        self.kind = kind
        self.judge = JUDGES.get(kind, Judge)(motion, ring, tell)
        qos = QoSProfile(depth=5000)

        def ignore(message: Any) -> None:
            """Taken by hand."""

        prefix = f"/{kind}/{kind}"
        self._efforts = node.create_subscription(JointState, f"{prefix}/effort", ignore, qos)
        self._commands = node.create_subscription(Float64MultiArray, f"{prefix}/commands", ignore, qos)
        self._guarded = node.create_subscription(Float64MultiArray, f"/{kind}/guard/commands", ignore, qos)
        self._guards: deque[tuple[int, np.ndarray]] = deque()  # its commands
        self._sent: dict[bytes, int] = {}  # the node's, and when
        self._tasks = node.create_subscription(TaskState, f"{prefix}/task_state", ignore, qos)
        self._waiting: deque[tuple[int, int, np.ndarray]] = deque()  # published, stamp, efforts
        self._alone: deque[tuple[int, np.ndarray]] = deque()  # commands
        self._ring, self._seen = ring, 0
        self._lateness = 0.0
        self._open: deque[int] = deque()  # stamps sent
        self._answered: set[int] = set()
        self.excused: dict[float, float] = {}  # begin: end
        self.unanswered = self.unanswered_excused = 0
        self.longest_gap = self.longest_gap_excused = 0.0
        self._last = 0

    @staticmethod
    def _take(subscription: Any) -> Any:
        while True:
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, False)
            if taken is None:
                return
            yield taken[0], taken[1]["source_timestamp"]

    def look(self, known: int) -> None:
        """known: the time (ns) until which everything that was done to the node is known here."""
        now = time.time()
        self.judge.waits.sample(now)
        self.judge.guards_waits.sample(now)
        for message, published in self._take(self._efforts):
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            self._waiting.append((published, stamp, np.array(message.effort)))
        for message, published in self._take(self._commands):
            self._alone.append((published, np.array(message.data)))
            self._sent[self._alone[-1][1].tobytes()] = published
        for message, published in self._take(self._guarded):
            self._guards.append((published, np.array(message.data)))
        for message, _ in self._take(self._tasks):
            self.judge.task_state(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)  # type: ignore[attr-defined]
        self._judge(known - int(DELAY * 1e9))
        self._count_answers()

    def behind(self, time_ns: int) -> bool:
        """Whether there is more to judge of what was published before this time."""
        return any(queue and queue[0][0] < time_ns for queue in (self._waiting, self._guards, self._alone))

    def _judge(self, before: int) -> None:
        turn = time.monotonic() + TURN
        while self._waiting and self._waiting[0][0] < before:
            if time.monotonic() > turn:
                before = self._waiting[0][0]  # commands of what is judged
                break
            published, stamp, tau = self._waiting.popleft()
            first = self._command_of(tau, published)
            self.judge.effort(stamp, tau, first)
            self._answered.add(stamp)
            if self._last:
                gap, middle = 1e-9 * (published - self._last), 1e-9 * published
                if self._is_excused(middle - gap, middle):
                    self.longest_gap_excused = max(self.longest_gap_excused, gap)
                else:
                    self.longest_gap = max(self.longest_gap, gap)
            self._last = published
        turn = time.monotonic() + TURN
        while self._guards and self._guards[0][0] < before - GUARDS_DELAY * 1e9 and time.monotonic() < turn:
            at, command = self._guards.popleft()
            unseen = not any(at - 2 * 10**8 < when <= at for when in list(self._sent.values())[-300:])
            self.judge.guarded(command, at, self._sent.get(command.tobytes()), unseen)
        if len(self._sent) > 4000:
            oldest = (self._guards[0][0] if self._guards else before) - KNOWN * 10**9
            self._sent = {command: at for command, at in self._sent.items() if at > oldest}
        while self._alone and self._alone[0][0] < before - MATCHING * 1e9:
            at, command = self._alone.popleft()
            self.judge.command(command, at, alone=True)

    def _command_of(self, tau: np.ndarray, published: int) -> int:
        """When the command was written that says the same as this effort (which goes out after it); those before it
        had no effort. The effort's own time where there is none."""
        content, found = tau.tobytes(), -1
        for k, (at, command) in enumerate(self._alone):
            if at > published:
                break
            if command.tobytes() == content and published - at < MATCHING * 1e9:
                found = k  # the last one: the next is written after this effort
        if found < 0:
            return published
        for k in range(found + 1):
            at, command = self._alone.popleft()
            self.judge.command(command, at, alone=k < found)
        return at

    def _count_answers(self) -> None:
        count = int(self._ring[RING])
        self._lateness = max(self._lateness, 1e-9 * self._ring[RING + 1])
        for k in range(max(self._seen, count - RING), count):
            self._open.append(self._ring[k % RING])
        self._seen = count
        before = time.time_ns() - int(SETTLED * 1e9)
        while self._open and self._open[0] < before:
            stamp = self._open.popleft()
            if stamp in self._answered:
                self._answered.discard(stamp)
            elif self._is_excused(1e-9 * stamp, 1e-9 * stamp):
                self.unanswered_excused += 1
            else:
                self.unanswered += 1
        if len(self._answered) > 20_000:
            self._answered = {stamp for stamp in self._answered if stamp >= before}

    def _is_excused(self, begin: float, end: float) -> bool:
        return any(first <= end and begin <= last for first, last in self.excused.items())

    def excuse(self, begin: float, end: float) -> None:
        """Between these times (s) states may stay unanswered; `end` may be told later."""
        self.excused[begin] = end
        while len(self.excused) > 100:
            del self.excused[next(iter(self.excused))]

    def report(self) -> dict[str, Any]:
        return {
            **asdict(self.judge.counts),
            "unanswered": self.unanswered,
            "unanswered while faults stopped it": self.unanswered_excused,
            "largest delay of the sender, s": round(self._lateness, 4),
            "longest gap, s": round(self.longest_gap, 4),
            "longest gap while faults stopped it, s": round(self.longest_gap_excused, 4),
        }


class Events:
    """What a campaign tells, received by a thread: whoever tells it never waits for a verdict."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._received = connection, deque[tuple[str, float, str, Any]]()
        self._known = 0
        threading.Thread(target=self._receive, name="events", daemon=True).start()

    def take(self) -> tuple[int, list[tuple[str, float, str, Any]]]:
        """(the time in ns until which all is known, what has come since the last call)."""
        known = self._known
        return known, [self._received.popleft() for _ in range(len(self._received))]

    def _receive(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                now = time.time_ns()
                while self._connection.poll():
                    self._received.append(self._connection.recv())
                self._known = now
                self._connection.poll(PERIOD)


def watch(kinds: list[str], motions: dict[str, Motion], rings: dict[str, Any], connection: Any, results: Any) -> None:
    """Until the event "end". connection: of events (node, time, kind, value); results: violations, then a report."""
    import rclpy

    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node("judge")
    told: Counter[tuple[str, str]] = Counter()

    def tell(kind: str, violation: dict[str, Any]) -> None:
        what = kind, violation["what"][:12]
        told[what] += 1
        if told[what] <= KEPT:
            results.put((kind, violation))

    watches = {
        kind: Watch(node, kind, motions[kind], rings[kind], lambda violation, kind=kind: tell(kind, violation))
        for kind in kinds
    }
    ended, last, events = 0.0, 0, Events(connection)  # last: no fault comes after this time, ns
    busy, begin = time.process_time(), time.monotonic()
    while not ended or time.monotonic() < ended or any(each.behind(last) for each in watches.values()):
        known, told_of = events.take()
        for name, at, kind, value in told_of:
            if kind == "end":
                ended, last = time.monotonic() + SETTLED + 1.0, time.time_ns()
            elif kind == "excused":
                watches[name].excuse(*value)
            elif kind == "report":
                results.put(("report", {name: each.report() for name, each in watches.items()}))
            else:
                watches[name].judge.event(at, kind, value)
        for each in watches.values():
            each.look(known)
        time.sleep(PERIOD)
    share = (time.process_time() - busy) / (time.monotonic() - begin)
    results.put(
        ("end", {name: {**each.report(), "judge's processor": round(share, 3)} for name, each in watches.items()})
    )
    node.destroy_node()
    rclpy.try_shutdown()
