# SPDX-License-Identifier: Apache-2.0
"""The report as a reader sees it, in a browser: the robot moves with the plots' cursor, on a desk and on a phone."""

from __future__ import annotations

import re
from base64 import b64decode
from html import escape
from pathlib import Path
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.browser import TEXTS, contrast, needs_browser, rgb
from helpers.recorded.bags import START, Content, Message, needs_rosbags, write_ros2
from helpers.recorded.summaries import summary_of

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.common.example_robots import robots, shares
from rbd_dynamics.replay import Questions, Settings
from rbd_dynamics.replay.fleet import Job, run_job
from rbd_dynamics.replay.report import drawn_robot, write_html
from rbd_dynamics.replay.report.figures import COLORS, DARK
from rbd_dynamics.replay.torques.series import POSITION, Series
from rbd_dynamics.scene import MeshFinder, scripts
from rbd_dynamics.scene.mesh_files import _mesh_of
from rbd_dynamics.scene.packing import MISSING, packed
from rbd_dynamics.scene.scripts import _three

RATE, NAMES = 100.0, ("shoulder", "slide", "elbow")
PUSH = (6.0, 7.0)  # s, N m and N: as of a force on the forearm
PUSHED = np.array([9.0, 14.0, 6.0])
INERTIAL = (
    "<inertial><origin xyz='0 0 0.2'/><mass value='2'/>"
    "<inertia ixx='0.02' iyy='0.02' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial>"
)
BOX = "<visual><origin xyz='0 0 0.15'/><geometry><box size='0.1 0.1 0.3'/></geometry></visual>"
LIMIT = "<limit lower='-3' upper='3' effort='100' velocity='5'/>"
URDF = f"""<robot name="arm"><link name="base">{BOX}</link><link name="upper">{INERTIAL}{BOX}</link>
<link name="rail">{INERTIAL}</link><link name="lower">{INERTIAL}{BOX}</link>
<link name="hand">{INERTIAL}{BOX}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3" rpy="0 0 0.5"/>
<axis xyz="0 1 0"/>{LIMIT}</joint>
<joint name="slide" type="prismatic"><parent link="upper"/><child link="rail"/><origin xyz="0 0 0.3"/>
<axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="elbow" type="revolute"><parent link="rail"/><child link="lower"/><origin xyz="0.1 0 0" rpy="0.2 0 0"/>
<axis xyz="0 1 0"/>{LIMIT}</joint>
<joint name="grip" type="continuous"><parent link="lower"/><child link="hand"/><origin xyz="0 0 0.4"/>
<axis xyz="1 0 0"/><mimic joint="elbow" multiplier="0.5" offset="0.3"/></joint></robot>"""
QUESTIONS = Questions(contact_threshold=2.0)
SPEED, PHASE, AMPLITUDE = np.array([1.3, 1.1, 2.1]), np.array([0.0, 2.0, 1.0]), np.array([1.0, 0.1, 0.8])

pytestmark = needs_rosbags
for package in ("plotly", "trimesh"):
    pytest.importorskip(package)


