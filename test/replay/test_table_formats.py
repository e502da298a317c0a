# SPDX-License-Identifier: Apache-2.0
"""Tables as programs of robots write them: read for what they are, or told what is guessed, and never another thing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.recorded.recordings import NAMES, SETTINGS, URDF, messages

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.replay import Recording, RecordingError, Settings, analyse
from rbd_dynamics.replay.signals.segmentation import segments
from rbd_dynamics.replay.signals.unsaid import in_degrees

ROBOT = Robot(load_urdf(URDF), backend="reference")
STATES = messages(400)
T = np.array([m.stamp for m in STATES], dtype=np.int64)
Q, V, TAU = (np.array([getattr(m, field) for m in STATES]) for field in ("position", "velocity", "effort"))
SINCE = (T - T[0]) * 1e-9


def written(path: Path, head: str, columns, separator=",", encoding="utf-8") -> Path:
    lines = [separator.join(c if isinstance(c, str) else repr(c) for c in row) for row in zip(*columns)]
    path.write_text(head + "\n".join(lines) + "\n", encoding=encoding)
    return path


def column(values):
    return np.asarray(values).tolist()


def libfranka(path, before="state.", time="time, success_rate"):
    """franka::logToCSV: commands beside states, times in ms without a unit, a space after some commas."""
    names = [f"{before}{word}[{k}]" for word in ("q", "q_d", "dq", "dq_d", "tau_J", "tau_ext_hat_filtered")
             for k in range(2)]  # fmt: skip
    names += [f"cmd.{word}[{k}]" for word in ("q_d", "dq_d", "tau_J_d") for k in range(2)]
    parts = [Q, Q + 1.0, V, V + 1.0, TAU, TAU * 0.1, Q, V, TAU * 2.0]
    milliseconds = column(np.rint(SINCE * 1e3).astype(int) + 5_000_000)
    return written(path, f"{time}, {', '.join(names)}\n",
                   [milliseconds, [1.0] * len(T), *(column(p[:, k]) for p in parts for k in range(2))])  # fmt: skip


def ur_rtde(path):
    """Universal Robots' recorder: spaces; torques are only those that the controller asks for."""
    words = {"target_q": Q + 0.1, "actual_q": Q, "actual_qd": V, "target_moment": TAU}
    names = " ".join(["timestamp", *(f"{word}_{k}" for word in words for k in range(2)), "actual_TCP_force_0"])
    rest = [column(part[:, k]) for part in words.values() for k in range(2)]
    return written(path, names + "\n", [column(SINCE + 1234.5), *rest, [0.5] * len(T)], " ")


