# SPDX-License-Identifier: Apache-2.0
"""Small MJCF files for the edges of the format: dynamics, passive forces and limits are MuJoCo's, or it is said."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.checks.mujoco_twin import MujocoTwin

import rbd_dynamics as rbd
from rbd_dynamics.formats import check

mujoco = pytest.importorskip("mujoco", reason="MJCF is compiled by mujoco")

FOLDER = Path(__file__).parent / "mjcf_files"
#: {file: (first version of MuJoCo that takes it, what is said of it)}
SAID = {
    "actuators": ("3.1", []),
    "actuators_armature": ("3.7", []),
    "actuators_of_several_controls": ("3.12", []),
    "actuators_of_tendons": ("3.7", ["actuator 'winch': has an armature or damping and drives no joint"]),
    "attach": ("3.3", []),
    "balls": ("3.0", ["joint 'held': is free or a ball and has a spring", "joint 'held': is a ball and has a range"]),
    "couplings": ("3.0", []),
    "couplings_beyond": (
        "3.0",
        [
            "equality 'back': closes a circle of joints that follow 'a'",
            "equality 'again': holds 'b', which another one holds already",
            "equality 'curved': is not linear",
        ],
    ),
    "couplings_to_nothing": ("3.0", ["equality 'bent': has no joint2"]),
    "flags": ("3.0", []),
    "frames": ("3.1", []),
    "free": ("3.0", []),
    "free_rubbing": (
        "3.0",
        [
            "joint 'flying': is free or a ball and has a spring",
            "joint 'flying': is free and has an armature",
            "joint 'flying': is free and has friction",
        ],
    ),
    "gravcomp_of_all": ("3.0", []),
    "gravcomp_of_some": ("3.0", ["body 'upper': has gravity compensation"]),
    "medium": (
        "3.0",
        [f"line 2, mujoco/option: {key!r} of <option> is left out" for key in ("density", "viscosity", "wind")],
    ),
    "mocap": ("3.0", ["body 'target': is moved by motion capture"]),
    "not_used": ("3.0", ["parts/cloth.inc, line 3, mujoco/worldbody/flexcomp[cloth]: <flexcomp> is left out"]),
    "polynomials": ("3.7", []),
    "replicates": ("3.2", []),
    "stiffness_and_damping_below_zero": ("3.0", []),
    "tendons": (
        "3.3",
        [
            "line 2, mujoco/default/tendon: 'stiffness' of <tendon> is left out",
            "line 10, mujoco/tendon/fixed[pull]: 'armature' of <fixed>",
            "line 11, mujoco/tendon/spatial[rope]: 'damping' of <spatial>",
            "line 11, mujoco/tendon/spatial[rope]: 'frictionloss' of <spatial>",
            "line 11, mujoco/tendon/spatial[rope]: 'range' of <spatial>",
            "line 13, mujoco/equality/tendon: <tendon> is left out",
        ],
    ),
    "yield": ("4.0", ["line 3, mujoco/worldbody/body/joint: 'springyield' of <joint> is left out"]),
}
FLAGS = ("constraint", "equality", "frictionloss", "limit", "gravity", "spring", "damper", "passive", "clampctrl")


def number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def loaded(source: str | Path) -> rbd.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rbd.model.ModelWarning)
        return rbd.load(source)


def compare(model: rbd.Model, m, *, whole: bool) -> None:
    """Mass matrix, and bias with all passive forces; dry friction's levels apart, which MuJoCo has as constraints."""
    joints = [body.joint for body in model.bodies]
    bare = replace(model, bodies=[replace(body, joint=replace(body.joint, friction=0.0)) for body in model.bodies])
    robot, twin = rbd.Robot(bare, backend="reference", friction=True), MujocoTwin(model, m, whole=whole)
    for seed in range(3):
        q, v = model.random(seed), np.random.default_rng(seed).normal(size=model.nv)
        M, bias, levels = twin.friction_and_bias(q, v)
        np.testing.assert_allclose(robot.mass_matrix(q), M, rtol=0, atol=1e-13 * np.abs(M).max())
        np.testing.assert_allclose(robot.bias(q, v), bias, rtol=0, atol=1e-13 * max(1.0, np.abs(bias).max()))
    for joint, dof in zip(twin.joints, m.jnt_dofadr):
        assert joint is None or joint.friction == levels[dof]
    assert {joint.name for joint in joints} == {joint.name for joint in twin.joints if joint is not None}


def said(source: str | Path) -> list[str]:
    return [str(finding) for finding in check(source) if finding.defect]


@pytest.mark.parametrize("name", SAID)
def test_a_file_moves_as_in_mujoco_or_says_why_not(name):
    since, expected = SAID[name]
    if number(mujoco.__version__) < number(since):
        pytest.skip(f"needs MuJoCo {since}")
    path = FOLDER / f"{name}.xml"
    found = said(path)
    assert len(found) == len(expected), found
    for text, part in zip(found, expected):
        assert part in text
    compare(loaded(path), mujoco.MjModel.from_xml_path(str(path)), whole=not expected)


