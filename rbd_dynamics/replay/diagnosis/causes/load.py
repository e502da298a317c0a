# SPDX-License-Identifier: Apache-2.0
"""A load, or inertias other than described: inertial parameters of the last bodies that a joint carries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.replay.diagnosis.causes.base import CauseKind
from rbd_dynamics.replay.identification.samples import JointSamples, Preparation

TIPS = 2  # of a hand any finger tells as much


class Load(CauseKind):
    name = "load"
    words = {"load": "a load, or inertias other than described"}
    yields = True  # it takes away some of what a sign or a scale does

    def size(self, model: Model, dof: int) -> int:
        return 10 * len(_tips(model, dof))

    def columns(self, prepare: Preparation, samples: JointSamples, dof: int) -> NDArray[np.float64]:
        chosen = [k for body in _tips(prepare.robot.model, dof) for k in range(10 * body, 10 * body + 10)]
        return prepare.regressor(samples)[:, dof][:, chosen]


def _tips(model: Model, dof: int) -> list[int]:
    """Last bodies that a degree of freedom carries."""
    return [tip for tip in last_bodies(model) if _carries(model, dof, tip)][:TIPS]


def last_bodies(model: Model) -> list[int]:
    """Bodies that carry no other one: loads are there."""
    parents = {body.parent for body in model.bodies}
    return [tip for tip in range(len(model.bodies)) if tip not in parents]


def _carries(model: Model, dof: int, body: int) -> bool:
    while body != WORLD:
        joint = model.bodies[body].joint
        if joint.v_index <= dof < joint.v_index + joint.kind.nv:
            return True
        body = model.bodies[body].parent
    return False


LOAD = Load()
