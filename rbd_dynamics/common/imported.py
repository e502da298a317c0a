# SPDX-License-Identifier: Apache-2.0
"""The time at which this process began to import the package, before any other file of it was read."""

from __future__ import annotations

import sys
import time

# one that goes on while the machine sleeps, where there is one
_CLOCK = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC
_COARSE = 0.02  # s by which a file system's time may lag
_AT = time.clock_gettime(_CLOCK)


def since_import(changed: float) -> bool:
    """Whether a file that changed then, as `stat` tells, changed after this process began to import the package.

    The clock may have been set meanwhile: machines without a battery learn the time after they have started.
    """
    now = time.time()
    return now - (time.clock_gettime(_CLOCK) - _AT) - _COARSE < changed <= now
