# SPDX-License-Identifier: Apache-2.0
"""What `load_urdf` makes of each element of a description."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbd_dynamics.model import ModelError, load_urdf, preflight
from rbd_dynamics.model.model import WORLD
from rbd_dynamics.model.passive_forces import Spring

SPHERE = '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def robot(*joints: str, masses: dict[str, float] | None = None, extra: str = "") -> str:
    """A robot of joints "name type parent>child inner elements"; every link weighs 1 kg unless given."""
    names: list[str] = []
    elements = ""
    for joint in joints:
        name, kind, ends, *inner = joint.split(" ", 3)
        parent, child = ends.split(">")
        names += [link for link in (parent, child) if link not in names]
        ends = f'<parent link="{parent}"/><child link="{child}"/>'
        elements += f'<joint name="{name}" type="{kind}">{ends}{"".join(inner)}</joint>'
    for link in names:
        mass = (masses or {}).get(link, 1.0)
        elements += f'<link name="{link}">{SPHERE.format(mass) if mass else ""}</link>'
    return f'<robot name="r">{elements}{extra}</robot>'


Z = '<axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="3" velocity="4"/>'


def test_every_type_of_joint_becomes_its_kind():
    kinds = ["revolute", "continuous", "prismatic", "planar", "floating", "spherical"]
    links = [f"l{k}" for k in range(len(kinds) + 1)]
    text = robot(*(f"{kind} {kind} {a}>{b} {Z}" for kind, a, b in zip(kinds, links, links[1:])))
    model = load_urdf(text)
    assert [joint.kind.name for joint in model.joints] == kinds
    assert (model.nq, model.nv) == (1 + 1 + 1 + 3 + 7 + 4, 1 + 1 + 1 + 3 + 6 + 3)
    assert [joint.q_index for joint in model.joints] == [0, 1, 2, 3, 6, 13]
    assert [joint.v_index for joint in model.joints] == [0, 1, 2, 3, 6, 12]
    assert load_urdf(text.replace('type="spherical"', 'type="ball"')).joints[-1].kind.name == "spherical"


def test_limits_are_read_and_those_of_a_continuous_joint_are_not_for_its_position():
    first, second, third = load_urdf(robot(f"a revolute x>y {Z}", f"b continuous y>z {Z}", "c revolute z>w")).joints
    assert (first.limits.lower, first.limits.upper, first.limits.effort, first.limits.velocity) == (-1, 2, 3, 4)
    assert (second.limits.lower, second.limits.upper) == (-np.inf, np.inf)
    assert (second.limits.effort, second.limits.velocity) == (3, 4)
    assert (third.limits.lower, third.limits.effort) == (-np.inf, np.inf)
    (infinite,) = load_urdf(robot('a prismatic x>y <limit lower="-inf" upper="INF" effort="1e3"/>')).joints
    assert (infinite.limits.lower, infinite.limits.upper, infinite.limits.velocity) == (-np.inf, np.inf, np.inf)


def test_the_axis_is_normalised_and_x_by_default():
    a, b = load_urdf(robot('a revolute x>y <axis xyz="0 3 4"/>', "b revolute y>z")).joints
    np.testing.assert_allclose(a.kind.axis, [0, 0.6, 0.8], atol=1e-15)
    assert b.kind.axis == (1.0, 0.0, 0.0)


def test_branches_come_depth_first_in_the_order_of_the_file():
    text = robot("b revolute x>y", "a revolute x>z", "d fixed y>u", "c revolute u>v", "e revolute y>w")
    assert load_urdf(text).joint_names == ["b", "c", "e", "a"]
    assert load_urdf(text, joints=["a", "b", "e"]).joint_names == ["a", "b", "e"]


def test_fixed_links_merge_and_no_mass_is_lost():
    masses = {"x": 1.0, "flange": 2.0, "y": 4.0, "tool": 8.0, "tip": 16.0}
    offset = '<origin xyz="0 0 1" rpy="0 0 1.5"/>'
    text = robot("f fixed x>flange", "a revolute flange>y", f"g fixed y>tool {offset}", f"h fixed tool>tip {offset}",
                 masses=masses)  # fmt: skip
    model = load_urdf(text)
    assert model.body_names == ["y"]
    assert model.fixed_inertia.mass == 3.0
    assert model.bodies[0].inertia.mass == 28.0
    np.testing.assert_allclose(model.bodies[0].inertia.moment, [0, 0, 8 * 1 + 16 * 2], atol=1e-15)
    assert model.frame("tip").body == 0
    np.testing.assert_allclose(model.frame("tip").placement.p, [0, 0, 2])
    assert model.frame("h").placement == model.frame("tip").placement
    assert model.frame("flange").body == WORLD
    floating = load_urdf(text, base="floating")
    assert floating.joint_names == ["root_joint", "a"]
    assert floating.body_names == ["x", "y"]
    assert floating.bodies[0].inertia.mass == 3.0
    assert floating.fixed_inertia.mass == 0.0
    assert floating.mass == model.mass == 31.0
    assert (floating.base, model.base) == ("floating", "fixed")


def test_a_floating_base_stays_free_and_comes_first_unless_it_is_locked():
    text = robot("a revolute x>y", "b revolute y>z")
    assert load_urdf(text, base="floating", joints=["b"]).joint_names == ["root_joint", "b"]
    assert load_urdf(text, base="floating", joints=["root_joint", "b"]).joint_names == ["root_joint", "b"]
    pose = [1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8]
    standing = load_urdf(text, base="floating", locked={"root_joint": pose})
    assert (standing.joint_names, standing.base) == (["a", "b"], "fixed")
    np.testing.assert_allclose(standing.frame("x").placement.p, [1, 2, 3])
    assert load_urdf(robot("root_joint revolute x>y", "b revolute y>z"), joints=["b"]).joint_names == ["b"]


def test_mimic_joints_follow_through_chains_and_to_joints_later_in_the_file():
    def mimic(leader: str, multiplier: float, offset: float) -> str:
        return f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'

    text = robot(
        "a revolute x>y " + mimic("b", 2, 0.5),
        "b revolute x>z " + mimic("c", -3, 0.25),
        "c revolute x>w",
        "d revolute w>v " + mimic("a", 1, 0),
    )
    model = load_urdf(text)
    assert (model.joint_names, model.nq, model.nv) == (["c"], 1, 1)
    rules = {body.joint.name: body.joint.mimic for body in model.bodies}
    assert (rules["a"].leader, rules["a"].multiplier, rules["a"].offset) == ("c", -6.0, 1.0)
    assert (rules["b"].leader, rules["b"].multiplier, rules["b"].offset) == ("c", -3.0, 0.25)
    assert (rules["d"].leader, rules["d"].multiplier, rules["d"].offset) == ("c", -6.0, 1.0)
    assert rules["c"] is None
    locked = load_urdf(text, locked={"c": 0.1})
    assert locked.bodies == ()
    alone = load_urdf(robot("b revolute x>z <origin rpy='0.4 0 0'/>"))  # 0.4 = -6 * 0.1 + 1.0
    np.testing.assert_allclose(locked.frame("y").placement.rotation, alone.bodies[0].placement.rotation, atol=1e-15)
    assert load_urdf(text, joints=[]).bodies == ()


def test_a_mimic_of_a_fixed_joint_or_with_multiplier_zero_is_fixed_at_its_offset():
    text = robot("f fixed x>y", 'a prismatic y>z <mimic joint="f" multiplier="3" offset="0.5"/>', "b revolute z>w",
                 'c prismatic w>v <mimic joint="b" multiplier="0" offset="0.25"/>')  # fmt: skip
    model = load_urdf(text)
    assert model.joint_names == ["b"]
    np.testing.assert_allclose(model.bodies[0].placement.p, [0.5, 0, 0])
    np.testing.assert_allclose(model.frame("v").placement.p, [0.25, 0, 0])


def test_locked_joints_stay_where_they_are_put_and_others_at_zero():
    text = robot("a prismatic x>y " + Z.replace("-1", "0.5"), "b prismatic y>z " + Z, "c revolute z>w " + Z)
    model = load_urdf(text, joints=["c"], locked={"b": 0.25})
    np.testing.assert_allclose(model.bodies[0].placement.p, [0, 0, 0.25])  # a at 0, though its limits start at 0.5
    assert model.fixed_inertia.mass == 3.0


@pytest.mark.parametrize(
    "dynamics, transmission, expected",
    [
        ("<dynamics/>", "", 0.0),
        ('<dynamics armature="0.25"/>', "", 0.25),
        ('<dynamics rotor_inertia="1e-4" gear_ratio="100"/>', "", 1.0),
        ('<dynamics rotorInertia="0.5"/>', "", 0.5),
        ("", "<actuator><rotorInertia>2</rotorInertia><mechanicalReduction>3</mechanicalReduction></actuator>", 18),
        ("", '<actuator name="m"><d:rotor_inertia value="1e-4"/><d:gear_ratio value="-50"/></actuator>', 0.25),
        ("", '<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>', 0.0),
        ('<dynamics armature="2"/>', '<actuator name="m"><rotorInertia>1</rotorInertia></actuator>', 2.0),
        ("", '<joint name="b"/><actuator name="m"><rotorInertia>1</rotorInertia></actuator>', 0.0),
    ],
)  # fmt: skip
def test_rotor_inertia_is_read_where_it_is_given(dynamics, transmission, expected):
    extra = f'<transmission name="t"><joint name="a"/>{transmission}</transmission>' if transmission else ""
    text = robot(f"a revolute x>y {dynamics}", "b revolute y>z", extra=extra)
    text = text.replace('<robot name="r">', '<robot name="r" xmlns:d="http://drake.mit.edu">')
    model = load_urdf(text)
    assert model.joint("a").armature == pytest.approx(expected)
    assert model.joint("b").armature == 0.0


def test_damping_and_friction_are_read():
    (joint,) = load_urdf(robot('a revolute x>y <dynamics damping="0.1" friction="0.2" K="7"/>')).joints
    assert (joint.damping, joint.friction) == (0.1, 0.2)


def test_what_dynamics_does_not_need_is_passed_over():
    junk = (
        "<material/><gazebo><a/></gazebo><transmission/><ros2_control name='x'><joint name='a'/></ros2_control>"
        "<sensor name='s' update_rate='x'/><!-- ${comment} --><group><link/></group>"
    )
    text = robot("a revolute x>y <safety_controller/><calibration rising='x'/>", extra=junk)
    text = text.replace("<inertial>", "<visual><geometry/></visual><collision/><inertial>")
    assert not [finding for finding in preflight(text) if finding.severity == "error"]
    assert load_urdf(text).joint_names == ["a"]


def test_the_robots_name_may_be_missing_and_tags_may_have_a_namespace():
    text = robot("a revolute x>y")
    assert load_urdf(text).name == "r"
    assert load_urdf(text.replace(' name="r"', "")).name == "robot"
    assert load_urdf(text.replace("<robot", '<robot xmlns="http://www.ros.org"')).joint_names == ["a"]


def test_it_reads_paths_and_text_in_any_encoding(tmp_path: Path):
    text = robot("drehgelenk_ä revolute x>y")
    file = tmp_path / "r.urdf"
    file.write_bytes(('<?xml version="1.0" encoding="latin-1"?>\n' + text).encode("latin-1"))
    for source in (file, str(file), text, "\ufeff\n" + text, '<?xml version="1.0" encoding="utf-8"?>' + text):
        assert load_urdf(source).joint_names == ["drehgelenk_ä"]


@pytest.mark.parametrize("quarter", [np.pi / 2, 1.57079632679, 1.5707963267948966])
def test_rotations_by_quarter_turns_have_exact_zeros(quarter):
    model = load_urdf(robot(f'a revolute x>y <origin rpy="{quarter} 0 {-quarter}"/>'))
    assert sorted(map(abs, model.bodies[0].placement.rotation)) == [0.0] * 6 + [1.0] * 3


def test_an_angle_near_a_quarter_turn_is_left_alone():
    model = load_urdf(robot('a revolute x>y <origin rpy="1.5708 0 0"/>'))
    assert model.bodies[0].placement.rotation[4] == pytest.approx(np.cos(1.5708), rel=1e-9)


def test_a_long_chain_needs_no_recursion():
    model = load_urdf(robot(*(f"j{k} revolute l{k}>l{k + 1}" for k in range(100)), *(
        f"f{k} fixed l{k}>l{k + 1}" for k in range(100, 3000))))  # fmt: skip
    assert model.nv == 100
    assert len(model.frames) == 3001 + 3000
    assert model.mass == 3001.0


def test_looking_up_an_unknown_name_tells_near_ones():
    model = load_urdf(robot("elbow revolute x>forearm"))
    with pytest.raises(KeyError, match="did you mean 'forearm'"):
        model.frame("foream")
    with pytest.raises(KeyError, match="did you mean 'elbow'"):
        model.joint("elbo")


def test_springs_have_the_names_of_sdformat():
    text = robot('a revolute x>y <dynamics spring_stiffness="20" spring_reference="0.1"/>')
    (joint,) = load_urdf(text).joints
    assert joint.passive == (Spring(20.0, rest=0.1),)
    for wrong, message in (
        ('spring_stiffness="-1"', "negative"),
        ('spring_stiffness="nan"', "not a finite number"),
        ('spring_stiffness="20" spring_reference="1e999"', "not finite"),
    ):
        with pytest.raises(ModelError, match=f"joint 'a'.*{message}"):
            load_urdf(robot(f"a revolute x>y <dynamics {wrong}/>"))
    with pytest.raises(ModelError, match="joint 'a'.*is planar, which cannot have a spring"):
        load_urdf(robot('a planar x>y <dynamics spring_stiffness="20"/>'))
