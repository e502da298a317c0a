# SPDX-License-Identifier: Apache-2.0
"""The process that reads a description and compiles for it, started by `build_process` alone."""

from __future__ import annotations

import ctypes
import importlib
import operator
import os
import pickle
import resource
import signal
import sys
from os import _exit as end_at_once
from typing import Any, BinaryIO

from rbd_dynamics.compiler import notice
from rbd_dynamics.nodes.building.build_process import Work, parts_of
from rbd_dynamics.nodes.managed.description_text import BuildError, built

LEAST_MEMORY = 1 << 31  # bytes: what it may have on a small machine
_PR_SET_PDEATHSIG = 1


def main(parent: int) -> None:
    """parent: its process id."""
    _end_with(parent)
    _step_back()
    notice.turn_off()  # the node tells of the progress
    own = os.dup(1)
    os.dup2(2, 1)  # whatever libraries print is not one of our messages
    with open(own, "wb", buffering=0) as stream:
        _work(sys.stdin.buffer, stream)
        # nothing is left to be done: no time for taking a large model apart
        end_at_once(0)


def _work(requests: BinaryIO, stream: Any) -> None:
    pickler = pickle.Pickler(stream)  # one for all: it writes down once what several messages share

    def say(*message: Any) -> None:
        pickler.dump(message)

    try:
        module, name, params = pickle.load(requests)
        make = operator.attrgetter(name)(importlib.import_module(module))
        text = requests.read()
        model, _ = built(
            text, params, make, lambda *kernel: say("progress", *kernel), lambda line: say("warning", line)
        )
        Work(text, params, module, name).note_that_it_is_done()
        for part in parts_of(model):
            say(*part)
    except BuildError as error:
        say("failed", str(error))
    except MemoryError:
        say("failed", "robot_description: there is not enough memory for it")


def _end_with(parent: int) -> None:
    """The kernel ends this process when its parent is gone, however that went."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        end_at_once(1)


def _step_back() -> None:
    """Leave memory to those who control robots, and nothing on the disk when it crashes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = max(memory // 2, LEAST_MEMORY)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = min([most, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # who is ended first when memory runs out
    except OSError:
        pass
