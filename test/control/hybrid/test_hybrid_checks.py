# SPDX-License-Identifier: Apache-2.0
"""What a step may not find, for a surface that is pressed with a constraint beside it: which row is named, and why."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rbd_dynamics.control.hybrid.checks import HybridChecks
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.multiplier_sensor import Beside

NAMES, TASKS = ["table", "rail"], ["tool.rx", "tool.ry", "tool.x"]


def problem(h=(0.0, 0.0), *, theta=(0.0, 0.0, 0.0), felt=(5.0, 0.0), lacking=0, approaching=False, reach=0.5):
    controller = SimpleNamespace(
        constraints=SimpleNamespace(row_names=NAMES, holonomic=np.ones(2)), task=SimpleNamespace(row_names=TASKS),
        m=2, k=3,
    )  # fmt: skip
    checks = HybridChecks(controller, np.array([True, False]))
    out = SimpleNamespace(h=np.array(h), theta=np.array(theta), rank=5 - lacking)
    return checks.step(out, np.array(felt), HybridLimits(reach=reach), approaching=approaching)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, ""),
        ({"h": (0.029, 0.009)}, ""),  # 10 mm, 30 mm where it is pressed
        ({"h": (0.029, 0.02)}, "rail is off by 0.02"),
        ({"h": (0.2, 0.02)}, "table is off by 0.2 at 5 N"),
        ({"h": (0.2, 0.0), "approaching": True}, ""),  # above the surface
        ({"h": (-0.011, 0.0), "approaching": True}, "no contact where table should be: -0.011"),
        ({"h": (0.0, 0.02), "approaching": True}, "rail is off by 0.02"),
        ({"felt": (-2.0, -51.0)}, "force of rail is -51, more than 50"),
        ({"theta": (0.0, 0.0, -0.6)}, "tool.x = -0.6 is out of reach (0.5)"),
        ({"theta": (2.0, 2.4, 0.0), "reach": 10.0}, ""),
        ({"theta": (2.0, 2.6, 0.0), "reach": 10.0}, "turned by 3.28 rad, more than half a turn"),
        ({"lacking": 1}, "(1 of them)"),
    ],
)
def test_the_row_is_named_that_is_too_far_off(found, says):
    said = problem(**found)
    assert says in said and bool(said) == bool(says)


@pytest.mark.parametrize(
    ("force", "moment", "power", "says"),
    [
        (49.0, 9.9, 19.0, ""),
        (51.0, 0.0, 0.0, "force beside the constraints is 51 N, more than 50"),
        (0.0, 10.1, 0.0, "moment at the tool's point is 10.1 N m, more than 10"),
        (0.0, 0.0, 21.0, "the tool does 21 W on what it touches, more than 20"),
        (0.0, 0.0, -21.0, ""),  # what it touches pushes it
    ],
)
def test_what_is_felt_beside_the_constraints_is_bounded(force, moment, power, says):
    said = HybridChecks.beside(HybridLimits(), Beside(force, moment, power, np.zeros(6)))
    assert says in said and bool(said) == bool(says)
    lower = HybridLimits(largest_side_force=20.0)
    assert bool(HybridChecks.beside(lower, Beside(21.0, 0.0, 0.0, np.zeros(6))))
