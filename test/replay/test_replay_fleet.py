# SPDX-License-Identifier: Apache-2.0
"""Many recordings: found, done by anybody with the same results, resumed, and summed up."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.recorded.bags import START, Content, bare, motion, needs_rosbags, write_ros2, write_split
from helpers.recorded.recordings import NAMES, SETTINGS, URDF, bag, messages

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.replay import Comparison, Recording, RecordingError, Settings, compare
from rbd_dynamics.replay.fleet import Job, cluster, find_recordings, overview, run_job, run_jobs, trends, write_overview
from rbd_dynamics.replay.fleet.drift import DAY, Outcome
from rbd_dynamics.replay.fleet.job import merged

pytestmark = needs_rosbags


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """Two robots, one of which drifts; one file that is none."""
    folder = tmp_path_factory.mktemp("archive")
    for k in range(5):
        begin = START + int(k * DAY * 1e9)
        bag(folder / "left" / f"run{k}", begin=begin, seed=k)
        bag(folder / "right" / f"run{k}", begin=begin, offset=0.2 * k, seed=10 + k)
    (folder / "right" / "broken.mcap").write_bytes(b"nothing of the kind")
    return folder


@pytest.fixture(scope="module")
def alone(archive):
    """Results of all of them, of one process."""
    return run_jobs(jobs(archive), workers=1)


def jobs(archive: Path, output: Path | None = None, formats=()) -> list[Job]:
    return [
        Job(one.path, None if output is None else output / one.name.replace("/", "__"), robot=one.name.split("/")[0],
            settings=SETTINGS, formats=formats)
        for one in find_recordings([archive])
    ]  # fmt: skip


def test_recordings_are_found_by_what_they_are(tmp_path):
    bag(tmp_path / "a" / "with_metadata")
    write_split(tmp_path / "b", Content({"/joint_states": messages(300)}))
    (tmp_path / "b" / "metadata.yaml").unlink()
    (tmp_path / "c").mkdir()
    for name in ("one.mcap", "other.mcap", "x.bag", "notes.txt"):
        (tmp_path / "c" / name).write_bytes(b"")
    found = find_recordings([tmp_path, tmp_path / "a"])
    assert [one.name for one in found] == ["a/with_metadata", "b", "c/one.mcap", "c/other.mcap", "c/x.bag"]
    assert [one.path.name for one in find_recordings([tmp_path / "c" / "x.bag"])] == ["x.bag"]
    with pytest.raises(RecordingError, match="does not exist"):
        find_recordings([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match="has no recording in it"):
        find_recordings([tmp_path / "empty"])


@pytest.mark.parametrize("plugin", ["SQLITE3", "MCAP"])
@pytest.mark.parametrize("kind", ["split", "overlapping", "one after the other", "named otherwise"])
def test_bare_files_are_one_recording_only_where_they_are_parts_of_one(tmp_path, kind, plugin):
    """Seen: a folder of 24 of them, read as one recording with 23 clock resets."""
    step = {"split": 0.5, "overlapping": -3.0, "one after the other": 60.0, "named otherwise": 0.5}[kind]
    name = "run_{:02}" if kind == "named otherwise" else "run_{}"
    for k in range(4):
        later = int(k * step * 1e9)
        made = [replace(m, stamp=m.stamp + later, received=m.received + later) for m in motion(100)]
        file = bare(write_ros2(tmp_path / "made", Content({"/joint_states": made}), plugin))
        (tmp_path / "runs").mkdir(exist_ok=True)
        file.rename(tmp_path / "runs" / f"{name.format(k)}{file.suffix}")
        (tmp_path / "made").rmdir()
    found = find_recordings([tmp_path / "runs"])
    if kind == "split":
        assert [one.path for one in found] == [tmp_path / "runs"]
        assert len(Recording(found[0].path).files) == 4
    else:
        assert len(found) == 4 and all(one.path.is_file() for one in found)
        with pytest.raises(RecordingError, match="has 4 recordings in it.*name one of them"):
            Recording(tmp_path / "runs")


def test_names_of_recordings_are_unique(tmp_path):
    for folder in ("x", "y"):
        bag(tmp_path / folder / "run")
    found = find_recordings([tmp_path / "x", tmp_path / "y"])
    assert [one.name for one in found] == ["run", "run~2"]


def found_in(folder):
    return [(one.path.relative_to(folder).as_posix(), one.name) for one in find_recordings([folder])]


def test_a_recording_named_like_its_folder_hides_nothing(tmp_path):
    """Nor is it hidden: archive/, its parts, archive/archive/ and archive/archive.mcap are three recordings."""
    archive = tmp_path / "archive"
    bag(archive)
    bag(archive / "archive")
    write_ros2(tmp_path / "made", Content({"/joint_states": messages(30)}), "MCAP")
    next((tmp_path / "made").glob("*.mcap")).rename(archive / "archive.mcap")
    assert found_in(archive) == [(".", "archive"), ("archive", "archive~2"), ("archive.mcap", "archive.mcap")]
    folders = [one.folder for one in find_recordings([archive])]
    assert len(set(folders)) == 3


def test_a_listed_part_is_no_recording_of_its_own(tmp_path):
    path = bag(tmp_path / "run")
    part = next(path.glob("*.db3"))
    part.with_name(part.name + ".zstd").write_bytes(b"of the same")
    assert found_in(tmp_path) == [("run", "run")]


def test_folders_of_results_are_nobody_elses(tmp_path):
    names = ["a/b", "a__b", "A__b", "fleet.json", "Fleet.html", "x", "x~2"]
    for name in names:
        bag(tmp_path / "one" / name, count=20)
    bag(tmp_path / "other" / "x", count=20)
    found = find_recordings([tmp_path / "one", tmp_path / "other"])
    assert len(found) == len(names) + 1
    folders = [one.folder.casefold() for one in found]
    assert len(set(folders)) == len(folders) and not {"fleet.html", "fleet.json", "fleet.csv"} & set(folders)
    assert len({one.name for one in found}) == len(found)


def test_recordings_of_one_file_name_keep_apart(tmp_path, capsys):
    from rbd_dynamics.cli import main

    for folder in ("left", "right"):
        bag(tmp_path / "archive" / folder / "run", count=400)
    command = ["replay", str(tmp_path / "archive"), "-o", str(tmp_path / "out"), "--formats", "csv", "--workers", "1"]
    assert main(command) == 0
    capsys.readouterr()
    content = json.loads((tmp_path / "out" / "fleet.json").read_text())
    assert [entry["name"] for entry in content["recordings"]] == ["left/run", "right/run"]
    page = (tmp_path / "out" / "fleet.html").read_text()
    assert "left/run" in page and "right/run" in page


def plain(results):
    return [(r.job.recording, r.error, r.comparison, {**r.summary, "created": ""}) for r in results]


def test_workers_find_the_same_as_one_process(archive, alone):
    seen = []
    together = run_jobs(jobs(archive), workers=2, report=seen.append)
    assert plain(alone) == plain(together)
    assert len(seen) == 11
    failed = [result for result in alone if result.error]
    assert [result.job.recording.name for result in failed] == ["broken.mcap"]
    assert "no recording" in failed[0].error


def test_linear_algebra_is_of_one_thread(tmp_path):
    """Seen: 28 s of processor time on a busy machine for what takes 12, since threads of BLAS wait by spinning."""
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        meanwhile = []
        run_job(Job(bag(tmp_path / "one"), None, settings=SETTINGS), progress=lambda _: meanwhile.append(threads()))
        assert meanwhile and all(set(each) == {1} for each in meanwhile)
        assert set(threads()) == {2}


@pytest.mark.wide
def test_a_dask_cluster_finds_the_same(archive):
    distributed = pytest.importorskip("distributed")
    some = jobs(archive)[:3]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        found = run_jobs(some, scheduler=cluster.scheduler_address)
    assert plain(found) == plain(run_jobs(some, workers=1))


def test_no_scheduler_is_an_error_at_once(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "TIMEOUT", 0.5)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:1"):
        run_jobs([Job(Path("x"), None)], scheduler="tcp://127.0.0.1:1")


def test_what_was_done_is_not_done_again(archive, tmp_path):
    """After an interruption, that is; another setting or another file is another matter."""
    all_jobs = jobs(archive, tmp_path)
    first = run_jobs(all_jobs[:4], workers=1)
    assert not any(result.resumed for result in first)
    (tmp_path / "left__run2" / "state.json").unlink()  # as if it had been interrupted
    again = run_jobs(all_jobs, workers=1)
    done = [result.resumed for result in again]
    assert done == [True, True, False, True] + 7 * [False]
    assert plain(again[:2]) == plain(first[:2])
    shutil.copytree(archive / "left" / "run0", tmp_path / "moved")
    changed = next((tmp_path / "moved").glob("*.db3"), None) or next((tmp_path / "moved").glob("*.mcap"))
    job = Job(tmp_path / "moved", tmp_path / "out", settings=SETTINGS)
    assert not run_job(job).resumed and run_job(job).resumed
    os.utime(changed, ns=(1, 1))
    assert not run_job(job).resumed
    assert not run_job(Job(tmp_path / "moved", tmp_path / "out", settings=Settings(cutoff=5.0))).resumed


def test_merged_results_are_those_of_all_samples(alone):
    results = [result for result in alone if not result.error]
    robot, total = Robot(load_urdf(URDF)), Comparison(NAMES, SETTINGS.terms)
    for result in results:
        total.merge(compare(result.job.recording, robot, settings=SETTINGS).comparison)
    assert merged(results).to_dict() == total.to_dict()


def test_overview_tells_which_robot_drifts(archive, tmp_path):
    content = write_overview(tmp_path, run_jobs(jobs(archive, tmp_path), workers=1))
    assert json.loads((tmp_path / "fleet.json").read_text()) == content
    assert list(content["robots"]) == ["left", "right"]
    assert content["robots"]["right"]["recordings"] == 5
    said = " / ".join(content["attention"])
    assert "right, elbow drifts: over 4 days its bias changed by 0.8" in said
    assert "right, elbow differs" in said and "left" not in said and "shoulder" not in said
    with (tmp_path / "fleet.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 10 + 1
    assert [row["robot"] for row in rows if row["joint"] == "elbow"] == ["left"] * 5 + ["right"] * 5
    page = (tmp_path / "fleet.html").read_text()
    assert "right, elbow drifts" in page and "broken.mcap" in page
    rows = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    marks = [(row[0], row[3], row[-1]) for row in rows if len(row) == 10 and row[3] != "joint"]
    assert marks == [
        ("left", "shoulder", "<b></b>"), ("", "elbow", "<b></b>"),
        ("right", "shoulder", "<b></b>"), ("", "elbow", "<b>drifts differs</b>"),
    ]  # fmt: skip
    shuffled = run_jobs(jobs(archive, tmp_path)[::-1], workers=1)[::-1]
    assert overview(shuffled) == content


def outcomes(biases, robot="r", rmse=0.1):
    return [Outcome(robot, "j", k * DAY, rmse, bias, 10.0) for k, bias in enumerate(biases)]


def test_noise_is_no_drift():
    rng = np.random.default_rng(0)
    found = [trends(outcomes(rng.normal(size=12)))[0] for _ in range(200)]
    assert sum(trend.drifts for trend in found) <= 6  # 1 % of 200, and luck
    assert trends(outcomes(rng.normal(size=12) * 0.2 + 0.2 * np.arange(12)))[0].drifts


def test_a_change_too_small_to_matter_is_no_drift():
    trend = trends(outcomes(1e-3 * np.arange(10)))[0]
    assert trend.bias_change == pytest.approx(9e-3) and not trend.drifts


def test_few_recordings_have_no_trend():
    (trend,) = trends(outcomes([0.0, 1.0, 2.0]))
    assert np.isnan(trend.bias_change) and trend.to_dict()["bias_change"] is None and not trend.drifts


def test_a_robot_is_compared_with_the_others():
    group = outcomes([0.0], "a", 1.0) + outcomes([0.0], "b", 1.1) + outcomes([0.0], "c", 2.0)
    a, b, c = trends(group)
    assert (a.differs, b.differs, c.differs) == (False, False, True)
    assert c.fleet_rmse == pytest.approx(1.05) and c.recordings == 1
