# SPDX-License-Identifier: Apache-2.0
"""For how long the kernel kept a process's threads waiting for a processor: on a busy machine that is between a node's
last look at the clock and the write, where no node can see it. Its own thread waits, or the one that holds the
interpreter's lock, without which its own cannot go on."""

from __future__ import annotations

from collections import deque
from pathlib import Path

KEPT = 4000  # samples
LOOK = 0.25  # s between two looks for threads
Sample = tuple[float, float, float]  # wall clock; waits of the main thread, of all that run Python; s


class Waits:
    """Samples of accumulated waits (/proc/PID/task/TID/schedstat), by wall clock."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._main = ""
        self._files: dict[str, Path | None] = {}  # of threads by number; None: the middleware's
        self._looked = 0.0
        self._last: dict[str, int] = {}  # ns
        self._sums = (0, 0)  # ns: of the main thread, of all that run Python
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    def follow(self, pid: int, proc: Path = Path("/proc")) -> None:
        """A process that has started."""
        self._folder, self._main = proc / str(pid) / "task", str(pid)
        self._files, self._last, self._sums, self._looked = {}, {}, (0, 0), 0.0
        self._samples.clear()

    def sample(self, time: float) -> None:
        self.add(self.read(time))

    def add(self, sample: Sample | None) -> None:
        if sample is not None:
            self._samples.append(sample)

    def read(self, time: float) -> Sample | None:
        """None: there is no such process, or no longer."""
        if self._folder is None:
            return None
        try:
            if not 0.0 <= time - self._looked < LOOK:
                self._looked = time
                there = {task.name for task in self._folder.iterdir()}
                self._files = {name: file for name, file in self._files.items() if name in there}
                for name in there - set(self._files):
                    middleware = (self._folder / name / "comm").read_text().startswith("dds.")
                    self._files[name] = None if middleware else self._folder / name / "schedstat"
        except OSError:
            return None  # it has ended
        main, python = self._sums
        for name, file in self._files.items():
            if file is None:
                continue
            try:
                waited = int(file.read_text().split()[1])
            except (OSError, IndexError, ValueError):
                continue  # this thread has ended, or this kernel does not tell
            more = waited - self._last.get(name, waited)
            self._last[name] = waited
            python += more
            main += more if name == self._main else 0
        self._sums = (main, python)
        return time, 1e-9 * main, 1e-9 * python

    def between(self, begin: float, end: float, python: bool = False) -> float:
        """s, at most, of the main thread, or of all that run Python together: from the last sample before `begin` to
        the first after `end`."""
        column = 2 if python else 1
        before = [sample for sample in self._samples if sample[0] <= begin]
        after = [sample for sample in self._samples if sample[0] >= end]
        if not self._samples or not after:
            return 0.0
        return after[0][column] - (before[-1] if before else self._samples[0])[column]

    @property
    def in_all(self) -> float:
        """s, of the main thread, over all samples that are kept."""
        return self._samples[-1][1] - self._samples[0][1] if self._samples else 0.0
