# SPDX-License-Identifier: Apache-2.0
"""A robot as a page: what it computes agrees with the library, what it shows is there, in a browser and a notebook."""

from __future__ import annotations

import json
import re
import tempfile
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import TEXTS, contrast, needs_browser, rgb
from helpers.page_scripts import in_node, needs_node

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.control.motion.trajectory import Point, Waypoints
from rbd_dynamics.model.joints import Helical, Revolute, Spherical
from rbd_dynamics.scene import scene_scripts
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy
from rbd_dynamics.trajectories.trajectory_file import trajectory_yaml
from rbd_dynamics.viewer.masses import ellipsoids_of
from rbd_dynamics.viewer.motion import motion_of

pytest.importorskip("trimesh")

INERTIAL = (
    "<inertial><origin xyz='0.03 -0.02 0.2' rpy='0.1 0.2 0.3'/><mass value='2'/>"
    "<inertia ixx='0.03' iyy='0.02' izz='0.015' ixy='0.001' ixz='-0.002' iyz='0.0005'/></inertial>"
)
BOX = "<visual><origin xyz='0 0 0.15'/><geometry><box size='0.1 0.1 0.3'/></geometry></visual>"
LIMIT = "<limit lower='-2' upper='2.5' effort='{}' velocity='5'/>"
URDF = f"""<robot name="arm"><link name="base">{INERTIAL}{BOX}</link><link name="upper">{INERTIAL}{BOX}</link>
<link name="rail">{INERTIAL}</link><link name="lower">{INERTIAL}{BOX}</link><link name="hand">{INERTIAL}{BOX}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3" rpy="0 0 0.5"/>
<axis xyz="0 1 0"/>{LIMIT.format(15)}</joint>
<joint name="slide" type="prismatic"><parent link="upper"/><child link="rail"/><origin xyz="0 0 0.3"/>
<axis xyz="0 0.6 0.8"/>{LIMIT.format(100)}</joint>
<joint name="elbow" type="continuous"><parent link="rail"/><child link="lower"/><origin xyz="0.1 0 0" rpy="0.2 0 0"/>
<axis xyz="0 1 0"/></joint>
<joint name="grip" type="continuous"><parent link="lower"/><child link="hand"/><origin xyz="0 0 0.4"/>
<axis xyz="1 0 0"/><mimic joint="elbow" multiplier="0.5" offset="0.3"/></joint></robot>"""
SPHERE = (
    "<robot name='ball'><link name='ball'><visual><geometry><sphere radius='0.1'/></geometry></visual></link></robot>"
)
NAMES = ("shoulder", "slide", "elbow")
SPEED, PHASE, AMPLITUDE = np.array([1.3, 1.1, 2.1]), np.array([0.0, 2.0, 1.0]), np.array([1.0, 0.1, 0.8])


def tilted():
    return rbd.load_urdf(URDF).with_gravity((1.0, -2.0, -9.0))


def mixed():
    """A screw on a ball joint on a turning base, none of them along an axis."""
    builder = rbd.ModelBuilder("mixed")
    inertia = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": np.diag([0.2, 0.25, 0.3])}
    place = {
        name: Transform.of(rotation_from_rpy(*rpy), xyz)
        for name, rpy, xyz in (
            ("ball", (0.0, 0.2, 0.0), (0.1, 0.2, 0.3)),
            ("nut", (0.4, 0.0, 1.0), (0.0, 0.3, 0.0)),
            ("tip", (0.0, 0.0, 0.5), (0.2, 0.0, 0.1)),
        )
    }
    builder.add_body("base", None, Revolute((0.6, 0.0, 0.8)), **inertia)
    builder.add_body("ball", "base", Spherical(), placement=place["ball"], **inertia)
    builder.add_body("nut", "ball", Helical((0, 0.8, 0.6), pitch=0.05), placement=place["nut"], **inertia)
    builder.add_body("tip", "nut", Revolute((1, 0, 0)), placement=place["tip"], **inertia)
    return builder.build()


