# SPDX-License-Identifier: Apache-2.0
"""Normal equations per joint and per stretch of time: all that a linear fit needs of a recording, in bounded memory.

Sums of products of a joint's columns and its torque, in blocks of time. Per joint, because joints differ in noise; in
blocks, because neighbouring samples of filtered signals are not independent, but blocks are, nearly. A block is known
by the time of its samples alone, so that it does not matter who adds them in which order. When there are too many
blocks, all become twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 500_000_000  # ns, the shortest block
MOST_BLOCKS, LEAST_MOST = 64, 16
MEMORY = 1 << 28  # bytes: of robots with many joints there are fewer blocks


class NormalEquations:
    """Accumulates; `merge` adds what was accumulated elsewhere.

    Parameters:
        columns: of each joint, the parameters (n_j,) that its columns belong to.
        count: number of parameters.

    Attributes:
        samples: how many were added for each joint, (joints,).
        most: how many blocks there may be.
    """

    def __init__(self, columns: Sequence[Indices], count: int) -> None:
        self.columns = [np.asarray(indices, dtype=np.intp) for indices in columns]
        self.count = count
        self.samples = np.zeros(len(self.columns), dtype=np.int64)
        self.most = int(np.clip(MEMORY / sum(8 * (len(k) + 1) ** 2 for k in self.columns), LEAST_MOST, MOST_BLOCKS))
        self._level = 0
        self._blocks: dict[int, list[Array]] = {}

    def add(self, joint: int, stamps: NDArray[np.int64], columns: Array, target: Array) -> None:
        """Samples in the order of their stamps (N,) in ns: columns (N, n_j) and torque (N,), all finite."""
        if not len(stamps):
            return
        rows = np.column_stack([columns, target])
        if not np.isfinite(rows).all():
            raise ValueError(f"joint number {joint} has samples that are not finite")
        self.samples[joint] += len(rows)
        while True:
            keys = stamps // (BLOCK << self._level)
            starts = [0, *(np.flatnonzero(np.diff(keys)) + 1), len(keys)]
            if len(starts) <= self.most + 1:
                break
            self._lengthen()
        for start, stop in zip(starts, starts[1:]):
            block = self._block(int(keys[start]))
            block[joint] += rows[start:stop].T @ rows[start:stop]
        while len(self._blocks) > self.most:
            self._lengthen()

    def merge(self, other: NormalEquations) -> None:
        """Add another's sums. Raises ValueError where it has other parameters."""
        same = len(self.columns) == len(other.columns) and all(map(np.array_equal, self.columns, other.columns))
        if not same or self.count != other.count:
            raise ValueError("cannot merge normal equations of other parameters")
        while self._level < other._level:
            self._lengthen()
        for key, sums in other._blocks.items():
            block = self._block(key >> (self._level - other._level))
            for joint, square in enumerate(sums):
                block[joint] += square
        self.samples += other.samples
        while len(self._blocks) > self.most:
            self._lengthen()

    def combined(self, joint: int, combination: Array) -> NormalEquations:
        """Of one joint, with other columns: X @ combination, (n_j, m), which belong to parameters of their own (m,)."""
        found = NormalEquations([np.arange(combination.shape[1])], combination.shape[1])
        found.samples, found._level = self.samples[[joint]], self._level
        both = np.zeros((len(combination) + 1, combination.shape[1] + 1))
        both[:-1, :-1], both[-1, -1] = combination, 1.0
        for key, sums in self._blocks.items():
            found._blocks[key] = [both.T @ sums[joint] @ both]
        return found

    def blocks(self, doublings: int = 0) -> list[list[Array]]:
        """Sums ([X y]^T [X y]), (n_j + 1, n_j + 1), of each block in time and joint, of blocks so much longer."""
        found: dict[int, list[Array]] = {}
        for key in sorted(self._blocks):
            sums = self._blocks[key]
            longer = found.get(key >> doublings)
            found[key >> doublings] = sums if longer is None else [a + b for a, b in zip(longer, sums)]
        return list(found.values())

    def totals(self) -> list[Array]:
        """Sums over all blocks, of each joint."""
        sizes = [len(indices) + 1 for indices in self.columns]
        found = [np.zeros((size, size)) for size in sizes]
        for key in sorted(self._blocks):
            for total, square in zip(found, self._blocks[key]):
                total += square
        return found

    def _block(self, key: int) -> list[Array]:
        if key not in self._blocks:
            sizes = [len(indices) + 1 for indices in self.columns]
            self._blocks[key] = [np.zeros((size, size)) for size in sizes]
        return self._blocks[key]

    def _lengthen(self) -> None:
        shorter, self._blocks, self._level = self._blocks, {}, self._level + 1
        for key, sums in shorter.items():
            for total, square in zip(self._block(key >> 1), sums):
                total += square
