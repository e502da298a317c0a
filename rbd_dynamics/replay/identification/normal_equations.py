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
Counts = NDArray[np.int64]

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
        size = sum(8 * (len(k) + 1) ** 2 for k in self.columns)
        self.most = int(np.clip(MEMORY / max(1, size), LEAST_MOST, MOST_BLOCKS))
        self._level = 0
        self._blocks: dict[int, list[Array]] = {}
        self._counts: dict[int, Counts] = {}  # samples of each joint in a block
        self._totals: list[Array] | None = None  # of all blocks, until some are added

    def add(self, joint: int, stamps: NDArray[np.int64], columns: Array, target: Array) -> None:
        """Samples in the order of their stamps (N,) in ns: columns (N, n_j) and torque (N,), all finite."""
        if not len(stamps):
            return
        self._totals = None
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
            self._counts[int(keys[start])][joint] += stop - start
        while len(self._blocks) > self.most:
            self._lengthen()

    def merge(self, other: NormalEquations) -> None:
        """Add another's sums. Raises ValueError where it has other parameters."""
        same = len(self.columns) == len(other.columns) and all(map(np.array_equal, self.columns, other.columns))
        if not same or self.count != other.count:
            raise ValueError("cannot merge normal equations of other parameters")
        self._totals = None
        while self._level < other._level:
            self._lengthen()
        for key, sums in other._blocks.items():
            block = self._block(key >> (self._level - other._level))
            for joint, square in enumerate(sums):
                block[joint] += square
            self._counts[key >> (self._level - other._level)] += other._counts[key]
        self.samples += other.samples
        while len(self._blocks) > self.most:
            self._lengthen()

    def combined(self, joint: int, combination: Array) -> NormalEquations:
        """Equations of one joint with other columns X @ combination (n_j, m) for parameters of their own (m,)."""
        found = NormalEquations([np.arange(combination.shape[1])], combination.shape[1])
        found.samples, found._level = self.samples[[joint]], self._level
        both = np.zeros((len(combination) + 1, combination.shape[1] + 1))
        both[:-1, :-1], both[-1, -1] = combination, 1.0
        for key, sums in self._blocks.items():
            found._blocks[key] = [both.T @ sums[joint] @ both]
            found._counts[key] = self._counts[key][[joint]]
        return found

    def of_joints(self, which: NDArray[np.bool_]) -> NormalEquations:
        """A copy with the sums of these joints (joints,) alone."""
        found = NormalEquations(self.columns, self.count)
        found.samples, found._level = self.samples * which, self._level
        for key, sums in self._blocks.items():
            if (self._counts[key] * which).any():
                found._blocks[key] = [total * float(there) for total, there in zip(sums, which)]
                found._counts[key] = self._counts[key] * which
        return found

    def mapped(self, combination: Array) -> NormalEquations:
        """Equations of other parameters x (m,), these being combination (p, m) @ x. Joints with none get no column."""
        rows = [combination[indices] for indices in self.columns]
        felt = [np.flatnonzero(row.any(axis=0)) for row in rows]
        found = NormalEquations(felt, combination.shape[1])
        found.samples, found._level, found._counts = self.samples, self._level, self._counts
        both = []
        for row, kept in zip(rows, felt):
            both.append(np.zeros((len(row) + 1, len(kept) + 1)))
            both[-1][:-1, :-1], both[-1][-1, -1] = row[:, kept], 1.0
        for key, sums in self._blocks.items():
            found._blocks[key] = [change.T @ square @ change for change, square in zip(both, sums)]
        return found

    def folds(self, count: int) -> list[tuple[NormalEquations, NormalEquations]]:
        """(all the rest, a stretch of time) for each of at most `count` stretches, one after the other."""
        stretches = np.array_split(np.array(sorted(self._blocks), dtype=np.int64), min(count, len(self._blocks)) or 1)
        parts = [self._of(keys.tolist()) for keys in stretches if len(keys)]
        return [(self._of([key for key in self._blocks if key not in part._blocks]), part) for part in parts]

    def _of(self, keys: Sequence[int]) -> NormalEquations:
        found = NormalEquations(self.columns, self.count)
        found._level = self._level
        found._blocks = {key: self._blocks[key] for key in keys}
        found._counts = {key: self._counts[key] for key in keys}
        found.samples = sum((self._counts[key] for key in keys), np.zeros_like(self.samples))
        return found

    def blocks(self, doublings: int = 0) -> list[list[Array]]:
        """Sums ([X y]^T [X y]), (n_j + 1, n_j + 1), of each block in time and joint, of blocks so much longer."""
        found: dict[int, list[Array]] = {}
        for key in sorted(self._blocks):
            sums = self._blocks[key]
            longer = found.get(key >> doublings)
            found[key >> doublings] = sums if longer is None else [a + b for a, b in zip(longer, sums)]
        return list(found.values())

    def block_samples(self) -> Counts:
        """How many samples of each joint each of the shortest blocks has, (blocks, joints), as `blocks` orders them."""
        counts = [self._counts[key] for key in sorted(self._blocks)]
        return np.array(counts).reshape(-1, len(self.columns))

    def totals(self) -> list[Array]:
        """Sums over all blocks, of each joint; to be read only."""
        if self._totals is None:
            sizes = [len(indices) + 1 for indices in self.columns]
            self._totals = [np.zeros((size, size)) for size in sizes]
            for key in sorted(self._blocks):
                for total, square in zip(self._totals, self._blocks[key]):
                    total += square
        return self._totals

    def _block(self, key: int) -> list[Array]:
        if key not in self._blocks:
            sizes = [len(indices) + 1 for indices in self.columns]
            self._blocks[key] = [np.zeros((size, size)) for size in sizes]
            self._counts[key] = np.zeros(len(self.columns), dtype=np.int64)
        return self._blocks[key]

    def _lengthen(self) -> None:
        shorter, self._blocks, self._level = self._blocks, {}, self._level + 1
        counts, self._counts = self._counts, {}
        for key, sums in shorter.items():
            for total, square in zip(self._block(key >> 1), sums):
                total += square
            self._counts[key >> 1] += counts[key]