def positions(t):
    """Of the motion, (..., 3)."""
    return AMPLITUDE * np.sin(SPEED * np.asarray(t)[..., None] + PHASE)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page of a recording with one push, and its summary."""
    folder = tmp_path_factory.mktemp("robot")
    t = np.arange(1500) / RATE
    q, angle = positions(t), SPEED * t[:, None] + PHASE
    v, a = AMPLITUDE * SPEED * np.cos(angle), -AMPLITUDE * SPEED**2 * np.sin(angle)
    tau = Robot(load_urdf(URDF), backend="reference").inverse_dynamics(q, v, a)
    tau = tau + 0.02 * np.random.default_rng(0).normal(size=tau.shape)
    tau[(t >= PUSH[0]) & (t < PUSH[1])] -= PUSHED
    stamps = START + np.rint(t * 1e9).astype(np.int64)
    messages = [Message(int(s), NAMES, *numbers) for s, *numbers in zip(stamps, q, v, tau)]
    bag = write_ros2(folder / "run", Content({"/joint_states": messages}, {"/robot_description": URDF}))
    found = run_job(Job(bag, folder / "out", settings=Settings(cutoff=8.0), questions=QUESTIONS, formats=("html",)))
    return folder / "out" / "report.html", found.summary


# --- in the browser -----------------------------------------------------------------------------------------------


def box_of(browser, selector):
    """Left, top, width and height on the screen, after scrolling there."""
    found = f"document.querySelector({selector!r})"
    browser.run(f"{found}.scrollIntoView({{block: 'center'}})")
    browser.frames(2)
    return browser.run(f"(r => [r.left, r.top, r.width, r.height])({found}.getBoundingClientRect())")


def at(browser, t):
    """Set the cursor by the slider, as a reader does, and look."""
    browser.run(
        f"(slider => {{ slider.value = cursor.near({t}); slider.dispatchEvent(new Event('input')); }})"
        "(document.querySelector('.player input'))"
    )
    browser.frames(2)


@needs_browser
def test_the_robot_moves_with_the_mouse_over_the_plots(made, browser):
    """Bodies are where the model has them at the time under the mouse; the line in the plots is there, too."""
    page, _ = made
    browser.show(page)
    robot = Robot(load_urdf(URDF), backend="reference")
    left, top, width, height = box_of(browser, "#figure .nsewdrag")
    low, high = browser.run("document.querySelector('.js-plotly-plot').layout.xaxis.range")
    for share in (0.15, 0.5, 0.8):
        browser.mouse(left + share * width, top + 0.5 * height)
        t = browser.run("cursor.t")
        assert t == pytest.approx(low + share * (high - low), abs=0.6 / RATE + (high - low) / width)
        q = positions(t)
        for k, name in enumerate(("upper", "rail", "lower", "hand")):
            expected = np.asarray(robot.pose(q, name))[:3, 3]
            np.testing.assert_allclose(browser.run(f"robotView.originOf({k})"), expected, atol=2e-3)
        assert browser.run("document.querySelector('.cursor').getBoundingClientRect().left") == pytest.approx(
            left + share * width, abs=2.0
        )
        assert browser.run("document.querySelector('.player output').textContent") == f"{t:.2f} s"
    assert browser.complaints == []


@needs_browser
def test_colours_are_those_of_residuals_and_of_what_may_be_touched(made, browser):
    page, summary = made
    (event,) = summary["external_torque"]["events"]
    assert set(event["peak"]) == set(NAMES)
    browser.show(page)
    at(browser, 6.5)
    rows = browser.run("[...document.querySelectorAll('.key tbody tr')].map(row => row.innerText.split('\\t'))")
    assert [row[0].strip() for row in rows] == list(NAMES)
    for row, push in zip(rows, PUSHED):
        residual = float(row[1].split()[0].replace("−", "-"))
        assert residual == pytest.approx(-push, rel=0.5)  # friction that is fitted to a push takes some of it
        assert float(row[2].split()[0]) == pytest.approx(abs(residual) / 2.0, abs=0.06)
    swatches = browser.run(
        "[...document.querySelectorAll('.key tbody i')].map(one => getComputedStyle(one).backgroundColor)"
    )
    assert swatches == 3 * ["rgb(128, 0, 38)"]
    rings = "robotView.bodies.map(body => body.marker && body.marker.fill.color.getHexString())"
    assert browser.run(rings) == 4 * ["800026"]
    tints = "robotView.bodies.map(body => body.material.color.getHexString())"
    touched, touchable = (browser.run(f"css('--{name}').slice(1)") for name in ("touched", "touchable"))
    assert browser.run(tints)[2:] == [touched, touchable]
    said = "document.querySelector('.touch').textContent"
    assert browser.run(said) == "Perhaps touched: lower, or what it carries. It shows in shoulder, slide, elbow."
    at(browser, 3.0)
    assert browser.run(said) == "No contact at this time."
    assert not {touched, touchable} & set(browser.run(tints))
    assert "800026" not in browser.run(rings)


@needs_browser
def test_something_is_drawn(made, browser):
    """Much of the picture is the robot, and another posture is another picture."""
    page, _ = made
    browser.show(page)
    pixels = (
        "(view => { const gl = view.renderer.getContext(), [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];"
        "view.grid.visible = false; view.renderer.render(view.world, view.camera);"
        "const data = new Uint8Array(4 * w * h); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, data);"
        "return Array.from({length: w * h}, (_, k) => +(data[4 * k + 3] > 0)).join(''); })(robotView)"
    )
    pictures = []
    for t in (1.0, 4.0):
        at(browser, t)
        picture = np.frombuffer(browser.run(pixels).encode(), np.uint8) - ord("0")
        assert 0.02 < picture.mean() < 0.7
        pictures.append(picture)
    assert np.abs(pictures[0].astype(int) - pictures[1]).mean() > 0.01


@needs_browser
def test_it_plays_to_the_end_and_stops(made, browser):
    page, _ = made
    browser.show(page)
    at(browser, 5.0)
    play = "document.querySelector('.play')"
    browser.run(f"{play}.click()")
    assert browser.run(f"{play}.getAttribute('aria-label')") == "pause"
    seen = [browser.run("cursor.t")]
    while seen[-1] < 5.2:
        browser.frames(1)
        seen.append(browser.run("cursor.t"))
        assert browser.run("cursor.playing")
    assert seen == sorted(seen)
    browser.run("(slider => { slider.value = slider.max - 5; slider.dispatchEvent(new Event('input')); })"
                "(document.querySelector('.player input'))")  # fmt: skip
    while browser.run("cursor.playing"):
        browser.frames(1)
    assert browser.run("cursor.step === cursor.steps.length - 1")
    assert browser.run(f"{play}.getAttribute('aria-label')") == "play"


@needs_browser
def test_the_page_asks_for_nothing_and_may_not(made, browser):
    page, _ = made
    browser.show(page)
    assert browser.requests == [page.as_uri()] and browser.complaints == []
    for script in ("fetch('https://example.org/').catch(() => 0)", "new Image().src = 'https://example.org/a.png'"):
        browser.run(script)
    browser.frames(2)
    assert len(browser.complaints) >= 2 and all("Content Security Policy" in text for text in browser.complaints)


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_stands_out_from_what_is_behind_it(made, browser, dark):
    page, _ = made
    browser.show(page, **({"dark": True} if dark else {}))
    at(browser, 6.5)
    texts = browser.run(TEXTS)
    assert len(texts) > 60 and {"measured", "Perhaps touched: lower"} <= {text.partition(",")[0] for text, *_ in texts}
    for text, ink, paper in texts:
        assert contrast(rgb(ink), rgb(paper)) >= 4.5, (text, ink, paper)
    lines = browser.run("document.querySelector('.js-plotly-plot').data.map(trace => trace.line.color)")
    assert len(lines) >= 6
    assert set(lines) <= set(DARK.values() if dark else DARK)


@needs_browser
def test_on_a_phone_a_swipe_scrolls_and_a_finger_moves_the_cursor(made, browser):
    page, _ = made
    browser.open(page, width=390, height=844, phone=True)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    for selector in ("#figure .nsewdrag", ".view canvas"):
        left, top, width, height = box_of(browser, selector)
        middle = (left + width / 2, top + height / 2)
        before = browser.run("scrollY")
        browser.swipe(*middle, 0, -150)
        assert browser.run("scrollY") > before + 60, selector
    left, top, width, height = box_of(browser, "#figure .nsewdrag")
    before = browser.run("scrollY")
    browser.swipe(left + 0.2 * width, top + height / 2, 0.5 * width, 0)
    low, high = browser.run("document.querySelector('.js-plotly-plot').layout.xaxis.range")
    assert browser.run("cursor.t") == pytest.approx(low + 0.7 * (high - low), abs=0.05 * (high - low))
    assert browser.run("document.querySelector('.js-plotly-plot').layout.xaxis.range") == [low, high]
    assert browser.run("scrollY") == before
    around = browser.run("robotView.look.around")
    left, top, width, height = box_of(browser, ".view canvas")
    browser.swipe(left + 0.3 * width, top + height / 2, 0.3 * width, 0)
    assert browser.run("robotView.look.around") != around
    assert browser.complaints == []


@needs_browser
def test_without_webgl_the_page_says_so_and_is_whole(made, browser):
    page, _ = made
    none = "HTMLCanvasElement.prototype.getContext = () => null"
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=none)["identifier"]
    try:
        browser.open(page)
        assert "has no WebGL" in browser.run("document.querySelector('.view').textContent")
        at(browser, 6.5)
        assert "Perhaps touched: lower" in browser.run("document.querySelector('.touch').textContent")
        assert browser.run("document.querySelectorAll('.scatterlayer path').length") >= 6
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


# --- the page itself ----------------------------------------------------------------------------------------------


def palettes():
    """The variables of page.css: {light or dark: {name: colour}}."""
    from rbd_dynamics.common import pages

    text = (Path(pages.__file__).parent / "page.css").read_text()
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in re.findall(r":root \{[^}]*\}", text)
    )
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def test_contrast_is_as_known():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21.0)
    assert contrast(rgb("#767676"), rgb("#ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out(scheme):
    palette = {name: rgb(colour) for name, colour in palettes()[scheme].items()}
    texts = [("ink", "paper"), ("soft", "paper"), ("accent", "paper"), ("ink", "card"), ("ink", "warn-paper"),
             ("warn", "warn-paper"), ("accent", "warn-paper")]  # fmt: skip
    for ink, paper in texts:
        assert contrast(palette[ink], palette[paper]) >= 4.5, (ink, paper)
    for line, paper in [
        ("axis", "paper"),
        ("touched", "card"),
        ("touchable", "card"),
        ("link", "card"),
        ("outline", "card"),
    ]:
        assert contrast(palette[line], palette[paper]) >= 3.0, (line, paper)
    assert DARK.keys() == set(COLORS.values())
    for colour in DARK.values() if scheme == "dark" else DARK:
        assert contrast(rgb(colour), palette["paper"]) >= 3.0, colour


def test_packed_numbers_come_back():
    values = np.array([1.5, np.nan, -3.25, 1e3, 0.0])
    entry = packed(values)
    codes = np.frombuffer(b64decode(entry["codes"]), "<u2").astype(float)
    assert codes[1] == MISSING and (np.delete(codes, 1) < MISSING).all()
    np.testing.assert_allclose((entry["low"] + codes * entry["step"])[[0, 2, 3, 4]], values[[0, 2, 3, 4]], atol=0.008)
    constant = packed(np.full(3, 7.25))
    assert constant["low"] == 7.25 and np.frombuffer(b64decode(constant["codes"]), "<u2").tolist() == [0, 0, 0]
    assert packed(np.full(2, np.nan))["low"] == 0.0


def long_recording(names):
    """As much as is ever drawn of an arm: 3000 intervals of each signal, wider than samples."""
    series, rng = Series(names, 1000.0, points=1500), np.random.default_rng(0)
    signals = (POSITION, "velocity", "measured", "predicted", "residual", "inertia", "coriolis", "gravity", "spring",
               "friction", "with friction", "external")  # fmt: skip
    for k in range(6):
        values = rng.normal(size=(1000, len(names)))
        series.add(k + np.arange(1000) / 1000.0, 0, {name: (j + 1.0) * values for j, name in enumerate(signals)})
    assert not series.exact and len(series.t) == 3000
    return series


def touched(names):
    """A summary with thresholds of contacts."""
    return summary_of(names, external_torque={
        "threshold": dict.fromkeys(names, 1.0), "events": [], "breakaway": {}, "omitted": 0
    })  # fmt: skip


@pytest.mark.skipif("panda" not in robots(), reason="needs the package example-robot-data")
def test_the_page_of_an_arm_is_small_and_soon_written(tmp_path):
    """With all that is ever drawn, below 8 MB; the robot takes less than 0.3 s of the processor."""
    model, text = load_urdf(robots()["panda"]), robots()["panda"].read_text()
    names = model.joint_names
    series, summary = long_recording(names), touched(names)
    found = SimpleNamespace(series=series, robot=SimpleNamespace(model=model))
    took = {}
    for kind in ("without", "with") * 3:
        _three.cache_clear()
        _mesh_of.cache_clear()
        begin = process_time()
        robot = drawn_robot(found, summary, text, MeshFinder(packages=shares())) if kind == "with" else "no"
        write_html(tmp_path / f"{kind}.html", summary, series, robot=robot)
        took[kind] = min(took.get(kind, np.inf), process_time() - begin)
    assert not robot.scene.stand_ins and not robot.scene.left_out
    assert (tmp_path / "with.html").stat().st_size < 8e6
    assert took["with"] - took["without"] < 0.3


def test_without_trimesh_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(scripts, "find_spec", lambda name: None)
    _three.cache_clear()
    model = load_urdf(URDF)
    series, summary = long_recording(NAMES), touched(list(NAMES))
    found = SimpleNamespace(series=series, robot=SimpleNamespace(model=model))
    robot = drawn_robot(found, summary, URDF, MeshFinder())
    write_html(tmp_path / "report.html", summary, series, robot=robot)
    page = (tmp_path / "report.html").read_text()
    told = "the view in 3-D needs the package trimesh (4.8.3 or newer): pip install 'rbd_dynamics[show]'."
    assert page.count(f"The robot is not drawn: {escape(told)}") == 1
    assert "RobotView" not in page and 'class="with-robot"' not in page


def test_names_of_a_robot_cannot_break_out_of_the_page(tmp_path):
    bad = "</script><script>alert(1)</script>"
    text = URDF.replace('"lower"', '"&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"')
    model = load_urdf(text)
    assert model.bodies[2].name == bad
    series, summary = long_recording(NAMES), touched(list(NAMES))
    summary["external_torque"]["events"] = [{"start": 1.0, "end": 2.0, "peak": {"elbow": 3.0}}]
    found = SimpleNamespace(series=series, robot=SimpleNamespace(model=model))
    robot = drawn_robot(found, summary, text, MeshFinder())
    assert robot.motion["contacts"][0]["nearest"] == (bad,)
    write_html(tmp_path / "report.html", summary, series, robot=robot)
    assert bad not in (tmp_path / "report.html").read_text()
