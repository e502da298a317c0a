# SPDX-License-Identifier: Apache-2.0
"""What an effort depends on besides the state, and what was sent to change it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.judging.desired import Desired
from campaigns.faults.robot import LIMITS, Oracle, Payload

Array = NDArray[np.float64]

LATEST = 10  # changes of a kind that are told apart


@dataclass(frozen=True)
class Settings:
    """Parameters that count."""

    kp: tuple[float, ...] = (50.0,)
    kd: tuple[float, ...] = (5.0,)
    effort_limits: tuple[float, ...] = ()
    evaluate_at: str = "measured"
    law: str = "feedforward"
    terms: tuple[str, ...] = ("inertia", "coriolis", "gravity")
    share: float = 1.0  # of the damping that is in use; of the stiffness its square

    @property
    def limits(self) -> Array:
        return np.broadcast_to(np.array(self.effort_limits), 7) if self.effort_limits else LIMITS

    @property
    def gains(self) -> tuple[Array, Array]:
        """(kp, kd) in use."""
        return self.share**2 * np.array(self.kp), self.share * np.array(self.kd)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which joints nothing draws to where they are wanted (7)."""
        return np.broadcast_to(np.array(self.kp) == 0.0, 7)

    def limited(self, model: Oracle, q: Array, v: Array, desired: Desired, stamp: int) -> Array:
        return np.clip(self.torque(model, q, v, desired, stamp)[0], -self.limits, self.limits)

    def torque(self, model: Oracle, q: Array, v: Array, desired: Desired, stamp: int) -> tuple[Array, float]:
        """Without limits, and the size of its terms."""
        w = desired.at(stamp)
        kp, kd = self.gains
        feedback = kp * (w.q - q) + kd * (w.v - v)
        a = w.a
        if self.law == "computed_torque":
            a, feedback = a + feedback, np.zeros(7)
        at_q, at_v = (w.q, w.v) if self.evaluate_at == "desired" else (q, v)
        tau = model.torque(
            at_q,
            at_v if "coriolis" in self.terms else np.zeros(7),
            a if "inertia" in self.terms else np.zeros(7),
        )
        scale = max(1.0, float(np.abs(tau).max()), float(np.abs(feedback).max()))
        if "gravity" not in self.terms:
            gravity = model.gravity(at_q)
            scale = max(scale, float(np.abs(gravity).max()))
            tau = tau - gravity
        return tau + feedback, scale


@dataclass(frozen=True)
class Situation:
    """All that an effort depends on besides the state."""

    robot: str = "panda"
    payload: Payload | None = None
    settings: Settings = field(default_factory=Settings)
    desired: Desired | None = None  # None: a hold that is not known yet


@dataclass
class Change:
    """One that was sent. part: of a Situation; "points": a trajectory; "anew": of a node that starts again."""

    part: str
    value: Any
    time: float  # s, when it was sent
    published: int = 0  # efforts until then


def with_changes(known: Settings, changes: list[Change]) -> list[Settings]:
    """These settings, and what they become by changes: all of the first ones, the last ones first, then some."""
    some, all_of_them, together = [known], [], known
    for k, change in enumerate(change for change in changes if change.part == "settings"):
        together = replace(together, **change.value)
        all_of_them.append(together)
        if k < LATEST:
            some += [replace(each, **change.value) for each in some[:4]]
    return [known, *all_of_them[: -LATEST - 1 : -1], *some[1:]]


def still_to_come(changes: list[Change], settings: Settings) -> list[Change]:
    """Without those of settings that have come, and those before them of the same parameters: they come in order."""
    left: list[Change] = []
    known: set[str] = set()  # parameters of which a later change has come
    for change in reversed(changes):
        if change.part == "settings":
            if replace(settings, **change.value) == settings:
                known |= change.value.keys()
            if change.value.keys() <= known:
                continue
        left.append(change)
    return left[::-1]
