# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot from a recording, segment by segment, with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.control.safety.brakes import falls
from rbd_dynamics.control.terms import GRAVITY
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates, JointStateTopic, Recording
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.cleaning import LARGEST_STEP, Cleaner, Samples
from rbd_dynamics.replay.signals.conventions import FIRST_MESSAGES, SECOND, Conventions
from rbd_dynamics.replay.signals.corrections import corrections
from rbd_dynamics.replay.signals.filtering import LowPass, Piece, SegmentSignals
from rbd_dynamics.replay.signals.followers import Followers
from rbd_dynamics.replay.signals.implausible import Screen
from rbd_dynamics.replay.signals.joining import joined, plan_of
from rbd_dynamics.replay.signals.joint_names import JointNames
from rbd_dynamics.replay.signals.joint_remarks import remark_on_joints, remark_on_topics
from rbd_dynamics.replay.signals.noise import Noise, Uncertainty
from rbd_dynamics.replay.signals.unsaid import angle_unit, numbered_joints
from rbd_dynamics.replay.signals.usual import turns_of
from rbd_dynamics.replay.signals.window import Window, beginning, conventions_in
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Segment:
    """A stretch of motion on a uniform grid; N samples, all numbers in the order of the model.

    A long segment comes in several stretches with the same `number`, each beginning where the last one ended.

    Attributes:
        number: of the segment in the recording, from 0.
        start: of the first sample on the segment's grid.
        stamps: ns, (N,).
        t: time since the recording's first sample, s, (N,); it goes on where a clock was set, as stamps do not.
        q: configurations (N, nq); v, a: velocities and accelerations (N, nv), filtered.
        tau: measured efforts (N, nv), filtered; NaN for joints without.
        tau_raw: measured efforts, not filtered.
        measured: joints (nv,) with a measured effort.
        filled: samples (N,) between messages that were dropped: interpolated over more than one and a half periods.
    """

    number: int
    start: int
    stamps: Stamps
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    tau_raw: Array
    measured: Mask
    filled: Mask

    def __len__(self) -> int:
        return len(self.t)


