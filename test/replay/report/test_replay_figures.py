# SPDX-License-Identifier: Apache-2.0
"""What the report and the pictures draw: which numbers, of which joint, where."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.pages import unpacked

from rbd_dynamics.replay.identification.friction import friction_curve
from rbd_dynamics.replay.report import figures
from rbd_dynamics.replay.report.figures import COLORS, FOOT, GAP, HEAD, ROW, TIMES
from rbd_dynamics.replay.report.pictures import write_pictures
from rbd_dynamics.replay.torques.series import Series
from rbd_dynamics.scene.packing import packed

RATE = 100.0
SIGNALS = ("velocity", "measured", "predicted", "residual", "inertia", "coriolis", "gravity", "friction", "external")
#: in another order than the series has them, and with a name that is markup
JOINTS = [{"name": "<b>", "unit": "N"}, {"name": "a", "unit": "N m"}]


def series_of(points: int, names=("a", "c", "<b>")) -> Series:
    """Random signals but friction, which is zero."""
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=(64, len(names))) for name in SIGNALS}
    values["friction"] = np.zeros((64, len(names)))
    found = Series(names, RATE, points=points)
    found.add(np.arange(64) / RATE, 0, values)
    return found


def drawn(series, signal, name, part="mean"):
    return packed(getattr(series, part)(signal)[:, series.names.index(name)])


def test_a_row_of_lines_for_each_joint():
    series = series_of(100)
    figure = figures.torque_figure(series, JOINTS)
    lines = [
        {"type": "scatter", "mode": "lines", "x": TIMES, "y": drawn(series, signal, joint["name"]),
         "line": {"color": COLORS[signal], "width": 1.4}, "name": signal, "legendgroup": signal,
         "showlegend": axis == "y", "yaxis": axis, "xaxis": "x"}
        for joint, axis in zip(JOINTS, ("y", "y2")) for signal in ("measured", "predicted")
    ]  # fmt: skip
    assert figure["data"] == lines
    layout, inside = figure["layout"], 2 * ROW + GAP
    assert layout["height"] == HEAD + inside + FOOT and layout["xaxis"]["anchor"] == "y2"
    assert (layout["margin"]["t"], layout["margin"]["b"]) == (HEAD, FOOT)
    assert layout["yaxis"]["domain"] == pytest.approx([(ROW + GAP) / inside, 1.0])
    assert layout["yaxis2"]["domain"] == pytest.approx([0.0, ROW / inside])
    assert layout["legend"]["y"] > 1.0 and layout["legend"]["orientation"] == "h"
    titles = [
        (note["text"], note["yref"], note["y"], note["xref"], note["showarrow"]) for note in layout["annotations"]
    ]
    assert titles == [
        ("&lt;b&gt;, N", "paper", 1.0, "x domain", False),
        ("a, N m", "paper", pytest.approx(ROW / inside), "x domain", False),
    ]


def test_wide_intervals_have_an_area_between_their_extremes():
    series = series_of(20)
    assert not series.exact
    figure = figures.residual_figure(series, JOINTS[1:])
    area, line = figure["data"]
    assert (area["y"], area["upTo"]) == (drawn(series, "residual", "a", "low"), drawn(series, "residual", "a", "high"))
    assert area["fill"] == "toself" and area["fillcolor"].startswith(COLORS["residual"])
    assert area["showlegend"] is False and area["line"] == {"width": 0}
    assert line["y"] == drawn(series, "residual", "a") and line["showlegend"] is True
    assert len(figures.terms_figure(series, JOINTS)["data"]) == 3 * 2  # lines alone


def test_terms_that_do_nothing_are_not_drawn():
    figure = figures.terms_figure(series_of(100), JOINTS)
    assert [trace["name"] for trace in figure["data"]] == 2 * ["inertia", "coriolis", "gravity"]


def test_thresholds_and_contacts_are_marked():
    found = {"threshold": {"a": 2.5, "<b>": None}, "events": [{"start": 0.1, "end": 0.3}]}
    shapes = figures.external_figure(series_of(100), JOINTS, found)["layout"]["shapes"]
    levels = [
        (shape["yref"], shape["y0"], shape["y1"], shape["x0"], shape["x1"], shape["xref"]) for shape in shapes[:2]
    ]
    assert levels == [("y2", 2.5, 2.5, 0, 1, "paper"), ("y2", -2.5, -2.5, 0, 1, "paper")]
    (contact,) = shapes[2:]
    assert (contact["x0"], contact["x1"], contact["xref"]) == (0.1, 0.3, "x")
    assert (contact["y0"], contact["y1"], contact["yref"]) == (0, 1, "paper")
    assert figures.external_figure(series_of(100), JOINTS, {})["layout"]["shapes"] == []


def test_friction_is_drawn_over_velocity_on_a_grid():
    names = [f"j{k}" for k in range(5)]
    series = series_of(100, names)
    joints = [{"name": name, "unit": "N" if name == "j4" else "N m"} for name in names]
    number = {"value": None}
    friction = {"joints": [
        {"joint": "j1", "offset": {"value": 0.3}, "coulomb": {"value": 1.5}, "viscous": number, "stribeck": None},
        {"joint": "j3", "offset": number, "coulomb": {"value": 1.0}, "viscous": {"value": 0.2},
         "stribeck": {"breakaway": {"value": 2.0}, "speed": {"value": 0.1}}},
    ]}  # fmt: skip
    figure = figures.friction_figure(series, joints, friction)
    assert figure["layout"]["grid"]["rows"] == 2 and figure["layout"]["grid"]["columns"] == 4
    assert figure["layout"]["height"] == HEAD + FOOT + 2 * 220
    assert [figure["layout"][f"xaxis{k}"]["title"]["text"] for k in ("", 2, 3, 4, 5)] == [
        "", "velocity, rad/s", "velocity, rad/s", "velocity, rad/s", "velocity, m/s"
    ]  # fmt: skip
    dots = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    for name, axis, trace in zip(names, ("", "2", "3", "4", "5"), dots, strict=True):
        assert (trace["x"], trace["y"]) == (drawn(series, "velocity", name), drawn(series, "residual", name))
        assert (trace["name"], trace["xaxis"], trace["yaxis"]) == (name, f"x{axis}", f"y{axis}")
    curves = [trace for trace in figure["data"] if trace["mode"] == "lines"]
    assert [trace["xaxis"] for trace in curves] == ["x2", "x4"]
    bends = [((0.3, 1.5, 0.0), None), ((0.0, 1.0, 0.2), (2.0, 0.1))]
    for trace, (three, stribeck) in zip(curves, bends, strict=True):
        own = series.mean("velocity")[:, int(trace["xaxis"][1]) - 1]
        x, y = unpacked(trace["x"]), unpacked(trace["y"])
        v = np.linspace(own.min(), own.max(), len(x))
        np.testing.assert_allclose(x, v, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(y, friction_curve(v, *three, stribeck=stribeck), rtol=1e-4, atol=1e-4)
    assert [trace["mode"] for trace in figures.friction_figure(series, joints, None)["data"]] == ["markers"] * 5


def test_means_over_long_times_are_not_drawn_over_velocity():
    series = Series(["a"], 10.0, points=2)
    for k in range(2):
        series.add(np.arange(2 * k, 2 * k + 2) / 10.0, 0, dict.fromkeys(SIGNALS, np.ones((2, 1))))
    assert series.width == 0.1 and figures.friction_figure(series, JOINTS[1:], None) is not None
    series.add(np.arange(4, 16) / 10.0, 0, dict.fromkeys(SIGNALS, np.ones((12, 1))))
    assert series.width == 0.4 and figures.friction_figure(series, JOINTS[1:], None) is None


def test_pictures_have_the_lines_of_the_page(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    made = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **options: made.append(figure) or save(figure, *a, **options)
    )
    series = series_of(20)
    found = {"threshold": {"a": 2.5}, "events": [{"start": 0.1, "end": 0.3}]}
    summary = {"joints": [*JOINTS, {"name": "not drawn", "unit": "N m"}], "external_torque": found}
    paths = write_pictures(tmp_path, summary, series)
    assert [path.name for path in paths] == ["torque.png", "residual.png", "external_torque.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    colour = matplotlib.colors.to_hex
    for figure, signals in zip(made, (("measured", "predicted"), ("residual",), ("external",)), strict=True):
        assert [ax.get_title(loc="left") for ax in figure.axes] == ["<b>, N", "a, N m"]
        assert [ax.get_xlabel() for ax in figure.axes] == ["", "time, s"]
        assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == list(signals)
        for ax, joint in zip(figure.axes, JOINTS):
            column = series.names.index(joint["name"])
            for line, signal in zip(ax.lines, signals):
                np.testing.assert_array_equal(line.get_xydata().T, [series.t, series.mean(signal)[:, column]])
                assert (colour(line.get_color()).upper(), line.get_label()) == (COLORS[signal], signal)
            heights = ax.collections[0].get_paths()[0].vertices[:, 1]
            low, high = (getattr(series, part)(signals[0])[:, column] for part in ("low", "high"))
            assert (heights.min(), heights.max()) == (low.min(), high.max())
        assert all(ax.xaxis.get_gridlines()[0].get_visible() for ax in figure.axes)
    external = made[-1].axes
    assert [len(ax.lines) for ax in external] == [1, 3]
    assert [line.get_ydata()[0] for line in external[1].lines[1:]] == [2.5, -2.5]
    assert all([patch.get_x() for patch in ax.patches] == [0.1] for ax in external)
