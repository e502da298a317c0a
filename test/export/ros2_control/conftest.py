# SPDX-License-Identifier: Apache-2.0
"""Arms that several files of tests ask: their kernels take long to compile, and so it is done once a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.checks.exported_arms import POINTING_DOWN, exported_arm


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A folder that all processes of this run share."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "exported"


@pytest.fixture(scope="session", params=list(POINTING_DOWN))
def arm(request, exported):
    return exported_arm(
        request.param, exported, Path(__file__).parent / "hybrid_main.cpp", POINTING_DOWN[request.param]
    )
