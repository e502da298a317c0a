# SPDX-License-Identifier: Apache-2.0
"""A thread that takes what services and subscriptions of a node get, so that its executor need not."""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from rclpy.exceptions import InvalidHandle
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node

from rbd_dynamics.nodes.wire.rclpy_private import ready

T = TypeVar("T")
WAIT = 0.5  # s: at most, for entities or for the executor, until it is looked whether there is another one
PAUSE = 0.1  # s after a fault of ours, which must not keep a processor busy


class Closed(Exception):
    """The thread has been closed, and the work was not done."""


class _Piece(Generic[T]):
    """A piece of work, which another thread does once."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._begun = False
        self.over = threading.Event()
        self.finished = False
        self.result: T | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """Do the work, in the executor's thread; may be called again, and then does nothing."""
        if self._begun or self.over.is_set():
            return
        self._begun = True
        try:
            self.result = self._work()
        except Exception as error:
            self.error = error
        self.finished = True
        self.over.set()


class EntityThread:
    """Entities that are `in` it are not the executor's: what takes from them is called in a thread of its own.

    The thread lives until `close`, whatever happens in it.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._takers: dict[Any, Callable[[], None]] = {}
        self._soon: deque[Callable[[], None]] = deque()
        self._wake = GuardCondition(None, None, context=node.context)
        self._closed = threading.Event()
        self._piece: _Piece[Any] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __contains__(self, entity: object) -> bool:
        return entity in self._takers

    def add(self, entity: Any, take: Callable[[], None]) -> None:
        """A service or subscription; take: called whenever there is something to be taken from it."""
        self._takers[entity] = take
        self._wake.trigger()

    def remove(self, entity: Any) -> None:
        """Take nothing more from an entity, before it is destroyed. Does nothing for one that is not here."""
        if self._takers.pop(entity, None) is not None:
            self._wake.trigger()

    def soon(self, work: Callable[[], None]) -> None:
        """Have it done in this thread, after what it is doing now; returns at once. Nothing after `close`."""
        if self._closed.is_set():
            return
        self._soon.append(work)
        self._wake.trigger()

    def close(self) -> None:
        """Take nothing more, and end; what is already done is still answered."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake.trigger()
        if (piece := self._piece) is not None:
            piece.over.set()
        self._thread.join()
        self._takers.clear()
        self._wake.destroy()

    def hand_over(self, work: Callable[[], T]) -> T:
        """Have it done in the executor's thread, between two callbacks, and wait for it. Raises what it raises, Closed.

        Only in this thread.
        """
        self._piece = piece = _Piece(work)
        asked = None
        while not self._closed.is_set() and not piece.over.is_set():
            executor = self._node.executor
            if executor is not None and executor is not asked:  # none before it spins, another where one does not work
                asked = executor
                executor.create_task(piece.run)
            piece.over.wait(WAIT)
        self._piece = None
        piece.over.set()
        if not piece.finished:
            raise Closed
        if piece.error is not None:
            raise piece.error
        return piece.result  # type: ignore[return-value]

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._take()
            except (Closed, InvalidHandle):
                pass  # what was asked for is no more
            except Exception:
                self._node.get_logger().error(traceback.format_exc(), throttle_duration_sec=1.0)
                self._closed.wait(PAUSE)

        with suppress(InvalidHandle):
            self._do_soon()

    def _do_soon(self) -> None:
        while self._soon:
            self._soon.popleft()()

    def _take(self) -> None:
        self._do_soon()
        for entity in ready(list(self._takers), self._wake, WAIT, self._node.context):
            take = self._takers.get(entity)
            if take is not None and not self._closed.is_set():
                take()
