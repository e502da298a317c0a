# SPDX-License-Identifier: Apache-2.0
"""Let a program outlive others by some seconds, where all get the same signal: Ctrl-C reaches a whole launch at once.

    python -m rbd_dynamics.nodes.tools.outlive 2.5 ros2_control_node --ros-args ...

A torque node leaves the robot safe after Ctrl-C, in `silence_duration`; what applies its torques has to go on until
then. The program gets SIGINT that long after this process has got SIGINT or SIGTERM, or at once with a second signal.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
ECHO = 0.25  # s: Ctrl-C comes from the terminal and from launch as well, and is one request


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def main(arguments: list[str]) -> int:
    """Run the program and return its exit code; arguments: the seconds, and its command line."""
    seconds, command = float(arguments[0]), arguments[1:]
    asked: list[float] = []

    def on_signal(number: int, frame: object) -> None:
        asked.append(time.monotonic())

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    # in a session of its own, else the terminal's signal reaches it at once; if this process is killed, it ends as well
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=_end_with_parent)
    told = False
    while (code := process.poll()) is None:
        if asked and not told:
            now = time.monotonic()
            if now - asked[0] >= seconds or asked[-1] - asked[0] > ECHO:
                told = True
                process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