def motion(t):
    """Positions, velocities, accelerations of the arm, (..., 3) each."""
    angle = SPEED * np.asarray(t)[..., None] + PHASE
    return AMPLITUDE * np.sin(angle), AMPLITUDE * SPEED * np.cos(angle), -AMPLITUDE * SPEED**2 * np.sin(angle)


def constants(page):
    """The data of a page by their names."""
    line = re.search(r"^\s*const robot = .*;$", page.html, re.M)[0].strip().removeprefix("const ").rstrip(";")
    decoder, found, at = json.JSONDecoder(), {}, 0
    while at < len(line):
        name, begin = re.match(r",? ?(\w+) = ", line[at:])[1], at + re.match(r",? ?\w+ = ", line[at:]).end()
        found[name], at = decoder.raw_decode(line, begin)
    return found


# --- what the page computes ----------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("make", [tilted, mixed, lambda: rbd.load_urdf(URDF, base="floating")])
def test_gravity_torques_and_the_centre_of_mass_are_those_of_the_library(make):
    model = make()
    robot = rbd.Robot(model, backend="reference")
    single = [joint for joint in model.joints if joint.kind.nq == 1]
    assert len(single) >= 3
    for seed in range(5):
        q = model.random(seed)
        page = rbd.show(model, q=q)
        stand = json.dumps({joint.name: q[joint.q_index] for joint in single})
        script = (
            f"(() => {{ const tree = new RobotTree(robot), own = new Gravity(tree, masses); tree.setPositions({stand});"
            "return [own.torques(), own.centre()]; })()"
        )
        torques, centre = in_node(page, script)
        expected = robot.gravity(q)
        assert set(torques) == {joint.name for joint in single}
        for joint in single:
            assert torques[joint.name] == pytest.approx(expected[joint.v_index], abs=1e-12, rel=1e-12)
        np.testing.assert_allclose(centre, robot.center_of_mass(q), atol=1e-12)


def test_ellipsoids_are_those_whose_inertia_it_is():
    size, com, mass = np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2, -0.3]), 4.0
    moments = mass / 5.0 * ((size**2).sum() - size**2)  # of an ellipsoid of even density
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turn *= np.linalg.det(turn)
    builder = rbd.ModelBuilder("one")
    builder.add_body("one", None, Revolute((0, 0, 1)), mass=mass, com=com, inertia=turn @ np.diag(moments) @ turn.T)
    (mark,) = ellipsoids_of(builder.build())
    at = np.reshape(mark["at"], (3, 4))
    assert np.linalg.det(at[:, :3]) == pytest.approx(1.0)
    np.testing.assert_allclose(at[:, 3], com, atol=1e-12)
    shape = at[:, :3] @ np.diag(np.square(mark["size"])) @ at[:, :3].T
    np.testing.assert_allclose(shape, turn @ np.diag(size**2) @ turn.T, atol=1e-12)


# --- motions ------------------------------------------------------------------------------------------------------


def test_torques_of_a_motion_are_those_of_inverse_dynamics():
    model = rbd.load_urdf(URDF)
    t = np.linspace(0.0, 4.0, 81)
    found = motion_of(model, model.neutral(), (t, motion(t)[0]), None)
    assert found.times[0] == 0.0 and found.times[-1] == 4.0 and len(found.times) == 401
    exact = motion(found.times)
    expected = rbd.Robot(model, backend="reference").inverse_dynamics(*exact)
    np.testing.assert_allclose(found.q, exact[0], atol=1e-4)
    np.testing.assert_allclose(found.torques, expected, atol=0.02 * np.abs(expected).max())
    once = motion_of(model, model.neutral(), ([2.0], exact[0][:1]), None)
    np.testing.assert_allclose(once.torques[0], rbd.Robot(model).gravity(exact[0][0]))
    given = motion_of(model, model.neutral(), (t, motion(t)[0]), motion(t)[1])
    np.testing.assert_array_equal(given.torques, motion(t)[1])


