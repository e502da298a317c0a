# SPDX-License-Identifier: Apache-2.0
"""A page that moves its robot: its mathematics beside the library's, closed forms of the floor, a hand that pulls."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from helpers.browser import needs_browser
from helpers.page_scripts import in_node, needs_node

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.model.joints import Floating, Helical, Planar, Revolute, Spherical, Universal
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

pytest.importorskip("trimesh")

BOX = """<robot name="crate"><link name="crate"><inertial><mass value="3"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0.05"/><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link></robot>"""
PENDULUM = """<robot name="pendulum"><link name="base"/><link name="rod">
<inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0 0 -0.25"/><geometry><box size="0.1 0.1 0.5"/></geometry></visual></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-0.4" upper="2" effort="30" velocity="9"/><dynamics friction="{friction}"/></joint></robot>"""
SLIDE = """<joint name="{}" type="prismatic"><parent link="{}"/><child link="{}"/><axis xyz="{}"/>
<limit lower="-99" upper="99" effort="0" velocity="9"/></joint>"""
RAIL = BOX.replace(
    "</robot>",
    f"""<link name="base"/><link name="rail"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><origin xyz="0 0 1"/>
<geometry><sphere radius="0.1"/></geometry></visual></link>
{SLIDE.format("along", "base", "rail", "0 1 0")}{SLIDE.format("up", "rail", "crate", "0 0 1")}</robot>""",
)
START = """load(Uint8Array.from(atob(physics.code), letter => letter.charCodeAt(0))).then(kernels => {
const it = new Physics(new RobotTree(robot), kernels, physics); %s })"""


def groups():
    """A screw on a ball joint on what slides in a plane, beside what floats; two bodies follow one joint."""
    builder = rbd.ModelBuilder("groups")
    inertia = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": np.diag([0.2, 0.25, 0.3])}
    tilted = Transform.of(rotation_from_rpy(0.4, 0.2, 1.0), (0.1, 0.2, 0.3))
    builder.add_body("sled", None, Planar((0.0, 0.6, 0.8)), placement=tilted, **inertia)
    builder.add_body("ball", "sled", Spherical(), placement=tilted, **inertia)
    builder.add_body("nut", "ball", Helical((0, 0.8, 0.6), pitch=0.05), placement=tilted, **inertia)
    builder.add_body("tip", "nut", Revolute((1, 0, 0)), placement=tilted, **inertia)
    builder.add_body("free", None, Floating(), placement=tilted, **inertia)
    builder.add_body(
        "echo", "tip", Revolute((0, 1, 0)), mimic=Mimic("tip_joint", multiplier=-1.5, offset=0.3), **inertia
    )
    return builder.build()


@needs_node
def test_points_move_and_a_step_goes_on_as_the_library_has_it():
    model = groups()
    robot, point, h = rbd.Robot(model, backend="reference"), np.array([0.3, -0.1, 0.2]), 1e-3
    rng = np.random.default_rng(3)
    q, v = model.random(5), rng.uniform(-1.0, 1.0, model.nv)
    page = rbd.show(model, q=q, simulate=True)
    names = ("sled", "ball", "nut", "tip", "free", "echo")
    script = f"""const bodies = {[[body.name for body in model.bodies].index(name) for name in names]};
        it.facts.points = []; it.v = Float64Array.from({v.tolist()});
        const rows = bodies.map(k => it.mechanics.jacobian(k, {point.tolist()}).map(row => Array.from(row)));
        const places = bodies.map(k => it.mechanics.place(k, {point.tolist()}));
        it.step({h}); return {{rows, places, q: Array.from(it.q), v: Array.from(it.v)}};"""
    found = in_node(page, START % script)
    for k, name in enumerate(names):
        pose, jacobian = np.asarray(robot.pose(q, name)), np.asarray(robot.jacobian(q, name))
        np.testing.assert_allclose(found["places"][k], pose[:3, :3] @ point + pose[:3, 3], atol=1e-12)
        own = pose[:3, :3] @ (jacobian[3:] - np.cross(point, jacobian[:3], axis=0))
        np.testing.assert_allclose(found["rows"][k], own, atol=1e-12)
    after = v + h * robot.forward_dynamics(q, v, np.zeros(model.nv))
    np.testing.assert_allclose(found["v"], after, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["q"], model.integrate(q, h * after), atol=2.0 * h**2)


