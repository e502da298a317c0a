# SPDX-License-Identifier: Apache-2.0
"""MJCF against MuJoCo itself: mass matrix, bias and forward dynamics; what becomes of what MuJoCo has beside them."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.checks.mujoco_twin import MujocoTwin

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, loop_constraints

mujoco = pytest.importorskip("mujoco", reason="MJCF is compiled by mujoco")

MACHINE = """<mujoco model="machine"><option gravity="0.3 -0.2 -9.5"/>
  <worldbody>
    <body name="stand" pos="0.1 0.2 0.3" euler="10 20 30"><geom type="box" size="0.1 0.2 0.3"/>
      <body name="arm" pos="0.2 0 0.1" quat="0.8 0 0.6 0">
        <joint name="shift" type="slide" axis="1 2 2" ref="0.05" armature="0.2" range="-0.5 0.7" stiffness="40"
          springref="0.1"/>
        <joint name="yaw" axis="0 0 1" pos="0.03 -0.02 0.05" ref="20" stiffness="5" springref="-15" damping="0.3"
          frictionloss="0.4"/>
        <joint name="pitch" axis="0 1 0.5" pos="-0.1 0 0.2" armature="0.03" range="-90 45"/>
        <geom type="capsule" size="0.04 0.2" pos="0.1 0 0" euler="0 70 0"/><site name="tool" pos="0.1 0.2 0.3"/>
        <body name="tip" pos="0 0.3 0"><joint name="wrist" type="ball" pos="0.02 0.03 0.04" armature="0.01"/>
          <geom type="box" size="0.05 0.1 0.02" pos="0.1 0 0" euler="5 6 7"/>
          <body name="pod" pos="0.1 0.1 0"><joint axis="1 0 0"/><geom type="sphere" size="0.05" pos="0 0.1 0"/>
            <body pos="0 0 0.1"><geom type="sphere" size="0.03"/></body></body>
        </body>
        <body name="plate" pos="0 -0.3 0"><geom type="box" size="0.1 0.1 0.01"/></body>
      </body>
    </body>
    <body name="drone" pos="1 2 3"><freejoint name="flying"/><geom type="box" size="0.2 0.1 0.05" pos="0.1 0 0"/>
      <body name="leg" pos="0.1 0 0"><joint name="hip" axis="0 1 0"/><geom type="capsule" size="0.02 0.1"/></body>
    </body>
  </worldbody>
  <equality><joint joint1="hip" joint2="yaw" polycoef="0.1 -2 0 0 0"/></equality>
  <actuator><motor joint="pitch" gear="3" ctrlrange="-2 1.5"/>
    <position joint="yaw" kp="100" forcerange="-7 9" gear="2"/></actuator></mujoco>"""


def compare(model: rbd.Model, m, seed: int = 1) -> None:
    """To 1e-12 of the largest entry."""
    robot, twin = rbd.Robot(model, backend="reference"), MujocoTwin(model, m)
    q, v = model.random(seed), np.random.default_rng(seed).normal(size=model.nv)
    M, bias = twin.mass_matrix_and_bias(q, v)
    np.testing.assert_allclose(robot.mass_matrix(q), M, rtol=0, atol=1e-12 * np.abs(M).max())
    np.testing.assert_allclose(robot.bias(q, v), bias, rtol=0, atol=1e-12 * max(1.0, np.abs(bias).max()))
    tau = np.random.default_rng(seed + 1).normal(size=model.nv)
    expected = np.linalg.solve(M, tau - bias)
    tolerance = 1e-13 * np.linalg.cond(M) * np.abs(expected).max()
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-10, atol=tolerance)


@pytest.fixture(scope="module")
def machine() -> rbd.Model:
    return rbd.load(MACHINE)


def test_every_joint_moves_as_in_mujoco(machine):
    assert machine.joint_names == ["shift", "yaw", "pitch", "wrist", "pod_joint", "flying"]
    assert machine.base == "floating"
    assert machine.gravity == (0.3, -0.2, -9.5)
    m = mujoco.MjModel.from_xml_string(MACHINE)
    for seed in range(3):
        compare(machine, m, seed)


def test_bodies_and_sites_are_where_mujoco_has_them(machine):
    m = mujoco.MjModel.from_xml_string(MACHINE)
    twin, robot = MujocoTwin(machine, m), rbd.Robot(machine, backend="reference")
    q = machine.random(4)
    twin.move(q, np.zeros(machine.nv))
    for name in ("stand", "arm", "tip", "plate", "drone", "leg"):
        pose = robot.pose(q, name)
        np.testing.assert_allclose(pose[:3, 3], twin.d.body(name).xpos, atol=1e-14)
        np.testing.assert_allclose(pose[:3, :3].ravel(), twin.d.body(name).xmat, atol=1e-14)
    np.testing.assert_allclose(robot.pose(q, "tool")[:3, 3], twin.d.site("tool").xpos, atol=1e-14)


def test_limits_friction_and_actuators_are_kept(machine):
    joint = machine.joint("pitch")
    np.testing.assert_allclose([joint.limits.lower, joint.limits.upper], [-np.pi / 2, np.pi / 4])
    assert joint.limits.effort == 6.0  # 3 times the larger end of the control range
    assert (joint.armature, joint.damping) == (0.03, 0.0)
    joint = machine.joint("yaw")
    assert (joint.limits.effort, joint.damping, joint.friction) == (18.0, 0.3, 0.4)
    assert machine.joint("shift").limits.lower == -0.5
    leg = next(body.joint for body in machine.bodies if body.joint.name == "hip")
    assert leg.mimic.leader == "yaw"
    np.testing.assert_allclose(leg.mimic.offset, 0.1 + 2.0 * np.deg2rad(20.0))


@pytest.mark.parametrize(("own", "effort"), [("-4 5", 5.0), ("-40 30", 6.0)])
def test_the_effort_limit_is_the_least_of_joint_and_actuator(own, effort):
    """Also where no actuator limits it."""
    text = MACHINE.replace('<joint name="pitch"', f'<joint name="pitch" actuatorfrcrange="{own}"')
    assert text != MACHINE
    assert rbd.load(text).joint("pitch").limits.effort == effort
    free = text.replace(' ctrlrange="-2 1.5"', "")
    assert rbd.load(free).joint("pitch").limits.effort == max(abs(float(x)) for x in own.split())


LOOPS = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
    <body name="a"><joint name="one" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
      <body name="b" pos="0.3 0 0"><joint name="two" axis="0 1 0"/><joint name="three" axis="0 0 1"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0.1 0"/></body></body>
    <body name="c" pos="0.6 0.2 0.1" euler="0 0 30"><freejoint name="four"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body>
  </worldbody><equality>{}</equality></mujoco>"""