def test_a_trajectory_file_is_played_and_joints_that_it_does_not_name_stand(tmp_path):
    t = np.linspace(0.0, 2.0, 21)
    q, v, a = (part[:, [2, 0]] for part in motion(t))
    points = [Point(*row) for row in zip(t.tolist(), q.tolist(), v.tolist(), a.tolist())]
    path = tmp_path / "motion.yaml"
    path.write_text(trajectory_yaml(Waypoints.of(("elbow", "shoulder"), points)))
    model = rbd.load_urdf(URDF)
    found = motion_of(model, np.array([0.0, 0.4, 0.0]), path, None)
    exact = [part.copy() for part in motion(found.times)]
    for part, rest in zip(exact, (0.4, 0.0, 0.0)):
        part[:, 1] = rest
    np.testing.assert_allclose(found.q, exact[0], atol=1e-4)
    inner = slice(1, -1)  # the robot stands before and after it
    expected = rbd.Robot(model, backend="reference").inverse_dynamics(*(part[inner] for part in exact))
    np.testing.assert_allclose(found.torques[inner], expected, atol=0.03 * np.abs(expected).max())


@needs_node
def test_a_joint_that_rests_in_a_motion_stays_where_it_is():
    path = np.tile([0.25, 0.0234, -1.5], (5, 1))
    path[:, 0] += np.linspace(0.0, 1.0, 5)
    page = rbd.show(URDF, motion=(np.arange(5.0), path))
    script = "Object.fromEntries(Object.entries(motion.positions).map(([name, x]) => [name, unpacked(x)[0]]))"
    assert in_node(page, script) == pytest.approx({"shoulder": 0.25, "slide": 0.0234, "elbow": -1.5}, abs=1e-12)


def test_a_motion_with_quaternions_is_that_of_a_body_which_falls():
    """A free body without forces: no torque, whatever it does."""
    model = rbd.load_urdf(URDF, base="floating", locked={"shoulder": 0.2, "slide": 0.1, "elbow": 0.5})
    t = np.linspace(0.0, 1.0, 201)
    path = np.tile(model.neutral(), (len(t), 1))
    path[:, :3] = np.outer(t, (1.0, 0.5, 3.0)) + 0.5 * np.outer(t**2, model.gravity)
    found = motion_of(model, model.neutral(), (t, path), None)
    np.testing.assert_allclose(found.torques[3:-3], 0.0, atol=1e-8)
    page = rbd.show(model, motion=(t, path))
    assert page.scene.still
    told = constants(page)["motion"]
    assert list(told["poses"]) == ["0"]
    entries = [
        entry["low"] + entry["step"] * np.frombuffer(b64decode(entry["codes"]), "<u2") for entry in told["poses"]["0"]
    ]
    poses = np.reshape(entries, (3, 4, -1))
    drawn = np.stack([np.interp(told["times"], t, way) for way in path[:, :3].T])
    np.testing.assert_allclose(poses[:, 3], drawn, atol=1e-3)
    np.testing.assert_allclose(poses[:, :3], np.eye(3)[..., None] * np.ones(len(told["times"])), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"q": [0.0, 1.0]}, "q has shape (2,)"),
        ({"motion": ([0.0, 1.0], np.zeros((3, 3)))}, "q has shape (3, 3), expected (2, 3)"),
        ({"motion": ([0.0, 0.0], np.zeros((2, 3)))}, "increase"),
        ({"motion": ([0.0, 1.0],)}, "expected (t, q)"),
        ({"motion": ([0.0, 1.0], np.zeros((2, 3))), "torques": np.zeros((3, 3))}, "torques has shape (3, 3)"),
        ({"torques": np.zeros((3, 3))}, "give motion=(t, q)"),
        ({"motion": ([0.0, 1.0], np.full((2, 3), np.nan))}, "'shoulder'"),
    ],
)
def test_numbers_that_do_not_fit_are_told(options, culprit):
    with pytest.raises(ValueError, match=re.escape(culprit)):
        rbd.show(rbd.load_urdf(URDF), **options)


