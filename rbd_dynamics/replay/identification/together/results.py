# SPDX-License-Identifier: Apache-2.0
"""What goes into a fit over many recordings, and what comes out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.payload import Load

SHARE = 0.05  # of the squares that are left: what takes away less does not help


@dataclass(frozen=True)
class Recorded:
    """A recording.

    Parameters:
        name: unique. robot: which one of its kind it is of.
        frame: where it carries a load; empty: it carries none. load: which; None: an unknown one.
        of: name of an unknown load, the same in all recordings that carry it; empty: one of its own.
    """

    name: str
    robot: str
    _: KW_ONLY
    frame: str = ""
    load: Load | None = None
    of: str = ""

    @property
    def unknown(self) -> str:
        """Name of its unknown load; empty: none."""
        return (self.of or self.name) if self.frame and self.load is None else ""


@dataclass(frozen=True)
class HeldOut(Plain):
    """A recording that was left out; mean squares of what predictions leave, (joints,).

    Attributes:
        before: by the description. after: by all that was found in the others.
        own: by that, with friction and offsets of its own: the best that the others' inertias can do.
        without: by all that was found in the others but one kind of parameters, by name; of inertias as `own`, so that
            friction of others is no part of it.
        torque: mean squares of the torque.
        load: "none", "known", "from others", or "its own": fitted to the recording itself, since no other carries it.
    """

    recording: str
    robot: str
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    own: NDArray[np.float64]
    without: dict[str, NDArray[np.float64]]
    torque: NDArray[np.float64]
    load: str

    def share(self, squares: NDArray[np.float64]) -> float:
        """RMSE in the RMS torque, over all joints that have one."""
        there = self.torque > 0.0
        return float(np.sqrt(np.mean(squares[there] / self.torque[there]))) if there.any() else float("nan")


@dataclass(frozen=True)
class Transfer(Plain):
    """Whether what was found in other recordings helps to predict one.

    Attributes:
        name: "inertias", "friction of the robot", "friction of other robots", "offsets of the robot", "offsets of other
            robots" or "load".
        before, after: RMSE in the RMS torque, over all recordings that were left out: by all that was found in the
            others but this, and by all; of inertias with friction of their own.
        helped: in how many of `recordings`.
    """

    name: str
    before: float
    after: float
    helped: int
    recordings: int

    @property
    def transfers(self) -> bool:
        """Whether it takes away some of the squares, in more than half of the recordings."""
        return self.after**2 < (1.0 - SHARE) * self.before**2 and 2 * self.helped > self.recordings


@dataclass(frozen=True)
class RobotFriction(Plain):
    """Friction of one robot's joint."""

    robot: str
    joint: str
    offset: Estimate
    coulomb: Estimate
    viscous: Estimate


@dataclass(frozen=True)
class FoundLoad(Plain):
    """An unknown load: kg, and its centre in the frame, m."""

    name: str
    frame: str
    mass: Estimate
    com: tuple[Estimate, ...]


@dataclass(frozen=True)
class TogetherResult(Plain):
    """Result of all recordings together.

    Attributes:
        base: base parameters that all robots share; `prior` as in the given model.
        friction: of each robot. loads: that were unknown.
        held_out: each recording, left out in turn; none where there is one only.
        transfers: what of it helps other recordings.
    """

    recordings: tuple[str, ...]
    joints: tuple[str, ...]
    base: tuple[Estimate, ...]
    prior: tuple[float, ...]
    friction: tuple[RobotFriction, ...]
    loads: tuple[FoundLoad, ...]
    held_out: tuple[HeldOut, ...]
    transfers: tuple[Transfer, ...]
    terms: tuple[str, ...]

    def transfer(self, name: str) -> Transfer | None:
        """Transfer of that name; None where no recording could tell."""
        return next((found for found in self.transfers if found.name == name), None)