class Segments:
    """The segments of a recording; iterate over it once. Each iteration reads the recording anew.

    Parameters:
        recording: where from.
        model: the robot. Its joints with one number are matched by name, in any order and with others around; those
            that the recording does not have stay at `settings.positions`, all others at their neutral position.
        settings: how.
        progress: called now and then with the fraction that has been read.

    Attributes:
        topic: where the joint states come from. recorded: what they call the joints.
        conventions: what was decided from the first messages.
        rate: of the samples, Hz; `low_pass`: the filter.
        log: what was noticed; complete when the iteration is.
    """

    def __init__(
        self, recording: Recording, model: Model, *, settings: Settings | None = None, progress: Progress | None = None
    ) -> None:
        self.recording, self.model = recording, model
        self.settings = settings = settings or Settings()
        self._progress = progress
        self.log = Log()
        self._joints = [joint for joint in model.joints if joint.kind.nq == joint.kind.nv == 1]
        self.joint_names = [joint.name for joint in self._joints]
        for name in settings.positions:
            if name not in self.joint_names:
                raise ValueError(f"settings.positions: {unknown('joint', name, self.joint_names)}")
        names = JointNames(
            self.joint_names, settings.joint_map or numbered_joints(recording.meaning, model, self.log), settings.robot
        )
        self.topic: JointStateTopic = recording.choose_topic(
            joints=self.joint_names, topic=settings.topic, robot=settings.robot, names=names.possible()
        )
        self.recorded = names.recorded(self.topic.joints, f"{recording.path}, topic {self.topic.name}")
        self._followers = Followers(model, self.joint_names, self.topic.joints, settings.robot)
        limits = [(x.lower, x.upper, x.velocity, x.effort) for x in (joint.limits for joint in self._joints)]
        self._turns = np.array([turns_of(joint.kind) for joint in self._joints])
        bounds = np.array(limits, dtype=float).reshape(-1, 4)
        first = beginning(self._recorded(FIRST_MESSAGES, Log()), len(self._joints))
        turning = [joint.kind.is_angle for joint in self._joints]
        self._corrections = corrections(
            self.joint_names,
            turning,
            angles=settings.angles or angle_unit(recording.meaning, first.position, bounds[:, :2], turning, self.log),
            effort_scale=settings.effort_scale,
            effort_offsets=settings.effort_offsets,
            delay=settings.delay,
            position_scale=settings.position_scale,
            joint_offsets=settings.joint_offsets,
        )
        self._plan = plan_of(first, self.joint_names, self.log)
        self.conventions: Conventions = conventions_in(
            lambda: self._messages(FIRST_MESSAGES, Log()),
            self.joint_names,
            settings,
            self.log,
            limits=bounds,
            turns=self._turns,
        )
        self.rate = settings.rate if settings.rate is not None else 1.0 / self.conventions.period
        self.low_pass = LowPass(settings.cutoff_at(self.rate), settings.order, self.rate)
        edge = settings.edge if settings.edge is not None else 2.0 / self.low_pass.cutoff
        self.edge = edge + self._corrections.longest  # what a delayed signal lacks at the ends
        self.noise = Noise(len(self._joints))
        self._found = 0  # pieces of the segment
        self._q_index = np.array([joint.q_index for joint in self._joints], dtype=np.intp)
        self._v_index = np.array([joint.v_index for joint in self._joints], dtype=np.intp)
        self._neutral = model.neutral()
        self._held = self._neutral[self._q_index]
        for name, position in settings.positions.items():
            self._held[self.joint_names.index(name)] = position
        self._remark_on_joints()

    def _recorded(self, block: int, log: Log) -> Iterator[JointStates]:
        names = (*self.recorded, *self._followers.names)
        for states in self.recording.joint_states(self.topic.names, names, block=block, log=log):
            yield self._followers.taken_in(states, log)

    def _messages(self, block: int, log: Log) -> Iterator[JointStates]:
        """Messages with all joints, and numbers as the model means them."""
        recorded = self._recorded(block, log)
        for states in recorded if self._plan is None else joined(recorded, self._plan):
            yield replace(states, numbers=self._corrections(states.numbers))

    def __iter__(self) -> Iterator[Segment]:
        log, self.noise = Log(), Noise(len(self._joints))
        for text in self.log.remarks:
            log.remark(text)
        for text in (*self.recording.log.guesses, *self.log.guesses):
            log.guess(text)
        self.log = log
        asked = self._falls if GRAVITY in self.settings.terms else None
        screen = Screen(self.conventions.usual, log, max_gap=self.conventions.max_gap, falls=asked)
        cleaner = Cleaner(self.conventions, self.joint_names, self._turns, self._held, log, screen)
        states = self._messages(self.settings.block, log)
        window = Window(self.settings, self.conventions.first)
        number, origin, signals = -1, 0, None
        self._shift = 0
        for samples in window.of(self._cleaned(states, cleaner, window)):
            if signals is None or samples.segment != number:
                if signals is not None:
                    yield from self._pieces(number, origin, signals.finish(), last=True)
                number, origin, self._shift = samples.segment, int(samples.stamps[0]), samples.shift
                signals = self._signals(origin)
                self._found = 0
            yield from self._pieces(number, origin, signals.feed(samples.stamps, samples.numbers))
        if signals is not None:
            yield from self._pieces(number, origin, signals.finish(), last=True)
        window.check(self.recording.path)
        log.merge(self.recording.log)

    def _pieces(self, number: int, origin: int, pieces: Iterator[Piece], last: bool = False) -> Iterator[Segment]:
        for piece in pieces:
            self._found += 1
            yield self._segment(number, origin, piece)
        if last and not self._found:
            self.log.count("short segments")

    def _cleaned(self, states: Iterator[JointStates], cleaner: Cleaner, window: Window) -> Iterator[Samples]:
        for block in states:
            yield from cleaner.feed(block)
            if self._progress is not None:
                self._progress(block.fraction)
            if window.over:
                break
        yield from cleaner.finish()

    def _signals(self, origin: int) -> SegmentSignals:
        found = self.conventions
        at_rest = ~found.sampled  # their velocity is zero as given
        return SegmentSignals(
            self.low_pass,
            measured=found.velocity | at_rest,
            origin=origin,
            period=found.period,
            largest_step=LARGEST_STEP * found.period,
            edge=int(np.ceil(self.edge * self.rate)),
            block=self.settings.block,
            delay=self._corrections.delay,
        )

    def _segment(self, number: int, origin: int, piece: Piece) -> Segment:
        count = len(piece.filled)
        self.log.samples += count
        self.noise.add(piece)
        stamps = origin + np.rint((piece.start + np.arange(count)) / (self.rate * SECOND)).astype(np.int64)
        q = _placed(piece.signals[0].T, self._q_index, self._neutral)
        still, unknown = np.zeros(self.model.nv), np.full(self.model.nv, np.nan)
        v, a = (_placed(part, self._v_index, still) for part in (piece.velocity.T, piece.acceleration.T))
        tau, raw = (_placed(part, self._v_index, unknown) for part in (piece.signals[2].T, piece.raw[2].T))
        t: Array = np.asarray((stamps - (self.conventions.first - self._shift)) * SECOND, dtype=float)
        return Segment(number, piece.start, stamps, t, q, v, a, tau, raw, self.measured, piece.filled)

    def _falls(self, positions: Array) -> bool:
        """Whether gravity would move the robot there, by the joints whose effort is measured."""
        q = self._neutral.copy()
        q[self._q_index] = positions
        gravity = Robot(self.model).gravity(q)[self._v_index]
        return falls(gravity, self.conventions.effort, self.conventions.usual.slack)

    @property
    def velocity_names(self) -> list[str]:
        """A name for each degree of freedom (nv): the joint's, numbered where it has several."""
        return [
            joint.name if joint.kind.nv == 1 else f"{joint.name}[{k}]"
            for joint in self.model.joints
            for k in range(joint.kind.nv)
        ]

    @property
    def measured(self) -> Mask:
        """Joints (nv,) with a measured effort."""
        mask = np.zeros(self.model.nv, dtype=bool)
        mask[self._v_index] = self.conventions.effort
        return mask

    @property
    def measured_velocities(self) -> list[str]:
        """Joints whose velocity is measured, not differentiated."""
        return [name for name, measured in zip(self.joint_names, self.conventions.velocity) if measured]

    def uncertainty(self) -> Uncertainty:
        """What noise is left in the signals, known after an iteration."""
        gain = [self.low_pass.noise_gain(derivatives=derivatives) for derivatives in range(3)]
        q, v, tau = self.noise.measured(self.low_pass)
        given = self.conventions.velocity
        parts: list[Any] = [
            gain[0] * q,
            np.where(given, gain[0] * v, gain[1] * q),
            np.where(given, gain[1] * v, gain[2] * q),
            np.where(self.conventions.effort, gain[0] * tau, np.nan),
        ]
        found = np.full((4, self.model.nv), np.nan)
        found[:, self._v_index] = np.where(self.conventions.sampled, parts, np.nan)
        return Uncertainty(*found)

    def summary(self) -> dict[str, Any]:
        """What was chosen for this recording, for the report: topic, clock, rates and filter."""
        return {
            "recording": str(self.recording.path),
            "topic": self.topic.name,
            "clock": self.conventions.clock,
            "messages_per_second": 1.0 / self.conventions.period,
            "samples_per_second": self.rate,
            "cutoff": self.low_pass.cutoff,
            "order": self.low_pass.order,
            "edge": self.edge,
            "max_gap": self.conventions.max_gap,
            "differentiated": [
                name
                for name, sampled, measured in zip(
                    self.joint_names, self.conventions.sampled, self.conventions.velocity
                )
                if sampled and not measured
            ],
        }

    def _remark_on_joints(self) -> None:
        named, ours = set(self.topic.joints), {*self.recorded, *self.model.joint_names, *self._followers.names}
        held = [name for name, sampled in zip(self.joint_names, self.conventions.sampled) if not sampled]
        remark_on_joints(
            self.log,
            others=[name for name in self.topic.joints if name not in ours],
            held={
                name: (float(place), recorded in named)
                for name, recorded, place in zip(self.joint_names, self.recorded, self._held)
                if name in held
            },
            silent=[n for n, effort in zip(self.joint_names, self.conventions.effort) if not effort and n not in held],
            complex_=[joint.name for joint in self.model.joints if joint not in self._joints],
        )
        missing = [name for name in self.recorded if name not in named]
        remark_on_topics(self.log, self.topic, self.recording.joint_state_topics(), missing)


def _placed(values: Array, columns: NDArray[np.intp], others: Array) -> Array:
    """(N, n) contiguous, with values (N, k) in these columns and `others` (n,) elsewhere."""
    if len(columns) == len(others) and (np.diff(columns) == 1).all():
        return np.array(values, order="C")
    found: Array = np.tile(others, (len(values), 1))
    found[:, columns] = values
    return found


def segments(
    recording: Recording, model: Model, *, settings: Settings | None = None, progress: Progress | None = None
) -> Segments:
    """The segments of a recording, to iterate over. Raises RecordingError where it does not fit the robot."""
    return Segments(recording, model, settings=settings, progress=progress)