# --- the page ------------------------------------------------------------------------------------------------------


class Frames(HTMLParser):
    """Attributes of the iframes of a text."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "iframe":
            self.found.append(dict(attributes))


def test_a_notebook_shows_the_page_that_is_saved(tmp_path):
    page = rbd.show(rbd.Robot(rbd.load_urdf(URDF), backend="reference"), description=URDF)
    page.save(tmp_path / "robot.html")
    (frame,) = Frames(page._repr_html_()).found
    assert frame["srcdoc"] == (tmp_path / "robot.html").read_text(encoding="utf-8") == page.html
    assert "'arm'" in repr(page) and len(repr(page)) < 100
    assert [shape["kind"] for shape in page.scene.content["shapes"]].count("box") == 4
    assert page.scene.stand_ins == ("rail",)


def test_what_is_to_be_known_of_the_drawing_is_noted_and_nothing_else():
    notes = [re.findall("<p class='note'>(.*?)</p>", rbd.show(text).html) for text in (URDF, SPHERE)]
    assert "Follow another joint: grip (elbow)." in notes[0][0]
    assert notes[1] == []


def test_sliders_have_the_limits_of_their_joints():
    found = {joint["name"]: joint for joint in constants(rbd.show(URDF))["joints"]}
    assert list(found) == list(NAMES)
    assert (found["slide"]["low"], found["slide"]["high"], found["slide"]["unit"]) == (-2.0, 2.5, "m")
    assert found["elbow"]["high"] == pytest.approx(np.pi) and found["elbow"]["effort"] is None
    assert (found["shoulder"]["effort"], found["shoulder"]["torque_unit"]) == (15.0, "N m")


def test_what_has_no_limit_is_scaled_to_the_robot():
    """A bar of a joint that gravity cannot move would show rounding; a slide goes as far as the robot reaches."""
    small = rbd.ModelBuilder("small")
    own = {"mass": 0.1, "com": (0.0, 0.0, 0.02), "inertia": np.eye(3) * 1e-5}
    small.add_body("turn", None, Revolute((0, 0, 1)), **own)
    small.add_body("slide", "turn", rbd.joints.Prismatic((1, 0, 0)), placement=(0.0, 0.0, 0.05), **own)
    turn, slide = constants(rbd.show(small.build()))["joints"]
    weight, reach = 0.2 * 9.81, 0.07
    assert turn["least"] == pytest.approx(0.05 * weight * reach)
    assert slide["least"] == pytest.approx(0.05 * weight)
    assert (slide["low"], slide["high"]) == (pytest.approx(-reach), pytest.approx(reach))


SDF = """<sdf version="1.9"><model name="four_bar">{links}
<joint name="one" type="revolute"><parent>world</parent><child>left</child>{axis}</joint>
<joint name="two" type="revolute"><pose relative_to="left">0 0 1 0 0 0</pose><parent>left</parent><child>top</child>
{axis}</joint><joint name="three" type="revolute"><pose relative_to="__model__">1 0 0 0 0 0</pose><parent>world</parent>
<child>right</child>{axis}</joint><joint name="closing" type="revolute"><pose relative_to="top">1 0 0 0 0 0</pose>
<parent>right</parent><child>top</child>{axis}</joint></model></sdf>"""


def four_bar(low):
    """A square of bars; `low` is the least angle of the first, where the model starts."""
    link = (
        "<link name='{}'><pose>{}</pose><inertial><mass>1</mass></inertial><visual name='v'><pose>0 0 0.5 0 0 0</pose>"
        "<geometry><box><size>0.1 0.2 1</size></box></geometry></visual><visual name='w'><geometry><mesh>"
        "<uri>package://none/a.stl</uri></mesh></geometry></visual></link>"
    )
    places = {"left": "0 0 0 0 0 0", "top": "0 0 1 0 0 0", "right": "1 0 0 0 0 0"}
    axis = "<axis><xyz>0 1 0</xyz><limit><lower>{}</lower><upper>2</upper></limit></axis>"
    text = SDF.format(links="".join(link.format(*place) for place in places.items()), axis=axis.format(-2))
    return text.replace("<lower>-2</lower>", f"<lower>{low}</lower>", 1)


def test_an_sdf_is_drawn_with_its_shapes_and_its_loops_closed():
    text = four_bar(0.4)
    page, model = rbd.show(text), rbd.load(text)
    assert [shape["kind"] for shape in page.scene.content["shapes"]] == ["box"] * 3
    assert page.scene.content["shapes"][0]["size"] == [0.1, 0.2, 1.0]
    assert page.scene.left_out == ("package://none/a.stl was not found",)
    stand = constants(page)["posture"]
    q = np.array([stand[name] for name in model.joint_names])
    held = rbd.ConstraintSet(model, rbd.constraints.loop_constraints(model))
    h, _, _ = rbd.Robot(model, backend="reference").constraint_rows(q, 0.0 * q, held)
    np.testing.assert_allclose(h, 0.0, atol=1e-8)
    assert "Sliders do not close" in page.html


def test_loops_that_cannot_be_closed_are_told():
    far = four_bar(0.4).replace('<pose relative_to="top">1 0 0', '<pose relative_to="top">9 0 0')
    model = rbd.load(far)
    (loop,) = model.loops
    apart = replace(model, loops=(replace(loop, reference_placement=Transform.of(p=(50.0, 0.0, 0.0))),))
    assert "The robot&#x27;s loops are drawn open: no configuration with" in rbd.show(apart).html


def test_names_cannot_break_out_of_the_page():
    bad = "</script><script>alert(1)</script>"
    text = URDF.replace('"elbow"', '"&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"')
    page = rbd.show(text.replace('name="arm"', 'name="&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"'))
    assert bad not in page.html and bad in page.scene.content["joints"]


@pytest.mark.skipif("talos_full_v2" not in robots(), reason="needs the package example-robot-data")
def test_the_page_of_a_humanoid_with_a_long_motion_is_below_8_mb():
    model = rbd.load("talos_full_v2")
    t = np.linspace(0.0, 100.0, 3000)
    path = 0.2 * np.sin(np.outer(t, np.linspace(0.5, 1.5, model.nq)))
    page = rbd.show("talos_full_v2", motion=(t, path), torques=np.cos(path))
    assert not page.scene.stand_ins or not page.scene.left_out
    assert len(page.html.encode()) < 8e6


def test_without_trimesh_one_line_says_so(monkeypatch):
    from rbd_dynamics.scene import scripts

    monkeypatch.setattr(scripts, "find_spec", lambda name: None)
    scripts._three.cache_clear()
    with pytest.raises(ValueError, match=r"needs the package trimesh .*: pip install 'rbd_dynamics\[show\]'$"):
        scene_scripts()
    scripts._three.cache_clear()


# --- in the browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files: of the arm, and of its motion."""
    folder = tmp_path_factory.mktemp("pages")
    rbd.show(URDF, q=[0.3, 0.1, -0.4]).save(folder / "arm.html")
    t = np.linspace(0.0, 4.0, 41)
    rbd.show(URDF, motion=(t, motion(t)[0])).save(folder / "motion.html")
    return {"arm": folder / "arm.html", "motion": folder / "motion.html"}


