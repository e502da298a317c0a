# SPDX-License-Identifier: Apache-2.0
"""Arms that several files of tests ask: their kernels take long to compile."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.checks.exported_arms import POINTING_DOWN, exported_arm


@pytest.fixture(scope="session", params=list(POINTING_DOWN))
def arm(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hybrid") / "arm"
    main = Path(__file__).parent / "hybrid_main.cpp"
    return exported_arm(request.param, folder, main, POINTING_DOWN[request.param])
