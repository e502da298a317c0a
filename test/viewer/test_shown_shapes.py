# SPDX-License-Identifier: Apache-2.0
"""What a page draws of a description: shapes of each format, those that have no counterpart, and their colours."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.browser import needs_browser

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.formats.shapes import shapes_of
from rbd_dynamics.formats.source import read_source
from rbd_dynamics.model.errors import Findings

pytest.importorskip("trimesh")


def test_an_mjcf_is_drawn_with_its_geoms_and_meshes(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text("""<mujoco><asset><mesh name="tetra" vertex="0 0 0  0.3 0 0  0 0.3 0  0 0 0.3"/>
    </asset><worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 0.5"><joint name="h" axis="0 1 0"/>
    <geom type="box" size="0.1 0.2 0.05" pos="0.1 0 0"/><geom type="capsule" size="0.1 0.3" group="3"/>
    <geom type="mesh" mesh="tetra" pos="0.3 0 0" contype="0" conaffinity="0"/></body></worldbody></mujoco>""")
    for robot in (tmp_path / "arm.xml", rbd.load(tmp_path / "arm.xml")):
        content = rbd.show(robot).scene.content
        box, mesh = content["shapes"]
        assert (box["kind"], box["size"], mesh["kind"]) == ("box", [0.2, 0.4, 0.1], "mesh")
        assert len(content["meshes"]) == 1
    shapes = shapes_of(read_source(tmp_path / "arm.xml"), Findings())["b"]
    assert [shape.kind for shape in shapes["collision"]] == ["box", "capsule"]
    points, _ = shapes["visual"][1].mesh
    corners = np.array([shapes["visual"][1].placement.rotate(tuple(point)) for point in points])
    corners += shapes["visual"][1].placement.p
    expected = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]) + [0.3, 0, 0]
    distances = np.linalg.norm(corners[:, None] - expected[None], axis=-1)
    assert distances.min(axis=0).max() < 1e-6


KINDS_OF_SDF = """<sdf version="1.11"><model name="m"><link name="l"><inertial><mass>1</mass></inertial>
<visual name="e"><geometry><ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid></geometry></visual>
<visual name="c"><geometry><cone><radius>0.2</radius><length>0.5</length></cone></geometry></visual>
<visual name="n"><geometry><empty/></geometry></visual>
<visual name="p"><geometry><plane><normal>0 0 1</normal></plane></geometry></visual></link></model></sdf>"""
KINDS_OF_MJCF = """<mujoco><asset><mesh name="tetra" vertex="0 0 0  0.3 0 0  0 0.3 0  0 0 0.3"/>
<hfield name="hills" nrow="2" ncol="2" size="1 1 0.1 0.1"/></asset><worldbody>
<geom name="floor" type="plane" size="0 0 1"/><geom type="hfield" hfield="hills"/>
<body name="b"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/>
<geom type="sdf" mesh="tetra"/></body></worldbody></mujoco>"""
KINDS_OF_URDF = """<robot name="ball"><link name="ball">
<visual><geometry><plane normal="0 0 1"/></geometry></visual></link></robot>"""


@pytest.mark.parametrize(
    ("text", "drawn", "left_out"),
    [
        (KINDS_OF_SDF, {"ellipsoid": [0.1, 0.2, 0.3], "cone": [0.2, 0.5]}, ["link 'l', visual 'p': <plane>"]),
        (
            KINDS_OF_MJCF,
            {"ellipsoid": [0.1, 0.2, 0.3], "mesh": [1.0, 1.0, 1.0]},
            ["body 'world', geom 'floor': a plane", "body 'world', geom '1': a height field"],
        ),
        (KINDS_OF_URDF, None, ["link 'ball', visual: <plane>"]),
    ],
)
def test_each_kind_of_shape_is_drawn_or_told(text, drawn, left_out, tmp_path, capsys):
    if text is KINDS_OF_MJCF:
        pytest.importorskip("mujoco")
    page = rbd.show(text)
    assert page.scene.left_out == tuple(left_out)
    assert drawn is None or {shape["kind"]: shape["size"] for shape in page.scene.content["shapes"]} == drawn
    assert "Folders with meshes" not in page.html
    (tmp_path / "robot").write_text(text)
    assert main(["show", str(tmp_path / "robot"), "-o", str(tmp_path / "robot.html")]) == 0
    assert re.findall("not drawn: (.*)", capsys.readouterr().err) == left_out


def test_of_several_models_the_shapes_of_the_chosen_one_are_drawn_and_written(tmp_path):
    model = (
        '<model name="{0}"><link name="l"><inertial><mass>1</mass></inertial><visual name="v"><geometry><sphere>'
        '<radius>{1}</radius></sphere></geometry></visual></link><joint name="j" type="revolute"><parent>world</parent>'
        "<child>l</child><axis><xyz>0 1 0</xyz></axis></joint></model>"
    )
    both = model.format("a", 0.1) + model.format("b", 0.2)
    (tmp_path / "world.sdf").write_text(f'<sdf version="1.9"><world name="w">{both}</world></sdf>')
    for name, radius in (("a", 0.1), ("b", 0.2)):
        chosen = rbd.load(tmp_path / "world.sdf", model=name)
        page = rbd.show(chosen)
        assert [shape["size"] for shape in page.scene.content["shapes"]] == [[radius]] and page.scene.left_out == ()
        assert f"<radius>{radius}</radius>" in rbd.model_to_sdf(chosen)


RED, BALL = "1 0 0 0.5", "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
COLOURED = {
    "urdf": f"""<robot name="r"><material name="deep"><color rgba="{RED}"/></material><link name="l">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><sphere radius="0.1"/></geometry><material name="deep"/></visual>
