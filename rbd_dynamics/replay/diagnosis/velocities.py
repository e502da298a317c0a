# SPDX-License-Identifier: Apache-2.0
"""Measured velocities against the rates of the positions: scale, sign, unit and delay of each joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.findings import Finding
from rbd_dynamics.replay.diagnosis.intervals import estimate_of, interval
from rbd_dynamics.replay.diagnosis.lags import Lags
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.signals.filtering import DIFFERENCE, LowPass
from rbd_dynamics.replay.signals.segmentation import Segment

Array = NDArray[np.float64]

DEGREE = 180.0 / np.pi
SCALE = 0.05  # a scale that is nearer to one is one
UNIT = 0.05  # and so near to a known unit's it is that unit
UNRELATED = 0.5  # of the rate's variance: a velocity that explains less is another signal
STRETCHES = 8
SLOWEST = 1e-3  # rad/s or m/s rms: below, nothing moves
SLOW = 0.03  # likewise: below, a velocity may be mostly noise
MATERIAL = 0.01  # of the velocity's variance: what a delay must explain
EARLIEST = 1e-3  # s: a shorter delay is none
OF_REST, NOTABLE = 0.5, 5e-3  # of what velocity and rate do not share: a delay, s, that is so much of it matters, too


@dataclass(frozen=True)
class _Match:
    """velocity(t + delay) = scale * rate(t), with this squared correlation there and at no delay."""

    scale: float
    delay: float
    share: float
    share_here: float


class VelocityCheck:
    """Takes segments, gives findings.

    Parameters:
        low_pass: of the segments. step: samples between those that are looked at.
        names: {degree of freedom: joint} of those whose velocity is measured.
        places: {degree of freedom: place in q}.
    """

    def __init__(self, low_pass: LowPass, step: int, names: Mapping[int, str], places: Mapping[int, int]) -> None:
        self._lags, self._rate = Lags(low_pass, step), low_pass.rate
        self._names, self._places = dict(names), dict(places)
        columns = np.arange(self._lags.count)
        self._equations = NormalEquations([columns] * len(self._names), self._lags.count)

    def add(self, segment: Segment) -> None:
        """Samples with all lags inside."""
        step = self._lags.step
        rows = np.arange(-segment.start % step, len(segment), step)
        if len(rows) < self._lags.count:
            return
        inner = rows[self._lags.inside]
        good = ~segment.filled[inner] & (inner >= 3) & (inner < len(segment) - 3)
        inner = inner[good]
        for k, dof in enumerate(self._names):
            q = segment.q[:, self._places[dof]]
            rate = self._rate * sum(DIFFERENCE[3 + n] * (q[inner + n] - q[inner - n]) for n in (1, 2, 3))
            lagged = self._lags.of(segment.v[rows, dof])[good]
            self._equations.add(k, segment.stamps[inner], lagged, np.asarray(rate))

    def findings(self) -> list[Finding]:
        """Findings of the joints that move."""
        found: list[Finding] = []
        for k, name in enumerate(self._names.values()):
            parts = [sums for _, part in self._equations.folds(STRETCHES) for sums in [part.totals()[k]]]
            if len(parts) > 2:
                found += self._of(name, np.array(parts), int(self._equations.samples[k]))
        return _together(found)

    def _of(self, name: str, parts: Array, samples: int) -> list[Finding]:
        total = parts.sum(axis=0)
        if not np.sqrt(total[-1, -1] / max(1, samples)) > SLOWEST:
            return []
        match = self._match(total)
        if match is None:
            return []
        others = [other for part in parts if (other := self._match(total - part)) is not None]
        if not match.share >= UNRELATED:
            if not np.sqrt(total[-1, -1] / max(1, samples)) > SLOW:
                return []
            text = f"velocity of {name} is not the rate of its position (correlation {np.sqrt(match.share):.2f})"
            return [Finding("velocity", (name,), text, remedy="--velocity differentiated")]
        found: list[Finding] = []
        low, high = interval(np.array([other.delay for other in others]), match.delay)
        gained = match.share - match.share_here
        most = gained > OF_REST * (1.0 - match.share_here) and abs(match.delay) > NOTABLE
        if (gained > MATERIAL or most) and low * high > 0.0 and abs(match.delay) > EARLIEST:
            found.append(_delay("velocity", name, match.delay, low, high, "its position"))
        estimate = estimate_of("scale", match.scale, np.array([other.scale for other in others]), "")
        low, high = estimate.lower, estimate.upper
        if match.scale < 0.0:
            text = f"velocity of {name} has the opposite sign to the rate of its position (scale {match.scale:.3g})"
            found.append(Finding("velocity sign", (name,), text, remedy="--velocity differentiated", estimate=estimate))
        elif abs(match.scale - 1.0) > SCALE and not low <= 1.0 <= high:
            found.append(_unit(name, match.scale, estimate))
        return found

    def _match(self, total: Array) -> _Match | None:
        weights = self._lags.weights
        moments = total[-1, :-1] @ weights
        squares = np.einsum("lt,lt->t", weights, total[:-1, :-1] @ weights)
        rate = float(total[-1, -1])
        if not rate > 0.0 or not squares.min() > 0.0:
            return None
        shares = moments**2 / (squares * rate)
        best = int(np.argmax(shares))
        delay = peak(shares, self._lags.tried, best)
        return _Match(float(moments[best] / rate), delay, float(shares[best]), float(shares[self._lags.here]))


def peak(values: Array, places: Array, best: int) -> float:
    """Place at which a parabola through the best value and its neighbours has its top."""
    if not 0 < best < len(values) - 1:
        return float(places[best])
    before, at, after = values[best - 1 : best + 2]
    bend = before - 2.0 * at + after
    shift = 0.5 * (before - after) / bend if bend != 0.0 else 0.0
    return float(places[best] + shift * (places[1] - places[0]))


def _unit(name: str, scale: float, estimate: Estimate) -> Finding:
    if abs(scale / DEGREE - 1.0) < UNIT:
        text = f"velocity of {name} is {scale:.3g} times the rate of its position: degrees against radians"
        return Finding("velocity scale", (name,), text, remedy="--velocity differentiated", estimate=estimate)
    if abs(scale * DEGREE - 1.0) < UNIT:
        text = (
            f"position of {name} changes {1.0 / scale:.3g} times as fast as its velocity says: degrees against radians"
        )
        return Finding("degrees", (name,), text, remedy="--angles degrees --velocity differentiated", estimate=estimate)
    text = f"velocity of {name} is {scale:.3g} times the rate of its position"
    return Finding("velocity scale", (name,), text, remedy="--velocity differentiated", estimate=estimate)


def _delay(signal: str, name: str, delay: float, low: float, high: float, against: str) -> Finding:
    estimate = Estimate("delay", delay, (high - low) / 4.0, low, high, "s", True)
    way = "late" if delay > 0.0 else "early"
    text = (
        f"{signal} of {name} is {1e3 * abs(delay):.3g} ms {way} against {against} ({1e3 * low:.3g} to {1e3 * high:.3g})"
    )
    return Finding(f"{signal} delay", (name,), text, remedy=f"--delay {signal}:{name}={delay:.4g}", estimate=estimate)


def _together(found: list[Finding]) -> list[Finding]:
    """One for all joints where several are the same."""
    found = _merged(found)
    told: list[Finding] = []
    for finding in found:
        alike = [other for other in found if _same(finding, other)]
        if len(alike) < 2:
            told.append(finding)
        elif finding is alike[0]:
            names = tuple(name for other in alike for name in other.joints)
            told.append(
                replace(
                    finding,
                    joints=names,
                    text=finding.text.replace(f"of {finding.joints[0]} ", f"of {', '.join(names)} ", 1),
                )
            )
    return told


def _same(one: Finding, other: Finding) -> bool:
    if one.kind != other.kind or one.estimate is None or other.estimate is None or "delay" in one.kind:
        return one is other
    return abs(one.estimate.value - other.estimate.value) < SCALE * abs(one.estimate.value)


def _merged(found: list[Finding]) -> list[Finding]:
    """Findings with one of the delay, where those of several joints agree."""
    late = [finding for finding in found if finding.kind == "velocity delay" and finding.estimate is not None]
    if len(late) < 2:
        return found
    estimates = [finding.estimate for finding in late if finding.estimate is not None]
    median = float(np.median([estimate.value for estimate in estimates]))
    slack = [max(0.2 * abs(median), estimate.upper - estimate.lower) for estimate in estimates]
    alike = [f for f, e, s in zip(late, estimates, slack) if abs(e.value - median) <= s]
    if len(alike) < 2:
        return found
    names = tuple(name for finding in alike for name in finding.joints)
    low = float(np.median([f.estimate.lower for f in alike if f.estimate is not None]))
    high = float(np.median([f.estimate.upper for f in alike if f.estimate is not None]))
    estimate = Estimate("delay", median, (high - low) / 4.0, low, high, "s", True)
    way = "late" if median > 0.0 else "early"
    text = f"velocities of {', '.join(names)} are {1e3 * abs(median):.3g} ms {way} against their positions"
    one = Finding("velocity delay", names, text, remedy=f"--delay velocity={median:.4g}", estimate=estimate)
    return [one, *(finding for finding in found if finding not in alike)]
