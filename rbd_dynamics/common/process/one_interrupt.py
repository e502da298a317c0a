# SPDX-License-Identifier: Apache-2.0
"""A program that ends in order, once, when it is interrupted or told to end."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def one_interrupt() -> Iterator[None]:
    """Inside, the first SIGINT or SIGTERM is a KeyboardInterrupt, and all further ones are nothing: it ends already.

    In the main thread; elsewhere signals do not arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def end(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        yield
    finally:
        if not interrupted:
            for number, handler in before.items():
                signal.signal(number, handler)
