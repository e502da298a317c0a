# SPDX-License-Identifier: Apache-2.0
"""`preflight` finds what is doubtful, and says nothing about what is fine."""

from __future__ import annotations

import re

import pytest
from helpers.models.arms import CHECKED_ARM as ARM
from helpers.models.robots import random_tree

from rbd_dynamics.model import load_urdf, preflight
from rbd_dynamics.model.checks import singular_joints

#: what is replaced in ARM, by what; severity, culprit and a word of what is found
DOUBTS = {
    "no axis": ('<axis xyz="0 1 0"/>', "", "warning", "joint 'elbow'", "axis"),
    "axis too long": ('<axis xyz="0 1 0"/>', '<axis xyz="0 2 0"/>', "note", "joint 'elbow'", "length 2"),
    "two axes": ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis/>', "warning", "joint 'elbow'", "2 <axis>"),
    "no limit": (r'<limit lower="-2".*?/>', "", "warning", "joint 'shoulder'", "no <limit>"),
    "effort zero": ('effort="10"', 'effort="0"', "warning", "joint 'shoulder'", "effort limit 0"),
    "velocity zero": ('velocity="3"', 'velocity="0"', "warning", "joint 'shoulder'", "velocity limit 0"),
    "cannot move": ('lower="-2" upper="2"', "", "warning", "joint 'shoulder'", "cannot move"),
    "zero outside": ('lower="-2"', 'lower="1"', "note", "joint 'shoulder'", "outside"),
    "degrees": ('lower="-2" upper="2"', 'lower="-90" upper="90"', "warning", "joint 'shoulder'", "rad"),
    "millimetres of travel": ('lower="0" upper="1"', 'lower="0" upper="500"', "warning", "joint 'elbow'", "unit m"),
    "millimetres of length": ('xyz="0 0 0.5"', 'xyz="0 0 500"', "warning", "joint 'shoulder'", "500 m"),
    "centre of mass far": ('xyz="0 0 0.2"', 'xyz="0 0 200"', "warning", "link 'upper'", "200 m"),
    "angle of a placement": ('rpy="0 0.3 0"', 'rpy="0 90 0"', "warning", "joint 'shoulder'", "90 in rpy"),
    "angle of an inertial": ('rpy="0.1 0 0"', 'rpy="-180 0 0"', "warning", "link 'upper'", "-180 in rpy"),
    "hundreds of grams": (r'<mass value="2"/>\s*<inertia.*?/>',
                          '<mass value="700"/><inertia ixx="2e-3" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/>',
                          "warning", "link 'upper'", "denser than any metal"),
    "grams": ('<mass value="2"/>', '<mass value="2000"/>', "warning", "link 'upper'", "2000 kg"),
    "mass tiny": (r'0.3"/><inertia.*?/>', '1e-6"/><inertia ixx="1e-9" ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/>',
                  "warning", "link 'hand'", "1e-06 kg"),
    "inertia large": (r'<inertia ixx="0.02".*?/>', '<inertia ixx="20" ixy="0" ixz="0" iyy="20" iyz="0" izz="20"/>',
                      "warning", "link 'lower'", "gyration"),
    "point mass": (r'<inertia ixx="0.03".*?/>', '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>',
                   "warning", "link 'upper'", "point mass"),
    "inertia without mass": ('<mass value="1"/>', '<mass value="0"/>', "warning", "link 'base'", "no mass"),
    "link between joints without inertia": (r'<link name="lower">.*?</link>', '<link name="lower"/>',
                                            "note", "link 'lower'", "no mass"),
    "mimic": ("</robot>", "</robot>", "note", "joint 'grip'", "grip = 2 * elbow + 0.1"),
    "transmission of two joints": ("</robot>", '<transmission name="t"><joint name="a"/><joint name="b"/><actuator>'
        "<rotorInertia>1</rotorInertia></actuator></transmission></robot>", "warning", "transmission 't'", "several"),
}  # fmt: skip


@pytest.mark.parametrize("old, new, severity, culprit, word", DOUBTS.values(), ids=DOUBTS.keys())
def test_what_is_doubtful_is_found_and_named(old, new, severity, culprit, word):
    text, count = re.subn(old, new, ARM, count=1, flags=re.DOTALL)
    assert count == 1
    found = [finding for finding in preflight(text) if finding.element == culprit and word in str(finding)]
    assert [finding.severity for finding in found] == [severity], preflight(text)
    assert not [finding for finding in preflight(text) if finding.severity == "error"]
    load_urdf(text)


def test_a_slip_hidden_in_what_a_link_is_fixed_to_is_a_warning():
    camera = (
        '<link name="camera"><inertial><mass value="0.01"/>'
        '<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-3"/></inertial></link>'
        '<joint name="mount" type="fixed"><parent link="upper"/><child link="camera"/></joint></robot>'
    )
    findings = preflight(ARM.replace("</robot>", camera))
    assert [(finding.severity, finding.element) for finding in findings if finding.severity != "note"] == [
        ("warning", "link 'camera'")
    ]


def test_a_slip_in_a_moving_body_names_the_link_that_has_it():
    camera = (
        '<link name="camera"><inertial><mass value="0.5"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.5"/></inertial></link>'
        '<joint name="mount" type="fixed"><parent link="hand"/><child link="camera"/></joint></robot>'
    )
    errors = [finding for finding in preflight(ARM.replace("</robot>", camera)) if finding.severity == "error"]
    assert [finding.element for finding in errors] == ["link 'camera'"]


@pytest.mark.parametrize(
    "small, large, severity",
    [
        (1e-4, 4.9 * 2e-4, "warning"),
        (1e-4, 5.1 * 2e-4, "error"),
        (0.02, 0.04 + 0.6 * 0.09**2, "warning"),
        (0.02, 0.04 + 0.6 * 0.11**2, "error"),
    ],
    ids=["four times and more", "five times and more", "9 cm", "11 cm"],
)
def test_an_inertia_that_misses_by_far_is_an_error_else_a_warning(small, large, severity):
    """Five times the sum of the other moments, or 10 cm as a radius of gyration of what is too much (of 0.3 kg)."""
    inertia = f'<inertia ixx="{small}" ixy="0" ixz="0" iyy="{small}" iyz="0" izz="{large}"/>'
    text = re.sub(r'<inertia ixx="0.002".*?/>', inertia, ARM)
    found = [finding for finding in preflight(text) if "no rigid body" in finding.message]
    assert [(finding.element, finding.severity) for finding in found] == [("link 'hand'", severity)]


def test_errors_come_first_and_a_model_can_be_checked_too():
    text = ARM.replace('mass value="2"', 'mass value="-2"').replace("<mimic", "<mimc")
    severities = [finding.severity for finding in preflight(text)]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert preflight(random_tree(1)) == []
    model = load_urdf(ARM)
    assert [finding.element for finding in preflight(model)] == ["joint 'grip'"]
    assert preflight(load_urdf(ARM, joints=[]))[0].message == "has no joint that moves"


def test_joints_that_make_the_mass_matrix_singular_are_named():
    leaf = re.sub(r'<link name="hand">.*?</link>', '<link name="hand"/>', ARM, flags=re.DOTALL)
    leaf = re.sub(r"<mimic.*?/>", "", leaf)
    with pytest.warns(UserWarning, match="grip"):
        assert singular_joints(load_urdf(leaf)) == ["grip"]
    assert singular_joints(load_urdf(ARM)) == []


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_well_posed(seed):
    assert singular_joints(random_tree(seed, n=8, base="floating", mimic=0.4)) == []
