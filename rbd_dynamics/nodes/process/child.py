# SPDX-License-Identifier: Apache-2.0
"""A Python process beside a node's own, of which it never takes the processor: MODULE's `main`, with these arguments.

    python -m rbd_dynamics.nodes.process.child NICENESS MODULE [ARGUMENT ...]

The module is imported by its name, not run as `__main__`: what is pickled there has the same name here.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import Any


def started(module: str, *arguments: int, niceness: int, **pipes: Any) -> subprocess.Popen[bytes]:
    """Start it with this process's module search path, in a session of its own: a terminal's Ctrl-C is not for it.

    pipes: as of Popen.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONSAFEPATH": "1",  # and not the folder that it happens to run in
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", __name__, *map(str, (niceness, module, *arguments))]
    return subprocess.Popen(command, env=environment, start_new_session=True, **pipes)


def main() -> None:
    """Step back before anything large is imported: the parent may have real-time priority, which it handed down."""
    niceness, module, *arguments = sys.argv[1:]
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(int(niceness))
    importlib.import_module(module).main(*map(int, arguments))


if __name__ == "__main__":
    main()
