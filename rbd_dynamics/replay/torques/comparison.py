# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured torque, joint by joint, in sums that can be merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import TERMS, checked_terms, inverse_dynamics_by_term
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.replay.torques.exact import ExactSums
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

CONSTANT = 1e-6  # of the root mean square: a spread below it is nothing but rounding of the sums
SUMS = ("measured", "predicted", "residual", "measured2", "predicted2", "product", "residual2")


@dataclass(frozen=True)
class Prediction:
    """Torque of the model in the motion of a segment, (N, nv) each.

    Attributes:
        tau: the sum of the chosen terms.
        by_term: all terms by name, chosen or not.
    """

    tau: Array
    by_term: dict[str, Array]


def predict(robot: Robot, segment: Segment, *, terms: Iterable[str] = TERMS) -> Prediction:
    """What the model says of a segment. `robot` must be one without friction, since friction is a term."""
    return Prediction(*inverse_dynamics_by_term(robot, segment.q, segment.v, segment.a, terms))


@dataclass(frozen=True)
class JointComparison:
    """One joint. In N m or N.

    Attributes:
        samples: how many were compared.
        rmse: root of the mean square of measured less predicted.
        nrmse: rmse over the standard deviation of the measured torque: 1 is no better than a constant, 0 perfect, and
            1 - nrmse^2 the share of the variance that the model explains. NaN where the measured torque is constant.
        correlation: Pearson's, of measured and predicted; NaN where one is constant.
        bias: mean of measured less predicted.
        worst: largest absolute value of measured less predicted.
        measured_rms: of the measured torque.
        lowest, highest: of the measured torque.
        terms: {term: root mean square}, of all four, whichever were chosen.
    """

    name: str
    samples: int
    rmse: float
    nrmse: float
    correlation: float
    bias: float
    worst: float
    measured_rms: float
    lowest: float
    highest: float
    terms: dict[str, float]


class Comparison:
    """Accumulates over segments, recordings and workers.

    `merge` is exact: the result is the same, to the last bit, however segments were distributed.

    Parameters:
        joints: names of the degrees of freedom (nv).
        terms: which terms the prediction has.
    """

    def __init__(self, joints: Sequence[str], terms: Iterable[str]) -> None:
        self.joints = tuple(joints)
        chosen = checked_terms(terms)
        self.terms = tuple(name for name in TERMS if name in chosen)
        count = len(self.joints)
        self._samples = np.zeros(count, dtype=np.int64)
        self._sums = ExactSums((len(SUMS) + len(TERMS), count))
        self._worst = np.zeros(count)
        self._lowest = np.full(count, np.inf)
        self._highest = np.full(count, -np.inf)

    def add(self, segment: Segment, prediction: Prediction) -> None:
        """Compare where an effort was measured and no message was missing. Raises ValueError for other joints."""
        if segment.v.shape[1] != len(self.joints):
            raise ValueError(f"the segment has {segment.v.shape[1]} joints, {len(self.joints)} are compared")
        rows = ~segment.filled
        columns = np.flatnonzero(segment.measured)
        if not rows.any() or not len(columns):
            return

        def of(values: Array) -> Array:
            return np.ascontiguousarray(values[:, columns].T if rows.all() else values[np.ix_(rows, columns)].T)

        measured, predicted = of(segment.tau), of(prediction.tau)
        residual = measured - predicted
        parts = [measured.sum(axis=1), predicted.sum(axis=1), residual.sum(axis=1)]
        for x, y in ((measured, measured), (predicted, predicted), (measured, predicted), (residual, residual)):
            parts.append((x * y).sum(axis=1))  # summed pairwise, unlike by einsum
        for name in TERMS:
            term = of(prediction.by_term[name])
            parts.append((term * term).sum(axis=1))
        sums = np.zeros((len(parts), len(self.joints)))
        sums[:, columns] = parts
        self._sums.add(sums)
        self._samples[columns] += measured.shape[1]
        self._worst[columns] = np.maximum(self._worst[columns], np.abs(residual).max(axis=1))
        self._lowest[columns] = np.minimum(self._lowest[columns], measured.min(axis=1))
        self._highest[columns] = np.maximum(self._highest[columns], measured.max(axis=1))

    def merge(self, other: Comparison) -> None:
        """Add what was compared elsewhere. Raises ValueError for other joints or terms."""
        if (self.joints, self.terms) != (other.joints, other.terms):
            raise ValueError(
                f"cannot merge comparisons of {', '.join(self.joints)} ({', '.join(self.terms)}) "
                f"and {', '.join(other.joints)} ({', '.join(other.terms)})"
            )
        self._samples = self._samples + other._samples
        self._sums.merge(other._sums)
        self._worst = np.maximum(self._worst, other._worst)
        self._lowest = np.minimum(self._lowest, other._lowest)
        self._highest = np.maximum(self._highest, other._highest)

    def results(self) -> list[JointComparison]:
        """Results of the joints that were compared, in the model's order."""
        sums = dict(zip((*SUMS, *TERMS), self._sums.values))
        count = np.maximum(self._samples, 1)
        mean = {name: values / count for name, values in sums.items()}
        spread = {
            name: np.sqrt(np.maximum(mean[f"{name}2"] - mean[name] ** 2, 0.0)) for name in ("measured", "predicted")
        }
        for name, values in spread.items():
            values[values < CONSTANT * np.sqrt(mean[f"{name}2"])] = 0.0
        rmse = np.sqrt(mean["residual2"])
        with np.errstate(divide="ignore", invalid="ignore"):
            nrmse = np.where(spread["measured"] > 0.0, rmse / spread["measured"], np.nan)
            covariance = mean["product"] - mean["measured"] * mean["predicted"]
            both = spread["measured"] * spread["predicted"]
            correlation = np.where(both > 0.0, np.clip(covariance / both, -1.0, 1.0), np.nan)
        return [
            JointComparison(
                name,
                int(self._samples[k]),
                float(rmse[k]),
                float(nrmse[k]),
                float(correlation[k]),
                float(mean["residual"][k]),
                float(self._worst[k]),
                float(np.sqrt(mean["measured2"][k])),
                float(self._lowest[k]),
                float(self._highest[k]),
                {term: float(np.sqrt(mean[term][k])) for term in TERMS},
            )
            for k, name in enumerate(self.joints)
            if self._samples[k]
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON, without rounding; `from_dict` is its inverse. "results" is for readers."""
        return {
            "joints": list(self.joints),
            "terms": list(self.terms),
            "results": [asdict(result) for result in self.results()],
            "samples": self._samples.tolist(),
            "sums": self._sums.to_list(),
            "worst": self._worst.tolist(),
            "lowest": [None if x == np.inf else x for x in self._lowest.tolist()],
            "highest": [None if x == -np.inf else x for x in self._highest.tolist()],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        found = cls(data["joints"], data["terms"])
        found._samples = np.array(data["samples"], dtype=np.int64)
        found._sums = ExactSums.from_list(data["sums"])
        found._worst = np.array(data["worst"], dtype=float)
        found._lowest = np.array([np.inf if x is None else x for x in data["lowest"]])
        found._highest = np.array([-np.inf if x is None else x for x in data["highest"]])
        return found
