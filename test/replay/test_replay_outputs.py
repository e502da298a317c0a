# SPDX-License-Identifier: Apache-2.0
"""Everything that a replay leaves behind, read back; the report also in a browser."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.bags import needs_rosbags
from helpers.recordings import NAMES, RATE, SETTINGS, URDF, bag

from rbd_dynamics import Robot, load_urdf, load_yaml
from rbd_dynamics.replay import Questions, Recording, analyse, compare
from rbd_dynamics.replay.fleet import Job, run_job
from rbd_dynamics.replay.outputs import FORMATS, Outputs
from rbd_dynamics.replay.report import write_html, write_pictures
from rbd_dynamics.replay.report.page import headline
from rbd_dynamics.replay.report.tables import number
from rbd_dynamics.replay.series import Series
from rbd_dynamics.replay.sinks import COLUMNS, TOPICS

pytestmark = needs_rosbags
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUESTIONS = Questions(payload="lower", inertias=True)
KEYS = {
    "rbd_dynamics", "created", "recording", "robot", "settings", "questions", "warnings", "events", "joints",
    "friction", "payload", "inertias", "external_torque", "energy",
}  # fmt: skip


def strict(path: Path):
    """JSON without NaN."""

    def refuse(constant):
        raise AssertionError(f"{constant} in {path}")

    return json.loads(path.read_text(), parse_constant=refuse)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of all outputs, and the recording."""
    folder = tmp_path_factory.mktemp("outputs")
    recording = bag(folder / "run", offset=0.4)
    for package in ("plotly", "pyarrow", "matplotlib"):
        pytest.importorskip(package)
    run_job(Job(recording, folder / "out", settings=SETTINGS, questions=QUESTIONS, formats=tuple(FORMATS)))
    return folder / "out", recording


def test_summary_has_what_it_should(made):
    folder, recording = made
    summary = strict(folder / "summary.json")
    assert summary.keys() == KEYS
    assert summary["settings"] == SETTINGS.to_dict()
    found = compare(recording, Robot(load_urdf(URDF)), settings=SETTINGS)
    for joint, result in zip(summary["joints"], found.comparison.results()):
        assert (joint["name"], joint["rmse"], joint["nrmse"]) == (result.name, result.rmse, result.nrmse)
        assert (joint["correlation"], joint["bias"]) == (result.correlation, result.bias)
        assert joint["unit"] == "N m" and joint["uncertainty"]["tau"] > 0.0
    assert summary["joints"][1]["bias"] == pytest.approx(0.4, abs=0.01)
    assert summary["recording"]["messages"] == 1200
    assert summary["recording"]["duration"] == pytest.approx(1200 / RATE, abs=1.0)


def columns_of(segments_found, name):
    return np.concatenate([getattr(segment, name) for segment in segments_found])


