# SPDX-License-Identifier: Apache-2.0
"""Whether a cause could be told by one who knows everything else: the true arm, and all causes but this one.

What such a one sees is the cause's own signal in noise. A regression of what the arm without the cause leaves, on that
signal beside offset and friction of each joint, predicts stretches that it was not fitted to better than without it.
"""

from __future__ import annotations

import numpy as np
import scipy.stats
from numpy.typing import NDArray

import rbd_dynamics as rbd
from campaigns.recordings.case import Case
from campaigns.recordings.causes import Cause, Contact, NoEfforts, Recorded
from campaigns.recordings.motion import REVERSES, Motion, friction, torque

Array = NDArray[np.float64]

STRETCHES, LEVEL, MATERIAL = 8, 0.01, 0.1  # of what is left
MOVES, CLEAR = 0.06, 5.0  # rad/s; deviations


def could_tell(case: Case, cause: Cause) -> bool:
    """Motion that is wrong stands against the positions, where it always can, unless only efforts can tell."""
    if cause.by_efforts:
        return _moves_torques(case, cause)
    if cause.motion or cause.name == "wraps":
        return True
    with_it, without = case.recorded(), case.recorded(without=(cause.name,))
    kept = np.isin(case.motion.t, with_it.t)
    v = case.motion.v[kept]
    model = case.real
    for other in case.causes:
        model = other.changed(model, case) if other.name != cause.name else model
    known = _known(case, model)
    if isinstance(cause, Contact):
        return any(
            _stands_out(
                without.effort[:, k] - known[kept, k], (with_it.effort - without.effort)[:, k], np.abs(v[:, k]) > MOVES
            )
            for k in cause.joints(case)
        )
    return any(
        _tells(without.effort[:, k] - known[kept, k], (with_it.effort - without.effort)[:, k], v[:, k])
        for k in cause.joints(case)
    )


def _known(case: Case, model: rbd.Model) -> Array:
    """Torques (N, nv) of an arm with its friction, without noise."""
    rigid, traits = torque(model, case.motion), case.traits
    return rigid + friction(
        model, case.motion, rigid, case.rng(7), breakaway=traits["breakaway"], by_load=traits["by load"]
    )


def _moves_torques(case: Case, cause: Cause) -> bool:
    """Whether what the torques of the true arm change by at the positions that are told stands out of noise.

    A zero about a vertical axis changes none. Joints whose efforts are not recorded say nothing.
    """
    motion, without = case.motion, case.recorded(without=[other.name for other in case.causes])
    kept = np.isin(motion.t, without.t)
    told = cause.recorded(Recorded(motion.t, motion.q, motion.v, np.zeros_like(motion.q)), case)
    there, here = (
        torque(case.real, Motion(motion.t, x.q, x.v, np.gradient(x.v, motion.t, axis=0))) for x in (told, motion)
    )
    noise, signal, v = without.effort - _known(case, case.real)[kept], (here - there)[kept], motion.v[kept]
    silent = {k for other in case.causes if isinstance(other, NoEfforts) for k in other.joints(case)}
    return any(_tells(noise[:, k], signal[:, k], v[:, k]) for k in range(case.real.nv) if k not in silent)


def _stands_out(noise: Array, signal: Array, moves: NDArray[np.bool_]) -> bool:
    """Whether what does not last is far larger than the rest, in a joint that moves: at rest friction takes it up."""
    there = (np.abs(signal) > 0.5 * np.abs(signal).max()) & moves
    return bool(there.any() and np.abs(signal[there]).mean() > CLEAR * noise.std())


def _tells(noise: Array, signal: Array, v: Array) -> bool:
    """noise (N,): what is left without the cause. signal (N,): what the cause adds."""
    if not np.abs(signal).max() > 0.0:
        return False
    usual = np.column_stack([np.ones(len(v)), np.tanh(v / REVERSES), v])
    seen = noise + signal
    worse, better = [], []
    for part in np.array_split(np.arange(len(v)), STRETCHES):
        rest = np.setdiff1d(np.arange(len(v)), part)
        for columns, left in ((usual[:, 1:], worse), (np.column_stack([usual[:, 1:], signal]), better)):
            x = np.linalg.lstsq(columns[rest], seen[rest], rcond=None)[0]
            left.append(float(np.square(seen[part] - columns[part] @ x).mean()))
    ratios = np.log(np.array(worse) / np.array(better))
    if not sum(better) < (1.0 - MATERIAL) * sum(worse):
        return False
    spread = max(float(ratios.std(ddof=1)), 1e-12)
    return bool(scipy.stats.t.sf(ratios.mean() / spread * np.sqrt(STRETCHES), STRETCHES - 1) < LEVEL)
