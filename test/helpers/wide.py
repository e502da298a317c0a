# SPDX-License-Identifier: Apache-2.0
"""What only `make test-all` runs: the rest of large tables, and long runs.

What the rest of a table runs again is code of which each branch is run by those that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest

#: for pytest.mark.parametrize, and above a test: left to `make test-all`
wide = pytest.mark.wide


def table(cases: Iterable[Any], narrow: Container[Any] | Callable[[Any], bool]) -> list[Any]:
    """Cases for pytest.mark.parametrize: wide are those that `narrow` does not hold, or does not hold for."""
    chosen = narrow if callable(narrow) else narrow.__contains__
    found = [
        case if chosen(case) else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=wide)
        for case in cases
    ]
    assert not found or any(not hasattr(case, "marks") for case in found), "nothing would be left to `make test`"
    return found
