# SPDX-License-Identifier: Apache-2.0
"""Measurements. They share plants with the tests: the package `rigs` of test/."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))
