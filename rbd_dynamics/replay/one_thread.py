# SPDX-License-Identifier: Apache-2.0
"""Linear algebra by the thread that asks for it.

The threads of BLAS wait for each other by turning on the spot. Where other work has the cores (a fleet's recordings, a
busy machine) replay took six times as long with them; where nothing has, it took half as much processor time again, for
products of tall, narrow matrices that were done no sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy.linalg  # noqa: F401  the libraries must be loaded before they can be told
import scipy.linalg  # noqa: F401  SciPy has one of its own

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with BLAS of one thread while it runs; as it is where `threadpoolctl` is missing."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return function

    @wraps(function)
    def alone(*arguments: P.args, **named: P.kwargs) -> R:
        with threadpool_limits(1, user_api="blas"):
            return function(*arguments, **named)

    return alone
