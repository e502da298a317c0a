# SPDX-License-Identifier: Apache-2.0
"""Motions that are linear in their coefficients: finite Fourier series, and splines through via points.

Both begin and end at rest, without velocity and acceleration, so that they are played as they are, and once more where
a motion is to be repeated. A motion is q(t) = sum over k of b_k(t) x_k, with coefficients x (count, joints).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

Array = NDArray[np.float64]
LONGEST = 3600.0  # s
MOST_HARMONICS, LEAST_VIA_POINTS, MOST_VIA_POINTS = 50, 3, 200
FINE = 12  # points of the trajectory in a period of the fastest harmonic: the quintics between are exact to 1e-6


@dataclass(frozen=True)
class Fourier:
    """A constant and `harmonics` of one over `period` (s), of which two combinations are spent on the rest at the ends.

    Source: Swevers, Ganseman, Tukel, De Schutter and Van Brussel 1997. Raises ValueError.
    """

    _: KW_ONLY
    period: float = 10.0
    harmonics: int = 5

    def __post_init__(self) -> None:
        check_duration("period", self.period)
        if not (isinstance(self.harmonics, int) and 2 <= self.harmonics <= MOST_HARMONICS):
            raise ValueError(f"harmonics must be from 2 to {MOST_HARMONICS}, got {self.harmonics!r}")

    @property
    def duration(self) -> float:
        return self.period

    @property
    def fastest(self) -> float:
        """The highest frequency in it, Hz."""
        return self.harmonics / self.period

    @property
    def count(self) -> int:
        return 2 * self.harmonics - 1

    @cached_property
    def _combinations(self) -> tuple[Array, Array]:
        """Combinations of the velocities' cosines, and sines, that begin at rest: (harmonics, harmonics - 1) each."""
        orders = np.arange(1.0, self.harmonics + 1.0)
        velocity, acceleration = np.ones((1, self.harmonics)), orders[None, :]
        return scipy.linalg.null_space(velocity), scipy.linalg.null_space(acceleration)

    def matrices(self, times: Array) -> Array:
        """What makes positions, velocities and accelerations at times (N,), s, of coefficients: (3, N, count)."""
        w = 2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        s, c = np.sin(np.multiply.outer(times, w)), np.cos(np.multiply.outer(times, w))
        ones, zeros = np.ones((len(times), 1)), np.zeros((len(times), 1))
        cosines, sines = self._combinations  # of the velocity
        rows = (
            np.hstack([ones, (s / w) @ cosines, (-c / w) @ sines]),
            np.hstack([zeros, c @ cosines, s @ sines]),
            np.hstack([zeros, (-s * w) @ cosines, (c * w) @ sines]),
        )
        return np.array(rows)

    def times(self) -> Array:
        """Times of the points of the trajectory."""
        return np.linspace(0.0, self.period, FINE * self.harmonics + 1)

    def standing(self, q: Array) -> Array:
        """The coefficients of a robot that stands at q (joints,)."""
        found = np.zeros((self.count, len(q)))
        found[0] = q
        return found


@dataclass(frozen=True)
class ViaPoints:
    """A quintic spline through `points` positions at equal distances in time; its coefficients are these positions."""

    _: KW_ONLY
    duration: float = 10.0
    points: int = 8

    def __post_init__(self) -> None:
        check_duration("duration", self.duration)
        if not (isinstance(self.points, int) and LEAST_VIA_POINTS <= self.points <= MOST_VIA_POINTS):
            raise ValueError(f"points must be from {LEAST_VIA_POINTS} to {MOST_VIA_POINTS}, got {self.points!r}")

    @property
    def fastest(self) -> float:
        """One over twice the time between two points, Hz."""
        return (self.points - 1) / (2.0 * self.duration)

    @property
    def count(self) -> int:
        return self.points

    @cached_property
    def _spline(self) -> BSpline:
        rest = [(order, np.zeros(self.points)) for order in (1, 2)]
        knots = np.linspace(0.0, self.duration, self.points)
        return make_interp_spline(knots, np.eye(self.points), k=5, bc_type=(rest, rest))

    def matrices(self, times: Array) -> Array:
        """Matrices as of `Fourier.matrices`."""
        return np.array([self._spline(times, order) for order in range(3)])

    def times(self) -> Array:
        """Times of the trajectory's points: the via points are among them, so that it is this spline exactly."""
        return np.linspace(0.0, self.duration, FINE // 2 * (self.points - 1) + 1)

    def standing(self, q: Array) -> Array:
        """The coefficients of a robot that stands at q (joints,)."""
        return np.tile(q, (self.points, 1))


Basis = Fourier | ViaPoints


def check_duration(what: str, value: float) -> None:
    """Raises ValueError where it is no time in seconds, or one that nobody waits for."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and 0.0 < value <= LONGEST):
        raise ValueError(f"{what} must be a number of seconds, at most {LONGEST:g}, got {value!r}")
