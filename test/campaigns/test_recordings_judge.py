# SPDX-License-Identifier: Apache-2.0
"""The judge of the recordings' campaign hears all that is said, and its oracle tells what efforts can show."""

from __future__ import annotations

import pytest

from campaigns.recordings.case import Case
from campaigns.recordings.judge import judge
from campaigns.recordings.oracle import could_tell
from rbd_dynamics.common.example_robots import robots

pytestmark = pytest.mark.skipif("kinova" not in robots(), reason="needs the arms of example-robot-data")

VERTICAL, LEVEL, UNSAID = Case(211, 24), Case(77, 24), Case(77, 66)


def test_a_zero_about_a_vertical_axis_changes_no_torque():
    """The oracle does not ask for it."""
    for case, told in ((VERTICAL, False), (LEVEL, True)):
        (cause,) = case.causes
        assert cause.name == "joint zero" and could_tell(case, cause) is told


def test_what_a_table_was_taken_for_is_a_claim():
    """Degrees that no column says, and the reader finds."""
    assert [cause.name for cause in UNSAID.causes] == ["degrees"] and not UNSAID.traits["units"]
    verdict = judge(UNSAID)
    assert verdict.injected == {"degrees": (True, True)}
    assert [claim.true for claim in verdict.claims if claim.kind == "degrees"] == [True]


@pytest.mark.parametrize(("case", "joints"), [(Case(77, 0), []), (Case(77, 47), ["left_w2"])])
def test_gravity_that_is_described_wrongly_is_no_offset_and_an_offset_is_one(case, joints):
    """Seen: "mostly an offset" of a shoulder whose upper arm had its centre of mass at the origin."""
    assert ("offset" in [cause.name for cause in case.causes]) is bool(joints)
    claims = judge(case).claims
    assert [claim.text for claim in claims if claim.kind == "mostly offset"] == joints
    assert all(claim.true for claim in claims)
