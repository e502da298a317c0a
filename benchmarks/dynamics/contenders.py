# SPDX-License-Identifier: Apache-2.0
"""The robots and algorithms that are compared, and our calls: of one sample and of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from benchmarks.measuring.timing import Call
from rbd_dynamics.common.example_robots import robots

Array = NDArray[np.float64]
BATCH = 4096


@dataclass(frozen=True)
class Subject:
    """A robot to measure, and the largest ratios wanted of it: to Pinocchio's call, but hybrid to forward dynamics."""

    title: str
    file: str
    base: Literal["fixed", "floating"] = "fixed"
    call: float = 0.7
    mass_matrix: float = 0.7
    hybrid: float | None = None
    batch: float = 0.3


_SMALL = {"call": 0.5, "mass_matrix": 0.9, "hybrid": 1.3, "batch": 0.1}
SUBJECTS = [
    Subject("UR5", "ur5_robot", **{**_SMALL, "batch": 0.05}),
    Subject("Panda with fingers", "panda", **_SMALL),
    Subject("Kinova", "kinova", **_SMALL),
    Subject("Talos", "talos_reduced"),
    Subject("Talos, floating", "talos_reduced", "floating"),
    Subject("iCub", "icub"),
    Subject("Human", "human"),
    Subject("Centauro", "centauro"),
]

ALGORITHMS = ("inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "mass_matrix")


class Case:
    """One robot with states, and our calls on them, all with preallocated results."""

    def __init__(self, subject: Subject) -> None:
        model = rbd.load_urdf(robots()[subject.file], base=subject.base)
        self.robot = rbd.Robot(model)
        self.nv = model.nv
        rng = np.random.default_rng(1)
        self._q = np.stack([model.random(rng) for _ in range(BATCH)])
        self._v, self._a, self._tau = rng.normal(size=(3, BATCH, model.nv))
        self._prescribed = np.arange(model.nv) % 2 == 0

    def call(self, algorithm: str) -> Call:
        """That computes one sample."""
        return self._call(algorithm, *(x[0].copy() for x in (self._q, self._v, self._a, self._tau)), self._prescribed)

    def batch(self, algorithm: str) -> Call:
        """That computes BATCH samples."""
        masks = np.tile(self._prescribed, (BATCH, 1))
        return self._call(algorithm, self._q, self._v, self._a, self._tau, masks)

    def _call(self, algorithm: str, q: Array, v: Array, a: Array, tau: Array, prescribed: NDArray[np.bool_]) -> Call:
        method: Any = getattr(self.robot, algorithm)
        out = np.empty_like(v)
        if algorithm == "mass_matrix":
            out = np.empty((*v.shape, self.nv))
            return lambda: method(q, out=out)
        if algorithm == "hybrid_dynamics":
            pair = out, np.empty_like(out)
            return lambda: method(q, v, a, tau, prescribed, out=pair)
        return lambda: method(q, v, a if algorithm == "inverse_dynamics" else tau, out=out)
