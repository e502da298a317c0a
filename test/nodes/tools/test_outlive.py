# SPDX-License-Identifier: Apache-2.0
"""What applies torques ends after what commands them, though a launch signals both at once."""

import os
import signal
import subprocess
import sys
import time

import pytest
from helpers.paths import ROOT

CHILD = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
print("begun", flush=True)
time.sleep(60)
"""


def outliving(seconds):
    command = [sys.executable, "-m", "rbd_dynamics.nodes.tools.outlive", str(seconds), sys.executable, "-c", CHILD]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True)
    assert process.stdout.readline() == b"begun\n"
    return process


@pytest.mark.parametrize(("seconds", "again", "least"), [(1.0, False, 1.0), (30.0, True, 0.0)])
def test_the_program_gets_the_signal_later_or_with_a_second_one(seconds, again, least):
    process = outliving(seconds)
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    if again:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
    assert process.wait(20.0) == 7
    assert time.monotonic() - begin >= least