def test_a_joint_that_is_held_is_told():
    told = [str(finding) for finding in check(FOLDER / "couplings_to_nothing.xml")]
    for name, held, at in (("hold", "a", "0.4"), ("bent", "b", "0.1")):
        assert any(f"equality '{name}': holds '{held}' at {at}: it is locked there" in text for text in told), told


def test_every_file_has_its_row():
    assert {path.stem for path in FOLDER.glob("*.xml")} == SAID.keys()


@pytest.mark.parametrize("off", FLAGS)
def test_flags_are_obeyed(off):
    """Alone, and with springs and dampers off together, which takes gravity compensation along."""
    text = (FOLDER / "flags.xml").read_text().replace("<flag/>", f'<flag {off}="disable"/>')
    try:
        m = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip(f"this MuJoCo has no flag {off}")
    model = loaded(text)
    assert not said(text)
    held = off not in ("constraint", "equality")
    assert model.nv == (4 if held else 5)
    shoulder = model.joint("shoulder")
    assert np.isfinite(shoulder.limits.upper) == (off not in ("constraint", "limit"))
    assert shoulder.limits.effort == (np.inf if off == "clampctrl" else 3.0)
    compare(model, m, whole=True)
    if off == "spring":
        compare_without_both(text)


def compare_without_both(text: str) -> None:
    both = text.replace("<flag ", '<flag damper="disable" ')
    compare(loaded(both), mujoco.MjModel.from_xml_string(both), whole=True)


@pytest.mark.parametrize(
    ("attribute", "error"),
    [
        ('damping="nan"', "joint 'j': damping is not finite"),
        ('armature="-3"', "joint 'j': armature -3 is negative"),
        ('springref="nan" stiffness="1"', "joint 'j': springref is not finite"),
        ('ref="nan"', "joint 'j': (axis|pos|ref|springref) is not finite"),
    ],
)
def test_numbers_that_mujoco_lets_pass_are_refused(attribute, error):
    text = f"<mujoco><worldbody><body><joint name='j' {attribute}/><geom size='1'/></body></worldbody></mujoco>"
    with pytest.raises(rbd.ModelError, match=error):
        rbd.load(text)


def test_disabled_actuation_is_said():
    text = (FOLDER / "flags.xml").read_text().replace("<flag/>", '<flag actuation="disable"/>')
    assert said(text) == ["option: disables actuation, limits and inertia of actuators are those of actuators that act"]


@pytest.mark.parametrize("name", ["actuators", "actuators_of_several_controls"])
def test_efforts_are_the_largest_that_actuators_reach(name):
    """By what MuJoCo makes of controls beyond all ranges; a tendon, a site and a ball have no effort to limit."""
    if number(mujoco.__version__) < number(SAID[name][0]):
        pytest.skip(f"needs MuJoCo {SAID[name][0]}")
    path = FOLDER / f"{name}.xml"
    model, m = loaded(path), mujoco.MjModel.from_xml_path(str(path))
    d, rng = mujoco.MjData(m), np.random.default_rng(1)
    largest = np.zeros(m.nv)
    for _ in range(300):
        d.qpos[4:] = rng.normal(size=m.nq - 4)
        d.ctrl[:] = rng.choice([-1e6, 1e6], size=m.nu)
        d.act[:] = 0.0
        mujoco.mj_forward(m, d)
        largest = np.maximum(largest, np.abs(d.qfrc_actuator))
    without = {"ball", "by_tendon", "boundless"}
    site = m.site("hand").id if m.nsite else None
    for joint in model.joints:
        if joint.name in without:
            assert joint.limits.effort == np.inf
        else:
            reached = largest[m.joint(joint.name).dofadr[0]]
            np.testing.assert_allclose(joint.limits.effort, reached, atol=0.003 if site is not None else 1e-9)
    told = [
        str(finding) for finding in check(path) if finding.severity == "note" and "largest force" in finding.message
    ]
    assert len(told) == (4 if name == "actuators" else 1)


@pytest.mark.skipif(number(mujoco.__version__) < [3, 2], reason="replicates are new in MuJoCo 3.2")
def test_replicates_keep_mujocos_names():
    model = loaded(FOLDER / "replicates.xml")
    m = mujoco.MjModel.from_xml_path(str(FOLDER / "replicates.xml"))
    assert [body.name for body in model.bodies] == [m.body(k).name for k in range(1, m.nbody)]
    assert model.joint_names == [m.joint(k).name for k in range(m.njnt)] and m.njnt == 6


@pytest.mark.parametrize("counts", [(9_000, 900), (90_000,)])
def test_copies_within_copies_multiply_also_in_included_files(counts, tmp_path):
    inner = "<geom size='1'/>"
    for k, count in enumerate(counts):
        (tmp_path / f"{k}.xml").write_text(
            f"<mujocoinclude><replicate count='{count}' offset='1 0 0'>{inner}</replicate></mujocoinclude>"
        )
        inner = f"<include file='{k}.xml'/>"
    path = tmp_path / "model.xml"
    path.write_text(f"<mujoco><worldbody>{inner}</worldbody></mujoco>")
    with pytest.raises(rbd.ModelError, match=f"ask for {np.prod(counts)} copies, more than 10000"):
        rbd.load(path)
