# SPDX-License-Identifier: Apache-2.0
"""Everything that a replay leaves behind, read back; the report also in a browser."""

from __future__ import annotations

import csv
import json
import re
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import needs_browser
from helpers.models.robots import shared_robot
from helpers.recorded.bags import Content, needs_rosbags, write_ros2
from helpers.recorded.recordings import NAMES, RATE, SETTINGS, URDF, bag, messages
from helpers.recorded.summaries import summary_of

from rbd_dynamics import Robot, load_urdf, load_yaml
from rbd_dynamics.common.pages.page import beginning, folded, number
from rbd_dynamics.replay import Questions, Recording, analyse, compare
from rbd_dynamics.replay.fleet import Job, run_job
from rbd_dynamics.replay.questions.external_torque import ExternalTorqueQuestion
from rbd_dynamics.replay.report import write_html, write_pictures
from rbd_dynamics.replay.report.figures import torque_figure, torque_signals
from rbd_dynamics.replay.report.page import headline
from rbd_dynamics.replay.results.caveats import caveats_of_load
from rbd_dynamics.replay.results.formats import FORMATS
from rbd_dynamics.replay.results.outputs import Outputs
from rbd_dynamics.replay.results.sinks import COLUMNS, TOPICS, Columns, CsvTable, ParquetTable, ResidualBag
from rbd_dynamics.replay.torques.series import Series

pytestmark = needs_rosbags
QUESTIONS = Questions(payload="lower", inertias=True)
KEYS = {
    "rbd_dynamics", "created", "recording", "robot", "settings", "questions", "warnings", "events", "joints",
    "friction", "drives", "payload", "inertias", "external_torque", "energy", "diagnosis", "export",
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
    found = compare(recording, shared_robot(load_urdf(URDF)), settings=SETTINGS)
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
    robot = shared_robot(load_urdf(URDF))
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
    robot = shared_robot(load_urdf(URDF))
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
    ("package", "form", "what", "extra"),
    [
        ("plotly", "html", "the report", "replay"),
        ("matplotlib", "png", "pictures", "plots"),
        ("pyarrow", "parquet", "a Parquet file", "parquet"),
    ],
)
def test_a_missing_package_is_told_before_the_work(tmp_path, monkeypatch, package, form, what, extra):
    monkeypatch.setitem(sys.modules, package, None)
    recording = bag(tmp_path / "run", count=300)
    told = rf"{what} needs? the package {package}: pip install 'rbd_dynamics\[{extra}\]'$"
    with pytest.raises(ValueError, match=told):
        run_job(Job(recording, tmp_path / "out", formats=(form,)))
    assert not (tmp_path / "out").exists()


def test_what_fails_leaves_no_summary(tmp_path):
    recording = bag(tmp_path / "run", count=300)
    with pytest.raises(KeyError, match="hand"):
        run_job(Job(recording, tmp_path / "out", questions=Questions(payload="hand"), formats=("csv",)))
    assert not (tmp_path / "out" / "summary.json").exists() and not (tmp_path / "out" / "state.json").exists()


class Written:
    """What is written of a segment, to a disk with little room: a file may be as long as `room` bytes."""

    def __init__(self, robot, recording):
        from rbd_dynamics.replay import predict, segments

        self.robot = robot
        (self.segment, *_) = segments(Recording(recording), robot.model, settings=SETTINGS)
        self.prediction = predict(robot, self.segment)

    def to(self, sink):
        with sink:
            for _ in range(20):
                sink.write(self.segment, self.prediction, None)


