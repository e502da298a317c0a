# SPDX-License-Identifier: Apache-2.0
"""The hybrid controller against MuJoCo: a Panda presses with 10 N while its tool follows a circle."""

from __future__ import annotations

import pytest
from helpers.wide import table

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
pytestmark = pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data")

IDEAL = [title for title, case in pressing.CASES.items() if not (case.friction or case.wrong or any(case.noise))]
DISTURBED = [title for title in pressing.CASES if title not in IDEAL]


@pytest.mark.parametrize("title", table(IDEAL, lambda title: "sphere" in title))
def test_force_and_path_without_disturbance(title):
    run = pressing.press(pressing.CASES[title])
    mean, largest = run.force_error
    assert mean < 0.005 and largest < 0.02
    assert run.tracking_error < 1e-4


@pytest.mark.parametrize("title", DISTURBED)
def test_force_and_path_with_friction_noise_and_wrong_inertias(title):
    run = pressing.press(pressing.CASES[title])
    mean, largest = run.force_error
    assert mean < 0.04 and largest < 0.15
    assert run.tracking_error < 4e-3
