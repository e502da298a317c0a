# SPDX-License-Identifier: Apache-2.0
"""Arms and walkers whose methods are called."""

from __future__ import annotations

import pytest
from helpers.checks.oracles import BACKENDS

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots


@pytest.fixture(scope="module")
def model() -> rbd.Model:
    return rbd.load_urdf(robots()["ur5_robot"])


@pytest.fixture(scope="module")
def floating() -> rbd.Model:
    return rbd.load_urdf(robots()["bolt"], base="floating")


@pytest.fixture(scope="module", params=BACKENDS)
def robot(request, model) -> rbd.Robot:
    return rbd.Robot(model, backend=request.param)


@pytest.fixture(scope="module", params=BACKENDS)
def walker(request, floating) -> rbd.Robot:
    return rbd.Robot(floating, backend=request.param)
