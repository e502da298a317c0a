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
from helpers.wide import table

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.replay import Comparison, Recording, RecordingError, Settings, compare
from rbd_dynamics.replay.fleet import Job, cluster, find_recordings, overview, run_job, run_jobs, trends, write_overview
from rbd_dynamics.replay.fleet.drift import DAY
from rbd_dynamics.replay.fleet.job import merged
from rbd_dynamics.replay.fleet.moderated import moderated
from rbd_dynamics.replay.fleet.page import DISC, RING, page_of
from rbd_dynamics.replay.fleet.quantities import NO_DELAY, Outcome, Value
from rbd_dynamics.replay.fleet.words import attention

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
    assert "not a recording" in failed[0].error


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
    said = content["attention"]
    assert said[0].startswith("right, elbow: bias of the torque has grown since 2023-11-14, from ")
    assert re.search(r"from −?0.000\d to 0.[78]\d{3} N m \(\+0.[78]\d{3} ± 0.00\d\d\); so has RMSE$", said[0])
    assert said[1].startswith("right, elbow differs") and len(said) == 2
    series = content["robots"]["right"]["trends"][1]["series"]
    assert [value for _, value, _ in series["bias"]] == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8], abs=5e-3)
    assert {len(points) for points in series.values()} == {5} and set(series) == {
        "coulomb",
        "viscous",
        "bias",
        "rmse",
        "delay",
    }
    with (tmp_path / "fleet.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 10 + 1
    assert [row["robot"] for row in rows if row["joint"] == "elbow"] == ["left"] * 5 + ["right"] * 5
    assert float(rows[0]["coulomb"]) < 0.01 and 0.0 < float(rows[0]["coulomb_error"]) < 0.01
    # a number where something was found, and nothing where nothing was
    assert {row[name] for row in rows for name in ("delay", "delay_error", "load", "load_error")} == {""}
    assert {tuple(point[1:]) for point in series["delay"]} == {(None, None)}
    assert {error for _, _, error in series["rmse"]} == {None}
    assert all("delay" not in trend["changes"] for robot in content["robots"].values() for trend in robot["trends"])
    page = (tmp_path / "fleet.html").read_text()
    assert (
        page.index("right, elbow: bias of the torque has grown") < page.index("<svg") < page.index("Robots")
        and "broken.mcap" in page
    )
    rows = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    marks = [(row[0], row[3], row[4]) for row in rows if len(row) == 11 and row[3] != "joint"]
    assert marks == [
        ("left", "shoulder", "<b></b>"), ("", "elbow", "<b></b>"),
        ("right", "shoulder", "<b></b>"), ("", "elbow", "<b>drifts differs</b>"),
    ]  # fmt: skip
    shuffled = run_jobs(jobs(archive, tmp_path)[::-1], workers=1)[::-1]
    assert overview(shuffled) == content


def outcomes(biases, robot="r", rmse=0.1, joint="j", name="bias"):
    return [
        Outcome(robot, joint, k * DAY, 10.0, {"rmse": Value(rmse, 0.0, "N m"), name: Value(bias, 0.0, "N m")})
        for k, bias in enumerate(biases)
    ]


def drifts_of(found):
    return [(t.robot, t.joint, name) for t in found for name, change in t.changes.items() if change.drifts]


def fleet(rng, count, special=()):
    """Two robots of six joints, whose friction and bias scatter from one recording to the next, each by a measure."""
    made = []
    for robot in "ab":
        for joint in map(str, range(6)):
            sizes = np.exp(0.3 * rng.normal(size=2))
            friction, bias = 2.0 + 0.2 * sizes[0] * rng.standard_t(8, count), 0.2 * sizes[1] * rng.standard_t(8, count)
            if (robot, joint) == ("b", "3") and len(special):
                friction = np.array(special)
            made += [
                Outcome(robot, joint, 30.0 * k * DAY, 10.0, {
                    "coulomb": Value(friction[k], 0.05, "N m"), "bias": Value(bias[k], 0.0, "N m"),
                    "rmse": Value(0.5, 0.0, "N m"),
                })
                for k in range(count)
            ]  # fmt: skip
    return made


@pytest.mark.parametrize("count", table([4, 5, 8, 20], [4, 5]))
def test_noise_is_no_drift(count):
    rng = np.random.default_rng(0)
    assert sum(bool(drifts_of(trends(fleet(rng, count)))) for _ in range(100)) <= 3  # 1 % of 100, and luck


def test_four_recordings_tell_a_joint_that_wears():
    rng, told = np.random.default_rng(1), []
    for _ in range(20):
        found = trends(fleet(rng, 4, [1.72, 2.65, 3.23, 4.26]))
        told.append(drifts_of(found))
        change = next(t.changes["coulomb"] for t in found if (t.robot, t.joint) == ("b", "3"))
        assert change.shape == "line" and change.since == 0.0 and change.change == pytest.approx(2.46)
    assert told.count([("b", "3", "coulomb")]) >= 18 and told.count([]) == 20 - told.count([("b", "3", "coulomb")])
    (said,) = attention(trends(fleet(rng, 4, [1.72, 2.65, 3.23, 4.26])))
    assert re.match(r"b, 3: Coulomb friction has grown since 0 s, from 1.7\d to 4.\d+ N m \(\+2.46 ± 0.\d\d\)$", said)


@pytest.mark.parametrize("shape", ["step", "line"])
def test_the_day_of_a_change_is_told(shape):
    special = 2.0 + 2.0 * (np.arange(10) >= 6) if shape == "step" else 2.0 + 0.6 * np.maximum(np.arange(10) - 5, 0)
    found = trends(fleet(np.random.default_rng(2), 10, special + 0.02 * np.random.default_rng(3).normal(size=10)))
    assert drifts_of(found) == [("b", "3", "coulomb")]
    (change,) = [t.changes["coulomb"] for t in found if t.drifts]
    assert change.shape == shape and change.since == (6 if shape == "step" else 5) * 30.0 * DAY
    assert change.change == pytest.approx(2.0 if shape == "step" else 2.4, abs=0.05)


def test_one_bad_recording_is_no_drift():
    for k in (0, 5):
        special = np.where(np.arange(6) == k, 6.0, 2.0 + 0.01 * np.arange(6))
        assert not drifts_of(trends(fleet(np.random.default_rng(4), 6, special)))


def test_variances_are_moderated_as_by_smyth():
    """Of variances drawn from the model itself the prior is found, and a lone series keeps its own."""
    rng = np.random.default_rng(5)
    true = 3.0 * 5.0 / rng.chisquare(5.0, size=20_000)
    drawn = true * rng.chisquare(3.0, size=20_000) / 3.0
    found, freedoms = moderated(drawn, np.full(20_000, 3.0))
    assert freedoms[0] - 3.0 == pytest.approx(5.0, rel=0.1)
    assert found == pytest.approx(((freedoms - 3.0) * 3.0 + 3.0 * drawn) / freedoms, rel=0.05)
    assert moderated(np.array([2.0]), np.array([3.0])) == (np.array([2.0]), np.array([3.0]))


def test_a_change_too_small_to_matter_is_no_drift():
    trend = trends(outcomes(1e-3 * np.arange(10)))[0]
    assert trend.changes["bias"].change == pytest.approx(9e-3) and not trend.drifts


def test_efforts_that_begin_to_be_late_are_told():
    """Where no delay was found there is no number; the trend takes it as zero, and the page draws a ring there."""
    late = [NO_DELAY] * 6 + [Value(1e-3 * delay, 1e-4, "s") for delay in (8.0, 8.1, 7.9, 8.0, 8.1, 8.0)]
    never = [NO_DELAY] * 12
    found = trends(
        Outcome("r", joint, k * DAY, 10.0, {"delay": value})
        for joint, values in (("a", late), ("b", never))
        for k, value in enumerate(values)
    )
    trend, other = found
    assert not other.changes
    change = trend.changes["delay"]
    assert change.drifts and (change.shape, change.since) == ("step", 6 * DAY)
    assert (change.before, change.after) == pytest.approx((0.0, 8e-3), abs=1e-4)
    assert [point[1] for point in trend.to_dict()["series"]["delay"][5:7]] == [None, 8e-3]
    page = page_of({"robots": {}, "recordings": [], "attention": []}, found)
    assert (page.count(RING), page.count(DISC)) == (6, 6) and "nan" not in page.lower()


def test_few_recordings_have_no_trend():
    (trend,) = trends(outcomes([0.0, 1.0, 2.0]))
    assert not trend.changes and not trend.drifts and len(trend.to_dict()["series"]["bias"]) == 3


def test_a_robot_is_compared_with_the_others():
    group = outcomes([0.0], "a", 1.0) + outcomes([0.0], "b", 1.1) + outcomes([0.0], "c", 2.0)
    a, b, c = trends(group)
    assert (a.differs, b.differs, c.differs) == (False, False, True)
    assert c.fleet_rmse == pytest.approx(1.05) and c.recordings == 1
