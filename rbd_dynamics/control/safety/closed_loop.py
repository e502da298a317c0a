# SPDX-License-Identifier: Apache-2.0
"""Is feedback of joint positions and velocities stable as it is computed: sampled, late, through slow actuators?

About a posture at rest a robot under tau = -K dq - D v is M dv/dt = tau. The command of a state counts a delay after it
was measured, is held for a period, and goes through actuators that are a lag of first order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
GROWTH = 10.0  # 1/s: what grows no faster is left to friction, which M, K and D do not know
TRIALS = 12  # halvings in the search for a gain
LEAST_SHARE = 0.01  # of gains; less is of no use
AT_EASE = 0.5  # of the largest stable share: there swings die out


class Timing(NamedTuple):
    """How a command comes to act.

    period: s, of states and commands. delay: s, from a measurement to the begin of its command. bandwidth: Hz, of the
    actuators' lag of first order; 0: none.
    """

    period: float
    delay: float = 0.0
    bandwidth: float = 0.0


def growth_rate(M: Array, K: Array, D: Array, timing: Timing) -> float:
    """How fast the fastest of all motions about the posture grows, 1/s; negative where all die out.

    Parameters:
        M: mass matrix (n, n), of rotations and translations, kg m^2 or kg.
        K, D: stiffness and damping of the feedback (n, n), N m/rad and N m s/rad or N/m and N s/m.
        timing: see `Timing`.
    """
    return _rate(np.linalg.eigvals(_step(M, K, D, timing)), timing)


class Instability(NamedTuple):
    """How feedback is unstable.

    rate: how fast the fastest motion grows, 1/s. share: the largest share of K and D that is stable; 0 where none is,
    as of a stiffness without damping. joint: which joint moves most in it.
    """

    rate: float
    share: float
    joint: int


def instability(M: Array, K: Array, D: Array, timing: Timing) -> Instability | None:
    """How feedback is unstable, for the arguments of `growth_rate`; None where it is not, by more than `GROWTH`."""
    values, vectors = np.linalg.eig(_step(M, K, D, timing))
    rate = _rate(values, timing)
    if rate <= GROWTH:
        return None
    joint = int(np.abs(vectors[: len(M), np.abs(values).argmax()]).argmax())
    low, high = 0.0, 1.0
    for _ in range(TRIALS):  # stable shares may have an end below as well: of less stiffness the damping is less yet
        share = 0.5 * (low + high)
        if growth_rate(M, share * K, share * D, timing) <= GROWTH:
            low = share
        else:
            high = share
            if low == 0.0 and share < LEAST_SHARE:
                break
    return Instability(rate, low, joint)


def share_at_ease(M: Array, K: Array, D: Array, timing: Timing, largest: float) -> float:
    """A share of K and D that is stable and not only just so, below the largest one."""
    share = AT_EASE * largest
    return share if growth_rate(M, share * K, share * D, timing) <= GROWTH else largest


def _rate(eigenvalues: NDArray[Any], timing: Timing) -> float:
    return math.log(max(float(np.abs(eigenvalues).max()), 1e-300)) / timing.period


def _step(M: Array, K: Array, D: Array, timing: Timing) -> Array:
    """A period of (q, v, actuators' torque, the commands that are on their way, latest first)."""
    n, period = len(M), timing.period
    late, rest = divmod(timing.delay / period, 1.0)
    periods = int(late) + (1 if rest > 1e-9 else 0)
    size = (3 + periods) * n
    compliance = np.asarray(np.linalg.inv(M), dtype=float)
    command = np.zeros((n, size))
    command[:, :n], command[:, n : 2 * n] = -K, -D
    on_the_way = [command, *(np.eye(size)[(3 + k) * n : (4 + k) * n] for k in range(periods))]
    # up to the begin of the next command an older one acts
    state = np.eye(size)[: 3 * n]
    if rest > 1e-9:
        state = _moved(state, on_the_way[periods], compliance, rest * period, timing.bandwidth)
        state = _moved(state, on_the_way[periods - 1], compliance, (1.0 - rest) * period, timing.bandwidth)
    else:
        state = _moved(state, on_the_way[periods], compliance, period, timing.bandwidth)
    return np.vstack([state, *on_the_way[:periods]])


def _moved(state: Array, u: Array, compliance: Array, h: float, bandwidth: float) -> Array:
    """q, v and actuators' torque after h seconds of the command u; all as rows over what the period began with."""
    n = len(compliance)
    q, v, w = state[:n], state[n : 2 * n], state[2 * n :]
    lag = 1.0 / (2.0 * math.pi * bandwidth) if bandwidth else 0.0
    left = math.exp(-h / lag) if lag else 0.0
    once = lag * (1.0 - left)  # integrals of exp(-t / lag), once and twice
    twice = lag * (h - once)
    return np.vstack([
        q + h * v + compliance @ (twice * w + (0.5 * h * h - twice) * u),
        v + compliance @ (once * w + (h - once) * u),
        left * w + (1.0 - left) * u,
    ])  # fmt: skip
