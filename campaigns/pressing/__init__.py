# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control in closed loop with arms that share no code with it. Plants are those of test/."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "test"))