def slide(browser, number, value):
    """As a reader moves a slider."""
    browser.run(
        f"(one => {{ one.value = {value}; one.dispatchEvent(new Event('input')); }})"
        f"(document.getElementById('joint{number}'))"
    )


@needs_browser
def test_sliders_move_the_robot_and_the_bars(pages, browser):
    browser.open(pages["arm"])
    robot = rbd.Robot(rbd.load_urdf(URDF), backend="reference")
    q, most = np.array([0.3, 0.1, -0.4]), set()
    for number, value in ((None, 0.0), (0, 1.5), (1, -0.5), (2, 2.0)):
        if number is not None:
            slide(browser, number, value)
            q[number] = value
        for k, name in enumerate(("upper", "rail", "lower", "hand")):
            np.testing.assert_allclose(
                browser.run(f"page.tree.originOf({k})"), np.asarray(robot.pose(q, name))[:3, 3], atol=1e-9
            )
        torques = robot.gravity(q)
        bars = browser.run(
            "[...document.querySelectorAll('.bars .gravity')].map(one => [one.style.left, one.style.width])"
        )
        for (left, width), torque, effort in zip(bars, torques, (15.0, 100.0, None)):
            if effort:
                share = min(50.0, 50.0 * abs(torque) / effort)
                assert float(width.rstrip("%")) == pytest.approx(share, abs=1e-3)
                assert float(left.rstrip("%")) == pytest.approx(50.0 - share if torque < 0.0 else 50.0, abs=1e-3)
            else:
                assert 0.0 < float(width.rstrip("%")) <= 50.0
        over = browser.run(
            "[...document.querySelectorAll('.bars .gravity')].map(one => one.classList.contains('over'))"
        )
        assert over == [abs(torques[0]) > 15.0, False, False]
        most.add(over[0])
        said = browser.run("[...document.querySelectorAll('.effort span:first-child')].map(one => one.textContent)")
        for text, torque in zip(said, torques):
            assert float(text.split()[1].replace("−", "-")) == pytest.approx(torque, abs=0.06, rel=0.003)
    assert most == {False, True}
    browser.run("document.querySelector('.reset').click()")
    assert browser.run("page.positions.shoulder") == 0.3
    assert browser.complaints == [] and browser.requests == [pages["arm"].as_uri()]


