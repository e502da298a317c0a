# SPDX-License-Identifier: Apache-2.0
"""Whatever a writer changes is said: what is written is read again, and each difference looked for in the warnings."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.models.robots import load_robot, random_tree

import rbd_dynamics as rbd
from rbd_dynamics.formats import mjcf_writer
from rbd_dynamics.model import ModelWarning
from rbd_dynamics.model.model import Model

WRITERS = {"urdf": rbd.model_to_urdf, "sdf": rbd.model_to_sdf, "mjcf": rbd.model_to_mjcf}
BEYOND = 1e16  # what an MJCF has for no limit on one side
OWN = {"mass": 1.0, "com": (0.1, 0.05, 0.02), "inertia": np.eye(3)}
FREE, TURN, SLIDE = rbd.joints.Floating(), rbd.joints.Revolute(), rbd.joints.Prismatic()
ALL = rbd.Limits(lower=-1, upper=1, velocity=2, effort=3, acceleration=4, deceleration=5, jerk=6)


def built(*bodies: tuple) -> Model:
    """Bodies as (name, parent, joint, more)."""
    builder = rbd.ModelBuilder("r")
    for name, parent, joint, *more in bodies:
        builder.add_body(name, parent, joint, **(OWN | (more[0] if more else {})))
    return builder.build()


def with_frames() -> Model:
    builder = rbd.ModelBuilder("frames")
    builder.add_body("a", None, TURN, **OWN)
    builder.add_fixed("tool", "a", placement=(0, 0, 1), mass=0.2)
    builder.add_frame("tip", "tool", placement=(0, 0, 0.1))
    builder.add_frame("camera", None, placement=(1, 0, 0))
    return builder.build()


MODELS = {
    "two that float": lambda: built(
        ("a", None, FREE), ("b", None, FREE, {"joint_name": "loose"}), ("c", "a", TURN), ("d", "b", TURN)
    ),
    "one that floats": lambda: built(("a", None, FREE), ("c", "a", TURN)),
    "by its usual name": lambda: built(("a", None, FREE, {"joint_name": "root_joint"}), ("c", "a", TURN)),
    "limits of what floats": lambda: built(("a", None, FREE, {"limits": ALL}), ("c", "a", TURN)),
    "floats beside others": lambda: built(("c", None, TURN), ("a", None, FREE), ("e", None, TURN)),
    "floats before others": lambda: built(("a", None, FREE), ("c", None, TURN)),
    "breadth first": lambda: built(("a", None, TURN), ("b", "a", TURN), ("c", "a", TURN), ("d", "b", TURN)),
    "limits": lambda: built(
        ("a", None, TURN, {"limits": ALL}),
        ("b", "a", SLIDE, {"limits": rbd.Limits(acceleration=4), "mimic": rbd.Mimic("a_joint", multiplier=2)}),
        ("c", "b", SLIDE, {"limits": rbd.Limits(lower=1)}),
        ("d", "b", TURN, {"limits": rbd.Limits(effort=0)}),
    ),
    "limits of a follower": lambda: built(
        ("a", None, TURN), ("b", "a", SLIDE, {"limits": ALL, "mimic": rbd.Mimic("a_joint", multiplier=2)})
    ),
    "a ball": lambda: built(("a", None, rbd.joints.Spherical(), {"limits": rbd.Limits(velocity=2, effort=3)})),
    "two axes": lambda: built(("a", None, rbd.joints.Universal((1, 0, 0), (0, 1, 0)))),
    "a link called world": lambda: built(("world", None, TURN)),
    "a joint and a link": lambda: built(("a", None, TURN, {"joint_name": "a"}), ("b", "a", TURN)),
    "a drive": lambda: built(("a", None, TURN, {"armature": 0.1, "drive": rbd.Drive(gear_ratio=10, stiffness=100)})),
    "frames": with_frames,
    "a tree": lambda: random_tree(3, 7, ("revolute", "prismatic"), "fixed", 0.4),
    "panda": lambda: load_robot("panda", "fixed"),
    "a flying arm": lambda: load_robot("hextilt_flying_arm_5", "floating"),
}


def differences(model: Model, again: Model) -> set[str]:
    """Names of what is not there, or not the same; "order" where that of the joints is another."""
    found = {body.joint.name for body in model.bodies} - {body.joint.name for body in again.bodies}
    found |= {body.name for body in model.bodies} - {body.name for body in again.bodies}
    links, held = ({f.name for f in model.frames if f.element == element} for element in ("link", "joint"))
    found |= (links - set(again.frame_names)) - {"world"}
    found |= held - set(again.frame_names)
    theirs = {body.joint.name: body.joint for body in again.bodies}
    for joint in (body.joint for body in model.bodies if body.joint.name in theirs):
        other = theirs[joint.name]
        for key in ("lower", "upper", "velocity", "effort", "acceleration", "deceleration", "jerk"):
            one, two = (value if abs(value) < BEYOND else np.copysign(np.inf, value)
                        for value in (getattr(joint.limits, key), getattr(other.limits, key)))  # fmt: skip
            if one != two:
                found.add(joint.name)
        if (joint.drive, joint.mimic) != (other.drive, other.mimic):
            found.add(joint.name)
    common = [body.name for body in model.bodies if any(body.name == other.name for other in again.bodies)]
    if common != [body.name for body in again.bodies if body.name in common]:
        found.add("order")
    return found


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", MODELS)
def test_whatever_a_writer_changes_is_said(name, kind):
    model = MODELS[name]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            text = WRITERS[kind](model, shapes=False)
        except rbd.ModelError as error:
            assert re.search("which no (URDF|SDF)|MuJoCo refuses", str(error))
            return
        said = [str(each.message) for each in caught]
        assert {each.filename for each in caught} <= {__file__}
        floats = any("who loads it has to give base" in each for each in said)
        again = rbd.load(text, **({"base": "floating"} if floats else {}))
    assert again.mass == pytest.approx(model.mass)
    found = differences(model, again)
    missing = {each for each in found - {"order"} if not any(repr(each) in text for text in said)}
    not_named = sum(int(count) for text in said for count in re.findall(r" and (\d+) more", text))
    assert len(missing) <= not_named, f"not said: {missing}, of {said}"
    assert ("order" in found) == any("in another order than the model's" in each for each in said)
    if not found:
        assert all(re.search("who loads it has to give|libsdformat|urdfdom", each) for each in said), said
        assert kind != "mjcf" or not said


# --- polynomials in an MJCF ------------------------------------------------------------------------

FILES = Path(__file__).with_name("mjcf_files")


@pytest.mark.parametrize("name", ["polynomials", "stiffness_and_damping_below_zero"])
def test_polynomial_springs_and_damping_come_back_from_mujoco(name):
    mujoco = pytest.importorskip("mujoco")
    if name == "polynomials" and not hasattr(mujoco.MjModel, "jnt_stiffnesspoly"):
        pytest.skip("polynomials are MuJoCo's since 3.7")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rbd.load(FILES / f"{name}.xml")
        text = rbd.model_to_mjcf(model)
        again = rbd.load(text)
    assert [body.joint.passive for body in again.bodies] == [body.joint.passive for body in model.bodies]
    assert [body.joint.damping for body in again.bodies] == [body.joint.damping for body in model.bodies]
    first, second = mujoco.MjModel.from_xml_path(str(FILES / f"{name}.xml")), mujoco.MjModel.from_xml_string(text)
    for key in ("jnt_stiffness", "jnt_stiffnesspoly", "dof_damping", "dof_dampingpoly"):
        if hasattr(first, key):
            np.testing.assert_array_equal(getattr(second, key), getattr(first, key))


def test_polynomials_are_refused_where_no_mjcf_has_them(monkeypatch):
    def model(joint=TURN, *passive: rbd.PassiveForce) -> Model:
        return built(("a", None, joint, {"passive": passive}))

    springs = [rbd.PolynomialSpring((3.0, 0.0, 2.0), rest=0.1), rbd.PolynomialDamping((0.0, 0.5))]
    with pytest.raises(rbd.ModelError, match=r"joint 'a_joint' has 2 springs, of which an MJCF can say one"):
        rbd.model_to_mjcf(model(TURN, springs[0], rbd.Spring(1.0)))
    with pytest.raises(rbd.ModelError, match=r"joint 'a_joint' has a spring or damping of 4 coefficients, MuJoCo know"):
        rbd.model_to_mjcf(model(TURN, rbd.PolynomialSpring((1.0, 2.0, 3.0, 4.0))))
    with pytest.raises(rbd.ModelError, match=r"joint 'a_joint' floats and has a polynomial damping"):
        rbd.model_to_mjcf(model(FREE, springs[1]))
    written = rbd.model_to_mjcf(model(TURN, rbd.PolynomialSpring((3.0, 0.0, 0.0), rest=0.1)))
    assert 'stiffness="3.0" springref="0.1"' in written
    monkeypatch.setattr(mjcf_writer.importlib.util, "find_spec", lambda name: None)
    with pytest.warns(ModelWarning, match="'a_joint' has a polynomial spring or damping, which MuJoCo reads since"):
        written = rbd.model_to_mjcf(model(TURN, *springs))
    assert 'stiffness="3.0 0.0 2.0"' in written
    assert 'damping="0.0 0.5"' in written
    monkeypatch.undo()
    mujoco = pytest.importorskip("mujoco")
    monkeypatch.setattr(mujoco, "MjModel", object)
    with pytest.raises(rbd.ModelError, match=r"which MuJoCo reads since 3.7; \d.* is installed"):
        rbd.model_to_mjcf(model(TURN, *springs))
