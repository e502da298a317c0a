# SPDX-License-Identifier: Apache-2.0
"""Is feedback of joint positions and velocities stable as it is computed: sampled, late, through slow actuators?

About a posture at rest a robot under tau = -K dq - D v is M dv/dt = tau. The command of a state counts a delay after it
was measured, is held for a period, and goes through actuators that are a lag of first order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
GROWTH = 5.0  # 1/s: what grows no faster is left to friction, which M, K and D do not know
TRIALS = 20  # halvings in the search for a gain


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
    radius = float(np.abs(np.linalg.eigvals(_step(M, K, D, timing))).max())
    return math.log(max(radius, 1e-300)) / timing.period


def instability(M: Array, K: Array, D: Array, timing: Timing) -> tuple[float, float]:
    """By how much feedback is too strong: its growth rate (1/s), and the largest share of K and D that is stable.

    (0, 1) where all of it is; a share of 0 where none is, as of a stiffness without damping.
    """
    rate = growth_rate(M, K, D, timing)
    if rate <= GROWTH:
        return 0.0, 1.0
    low, high = 0.0, 1.0
    for _ in range(TRIALS):
        share = 0.5 * (low + high)
        if growth_rate(M, share * K, share * D, timing) <= GROWTH:
            low = share
        else:
            high = share
    return rate, low


def _step(M: Array, K: Array, D: Array, timing: Timing) -> Array:
    """A period of (q, v, actuators' torque, the commands that are on their way, latest first)."""
    n, period = len(M), timing.period
    late, rest = divmod(timing.delay / period, 1.0)
    periods = int(late) + (1 if rest > 1e-9 else 0)
    size = (3 + periods) * n
    compliance = np.linalg.inv(M)
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
