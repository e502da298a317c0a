# SPDX-License-Identifier: Apache-2.0
"""Cases of a fuzzing campaign in worker processes, which may hang, grow and die."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import resource
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from campaigns.fuzz.targets import TARGETS, Case, problem_of

MEMORY = 1 << 30  # bytes that a worker may have beyond what it has after its first cases
GROWTH = 400  # MB that one case may add to the peak
MOST_DEATHS = 50  # of workers, for one target


def case_of(seed: int, name: str, number: int) -> Case:
    """The same whenever it is asked for."""
    return TARGETS[name].make(random.Random(f"{seed} {name} {number}"))


def packed(kind: str, case: Case) -> bytes:
    """As it is kept in a file."""
    if kind == "bytes":
        return bytes(case)
    text = json.dumps(case) if kind == "json" else case
    return str(text).encode("utf-8", "surrogatepass")


def unpacked(kind: str, data: bytes) -> Case:
    if kind == "bytes":
        return data
    text = data.decode("utf-8", "surrogatepass")
    return json.loads(text) if kind == "json" else text


def work(pipe: Connection, progress: Any, seed: int, name: str, first: int, stop: int) -> None:
    """Run cases; what is wrong with which is told through the pipe."""
    target = TARGETS[name]
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)  # libraries complain there
    progress[0], progress[1] = first, time.monotonic()
    peak = 0
    for number in range(first, stop):
        case = case_of(seed, name, number)
        progress[0], progress[1] = number, time.monotonic()
        problem = problem_of(target, case)
        if number == first + 20:  # everything is imported
            with open("/proc/self/statm") as file:
                size = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        elif number > first + 20:
            now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if now - peak > GROWTH << 10:
                problem = problem or f"{(now - peak) >> 10} MB"
            peak = max(peak, now)
        if problem:
            pipe.send((number, problem))
    pipe.send((stop, ""))


class Campaign:
    """All cases of a target, in one worker after another."""

    def __init__(self, seed: int, folder: Path | None) -> None:
        self.seed, self.folder = seed, folder
        self.findings: dict[str, list[tuple[int, str]]] = {}
        self._context = multiprocessing.get_context("spawn")

    def run(self, name: str, count: int, first: int = 0) -> None:
        """Numbers from `first` on."""
        at, stop = first, first + count
        for _ in range(MOST_DEATHS):
            at = self._one_worker(name, at, stop)
            if at >= stop:
                return
        raise RuntimeError(f"{name}: {MOST_DEATHS} workers died, the last one at case {at - 1}")

    def _one_worker(self, name: str, first: int, stop: int) -> int:
        """Where the next one has to go on."""
        ours, theirs = self._context.Pipe(duplex=False)
        progress = self._context.Array("d", [float(first), time.monotonic() + 60.0], lock=False)
        process = self._context.Process(target=work, args=(theirs, progress, self.seed, name, first, stop), daemon=True)
        process.start()
        theirs.close()
        done = False
        try:
            while True:
                if ours.poll(0.2):
                    try:
                        number, problem = ours.recv()
                    except EOFError:
                        break
                    if not problem:
                        done = True
                        break
                    self._found(name, number, problem)
                elif not process.is_alive():
                    break
                elif time.monotonic() - progress[1] > 4.0 * TARGETS[name].seconds:
                    self._found(name, int(progress[0]), f"longer than {4 * TARGETS[name].seconds:g} s")
                    break
        finally:
            process.kill()
            process.join()
            ours.close()
        if done:
            return stop
        number = int(progress[0])
        if process.exitcode not in (0, -9):
            self._found(name, number, f"the process died: exit code {process.exitcode}")
        return number + 1

    def _found(self, name: str, number: int, problem: str) -> None:
        known = self.findings.setdefault(name, [])
        known.append((number, problem))
        key = problem.partition(": ")[0]
        if [other.partition(": ")[0] for _, other in known].count(key) > 3:
            return
        print(f"{name} {number}: {problem}", flush=True)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(Exception):
                file = self.folder / f"{name}-{self.seed}-{number}"
                file.write_bytes(packed(TARGETS[name].kind, case_of(self.seed, name, number)))
