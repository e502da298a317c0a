# SPDX-License-Identifier: Apache-2.0
"""Approach and pressing on surfaces that give, with slow actuators, late sensors and a model that is wrong.

A part of `python -m benchmarks.control.pressing --contacts`, which has all arms, contacts, actuators and sensors.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.wide import table

cell = pytest.importorskip("rigs.pressing_cell")
from rigs.compliant_plant import Surroundings  # noqa: E402

pytestmark = pytest.mark.skipif("panda" not in cell.robots(), reason="needs the arms of example-robot-data")

LATE = {"bandwidth": 30.0, "sensor_delay": 0.005, "state_delay": 0.005}


@pytest.mark.parametrize(
    ("arm", "law", "stiffness", "believed"),
    table(
        [
            ("panda", "geometric", 1e3, 1.0),
            ("panda", "gauge_invariant", 1e6, -1.0),
            ("ur5", "geometric", 1e6, 0.5),
            ("ur5", "gauge_invariant", 1e4, -0.5),
        ],
        lambda case: case[2] == 1e6,
    ),
)
def test_touches_at_the_wanted_speed_and_presses(arm, law, stiffness, believed):
    around = Surroundings(stiffness=stiffness, **LATE)
    outcome = cell.tried(cell.Setting(arm=arm, law=law, believed=believed, around=around))
    assert not outcome.reason
    assert abs(outcome.speed - 0.01) < 5e-4
    assert outcome.blow < 1.1 * outcome.expected + 1.0
    assert abs(outcome.force - 10.0) < 0.3 and outcome.deviation < 0.5


def test_friction_costs_less_than_three_millimetres():
    outcome = cell.tried(cell.Setting(around=Surroundings(stiffness=1e5, friction=0.3, **LATE)))
    assert not outcome.reason and 0.0 < outcome.along < 3e-3


def test_an_offset_and_noise_of_the_sensor_are_no_contact():
    found = cell.Cell(cell.Setting(bias=(1.0, -1.0, 2.0), noise=0.5)).run(0.2).engage().run(0.5)
    assert found.supervisor.mode == "approach"
    found.run(2.5)
    assert found.supervisor.mode == "press" and found.supervisor.tared
    assert abs(float(found.forces[-300:].mean()) - 10.0) < 0.3
    assert abs(float(found.supervisor.offset[0]) - 2.0) < 0.2


def test_a_tilted_surface_is_felt_through_friction():
    around = Surroundings(tilt=np.radians(10.0), friction=0.3)
    found = cell.Cell(cell.Setting(estimate_normal=True, around=around)).run(0.2).engage().run(2.5)
    found.move((0.2, 0.0, 0.0), (2.7, 0.08, 0.04)).run(3.0)
    assert found.supervisor.mode == "press"
    assert abs(np.degrees(found.normal.tilt) - 10.0) < 0.5
    np.testing.assert_allclose(found.normal.normal, found.plant.normal, atol=0.01)
    assert abs(float(found.supervisor.output.h[0])) < 6e-3


@pytest.mark.parametrize("shape", table(["sphere", "cylinder"], ["sphere"]))
def test_the_normal_of_a_curved_surface_is_found_where_the_tool_is(shape):
    """The controller has it 20 mm beside where it is; the normal turns by some degrees on the way."""
    around = Surroundings(shape=shape, radius=0.3, friction=0.3)
    found = cell.Cell(cell.Setting(estimate_normal=True, around=around, misplaced=(0.02, 0.0, 0.0)))
    found.run(0.2).engage().run(2.0)

    def off():
        true, _ = found.plant.normal_at(found.plant.position)
        return float(np.degrees(np.arccos(min(1.0, true @ found.normal_of(found.plant.q)))))

    assert off() > 3.0
    found.move(*cell.circle_points(0.04, 2.0)).run(1.2)
    for _ in range(10):
        assert off() < 0.3
        found.run(0.1)
    assert found.supervisor.mode == "press"
    assert abs(float(found.forces[-1000:].mean()) - 10.0) < 0.5


def test_an_estimated_tilt_has_a_bound():
    around = Surroundings(tilt=np.radians(15.0))
    found = cell.Cell(cell.Setting(estimate_normal=True, around=around))
    found.normal.options = type(found.normal.options)(largest_tilt=np.radians(5.0))
    found.run(0.2).engage().run(2.0).move((0.2, 0.0, 0.0), (1.7, 0.05, 0.0)).run(1.8)
    assert abs(np.degrees(found.normal.tilt) - 5.0) < 0.1
