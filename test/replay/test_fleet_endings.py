# SPDX-License-Identifier: Apache-2.0
"""Runs over many recordings that end early: nothing is lost, nothing done twice, nobody goes on, one line says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.recorded.bags import needs_rosbags
from helpers.recorded.recordings import URDF, bag
from helpers.wide import table

from rbd_dynamics.replay.fleet import Job, Result, here, run_jobs
from rbd_dynamics.replay.fleet import run as running

pytestmark = needs_rosbags
COUNT = 6
PATIENCE = 300.0  # s, of a machine that has much else to do


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for k in range(COUNT):
        bag(folder / f"run{k}", count=300, seed=k)
    (folder / "arm.urdf").write_text(URDF)
    return folder


def command(archive, output, *more):
    return [sys.executable, "-m", "rbd_dynamics", "replay", str(archive), "--urdf", str(archive / "arm.urdf"),
            "-o", str(output), "--formats", "urdf", *more]  # fmt: skip


def done_in(output: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in output.glob("*/state.json")}


def waited_for(what, process=None) -> None:
    """process: that has to go on meanwhile."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert process is None or process.poll() is None or what(), process.communicate()
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """Processes that it started, also those that are somebody else's by now, by the folder in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end_early(archive, output, after, ending, *more):
    """A run that is ended once `after` recordings are done; its exit code, error output and done recordings."""
    process = subprocess.Popen(
        command(archive, output, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    waited_for(lambda: len(done_in(output)) >= after and (after > 0 or children_of(process.pid)), process)
    children = children_of(process.pid)
    if ending == "two SIGINT":
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM if ending == "SIGTERM" else signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    waited_for(lambda: not any(map(lives, children)))  # a moment after it, some of them
    return process.returncode, errors.strip().splitlines(), done_in(output)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(("after", "ending"), table(
    [(after, ending) for ending in ("two SIGINT", "SIGTERM", "SIGKILL") for after in range(COUNT)],
    [(2, "SIGTERM")],
))  # fmt: skip
def test_whatever_ends_a_run_ends_its_workers_and_keeps_what_is_done(archive, tmp_path, after, ending):
    code, errors, done = end_early(archive, tmp_path, after, ending, "--workers", "2")
    if code not in (0, -signal.SIGKILL):  # it may have been done already
        assert code == 130
        assert errors == ["interrupted: what is done is kept, the same command goes on from there"]
    assert not list(tmp_path.rglob("fleet.json")) or len(done) == COUNT
    process = subprocess.run(command(archive, tmp_path, "--workers", "1"), capture_output=True, text=True, check=True)
    assert not done or f"{COUNT} of {COUNT} recordings, {len(done)} of them done before" in " ".join(
        process.stdout.split()
    )
    again = done_in(tmp_path)
    assert len(again) == COUNT and {name: again[name] for name in done} == done
    assert len(json.loads((tmp_path / "fleet.json").read_text())["recordings"]) == COUNT
    assert not list(tmp_path.rglob(".*.part"))


# --- a process that dies, as where memory runs out --------------------------------------------------------------------


def die_or_answer(job: Job) -> Result:
    """In place of `attempt`: recording 1 kills its process, whoever does it."""
    if job.recording.name == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return Result(job, summary={"pid": os.getpid()})


def test_a_worker_that_dies_costs_its_own_recording_only(monkeypatch):
    monkeypatch.setattr(here, "attempt", die_or_answer)
    found = run_jobs([Job(Path(str(k)), None) for k in range(4)], workers=2)
    assert [result.job.recording.name for result in found] == [str(k) for k in range(4)]
    assert [result.job.recording.name for result in found if result.error] == ["1"]
    assert "its process died" in found[1].error


# --- on Dask ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def distributed():
    return pytest.importorskip("distributed")


def cluster_of(distributed, workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_scheduler_without_workers_is_said_and_two_interrupts_end_the_wait(distributed, archive, tmp_path):
    with cluster_of(distributed, 0) as cluster:
        process = subprocess.Popen(
            command(archive, tmp_path, "--scheduler", cluster.scheduler_address), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        told = ""
        while "has no workers: waiting for one" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "interrupted: what is done is kept, the same command goes on from there"
    assert "Traceback" not in errors and not done_in(tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("after", range(0, COUNT, 3))
def test_a_scheduler_that_goes_away_loses_nothing(distributed, archive, tmp_path, after):
    jobs = [Job(archive / f"run{k}", tmp_path / f"run{k}", urdf=URDF) for k in range(COUNT)]
    cluster, seen = cluster_of(distributed, 2), []

    def report(result):
        seen.append(result)
        if len(seen) == max(1, after):
            cluster.close()

    with pytest.raises(ConnectionError, match=rf"went away; \d+ of {COUNT} are kept, the same command goes on"):
        run_jobs(jobs, scheduler=cluster.scheduler_address, report=report)
    done = done_in(tmp_path)
    assert len(done) >= len(seen)
    again = run_jobs(jobs, workers=1)
    assert not any(result.error for result in again)
    assert {result.job.output.name for result in again if result.resumed} == set(done)


@pytest.mark.wide
@pytest.mark.parametrize("after", range(0, COUNT, 3))
def test_an_interrupt_on_a_cluster_loses_nothing(distributed, archive, tmp_path, after):
    with cluster_of(distributed, 2) as cluster:
        more = ("--scheduler", cluster.scheduler_address)
        code, errors, done = end_early(archive, tmp_path, after, "two SIGINT", *more)
        assert code in (0, 130) and "Traceback" not in "\n".join(errors)
        process = subprocess.run(command(archive, tmp_path, *more), capture_output=True, text=True, check=True)
    again = done_in(tmp_path)
    assert len(again) == COUNT and {name: again[name] for name in done} == done, process.stderr


def test_jobs_in_this_process_need_no_others(archive):
    seen = []
    run_jobs([Job(archive / "run0", None, urdf=URDF)], workers=1, report=seen.append)
    assert len(seen) == 1 and not seen[0].error and running.run_jobs is run_jobs
