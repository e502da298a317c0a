# SPDX-License-Identifier: Apache-2.0
"""Torque nodes in closed loop with an arm that shares no code with them: how they begin, take over, hold and reach.

The arm is MuJoCo's; what it is reached with is that of test/.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "test"))
