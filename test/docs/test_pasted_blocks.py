# SPDX-License-Identifier: Apache-2.0
"""Every block of every page is read by what it is for, as it is printed, or by a test that is named here.

Python: test_documentation.py; commands and parameters of nodes: test_commands.py.
"""

from __future__ import annotations

import re
import shutil
import struct
import warnings

import pytest
import yaml
from helpers.models.arms import ARM
from helpers.models.robots import needs_pinocchio, robot_file
from helpers.paths import ROOT
from helpers.recorded.bags import START, Content, Message, needs_rosbags, write_ros2

import rbd_dynamics as rbd
from rbd_dynamics.simulation.scene import load_scene
from rbd_dynamics.trajectories.trajectory_file import read_trajectory

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
#: blocks of other programs' files and languages: (page, language) -> the test that has them
ELSEWHERE = {
    ("export.md", "c"): "export/test_export_c.py::test_what_the_page_calls_is_there",
    ("export.md", "cuda"): "export/test_export_cuda.py::test_nvcc_compiles_what_the_page_calls",
    ("export.md", "cpp"): "export/test_export_c.py::test_what_the_page_calls_is_there",
    ("export.md", "js"): "export/test_export_c.py::test_what_the_page_calls_is_there",
    ("ros2_control.md", "yaml"): "docs/test_ros2_control.py::test_yaml_of_the_page_is_that_of_the_examples",
    ("model_format.md", "toml"): "model/test_joint_kinds.py::test_kinds_of_installed_packages_are_known",
}
FORMULAS = "docs/test_formulas.py::test_formulas_are_whole"
INERTIA = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
LINK = f"<link name='{{}}'><inertial><mass value='1'/>{INERTIA}</inertial></link>"
JOINT = "<joint name='joint_{}' type='continuous'><parent link='base'/><child link='{}'/><axis xyz='0 1 0'/></joint>"


def blocks(*languages):
    """(page, its language, text) of each block; the id names page and line."""
    for page in PAGES:
        text = page.read_text()
        for found in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
            if not languages or found[1] in languages:
                line = text.count("\n", 0, found.start()) + 1
                yield pytest.param(page.name, found[1], found[2], id=f"{page.name}:{line}")


def star(block):
    """A robot that has the frames and the joints, joint_1 ..., that a block names."""
    frames = list(dict.fromkeys(["tool", *re.findall(r"\b(?:frame|reference): (\w+)", block)]))
    joints = "".join(JOINT.format(k, name) for k, name in enumerate(frames, 1))
    return f"<robot name='star'><link name='base'/>{''.join(map(LINK.format, frames))}{joints}</robot>"


@pytest.mark.parametrize(("page", "language"), sorted({block.values[:2] for block in blocks()}))
def test_every_block_is_of_a_language_that_some_test_reads(page, language):
    assert language in ("", "python", "yaml", "xml", "math") or (page, language) in ELSEWHERE


@pytest.mark.parametrize("where", sorted({*ELSEWHERE.values(), FORMULAS}))
def test_tests_that_have_the_others_are_there(where):
    file, _, name = where.partition("::")
    assert f"\ndef {name}(" in (ROOT / "test" / file).read_text()


@pytest.mark.parametrize(("page", "language", "text"), blocks("yaml"))
def test_yaml_is_read_by_what_it_is_for(page, language, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = yaml.safe_load(text)
    if (page, language) in ELSEWHERE or all(
        isinstance(each, dict) and "ros__parameters" in each for each in data.values()
    ):
        return
    if "format" in data:
        assert rbd.load_yaml(text).nv
    elif set(data) == {"joint"}:
        body = {"name": "body", **data, "inertia": {"mass": 1.0}}
        entry = {"format": "rbd_dynamics model", "version": 1, "name": "one", "bodies": [body]}
        assert rbd.load_yaml(yaml.safe_dump(entry)).joint_names == [data["joint"]["name"]]
    else:
        if "collisions" in data:
            pytest.importorskip("coal")
            (tmp_path / "rock.stl").write_bytes(tetrahedron())
        (tmp_path / "robot.urdf").write_text(star(text))
        (tmp_path / "scene.yaml").write_text(text)
        scene = load_scene(tmp_path / "scene.yaml", rbd.load_urdf("robot.urdf"))
        assert scene.constraints is not None or scene.contacts


def tetrahedron():
    """An STL, binary."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    rows = [struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in corners[k]), 0) for face in faces]
    return bytes(80) + struct.pack("<I", len(faces)) + b"".join(rows)


@pytest.mark.parametrize(("page", "language", "text"), blocks("xml"))
def test_xml_is_of_a_description_that_is_read_without_a_word(page, language, text):
    """As an element of a joint, or of the robot."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if text.startswith("<dynamics"):
            (place,) = re.findall(r"<joint name=\"\w+\" type=\"revolute\">", ARM)[:1]
            model = rbd.load_urdf(re.sub(r"<dynamics[^>]*/>", "", ARM).replace(place, place + text, 1))
            assert model.joints[0].drive is not None and model.joints[0].armature == 0.5
        else:
            named = "\n".join(f"frame: {name}" for name in re.findall(r'link="(\w+)"', text))
            (loop,) = rbd.load_urdf(star(named).replace("</robot>", f"{text}</robot>")).loops
            assert loop.name == "closing"


def test_trajectories_without_a_language_are_trajectories(tmp_path):
    texts = [p.values[2] for p in blocks("") if p.values[2].startswith("joint_names:")]
    assert texts
    for text in texts:
        (tmp_path / "motion.yaml").write_text(text)
        assert len(read_trajectory(tmp_path / "motion.yaml").times) >= 2


@needs_pinocchio
@needs_rosbags
def test_the_page_on_replay_runs_on_a_recording(tmp_path, monkeypatch, capsys):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    shutil.copy(robot_file("ur5_robot"), "robot.urdf")
    model = rbd.load_urdf("robot.urdf")
    t, w = np.arange(600) / 100.0, np.linspace(1.0, 2.0, model.nv)
    q, v, a = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -(w**2) * np.sin(np.outer(t, w))
    tau = rbd.Robot(model).inverse_dynamics(q, v, a) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    states = [
        Message(START + round(1e9 * at), tuple(model.joint_names), *rows, START + round(1e9 * at))
        for at, *rows in zip(t, q, v, tau)
    ]
    write_ros2(tmp_path / "bag", Content({"/joint_states": states}))
    names = {}
    (code,) = (p.values[2] for p in blocks("python") if p.values[0] == "replay.md")
    exec(compile(code, "docs/replay.md", "exec", dont_inherit=True), names)
    said = capsys.readouterr().out
    assert all(name in said for name in model.joint_names)
    assert names["found"].payload.mass.value == pytest.approx(0.0, abs=0.1)
