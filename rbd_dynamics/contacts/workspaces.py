# SPDX-License-Identifier: Apache-2.0
"""Memory that a call works in, where to make it anew each time would cost speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Workspaces(Generic[T]):
    """Workspaces, as many as calls run side by side: each takes one for itself, and gives it back for a later one.

    A call that raises need not give its own back.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: list[T] = []  # append and pop are atomic

    def new(self) -> T:
        """One that no other call ever has."""
        return self._make()

    def take(self) -> T:
        """One that no other call has."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._make()

    def give(self, one: T) -> None:
        """Back, when the call no longer needs it."""
        self._idle.append(one)