@needs_browser
def test_the_bar_of_a_light_joint_without_a_limit_is_short_beside_a_heavy_one(tmp_path, browser):
    """Both turn about y, at 0; of the second one gravity asks a thousandth."""
    builder = rbd.ModelBuilder("two")
    builder.add_body("heavy", None, Revolute((0, 1, 0)), mass=1.0, com=(1.0, 0.0, 0.0), inertia=np.eye(3))
    builder.add_body("light", "heavy", Revolute((0, 1, 0)), mass=0.001, com=(1.0, 0.0, 0.0), inertia=1e-3 * np.eye(3))
    rbd.show(builder.build()).save(tmp_path / "two.html")
    browser.open(tmp_path / "two.html")
    heavy, light = browser.run(
        "[...document.querySelectorAll('.bars .gravity')].map(one => parseFloat(one.style.width))"
    )
    assert 48.0 < heavy <= 50.0
    assert light == pytest.approx(heavy * 0.001 / 1.001, rel=1e-3)


PIXELS = (
    "(view => { const gl = view.renderer.getContext(), [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];"
    "view.grid.visible = false; view.renderer.render(view.world, view.camera);"
    "const data = new Uint8Array(4 * w * h); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, data);"
    "let sum = 0; for (let k = 0; k < w * h; k++) sum += data[4 * k + 3] > 0; return sum / (w * h); })(page.view)"
)


@needs_browser
def test_parts_are_drawn_and_can_be_hidden(pages, browser):
    browser.open(pages["arm"])
    boxes = "document.querySelectorAll('.toggles input')"
    whole = browser.run(PIXELS)
    assert whole > 0.02
    browser.run(f"{boxes}[0].click()")
    assert browser.run(PIXELS) == 0.0
    for k in (1, 2, 3):
        browser.run(f"{boxes}[{k}].click()")
        assert 0.0 < browser.run(PIXELS) < 0.9, k
        browser.run(f"{boxes}[{k}].click()")
        assert browser.run(PIXELS) == 0.0, k


