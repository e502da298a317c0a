# SPDX-License-Identifier: Apache-2.0
"""Trajectories are read, planned and checked in a process of their own: here it would hold up the torques.

A thread would not do, for it shares the interpreter's lock. The process is started before torques are wanted, for that
holds the lock for a moment, and ends with the socket to this one, however this one ends. Bytes of a message go in,
coefficients come out in memory that both share.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import os
import pickle
import signal
import socket
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, replace

import numpy as np

from rbd_dynamics.control.motion.goal import Outcome, Wishes
from rbd_dynamics.control.motion.planning import PlanRequest
from rbd_dynamics.control.motion.point_efforts import PointEfforts
from rbd_dynamics.control.motion.trajectory import OverError, Trajectory, TrajectoryError, UnknownJointError
from rbd_dynamics.control.motion.trajectory_goal import GoalMessage, decoded_goal
from rbd_dynamics.control.motion.trajectory_message import Decoder, TrajectoryMessage, decoded
from rbd_dynamics.nodes.process.child import started

NICENESS = 2  # nicer than the loop, but not so nice that a busy machine lets it wait for ever
AT_ONCE = 0.2  # s: a goal of one point at time zero is one in this time
HEAD = struct.Struct("=QQ")  # lengths of what follows: pickled, and raw
ENDED = "the planning process ended: the trajectory is too large for this machine?"


@dataclass(frozen=True)
class Job:
    """raw: the message; empty: the same as in the job before. ticket: tells answers apart. goal: it is one."""

    ticket: int
    request: PlanRequest
    largest: int  # number of points
    takes_over: int  # when, ns: the time from which elapsed counts
    goal: bool = False
    decode: Decoder = decoded  # what reads the message of a topic
    efforts: bool = False  # of points are wanted


@dataclass(frozen=True)
class Answer:
    """The motion, or why there is none."""

    ticket: int
    trajectory: Trajectory | None = None
    problem: str = ""
    stamp: int = 0  # of the message, ns
    outcome: Outcome = "refused"  # of a goal that has a problem
    wishes: Wishes = Wishes()  # of a goal, with the number of its points
    points: int = 0
    efforts_given: bool = False  # with the points
    efforts: PointEfforts | None = None  # that are wanted
    latest: float = 0.0  # s since its start, until which it may be put off: see `PlanRequest.latest`
    took: float = 0.0  # s, the planning alone


class PlanningProcess:
    """Plans one trajectory after the other; a newer one takes the place of one that waits.

    `answer` is None while there is none; whoever reads it puts None there again.
    """

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self._waiting: tuple[Job, bytes] | None = None
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._closed = False

    def start(self) -> None:
        """Have the process ready."""
        self._connection()

    def ask(self, job: Job, raw: bytes) -> None:
        """Returns at once."""
        self._waiting = job, raw
        self.answer = None
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="planning", daemon=True)
            self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._closed = True
        self._wake.set()
        self._end()
        if self._thread is not None:
            self._thread.join()

    # --- in a thread, which spends its time in system calls -------------------------------------------

    def _serve(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closed:
                return
            waiting, self._waiting = self._waiting, None
            if waiting is None:
                continue
            job, raw = waiting
            del waiting
            try:
                answer = self._answer_of(job, raw)
            except (OSError, EOFError):
                self._end()
                answer = Answer(job.ticket, problem=ENDED)
            del raw
            if self._waiting is None:
                self.answer = answer

    def _answer_of(self, job: Job, raw: bytes) -> Answer:
        connection = self._connection()
        pickled = pickle.dumps(job)
        connection.sendall(HEAD.pack(len(pickled), len(raw)) + pickled)
        if raw:
            connection.sendall(raw)
        head, descriptors, *_ = socket.recv_fds(connection, HEAD.size, 1)
        if len(head) < HEAD.size:
            raise EOFError
        length, size = HEAD.unpack(head)
        answer, shape, names = pickle.loads(_received(connection, length))
        if not descriptors:
            return answer
        try:
            memory = mmap.mmap(descriptors[0], size, access=mmap.ACCESS_COPY)
        finally:
            os.close(descriptors[0])
        return replace(answer, trajectory=_unpacked(memory, shape, names))

    def _connection(self) -> socket.socket:
        if self._closed:
            raise EOFError
        if self._socket is None:
            ours, theirs = socket.socketpair()
            with theirs:
                number = theirs.fileno()
                self._process = started(
                    __name__, number, niceness=NICENESS, pass_fds=[number], stdin=subprocess.DEVNULL
                )
            self._socket = ours
        return self._socket

    def _end(self) -> None:
        connection, process, self._socket, self._process = self._socket, self._process, None, None
        if process is not None:
            process.kill()
            process.wait()
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # wakes the thread
            connection.close()


# --- the other process ----------------------------------------------------------------------------


def main(number: int) -> None:
    """Answer jobs until the socket, of that file descriptor, ends."""
    importlib.import_module("scipy.linalg")  # now, not with the first job
    connection = socket.socket(fileno=number)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    message: TrajectoryMessage | GoalMessage | TrajectoryError = TrajectoryError("there is no message")
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            length, size = HEAD.unpack(_received(connection, HEAD.size))
            job: Job = pickle.loads(_received(connection, length))
            if size:
                raw = _received(connection, size)
                try:
                    if job.goal:
                        message = decoded_goal(raw, job.largest)
                    else:
                        message = job.decode(raw, job.largest, positions=True)
                except TrajectoryError as error:
                    message = error
                del raw
            _send(connection, *_worked_out(job, message))


def _worked_out(
    job: Job, message: TrajectoryMessage | GoalMessage | TrajectoryError
) -> tuple[Answer, Trajectory | None]:
    try:
        if isinstance(message, TrajectoryError):
            raise message
        points, answer = message.waypoints, Answer(job.ticket, stamp=message.stamp)
        assert points is not None
        answer = replace(answer, efforts_given=points.efforts is not None)
        if job.efforts:
            answer = replace(answer, efforts=PointEfforts.of(points, job.request.limits.joints))
        if isinstance(message, GoalMessage):
            answer = replace(answer, wishes=message.wishes, points=len(points.times))
            if points.times[-1] <= 0.0:  # a planner's way of saying that the robot is there already
                points = replace(points, times=np.array([AT_ONCE]))
        elapsed = 1e-9 * (job.takes_over - message.stamp) if message.stamp else 0.0
        request, begin = replace(job.request, elapsed=elapsed), time.monotonic()
        trajectory = request.plan(points)
        return replace(answer, latest=request.latest(points), took=time.monotonic() - begin), trajectory
    except TrajectoryError as error:
        outcome: Outcome = "refused"
        if isinstance(error, UnknownJointError):
            outcome = "joints"
        elif isinstance(error, OverError):
            outcome = "over"
        return Answer(job.ticket, problem=str(error), outcome=outcome), None
    except MemoryError:
        return Answer(job.ticket, problem="the trajectory needs more memory than there is"), None


def _send(connection: socket.socket, answer: Answer, trajectory: Trajectory | None) -> None:
    if trajectory is None:
        pickled = pickle.dumps((answer, None, ()))
        connection.sendall(HEAD.pack(len(pickled), 0) + pickled)
        return
    arrays = (trajectory.times, trajectory.first, trajectory.last, trajectory.pieces)
    pickled = pickle.dumps((answer, trajectory.pieces.shape, trajectory.joint_names))
    size = sum(array.nbytes for array in arrays)
    descriptor = os.memfd_create("trajectory")
    try:
        for array in arrays:
            rest = np.ascontiguousarray(array).data.cast("B")
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        socket.send_fds(connection, [HEAD.pack(len(pickled), size)], [descriptor])
        connection.sendall(pickled)
    finally:
        os.close(descriptor)


def _unpacked(memory: mmap.mmap, shape: tuple[int, int, int], names: tuple[str, ...]) -> Trajectory:
    numbers = np.frombuffer(memory)
    segments, _, joints = shape
    ends = np.cumsum([segments + 1, joints, joints])
    times, first, last, pieces = np.split(numbers, ends)
    return Trajectory.of_pieces(names, times, pieces.reshape(shape), first, last)


def _received(connection: socket.socket, count: int) -> bytearray:
    """So many bytes. Raises EOFError where the other side is gone."""
    data = bytearray(count)
    view, place = memoryview(data), 0
    while place < count:
        got = connection.recv_into(view[place:], min(count - place, 1 << 20))
        if not got:
            raise EOFError
        place += got
    return data


def _end_with(parent: int) -> None:
    """End as soon as the parent has ended, also in the middle of a plan."""
    wait = threading.Event()
    while os.getppid() == parent:
        wait.wait(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
