# SPDX-License-Identifier: Apache-2.0
"""How many processors there are for this process."""

from __future__ import annotations

import os


def usable() -> int:
    """Those that it may use: where it is bound to some, as by `taskset` or in a container, not all of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
