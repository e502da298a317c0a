# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/tuning.md are what the library gives, and a posture's limit is that of the simulation."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.models.robots import needs_pinocchio
from helpers.paths import ROOT

import rbd_dynamics as rbd
from rbd_dynamics.actuators import with_motors
from rbd_dynamics.control import Timing, joint_gains
from rbd_dynamics.control.safety.closed_loop import growth_rate

TEXT = (ROOT / "docs" / "tuning.md").read_text()
POSTURES = {"ur5": [0.0, -2.2, 2.0, -1.4, -1.57, 0.0], "panda": [0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8]}
pytestmark = needs_pinocchio


@pytest.fixture(scope="module")
def page():
    """What the page defines, and its two arms as `robots`."""
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
    for block in blocks:
        if "assert" not in block:
            exec(compile(block, "docs/tuning.md", "exec", dont_inherit=True), names)
    definitions = next(block for block in blocks if "def errors(" in block).split("\nhome =")[0]
    exec(compile(definitions, "docs/tuning.md", "exec", dont_inherit=True), names)
    ur5 = rbd.load("ur5")
    geared = with_motors(ur5, dict.fromkeys(ur5.joint_names, names["motor"]))
    return names | {"robots": {"panda": names["robot"], "ur5": rbd.Robot(geared)}}


def rows(start):
    """Numbers of the table's rows that begin so; no number is 0."""
    found = re.findall(rf"^\| {start}.*\|$", TEXT, re.M)
    assert found
    return [[float(x) for x in re.findall(r"\d+\.?\d*", row.replace("no lag", "0"))] for row in found]


def test_the_table_of_rates_is_what_the_library_finds(page):
    assert len(rows(r"\d+ Hz")) == 8
    for rate, late, bandwidth, *stated in rows(r"\d+ Hz")[::3]:
        timing = Timing(1.0 / rate, 1e-3 * late, bandwidth)
        arms = [joint_gains(page["robots"][name], timing) for name in ("panda", "ur5")]
        found = [number for each in arms for number in (each.bandwidth, each.kp[1], each.kp[-1])]
        found.append(joint_gains(page["robots"]["ur5"], timing, computed_torque=True).bandwidth)
        assert np.all(np.abs(np.subtract(found, stated)) < [0.01, 1.0, 1.0, 0.01, 1.0, 1.0, 0.1]), (rate, late, found)


def test_the_gains_of_the_table_are_those_of_the_code(page):
    np.testing.assert_allclose(rows("kp, N m/rad")[0], page["kp"], atol=1.0)
    np.testing.assert_allclose(rows("kd, N m s/rad")[0], page["kd"], atol=0.1)


@pytest.mark.parametrize("law", ["feedforward", "computed_torque"])
@pytest.mark.parametrize("name", sorted(POSTURES))
@pytest.mark.parametrize("timing", [Timing(1e-3, 1e-3, 100.0), Timing(2e-3, 4e-3, 30.0)])
def test_the_limit_is_where_the_simulation_has_it(page, name, law, timing):
    robot, q = page["robots"][name], np.array(POSTURES[name])
    gains = joint_gains(robot, timing, computed_torque=law == "computed_torque")
    M = robot.mass_matrix(q)
    times = M if law == "computed_torque" else np.eye(len(q))

    def grows(share):
        return growth_rate(M, share**2 * times * gains.kp, share * times * gains.kd, timing) > 0.0

    low, high = 1.0, 20.0
    assert not grows(low) and grows(high)
    while high / low > 1.001:
        share = np.sqrt(low * high)
        low, high = (low, share) if grows(share) else (share, high)
    evaluate_at = "desired" if law == "feedforward" else "measured"
    reached = []
    for share in (0.9 * low, (1.1 if law == "computed_torque" else 1.2) * low):
        pd = {"kp": share**2 * gains.kp, "kd": share * gains.kd}
        off = page["errors"](robot, q, **pd, timing=timing, size=1e-6, seconds=0.6, law=law, evaluate_at=evaluate_at)
        middle = len(off) // 2
        reached.append(np.abs(off[-50:]).max() / np.abs(off[middle - 50 : middle]).max())
    assert reached[0] < 0.5 and reached[1] > 2.0, reached
