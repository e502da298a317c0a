# SPDX-License-Identifier: Apache-2.0
"""Every bad description gives one clear error that names the culprit, and never another exception."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from helpers.models.arms import CHECKED_ARM as ARM
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbd_dynamics.model import Model, ModelError, ModelWarning, load_urdf, preflight

#: what is replaced in ARM, by what, and words that the message must have
BAD = {
    "xml cut off": ("</robot>", "", ["not well-formed", "line"]),
    "xml tags crossed": ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1">', ["not well-formed", "line"]),
    "root element is not robot": ("robot", "machine", ["<machine>", "<robot>"]),
    "xacro expression left": ('mass value="2"', 'mass value="${m}"', ["'upper'", "${m}", "xacro"]),
    "link without name": ('<link name="base">', "<link>", ["a link", "name"]),
    "link with empty name": ('<link name="base">', '<link name="">', ["a link", "empty", "name"]),
    "duplicate link": ("</robot>", '<link name="lower"/></robot>', ["'lower'", "2 times"]),
    "duplicate joint": ('<joint name="elbow"', '<joint name="shoulder"', ["'shoulder'", "2 times"]),
    "joint without name": ('<joint name="elbow"', "<joint", ["a joint", "name"]),
    "joint without type": ('"elbow" type="prismatic"', '"elbow"', ["'elbow'", "type"]),
    "joint of unknown type": ("prismatic", "telescopic", ["'elbow'", "telescopic"]),
    "joint without parent": ('<parent link="upper"/>', "", ["'elbow'", "<parent>"]),
    "joint without child": ('<child link="lower"/>', "", ["'elbow'", "<child>"]),
    "unknown parent": ('<parent link="upper"/>', '<parent link="uper"/>', ["'elbow'", "'uper'", "parent"]),
    "unknown child": ('<child link="lower"/>', '<child link="lowr"/>', ["'elbow'", "'lowr'", "child"]),
    "two parents": (
        "</robot>",
        '<joint name="extra" type="fixed"><parent link="base"/><child link="hand"/></joint></robot>',
        ["'hand'", "'grip'", "'extra'", "tree"],
    ),
    "two roots": ("</robot>", '<link name="alone"/></robot>', ["'alone'", "'base'", "root"]),
    "loop with the root": ('<parent link="base"/>', '<parent link="hand"/>', ["'shoulder'", "'grip'", "loop"]),
    "loop beside the root": (
        "</robot>",
        '<link name="a"/><link name="b"/>'
        '<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
        ["'ab'", "'ba'", "loop"],
    ),
    "joint from a link to itself": (
        "</robot>",
        '<link name="a"/><joint name="aa" type="fixed"><parent link="a"/><child link="a"/></joint></robot>',
        ["'aa'", "loop"],
    ),
    "mass missing": ('<mass value="2"/>', "", ["'upper'", "<mass>"]),
    "mass without value": ('<mass value="2"/>', "<mass/>", ["'upper'", "value"]),
    "mass empty": ('<mass value="2"/>', '<mass value=""/>', ["'upper'", "value=''"]),
    "mass with a comma": ('<mass value="2"/>', '<mass value="1,5"/>', ["'upper'", "1,5"]),
    "mass not a number": ('<mass value="2"/>', '<mass value="nan"/>', ["'upper'", "nan"]),
    "mass infinite": ('<mass value="2"/>', '<mass value="inf"/>', ["'upper'", "inf"]),
    "mass too large": ('<mass value="2"/>', '<mass value="1e999"/>', ["'upper'", "1e999"]),
    "mass with a unit": ('<mass value="2"/>', '<mass value="2 kg"/>', ["'upper'", "2 kg"]),
    "mass negative": ('<mass value="2"/>', '<mass value="-2"/>', ["'upper'", "negative mass", "-2"]),
    "inertia missing": (
        '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/>',
        "",
        ["'upper'", "<inertia>"],
    ),
    "inertia entry missing": ('iyy="0.03"', "", ["'upper'", "iyy"]),
    "inertia entry no number": ('iyy="0.03"', 'iyy="0.03.1"', ["'upper'", "iyy", "0.03.1"]),
    "inertia negative": ('iyy="0.03"', 'iyy="-0.03"', ["'upper'", "iyy", "negative"]),
    "inertia breaks the triangle inequality": ('iyy="0.03"', 'iyy="3"', ["'upper'", "triangle"]),
    "inertia indefinite": ('ixx="0.03" ixy="0"', 'ixx="0.03" ixy="0.3"', ["'upper'", "negative"]),
    "origin with two numbers": ('xyz="0 0 0.5"', 'xyz="0 0.5"', ["'shoulder'", "3 numbers", "0 0.5"]),
    "origin with commas": ('xyz="0 0 0.5"', 'xyz="0, 0, 0.5"', ["'shoulder'", "0, 0, 0.5"]),
    "rotation with a letter": ('rpy="0 0.3 0"', 'rpy="0 pi 0"', ["'shoulder'", "pi"]),
    "axis zero": ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', ["'elbow'", "axis", "0 0 0"]),
    "axis without xyz": ('<axis xyz="0 1 0"/>', "<axis/>", ["'elbow'", "<axis>", "xyz"]),
    "limits crossed": ('lower="-2" upper="2"', 'lower="2" upper="-2"', ["'shoulder'", "lower", "upper"]),
    "limit no number": ('upper="2"', 'upper="two"', ["'shoulder'", "upper", "two"]),
    "effort negative": ('effort="10"', 'effort="-10"', ["'shoulder'", "effort", "negative"]),
    "damping negative": ('damping="0.1"', 'damping="-0.1"', ["'shoulder'", "damping", "negative"]),
    "friction no number": ('friction="0.2"', 'friction="NaN"', ["'shoulder'", "friction", "NaN"]),
    "mimic without joint": ('<mimic joint="elbow"', "<mimic", ["'grip'", "<mimic>", "joint"]),
    "mimic of itself": ('<mimic joint="elbow"', '<mimic joint="grip"', ["'grip'", "itself"]),
    "mimics in a circle": (
        '<axis xyz="0 1 0"/>',
        '<axis xyz="0 1 0"/><mimic joint="grip"/>',
        ["'grip'", "'elbow'", "itself"],
    ),
    "mimic multiplier": ('multiplier="2"', 'multiplier="x"', ["'grip'", "multiplier", "'x'"]),
    "mimic of a planar joint": ("prismatic", "planar", ["'grip'", "'elbow'", "planar"]),
    "mimic that is floating": ("continuous", "floating", ["'grip'", "floating", "mimic"]),
}


@pytest.mark.parametrize("old, new, words", BAD.values(), ids=BAD.keys())
def test_a_bad_description_gives_one_error_that_names_the_culprit(old, new, words):
    text = ARM.replace(old, new, 1) if old != "robot" else ARM.replace(old, new)
    assert text != ARM
    with pytest.raises(ModelError) as raised:
        load_urdf(text)
    message = str(raised.value)
    for word in words:
        assert word in message
    assert "\n" not in message
    assert len(raised.value.findings) == 1, raised.value.findings
    assert message in {str(finding) for finding in preflight(text) if finding.severity == "error"}


def test_the_description_that_the_bad_ones_are_made_from_is_good():
    assert not [finding for finding in preflight(ARM) if finding.severity != "note"]
    assert load_urdf(ARM, strict=True).joint_names == ["shoulder", "elbow"]


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff"])
def test_an_empty_description_is_refused(text):
    with pytest.raises(ModelError, match="robot description: is empty"):
        load_urdf(text)


def test_a_robot_without_links_is_refused():
    with pytest.raises(ModelError, match="has no link"):
        load_urdf("<robot/>")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"nowhere\.urdf.*No such file"):
        load_urdf(tmp_path / "nowhere.urdf")
    with pytest.raises(ModelError, match="cannot be read"):
        load_urdf(str(tmp_path))
    with pytest.raises(ModelError, match="cannot be read"):
        load_urdf("arm\0.urdf")
    with pytest.raises(ModelError, match="cannot be read"):
        load_urdf("x" * 5000)
    (tmp_path / "empty.urdf").write_text(" ")
    with pytest.raises(ModelError, match=r"empty\.urdf: is empty"):
        load_urdf(tmp_path / "empty.urdf")


def test_all_faults_are_found_at_once_and_the_first_is_reported():
    text = ARM.replace('<mass value="2"/>', '<mass value="-2"/>').replace('upper="2"', 'upper="two"')
    text = text.replace("</robot>", '<link name="alone"/></robot>')
    with pytest.raises(ModelError, match=r"and 2 more") as raised:
        load_urdf(text)
    elements = [finding.element for finding in raised.value.findings]
    assert elements == ["joint 'shoulder'", "link 'alone'", "link 'upper'"]


NO_INERTIA = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
#: what is replaced in ARM, after making "grip" a joint of its own where it is the culprit; the culprit
DEFECTS = {
    "leaf without inertial": (r'<link name="hand">.*?</link>', '<link name="hand"/>', "joint 'grip'"),
    "leaf of zero mass": (r'<mass value="0.3"/><inertia.*?/>', '<mass value="0"/>' + NO_INERTIA, "joint 'grip'"),
    "point mass on the axis": (r'<mass value="0.3"/><inertia.*?/>', '<mass value="1"/>' + NO_INERTIA, "joint 'grip'"),
    "leader unknown": ('joint="elbow"', 'joint="elbo"', "joint 'grip'"),
    "xacro not run": (
        '<robot name="arm">',
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="a" value="1"/>',
        "<xacro:property> .*run xacro on it first",
    ),
    "slip in an inertia": ('izz="0.01"', 'izz="0.08"', "link 'upper'"),
}


@pytest.mark.parametrize("old, new, culprit", DEFECTS.values(), ids=DEFECTS.keys())
def test_a_defect_is_a_warning_and_an_error_when_strict(old, new, culprit):
    free = ARM.replace('<mimic joint="elbow" multiplier="2" offset="0.1"/>', "") if "grip" in culprit else ARM
    text = re.sub(old, new, ARM if "joint=" in old else free, flags=re.DOTALL)
    with pytest.warns(ModelWarning, match=culprit):
        assert isinstance(load_urdf(text), Model)
    with pytest.raises(ModelError, match=culprit) as raised:
        load_urdf(text, strict=True)
    assert len(raised.value.findings) == 1


def test_a_joint_that_turns_what_the_next_turns_already_is_a_defect():
    text = re.sub(r"<inertial>.*?</inertial>", "", ARM.replace("prismatic", "revolute"), count=0, flags=re.DOTALL)
    text = text.replace(' rpy="0 0.3 0"', "").replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>')
    text = re.sub(r"<mimic.*?/>", "", text).replace('<axis xyz="1 0 0"/>', '<axis xyz="0 0 1"/>')
    heavy = '<link name="hand"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    text = text.replace('<link name="hand">', heavy + "</inertial>")
    with pytest.raises(ModelError, match="mass matrix is singular") as raised:
        load_urdf(text, strict=True)
    assert [finding.element for finding in raised.value.findings] == ["joint 'shoulder'", "joint 'elbow'"]


def test_rotor_inertia_makes_up_for_missing_mass():
    text = re.sub(r'<link name="hand">.*?</link>', '<link name="hand"/>', ARM, flags=re.DOTALL)
    text = re.sub(r"<mimic.*?/>", '<dynamics armature="0.01"/>', text)
    assert load_urdf(text, strict=True).nv == 3


OPTIONS = {
    "unknown base": ({"base": "free"}, "base 'free'"),
    "gravity of two numbers": ({"gravity": (0, 1)}, "gravity"),
    "gravity no number": ({"gravity": "down"}, "gravity"),
    "gravity not finite": ({"gravity": (0, 0, np.nan)}, "gravity"),
    "unknown joint kept": ({"joints": ["shoulder", "elbw"]}, "'elbw'.*did you mean 'elbow'"),
    "a string for a list": ({"joints": "shoulder"}, "'shoulder' is a single string"),
    "mimic joint kept": ({"joints": ["grip"]}, "'grip' mimics 'elbow'"),
    "joint kept twice": ({"joints": ["elbow", "elbow"]}, "'elbow' is named twice"),
    "child before parent": ({"joints": ["elbow", "shoulder"]}, "'elbow' stands before 'shoulder'"),
    "kept and locked": ({"joints": ["elbow"], "locked": {"elbow": 1.0}}, "'elbow' is named twice"),
    "unknown joint locked": ({"locked": {"wrist": 0.0}}, "'wrist'"),
    "mimic joint locked": ({"locked": {"grip": 0.0}}, "'grip' mimics 'elbow'"),
    "locked at no number": ({"locked": {"elbow": "up"}}, "'up' of joint 'elbow'"),
    "locked at nan": ({"locked": {"elbow": np.nan}}, "joint 'elbow'"),
    "locked at two numbers": ({"locked": {"elbow": [0.0, 1.0]}}, "joint 'elbow' is not 1 finite"),
    "root joint of a fixed base": ({"locked": {"root_joint": 0.0}}, "'root_joint'"),
    "base locked at a bad quaternion": (
        {"base": "floating", "locked": {"root_joint": [0, 0, 0, 0, 0, 0, 2.0]}},
        "quaternion of joint 'root_joint' has norm 2",
    ),
}


@pytest.mark.parametrize("options, message", OPTIONS.values(), ids=OPTIONS.keys())
def test_a_bad_option_is_named(options, message):
    with pytest.raises(ModelError, match=message):
        load_urdf(ARM, **options)


_TOKENS = [
    "nan", "inf", "-1", "0", "1e400", "1e-300", "1,5", "", "x", "${a}", "base", "upper", "shoulder", "fixed", "planar",
    "floating", "spherical", "mimic", "axis", "inertial", "mass", "é", "\0", "&", "<", '"', "0 0 0", "0 0 1e308",
]  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_is_changed_it_loads_or_raises_a_model_error(data):
    words = re.split(r'([\s"<>/=]+)', ARM)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        change = data.draw(st.sampled_from(["replace", "drop", "repeat", "swap"]))
        if change == "replace":
            words[place] = data.draw(st.sampled_from(_TOKENS))
        elif change == "drop":
            words[place] = ""
        elif change == "repeat":
            words[place] *= 2
        else:
            other = data.draw(st.integers(0, len(words) - 1))
            words[place], words[other] = words[other], words[place]
    text = "".join(words)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        findings = preflight(text)
        for base in ("fixed", "floating"):
            try:
                model = load_urdf(text, base=base)
            except ModelError as error:
                assert str(error).strip()
                assert [finding for finding in findings if finding.severity == "error"] or base == "floating"
            else:
                assert np.all(np.isfinite(model.random(0)))


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_raises_a_model_error(text):
    with pytest.raises(ModelError):
        load_urdf(f"<{text}")