def ros2_topic_echo(path):
    """No head; names of joints in each line."""
    stamps = [column(T // 10**9), column(T % 10**9)]
    rest = [column(part[:, k]) for part in (Q, V, TAU) for k in range(2)]
    return written(path, "", [*stamps, ["base"] * len(T), *([name] * len(T) for name in NAMES), *rest])


def plotjuggler(path):
    """Series in the order of their names; rows of other series, in which those of the joints are empty."""
    words = {"effort": TAU, "position": Q, "velocity": V}
    names = [f"/joint_states/{NAMES[k]}/{word}" for k in (1, 0) for word in words]
    path.write_text(f"__time,/imu/x,{','.join(names)}\n")
    with path.open("a") as file:
        for row, stamp in enumerate(T.tolist()):
            numbers = [f"{words[word][row, k]:.9f}" for k in (1, 0) for word in words]
            file.write(f"{stamp * 1e-9:.6f},,{','.join(numbers)}\n{stamp * 1e-9 + 0.004:.6f},1.0,{',' * 5}\n")
    return path


def rostopic_echo(path):
    """ROS 1: numbers of joints in the head, their names in the rows; times in ns."""
    fields = {"position": Q, "velocity": V, "effort": TAU}
    names = [f"field.{word}{k}" for word in ("name", *fields) for k in range(2)]
    head = ["%time", "field.header.seq", "field.header.stamp", "field.header.frame_id", *names]
    rest = [column(part[:, k]) for part in fields.values() for k in range(2)]
    times, named = column(T), [[name] * len(T) for name in NAMES]
    return written(path, ",".join(head) + "\n", [times, column(np.arange(len(T))), times, [""] * len(T), *named, *rest])


def foxglove(path):
    """The export of a plot: a row for each number."""
    parts = {"position": Q, "velocity": V, "effort": TAU}
    path.write_text("elapsed time,receive time,header.stamp,topic,value\n")
    with path.open("a") as file:
        for word, part in parts.items():
            for k in range(len(NAMES)):
                for since, stamp, value in zip(SINCE.tolist(), T.tolist(), part[:, k].tolist()):
                    text = f"{stamp // 10**9}.{stamp % 10**9:09d}"
                    file.write(f"{since},{text},{text},/joint_states.{word}[{k}],{value!r}\n")
    return path


def excel(path):
    """Unicode text: UTF-16, tabs, decimal commas; a row of units."""
    names = ["Time", *(f"{word} {name}" for word in ("Position", "Velocity", "Torque") for name in NAMES)]
    units = ["s", "deg", "deg", "deg/s", "deg/s", "Nm", "Nm"]
    parts = [SINCE, *np.rad2deg(Q).T, *np.rad2deg(V).T, *TAU.T]
    columns = [[repr(x).replace(".", ",") for x in column(part)] for part in parts]
    return written(path, "\t".join(names) + "\n" + "\t".join(units) + "\n", columns, "\t", "utf-16")


def commented(path):
    """As numpy.savetxt writes it, after remarks."""
    names = ["t", *(f"{word}{k}" for word in ("q", "dq", "tau") for k in (1, 2))]
    head = f"# arm 7, second run\n# {' '.join(names)}\n"
    return written(path, head, [column(SINCE), *(column(p[:, k]) for p in (Q, V, TAU) for k in range(2))], " ")


def npz(path):
    np.savez(path, time=SINCE, q=Q, dq=V, tau=TAU, joint_names=np.array(NAMES), note=np.zeros((3, 3, 3)))
    return path


def hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["run/t"], file["run/q"], file["run/dq"], file["run/tau"] = SINCE, Q, V, TAU
        file["run/joint_names"] = list(NAMES)
    return path


def mat73(path):
    """MATLAB 7.3 is HDF5 after 512 bytes: arrays transposed, texts as numbers, cells as references."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        file["t"], file["q"], file["dq"], file["tau"] = SINCE[None], Q.T, V.T, TAU.T
        for k, name in enumerate(NAMES):
            file[f"#refs#/{k}"] = np.array([[ord(letter)] for letter in name], dtype=np.uint16)
        cells = file.create_dataset("joint_names", (len(NAMES), 1), dtype=h5py.ref_dtype)
        for k in range(len(NAMES)):
            cells[k, 0] = file[f"#refs#/{k}"].ref
    data = bytearray(path.read_bytes())
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64"
    data[:128] = head.ljust(124) + b"\x00\x02IM"
    path.write_bytes(data)
    return path


#: {name of the file: (writer, what is guessed, in words)}
FORMATS = {
    "franka.csv": (libfranka, ["are taken for ms", "columns are numbered"]),
    "ur.csv": (ur_rtde, ["efforts are the controller's commands (target_moment_0", "columns are numbered"]),
    "echo.csv": (ros2_topic_echo, ["`ros2 topic echo --csv`"]),
    "plotjuggler.csv": (plotjuggler, []),
    "rostopic.txt": (rostopic_echo, ["`rostopic echo -p`"]),
    "foxglove.csv": (foxglove, ["columns are numbered"]),
    "excel.txt": (excel, []),
    "savetxt.dat": (commented, ["columns are numbered"]),
    "run.npz": (npz, []),
    "run.h5": (hdf5, []),
    "run.mat": (mat73, []),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_program_is_read_with_its_numbers_and_its_guesses(tmp_path, name):
    writer, guesses = FORMATS[name]
    path = writer(tmp_path / name)
    recording = Recording(path)
    found = segments(recording, ROBOT.model, settings=SETTINGS)
    parts = list(found._messages(4096, found.log))
    numbers = np.concatenate([part.numbers for part in parts])
    numbers = numbers[np.isfinite(numbers).all(axis=(1, 2))]
    for field, expected in enumerate((Q, V, TAU)):
        np.testing.assert_allclose(numbers[:, field], expected, atol=2e-9, rtol=1e-9)
    stamps = np.concatenate([part.stamps for part in parts if len(part)])
    assert np.median(np.diff(np.unique(stamps))) == pytest.approx(4e6 if "juggler" in name else 1e7, rel=1e-3)
    for _ in found:
        pass
    assert len(found.log.guesses) == len(guesses), found.log.guesses
    for text in guesses:
        assert any(text in guess for guess in found.log.guesses), found.log.guesses


def test_older_logs_of_libfranka_have_other_heads(tmp_path):
    path = libfranka(tmp_path / "old.csv", before="", time="duration, success rate")
    assert Recording(path).meaning.mapping()["effort"] == {"0": "tau_J[0] [Nm]", "1": "tau_J[1] [Nm]"}


def test_measured_torques_come_before_currents_and_currents_are_told(tmp_path):
    head = "timestamp,actual_q_0,actual_current_0,actual_current_as_torque_0\n"
    path = written(tmp_path / "ur.csv", head, [column(SINCE), column(Q[:, 0]), column(V[:, 0]), column(TAU[:, 0])])
    meaning = Recording(path).meaning
    assert meaning.mapping()["effort"] == {"0": "actual_current_as_torque_0 [Nm]"}
    assert meaning.said == ("efforts are taken from actual_current_as_torque_0 ..., not from actual_current_0 ...; "
                            "--columns may name another",)  # fmt: skip
    parts = [column(x) for x in (SINCE, Q[:, 0], V[:, 0])]
    path = written(tmp_path / "ur2.csv", "t,actual_q_0,actual_current_0\n", parts)
    assert "efforts are currents (actual_current_0 ...), not torques" in Recording(path).meaning.said[0]


# --- units that nobody said -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "with_velocity"), [
    (1.0, True), (1e-3, True), (1e-6, True), (1e-9, True), (1.0, False), (1e-3, False), (1e-6, False), (1e-9, False),
])  # fmt: skip
def test_the_unit_of_times_is_found(tmp_path, unit, with_velocity):
    names = ["t", "shoulder.q", "elbow.q", *(["shoulder.v", "elbow.v"] if with_velocity else [])]
    parts = [SINCE / unit, *Q.T, *(V.T if with_velocity else [])]
    meaning = Recording(written(tmp_path / "run.csv", ",".join(names) + "\n", [column(p) for p in parts])).meaning
    assert meaning.time == unit
    assert len(meaning.said) == (unit != 1.0)  # seconds are a matter of course


@pytest.mark.parametrize("position", [1.0, 180.0 / np.pi])
@pytest.mark.parametrize("velocity", [1.0, 180.0 / np.pi, 30.0 / np.pi])
def test_units_of_angles_are_found(tmp_path, position, velocity):
    """By velocities where only one of both is in other units, by the robot's limits where both are in degrees."""
    names = "t,shoulder.q,elbow.q,shoulder.v,elbow.v,shoulder.tau,elbow.tau\n"
    parts = [SINCE, *(position * Q).T, *(velocity * V).T, *TAU.T]
    path = written(tmp_path / "run.csv", names, [column(part) for part in parts])
    found = segments(Recording(path), ROBOT.model, settings=SETTINGS)
    (part,) = found._messages(4096, found.log)
    np.testing.assert_allclose(part.position, Q, rtol=1e-9)
    np.testing.assert_allclose(part.velocity, V, rtol=1e-9)
    guesses = {*found.log.guesses, *found.recording.log.guesses}
    assert len(guesses) == (position != 1.0 or velocity != 1.0), guesses


@pytest.mark.parametrize("change", [
    lambda q: q + np.pi / 2, lambda q: -q - 3.0, lambda q: np.mod(q - 1.2, 2.0 * np.pi) + 1.2,
])  # fmt: skip
def test_angles_that_are_wrapped_turned_or_from_another_zero_are_no_degrees(change):
    """Seen: angles up to 3.3 rad, of a joint whose zero was elsewhere, taken for degrees; then offsets of 20 N m."""
    t = np.linspace(0.0, 20.0, 500)
    q = np.column_stack([1.5 * np.sin(t), 1.2 + np.sin(0.7 * t)])
    limits, turning = np.array([[-2.0, 2.0], [-1.0, 3.0]]), [True, True]
    moved = q.copy()
    moved[:, 1] = change(q[:, 1])
    assert (moved[:, 1] > 3.5).any() or (moved[:, 1] < -1.5).any()  # beyond the limits
    assert in_degrees(q, limits, turning) == in_degrees(moved, limits, turning) == ""
    assert "where the robot has a range of" in in_degrees(np.degrees(q), limits, turning)


def test_said_units_are_not_guessed(tmp_path):
    """Positions of hundreds of radians are what the table says."""
    names = "t [s],shoulder.q [rad],elbow.q [rad]\n"
    path = written(tmp_path / "run.csv", names, [column(SINCE), *(column(p) for p in (100 * Q).T)])
    found = segments(Recording(path), ROBOT.model, settings=SETTINGS)
    (part,) = found._messages(4096, found.log)
    np.testing.assert_array_equal(part.position, 100 * Q)
    assert not found.log.guesses


# --- columns that are said --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [
    {"q": "pos_meas{}", "dq": "rate {} [deg/s]", "tau": {"shoulder": "load_a", "elbow": "load_b"}},
    {"position": {"shoulder": "pos_measshoulder", "elbow": "pos_measelbow"}, "v": "5,6 [deg/s]", "effort": "7-8"},
])  # fmt: skip
def test_any_table_can_be_said(tmp_path, given):
    names = "clock,junk,pos_measshoulder,pos_measelbow,rate shoulder,rate elbow,load_a,load_b\n"
    parts = [SINCE * 1e3, SINCE, *Q.T, *np.rad2deg(V).T, *TAU.T]
    path = written(tmp_path / "run.csv", names, [column(p) for p in parts])
    settings = Settings(columns={"t": "clock [ms]", **given})
    meaning = settings.opened(path).meaning
    mapping = meaning.mapping()
    assert mapping["time"] == "clock [ms]" and mapping["position"] == {
        "shoulder": "pos_measshoulder [rad]", "elbow": "pos_measelbow [rad]"
    }  # fmt: skip
    assert Settings.from_dict(settings.to_dict()) == settings
    if "tau" in given:
        (states,) = settings.opened(path).joint_states("table", NAMES)
        np.testing.assert_allclose(states.numbers, np.stack([Q, V, TAU], axis=1), rtol=1e-9)


