# SPDX-License-Identifier: Apache-2.0
"""What keeps joints and robot from going too fast, as the judge has it: by dense algebra, of what it saw answered.

Theory.md section 13. The bound depends on what came before: velocities three answers ago, and what has accelerated the
joints beside their efforts, learnt from one answer to the next.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REACTION = 0.002  # s: twice a cycle, as efforts change at rates; the campaign's sensors and actuators are not late
BEGINS, WHOLE = 0.86, 0.96  # shares of a limit between which braking sets in
DAMPER, ROOM = 0.4 / REACTION, 0.35 / REACTION  # 1/s
HASTE = 0.7  # of a limit
USED = 0.92  # of a limit that an acceleration may lead to
LEARNT, LONGEST = 0.03, 0.05  # s
LOOKED_BACK = 3  # answers
LEAST_SHARE = 0.05  # of an effort limit, left to motion
FORGOTTEN = 1.2  # s: what was learnt before counts no more
SWEEPS, SETTLED = 32, 1e-13  # of Gauss and Seidel, at most; N m, by which one changes nothing any more
EDGE = 1e-6  # share of the room: so near its ends an acceleration may have been cut off


@dataclass(frozen=True)
class Known:
    """What a node knows when an answer is due: s since the last one, velocities `span` s ago, and from outside.

    outside: None where it is not known here, but so that nothing was cut off.
    """

    dt: float
    before: Array
    span: float
    outside: Array | None


@dataclass
class History:
    """Of the answers of one engine, as far as they count. born: stamp, ns.

    After a gap a node knows nothing, unless it was too late with answers meanwhile: it publishes none of these and has
    learnt from their states all the same, by which an acceleration may be within its room: `unseen`.
    """

    born: int = 0
    last: int = 0  # stamp
    _seen: deque[tuple[Array, float]] = field(default_factory=lambda: deque(maxlen=LOOKED_BACK))
    _gap: int = 0  # stamp of the first answer after the last gap
    _outside: Array = field(default_factory=lambda: np.zeros(7))
    _driven: Array = field(default_factory=lambda: np.zeros(7))

    def at(self, stamp: int, v: Array) -> Known:
        passed = 1e-9 * (stamp - self.last) if self.last else 0.0
        dt = min(max(passed, 0.0), LONGEST)
        if passed > LONGEST or not self._seen:  # after a gap nothing is known
            return Known(dt, v, 1.0, np.zeros(7))
        spans = [span for _, span in self._seen]
        span = sum(spans[1:]) + dt
        before = self._seen[0][0]
        if dt <= 0.0 or span <= 0.0:
            return Known(dt, v, 1.0, self._outside)
        share = dt / (dt + LEARNT)
        lacks = (v - before) / span - self._driven - self._outside
        return Known(dt, before, span, self._outside + share * lacks)

    def unseen(self, stamp: int, v: Array) -> Known | None:
        """Where states may have been read of late whose answers nobody saw."""
        gap = stamp if 1e-9 * (stamp - self.last) > LONGEST else self._gap
        if not self.last or 1e-9 * (stamp - gap) > FORGOTTEN:
            return None
        return replace(self.at(stamp, v), outside=None)

    def take(self, stamp: int, v: Array, driven: Array) -> None:
        """An answer, and the acceleration of its efforts."""
        known = self.at(stamp, v)
        if 1e-9 * (stamp - self.last) > LONGEST:
            self._seen.clear()
            self._gap = stamp if self.last else 0
        self._seen.append((v, known.dt))
        assert known.outside is not None
        self._outside, self._driven, self.last = known.outside, driven, stamp

    def copy(self) -> History:
        return replace(self, _seen=self._seen.copy())


@dataclass(frozen=True)
class Robot:
    """Where it is and how it moves, and what its limits are."""

    M: Array
    v: Array
    weight: Array  # N m, that holds it
    speeds: Array
    energy: float  # J
    efforts: Array

    def accelerations(self, tau: Array) -> Array:
        """(..., 7) of torques."""
        return np.asarray(np.linalg.solve(self.M, (tau - self.weight).T).T)

    def torques(self, a: Array) -> Array:
        return np.asarray(self.weight + a @ self.M)

    def ahead(self, known: Known) -> Array:
        """Velocities a reaction time from now."""
        later = self.v + REACTION / known.span * (self.v - known.before)
        return np.where(np.abs(later) > np.abs(self.v), later, self.v)

    def in_haste(self, known: Known) -> bool:
        """Efforts may change as fast as they can."""
        return bool((np.abs(self.ahead(known)) > HASTE * self.speeds).any())

    def room(self, known: Known) -> tuple[Array, Array]:
        """Least and largest accelerations."""
        ahead = self.ahead(known)
        damper = DAMPER * _braking(np.abs(ahead) / self.speeds) * ahead
        least, most = ROOM * (-USED * self.speeds - ahead), ROOM * (USED * self.speeds - ahead)
        return np.minimum(least - np.minimum(damper, 0.0), most), np.maximum(most - np.maximum(damper, 0.0), least)

    def braked(self, tau: Array, known: Known) -> Array:
        """Torques (..., 7) of the law, as far as they leave room; without limits of efforts."""
        ahead, a = self.ahead(known), self.accelerations(tau)
        within = a if known.outside is None else self._within(a, known.outside, self.room(known))
        moved = self.M @ ahead
        twice = float(ahead @ moved)
        if (share := self._of_energy(known)) > 0.0:
            more = np.maximum(within @ moved, 0.0) / twice
            within = within - share * (more[..., None] + DAMPER) * ahead
        return tau + (within - a) @ self.M if np.abs(within - a).any() else tau

    def _within(self, a: Array, outside: Array, room: tuple[Array, Array]) -> Array:
        """Accelerations (..., 7) by efforts of those joints alone that would leave their room: Gauss and Seidel."""
        least, most = room[0] - outside, room[1] - outside
        response = np.linalg.inv(self.M)
        found, held = a.copy(), np.zeros_like(a)
        if ((a >= least) & (a <= most)).all():
            return found
        for _ in range(SWEEPS):
            before = held.copy()
            for k in reversed(range(7)):
                alone = found[..., k] - response[k, k] * held[..., k]
                effort = (np.minimum(np.maximum(alone, least[k]), most[k]) - alone) / response[k, k]
                found += (effort - held[..., k])[..., None] * response[k]
                held[..., k] = effort
            if np.abs(held - before).max() < SETTLED:
                break
        return np.clip(found, least, most)

    def shortened(self, tau: Array) -> Array:
        """Torques (..., 7) within limits, shortened together about those that hold the robot."""
        more = tau - self.weight
        room = np.where(more > 0.0, self.efforts - self.weight, self.efforts + self.weight)
        room = np.maximum(room, LEAST_SHARE * self.efforts)
        with np.errstate(divide="ignore"):
            share = np.minimum(1.0, np.min(room / np.abs(more), axis=-1))[..., None]
        return np.clip(np.where(share < 1.0, self.weight + share * more, tau), -self.efforts, self.efforts)

    def is_free(self, tau: Array, known: Known) -> bool:
        """Nothing has braked the law that gave this torque."""
        if known.outside is None:
            within = np.abs(self.ahead(known)) < BEGINS * self.speeds
        else:
            least, most = self.room(known)
            whole, edge = self.accelerations(tau) + known.outside, EDGE * (most - least)
            within = (whole > least + edge) & (whole < most - edge)
        return bool(within.all() and self._of_energy(known) == 0.0)

    def may_be(self, tau: Array, least: Array, most: Array, known: Known, error: Array) -> bool:
        """Whether a torque (7) within limits may be that of a law whose own is within these bounds.

        error (7): N m, by which the torques are not known that `known.outside`, which is known, was learnt beside.
        """
        bounds = [np.clip(each, -self.efforts, self.efforts) for each in (least, most)]
        if (bounds[0] <= tau).all() and (tau <= bounds[1]).all():
            return True
        assert known.outside is not None
        a, share = self.accelerations(tau), self._of_energy(known)
        slack = np.abs(np.linalg.inv(self.M)) @ error
        cut_off = bool((np.abs(tau) >= (1.0 - 1e-9) * self.efforts).any())
        if share > 0.0:
            a_before = self._with_energy(a, known, share)
            if cut_off or a_before is None:
                return True  # as far as limits of efforts, and the braking that is the whole of it, tell
            return self._unbraked(a_before, 1.0, known, slack, (least, most))
        if not cut_off:
            return self._unbraked(a, 1.0, known, slack, (least, most))
        # it was longer, at most so that the first joint comes to the end of its room
        low, high = self.room(known)
        with np.errstate(divide="ignore"):
            longest = max(1.0, float((np.where(a > 0.0, high - known.outside, low - known.outside) / a).min()))
        return self._unbraked(a, longest, known, slack, (least, most)) or self._unbraked(
            longest * a, 1.0, known, slack, (least, most)
        )

    def _of_energy(self, known: Known) -> float:
        """How much of the braking by energy there is."""
        ahead = self.ahead(known)
        return float(_braking(np.sqrt(0.5 * float(ahead @ self.M @ ahead) / self.energy)))

    def _with_energy(self, a: Array, known: Known, share: float) -> Array | None:
        """Accelerations before their energy was taken, None where they do not tell."""
        ahead = self.ahead(known)
        moved = self.M @ ahead
        twice = float(ahead @ moved)
        power = float(a @ moved) + share * DAMPER * twice
        if power > 0.0 and share > 1.0 - EDGE:
            return None
        more = max(0.0, power) / (1.0 - share) / twice if power > 0.0 else 0.0
        return np.asarray(a + share * (more + DAMPER) * ahead)

    def _unbraked(self, a: Array, longest: float, known: Known, slack: Array, bounds: tuple[Array, Array]) -> bool:
        """Whether joints that accelerate with t a, 1 <= t <= longest, may be braked ones of a law within bounds.

        The effort of a joint that is at an end of its room would have been larger to that side, those of others are
        the law's.
        """
        assert known.outside is not None
        low, high = self.room(known)
        whole = a + known.outside
        slack = slack + EDGE * (high - low)
        least, most = bounds
        least = np.where(whole - low < slack, -np.inf, least)
        most = np.where(high - whole < slack, np.inf, most)
        more = a @ self.M  # t times that, beside the weight
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.sort([(least - self.weight) / more, (most - self.weight) / more], axis=0)
        still = more == 0.0
        if ((least > self.weight) | (most < self.weight))[still].any():
            return False
        return bool(np.max(ends[0][~still], initial=1.0) <= np.min(ends[1][~still], initial=longest))


def _braking(used: Array) -> Array:
    return np.clip((used - BEGINS) / (WHOLE - BEGINS), 0.0, 1.0)
