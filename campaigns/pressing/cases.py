# SPDX-License-Identifier: Apache-2.0
"""One run: an arm, what it presses on, what the controller is told, and what happens meanwhile."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from campaigns.pressing.arms import random_posture
from campaigns.pressing.plant import Imperfections

Array = NDArray[np.float64]

ENGAGED = 0.3  # s, when it is told to engage
SETTLED = 0.3  # s, for which the force must have come
BEGIN = 0.2  # s, after which something is done
AFTER = 1.5  # s, that a run goes on after the last event
X, Y = 3, 4  # task rows along the surface; 0 to 2 are rotations about the task frame's axes
PATIENCE = 8.0  # s, for it to come, beyond what the approach and the force's rate take


class Event(NamedTuple):
    """time: s, since the force has come. what: see `runs.happen`."""

    time: float
    what: str
    value: Any


@dataclass(frozen=True)
class Case:
    """Angles in rad, lengths in m. What the surface is told to be differs from what it is by `tilt`.

    variant: in words. q: where it begins, `height` above the surface. leaning: of the surface's normal to the tool's
    axis, and about which direction (rad). reach: of the ball beyond the tool's frame. stiffness, wall_stiffness: N/m.
    beyond: another material along x, see `Surface`.
    wall, edge: m from the start along the surface's x axis; None: there is none. tilt, tilted_about: of the surface.
    swing: m and Hz; surface_speed: m/s along the normal. force, largest: N. approach: m/s; slide: m/s, along x towards
    wall or edge. params: of the node, besides. no_states, no_wrenches: spans (s) without them. frozen: s, from when on
    the sensor reads what it read then. seconds: for which it goes on. All times count from when the force has come;
    where it does not come, the case ends after `patience`.
    """

    name: str
    seed: int
    number: int
    _: KW_ONLY
    variant: str = ""
    arm: str = "panda"
    q: tuple[float, ...] = ()
    leaning: tuple[float, float] = (0.0, 0.0)
    reach: float = 0.0
    shape: str = "plane"
    radius: float = 0.3
    stiffness: float = 1e5
    wall_stiffness: float = 1e5
    beyond: tuple[float, float] | None = None
    friction: float = 0.0
    wall: float | None = None
    edge: float | None = None
    tilt: float = 0.0
    tilted_about: float = 0.0
    swing: tuple[float, float] = (0.0, 0.0)
    surface_speed: float = 0.0
    height: float = 0.005
    force: float = 10.0
    largest: float = 50.0
    approach: float = 0.01
    slide: float = 0.0
    params: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    seconds: float = 4.0
    imperfect: Imperfections = field(default_factory=Imperfections)
    no_states: tuple[tuple[float, float], ...] = ()
    no_wrenches: tuple[tuple[float, float], ...] = ()
    frozen: float = np.inf

    @property
    def patience(self) -> float:
        """When the force must have come, s."""
        return ENGAGED + max(0.0, self.height) / self.approach + self.fading + PATIENCE

    @property
    def fading(self) -> float:
        """What the force takes to come, and to fade, s."""
        return self.force / float(self.params.get("force_rate", 20.0))

    def told(self) -> dict[str, Any]:
        """What differs from the defaults, for people."""
        plain = Case(self.name, self.seed, self.number)
        left_out = ("name", "seed", "number", "q", "leaning", "tilted_about")
        found: dict[str, Any] = {}
        for key, value in self.__dict__.items():
            if key not in left_out and value != getattr(plain, key):
                found[key] = value
        if "imperfect" in found:
            standard = Imperfections()
            found |= {k: v for k, v in self.imperfect.__dict__.items() if v != getattr(standard, k)}
            del found["imperfect"]
        if "events" in found:
            found["events"] = "; ".join(f"{e.time:.2f} s {e.what} {_brief(e.value)}" for e in self.events)
        return found


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_brief(each)}" for key, each in value.items())
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(_brief(each) for each in value) + ")"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def common(name: str, seed: int, number: int, rng: np.random.Generator) -> dict[str, Any]:
    """What every class draws: arm, posture, stiffness, friction, force, noise."""
    arms = ("ur5", "ur10", "panda", "kinova", "z1")
    arm = arms[int(rng.integers(len(arms)))]
    force = float(rng.uniform(5.0, 40.0 if arm != "kinova" else 20.0))
    return {
        "arm": arm,
        "q": random_posture(arm, rng, 0.25),
        "leaning": (float(rng.uniform(0.0, 0.35)), float(rng.uniform(0.0, 6.28))),
        "reach": float(rng.choice([0.0, 0.05, 0.12])),
        "stiffness": float(10.0 ** rng.uniform(3.5, 6.0)),
        "friction": float(rng.choice([0.0, 0.1, 0.3, 0.6])),
        "force": force,
        "largest": 50.0 if force < 33.0 else 1.5 * force,
    }
