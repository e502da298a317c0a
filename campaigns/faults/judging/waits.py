# SPDX-License-Identifier: Apache-2.0
"""For how long the kernel kept a process's threads waiting for a processor: on a busy machine that is between a node's
last look at the clock and the write, where no node can see it. Its own thread waits, or the one that holds the
interpreter's lock, without which its own cannot go on; or one of the middleware, through which messages come."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from pathlib import Path

KEPT = 4000  # samples, at least
LOOK = 0.25  # s between two looks for threads
MAIN, PYTHON, ALL = 1, 2, 3  # waits of the main thread, of all that run Python, of the middleware's as well; s
Sample = tuple[float, float, float, float]  # wall clock, and these


class Waits:
    """Samples of accumulated waits (/proc/PID/task/TID/schedstat), by wall clock."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._main = ""
        self._files: dict[str, tuple[Path, bool]] = {}  # of threads by number; whether it is the middleware's
        self._looked = 0.0
        self._last: dict[str, int] = {}  # ns
        self._sums = (0, 0, 0)  # ns
        self._samples: list[Sample] = []
        self._times: list[float] = []  # of these

    def follow(self, pid: int, proc: Path = Path("/proc")) -> None:
        """A process that has started."""
        self._folder, self._main = proc / str(pid) / "task", str(pid)
        self._files, self._last, self._sums, self._looked = {}, {}, (0, 0, 0), 0.0
        self._samples.clear()
        self._times.clear()

    def sample(self, time: float) -> None:
        self.add(self.read(time))

    def add(self, sample: Sample | None) -> None:
        if sample is not None:
            self._samples.append(sample)
            self._times.append(sample[0])
            if len(self._samples) >= 2 * KEPT:
                del self._samples[:KEPT], self._times[:KEPT]

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
                    self._files[name] = self._folder / name / "schedstat", middleware
        except OSError:
            return None  # it has ended
        main, python, together = self._sums
        for name, (file, middleware) in self._files.items():
            try:
                waited = int(file.read_text().split()[1])
            except (OSError, IndexError, ValueError):
                continue  # this thread has ended, or this kernel does not tell
            more = waited - self._last.get(name, waited)
            self._last[name] = waited
            together += more
            python += 0 if middleware else more
            main += more if name == self._main else 0
        self._sums = (main, python, together)
        return time, 1e-9 * main, 1e-9 * python, 1e-9 * together

    def between(self, begin: float, end: float, column: int = MAIN) -> float:
        """s, at most, of the main thread, or of several together: from the last sample before `begin` to the first
        after `end`."""
        before = bisect_right(self._times, begin) - 1
        after = bisect_left(self._times, end)
        if after == len(self._samples):
            return 0.0
        return self._samples[after][column] - self._samples[max(before, 0)][column]

    @property
    def in_all(self) -> float:
        """s, of the main thread, over all samples that are kept."""
        return self._samples[-1][MAIN] - self._samples[0][MAIN] if self._samples else 0.0