def test_no_head_and_no_times(tmp_path):
    path = written(tmp_path / "run.csv", "", [column(p) for p in (*Q.T, *V.T, *TAU.T)])
    with pytest.raises(RecordingError, match="run.csv has no names of columns, and 6 numbers in its first row: say"):
        Recording(path)
    with pytest.raises(RecordingError, match="has no column of times"):
        Recording(path, columns={"position": "1-2"})
    settings = Settings(columns={"q": "1-2", "dq": "3-4", "tau": "5-6"}, rate=100.0, cutoff=8.0)
    found = analyse(path, ROBOT, settings=settings)
    assert [joint.name for joint in found.comparison.results()] == list(NAMES)
    assert found.segments.rate == 100.0 and max(j.rmse for j in found.comparison.results()) < 0.05
    assert "it has no times: rows at 100 Hz, as --rate says" in found.log.warnings[0]


@pytest.mark.parametrize(("given", "complaint"), [
    ({"q": "angle{}"}, r"--columns: no column, or not just one, is 'angle\{\}', .*its columns: t, elbow.q"),
    ({"q": {"elbow": "elbow.qq"}}, "is 'elbow.qq', which is to be the position; near to it: 'elbow.q'"),
    ({"q": "2-9"}, "is '2-9'"), ({"tau": "elbow.q [grad]"}, "unknown unit 'grad' as effort"),
])  # fmt: skip
def test_what_is_said_wrongly(tmp_path, given, complaint):
    path = written(tmp_path / "run.csv", "t,elbow.q\n", [column(SINCE), column(Q[:, 1])])
    with pytest.raises(RecordingError, match=complaint):
        Settings(columns=given).opened(path)


