# SPDX-License-Identifier: Apache-2.0
"""Scenes from YAML, and what a force-torque sensor reads in them."""

from __future__ import annotations

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Prismatic, Revolute
from rbd_dynamics.simulation.scene import Scene, load_scene
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.simulation.wrench_sensor import WrenchSensor

SCENE = """
contacts:
  - {name: floor, frame: tip, surface: plane, radius: 0.05, friction_coefficient: 0.4,
     placement: {xyz: [0.0, 0.0, -0.1]}}
"""


@pytest.fixture(scope="module")
def model():
    """A load that slides down, with a turned sensor frame on it."""
    builder = rbd.ModelBuilder("press")
    builder.add_body("load", None, Prismatic((0.0, 0.0, 1.0)), mass=2.0)
    builder.add_frame("tip", "load", placement=(0.3, 0.0, 0.0))
    turned = np.eye(4)
    turned[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    builder.add_frame("sensor", "load", placement=turned)
    return builder.build()


def test_sensor_reads_force_and_moment_of_a_contact(model):
    scene = load_scene(SCENE, model)
    options = SimulationOptions(start_braked=False)
    simulation = Simulation(model, q=[0.15], options=options, **scene._asdict())
    simulation.advance(200)
    sensor = WrenchSensor(rbd.Robot(model), simulation.contact_rows, "sensor")
    found = sensor.wrench(simulation.q, simulation.contact_forces.reshape(-1))
    weight = 2.0 * 9.81
    # upwards is y of the sensor; the point that touches is 0.3 m aside
    np.testing.assert_allclose(found[3:], [0.0, weight, 0.0], atol=1e-9)
    np.testing.assert_allclose(found[:3], np.cross([0.3, 0.0, 0.0], [0.0, weight, 0.0])[[0, 1, 2]], atol=1e-6)


def test_sensor_reads_constraints_too():
    builder = rbd.ModelBuilder("beam")
    builder.add_body("beam", None, Revolute((0.0, 1.0, 0.0)), mass=1.0, com=(0.5, 0.0, 0.0))
    builder.add_frame("end", "beam", placement=(1.0, 0.0, 0.0))
    model = builder.build()
    text = "constraints:\n  - {name: rest, type: frame, frame: end, directions: [z]}\n"
    scene = load_scene(text, model)
    assert scene.contacts == () and isinstance(scene, Scene)
    simulation = Simulation(model, q=[0.0], options=SimulationOptions(start_braked=False), **scene._asdict())
    simulation.advance(50)
    sensor = WrenchSensor(rbd.Robot(model), scene.constraints, "end")
    np.testing.assert_allclose(sensor.wrench(simulation.q, simulation.multipliers)[5], 0.5 * 9.81, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("contacts:\n  - {frame: tip}\n", "contact 0: needs a `name`"),
        ("contacts:\n  - {name: a}\n", "contact 'a': `frame` is missing"),
        ("contacts:\n  - {name: a, frame: tip, mu: 0.3}\n", "contact 'a': unknown key 'mu'"),
        ("contacts:\n  - {name: a, frame: tip, friction_coefficient: -1}\n", "friction_coefficient -1"),
        ("contacts:\n  - {name: a, frame: nowhere}\n", "no frame named 'nowhere'"),
        ("contact:\n  - {name: a}\n", "did you mean 'contacts'"),
        ("contacts: 3\n", "contacts: expected a list"),
        ("- 1\n- 2\n", "expected a dictionary"),
    ],
)
def test_what_is_wrong_is_named(model, text, reason):
    with pytest.raises((ValueError, KeyError), match=reason):
        load_scene(text, model)
