# SPDX-License-Identifier: Apache-2.0
"""What was noticed on the way from a recording to its signals: counted events, and remarks; for the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

#: events and what they mean, in the order of a report
EVENTS = {
    "undecodable messages": "not a joint state, or one whose numbers do not fit its names",
    "lost messages": "known to the recording, but not readable",
    "damaged parts": "stretches of a file that were skipped",
    "messages without a stamp": "left out",
    "messages without positions": "left out",
    "partial messages": "without some of the compared joints; their positions are held for the other joints",
    "reordered messages": "sorted by stamp",
    "duplicate stamps": "first message kept",
    "implausible stamps": "far from both neighbours': messages left out",
    "clock resets": "the clock was set, back or on: a new segment starts, its time goes on where the last one ended",
    "NaN positions": "messages left out, as if they had been dropped",
    "NaN velocities": "messages left out, as if they had been dropped",
    "NaN efforts": "messages left out, as if they had been dropped",
    "implausible positions": "beyond what the joint can do, or single ones far from both neighbours: messages left out",
    "implausible velocities": "the same",
    "implausible efforts": "the same",
    "state jumps": "no velocity explains them, as where a simulator is reset: a new segment starts",
    "braked stretches": "the robot stands without efforts where it would fall: left out, a new segment starts",
    "dropped messages": "bridged by interpolation, samples marked as filled",
    "gaps": "too long to bridge: a new segment starts",
    "short segments": "left out",
}


@dataclass
class Log:
    """Counts of events (of `EVENTS`) and remarks in plain words.

    Attributes:
        messages: joint states read, with those that were left out afterwards.
        samples: samples handed out, at the settings' rate.
        events: {event: count}.
        guesses: what something was taken for that nobody said; each once, and told before all else.
        remarks: what a reader of the results should know; each once.
    """

    _: KW_ONLY
    messages: int = 0
    samples: int = 0
    events: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)

    def count(self, event: str, *, number: int = 1) -> None:
        """Note `number` events. Raises KeyError for one that there is not."""
        if event not in EVENTS:
            raise KeyError(f"unknown event {event!r}")
        if number:
            self.events[event] += int(number)

    def remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def guess(self, text: str) -> None:
        if text not in self.guesses:
            self.guesses.append(text)

    def merge(self, other: Log) -> None:
        """Add what was noticed elsewhere."""
        self.messages += other.messages
        self.samples += other.samples
        self.events.update(other.events)
        for text in other.remarks:
            self.remark(text)
        for text in other.guesses:
            self.guess(text)

    @property
    def warnings(self) -> list[str]:
        """Everything in plain words: guesses first, then what was `noticed`."""
        return [*self.guesses, *self.noticed]

    @property
    def noticed(self) -> list[str]:
        """Remarks, then events in the order of `EVENTS`."""
        counted = [
            f"{self.events[event]} {event} ({meaning})" for event, meaning in EVENTS.items() if self.events[event]
        ]
        return [*self.remarks, *counted]

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON; `from_dict` is the inverse."""
        return {
            "messages": self.messages,
            "samples": self.samples,
            "events": dict(self.events),
            "remarks": list(self.remarks),
            "guesses": list(self.guesses),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Log:
        counts = {"messages": data["messages"], "samples": data["samples"], "events": Counter(data["events"])}
        return cls(**counts, remarks=list(data["remarks"]), guesses=list(data.get("guesses", ())))
