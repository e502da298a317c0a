# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/tuning.md are what its own code gives, and its limit is that of the simulation, on both arms."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.linalg
from helpers.models.robots import needs_pinocchio
from helpers.paths import ROOT

import rbd_dynamics as rbd
from rbd_dynamics.actuators import with_motors

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


def test_the_frequencies_of_the_table_are_half_of_the_limits(page):
    limits = {name: page["weights"](robot)[1] for name, robot in page["robots"].items()}
    assert len(rows(r"\d+ Hz")) == 8
    for rate, late, bandwidth, panda, ur5, computed in rows(r"\d+ Hz"):
        plant = page["Plant"](period=1.0 / rate, state_delay=1e-3 * late, actuator_bandwidth=bandwidth)
        for stated, mu, digit in ((panda, limits["panda"], 0.1), (ur5, limits["ur5"], 0.1), (computed, (1.0,), 1.0)):
            assert abs(stated - 0.5 * page["limit"](mu, plant)) < digit, (rate, late, bandwidth)


def test_the_gains_of_the_table_are_those_of_the_code(page):
    np.testing.assert_allclose(rows("kp, N m/rad")[0], page["kp"], atol=1.0)
    np.testing.assert_allclose(rows("kd, N m s/rad")[0], page["kd"], atol=0.1)


@pytest.mark.parametrize("law", ["feedforward", "computed_torque"])
@pytest.mark.parametrize("name", sorted(POSTURES))
@pytest.mark.parametrize(("period", "delay", "bandwidth"), [(1e-3, 1e-3, 100.0), (2e-3, 4e-3, 30.0)])
def test_the_limit_is_where_the_simulation_has_it(page, name, law, period, delay, bandwidth):
    plant = page["Plant"](period=period, state_delay=delay, actuator_bandwidth=bandwidth)
    robot, q = page["robots"][name], np.array(POSTURES[name])
    weight, mu = np.ones(len(q)), (1.0,)
    if law == "feedforward":
        weight, _ = page["weights"](robot)
        mu = scipy.linalg.eigh(np.diag(weight), robot.mass_matrix(q), eigvals_only=True)
    evaluate_at = "desired" if law == "feedforward" else "measured"
    reached = []
    for share in (0.9, 1.1):
        w = share * page["limit"](mu, plant)
        gains = {"kp": weight * w**2, "kd": 2.0 * weight * w}
        off = page["errors"](robot, q, **gains, plant=plant, size=1e-6, seconds=0.6, law=law, evaluate_at=evaluate_at)
        middle = len(off) // 2
        reached.append(np.abs(off[-50:]).max() / np.abs(off[middle - 50 : middle]).max())
    assert reached[0] < 0.2 and reached[1] > 2.0, reached
