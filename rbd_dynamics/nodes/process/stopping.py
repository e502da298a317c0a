# SPDX-License-Identifier: Apache-2.0
"""That the process was asked to end: whoever works for long looks here. Asked twice, it does so at once."""

from __future__ import annotations

import threading
import time

ECHO = 0.25  # s: Ctrl-C comes from the terminal and from launch as well, and is one request

stop_requested = threading.Event()
stop_at_once = threading.Event()
_first = 0.0


def request_stop() -> None:
    """A signal has come."""
    global _first
    now = time.monotonic()
    if not stop_requested.is_set():
        _first = now
        stop_requested.set()
    elif now - _first > ECHO:
        stop_at_once.set()
