# SPDX-License-Identifier: Apache-2.0
"""What identifiers find in recordings, and how often their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.models.robots import FILES, shared_robot
from helpers.paths import RECORDINGS
from helpers.recorded.exciting import RATE, stamps_of
from rbd_dynamics.model import Model
from rbd_dynamics.replay import Segment

SEEDS = range(6)
needs_data = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="needs the recording of a Panda")
needs_files = pytest.mark.skipif("ur5_robot" not in FILES, reason="needs example-robot-data")


def found_by(identifier, parts):
    for part in parts:
        identifier.add(part)
    return identifier.results()


def resting(model: Model, poses: np.ndarray, noise: float = 0.01, time: float = 1.0) -> list[Segment]:
    """A segment of the robot at rest in each pose (poses, nv); efforts with that noise."""
    rng = np.random.default_rng(2)
    found, count = [], int(time * RATE)
    for k, pose in enumerate(poses):
        q = np.tile(pose, (count, 1)) + 2e-5 * rng.normal(size=(count, model.nv))
        v, a = 1e-4 * rng.normal(size=(2, count, model.nv))
        tau = shared_robot(model).gravity(q) + noise * rng.normal(size=(count, model.nv))
        t = (k * count + np.arange(count)) / RATE
        measured, filled = np.ones(model.nv, dtype=bool), np.zeros(count, dtype=bool)
        found.append(Segment(k, 0, stamps_of(t), t, q, v, 100.0 * a, tau, tau, measured, filled))
    return found


class Coverage:
    """How often intervals hold the truth, how many errors values are off, and how wide intervals are."""

    def __init__(self) -> None:
        self.inside: list[bool] = []
        self.off: list[float] = []
        self.widths: dict[str, list[float]] = {}

    def note(self, estimate, truth: float) -> None:
        assert estimate.identifiable, estimate
        self.inside.append(estimate.covers(truth))
        self.off.append((estimate.value - truth) / estimate.error)
        self.widths.setdefault(estimate.name, []).append(estimate.upper - estimate.lower)

    def check(self) -> None:
        assert 0.85 <= np.mean(self.inside) <= 1.0
        assert 0.7 < np.sqrt(np.mean(np.square(self.off))) < 1.4  # so errors are neither too small nor too large


def note_friction(coverage: Coverage, joints, model: Model, offset: np.ndarray) -> None:
    for k, (joint, truth) in enumerate(zip(joints, model.joints)):
        coverage.note(joint.offset, offset[k])
        coverage.note(joint.coulomb, truth.friction)
        coverage.note(joint.viscous, truth.damping)
