# SPDX-License-Identifier: Apache-2.0
"""Pictures can be read on a phone, on a dark page and by the colour-blind, and none is large."""

from __future__ import annotations

import base64
import io
import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import contrast
from helpers.wide import table

pytest.importorskip("matplotlib")
from matplotlib import colors
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from benchmarks.control import pressing
from benchmarks.simulation import drift
from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.common.pages.picture_style import COLORS, GREY, WIDTH
from rbd_dynamics.demo import panda
from rbd_dynamics.demo.motion import ARM
from rbd_dynamics.demo.tracking import Run

ROOT = Path(__file__).resolve().parents[2]
PHONE = 390  # pixels that a phone shows of a page
SMALLEST = 9.0  # pixels of text there
LARGEST = 200_000  # bytes
STORED = sorted((ROOT / "docs" / "images").glob("*.png"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def opaque(picture):
    pixels = imread(picture, format="png")
    return pixels.ndim == 2 or pixels.shape[2] == 3 or bool((pixels[..., 3] == 1.0).all())


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_a_stored_picture_is_small_and_has_a_ground_of_its_own(path):
    assert path.stat().st_size < LARGEST
    assert opaque(path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebooks_pictures_are_small_and_have_a_ground_of_their_own(path):
    for cell in json.loads(path.read_text())["cells"]:
        for output in cell.get("outputs", ()):
            if picture := output.get("data", {}).get("image/png"):
                data = base64.b64decode(picture)
                assert len(data) < LARGEST and opaque(io.BytesIO(data))
                assert int.from_bytes(data[16:20], "big") <= 1.01 * 120 * WIDTH, "wider: text of 10 pt is too small"


#: what the colour-blind see of linear RGB, by Machado, Oliveira and Fernandes (2009)
SEEN = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(rgb):
    """CIE L*a*b* of linear sRGB."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    x, y, z = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


@pytest.mark.parametrize("sight", ["all colours", *SEEN])
def test_the_colour_blind_tell_colours_apart(sight):
    matrix = np.array(SEEN.get(sight, np.eye(3)))
    seen = []
    for color in (*COLORS, "#000000"):
        c = np.array(colors.to_rgb(color))
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        seen.append(lab(np.clip(matrix @ linear, 0.0, 1.0)))
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20.0


def test_lines_stand_out_from_white():
    for color in (*COLORS, GREY):
        ink = tuple(round(255 * part) for part in colors.to_rgb(color))
        assert contrast(ink, (255, 255, 255)) > 1.9, color


# --- text of what is drawn ----------------------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch):
    """Figures that were saved."""
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **how: (figures.append(self), save(self, *a, **how))[0])
    return figures


def assert_readable(figure):
    """Every text is large enough on a phone, and inside of the picture."""
    width, height = figure.get_size_inches()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert len(texts) > 5
    for text in texts:
        assert text.get_fontsize() * PHONE / (72.0 * width) >= SMALLEST, text
    figure.canvas.draw()
    box = figure.get_tightbbox()  # of all that is drawn, inch
    assert min(box.x0, box.y0) > -0.01 and box.x1 < width + 0.01 and box.y1 < height + 0.01, box


def runs(count=40):
    t = np.linspace(0.0, 8.2, count)
    q = 0.3 * np.sin(t)[:, None] * np.arange(1, 8)
    names = [name for name, _ in panda.RUNS]
    return [Run(name, t, q, q + off * np.cos(t)[:, None], 9.0 * q, 1.0) for name, off in zip(names, (0.05, 0.01, 1e-3))]


def test_the_demos_curves_can_be_read(tmp_path, drawn):
    from rbd_dynamics.demo import plots

    some, t = runs(), np.linspace(0.0, 8.2, 40)
    plots.plot_tracking_by_joint(some, tmp_path / "a.png")
    plots.plot_torques(some[-1], t, 9.0 * some[0].desired, np.full(7, 87.0), tmp_path / "b.png")
    circle = 0.08 * np.column_stack([np.cos(t), np.sin(t)])
    plots.plot_pressing(t, 1.01 * circle, circle, np.full(40, 10.0), 10.0, tmp_path / "c.png")
    assert len(drawn) == 3
    for figure in drawn:
        assert_readable(figure)


@pytest.mark.skipif(panda.DESCRIPTION not in robots(), reason="no example-robot-data")
def test_the_demos_first_picture_shows_the_robot(tmp_path, drawn):
    """Its triangles are all there, around where the links are, and the tool's way ends where the tool is."""
    from rbd_dynamics.demo import plots

    robot = Robot(load_urdf(panda.description(), locked=panda.LOCKED), backend="reference")
    some = runs()
    plots.plot_tracking(some, robot, tmp_path / "a.png")
    (figure,) = drawn
    assert_readable(figure)
    axes = figure.axes[0]
    assert len(axes.collections) == len(plots.POSTURES)
    q = some[0].desired[round(plots.POSTURES[-1] * 39)]
    corners = np.concatenate([path.vertices for path in axes.collections[-1].get_paths()])
    assert len(corners) > 5000
    for joint in (*ARM, panda.TOOL):
        place = plots.EYE(robot.pose(q, joint)[:3, 3])[:2]
        assert np.linalg.norm(corners - place, axis=1).min() < 0.03, joint
    ways = {line.get_label(): np.array(line.get_data()) for line in axes.lines}
    assert set(ways) == {"wanted", *(run.name for run in some)}
    for run in some:
        expected = plots.EYE(robot.pose(run.measured[-1], panda.TOOL)[:3, 3])[:2]
        np.testing.assert_allclose(ways[run.name][:, -1], expected, atol=1e-9)


def test_pictures_of_benchmarks_can_be_read(tmp_path, drawn):
    names = [f"{method}, {'Baumgarte' if alpha else how}" for method, how, alpha in drift.METHODS]
    rng = np.random.default_rng(0)
    drift.draw(
        {name: (10.0 ** rng.uniform(-16, -1, 2501), rng.normal(size=2501)) for name in names}, tmp_path / "a.png"
    )
    t = np.linspace(0.0, 8.5, 50)
    circle = 0.08 * np.column_stack([np.cos(t), np.sin(t)])
    press = pressing.Press(t, circle, circle, np.full(50, 10.0), np.full(50, 10.0))
    pressing.draw(dict.fromkeys(pressing.CASES, press), tmp_path / "b.png")
    assert len(drawn) == 2
    for figure in drawn:
        assert_readable(figure)


@pytest.mark.parametrize("name", table(["floating_arm", "spherical_pendulum"], ["floating_arm"]))
def test_pictures_of_examples_in_the_documentation_can_be_read(name, tmp_path, drawn, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path / "picture.png")])
    __import__(name).main()
    (figure,) = drawn
    assert_readable(figure)
