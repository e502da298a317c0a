# SPDX-License-Identifier: Apache-2.0
"""A process that judges files, which may hang it or end it: peers are written in C.

What hangs or ends a process that has judged others before is judged once more by a fresh one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import traceback
from multiprocessing.connection import Connection
from typing import Any

from campaigns.models.files import ModelFile
from campaigns.models.judge import Verdict, judge

SECONDS = 120  # for one file
SECONDS_USED = 20  # in a process that has judged others
MEMORY = 6 << 30  # bytes


def work(pipe: Connection) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain there
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while (file := pipe.recv()) is not None:
        try:
            pipe.send(judge(file.path, file.format))
        except Exception:  # whatever it is, it is a finding
            pipe.send(Verdict("ended", message=traceback.format_exc(limit=-2)[-500:]))


class Worker:
    """One process after another: a new one where the last has died or takes too long."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None

    def judge(self, file: ModelFile) -> Verdict:
        verdict = self._verdict(file)
        if verdict.kind.startswith("refused") and b"<attach" in file.path.read_bytes():
            self.end()  # MuJoCo 4.0 would hang at the next file that has one
        return verdict

    def _verdict(self, file: ModelFile) -> Verdict:
        if self._process is not None:
            verdict = self._judged(file, SECONDS_USED)
            if verdict.kind != "ended":
                return verdict
            self.end()
        self._pipe, other = self._context.Pipe()
        self._process = self._context.Process(target=work, args=(other,), daemon=True)
        self._process.start()
        other.close()
        return self._judged(file, SECONDS)

    def _judged(self, file: ModelFile, seconds: float) -> Verdict:
        message = "the process died"
        with contextlib.suppress(EOFError, OSError):
            self._pipe.send(file)
            if self._pipe.poll(seconds):
                return self._pipe.recv()
            message = f"took more than {seconds:g} s"
        self.end()
        return Verdict("ended", message=message)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
