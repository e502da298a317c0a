# SPDX-License-Identifier: Apache-2.0
"""Every model file at hand, beside other programs that read it. What carries states to MuJoCo is in test/."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "test"))