def test_tables_hold_the_motion_and_the_torques(made):
    import pyarrow.parquet as pq

    folder, recording = made
    robot = Robot(load_urdf(URDF))
    parts = list(compare(recording, robot, settings=SETTINGS).segments)
    with (folder / "samples.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = pq.read_table(folder / "samples.parquet")
    assert list(rows[0]) == table.column_names
    assert table.column_names == ["t", "stamp", *(f"{joint}.{column}" for joint in NAMES for column in COLUMNS)]
    assert len(rows) == table.num_rows == sum(map(len, parts))
    q, v, a, tau = (columns_of(parts, name) for name in ("q", "v", "a", "tau"))
    predicted = robot.inverse_dynamics(q, v, a)
    for k, joint in enumerate(NAMES):
        for column, values in (("q", q), ("v", v), ("a", a), ("tau_measured", tau), ("tau_predicted", predicted),
                               ("residual", tau - predicted)):  # fmt: skip
            np.testing.assert_allclose(table[f"{joint}.{column}"].to_numpy(), values[:, k], atol=1e-12)
            np.testing.assert_allclose(
                [float(row[f"{joint}.{column}"]) for row in rows], values[:, k], rtol=1e-8, atol=1e-8
            )
    assert [int(row["stamp"]) for row in rows] == columns_of(parts, "stamps").tolist()
    assert np.isfinite(table["elbow.external"].to_numpy()).all()


def test_bag_of_residuals_plays_beside_the_recording(made):
    folder, recording = made
    found = Recording(folder / "residuals")
    assert set(found.topics) == set(TOPICS.values())
    robot = Robot(load_urdf(URDF))
    parts = list(compare(recording, robot, settings=SETTINGS).segments)
    (states,) = list(found.joint_states(TOPICS["predicted"], NAMES, block=10**6, log=found.log))
    np.testing.assert_array_equal(states.stamps, columns_of(parts, "stamps"))
    np.testing.assert_array_equal(states.received, states.stamps)
    predicted = robot.inverse_dynamics(*(columns_of(parts, name) for name in ("q", "v", "a")))
    np.testing.assert_allclose(states.numbers[:, 2], predicted, atol=1e-12)
    (rest,) = list(found.joint_states(TOPICS["residual"], NAMES, block=10**6, log=found.log))
    np.testing.assert_allclose(rest.numbers[:, 2], columns_of(parts, "tau") - predicted, atol=1e-12)


def test_corrected_descriptions_load(made):
    folder, _ = made
    urdf, model = load_urdf(folder / "corrected.urdf"), load_yaml(folder / "corrected.yaml")
    q = urdf.random(0)
    for one, other in zip(urdf.bodies, model.bodies):
        np.testing.assert_allclose(one.inertia.parameters, other.inertia.parameters, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(Robot(urdf).mass_matrix(q), Robot(model).mass_matrix(q), rtol=1e-9)


def test_pictures_are_pictures(made):
    folder, _ = made
    for name in ("torque", "residual", "external_torque"):
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_formats_are_checked_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="unknown format 'docx'; known: html, png"):
        Outputs(tmp_path / "out", ("docx",), load_urdf(URDF), URDF)
    assert not (tmp_path / "out").exists()
    assert Outputs(None, (), load_urdf(URDF), None).sinks == []


@pytest.mark.parametrize(
    ("package", "form", "what"),
    [("plotly", "html", "the report"), ("matplotlib", "png", "pictures"), ("pyarrow", "parquet", "a Parquet file")],
)
def test_a_missing_package_is_told_before_the_work(tmp_path, monkeypatch, package, form, what):
    monkeypatch.setitem(sys.modules, package, None)
    recording = bag(tmp_path / "run", count=300)
    with pytest.raises(ValueError, match=f"{what} needs? the package {package}: pip install {package}"):
        run_job(Job(recording, tmp_path / "out", formats=(form,)))
    assert not (tmp_path / "out").exists()


def test_what_fails_leaves_no_summary(tmp_path):
    recording = bag(tmp_path / "run", count=300)
    with pytest.raises(KeyError, match="hand"):
        run_job(Job(recording, tmp_path / "out", questions=Questions(payload="hand"), formats=("csv",)))
    assert not (tmp_path / "out" / "summary.json").exists() and not (tmp_path / "out" / "state.json").exists()


def test_without_questions_only_the_comparison(tmp_path):
    recording = bag(tmp_path / "run", count=600)
    none = Questions(friction=False, external_torque=False, energy=False)
    found = run_job(Job(recording, tmp_path / "out", settings=SETTINGS, questions=none, formats=("html",)))
    assert all(found.summary[key] is None for key in ("friction", "payload", "inertias", "external_torque", "energy"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Residual over velocity" in page and "External torque</button>" not in page


# --- the page -----------------------------------------------------------------------------------------------------


def summary_of(names, **more):
    """As little as a summary can have."""
    joint = {
        "rmse": 1.0,
        "nrmse": 0.5,
        "correlation": None,
        "bias": 0.0,
        "worst": 3.0,
        "measured_rms": 2.0,
        "unit": "N m",
    }
    return {
        "rbd_dynamics": "1", "created": "now", "settings": {}, "warnings": [], "events": {},
        "robot": {"name": "arm", "joints": names, "mass": 3.0},
        "recording": {"recording": "run", "topic": "/x", "messages": 5, "duration": 1.0, "samples_per_second": 9.0,
                      "cutoff": 5.0},
        "joints": [{"name": name, **joint} for name in names], **more,
    }  # fmt: skip


def drawn(names, count=50):
    series = Series(names, RATE)
    values = np.sin(np.arange(count)[:, None] + np.arange(len(names)))
    signals = ("velocity", "measured", "predicted", "residual", "inertia", "coriolis", "gravity", "friction")
    series.add(np.arange(count) / RATE, 0, dict.fromkeys(signals, values))
    return series


def test_names_cannot_break_out_of_the_page(tmp_path):
    pytest.importorskip("plotly")
    names = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>']
    summary = summary_of(names, warnings=["<b>bold</b>"])
    summary["recording"]["recording"] = "<i>run</i>"
    write_html(tmp_path / "report.html", summary, drawn(names))
    page = (tmp_path / "report.html").read_text()
    for bad in (*names, "<b>bold</b>", "<i>run</i>", "<script>alert", "<img src=x"):
        assert bad not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page


def test_large_robots_and_empty_summaries(tmp_path):
    pytest.importorskip("plotly")
    names = [f"joint_{k}" for k in range(32)]
    write_html(tmp_path / "large.html", summary_of(names), drawn(names))
    write_html(tmp_path / "empty.html", summary_of([]), drawn([]))
    assert "No torque was compared." in (tmp_path / "empty.html").read_text()
    pytest.importorskip("matplotlib")
    assert len(write_pictures(tmp_path, summary_of(names), drawn(names))) == 2


def test_headline_of_a_robot_that_stands():
    summary = summary_of(["a"])
    summary["joints"][0]["nrmse"] = None
    assert headline(summary).startswith("The measured torques do not change")


def test_headline_names_the_worst_joint():
    summary = summary_of(["a", "b", "c"])
    summary["joints"][1]["nrmse"] = 0.9
    assert headline(summary) == (
        "The model explains 75.0 % of the torque's variance in the median joint; least of all in b, 19 %, "
        "where it is off by 1.00 N m RMS."
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (-0.1234, "−0.123"),
        (3.14159, "3.14"),
        (31.4159, "31.4"),
        (31415.9, "31416"),
        (1e-5, "1.00e−05"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("tab", ["", "#Residual%20over%20velocity", "#External%20torque"])
def test_page_in_a_browser(made, tab, tmp_path):
    """Draws its plots without a complaint, and opens at the tab that the address names."""
    folder, _ = made
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--enable-logging=stderr",
        "--dump-dom", f"{(folder / 'report.html').as_uri()}{tab}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    body = done.stdout.split("<body", 1)[1].split("<script", 1)[0]
    assert body.count('class="main-svg"') >= 1 and body.count("scatterlayer") >= 2
    wanted = {"": "Torque", "#Residual%20over%20velocity": "Residual over velocity"}.get(tab, "External torque")
    selected = [
        part.split("<", 1)[0].split(">", 1)[1] for part in body.split("<button") if 'aria-selected="true"' in part
    ]
    assert selected == [wanted]
    assert "elbow" in body and body.count("<meter") == 2


def test_analysis_without_files():
    """In Python: no sinks, no series."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = analyse(
            bag(Path(folder) / "run", offset=0.4), Robot(load_urdf(URDF)), settings=SETTINGS, questions=QUESTIONS
        )
    assert found.series is None
    assert found.friction.of("elbow").offset.value == pytest.approx(0.4, abs=0.05)
    assert found.external_torque is not None and found.inertias is not None
