# SPDX-License-Identifier: Apache-2.0
"""Kernels in CUDA C++, compiled as C++ for the processor, where each is a loop over its samples."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.checks.exported import output_of
from helpers.checks.gradients import small_arm
from rbd_dynamics import Robot
from rbd_dynamics.cuda import functions
from rbd_dynamics.cuda.batches import KERNEL

STRICT_CPP = ("-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror")


def shared(place: Path, *sources: Any, flags: Sequence[Any] = ()) -> ctypes.CDLL:
    """Sources as one shared library, loaded."""
    output_of("g++", *STRICT_CPP, "-O1", "-fPIC", "-shared", *flags, "-x", "c++", *sources, "-o", place)
    return ctypes.CDLL(str(place))


def arguments_of(given: Sequence[Any]) -> list[Any]:
    """Arrays and integers, as kernels for batches take them."""
    return [ctypes.c_longlong(each) if isinstance(each, int) else ctypes.c_void_p(each.ctypes.data) for each in given]


class Processor:
    """A `Machine` of rbd_dynamics.cuda: NumPy's arrays and g++."""

    xp, place = np, 0

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def array(self, value: Any, what: str) -> Any:
        return np.asarray(value)

    def kernel(self, source: str) -> Callable[[Sequence[Any]], None]:
        self._count += 1
        path = self._folder / f"kernel{self._count}.cu"
        path.write_text(source)
        function = getattr(shared(path.with_suffix(".so"), path), KERNEL)
        function.restype = None
        return lambda arguments: function(*arguments_of(arguments))


def needs_device() -> None:
    """Skip the test where there is no device, or no CuPy."""
    try:
        functions(Robot(small_arm(), backend="reference"))
    except (ValueError, RuntimeError) as error:
        pytest.skip(str(error))
