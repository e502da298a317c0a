# SPDX-License-Identifier: Apache-2.0
"""The campaign over model files finds a fault that is planted, and tells who refuses a file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.models.robots import needs_pinocchio

import rbd_dynamics as rbd
from rbd_dynamics.spatial.inertia import RigidInertia

sys.path.append(str(Path(__file__).parents[2]))
judging = pytest.importorskip("campaigns.models.judge")
files = pytest.importorskip("campaigns.models.files")
FILES = Path(__file__).parent / "mjcf_files"


def heavier(path):
    """The same with one more gram on the last body."""
    model = LOAD(path)
    last = model.bodies[-1]
    loaded = last.inertia + RigidInertia.from_com(1e-3, (0.1, 0.05, 0.2), (0.0,) * 6)
    return replace(model, bodies=[*model.bodies[:-1], replace(last, inertia=loaded)])


LOAD = rbd.load


def test_a_fault_in_a_reader_is_found(monkeypatch):
    pytest.importorskip("mujoco")
    path = FILES / "couplings.xml"
    assert judging.judge(path, "MJCF") == ("agree", False, "")
    monkeypatch.setattr(rbd, "load", heavier)
    kind, _, message = judging.judge(path, "MJCF")
    assert kind == "wrong" and "mujoco: mass matrix differs by" in message


@needs_pinocchio
def test_a_urdf_is_compared_with_every_peer(monkeypatch):
    from rbd_dynamics.common.example_robots import robots

    path = robots()["ur5_robot"]
    assert judging.judge(path, "URDF").kind == "agree"
    monkeypatch.setattr(rbd, "load", heavier)
    assert judging.judge(path, "URDF").kind == "wrong"


def test_who_refuses_a_file_is_told(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    path = tmp_path / "bad.xml"
    path.write_text("<mujoco><worldbody><bod/></worldbody></mujoco>")
    assert judging.judge(path, "MJCF").kind == "refused by all"
    path.write_text("<mujoco><worldbody><body><joint armature='-1'/><geom size='1'/></body></worldbody></mujoco>")
    assert judging.judge(path, "MJCF").kind == "refused by us alone"


def test_model_files_are_told_by_their_content():
    found = {file.path.stem: file for file in files.of_folder(FILES, "ours")}
    assert found["flags"] == files.ModelFile("ours", "MJCF", FILES / "flags.xml")
    assert "leg" in found and "lower" not in found
