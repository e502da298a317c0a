# SPDX-License-Identifier: Apache-2.0
"""One build at a time: a newer description ends the work for an older one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from rbd_dynamics.nodes.building.build import Build
from rbd_dynamics.nodes.managed.description_text import P
from rbd_dynamics.nodes.managed.engines import E


class BuildQueue(Generic[P, E]):
    """The build that is under way, and the description that waits for its end.

    Parameters:
        make: a build of a description, not begun.

    Attributes:
        under_way: one that has not ended, or that nobody has asked for since it did.
    """

    def __init__(self, make: Callable[[str | bytes], Build[P, E]]) -> None:
        self._make = make
        self.under_way: Build[P, E] | None = None
        self._waiting: str | bytes | None = None
        self._dropped = False  # what is under way

    def take(self, text: str | bytes) -> None:
        """Begin with a description, or as soon as what is out of date by it has ended."""
        if self.under_way is not None:
            self._waiting = text
            self.under_way.cancel()
            return
        self.under_way = self._make(text)
        self.under_way.start()

    def finished(self) -> Build[P, E] | None:
        """The build that has ended and is wanted still, once; begins with what waits."""
        build = self.under_way
        if build is None or not build.done:
            return None
        self.under_way = None
        dropped, self._dropped = self._dropped, False
        if self._waiting is not None:
            text, self._waiting = self._waiting, None
            self.take(text)
            return None
        return None if dropped else build

    def drop(self) -> None:
        """Nobody wants any of it. Does not wait for its end."""
        self._waiting = None
        if self.under_way is not None:
            self._dropped = True
            self.under_way.cancel()

    def abandon(self) -> None:
        """Nobody wants any of it; waits until nothing of it runs."""
        build, self.under_way, self._waiting, self._dropped = self.under_way, None, None, False
        if build is not None:
            build.abandon()
