# SPDX-License-Identifier: Apache-2.0
"""Arms that several files of tests ask: their kernels take long to compile."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.checks.pressing_arms import ARMS, exported_arm


@pytest.fixture(scope="session", params=ARMS)
def arm(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hybrid") / "arm"
    return exported_arm(request.param, folder, Path(__file__).parent / "hybrid_main.cpp")