@needs_browser
def test_a_motion_is_played_with_its_torques_until_a_slider_is_moved(pages, browser):
    browser.open(pages["motion"])
    model = rbd.load_urdf(URDF)
    t = np.linspace(0.0, 4.0, 41)
    expected = motion_of(model, model.neutral(), (t, motion(t)[0]), None)
    told = "[...document.querySelectorAll('.effort span:nth-child(2)')].map(one => one.textContent)"
    for step in (0, 150, 400):
        browser.run(
            f"(one => {{ one.value = {step}; one.dispatchEvent(new Event('input')); }})"
            "(document.querySelector('.player input'))"
        )
        found = [browser.run(f"page.positions.{name}") for name in NAMES]
        np.testing.assert_allclose(found, expected.q[step], atol=1e-4)
        for text, torque in zip(browser.run(told), expected.torques[step]):
            assert float(text.split()[1].replace("−", "-")) == pytest.approx(torque, abs=0.06, rel=0.003)
    browser.run("document.querySelector('.play').click()")  # from the end: from the start again
    while browser.run("page.cursor.step") < 5:
        browser.frames(1)
    assert browser.run("page.cursor.playing")
    slide(browser, 0, 1.0)
    assert not browser.run("page.cursor.playing") and browser.run("page.positions.shoulder") == 1.0
    assert browser.run(told) == ["", "", ""]
    browser.run("document.querySelector('.reset').click()")
    assert browser.run("page.cursor.step") == 0 and browser.run(told) != ["", "", ""]
    assert browser.complaints == []


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_and_a_phone_is_wide_enough(pages, browser, dark):
    for page in pages.values():
        browser.open(page, width=390, height=844, phone=True, dark=dark)
        slide(browser, 0, 1.5)
        assert browser.run("document.documentElement.scrollWidth") <= 390
        texts = browser.run(TEXTS)
        assert {"shoulder", "Reset", "Frames"} <= {text for text, *_ in texts} and len(texts) >= 18
        for text, ink, paper in texts:
            assert contrast(rgb(ink), rgb(paper)) >= 4.5, (text, ink, paper)


@needs_browser
def test_without_webgl_the_torques_are_there(pages, browser):
    none = "HTMLCanvasElement.prototype.getContext = () => null"
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=none)["identifier"]
    try:
        browser.open(pages["arm"])
        assert "has no WebGL" in browser.run("document.querySelector('.view').textContent")
        slide(browser, 0, 1.5)
        expected = rbd.Robot(rbd.load_urdf(URDF), backend="reference").gravity([1.5, 0.1, -0.4])[0]
        assert browser.run("page.gravity.torques().shoulder") == pytest.approx(expected, rel=1e-12)
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


@needs_browser
def test_a_notebook_draws_it_in_a_frame(tmp_path, browser):
    cell = rbd.show(rbd.load_urdf(URDF))._repr_html_()
    (tmp_path / "cell.html").write_text(f"<!doctype html><body>{cell}</body>", encoding="utf-8")
    browser.open(tmp_path / "cell.html")
    inside = "document.querySelector('iframe').contentDocument"
    assert browser.run(f"{inside}.querySelectorAll('.joint').length") == 3
    assert browser.run(f"{inside}.querySelector('.view canvas').clientWidth") > 300
    assert browser.complaints == []


