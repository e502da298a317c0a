# SPDX-License-Identifier: Apache-2.0
"""Fleets of any size, with recordings that lie anywhere: fetched, results sent, page and memory bounded."""

from __future__ import annotations

import http.server
import json
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import BROWSER, Browser
from helpers.recorded.bags import START, Content, needs_rosbags, write_ros2
from helpers.recorded.recordings import SETTINGS, URDF, bag, messages
from helpers.wide import table

from rbd_dynamics.cli import main
from rbd_dynamics.replay.fleet import Job, Result, cluster, find_recordings, overview, run_job, run_jobs, slim
from rbd_dynamics.replay.fleet.drift import DAY
from rbd_dynamics.replay.fleet.overview import write_overview
from rbd_dynamics.replay.fleet.page import MOST_ROWS

pytestmark = needs_rosbags


# --- elsewhere --------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def test_recordings_and_results_elsewhere(tmp_path, memory, capsys):
    """As on this machine: a folder with metadata, a file, what was done is not done again, a changed one is."""
    for k in range(2):
        path = bag(tmp_path / "archive" / "left" / f"run{k}", count=300, seed=k)
        memory.put(str(path), f"/archive/left/run{k}", recursive=True)
    found = find_recordings(["memory://archive"])
    assert [(one.path, one.name) for one in found] == [
        ("memory:///archive/left/run0", "left/run0"), ("memory:///archive/left/run1", "left/run1")
    ]  # fmt: skip
    given = ["replay", "memory://archive", "-o", "memory://results", "--workers", "1", "--cutoff", "8"]
    assert main(given) == 0
    capsys.readouterr()
    names = sorted(memory.find("/results"))
    for name in (
        "fleet.html",
        "fleet.json",
        "left__run0/summary.json",
        "left__run1/report.html",
        "left__run1/state.json",
    ):
        assert f"/results/{name}" in names
    there = json.loads(memory.cat_file("/results/left__run0/summary.json"))
    here = run_job(Job(tmp_path / "archive" / "left" / "run0", None, settings=SETTINGS)).summary
    assert there["joints"] == here["joints"]
    assert main(given) == 0
    assert "2 of 2 recordings, 2 of them done before" in " ".join(capsys.readouterr().out.split())
    file = next(name for name in memory.find("/archive/left/run1") if name.endswith(".db3"))
    memory.pipe_file(file, memory.cat_file(file) + b"\0")
    assert main(given) == 0
    assert "2 of 2 recordings, 1 of them done before" in " ".join(capsys.readouterr().out.split())
    assert main([*given, "--together"]) == 2
    assert "must be on this machine" in capsys.readouterr().err


