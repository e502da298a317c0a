# SPDX-License-Identifier: Apache-2.0
"""`check` says which numbers look like degrees, millimetres or grams; loading does not mind."""

from __future__ import annotations

import warnings

import pytest
from helpers.robots import ROBOTS, robot_file

from rbd_dynamics import load_urdf
from rbd_dynamics.formats import check

ROBOT = """<robot name="arm"><link name="base"/><joint name="elbow" type="revolute"><parent link="base"/>
<child link="arm"/><origin xyz="0 0 0.3" rpy="0 1.5708 0"/><axis xyz="0 0 1"/>
<limit lower="-3.1" upper="3.1" effort="10" velocity="2"/></joint><link name="arm"><inertial>
<origin xyz="0 0 0.1" rpy="0 0 3.14"/><mass value="0.9"/><inertia ixx="0.004" iyy="0.004" izz="0.002" ixy="0" ixz="0"
iyz="0"/></inertial></link></robot>"""
HINTS = ("radians", "metres", "kg m^2")


def slips(text):
    found = [finding for finding in check(text) if any(hint in finding.hint for hint in HINTS)]
    assert all(finding.severity == "warning" for finding in found)
    return [f"{finding.element} {finding.message} ({finding.hint})" for finding in found]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('lower="-3.1"', 'lower="-178"', "joint 'elbow' has the limit lower=-178 (limits are in radians)"),
        ('upper="3.1"', 'upper="178"', "joint 'elbow' has the limit upper=178 (limits are in radians)"),
        ("0 1.5708 0", "0 90 0", "joint 'elbow' <origin> has the angle 90 in rpy (angles are in radians)"),
        ("0 0 3.14", "0 0 -180", "link 'arm' <origin> has the angle -180 in rpy (angles are in radians)"),
        ('xyz="0 0 0.3"', 'xyz="0 0 300"', "joint 'elbow' is 300 m from its parent link (lengths are in metres)"),
        ('xyz="0 0 0.1"', 'xyz="0 0 110"', "link 'arm' has its centre of mass 110 m away (lengths are in metres)"),
        (
            '"0.9"',
            '"900"',
            "link 'arm' weighs 900 kg and has the moments of inertia of a body of 4.7 mm: denser than any metal "
            "(masses are in kg, moments of inertia in kg m^2)",
        ),
        (
            'ixx="0.004" iyy="0.004" izz="0.002"',
            'ixx="4000" iyy="4000" izz="2000"',
            "link 'arm' has the moments of inertia of a body of 149 m (they are in kg m^2, about the centre of mass)",
        ),
    ],
)
def test_what_looks_like_another_unit_is_named(right, wrong, said):
    assert not slips(ROBOT)
    assert right in ROBOT
    text = ROBOT.replace(right, wrong)
    assert slips(text) == [said]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_urdf(text)


def test_large_limits_stand_for_none_and_many_turns_are_turns():
    for limit in ("1e16", "18.8", "3600"):
        assert not slips(ROBOT.replace('upper="3.1"', f'upper="{limit}"'))


@pytest.mark.parametrize("name", ROBOTS)
def test_no_robot_of_the_world_looks_like_it(name):
    assert not slips(str(robot_file(name)))
