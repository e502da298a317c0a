# SPDX-License-Identifier: Apache-2.0
"""A recording that is gone over as often as its questions need: what they share, and what was answered so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.signals.segment_store import SegmentStore
from rbd_dynamics.replay.signals.segmentation import Progress, Segment, Segments
from rbd_dynamics.replay.torques.comparison import Prediction, predict
from rbd_dynamics.robot import Robot


class Passes:
    """Goes over a recording several times, with one progress from 0 to 1. count: how often, as far as is known."""

    def __init__(self, count: int, progress: Progress | None) -> None:
        self._left, self._progress, self._done = count, progress, 0.0
        self._first, self._store = True, SegmentStore()

    def one_more(self) -> None:
        """Than there were to be; they share the progress that is left."""
        self._left += 1

    def report(self, fraction: float) -> None:
        """How much of the present pass is done."""
        if self._progress is not None:
            self._progress(self._done + fraction * (1.0 - self._done) / self._left)

    def over(self, found: Segments) -> Iterator[Segment]:
        if self._store.complete:
            yield from self._store.segments(self.report, last=self._left == 1)
        elif self._first and self._left > 1:
            yield from self._store.passing(found)
        else:
            yield from found
        self._done += (1.0 - self._done) / self._left
        self._left, self._first = self._left - 1, False


@dataclass
class Study:
    """What the questions to one recording share.

    Attributes:
        questions: a `Questions`, which this file does not import: a question's file imports this one.
        segments: the motion, which `pass_over` goes over.
        answers: {name of a question: its answer}, of those that have answered.
        free: efforts by the recording's own fit (`FreeTorque`), where the diagnosis knows better than the description.
    """

    robot: Robot
    questions: Any
    segments: Segments
    passes: Passes
    answers: dict[str, Any] = field(default_factory=dict)
    free: Any = None

    @property
    def names(self) -> list[str]:
        """Names of the degrees of freedom."""
        return self.segments.velocity_names

    @property
    def terms(self) -> tuple[str, ...]:
        """What the efforts contain."""
        return self.segments.settings.terms

    @cached_property
    def prepare(self) -> Preparation:
        """Samples of a segment, made once for all that take it."""
        return Preparation(self.robot, self.segments.low_pass, self.terms)

    @cached_property
    def for_identifiers(self) -> dict[str, Any]:
        """Arguments of everything that fits parameters to the motion."""
        return {
            "low_pass": self.segments.low_pass, "terms": self.terms, "prepare": self.prepare,
            "base": BaseErrors(self.robot),
        }  # fmt: skip

    def pass_over(self) -> Iterator[tuple[Segment, Prediction]]:
        """All segments with the model's torques, in a pass that was planned."""
        for segment in self.passes.over(self.segments):
            yield segment, predict(self.robot, segment, terms=self.terms)

    def once_more(self) -> Iterator[tuple[Segment, Prediction]]:
        """The same, in a pass besides those that were planned."""
        self.passes.one_more()
        yield from self.pass_over()

    def segments_once_more(self) -> Iterator[Segment]:
        """The same, without the model's torques."""
        self.passes.one_more()
        yield from self.passes.over(self.segments)
