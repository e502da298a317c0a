# SPDX-License-Identifier: Apache-2.0
"""CUDA's current device, by CuPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from rbd_dynamics.cuda.batches import KERNEL
from rbd_dynamics.export.cuda_code import THREADS

CPU = 1  # of DLPack's kinds of devices
MOST_BLOCKS = 1 << 20  # a thread then computes several samples


class Device:
    """A `Machine` whose arrays are CuPy's. Raises RuntimeError where there is no device."""

    xp = cupy

    def __init__(self) -> None:
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except (cupy.cuda.runtime.CUDARuntimeError, ImportError, OSError) as error:  # no driver, or no library of CUDA
            raise RuntimeError(f"functions on a GPU need a device of CUDA: {' '.join(str(error).split())}") from error
        if not count:
            raise RuntimeError("functions on a GPU need a device of CUDA: there is none")

    @property
    def place(self) -> int:
        """Number of the current device."""
        return int(cupy.cuda.runtime.getDevice())

    def array(self, value: Any, what: str) -> Any:
        """An array of CuPy, without a copy where it is in the device's memory. Raises TypeError that names `what`."""
        if isinstance(value, cupy.ndarray):
            return value
        if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
            return cupy.asarray(value)
        try:
            if value.__dlpack_device__()[0] == CPU:
                return cupy.asarray(np.from_dlpack(value))
            return cupy.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:  # a tensor that carries gradients, another kind of GPU
            raise TypeError(f"{what}: cannot be read by DLPack: {error}") from error

    def kernel(self, source: str) -> Callable[[Sequence[Any]], None]:
        """Compiled when it is first called."""
        function = cupy.RawModule(code=source, options=("--std=c++14",)).get_function(KERNEL)

        def launch(arguments: Sequence[Any]) -> None:
            blocks = min(-(-arguments[0] // THREADS), MOST_BLOCKS)
            function((blocks,), (THREADS,), tuple(np.int64(x) if isinstance(x, int) else x for x in arguments))

        return launch
