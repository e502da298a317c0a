# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward` that notes at each torque the processor time of its thread: for benchmarks.processes.torque_gaps.

The file that environment variable NOTES names gets two numbers (int64, ns) for each torque: the time of the steady
clock, and the processor time that the thread has used.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from typing import Any

from rbd_dynamics.nodes.feedforward import FeedforwardNode
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD
from rbd_dynamics.nodes.process.run import run


class TimedNode(FeedforwardNode):
    """Its executor's thread is that of the torques."""

    def open(self) -> None:
        super().open()
        self.silence.publisher = _Noting(self.silence.publisher)


class _Noting:
    """A publisher."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher
        self._file = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def publish(self, message: Any) -> None:
        self._publisher.publish(message)
        os.write(self._file, struct.pack("=qq", time.monotonic_ns(), time.thread_time_ns()))


if __name__ == "__main__":
    sys.exit(run(TimedNode, FEEDFORWARD))