@pytest.mark.parametrize(
    "equality",
    [
        '<connect name="held" body1="b" body2="c" anchor="0.1 0.2 0.05"/>',
        '<connect name="held" body1="b" anchor="0.1 0.2 0.05"/>',
        '<weld name="held" body1="b" body2="c" anchor="0.1 0.1 0.3"/>',
        '<weld name="held" body1="c" body2="b" relpose="0.1 0.2 0.3 0.8 0 0.6 0" anchor="0.1 0.1 0.3"/>',
        '<weld name="held" body1="c"/>',
        '<weld name="held" body1="c" body2="b" anchor="0.1 0.1 0.3" torquescale="0"/>',
        '<weld name="held" body1="b" body2="c" relpose="0.1 0.2 0.3 0.8 0 0.6 0" torquescale="0"/>',
    ],
)
def test_connect_and_weld_are_loops(equality):
    are_the_same_loop(LOOPS.format(equality))


@pytest.mark.skipif(not hasattr(mujoco.MjModel, "eq_objtype"), reason="equalities of sites are new in MuJoCo 3.2")
@pytest.mark.parametrize("equality", ["connect", "weld", "weld torquescale='0'"])
def test_sites_are_held_to_each_other(equality):
    sites = {body: f'<body name="{body}" pos' for body in "bc"}
    text = LOOPS.format(f'<{equality} name="held" site1="at_b" site2="at_c"/>')
    for body, start in sites.items():
        tag = text[text.index(start) : text.index(">", text.index(start)) + 1]
        text = text.replace(tag, f'{tag}<site name="at_{body}" pos="0.1 0.2 0.05" euler="10 20 30"/>')
    are_the_same_loop(text)


