# SPDX-License-Identifier: Apache-2.0
"""Arms that are fast when they are to be held, or are thrown by a blow; efforts change no faster than usual."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.wide import table, wide

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("mujoco")
pytest.importorskip("rclpy")
if "panda" not in robots():
    pytest.skip("needs the arms of example-robot-data", allow_module_level=True)

from campaigns.pressing.arms import ARMS, model_of
from campaigns.pressing.bench import Bench
from campaigns.pressing.cases import Case
from campaigns.pressing.classes import case_of
from campaigns.pressing.judge import verdict
from campaigns.pressing.plant import Imperfections
from campaigns.pressing.runs import START, run
from campaigns.pressing.scene import scene_of

MS = 1_000_000  # ns


def held(arm: str, rotors: float, share: float, signs: list[float]) -> np.ndarray:
    """Speeds (rows: ms), of the joints' limits, of an arm that moves when it is to be held. share: of the limits."""
    plant, bench, limits = at_rest(arm, rotors)
    plant.move(share * limits * signs)
    return answered(plant, bench, limits, range(1500))


def at_rest(arm, rotors):
    """An arm, what holds it, and its limits of speed."""
    case = Case("hold", 0, 0, arm=arm, q=ARMS[arm].q, height=0.3, imperfect=Imperfections(rotors=rotors))
    scene, model = scene_of(case), model_of(arm)
    return scene.plant, Bench(model_of(arm, 0.8 * rotors), scene.params), np.array(model.velocity_limit)


def answered(plant, bench, limits, periods):
    """Speeds (rows: ms), of the joints' limits."""
    speeds = []
    for k in periods:
        tau = bench.answer(START + k * MS, *plant.read())
        plant.command(plant.tau if tau is None else tau)
        speeds.append(np.abs(plant.state[1]) / limits)
    return np.array(speeds)


@pytest.mark.parametrize(
    "arm, rotors, share, signs",
    table(
        [
            ("ur10", 1e-3, 0.3, [1, -1, 1, 1, -1, 1]),
            ("ur10", 0.0, 0.3, [-1, 1, 1, -1, 1, 1]),
            ("panda", 1e-3, 0.6, [1, -1, 1, 1, -1, 1, 1]),
            ("panda", 0.0, 0.5, [1, -1, 1, -1, -1, 1, -1]),
        ],
        lambda case: case[:2] in (("ur10", 1e-3), ("panda", 0.0)),
    ),
)
def test_an_arm_that_is_fast_when_it_is_to_be_held_comes_to_rest(arm, rotors, share, signs):
    """At 0.3 of its limits, a UR10 came to 3 to 40 times them: its shoulder's effort was late, and swung it.

    The wrist of a Panda without rotors came to 1.4 of its limit: it had its effort before the shoulder had its own.
    """
    speeds = held(arm, rotors, share, signs)
    assert speeds.max() < 0.95
    assert speeds[-100:].max() < 1e-3


@pytest.mark.parametrize("way", [0.19, 0.9])
def test_an_arm_that_was_carried_off_while_it_is_held_is_not_thrown_back(way):
    """Its drives were off: efforts that were cut one by one brought a Panda to 23 times its limits, from 0.2 rad."""
    plant, bench, limits = at_rest("panda", 0.0)
    begin, signs = plant.state[0], np.array([1, -1, 1, 1, -1, 1, 1])
    carried = round(1000 * way)
    for k in range(carried):
        plant.reset(begin + 1e-3 * (k + 1) * signs)
        bench.answer(START + k * MS, *plant.read())
    there = plant.state[0]
    speeds = answered(plant, bench, limits, range(carried, carried + 1500))
    assert speeds.max() < 0.5 and speeds[-100:].max() < 0.01
    assert np.abs(plant.state[0] - there).max() < 0.21  # hold_tolerance
    assert ("moved while it was held" in bench.engine.supervisor.reason) == (way > 0.2)


@pytest.mark.parametrize(
    "name, number, seed, what",
    table(
        [
            ("bounce", 4, 211, "a UR10 without rotors meets 1e4 N/m at 200 mm/s: 298 N and 6.1 m/s before"),
            ("wall", 0, 211, "a Kinova lets go of a wall of 9e5 N/m: 1.08 of a joint's limit before"),
            (
                "slide",
                2,
                311,
                "a UR5's estimated normal turns to and fro as it comes to rest: a swing of 0.42 m/s before",
            ),
            ("wall", 16, 223, "a Panda leans on a wall when its motion ends: softer gains throw it at 0.74 m/s"),
            ("edge", 3, 311, "a UR10 without rotors loses 48 N: 0.29 m/s before"),
            ("placement", 3, 971, "friction lets go of a Kinova's wrist without rotors: 8.1 times its limit before"),
        ],
        lambda case: case[0] in ("bounce", "slide"),
    ),
)
def test_a_blow_a_wall_that_springs_back_and_friction_throw_no_arm(name, number, seed, what):
    record = run(case_of(name, seed, number))
    found = verdict(record)
    assert found.good and found.pressed, (what, found)


@wide  # the law itself: test_contact_told.py
def test_an_arm_that_sticks_on_a_steep_friction_is_not_thrown_off():
    """A UR10 with rotors, friction 0.77, tilt 13 degrees, normal estimated: at 1.07 m/s, 58 mm off it before."""
    found = verdict(run(replace(case_of("slide", 307, 4), imperfect=Imperfections())))
    assert found.good and found.bounds["tool speed"].value < 0.15, found
