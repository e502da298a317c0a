# SPDX-License-Identifier: Apache-2.0
"""How a recording is processed: all of it in one place, to be written beside the results."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, fields
from typing import Any, Literal

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.joint_numbers import check_offsets, check_scale
from rbd_dynamics.control.terms import WITHOUT_FRICTION, checked_terms
from rbd_dynamics.replay.reading import Recording
from rbd_dynamics.replay.reading.tables.given import checked_columns
from rbd_dynamics.replay.signals.corrections import check_delays
from rbd_dynamics.replay.signals.joint_names import check_joint_map

Clock = Literal["auto", "header", "received"]
Velocity = Literal["auto", "measured", "differentiated"]
Angles = Literal["radians", "degrees"]
LARGEST_BLOCK = 1 << 20  # messages
LARGEST_CUTOFF = 0.45  # of the sample rate
DEFAULT_CUTOFF = 5.0  # Hz


@dataclass(frozen=True)
class Settings:
    """Settings of a replay. Raises ValueError that names the one that is wrong.

    Parameters:
        topic: of the joint states, or several that name some of the joints each; None: the one that names most of the
            robot's joints and has efforts.
        robot: its name, where several are recorded: the namespace of its topics, the name in its description, or what
            its joints' names begin with.
        joint_map: {name in the recording: joint of the robot}, where they differ.
        start, end: the stretch to use, s since the recording's first sample; None: from its beginning, to its end.
            Nothing outside counts, as if it had not been recorded, but that times stay what they are.
        clock: "header" stamps of the messages, when they were "received", or "auto": header unless they stand still.
        rate: of the uniform grid, Hz; None: that of the messages (one over the median of their distances).
        cutoff: of the low-pass filter, Hz: the frequency of which half the amplitude is left after both passes; None:
            5 Hz, but at most a fifth of the rate.
        order: of the Butterworth filter in one pass; it goes forth and back, so the result has no phase.
        velocity: "measured", "differentiated" from positions, or "auto": joint by joint, measured where there are any.
        max_gap: distance of two messages, s, up to which the motion between is interpolated; None: the larger of five
            periods and 50 ms. Farther apart, a new segment starts.
        edge: time that is left out at both ends of a segment, s, where the filter has not settled; None: 2 / cutoff.
        reorder_window: how far a stamp may lie behind an earlier one and be sorted in, s; farther back, the clock
            was reset and a new segment starts.
        terms: which terms of the equation of motion the measured efforts have in them: "inertia", "coriolis",
            "gravity", "spring", "friction". Many robots report efforts from which they took gravity or friction.
        positions: of joints that the recording does not have, rad or m; zero where none is given.
        angles: unit of positions and velocities of joints that turn: "radians", or "degrees"; None: radians, but what a
            table says, or what the robot's limits say of a table that does not.
        effort_scale: by which efforts are multiplied, one for all or {joint: number}: N m per ampere where currents
            were recorded, -1 where the sign is turned.
        effort_offsets: {joint: N m or N} to subtract from efforts once they are scaled.
        position_scale: {joint: number} by which positions and velocities are multiplied: -1 where an axis is turned.
        joint_offsets: {joint: rad or m} to add to positions then, where a joint's zero is not that of the description.
        delay: {"effort" or "velocity": s, or {joint: s}}, by how much these signals are late against the positions.
        columns: of a table: {"time", "position", "velocity" or "effort": the name of a column or of an array, a pattern
            with {} where the joint stands, numbers of columns, or {joint: column}}, each with a unit in brackets.
        block: messages read, and samples handed out, at a time: memory grows with it and nothing else.
    """

    _: KW_ONLY
    topic: str | tuple[str, ...] | None = None
    robot: str | None = None
    joint_map: Mapping[str, str] = field(default_factory=dict)
    start: float | None = None
    end: float | None = None
    clock: Clock = "auto"
    rate: float | None = None
    cutoff: float | None = None
    order: int = 4
    velocity: Velocity = "auto"
    max_gap: float | None = None
    edge: float | None = None
    reorder_window: float = 0.5
    terms: tuple[str, ...] = WITHOUT_FRICTION
    positions: Mapping[str, float] = field(default_factory=dict)
    angles: Angles | None = None
    effort_scale: float | Mapping[str, float] = 1.0
    effort_offsets: Mapping[str, float] = field(default_factory=dict)
    position_scale: Mapping[str, float] = field(default_factory=dict)
    joint_offsets: Mapping[str, float] = field(default_factory=dict)
    delay: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)
    columns: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    block: int = 16384

    def __post_init__(self) -> None:
        _among("clock", self.clock, ("auto", "header", "received"))
        _among("velocity", self.velocity, ("auto", "measured", "differentiated"))
        if isinstance(self.topic, (list, tuple)) and all(isinstance(name, str) for name in self.topic):
            object.__setattr__(self, "topic", self.topic[0] if len(self.topic) == 1 else tuple(self.topic) or None)
        elif not isinstance(self.topic, str | None):
            raise ValueError(f"topic must be a text, got {excerpt(self.topic)}")
        if not isinstance(self.robot, str | None):
            raise ValueError(f"robot must be a text, got {excerpt(self.robot)}")
        check_joint_map(self.joint_map)
        object.__setattr__(self, "joint_map", dict(self.joint_map))
        for name in ("rate", "cutoff", "max_gap"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and value > 0.0):
                raise ValueError(f"{name} must be a positive number, got {excerpt(value)}")
        for name in ("edge", "reorder_window", "start", "end"):
            value = getattr(self, name)
            if not (value is None and name != "reorder_window") and not (_is_number(value) and value >= 0.0):
                raise ValueError(f"{name} must be a number of seconds, got {excerpt(value)}")
        if self.end is not None and not self.end > (self.start or 0.0):
            raise ValueError(f"end must be after start, got start {self.start or 0.0:g} s and end {self.end:g} s")
        if not (isinstance(self.order, int) and 1 <= self.order <= 10):
            raise ValueError(f"order must be from 1 to 10, got {excerpt(self.order)}")
        if not (isinstance(self.block, int) and 16 <= self.block <= LARGEST_BLOCK):
            raise ValueError(f"block must be from 16 to {LARGEST_BLOCK} messages, got {excerpt(self.block)}")
        if not isinstance(self.terms, Collection) or isinstance(self.terms, str):
            raise ValueError(f"terms must be a list of terms, got {excerpt(self.terms)}")
        checked_terms(self.terms)
        object.__setattr__(self, "terms", tuple(self.terms))
        if not isinstance(self.positions, Mapping):
            raise ValueError(f"positions must be {{joint: position}}, got {excerpt(self.positions)}")
        for joint, position in self.positions.items():
            if not _is_number(position):
                raise ValueError(f"position of joint {excerpt(joint)} is {excerpt(position)}")
        object.__setattr__(self, "positions", dict(self.positions))
        if self.angles is not None:
            _among("angles", self.angles, ("radians", "degrees"))
        check_scale("effort_scale", self.effort_scale)
        check_offsets("effort_offsets", self.effort_offsets)
        check_offsets("joint_offsets", self.joint_offsets, "rad or m")
        check_offsets("position_scale", self.position_scale, "number")
        check_scale("position_scale", self.position_scale)
        check_delays(self.delay)
        object.__setattr__(self, "columns", checked_columns(self.columns))

    def opened(self, recording: Recording | str | os.PathLike[str]) -> Recording:
        """A recording, read as these settings say. Raises RecordingError."""
        if isinstance(recording, Recording):
            return recording
        return Recording(recording, columns=self.columns, rate=self.rate)

    def cutoff_at(self, rate: float) -> float:
        """The cutoff in Hz for signals of a rate. Raises ValueError where the rate is too low for it."""
        if self.cutoff is None:
            return min(DEFAULT_CUTOFF, rate / 5.0)
        if self.cutoff > LARGEST_CUTOFF * rate:
            raise ValueError(
                f"cutoff of {self.cutoff:g} Hz is too high for {rate:g} samples per second: "
                f"at most {LARGEST_CUTOFF * rate:.3g} Hz"
            )
        return self.cutoff

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON; `from_dict` is the inverse."""
        topic = list(self.topic) if isinstance(self.topic, tuple) else self.topic
        return {**asdict(self), "terms": list(self.terms), "topic": topic}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """Raises ValueError for a setting that there is not."""
        known = [entry.name for entry in fields(cls)]
        for name in data:
            if name not in known:
                raise ValueError(f"unknown setting {excerpt(name)}; known: {', '.join(known)}")
        return cls(**data)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Raises ValueError, also for what is no JSON."""
        return cls.from_dict(json_of(text))


def json_of(text: str) -> dict[str, Any]:
    """The dictionary that a JSON text holds. Raises ValueError."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("too many lists and dictionaries inside each other") from None
    if not isinstance(data, dict):
        raise ValueError(f"expected a dictionary of settings, got {excerpt(data)}")
    return data


def _is_number(value: Any) -> bool:
    """Real and finite as a float."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _among(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {excerpt(value)}, must be one of {', '.join(choices)}")
