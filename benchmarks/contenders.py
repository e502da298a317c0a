# SPDX-License-Identifier: Apache-2.0
"""What is compared: one algorithm of one robot, in a call of ours, a call of Pinocchio's and a batch of ours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

import rbd_dynamics as rbd
from benchmarks.timing import Call
from rbd_dynamics.example_robots import robots

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
    """One robot with a state, and the calls on it."""

    def __init__(self, subject: Subject) -> None:
        import pinocchio as pin

        self.subject = subject
        path = robots()[subject.file]
        model = rbd.load_urdf(path, base=subject.base)
        self.robot = rbd.Robot(model)
        self.nv = model.nv
        rng = np.random.default_rng(1)
        self.q = np.stack([model.random(rng) for _ in range(BATCH)])
        self.v, self.a, self.tau = rng.normal(size=(3, BATCH, model.nv))
        self.prescribed = np.arange(model.nv) % 2 == 0
        root = [pin.JointModelFreeFlyer()] if subject.base == "floating" else []
        self._pin = pin
        self._pin_model = pin.buildModelFromUrdf(str(path), *root)
        self._pin_data = self._pin_model.createData()

    def calls(self, algorithm: str) -> dict[str, Call]:
        """Calls that compute one sample, all with preallocated results: ours and, where it has one, Pinocchio's."""
        q, v, a, tau = (x[0].copy() for x in (self.q, self.v, self.a, self.tau))
        robot, nv = self.robot, self.nv
        out, matrix, pair = np.empty(nv), np.empty((nv, nv)), (np.empty(nv), np.empty(nv))
        prescribed = self.prescribed
        ours: dict[str, Call] = {
            "inverse_dynamics": lambda: robot.inverse_dynamics(q, v, a, out=out),
            "forward_dynamics": lambda: robot.forward_dynamics(q, v, tau, out=out),
            "hybrid_dynamics": lambda: robot.hybrid_dynamics(q, v, a, tau, prescribed, out=pair),
            "mass_matrix": lambda: robot.mass_matrix(q, out=matrix),
        }
        return {"ours": ours[algorithm], **self._of_pinocchio(algorithm)}

    def batch(self, algorithm: str) -> Call:
        """A call that computes BATCH samples."""
        out = np.empty((BATCH, self.nv))
        if algorithm == "mass_matrix":
            return partial(self.robot.mass_matrix, self.q, out=np.empty((BATCH, self.nv, self.nv)))
        if algorithm == "hybrid_dynamics":
            masks = np.tile(self.prescribed, (BATCH, 1))
            pair = out, np.empty_like(out)
            return partial(self.robot.hybrid_dynamics, self.q, self.v, self.a, self.tau, masks, out=pair)
        method: Any = getattr(self.robot, algorithm)
        return partial(method, self.q, self.v, self.a, out=out)

    def _of_pinocchio(self, algorithm: str) -> dict[str, Call]:
        """Pinocchio keeps mimic joints as free ones, so it may have a few joints more than we have."""
        pin, model, data = self._pin, self._pin_model, self._pin_data
        q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
        v, a = np.random.default_rng(1).normal(size=(2, model.nv))
        if algorithm == "inverse_dynamics":
            return {"pinocchio": lambda: pin.rnea(model, data, q, v, a)}
        if algorithm == "forward_dynamics":
            return {"pinocchio": lambda: pin.aba(model, data, q, v, a)}
        if algorithm == "mass_matrix":
            return {"pinocchio": lambda: pin.crba(model, data, q)}
        return {}
