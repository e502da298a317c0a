# SPDX-License-Identifier: Apache-2.0
"""A minute of faults of every kind against the torque nodes: no effort is wrong, not finite, above limits or stale."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.nodes.ros_nodes import needs_ros
from helpers.paths import ROOT

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.skipif("panda" not in robots(), reason="needs the Panda of example-robot-data")

SECONDS, RATE = 40, 250
PATIENCE = 600.0  # s, on a busy machine


class Slow:
    """A client whose node answers late: the first `late` calls count for nobody, but are done.

    in_part: of the first request the last parameter is refused.
    """

    def __init__(self, late, in_part):
        self.late, self.in_part, self.values = late, in_part, {}

    def call(self, service, request, patience=0.0):
        assert service == "set_parameters"
        taken = [True] * (len(request.parameters) - self.in_part) + [False] * self.in_part
        self.values |= {each.name: each.value for each, good in zip(request.parameters, taken) if good}
        self.late, self.in_part = self.late - 1, False
        if self.late >= 0:
            return None
        return SimpleNamespace(results=[SimpleNamespace(successful=good) for good in taken])


@pytest.mark.parametrize(("late", "in_part"), [(0, False), (1, False), (3, False), (0, True), (1, True)])
def test_parameters_that_were_taken_or_answered_too_late_are_set_back(late, in_part):
    pytest.importorskip("rcl_interfaces")
    from rclpy.parameter import parameter_value_to_python

    from campaigns.faults import hostile
    from campaigns.faults.campaign import start_parameters
    from campaigns.faults.faults import Faults

    start = start_parameters("cartesian_controller")
    assert any(len(values) > 1 for values in hostile.PARAMETERS)
    for k in range(len(hostile.PARAMETERS)):
        client, told = Slow(late, in_part), []
        rng = SimpleNamespace(choice=lambda values, k=k: values[k])
        faults = Faults(
            "cartesian_controller",
            client,
            None,
            None,
            None,
            None,
            rng,
            lambda *event, told=told: told.append(event),
            parameters=start,
        )
        faults.absurd_parameters()
        for name, value in client.values.items():
            if name in start and not (late == 0 and name == "robot_description"):
                kept = parameter_value_to_python(value)
                assert (list(kept) if isinstance(start[name], list) else kept) == start[name]
                assert client.late < 0


@pytest.mark.parametrize("seed", range(4))
def test_wishes_that_must_be_refused_can_be_sent(seed):
    pytest.importorskip("trajectory_msgs")
    import random

    from rclpy.serialization import serialize_message

    from campaigns.faults import hostile_tool

    rng = random.Random(seed)
    seen = set()
    for _ in range(300):
        topic, kind, message = hostile_tool.wish(rng)
        seen.add((topic, kind))
        assert len(serialize_message(message)) > 4
    assert {topic for topic, _ in seen} == set(hostile_tool.MADE) and len(seen) > 25


class TestCampaign:
    pytestmark = [*needs_ros, pytest.mark.wide]

    def test_no_effort_is_wrong(self, tmp_path):
        report = tmp_path / "report.json"
        options = ["--seconds", str(SECONDS), "--rate", str(RATE), "--seed", "7", "--report", str(report)]
        environment = {key: value for key, value in os.environ.items() if key != "ROS_DOMAIN_ID"}
        command = [sys.executable, "-X", "faulthandler", "-m", "campaigns.faults", *options]
        log = tmp_path / "log"
        with log.open("wb") as file:
            campaign = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
            )
        try:
            campaign.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            campaign.send_signal(signal.SIGABRT)  # its log says then where each thread stands
            campaign.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(campaign.pid, signal.SIGKILL)  # its nodes too, if it did not end
        assert campaign.returncode >= 0 and report.exists(), log.read_text()[-6000:]
        found = json.loads(report.read_text())
        shown = json.dumps({"problems": found["problems"], "violations": found["violations"][:3]}, indent=1)[:6000]
        assert not found["problems"], shown
        for counts in found["nodes"].values():
            assert counts["published"] > 100, shown
            assert counts["exact"] > 0, shown
            assert (counts["wrong"], counts["non_finite"], counts["above_limits"]) == (0, 0, 0), shown
            assert counts["stale"] == 0, shown


def test_a_long_campaign_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """In pieces with seeds of their own, whose counts are added up; not with a report of other options."""
    from campaigns.faults import pieces

    ran, report = [], tmp_path / "report.json"

    def run(options, seconds, seed, records):
        ran.append((seconds, seed))
        if len(ran) == 3:
            raise KeyboardInterrupt
        counts = {"published": 10, "wrong": int(seed == 7001), "memory": 1.5, "faults": {"silence": 2}}
        return {"good": seed != 7001, "seconds": seconds, "nodes": {"feedforward": counts}}

    monkeypatch.setattr(pieces, "_piece", run)
    with pytest.raises(KeyboardInterrupt):
        pieces.pieces(["--guard"], 0.5, 7, report)
    found = pieces.pieces(["--guard"], 0.5, 7, report)
    assert ran == [(600.0, 7000), (600.0, 7001), (600.0, 7002), (600.0, 7002)]
    assert not found["good"] and found["seconds"] == 1800.0
    assert found["all"] == {"feedforward": {"published": 30, "wrong": 1, "fault silence": 6}}
    with pytest.raises(ValueError, match="of another campaign .seed."):
        pieces.pieces(["--guard"], 0.5, 8, report)


@pytest.mark.parametrize("good", [True, False])
def test_a_long_campaign_keeps_the_recordings_of_its_bad_pieces(tmp_path, monkeypatch, good):
    from campaigns.faults import pieces

    def run(command, **_):
        given = dict(zip(command, command[1:]))
        Path(given["--record"]).write_bytes(b"all that a judge was told")
        counts = {"published": 1, "faults": {}}
        report = {"good": good, "seconds": 600.0, "nodes": {"feedforward": counts}}
        Path(given["--report"]).write_text(json.dumps(report))

    monkeypatch.setattr(pieces.subprocess, "run", run)
    monkeypatch.setattr(pieces, "BEGUN", -600.0)
    pieces.pieces([], 1.0 / 3.0, 9, tmp_path / "report.json", tmp_path)
    assert sorted(file.name for file in tmp_path.glob("*.gz")) == ([] if good else ["9000.gz", "9001.gz"])


def test_the_next_piece_begins_while_the_judge_of_the_last_still_reads(tmp_path, monkeypatch):
    from campaigns.faults import pieces

    begun = threading.Event()

    def run(options, seconds, seed, records):
        if seed == 9001:
            begun.set()
        assert begun.wait(60.0)
        return {"good": True, "seconds": seconds, "nodes": {"feedforward": {"published": 1, "faults": {}}}}

    monkeypatch.setattr(pieces, "_piece", run)
    monkeypatch.setattr(pieces, "PIECE", 60.0)
    monkeypatch.setattr(pieces, "BEGUN", -59.9)
    found = pieces.pieces([], 2.0 / 60.0, 9, tmp_path / "report.json")
    assert found["good"] and found["seconds"] == 120.0 and found["all"]["feedforward"]["published"] == 2
