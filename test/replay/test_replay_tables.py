# SPDX-License-Identifier: Apache-2.0
"""Recordings as tables: the same numbers as from a bag, names of columns as people write them, and what is wrong."""

from __future__ import annotations

import builtins
import csv
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.recorded.bags import START, needs_rosbags
from helpers.recorded.recordings import NAMES, SETTINGS, URDF, bag, messages

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.replay import Recording, RecordingError, compare
from rbd_dynamics.replay.fleet import Job, find_recordings, run_job
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.tables.columns import columns_of

ROBOT = Robot(load_urdf(URDF), backend="reference")
FIELDS = ("position", "velocity", "effort")


def columns(count=1200, mark=".", **parts):
    """{name: values}: stamps in ns, and the joints' numbers."""
    found = messages(count, **parts)
    table = {"stamp": np.array([m.stamp for m in found])}
    for k, name in enumerate(NAMES):
        for field in FIELDS:
            table[f"{name}{mark}{field}"] = np.array([getattr(m, field)[k] for m in found])
    return table


def write_csv(path: Path, table, separator=",", head=None) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(head or table)
        writer.writerows(zip(*(values.tolist() for values in table.values())))
    return path


def write_parquet(path, table):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(table), path)
    return path


def write_mat(path, table):
    from scipy.io import savemat

    savemat(path, table)
    return path


def results(path, **parts):
    return compare(path, ROBOT, settings=SETTINGS, **parts).comparison.results()


def numbers(path, joints=NAMES):
    blocks = list(Recording(path).joint_states("table", joints))
    return np.concatenate([b.stamps for b in blocks]), np.concatenate([b.numbers for b in blocks])


# --- the same as a bag ------------------------------------------------------------------------------------------------


@needs_rosbags
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "mat"])
def test_a_table_says_what_the_bag_says(tmp_path, kind):
    path, table = tmp_path / f"run.{kind}", columns(mark="_" if kind == "mat" else ".")
    if kind == "parquet":
        write_parquet(path, table)
    elif kind == "mat":
        write_mat(path, table)
    else:
        write_csv(path, table, "," if kind == "csv" else "\t")
    assert results(path) == results(bag(tmp_path / "bag"))
    stamps, _ = numbers(path)
    np.testing.assert_array_equal(stamps, table["stamp"])  # to the nanosecond


@needs_rosbags
def test_a_replays_own_table_can_be_replayed(tmp_path):
    """samples.csv of one is a recording for the next."""
    job = Job(bag(tmp_path / "bag"), tmp_path / "out", settings=SETTINGS, formats=("csv", "parquet"))
    first = run_job(job).summary
    for name in ("samples.csv", "samples.parquet"):
        again = results(tmp_path / "out" / name)
        assert [joint.name for joint in again] == list(NAMES)
        for joint, before in zip(again, first["joints"]):
            assert joint.rmse == pytest.approx(before["rmse"], rel=0.2)


def test_a_table_needs_no_rosbags(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "rosbags":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert [joint.name for joint in results(write_csv(tmp_path / "run.csv", columns()))] == list(NAMES)


def test_tables_are_read_in_blocks(tmp_path):
    path = write_csv(tmp_path / "run.csv", columns())
    blocks = list(Recording(path).joint_states("table", NAMES, block=100))
    assert [len(block) for block in blocks] == 12 * [100]
    assert blocks[-1].fraction == pytest.approx(1.0) and 0.4 < blocks[5].fraction < 0.6


def test_only_tables_that_are_named_are_recordings(tmp_path):
    """In a folder there are tables of results, too."""
    write_csv(tmp_path / "run.csv", columns(20))
    assert [one.name for one in find_recordings([tmp_path / "run.csv"])] == ["run.csv"]
    with pytest.raises(RecordingError, match="has no recording in it"):
        find_recordings([tmp_path])


# --- names and units --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "joints"),
    [
        (["t", "elbow.position", "elbow.velocity", "elbow.effort"], ("elbow",)),
        (["__time", "/joint_states/a/position", "/joint_states/b/position"], ("a", "b")),
        (["/js/header/stamp", "/js/left/a/position", "/js/right/a/position"], ("left/a", "right/a")),
        (["time", "q1", "q2", "dq1", "dq2", "tau1", "tau2"], ("1", "2")),
        (["timestamp", "actual_q_0", "actual_q_1", "actual_qd_0", "actual_current_0", "target_q_0"], ("0", "1")),
        (["Time (s)", "Position[0]", "Position[1]", "Torque[0]"], ("0", "1")),
        (["time", "position(elbow)", "velocity(elbow)"], ("elbow",)),
        (["time", "elbow_q", "elbow_q_dot", "elbow_tau_measured", "elbow.tau_predicted", "elbow.a"], ("elbow",)),
        (["header.stamp.sec", "header.stamp.nanosec", "pos elbow", "vel elbow"], ("elbow",)),
    ],
)
def test_columns_as_people_name_them(names, joints):
    assert columns_of(names, "run.csv").joints == joints


