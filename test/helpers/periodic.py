# SPDX-License-Identifier: Apache-2.0
"""Something that is done again and again while a test does something else."""

from __future__ import annotations

import threading


class Periodic:
    """Calls `act` every so many seconds in a thread, while it is a context."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def act(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        while not self._stop.wait(self._period):
            self.act()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
