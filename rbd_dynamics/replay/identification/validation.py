# SPDX-License-Identifier: Apache-2.0
"""Proof of a fit on what it has not seen: each stretch of a recording in turn is left out, and predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.estimates import Plain
from rbd_dynamics.replay.identification.least_squares import mean_squares
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]
#: from the rest of a recording the deviations from the prior: of the best fit, of what is exported, and of its offsets
FitAll = Callable[[NormalEquations], tuple[Array, Array, Array]]

FOLDS = 4
FEWEST = 4  # stretches, to say what is chance
SLACK, OF_TORQUE = 0.02, 0.002  # of the RMSE before, and of the torque: by so much chance alone may make it larger


@dataclass(frozen=True)
class Validation(Plain):
    """RMSE of each joint on stretches that the fit has not seen, N m or N, (joints,).

    Attributes:
        folds: how many stretches; each was left out once.
        before: with the model as it was given.
        base: with all that was found, whether a description can hold it or not.
        exported: with what the exported description holds.
        with_offsets: with the offsets that stand beside it, too.
        torque: root mean square of the torque.
    """

    joints: tuple[str, ...]
    folds: int
    before: tuple[float, ...]
    base: tuple[float, ...]
    exported: tuple[float, ...]
    with_offsets: tuple[float, ...]
    torque: tuple[float, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """Joints of which the exported description, alone or with its offsets, explains less than the given one."""
        return tuple(
            name
            for name, old, torque, *new in zip(self.joints, self.before, self.torque, self.exported, self.with_offsets)
            if not max(new) <= (1.0 + SLACK) * old + OF_TORQUE * torque  # so that a NaN is worse
        )

    @property
    def score(self) -> float:
        """Mean square of what is left, in that of before: the smaller the better; 1 is no gain.

        With the offsets it counts twice as much as alone: masses that stand in for offsets would be wrong elsewhere.
        """
        before = np.maximum(np.square(self.before), 1e-300)
        alone, beside = (np.mean(np.square(rmse) / before) for rmse in (self.exported, self.with_offsets))
        return float(alone + 2.0 * beside) / 3.0

    def of(self, joint: str) -> tuple[float, float, float, float]:
        """(before, base, exported, with offsets)."""
        k = self.joints.index(joint)
        return self.before[k], self.base[k], self.exported[k], self.with_offsets[k]

    def refusal(self) -> str:
        """Why this is not exported, with the figures; empty where nothing is worse."""
        parts = []
        for name in self.worse:
            before, base, exported, beside = self.of(name)
            parts.append(
                f"{name} {before:.3g} before, {base:.3g} base fit, {exported:.3g} exported, {beside:.3g} with offsets"
            )
        if not parts:
            return ""
        return (
            f"not exported, since it predicts held-out stretches worse than the given model (RMSE): {'; '.join(parts)}"
        )


def validate(equations: NormalEquations, names: Sequence[str], fit: FitAll, *, torque: Array) -> Validation | None:
    """None where there are too few stretches. Joints without samples are left out. torque: of each joint, rms."""
    folds = equations.folds(FOLDS)
    if len(folds) < 2:
        return None
    squares = np.zeros((4, len(equations.columns)))
    for rest, part in folds:
        base, exported, beside = fit(rest)
        for row, values in zip(squares, (np.zeros_like(base), base, exported, beside)):
            row += mean_squares(part, values) * part.samples
    there = equations.samples > 0
    rmse = np.sqrt(squares[:, there] / equations.samples[there])
    joints = tuple(name for name, seen in zip(names, there) if seen)
    return Validation(joints, len(folds), *(tuple(row.tolist()) for row in (*rmse, torque[there])))


def chance(worse: Array, better: Array) -> float:
    """How likely it is by chance that what is left of each stretch (stretches,) falls so much; 1 where it rises."""
    there = (worse > 0.0) & (better > 0.0)
    if there.sum() < FEWEST:
        return 1.0
    ratios = np.log(worse[there] / better[there])
    spread = float(ratios.std(ddof=1))
    if not ratios.mean() > 0.0 or not worse.sum() > better.sum():
        return 1.0
    return float(scipy.stats.t.sf(ratios.mean() / max(spread, 1e-12) * np.sqrt(len(ratios)), len(ratios) - 1))


def chance_of_all(worse: Array, better: Array) -> float:
    """`chance` of what is left of all joints together, (stretches, joints): the products of their squares."""
    return chance(*(np.exp(np.log(np.maximum(left, 1e-300)).mean(axis=1)) for left in (worse, better)))


def joined(parts: Sequence[Validation]) -> Validation | None:
    """Validation of joints that were validated one by one."""
    if not parts:
        return None

    def all_of(name: str) -> Any:
        return tuple(value for part in parts for value in getattr(part, name))

    folds = min(part.folds for part in parts)
    keys = ("before", "base", "exported", "with_offsets", "torque")
    return Validation(all_of("joints"), folds, *(all_of(key) for key in keys))
