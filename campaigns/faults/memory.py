# SPDX-License-Identifier: Apache-2.0
"""How much memory a node's processes take for themselves, and whether that is flat.

Private memory (RssAnon) counts: what is mapped of files is the system's, and shared. LLVM, which a process loads when
it has to compile because no kernel can be kept on the disk, is loaded once: what is larger by it is no growth.

The middleware keeps a buffer as large as the largest message for each place of a queue, for as long as there is that
queue: 40 MB come and go with trajectories of 100,000 points. So what grows is told by samples of a node that is
settled: without its queues, as after a clean-up.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

WARM_UP = 60.0  # s
LONG = 180.0  # s: of lives that count
ENOUGH = 3  # such lives, as what fills once may fill late in one of them; and samples of each part of a life
FLAT = 2.0  # MB by which the last third of a life is larger than the one before, in the median


class Sample(NamedTuple):
    age: float  # s
    private: float  # MB
    compiler: bool  # LLVM is loaded
    settled: bool = True  # it has no queues that large messages may fill


class Memory:
    """Of one node in all its lives."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self.lives: list[list[Sample]] = []
        self._proc, self._begin = proc, 0.0

    def begin(self) -> None:
        """Another process."""
        self.lives.append([])
        self._begin = time.monotonic()

    @property
    def age(self) -> float:
        """Of the present process, s."""
        return time.monotonic() - self._begin

    def measure(self, pid: int, settled: bool = True) -> None:
        with contextlib.suppress(OSError, StopIteration):
            folder = self._proc / str(pid)
            lines = (folder / "status").read_text().splitlines()
            kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            compiler = "libllvmlite" in (folder / "maps").read_text()
            self.lives[-1].append(Sample(self.age, kilobytes / 1024.0, compiler, settled))

    def growths(self) -> list[float]:
        """MB, of each life of at least `LONG`: the median of its last third less that of the one before."""
        found = []
        for life in self.lives:
            rows = _levelled(life)
            if len(rows) and rows[-1, 0] >= LONG:
                third = rows[-1, 0] / 3.0
                last = rows[rows[:, 0] >= 2.0 * third, 1]
                before = rows[(rows[:, 0] >= third) & (rows[:, 0] < 2.0 * third), 1]
                if min(len(last), len(before)) >= ENOUGH:
                    found.append(float(np.median(last) - np.median(before)))
        return found

    @property
    def flat(self) -> bool | None:
        """None: too few lives were long enough to tell."""
        growths = self.growths()
        return None if len(growths) < ENOUGH else bool(np.median(growths) <= FLAT)

    def slope(self) -> float | None:
        """MB an hour after the warm-up, of all long lives together."""
        x, y = [], []
        for life in self.lives:
            rows = _levelled(life)
            late = rows[rows[:, 0] > WARM_UP]
            if len(late) > 2 and late[-1, 0] >= LONG:
                x += (late[:, 0] - late[:, 0].mean()).tolist()
                y += (late[:, 1] - late[:, 1].mean()).tolist()
        return float(3600.0 * np.dot(x, y) / np.dot(x, x)) if x else None


def _levelled(life: list[Sample]) -> np.ndarray:
    """(age, MB) of the settled node, without the step at which LLVM was loaded."""
    life = [sample for sample in life if sample.settled]
    rows = np.array([(sample.age, sample.private) for sample in life]).reshape(-1, 2)
    for k in range(1, len(life)):
        if life[k].compiler and not life[k - 1].compiler:
            rows[k:, 1] -= rows[k, 1] - rows[k - 1, 1]
    return rows