def test_a_recording_on_a_web_server(tmp_path, capsys):
    pytest.importorskip("aiohttp")
    made = write_ros2(
        tmp_path / "made", Content({"/joint_states": messages(300)}, {"/robot_description": URDF}), "MCAP"
    )
    next(made.glob("*.mcap")).rename(tmp_path / "run.mcap")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        assert main(["replay", f"{address}/run.mcap", "--json", "--cutoff", "8"]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert [joint["name"] for joint in summary["joints"]] == ["shoulder", "elbow"]
        assert main(["replay", f"{address}/other.mcap"]) == 2
        assert "other.mcap" in capsys.readouterr().err
    finally:
        server.shutdown()
        server.server_close()


# --- of another robot, and of thousands -------------------------------------------------------------------------------


def results_of(tmp_path, names):
    found = []
    for k, (name, text) in enumerate(names):
        content = Content({"/joint_states": messages(300, seed=k, begin=START + int(k * DAY * 1e9))})
        path = write_ros2(tmp_path / name, content)
        found.append(run_job(Job(path, None, name=name, urdf=text, robot="left", settings=SETTINGS)))
    return found


def test_a_recording_of_another_robot_is_left_out_and_named(tmp_path):
    """Nor does it blank the robot in whose folder it lies."""
    other = URDF.replace('name="arm"', 'name="panda"').replace(
        'name="elbow" type="revolute"', 'name="elbow" type="fixed"'
    )
    found = results_of(tmp_path, [("a", URDF), ("strange", other), ("b", URDF), ("c", URDF)])
    content = overview(found)
    assert [joint["name"] for joint in content["robots"]["left"]["joints"]] == ["shoulder", "elbow"]
    assert content["robots"]["left"]["recordings"] == 3
    assert content["attention"] == ["left: recording strange has other joints or terms (panda), left out"]
    assert overview([slim(result) for result in found]) == content


def made_up(k: int, rng) -> Result:
    """A recording of one of fifty robots."""
    joints = [
        {"name": f"j{j}", "samples": 100, "rmse": float(abs(rng.normal())), "nrmse": 0.1, "correlation": 0.9,
         "bias": 0.0, "worst": 1.0, "measured_rms": 10.0, "unit": "N m"} for j in range(7)
    ]  # fmt: skip
    summary = {
        "recording": {"start": 1.7e9 + k, "duration": 40.0, "messages": 40000}, "joints": joints, "warnings": [],
        "robot": {"name": "arm", "id": f"arm{k % 50}"}, "settings": {"text": "x" * 20000},
    }  # fmt: skip
    job = Job(Path(f"run{k}"), Path(f"out/run{k}"), formats=("html",))
    return Result(job, error="lost" if k % 97 == 0 else "", summary=summary if k % 97 else {})


@pytest.mark.parametrize("count", table([1_500, 10_000], [1_500]))
def test_however_many_recordings_make_a_bounded_page(tmp_path, count):
    """Errors and the largest errors of torque come first; fleet.csv has all."""
    rng = np.random.default_rng(0)
    kept = [slim(made_up(k, rng)) for k in range(count)]
    assert not any("settings" in result.summary for result in kept)
    content = write_overview(tmp_path, kept)
    page = (tmp_path / "fleet.html").read_text()
    assert len(page) < 600_000 and page.count("lost") == len([k for k in range(count) if k % 97 == 0])
    assert f"Of {count} the {MOST_ROWS} with errors or the largest RMSE" in page
    assert len(content["recordings"]) == count and len(content["robots"]) == 50
    assert len((tmp_path / "fleet.csv").read_text().splitlines()) > 6.9 * count


class Scheduler:
    """A cluster in which workers fail now and then: it counts what is handed over at once."""

    status, loop = "running", None

    def __init__(self):
        self.now = self.most = self.calls = 0

    def nthreads(self):
        return {"a": 8, "b": 8}

    def submit(self, work, job, pure, retries):
        assert retries == cluster.RETRIES and not pure
        self.now += 1
        self.calls += 1
        self.most = max(self.most, self.now)
        return Handed(self, job, self.calls)

    def cancel(self, futures, force):
        assert not futures

    def close(self, timeout):
        self.status = "closed"


class Handed:
    """A future of it. Each hundredth worker that has a job dies for good."""

    def __init__(self, scheduler, job, number):
        self.scheduler, self.job = scheduler, job
        self.status = "error" if number % 100 == 0 else "finished"

    def exception(self):
        return RuntimeError("KilledWorker")

    def result(self):
        return Result(self.job, summary={"big": "x" * 1000})

    def release(self):
        self.scheduler.now -= 1


@pytest.mark.parametrize("count", table([1_000, 10_000], [1_000]))
def test_the_schedule_of_thousands_hands_over_few_at_a_time(monkeypatch, count):
    """With workers that fail: each recording is answered once, in order, and few are under way at once."""
    distributed = pytest.importorskip("distributed")
    scheduler, waiting = Scheduler(), []

    class Coming:
        def __init__(self, loop):
            pass

        def add(self, future):
            waiting.append(future)

        def __next__(self):
            return waiting.pop(len(waiting) // 2)  # in any order

    monkeypatch.setattr(distributed, "as_completed", Coming)
    monkeypatch.setattr(cluster, "_connected", lambda address: scheduler)
    jobs = [Job(Path(f"s3/run{k}"), None) for k in range(count)]
    found = run_jobs(jobs, scheduler="tcp://nowhere:1", keep=lambda result: Result(result.job, error=result.error))
    assert [result.job for result in found] == jobs
    assert sum(bool(result.error) for result in found) == count // 100
    assert scheduler.most <= 16 * cluster.AHEAD and scheduler.now == 0 and scheduler.calls == count
    assert not any(result.summary for result in found)


# --- reports that share their scripts ---------------------------------------------------------------------------------


def test_reports_of_a_fleet_share_their_scripts(tmp_path, capsys):
    pytest.importorskip("plotly")
    for k in range(2):
        bag(tmp_path / "archive" / f"run{k}", count=300, seed=k)
    given = [str(tmp_path / "archive"), "--formats", "html", "--workers", "1", "--cutoff", "8"]
    assert main(["replay", *given, "-o", str(tmp_path / "many")]) == 0
    assert main(["replay", str(tmp_path / "archive" / "run0"), "--cutoff", "8", "-o", str(tmp_path / "one"),
                 "--formats", "html"]) == 0  # fmt: skip
    capsys.readouterr()
    whole = (tmp_path / "one" / "report.html").stat().st_size
    page = tmp_path / "many" / "run0" / "report.html"
    assert page.stat().st_size < 0.2 * whole
    linked = [part.split('"')[0] for part in page.read_text().split('<script src="')[1:]]
    assert linked and all((page.parent / link).is_file() for link in linked)
    assert "<script src=" not in (tmp_path / "one" / "report.html").read_text()
    if BROWSER is not None:
        with Browser(tmp_path / "profile") as browser:
            browser.open(page)
            assert browser.run("typeof Plotly + typeof THREE") == "objectobject" and not browser.complaints