@pytest.mark.parametrize(("given", "complaint"), [
    ({"colour": "red"}, "columns: 'colour' is not one of time, position, velocity, effort"),
    ({"q": 3}, "columns: position must be a column's name, a pattern or numbers, got 3"),
    ({"q": {}}, "columns: position must be {joint: column}, got {}"), ([], "columns must be {field: columns}, got"),
])  # fmt: skip
def test_what_is_no_mapping(given, complaint):
    with pytest.raises(ValueError) as error:
        Settings(columns=given)
    assert complaint in str(error.value)


def test_explained_and_read_so_the_next_time(tmp_path, capsys, monkeypatch):
    """--explain says what each column is and why, and writes what reads the next one without a guess."""
    monkeypatch.chdir(tmp_path)
    path = libfranka(tmp_path / "run.csv")
    (tmp_path / "arm.urdf").write_text(URDF)
    assert main(["replay", str(path), "--explain"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for text in ("times have no unit, and are taken for ms", "state.tau_J[1]", "effort of 1", "not used: success_rate"):
        assert text in told
    mapping = tmp_path / "run.csv.columns.yaml"
    assert yaml.safe_load(mapping.read_text())["time"] == "time [ms]"
    given = ["--columns", str(mapping), "--joint-map", "0=shoulder", "--joint-map", "1=elbow", "--cutoff", "8"]
    assert main(["replay", str(path), "--urdf", "arm.urdf", "--json", *given]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert not any("taken for" in text for text in summary["warnings"])
    assert main(["replay", str(path), "--urdf", "arm.urdf", "--json", "--cutoff", "8"]) == 0
    guessed = json.loads(capsys.readouterr().out)
    assert "taken for ms" in guessed["warnings"][0] and "columns are numbered" in guessed["warnings"][1]
    assert guessed["joints"] == summary["joints"]
    assert main(["replay", str(path), "--explain", "--json", "--columns", "tau=state.tau_J[{}]"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["columns"]["effort"] == {"0": "state.tau_J[0] [Nm]", "1": "state.tau_J[1] [Nm]"}


def test_an_array_of_a_file_is_named_by_its_path(tmp_path):
    """As in recordings of demonstrations, and joints have the names that the file gives."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "demo.h5", "w") as file:
        file["observations/qpos"], file["observations/effort"] = np.degrees(Q), TAU
        file["joint_names"] = list(NAMES)
    given = {"position": "/observations/qpos [deg]", "effort": "observations/effort"}
    recording = Recording(tmp_path / "demo.h5", columns=given, rate=100.0)
    found = segments(recording, ROBOT.model, settings=SETTINGS)
    numbers = np.concatenate([part.numbers for part in found._messages(4096, found.log)])
    np.testing.assert_allclose(numbers[:, 0], Q, atol=1e-9)
    np.testing.assert_allclose(numbers[:, 2], TAU, atol=1e-9)
