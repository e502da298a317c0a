# SPDX-License-Identifier: Apache-2.0
"""Kernels of formulas over the entries of one array, as `spatial` asks for (`common.machine_code`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.compiler import backends
from rbd_dynamics.compiler.program import Argument, Signature


def kernel_of(
    name: str, function: Callable[[Any], Sequence[Any]], taken: tuple[int, ...], given: tuple[int, ...]
) -> backends.Kernel | None:
    """Machine code of a function from the entries of an array of shape `taken` to those of one of shape `given`.

    None where no compiler is installed.
    """
    if backends.why_no_machine_code() is not None:
        return None
    signature = Signature((Argument("x", taken),), (Argument("y", given),))
    return backends.build("llvm", name, signature, lambda x: [function(tuple(x))])