<visual><geometry><sphere radius="0.2"/></geometry><material name="own"><color rgba="0 0.2 1 1"/></material></visual>
<visual><geometry><sphere radius="0.3"/></geometry></visual>
<visual><geometry><sphere radius="0.4"/></geometry><material name="own"/></visual>
<visual><geometry><sphere radius="0.5"/></geometry><material name=""><color rgba="0 9 0 1"/></material></visual>
</link></robot>""",
    "sdf": f"""<sdf version="1.9"><model name="r"><link name="l"><inertial><mass>1</mass></inertial>
<visual name="a">{BALL}<material><diffuse>{RED}</diffuse></material></visual>
<visual name="b">{BALL}<material><diffuse>0 0.2 1</diffuse></material>
</visual><visual name="c">{BALL}</visual></link></model></sdf>""",
    "mjcf": f"""<mujoco><asset><material name="deep" rgba="{RED}"/></asset><worldbody><body name="l"><freejoint/>
<geom size="0.1" material="deep"/><geom size="0.2" rgba="0 0.2 1 1"/><geom size="0.3"/></body></worldbody></mujoco>""",
}


@needs_browser
@pytest.mark.parametrize("form", COLOURED)
def test_shapes_have_the_colours_of_their_description(form, tmp_path, browser):
    if form == "mjcf":
        pytest.importorskip("mujoco")
    page = rbd.show(COLOURED[form])
    shapes = page.scene.content["shapes"]
    found = [(shape["colour"], shape["opacity"]) if "colour" in shape else None for shape in shapes]
    expected = [("#ff0000", 0.5), ("#0033ff", 1.0), None]
    assert found == expected + ([expected[1], None] if form == "urdf" else [])
    assert any("colour" in reason for reason in page.scene.left_out) == (form == "urdf")
    page.save(tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    drawn = "page.view.parts.shapes.map(shape => shape.children[0].children[0].material)"
    colours = browser.run(f"{drawn}.map(material => [material.color.getHexString(), material.opacity])")
    assert colours[:2] == [["ff0000", 0.5], ["0033ff", 1]] and colours[2] not in colours[:2]
