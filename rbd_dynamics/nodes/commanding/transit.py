# SPDX-License-Identifier: Apache-2.0
"""How long messages without a stamp were on their way, where the writer's clock may be another computer's."""

from __future__ import annotations

WINDOW = 5_000_000_000  # ns: the quickest message is looked for in one to two of these
_NONE = 1 << 62


class _Quickest:
    """The smallest difference of the reader's clock and the writer's, of the last seconds."""

    def __init__(self) -> None:
        self._before = self._least = _NONE

    def later(self, difference: int) -> int:
        self._least = min(self._least, difference)
        return difference - min(self._least, self._before)

    def forget(self, all_of_it: bool) -> None:
        self._before, self._least = _NONE if all_of_it else self._least, _NONE


class Transit:
    """Tells how much later than the quickest of the last seconds each message arrives.

    The middleware says when a message was written, by the clock of the writer's computer. How far that is from the
    clock here is not known, but it is the same for all messages, and the quickest are hardly late. A message that was
    lost and sent again, or waited in a queue, comes later than these. Where the clock here is set anew, that is no
    delay: it is told from one by the steady clock. Where the writer's is set back, or another writer's is behind, their
    messages count as late for one or two WINDOWs.
    """

    def __init__(self) -> None:
        self._wall, self._steady = _Quickest(), _Quickest()
        self._turn = 0  # steady, ns

    def lateness(self, written: int, wall: int, steady: int) -> int:
        """ns, of a message that arrives now; zero where the middleware does not say when it was written (0).

        Parameters:
            written: by the writer's clock, ns since 1970. wall, steady: what time it is here, ns.
        """
        if not written:
            return 0
        if steady - self._turn > WINDOW:
            for each in (self._wall, self._steady):
                each.forget(steady - self._turn > 2 * WINDOW)
            self._turn = steady
        return min(self._wall.later(wall - written), self._steady.later(steady - written))