def are_the_same_loop(text):
    """Their rows span the same space as MuJoCo's Jacobian, where both are zero; so is MuJoCo's residual."""
    model, m = rbd.load(text), mujoco.MjModel.from_xml_string(text)
    held = ConstraintSet(model, loop_constraints(model))
    assert held.constraints[0].name == "held"
    robot, twin = rbd.Robot(model, backend="reference"), MujocoTwin(model, m)
    q = robot.project_configuration(model.integrate(model.neutral(), 0.1 * np.arange(1, 10)), held)
    G, _ = twin.move(q, np.zeros(9))
    count, rows = len(held), 6 if "<weld" in text else 3
    np.testing.assert_allclose(twin.d.efc_pos[:count], 0.0, atol=1e-9)
    theirs = np.array(twin.d.efc_J).reshape(-1, 9)[:rows] @ G
    ours = robot.constraint_rows(q, np.zeros(9), held)[1]
    ranks = [np.linalg.matrix_rank(rows, tol=1e-7) for rows in (ours, theirs, np.vstack([ours, theirs]))]
    assert ranks == [count] * 3


def test_an_equality_that_is_not_active_holds_nothing():
    off = ("connect body1='b' body2='c' anchor='0 0 0'", "weld body1='c'", "joint joint1='two' joint2='one'")
    model = rbd.load(LOOPS.format("".join(f"<{each} active='false'/>" for each in (*off, "joint joint1='three'"))))
    assert model.joint_names == ["one", "two", "three", "four"] and not model.loops
    assert not any(joint.mimic for joint in model.joints)


def test_softness_of_limits_is_no_defect():
    text = MACHINE.replace('axis="1 2 2"', 'axis="1 2 2" solreflimit="0.02 1"')
    assert text != MACHINE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rbd.load(text, strict=True)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("<mujoco><worldbody><body/></mujoco>", "not well-formed XML: mismatched tag at line 1"),
        ("<mujoco><worldbody><bod/></worldbody></mujoco>", "robot description: MuJoCo: .*bod"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><mujoco/>", "has a document type"),
        (
            '<mujoco><worldbody><replicate count="3000"><replicate count="3000"><geom size="1"/></replicate>'
            "</replicate></worldbody></mujoco>",
            "ask for 9000000 copies, more than 10000",
        ),
    ],
)
def test_what_cannot_be_compiled_is_one_error(text, error):
    with pytest.raises(rbd.ModelError, match=error):
        rbd.load(text)


def test_a_base_is_what_the_file_says():
    with pytest.raises(rbd.ModelError, match="`base` is not for it"):
        rbd.load(MACHINE, base="fixed")


def test_warnings_of_mujoco_are_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = mujoco.get_mju_user_warning()
    rbd.load(MACHINE.replace("<option", '<compiler settotalmass="3"/><option'))
    assert not list(tmp_path.iterdir())
    assert mujoco.get_mju_user_warning() is before


def _published() -> list[Path]:
    """The models of gymnasium, and some of dm_control, where they are installed: neither is imported."""
    found: list[Path] = []
    chosen = ("acrobot", "finger", "fish", "humanoid", "manipulator", "quadruped", "walker", "cheetah")
    for package, folder, names in (("gymnasium", "envs/mujoco/assets", None), ("dm_control", "suite", chosen)):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            files = sorted(Path(spec.submodule_search_locations[0], folder).glob("*.xml"))
            found += [file for file in files if names is None or file.stem in names]
    return found


@pytest.mark.parametrize("path", _published(), ids=lambda path: f"{path.parents[1].name}/{path.stem}")
def test_published_models_agree_with_mujoco(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rbd.load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    compare(model, m)


def test_names_need_not_be_utf_8(tmp_path):
    file = tmp_path / "names.xml"
    text = (
        '<mujoco><worldbody><body name="größe"><joint name="ä"/><geom size=".1"/><site name="ü"/></body></worldbody>'
        '<actuator><motor name="é" joint="ä"/></actuator></mujoco>'
    )
    file.write_bytes(text.encode("latin-1"))
    with pytest.warns(rbd.model.ModelWarning, match="taken for Latin-1"):
        model = rbd.load(file)
    assert model.joint_names == ["ä"] and {"größe", "ü"} <= set(model.frame_names)
