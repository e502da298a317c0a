# SPDX-License-Identifier: Apache-2.0
"""A minute of faults of every kind against both torque nodes: no effort is wrong, not finite, above limits or stale."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers.paths import ROOT
from helpers.ros_nodes import needs_ros

from rbd_dynamics.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

SECONDS, RATE = 40, 250
PATIENCE = 600.0  # s, on a busy machine
BUSY = 0.02  # s that a process waits for a processor
BEGIN = 10**18


def _judge(seen):
    from benchmarks.faults.judge import Judge
    from benchmarks.faults.robot import Motion

    ring = np.zeros(102, np.int64)
    return Judge(Motion(BEGIN, 0.02), ring, seen.append)


def _right(judge, stamp, hold_at, kp=50.0, kd=5.0):
    """By Pinocchio, of a robot that holds where it was at a stamp."""
    from benchmarks.faults.robot import oracle

    q, v = judge.motion.state(stamp)
    tau = oracle("panda", None).torque(q, v, np.zeros(7))
    return tau + kp * (judge.motion.state(hold_at)[0] - q) - kd * v


@pytest.mark.parametrize(
    ("off", "late", "counted"),
    [
        (0.0, 0, "exact"),
        (1e-6, 0, "wrong"),
        (np.nan, 0, "non_finite"),
        (1e3, 0, "above_limits"),
        (0.0, 400_000_000, "stale"),
    ],
)
def test_judge_notices(off, late, counted):
    seen = []
    judge = _judge(seen)
    first, stamp = BEGIN + 10**9, BEGIN + 2 * 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    assert (judge.counts.exact, seen) == (1, [])
    judge.effort(stamp, _right(judge, stamp, first) + off, stamp + 10**6 + late)
    assert bool(seen) == (counted != "exact")
    assert getattr(judge.counts, counted) == (2 if counted == "exact" else 1)


def test_judge_wants_states_refused_and_follows_changes():
    seen = []
    judge = _judge(seen)
    first = BEGIN + 10**9
    judge.effort(first, _right(judge, first, first), first + 10**6)
    judge.effort(first + 7, _right(judge, first + 7, first), first + 10**6)  # the stamp says: to be refused
    assert judge.counts.wrong == 1
    stamp = first + 10**8
    judge.effort(stamp, _right(judge, stamp, first, kp=60.0), stamp + 10**6)
    assert judge.counts.wrong == 2  # nobody has changed kp
    judge.event(1e-9 * stamp, "settings", {"kp": (60.0,)})
    judge.effort(stamp, _right(judge, stamp, first, kp=60.0), stamp + 10**6)
    assert (judge.counts.exact, judge.counts.wrong) == (2, 2)
    judge.effort(stamp, _right(judge, stamp, first), stamp + 10**6)  # and back
    assert judge.counts.wrong == 3


class TestCampaign:
    pytestmark = [*needs_ros, pytest.mark.slow]

    def test_no_effort_is_wrong(self, tmp_path):
        report = tmp_path / "report.json"
        options = ["--seconds", str(SECONDS), "--rate", str(RATE), "--seed", "7", "--report", str(report)]
        environment = {key: value for key, value in os.environ.items() if key != "ROS_DOMAIN_ID"}
        command = [sys.executable, "-m", "benchmarks.faults", *options]
        log = tmp_path / "log"
        with log.open("wb") as file:
            campaign = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
            )
        try:
            campaign.wait(PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(campaign.pid, signal.SIGKILL)  # its nodes too, if it did not end
        assert report.exists(), log.read_text()[-3000:]
        found = json.loads(report.read_text())
        shown = json.dumps({"problems": found["problems"], "violations": found["violations"][:3]}, indent=1)[:6000]
        assert not found["problems"], shown
        for counts in found["nodes"].values():
            assert counts["published"] > 100, shown
            assert counts["exact"] > 0, shown
            assert (counts["wrong"], counts["non_finite"], counts["above_limits"]) == (0, 0, 0), shown
            if counts["largest delay of the sender, s"] < BUSY:  # else the machine may have made the nodes late
                assert counts["stale"] == 0, shown
