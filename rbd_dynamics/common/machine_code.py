# SPDX-License-Identifier: Apache-2.0
"""Machine code for a room below the compiler, which may not import it.

The compiler traces the formulas of `spatial`, so it stands above that room; the arrays of `spatial` ask here for the
kernels of the same formulas. The package itself, which is imported before any of its rooms, says who makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: (name, function of entries, shape of what it takes, shape of what it gives) -> a `compiler.backends.Kernel`, or None
#: where there is no compiler
Maker = Callable[[str, Callable[[Any], Sequence[Any]], tuple[int, ...], tuple[int, ...]], Any]

maker: Maker | None = None
