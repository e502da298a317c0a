# SPDX-License-Identifier: Apache-2.0
"""How many processes and threads there are by default."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rbd_dynamics.common.process.processors import usable


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_a_process_that_is_bound_to_a_processor_has_one():
    assert usable() == len(os.sched_getaffinity(0))
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{one}])\n"
    code += "from rbd_dynamics.common.process.processors import usable; print(usable())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "1"