def test_each_field_finds_its_columns():
    found = columns_of(["b_effort", "t", "a_q", "b_q", "a_dq [deg/s]"], "run.csv")
    assert (found.times, found.joints) == ((1,), ("b", "a"))
    assert found.fields == {
        "position": ((3, 2), (1.0, 1.0)),
        "velocity": ((-1, 4), (1.0, np.pi / 180.0)),
        "effort": ((0, -1), (1.0, 1.0)),
    }


@pytest.mark.parametrize(("head", "factor"), [
    (["t [ms]", "q1 [deg]", "v1 [deg/s]", "tau1 [mNm]"], (1e-3, np.pi / 180, np.pi / 180, 1e-3)),
    (["time_us", "q1 (mm)", "v1 (mm/s)", "tau1 (kNm)"], (1e-6, 1e-3, 1e-3, 1e3)),
    (["t_s", "q1 [rad]", "v1 [rpm]", "tau1 [A]"], (1.0, 1.0, np.pi / 30, 1.0)),
])  # fmt: skip
def test_units(tmp_path, head, factor):
    raw = np.random.default_rng(0).normal(size=(50, 4))
    raw[:, 0] = np.arange(50)
    stamps, found = numbers(write_csv(tmp_path / "run.csv", dict(zip(head, raw.T))), ("1",))
    np.testing.assert_allclose(stamps, 1e9 * factor[0] * raw[:, 0], atol=0.5)
    np.testing.assert_allclose(found[:, :, 0], raw[:, 1:] * factor[1:], rtol=1e-14)


@pytest.mark.parametrize(("times", "expected"), [
    (START + 1e7 * np.arange(9), START), (1.7e12 + 10 * np.arange(9), START), (1.7e15 + 1e4 * np.arange(9), START),
    (1.7e9 + 0.01 * np.arange(9), START), (0.01 * np.arange(9), 0), (-5.0 + 0.01 * np.arange(9), 0),
])  # fmt: skip
def test_times_without_a_unit_are_known_by_their_size(tmp_path, times, expected):
    stamps, _ = numbers(write_csv(tmp_path / "run.csv", {"time": times, "q1": np.sin(times)}), ("1",))
    np.testing.assert_allclose(stamps, expected + 10**7 * np.arange(9), atol=300)  # floats of 1.7e18 are 256 apart


def test_times_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    stamps = START + 10**7 * np.arange(20)
    for kind in (pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ms")):
        table = {"time": pa.array(stamps).cast(pa.timestamp("ns")).cast(kind, safe=False), "q1": np.arange(20.0)}
        found, _ = numbers(write_parquet(tmp_path / "run.parquet", table), ("1",))
        np.testing.assert_array_equal(found, stamps)


def test_decimal_commas_and_empty_cells(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("\ufeff# t;q1;tau1\n0,00;0,5;\n0,01;1,5;2,5\n\n0,02;;3,5\n;1;1\n", encoding="utf-8")
    log = Log()
    blocks = list(Recording(path).joint_states("table", ["1"], log=log))
    found = np.concatenate([block.numbers for block in blocks])[:, :, 0]
    np.testing.assert_array_equal(found, [[0.5, np.nan, np.nan], [1.5, np.nan, 2.5], [np.nan, np.nan, 3.5]])
    assert log.events["messages without a stamp"] == 1


def test_rows_that_are_none_are_counted(tmp_path):
    path = write_csv(tmp_path / "run.csv", columns(300))
    lines = path.read_text().splitlines()
    lines[50], lines[60], lines[-1] = "what", lines[60].replace(",", ",x", 1), lines[-1][:40]
    path.write_text("\n".join(lines))
    log = Log()
    assert sum(map(len, Recording(path).joint_states("table", NAMES, log=log))) == 297
    assert log.events["undecodable messages"] == 3


def test_matrices_of_matlab(tmp_path):
    t = 0.01 * np.arange(40)
    q = np.random.default_rng(1).normal(size=(40, 2))
    names = np.array(["shoulder", "elbow"], dtype=object)
    for content in (
        {"t": t, "q": q, "joint_names": names},
        {"log": {"time": t[:, None], "q": q.T, "torque": np.zeros((40, 2)), "names": np.array(["shoulder", "elbow"])}},
    ):
        _, found = numbers(write_mat(tmp_path / "run.mat", content))
        np.testing.assert_array_equal(found[:, 0], q)
    _, found = numbers(write_mat(tmp_path / "run.mat", {"t": t, "q": q}), ("2", "1"))
    np.testing.assert_array_equal(found[:, 0], q[:, ::-1])
    _, found = numbers(write_mat(tmp_path / "one.mat", {"t": t, "q": q[:, 0]}), ("1",))
    np.testing.assert_array_equal(found[:, 0, 0], q[:, 0])


# --- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.csv", "", "empty.csv is empty"),
        ("head.csv", "t,elbow.q\n", "head.csv has names of columns, but no rows"),
        ("no_time.csv", "a,elbow.q\n1,2\n", "has no column of times, as t, time, stamp or time_ms; its columns: a"),
        ("no_joint.csv", "t,foo,bar\n1,2,3\n", "has no position of any joint, as elbow.position, q_elbow or q1; its"),
        ("no_names.csv", "0.0,1.0,2.0\n0.1,1.0,2.0\n", "no_names.csv has no names of columns, and 3 numbers in"),
        ("twice.csv", "t,elbow.q,elbow.position\n1,2,3\n", "'elbow.q' and 'elbow.position' are both the position of '"),
        ("unit.csv", "t,q1 [grad]\n1,2\n", "column 'q1 [grad]': unknown unit 'grad' as position; known: rad, deg"),
        ("time.csv", "t [h],q1\n1,2\n", "column 't [h]': unknown unit 'h' as time"),
        ("text.csv", "t,elbow.q\n0,what\n0,1\n", "text.csv: the first row is not all numbers: 'what' is not a number"),
        ("short.csv", "t,elbow.q\n1\n", "the first row is not all numbers: 1 cells for 2 columns"),
        ("stamps.csv", "t,elbow.q\n,1\n,2\n", "has no time in its first 2 rows"),
        ("binary.csv", "\0\1\2\0" * 20, "binary.csv is not a table"),
        ("long.csv", "t" * (1 << 20), "long.csv is not a table"),
        ("quote.csv", 't,elbow.q\n0,"' + "1" * 200_000 + "\n", "quote.csv: line"),
        ("others.csv", "t,wrist.q\n0,1\n1,2\n2,3\n3,4\n", "names wrist; none of them is a joint of the robot"),
        ("bad.parquet", "PAR1 and no more", "bad.parquet is not a Parquet file, or too damaged"),
        ("bad.mat", "MATLAB 5.0 MAT-file" + 200 * " ", "bad.mat is not a MATLAB file, or too damaged"),
        ("other.txt2", "t,elbow.q\n1,2\n", "nor a table (.csv, .parquet, .mat, .npz or .h5)"),
    ],
)  # fmt: skip
def test_what_is_no_table(tmp_path, name, content, complaint, capsys):
    (tmp_path / name).write_text(content)
    (tmp_path / "arm.urdf").write_text(URDF)
    assert main(["replay", str(tmp_path / name), "--urdf", str(tmp_path / "arm.urdf")]) == 2
    error = capsys.readouterr().err.strip()
    assert complaint in error and "Traceback" not in error and error.splitlines()[-1].startswith("rbd_dynamics: ")


