# SPDX-License-Identifier: Apache-2.0
"""Long batches over several threads: machine code runs without the interpreter's lock, so that processors share it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from rbd_dynamics.common.process.processors import usable
from rbd_dynamics.compiler.backends import Kernel

WORTH = 5e-4  # s of work that is worth waking a thread, which takes a tenth of that
BLOCK = 64  # samples: parts are of so many, and the first ones are timed
FIRST = 4 * BLOCK  # samples that tell how long one takes


class SharedWork:
    """The batches of one kernel, over at most so many threads, this one included.

    A batch is divided where each thread gets half a millisecond of work or more; results do not depend on that.
    """

    def __init__(self, kernel: Kernel, threads: int) -> None:
        self._kernel, self._threads = kernel, threads
        self._shared = [argument.shared for argument in kernel.signature.inputs]
        self._pace: float = math.inf  # s for a sample, the least that was measured

    def divides(self, samples: int) -> bool:
        """Whether other threads may get some of so many, as far as is known."""
        return self._threads > 1 and samples >= 2 * FIRST and samples * self._pace >= 2 * WORTH

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """A batch, as the kernel's own `many`, shared by threads."""
        if not self.divides(samples):
            return self._kernel.many(samples, inputs, outputs)
        begin = status = 0
        if self._pace == math.inf:
            begin, status = FIRST, self._timed(0, FIRST, inputs, outputs)
        rest = samples - begin
        count = min(self._threads, int(rest * self._pace / WORTH))
        if count < 2:
            return status | self._timed(begin, samples, inputs, outputs)
        ends = [begin + BLOCK * round(rest * k / count / BLOCK) for k in range(count)] + [samples]
        others = [_pool().submit(self._timed, *pair, inputs, outputs) for pair in zip(ends[1:-1], ends[2:])]
        try:
            status |= self._timed(begin, ends[1], inputs, outputs)
        finally:
            wait(others)  # they write to the outputs
        for other in others:
            status |= other.result()
        return status

    def _timed(self, begin: int, end: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """These samples of a batch."""
        samples, start = end - begin, time.perf_counter()
        if len(outputs[0]) != samples:
            inputs = [each if shared else each[begin:end] for each, shared in zip(inputs, self._shared)]
            outputs = [each[begin:end] for each in outputs]
        status = self._kernel.many(samples, inputs, outputs)
        self._pace = min(self._pace, (time.perf_counter() - start) / samples)
        return status


_threads: ThreadPoolExecutor | None = None  # of all kernels; made when first wanted


def _pool() -> ThreadPoolExecutor:
    global _threads
    if _threads is None:
        _threads = ThreadPoolExecutor(usable(), thread_name_prefix="rbd_dynamics")
    return _threads


def _forget() -> None:
    global _threads
    _threads = None


os.register_at_fork(after_in_child=_forget)  # a child has none of its parent's threads
