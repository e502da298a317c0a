# SPDX-License-Identifier: Apache-2.0
"""A signal that comes while a process of ours still imports ends it quietly: nothing has begun that could be left."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from rbd_dynamics.common.node_table import NODES

#: the command line; `cli/program.py` takes the signal over
COMMAND = "rbd_dynamics"


def heed_early_signals() -> None:
    """Let SIGINT and SIGTERM end a process that is one of the nodes or the command, quietly, while it still imports."""
    if threading.current_thread() is not threading.main_thread():
        return
    name = _executable()
    if name in NODES:  # `nodes/process/run.py` takes the signals over
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(0))
    elif name == COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave_command)


def leave_command(*_: object) -> None:
    """End with the exit code that the command has for a signal once it runs."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def _executable() -> str:
    """Name of the executable of this package that runs, as `ros2 run` or `python -m` start it; else empty."""
    started = Path(sys.argv[0]) if getattr(sys, "argv", None) else Path()
    if started.name == COMMAND and started.is_file():  # in whatever folder pip puts it
        return COMMAND
    if started.name != "-m":  # which it is until the module has been found
        return started.name if started.parent.name == "rbd_dynamics" else ""
    module = next((after for before, after in zip(sys.orig_argv, sys.orig_argv[1:]) if before == "-m"), "")
    room, _, name = module.rpartition(".")
    if module == COMMAND:
        return COMMAND
    return name if room == "rbd_dynamics.nodes" else ""