def test_a_model_and_a_robot_are_shown_as_their_file_is(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    page = rbd.show(str(tmp_path / "arm.urdf"))
    assert page.scene.stand_ins == ("rail",), "the shapes are the file's"
    for model in (rbd.load(tmp_path / "arm.urdf"), rbd.load_urdf(tmp_path / "arm.urdf")):
        assert rbd.show(model).html == rbd.show(rbd.Robot(model, backend="reference")).html == page.html
        assert rbd.show(model, q=[0.5, 0.0, 0.1]).html != page.html
        assert model == rbd.load_urdf(URDF), "where it is from makes no other model"
    (tmp_path / "arm.urdf").unlink()
    assert rbd.show(model).html == rbd.show(rbd.load_urdf(URDF)).html, "without the file bodies are capsules"


def test_a_robot_shows_the_loads_that_it_carries():
    robot = rbd.Robot(rbd.load_urdf(URDF), backend="reference")
    empty = constants(rbd.show(robot))["masses"]
    robot.set_payload("hand", 2.5, com=(0.0, 0.0, 0.1))
    robot.set_payload("base", 1.5)
    loaded = constants(rbd.show(robot))["masses"]
    moments = robot.inertial_parameters
    assert [body["mass"] for body in loaded["bodies"]] == moments[:, 0].tolist()
    assert [body["moment"] for body in loaded["bodies"]] == moments[:, 1:4].tolist()
    assert loaded["fixed"]["mass"] == empty["fixed"]["mass"] + 1.5
    q = [0.3, 0.1, 0.4]
    assert rbd.Robot(robot.loaded_model(), backend="reference").gravity(q) == pytest.approx(robot.gravity(q))
    assert robot.model == rbd.load_urdf(URDF)


def test_a_page_opens_in_a_browser_or_says_where_it_is(tmp_path, monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    page = rbd.show(rbd.load_urdf(URDF))
    path = page.open()
    assert opened == [path.as_uri()] and path.read_text(encoding="utf-8") == page.html
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    with pytest.raises(RuntimeError, match=f"no browser could be started; the page is {tmp_path}"):
        page.open()


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    return str(tmp_path / "arm.urdf")


def test_the_command_writes_the_page_and_only_without_a_name_opens_it(arm, tmp_path, monkeypatch, capsys):
    import webbrowser

    opened = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    target = tmp_path / "page.html"
    assert main(["show", arm, "-o", str(target), "--position", "slide=0.2"]) == 0
    assert capsys.readouterr().out == f"{target}\n" and not opened
    assert target.read_text(encoding="utf-8") == rbd.show(arm, q=[0.0, 0.2, 0.0]).html
    assert main(["show", arm]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert opened == [path.as_uri()] and path.read_text(encoding="utf-8") == rbd.show(arm).html
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["show", arm]) == 2
    assert "no browser could be started" in capsys.readouterr().err


def test_a_mesh_that_is_not_found_is_a_warning_until_its_folder_is_given(tmp_path, capsys):
    path = tmp_path / "meshes.urdf"
    path.write_text(URDF.replace("<box size='0.1 0.1 0.3'/>", "<mesh filename='package://parts/a.stl'/>"))
    target = tmp_path / "page.html"
    assert main(["show", str(path), "-o", str(target)]) == 0
    warning = "rbd_dynamics: warning: not drawn: package://parts/a.stl was not found\n"
    assert capsys.readouterr() == (f"{target}\n", warning)
    import trimesh

    (tmp_path / "elsewhere" / "parts").mkdir(parents=True)
    trimesh.creation.box().export(tmp_path / "elsewhere" / "parts" / "a.stl")
    assert main(["show", str(path), "-o", str(target), "--meshes", str(tmp_path / "elsewhere")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        (["--position", "elbo=1"], "did you mean 'elbow'"),
        (["--motion", "nowhere.yaml"], "nowhere.yaml"),
        (["--meshes", "no/such/folder"], "no/such/folder"),
        (["-o", "no/such/folder/x.html"], "no/such/folder/x.html: No such file"),
    ],
)
def test_what_cannot_be_shown_is_one_line(options, culprit, arm, capsys):
    assert main(["show", arm, *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and culprit in shown.err