def test_a_text_column_of_parquet(tmp_path):
    path = write_parquet(tmp_path / "run.parquet", {"t": [0.0, 1.0], "elbow.q": ["a", "b"]})
    with pytest.raises(RecordingError, match="column 'elbow.q' has no numbers, but string"):
        Recording(path)


def test_a_damaged_parquet_file(tmp_path):
    path = write_parquet(tmp_path / "run.parquet", columns())
    data = bytearray(path.read_bytes())
    data[2000:30000] = bytes(28000)
    path.write_bytes(data)
    with pytest.raises(RecordingError, match="run.parquet is damaged after|run.parquet is not a Parquet file"):
        numbers(path)


@pytest.mark.parametrize(("content", "complaint"), [
    ({"q": np.zeros((9, 2))}, "has no column of times, as t, time, stamp or time_ms; its columns: 1.q, 2.q"),
    ({"t": np.arange(9.0), "q": np.zeros((8, 2))}, "has no position of any joint"),
    ({"t": np.arange(9.0), **{key: {"q": np.zeros((9, 2))} for key in "ab"}}, "arrays have '1.q', one of them 'b/q'"),
])  # fmt: skip
def test_what_is_no_file_of_matlab(tmp_path, content, complaint):
    with pytest.raises(RecordingError, match=complaint):
        Recording(write_mat(tmp_path / "run.mat", content))


def test_a_damaged_new_file_of_matlab(tmp_path):
    pytest.importorskip("h5py")
    path = tmp_path / "run.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(400))
    with pytest.raises(RecordingError, match="run.mat is not an HDF5 file, or too damaged to read"):
        Recording(path)


def test_parquet_without_pyarrow_is_one_line(tmp_path, monkeypatch, capsys):
    path = write_parquet(tmp_path / "run.parquet", columns(30))
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert main(["replay", str(path)]) == 2
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith("a Parquet file needs the package pyarrow: pip install 'rbd_dynamics[parquet]'")
    )


def test_a_table_has_no_description(tmp_path, capsys):
    path = write_csv(tmp_path / "run.csv", columns(30))
    assert main(["replay", str(path)]) == 2
    assert "run.csv has no robot_description in it: give a URDF" in capsys.readouterr().err


def test_names_of_a_table_and_of_the_robot(tmp_path, capsys):
    table = {name.replace("shoulder.", "J1_").replace("elbow.", "J2_"): v for name, v in columns().items()}
    path = write_csv(tmp_path / "run.csv", table)
    (tmp_path / "arm.urdf").write_text(URDF)
    given = ["--joint-map", "J1=shoulder", "--joint-map", "J2=elbow", "--json", "--cutoff", "8"]
    assert main(["replay", str(path), "--urdf", str(tmp_path / "arm.urdf"), *given]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [joint["name"] for joint in summary["joints"]] == list(NAMES)
    assert summary["recording"]["topic"] == "table" and summary["recording"]["messages"] == 1200
