# SPDX-License-Identifier: Apache-2.0
"""Long batches over several threads: machine code runs without the interpreter's lock, so that processors share it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

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
        self._pace = 0.0  # s for a sample, as measured; 0: not yet

    def many(self, samples: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
        """As the kernel's own."""
        if self._threads == 1 or samples < 2 * FIRST:
            return self._kernel.many(samples, inputs, outputs)

        def part(begin: int, end: int) -> int:
            own = [each if shared else each[begin:end] for each, shared in zip(inputs, self._shared)]
            return self._kernel.many(end - begin, own, [each[begin:end] for each in outputs])

        begin, status = 0, 0
        if not self._pace:
            before = time.perf_counter()
            begin, status = FIRST, part(0, FIRST)
            self._pace = (time.perf_counter() - before) / FIRST
        rest = samples - begin
        count = min(self._threads, int(rest * self._pace / WORTH))
        if count < 2:
            return status | part(begin, samples)
        ends = [begin + BLOCK * round(rest * k / count / BLOCK) for k in range(count)] + [samples]
        others = [_pool().submit(part, *pair) for pair in zip(ends[1:-1], ends[2:])]
        try:
            status |= part(*ends[:2])
        finally:
            wait(others)  # they write to the outputs
        for other in others:
            status |= other.result()
        return status


_threads: ThreadPoolExecutor | None = None  # of all kernels; made when first wanted


def _pool() -> ThreadPoolExecutor:
    global _threads
    if _threads is None:
        _threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="rbd_dynamics")
    return _threads


def _forget() -> None:
    global _threads
    _threads = None


os.register_at_fork(after_in_child=_forget)  # a child has none of its parent's threads
