# SPDX-License-Identifier: Apache-2.0
"""Kernels from the cache or none: for those who would rather compile elsewhere."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_here = threading.local()


class NotCached(Exception):
    """A kernel would have to be traced or compiled here; the message is its name."""


@contextlib.contextmanager
def cached_only() -> Iterator[None]:
    """Raise NotCached, in this thread, where a kernel is not in the cache."""
    before = getattr(_here, "on", False)
    _here.on = True
    try:
        yield
    finally:
        _here.on = before


def about_to_compile(name: str) -> None:
    """Raise NotCached where that is not wanted."""
    if getattr(_here, "on", False):
        raise NotCached(name)