@needs_node
@pytest.mark.parametrize("slope", [0.5, 1.0])
def test_a_crate_rests_and_slides_where_friction_lets_it(slope):
    """Gravity leans: at friction .8 the crate stays below 38.7 degrees, and beyond slides at g (sin - .8 cos)."""
    gravity = (9.81 * math.sin(slope), 0.0, -9.81 * math.cos(slope))
    model = rbd.load_urdf(BOX, base="floating").with_gravity(gravity)
    page = rbd.show(model, description=BOX, simulate=True)
    facts = json.loads(re.search(r"physics = (\{.*\});$", page.html, re.M)[1])
    assert facts["floor"] == pytest.approx(-0.05)
    script = """it.q[2] = -0.05; it.draw(); const speeds = [];
        for (let k = 1; k <= 750; k++) { it.step(1 / 250); if (k % 250 === 0) speeds.push(it.v[3]); }
        return {q: Array.from(it.q), v: Array.from(it.v), speeds};"""
    found = in_node(page, START % script)
    assert found["q"][2] == pytest.approx(-0.05, abs=1e-6)  # its centre of mass is in its bottom
    np.testing.assert_allclose(np.array(found["v"])[[0, 1, 2, 4, 5]], 0.0, atol=1e-6)
    slides = max(0.0, 9.81 * (math.sin(slope) - 0.8 * math.cos(slope)))
    assert found["speeds"][2] - found["speeds"][1] == pytest.approx(slides, abs=1e-6)


@needs_node
@pytest.mark.parametrize("slope", [0.3, 1.0])
def test_friction_has_its_cone_where_the_robot_cannot_move_across(slope):
    """A crate of 3 kg that a rail of 1 kg carries, up and down and along y, in which gravity leans."""
    gravity = (0.0, 9.81 * math.sin(slope), -9.81 * math.cos(slope))
    page = rbd.show(rbd.load_urdf(RAIL).with_gravity(gravity), description=RAIL, simulate=True)
    script = """it.q[1] = it.facts.floor; it.draw(); const speeds = [];
        for (let k = 1; k <= 500; k++) { it.step(1 / 250); if (k % 250 === 0) speeds.push(it.v[0]); }
        return [it.q[1] - it.facts.floor, it.v[1], speeds[1] - speeds[0]];"""
    slides = max(0.0, 9.81 * (math.sin(slope) - 0.8 * 0.75 * math.cos(slope)))
    assert in_node(page, START % script) == pytest.approx([0.0, 0.0, slides], abs=1e-6)


@needs_node
def test_limits_stop_friction_holds_and_motors_have_their_limits():
    """A rod of 2 kg whose centre is half a metre below its hinge: 9.81 N m hold it level."""
    swing = "for (let k = 0; k < 1000; k++) it.step(1 / 250); return [it.q[0], it.v[0]];"
    loose = rbd.show(rbd.load_urdf(PENDULUM.format(friction=0)), q=[1.0], simulate=True)
    lowest = (
        "let low = 0; for (let k = 0; k < 500; k++) { it.step(1 / 250); low = Math.min(low, it.q[0]); } return low;"
    )
    assert in_node(loose, START % lowest) == pytest.approx(-0.4, abs=1e-6)
    stuck = rbd.show(rbd.load_urdf(PENDULUM.format(friction=12)), q=[1.0], simulate=True)
    assert in_node(stuck, START % swing) == pytest.approx([1.0, 0.0], abs=1e-9)
    held = "it.wanted = {hinge: 1.3};" + swing
    assert in_node(loose, START % held) == pytest.approx([1.3, 0.0], abs=1e-3)
    pulled = """it.hand = {body: 0, point: [0, 0, -0.5], target: [9, 0, 9]}; let most = 0;
        for (let k = 0; k < 50; k++) { it.step(1 / 250); for (let n = 0; n < 3; n++)
        most = Math.max(most, 250 * Math.abs(it.impulses.get("hand " + n))); } return most;"""
    assert in_node(loose, START % pulled) == pytest.approx(3.0 * 2.0 * 9.81)


