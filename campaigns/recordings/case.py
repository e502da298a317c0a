# SPDX-License-Identifier: Apache-2.0
"""A recording of a campaign: an arm, how it is and moves, and which causes are injected; all by seed and number."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from campaigns.recordings.arms import ARMS, described, real, with_rotors, without_centres
from campaigns.recordings.causes import CAUSES, Cause, Recorded
from campaigns.recordings.motion import Motion, friction, noise, stop_and_go, swinging, torque

Array = NDArray[np.float64]

SECONDS = 60.0
TORQUE_NOISE, LEAST_NOISE = 0.01, 0.002  # of each joint's torque, and of the largest
VELOCITY_NOISE = 1e-3  # rad/s
#: of these, pairs are made
ALONE = ("", *CAUSES)


@dataclass(frozen=True)
class Case:
    seed: int
    number: int

    def rng(self, what: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.number, what))

    @cached_property
    def arm(self) -> str:
        return list(ARMS)[self.number % len(ARMS)]

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """None, one, or two that go together."""
        round_ = self.number // len(ARMS)
        first = ALONE[(round_ + 7 * (self.number % len(ARMS))) % len(ALONE)]
        if not first:
            return ()
        chosen = [CAUSES[first]]
        if self.rng(1).random() < 0.4:
            others = [c for c in CAUSES.values() if c.name != first and c.goes_with(chosen[0])]
            chosen.append(others[int(self.rng(2).integers(len(others)))])
        return tuple(sorted(chosen, key=lambda cause: list(CAUSES).index(cause.name)))

    # --- the arm ----------------------------------------------------------------------------------

    @cached_property
    def traits(self) -> dict[str, float]:
        """What is so whatever is injected."""
        rng = self.rng(3)

        def often(share: float, value: float) -> float:
            return value if rng.random() < share else 0.0

        return {
            "bodies off": often(0.6, 0.1), "rotors": 1.0 - often(0.5, 1.0), "centres": often(0.25, 1.0),
            "breakaway": 1.0 + often(0.4, 0.4), "by load": often(0.3, 0.02), "stop and go": often(0.35, 1.0),
            "encoder": often(0.5, 2.0 * np.pi / 2**16), "colour": often(0.5, 0.05), "coupled": often(0.4, 0.5),
            "dropped": often(0.3, 0.02), "rate": float(rng.choice([100.0, 125.0, 250.0])),
            "units": often(0.5, 1.0),
        }  # fmt: skip

    @cached_property
    def real(self) -> rbd.Model:
        return real(self.arm, self.rng(4), self.traits["bodies off"])

    @cached_property
    def given(self) -> rbd.Model:
        """The description that the program gets."""
        model = described(self.arm)
        if self.traits["rotors"]:
            model = with_rotors(model, np.array([joint.armature for joint in self.real.joints]))
        if self.traits["centres"]:
            links = self.rng(5).permutation(model.nv)[:2]
            model = without_centres(model, tuple(int(k) for k in links))
        return model

    @cached_property
    def motion(self) -> Motion:
        t = np.arange(int(SECONDS * self.traits["rate"])) / self.traits["rate"]
        kind = stop_and_go if self.traits["stop and go"] else swinging
        return kind(self.real, t, self.rng(6))

    # --- the recording ----------------------------------------------------------------------------

    def recorded(self, *, without: Collection[str] = ()) -> Recorded:
        """Joint states with all causes but these; all else is the same."""
        causes = [cause for cause in self.causes if cause.name not in without]
        model, motion, traits = self.real, self.motion, self.traits
        for cause in causes:
            model = cause.changed(model, self)
        rigid = torque(model, motion)
        effort = rigid + friction(
            model, motion, rigid, self.rng(7), breakaway=traits["breakaway"], by_load=traits["by load"]
        )
        errors = noise(effort.shape, traits["rate"], self.rng(8), colour=traits["colour"], coupled=traits["coupled"])
        rms = np.sqrt(np.square(torque(self.real, motion)).mean(axis=0))
        effort = effort + np.maximum(TORQUE_NOISE * rms, LEAST_NOISE * rms.max()) * errors
        v = motion.v + VELOCITY_NOISE * self.rng(9).normal(size=motion.v.shape)
        step = traits["encoder"]
        found = Recorded(motion.t, step * np.round(motion.q / step) if step else motion.q, v, effort)
        for cause in causes:
            found = cause.recorded(found, self)
        return found.rows(self.rng(10).random(len(found.t)) >= traits["dropped"])

    @property
    def story(self) -> str:
        """For people."""
        traits = ", ".join(f"{name} {value:.3g}" for name, value in self.traits.items() if value)
        causes = ", ".join(f"{cause.name} {cause.told(self)}" for cause in self.causes) or "nothing"
        return f"{self.number} {self.arm}: {causes}; {traits}"
