# SPDX-License-Identifier: Apache-2.0
"""A signal that comes while a node's process still imports ends it quietly: nothing has begun that could be left."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

#: executables that spin a node; `nodes/process.py` takes the signals over
NODES = ("dynamics_server", "feedforward", "guard", "hybrid_controller", "monitor", "simulator")


def heed_early_signals() -> None:
    """In a process that is one of the nodes, and in no other: a library leaves its users' signals alone."""
    if _executable() in NODES and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(0))


def _executable() -> str:
    """Of this package, as `ros2 run` or `python -m` start it; empty where it is none."""
    started = Path(sys.argv[0]) if getattr(sys, "argv", None) else Path()
    if started.name != "-m":  # which it is until the module has been found
        return started.name if started.parent.name == "rbd_dynamics" else ""
    module = next((after for before, after in zip(sys.orig_argv, sys.orig_argv[1:]) if before == "-m"), "")
    room, _, name = module.rpartition(".")
    return name if room == "rbd_dynamics.nodes" else ""