def mouse(browser, kind, place):
    """What a reader does with the left button, at a place of the canvas, px."""
    left, top = browser.run("(box => [box.left, box.top])(page.view.canvas.getBoundingClientRect())")
    where = {"x": left + place[0], "y": top + place[1]}
    browser.call("Input.dispatchMouseEvent", type=kind, **where, button="left", buttons=1, clickCount=1)


SEEN = """(point => { const at = new THREE.Vector3(...point).project(page.view.camera), canvas = page.view.canvas;
return [(at.x + 1) / 2 * canvas.clientWidth, (1 - at.y) / 2 * canvas.clientHeight]; })"""


@needs_browser
def test_a_link_is_pulled_with_and_without_dynamics(tmp_path, browser):
    model = rbd.load_urdf(PENDULUM.format(friction=0))
    for simulate in (False, True):
        rbd.show(model, q=[0.3], description=PENDULUM.format(friction=0), simulate=simulate).save(tmp_path / "rod.html")
        browser.open(tmp_path / "rod.html")
        while simulate and not browser.run("Boolean(page.simulated.physics && page.simulated.physics.time > 0.05)"):
            browser.frames(1)
        browser.frames(2)
        begin, end = (
            browser.run(f"{SEEN}({[-0.45 * math.sin(angle), 0.0, 1.0 - 0.45 * math.cos(angle)]})")
            for angle in (browser.run("page.positions.hinge"), 1.0)
        )
        mouse(browser, "mousePressed", begin)
        if simulate:
            browser.run("page.simulated.hold(false)")
        mouse(browser, "mouseMoved", end)
        if simulate:
            for _ in range(400):
                browser.frames(1)
                if browser.run("Math.abs(page.positions.hinge - 1) + Math.abs(page.simulated.physics.v[0])") < 0.1:
                    break
        assert browser.run("page.positions.hinge") == pytest.approx(1.0, abs=0.15)
        mouse(browser, "mouseReleased", end)
        assert browser.complaints == []


def test_what_a_page_cannot_simulate_is_told(tmp_path, capsys):
    builder = rbd.ModelBuilder("wrist")
    builder.add_body("hand", None, Universal((1, 0, 0), (0, 1, 0)), mass=1.0, com=(0.0, 0.0, 0.1), inertia=np.eye(3))
    with pytest.raises(rbd.ModelError, match="'hand_joint'.*universal.*simulate"):
        rbd.show(builder.build(), simulate=True)
    loop = (
        '<loop name="ring" type="revolute"><predecessor link="base"/><successor link="rod"/><axis xyz="0 1 0"/></loop>'
    )
    with pytest.raises(rbd.ModelError, match="loop 'ring'"):
        rbd.show(PENDULUM.format(friction=0).replace("</robot>", f"{loop}</robot>"), simulate=True)
    with pytest.raises(ValueError, match="not both"):
        rbd.show(PENDULUM.format(friction=0), motion=([0.0, 1.0], [[0.0], [1.0]]), simulate=True)
    file = tmp_path / "crate.urdf"
    file.write_text(BOX)
    assert main(["show", str(file), "--simulate", "-o", str(tmp_path / "page.html")]) == 2
    assert "nothing to simulate" in capsys.readouterr().err
    assert main(["show", str(file), "--floating", "--simulate", "-o", str(tmp_path / "page.html")]) == 0
