# SPDX-License-Identifier: Apache-2.0
"""The memory of nodes in the faults' campaign: what grows is told from what fills once."""

from __future__ import annotations

import os

import numpy as np
import pytest

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")


def _watched(*lives):
    """The memory of a node whose lives are (private MB, LLVM loaded[, settled]) every 10 s."""
    from campaigns.faults.memory import Memory, Sample

    memory = Memory()
    memory.lives = [[Sample(10.0 * k, *sample) for k, sample in enumerate(life)] for life in lives]
    return memory


FLAT = [(60.0 + 0.1 * (k % 3), False) for k in range(30)]
LEAKING = [(60.0 + 0.15 * k, False) for k in range(60)]
FILLED_ONCE = [(60.0 + 20.0 * (k > 20), False) for k in range(30)]
COMPILING = [(60.0 + 40.0 * (k > 20), k > 20) for k in range(30)]
FULL_QUEUES = [(60.0 + 40.0 * (k > 20 and k % 2), False, k % 2 == 0) for k in range(60)]
SELDOM_SETTLED = [(60.0, False, k % 10 == 0) for k in range(60)]


@pytest.mark.parametrize(
    ("lives", "flat"),
    [
        ([FLAT, FLAT], None),
        ([FLAT, FLAT, LEAKING[:17]], None),  # too short
        ([FLAT] * 3, True),
        ([LEAKING] * 3, False),
        ([FLAT, FILLED_ONCE, FLAT], True),
        ([FILLED_ONCE] * 3, False),
        ([COMPILING] * 3, True),
        ([FULL_QUEUES] * 3, True),
        ([SELDOM_SETTLED] * 3, None),
    ],
)
def test_memory_that_grows_is_told_from_what_fills_once(lives, flat):
    memory = _watched(*lives)
    assert memory.flat is flat
    if all(life is LEAKING for life in lives):
        assert memory.slope() == pytest.approx(54.0)


def test_memory_is_measured_of_a_process():
    from campaigns.faults.memory import Memory

    memory = Memory()
    memory.begin()
    memory.measure(os.getpid())
    kept = np.ones(10_000_000)
    memory.measure(os.getpid())
    memory.measure(-1)  # it has ended
    (first, second), *_ = memory.lives
    assert second.private - first.private == pytest.approx(kept.nbytes / 2**20, abs=10.0)
