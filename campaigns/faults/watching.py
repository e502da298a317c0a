# SPDX-License-Identifier: Apache-2.0
"""What the nodes publish is taken by one process, with the time at which it was written, and judged by another.

A judge that needs long to explain an effort keeps nobody waiting: nothing is lost meanwhile. What was taken can be
recorded, and judged again.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from campaigns.faults.judging.cartesian_judge import CartesianJudge
from campaigns.faults.judging.hybrid_judge import HybridJudge
from campaigns.faults.judging.judge import KEPT, Judge
from campaigns.faults.judging.waits import Sample, Waits
from campaigns.faults.recording import Look, Recording, recorded
from campaigns.faults.robot import Motion
from campaigns.faults.sender import RING

JUDGES = {"hybrid_controller": HybridJudge, "cartesian_controller": CartesianJudge}
PERIOD = 0.004  # s between two looks
DELAY = 0.5  # s until an effort is judged: what was told of it by other ways is there then
GUARDS_DELAY = 1.0  # s, of the guard's: the node's own has arrived then, on a busy machine too
DOUBT = 5.0  # s, of one that is neither the node's nor safe: what says that it is the node's may come so late
SETTLED = 5.0  # s after which a state counts as not answered
MATCHING = 2.0  # s between a command and the effort that says the same: the node's thread may wait in between
WHOSE = ("pid", "guard's pid")  # events: a process whose threads' waits count from now on
KNOWN = 3  # s for which the node's commands are remembered, to be told from the guard's own
BURST, KEPT_OF_A_BURST = 2.0, 3  # s, violations of a kind that are written down
NICE = 10  # of the judge's process: its verdict may come later


@dataclass
class Arrived:
    """What a look at a node found."""

    now: float  # s, wall clock
    efforts: list[tuple[int, int, bytes]]  # published, stamp (ns), float64
    commands: list[tuple[int, bytes]]  # published, float64
    guarded: list[tuple[int, bytes]]  # those of its guard
    tasks: list[int]  # stamps of its task states
    states: list[int]  # stamps of what was sent to it
    lateness: int  # of their sender, ns
    waits: Sample | None
    guards_waits: Sample | None


class Topics:
    """Of one node and its guard, and the states that are sent to it."""

    def __init__(self, node: Any, kind: str, ring: Any) -> None:
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from rbd_dynamics_interfaces.msg import TaskState

        qos = QoSProfile(depth=5000)

        def ignore(message: Any) -> None:
            """Taken by hand."""

        prefix = f"/{kind}/{kind}"
        self._efforts = node.create_subscription(JointState, f"{prefix}/effort", ignore, qos)
        self._commands = node.create_subscription(Float64MultiArray, f"{prefix}/commands", ignore, qos)
        self._guarded = node.create_subscription(Float64MultiArray, f"/{kind}/guard/commands", ignore, qos)
        self._tasks = node.create_subscription(TaskState, f"{prefix}/task_state", ignore, qos)
        self._ring, self._seen = ring, 0

    @staticmethod
    def _take(subscription: Any) -> Any:
        while True:
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, False)
            if taken is None:
                return
            yield taken[0], taken[1]["source_timestamp"]

    def look(self, waits: Waits, guards_waits: Waits) -> Arrived:
        now = time.time()
        sampled = waits.read(now), guards_waits.read(now)
        efforts = [(at, _stamp(m), np.array(m.effort).tobytes()) for m, at in self._take(self._efforts)]
        commands = [(at, np.array(m.data).tobytes()) for m, at in self._take(self._commands)]
        guarded = [(at, np.array(m.data).tobytes()) for m, at in self._take(self._guarded)]
        tasks = [_stamp(m) for m, _ in self._take(self._tasks)]
        count, seen = int(self._ring[RING]), self._seen
        self._seen = count
        states = [self._ring[k % RING] for k in range(max(seen, count - RING), count)]
        return Arrived(now, efforts, commands, guarded, tasks, states, self._ring[RING + 1], *sampled)


def _stamp(message: Any) -> int:
    """ns"""
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


class Watch:
    """One node: its judge, and which states it has answered."""

    def __init__(self, kind: str, motion: Motion, tell: Any) -> None:
        self.kind = kind
        self._ring = np.zeros(RING + 2, np.int64)
        self.judge = JUDGES.get(kind, Judge)(motion, self._ring, tell)
        self._guards: deque[tuple[int, np.ndarray]] = deque()  # commands of its guard
        self._doubtful: deque[tuple[int, np.ndarray, bool]] = deque()  # of these
        self._sent: dict[bytes, int] = {}  # the node's, and when
        self._waiting: deque[tuple[int, int, np.ndarray]] = deque()  # published, stamp, efforts
        self._alone: deque[tuple[int, np.ndarray]] = deque()  # commands
        self._lateness = 0.0
        self._open: deque[int] = deque()  # stamps sent
        self._answered: set[int] = set()
        self.excused: dict[float, float] = {}  # begin: end
        self.unanswered = self.unanswered_excused = 0
        self.longest_gap = self.longest_gap_excused = 0.0
        self._last = 0

    def look(self, arrived: Arrived, known: int) -> None:
        """known: the time (ns) until which everything that was done to the node is known here."""
        self.judge.waits.add(arrived.waits)
        self.judge.guards_waits.add(arrived.guards_waits)
        self._waiting += [(at, stamp, np.frombuffer(tau)) for at, stamp, tau in arrived.efforts]
        self._alone += [(at, np.frombuffer(command)) for at, command in arrived.commands]
        self._sent |= {command: at for at, command in arrived.commands}
        for at, _, tau in arrived.efforts:  # that say the same as a command which the guard saw and that is lost here
            self._sent.setdefault(tau, at)
        self._guards += [(at, np.frombuffer(command)) for at, command in arrived.guarded]
        for stamp in arrived.tasks:
            self.judge.task_state(stamp)  # type: ignore[attr-defined]
        for stamp in arrived.states:
            self._ring[self._ring[RING] % RING] = stamp
            self._ring[RING] += 1
        self._open += arrived.states
        self._lateness = max(self._lateness, 1e-9 * arrived.lateness)
        self._judge(known - int(DELAY * 1e9))
        self._count_answers(int((arrived.now - SETTLED) * 1e9))

    def _judge(self, before: int) -> None:
        while self._waiting and self._waiting[0][0] < before:
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
        while self._guards and self._guards[0][0] < before - GUARDS_DELAY * 1e9:
            at, command = self._guards.popleft()
            unseen = not any(at - 2 * 10**8 < when <= at for when in list(self._sent.values())[-300:])
            if command.tobytes() in self._sent or unseen or self.judge.is_safe(command, at):
                self.judge.guarded(command, at, self._sent.get(command.tobytes()), unseen)
            else:
                self._doubtful.append((at, command, unseen))
        self._judge_doubtful(before - round(DOUBT * 1e9))
        if len(self._sent) > 4000:
            oldest = before - round((KNOWN + DOUBT) * 1e9)
            self._sent = {command: at for command, at in self._sent.items() if at > oldest}
        while self._alone and self._alone[0][0] < before - MATCHING * 1e9:
            at, command = self._alone.popleft()
            self.judge.command(command, at, alone=True)

    def _judge_doubtful(self, before: int) -> None:
        while self._doubtful and self._doubtful[0][0] < before:
            at, command, unseen = self._doubtful.popleft()
            self.judge.guarded(command, at, self._sent.get(command.tobytes()), unseen)

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

    def _count_answers(self, before: int) -> None:
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
        """All counts, at the end."""
        self._judge_doubtful(2**63)
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


class Verdicts:
    """The watches of all nodes, told of everything in order, live or from a recording."""

    def __init__(self, motions: dict[str, Motion], tell: Callable[[str, dict[str, Any]], None]):
        self._told: dict[tuple[str, str], list[float]] = {}  # when, of each kind of violation
        self._tell = tell
        self.watches = {kind: Watch(kind, motion, partial(self._violation, kind)) for kind, motion in motions.items()}

    def look(self, look: Look) -> None:
        known, events, arrived = look
        for name, at, kind, value in events:
            if kind == "excused":
                self.watches[name].excuse(*value)
            elif name:
                self.watches[name].judge.event(at, kind, value)
        for kind, each in self.watches.items():
            each.look(arrived[kind], known)

    def report(self) -> dict[str, dict[str, Any]]:
        return {name: each.report() for name, each in self.watches.items()}

    def _violation(self, kind: str, violation: dict[str, Any]) -> None:
        told, now = self._told.setdefault((kind, violation["what"][:12]), []), 1e-9 * violation["published"]
        of_this_burst = sum(abs(now - before) < BURST for before in told)
        if of_this_burst < KEPT_OF_A_BURST and len(told) < KEPT:
            told.append(now)
            self._tell(kind, violation)


def watch(
    motions: dict[str, Motion], rings: dict[str, Any], connection: Any, looks: Any, record: Path | None = None
) -> None:
    """Until the event "end". connection: of events (node, time, kind, value); looks: for the judge, None behind."""
    import rclpy

    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node("judge")
    topics = {kind: Topics(node, kind, rings[kind]) for kind in motions}
    waits = {kind: (Waits(), Waits()) for kind in motions}  # of the node and of its guard
    ended, events = 0.0, Events(connection)
    with Recording(record, motions) as recording:
        while not ended or time.monotonic() < ended:
            known, told_of = events.take()
            for name, _, kind, value in told_of:
                if kind == "end":
                    ended = time.monotonic() + SETTLED + 1.0
                elif kind in WHOSE:
                    waits[name][WHOSE.index(kind)].follow(value)
            arrived = {kind: topics[kind].look(*waits[kind]) for kind in motions}
            look = pickle.dumps((known, told_of, arrived))
            recording.write(look)
            looks.put(look)
            time.sleep(PERIOD)
    looks.put(None)
    node.destroy_node()
    rclpy.try_shutdown()


def judge(motions: dict[str, Motion], looks: Any, results: Any) -> None:
    """Of what `watch` took. results: violations (kind, violation) while it goes on, then ("end", report)."""
    os.nice(NICE)
    verdicts = Verdicts(motions, lambda kind, violation: results.put((kind, violation)))
    while (look := looks.get()) is not None:
        verdicts.look(pickle.loads(look))
    share = time.process_time() / (time.time() - min(motion.begin for motion in motions.values()) * 1e-9)
    counts = verdicts.report()
    results.put(("end", {name: {**of_it, "judge's processor": round(share, 3)} for name, of_it in counts.items()}))


def judge_again(record: Path, tell: Callable[[str, dict[str, Any]], None]) -> dict[str, dict[str, Any]]:
    """The counts of a campaign that was recorded, by the judge as it is now. Raises ValueError, OSError."""
    motions, looks = recorded(record)
    verdicts = Verdicts(motions, tell)
    for look in looks:
        verdicts.look(look)
    return verdicts.report()