@contextmanager
def room(size):
    """Files cannot grow beyond that many bytes: the error is the one of a full disk but for its number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    recording = bag(tmp_path_factory.mktemp("short") / "run", count=600)
    return Written(shared_robot(load_urdf(URDF)), recording)


@pytest.mark.parametrize("name", ["report.html", "torque.png", "samples.csv", "samples.parquet", "residuals"])
def test_a_full_disk_is_named_and_leaves_no_half_file(tmp_path, written, name):
    for package in ("plotly", "pyarrow", "matplotlib"):
        pytest.importorskip(package)
    columns = Columns(written.robot.model)
    write = {
        "report.html": lambda path: write_html(path, summary_of(NAMES), drawn(NAMES)),
        "torque.png": lambda path: write_pictures(path.parent, summary_of(NAMES), drawn(NAMES)),
        "samples.csv": lambda path: written.to(CsvTable(path, columns)),
        "samples.parquet": lambda path: written.to(ParquetTable(path, columns)),
        "residuals": lambda path: written.to(ResidualBag(path, columns)),
    }[name]
    with room(4096), pytest.raises(OSError, match=str(tmp_path / name)):
        write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / name)
    assert (tmp_path / name).exists() and not list(tmp_path.glob(".*"))


def test_what_stops_half_way_leaves_no_table(tmp_path, written):
    columns = Columns(written.robot.model)
    for sink in (CsvTable(tmp_path / "samples.csv", columns), ResidualBag(tmp_path / "residuals", columns)):
        with pytest.raises(KeyboardInterrupt), sink:
            sink.write(written.segment, written.prediction, None)
            raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_without_questions_only_the_comparison(tmp_path):
    recording = bag(tmp_path / "run", count=600)
    none = Questions(friction=False, external_torque=False, energy=False, diagnosis=False)
    found = run_job(Job(recording, tmp_path / "out", settings=SETTINGS, questions=none, formats=("html",)))
    asked = ("friction", "drives", "payload", "inertias", "external_torque", "energy", "diagnosis")
    assert {key: found.summary[key] for key in asked} == dict.fromkeys(asked)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "summary.json", "state.json"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Residual over velocity" in page and "External torque</button>" not in page


# --- the page -----------------------------------------------------------------------------------------------------


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


def test_torque_with_friction_is_drawn_where_some_was_found(tmp_path):
    """It is what was predicted and the friction of the table, nearer to what was measured."""
    rubbed = []
    for message in messages(noise=0.0):
        message.effort = message.effort + np.array([1.0, 0.5]) * np.tanh(np.asarray(message.velocity) / 0.01)
        rubbed.append(message)
    recording = write_ros2(tmp_path / "rubs", Content({"/joint_states": rubbed}, {"/robot_description": URDF}))
    found = analyse(recording, shared_robot(load_urdf(URDF)), settings=SETTINGS, series=5000)
    series = found.series
    assert torque_signals(series) == ["measured", "predicted", "with friction"]
    v, predicted = series.mean("velocity"), series.mean("predicted")
    np.testing.assert_allclose(
        series.mean("with friction"), predicted + found.friction.torque(series.names, v), atol=1e-9
    )
    left = [np.sqrt(np.mean((series.mean("measured") - series.mean(k)) ** 2)) for k in ("predicted", "with friction")]
    assert left[1] < 0.5 * left[0]
    figure = torque_figure(series, [{"name": name, "unit": "N m"} for name in NAMES])
    assert [trace["name"] for trace in figure["data"]] == 2 * ["measured", "predicted", "with friction"]
    without = analyse(
        recording, shared_robot(load_urdf(URDF)), settings=SETTINGS, series=500, questions=Questions(friction=False)
    )
    assert torque_signals(without.series) == ["measured", "predicted"]


def test_friction_that_is_doubted_is_not_drawn(tmp_path):
    turned = []
    for message in messages():
        message.effort = -np.asarray(message.effort) - np.sign(message.velocity)
        turned.append(message)
    recording = write_ros2(tmp_path / "run", Content({"/joint_states": turned}, {"/robot_description": URDF}))
    series = analyse(recording, shared_robot(load_urdf(URDF)), settings=SETTINGS, series=500).series
    np.testing.assert_array_equal(series.mean("with friction"), series.mean("predicted"))


def load_of(mass, *, before=1.0, after=0.2, identifiable=True, terms=("inertia", "gravity"), **more):
    part = {"name": "mass", "value": mass, "lower": mass - 0.1, "upper": mass + 0.1, "unit": "kg", "finding": ""}
    fit = {"joint": "a", "rmse_before": before, "rmse_after": after}
    payload = {"frame": "hand", "mass": {**part, "identifiable": identifiable}, "com": [], "inertia": []}
    return {"payload": {**payload, "joints": [fit], "terms": list(terms)}, **more}


def cause(joint, name, share):
    return {"joints": [{"joint": joint, "causes": [{"name": name, "share": share}]}]}


DESCRIPTION = "what the description has wrong counts as load"


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ({"payload": None}, []),
        (load_of(1.0), [DESCRIPTION]),
        (load_of(1.0, identifiable=False), []),
        (load_of(1.0, after=0.95), [DESCRIPTION, "it explains less than a tenth"]),
        (load_of(1.0, terms=("inertia",)), [DESCRIPTION, "the efforts are without gravity"]),
        (
            load_of(1.0, diagnosis=cause("a", "offset", 0.6)),
            [DESCRIPTION, "where postures differ little, an offset of the torque looks like a load (a)"],
        ),
        (
            load_of(1.0, diagnosis=cause("a", "offset", 0.1)),
            [DESCRIPTION],
        ),
        (
            load_of(1.0, diagnosis=cause("b", "delay", 0.9)),
            [DESCRIPTION],
        ),
        (
            load_of(1.0, external_torque={"events": [{"peak": {"a": 3.0}, "load": False}]}),
            [DESCRIPTION, "a contact was found"],
        ),
        (load_of(1.0, external_torque={"events": [{"peak": {"a": 3.0}, "load": True}]}), [DESCRIPTION]),
        (load_of(1.0, external_torque={"events": [{"peak": {"b": 3.0}, "load": False}]}), [DESCRIPTION]),
    ],
)
def test_what_must_be_known_of_a_load(summary, said):
    found = caveats_of_load(summary)
    assert len(found) == len(said)
    assert all(text.startswith(start) for text, start in zip(found, said))


def test_caveats_stand_beside_the_load(made):
    folder, _ = made
    caveats = strict(folder / "summary.json")["payload"]["caveats"]
    page = (folder / "report.html").read_text()
    body = page[page.index("Load at lower") :][:6000]
    for text in caveats:
        assert text in body


def test_long_lists_are_folded(tmp_path):
    pytest.importorskip("plotly")
    names = [f"finger_{k}_joint" for k in range(40)]
    text = f"40 joints are not recorded: held at 0, and not compared: {', '.join(names)}"
    assert beginning(text).startswith("40 joints are not recorded: held at 0, and not compared: finger_0_joint, ")
    assert beginning(text).endswith("_joint …") and len(beginning(text)) < 150
    assert folded("short & good") == "short &amp; good"
    assert beginning("x" * 500) == "x" * 140 + " …"
    write_html(tmp_path / "report.html", summary_of(["a"], warnings=[text, "<b>" + 300 * "y"]), drawn(["a"]))
    page = (tmp_path / "report.html").read_text()
    assert f"<li><details><summary>{beginning(text)}</summary>{text}</details></li>" in page
    assert "<b>yyy" not in page


@needs_browser
@pytest.mark.parametrize("tab", ["", "#Residual%20over%20velocity", "#External%20torque"])
def test_page_in_a_browser(made, tab, browser):
    """Draws its plots without a complaint, and opens at the tab that the address names."""
    folder, _ = made
    body = in_browser(browser, folder / "report.html", tab)
    assert body.count('class="main-svg"') >= 1 and body.count("scatterlayer") >= 2
    wanted = {"": "Torque", "#Residual%20over%20velocity": "Residual over velocity"}.get(tab, "External torque")
    selected = [
        part.split("<", 1)[0].split(">", 1)[1] for part in body.split("<button") if 'aria-selected="true"' in part
    ]
    assert selected == [wanted]
    assert "elbow" in body and body.count("<meter") == 2


@needs_browser
def test_areas_are_not_drawn_over_gaps(tmp_path, browser):
    """Three stretches with holes between: each area has three outlines, none of them wider than its stretch."""
    pytest.importorskip("plotly")
    series, rng = Series(["a"], RATE, points=100), np.random.default_rng(0)
    signals = ("velocity", "measured", "predicted", "residual", "inertia", "coriolis", "gravity", "friction")
    for segment, begin in enumerate((0.0, 60.0, 90.0)):
        values = 5.0 - 3.0 * segment + rng.normal(size=(1000, 1))
        series.add(begin + np.arange(1000) / RATE, segment, dict.fromkeys(signals, values))
    assert not series.exact
    write_html(tmp_path / "report.html", summary_of(["a"]), series)
    body = in_browser(browser, tmp_path / "report.html")
    paths = [part.split('"', 1)[0] for part in body.split('class="js-fill" d="')[1:]]
    assert len(paths) == 1
    outlines = [[float(x) for x in re.findall(r"(-?[\d.]+),-?[\d.]+", part)] for part in paths[0].split("M")[1:]]
    spans = [(min(xs), max(xs)) for xs in outlines]
    assert len(spans) == 3
    for (_, end), (begin, _) in zip(spans, spans[1:]):
        assert begin - end > 0.5 * max(b - a for a, b in spans)


def in_browser(browser, page, tab=""):
    """The page's body as a browser made it; it complains about nothing."""
    browser.open(page, tab=tab)
    assert browser.complaints == []
    return browser.run("document.body.outerHTML").split("<script", 1)[0]


def test_analysis_without_files():
    """In Python: no sinks, no series."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = analyse(
            bag(Path(folder) / "run", offset=0.4), shared_robot(load_urdf(URDF)), settings=SETTINGS, questions=QUESTIONS
        )
    assert found.series is None
    assert found.friction.of("elbow").offset.value == pytest.approx(0.4, abs=0.05)
    assert found.external_torque is not None and found.inertias is not None
    assert [joint.name for joint in found.energy.joints] == list(NAMES)
    assert found.energy.duration == pytest.approx(found.duration, abs=0.5) and found.duration > 10.0
    assert [joint.joint for joint in found.diagnosis.joints] == list(NAMES)


def test_contacts_of_the_report_are_listed_or_there_are_none():
    event = {"start": 1.5, "end": 2.25, "peak": {"elbow": 12.5}}
    found = {"events": [], "threshold": {"elbow": 3.0, "slide": None}, "omitted": 0}
    section = ExternalTorqueQuestion().section
    assert "No contact was found" in section(found) and "elbow 3" in section(found)
    text = section({**found, "events": [event], "omitted": 7})
    assert "No contact was found" not in text and "elbow 12.5" in text and "7 more are not listed" in text
