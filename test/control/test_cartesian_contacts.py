# SPDX-License-Identifier: Apache-2.0
"""A Panda of MuJoCo under Cartesian control: free, at walls, with a peg in a hole, pushed; beside a plain J^T law."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")
from rigs import cartesian
from rigs.cartesian_plant import Surroundings

from benchmarks.control import cartesian as benchmark

pytestmark = pytest.mark.skipif("panda" not in cartesian.robots(), reason="needs the Panda of example-robot-data")

LAWS = ("impedance", "operational_space")


def figures(scene):
    """{what: {contender: value}} of a scene of the benchmark."""
    return {f.what: dict(zip(benchmark.CONTENDERS, f.values)) for f in benchmark.SCENES[scene]()}


def test_free_motion_is_followed_where_the_plain_law_lags():
    way, turn = figures("free").values()
    for law in LAWS:
        assert way[law] < 1.0 and turn[law] < 3.0  # mm, mrad
        assert way[law] < 0.05 * way["plain"] and turn[law] < 0.05 * turn["plain"]


def test_a_stiff_wall_is_met_once_and_pressed_with_the_stiffness():
    most, rest, lost = figures("stiff").values()
    assert rest["impedance"] == pytest.approx(cartesian.STIFFNESS * benchmark.DEEP, rel=0.02)
    for law in LAWS:
        assert lost[law] == 0 and most[law] < 1.02 * most["plain"]


def test_a_soft_wall_gives_as_a_spring_behind_a_spring():
    _, rest, lost = figures("soft").values()
    both = 1.0 / (1.0 / cartesian.STIFFNESS + 1.0 / 5_000.0)
    assert rest["impedance"] == pytest.approx(both * benchmark.DEEP, rel=0.02)
    assert lost["impedance"] == lost["operational_space"] == 0


def test_a_peg_goes_into_a_hole_one_millimetre_wider():
    deep, side = figures("hole").values()
    for law in LAWS:
        assert deep[law] > 24.5 and side[law] < side["plain"]


@pytest.mark.parametrize("where", ["tool", "elbow"])
def test_a_pushed_arm_gives_and_comes_back(where):
    gives, _, back = figures(where).values()
    if where == "tool":
        assert gives["impedance"] == pytest.approx(1e3 * benchmark.PUSH / cartesian.STIFFNESS, rel=0.1)
    else:
        assert max(gives[law] for law in LAWS) < gives["plain"]
    assert all(back[law] < 1.0 for law in LAWS)


def test_a_spring_that_becomes_stiff_while_pressed_stays_passive():
    """Ten times as stiff against a wall, at once: with a tank the energy comes from it, and the force stays bounded."""
    run = cartesian.Run("impedance", Surroundings("stiff wall", cartesian.below(0.03)))
    run.go(0.0, 0.0, -0.03 - benchmark.DEEP, 1.5)
    out = run.controller._output
    stored = float(out.energy[0] + out.tank[0])
    run.controller.want_stiffness(10.0 * run.controller.stiffness)
    gained = []
    for _ in range(1000):
        run.step()
        gained.append(float(run.controller._output.energy[0] + run.controller._output.tank[0]))
    assert max(gained) < stored + 0.01
    assert np.array(run.forces)[-1, 2] > 60.0  # it did become stiffer, as far as the tank went
