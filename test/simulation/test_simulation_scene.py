# SPDX-License-Identifier: Apache-2.0
"""Scenes from YAML, and what a force-torque sensor reads in them."""

from __future__ import annotations

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.simulation.scene import Scene, load_scene
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.simulation.wrench_sensor import ShapeWrenchSensor, WrenchSensor

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


# --- shapes -------------------------------------------------------------------------------------

OBSTACLES = """
collisions:
  friction_coefficient: 0.4
  shapes:
    - {name: floor, type: plane}
    - {name: post, type: cylinder, size: [0.1, 1.0], placement: {xyz: [3.0, 0.0, 0.5]}}
    - {name: bar, type: capsule, size: [0.1, 1.0], placement: {xyz: [3.0, 1.0, 0.5]}}
    - {name: rock, type: mesh, file: rock.stl, scale: [2.0, 1.0, 1.0], placement: {xyz: [3.0, 2.0, 0.5]}}
    - {name: crate, type: box, size: [1.0, 2.0, 0.2], placement: {xyz: [3.0, 4.0, 0.5]}}
    - {name: ball, frame: tip, type: sphere, size: [0.05], placement: {xyz: [0.0, 0.0, -0.1]}}
  ignore: [[ball, post]]
  laws: [{pair: [ball, floor], friction_coefficient: 0.9}]
"""
CORNERS = ("0 0 0", "1 0 0", "0 1 0", "0 0 1")
ROCK = "solid\n" + "".join(
    "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {CORNERS[k]}\n" for k in face) + "endloop\nendfacet\n"
    for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
) + "endsolid\n"  # fmt: skip


@pytest.fixture
def obstacles(tmp_path):
    pytest.importorskip("coal")
    pytest.importorskip("trimesh")
    (tmp_path / "rock.stl").write_text(ROCK)
    (tmp_path / "scene.yaml").write_text(OBSTACLES)
    return tmp_path / "scene.yaml"


def test_a_sensor_reads_what_shapes_exert(model, obstacles):
    scene = load_scene(str(obstacles), model)
    shapes = scene.contacts
    assert [shape.kind for shape in shapes.shapes] == ["plane", "cylinder", "capsule", "mesh", "box", "sphere"]
    np.testing.assert_allclose(shapes.shapes[3].points.max(axis=0), [2.0, 1.0, 1.0])
    assert shapes.ignored == {("ball", "post"): "given"} and shapes.shapes[0].frame == "world"
    simulation = Simulation(model, q=[0.2], options=SimulationOptions(start_braked=False), **scene._asdict())
    sensor = ShapeWrenchSensor(simulation, "sensor")
    np.testing.assert_array_equal(sensor.wrench(simulation.q, simulation.contact_forces), np.zeros(6))
    simulation.advance(200)
    assert {contact.friction_coefficient for contact in simulation.contacts} == {0.9}
    found = sensor.wrench(simulation.q, simulation.contact_forces)
    weight = 2.0 * 9.81  # upwards is y of the sensor; the point that touches is 0.3 m aside
    np.testing.assert_allclose(found[3:], [0.0, weight, 0.0], atol=1e-9)
    np.testing.assert_allclose(found[:3], np.cross([0.3, 0.0, 0.0], [0.0, weight, 0.0]), atol=1e-6)


def test_a_sensor_reads_what_lies_on_its_body():
    """A box of 3 kg on a tray, 0.2 m off its middle, where friction and the four corners all add up to its weight."""
    pytest.importorskip("coal")
    builder = rbd.ModelBuilder("tray")
    builder.add_body("tray", None, Prismatic((0.0, 0.0, 1.0)), mass=1.0)
    builder.add_body("box", None, Floating(), mass=3.0, inertia=0.01 * np.eye(3))
    model = builder.build()
    scene = load_scene("""
collisions:
  shapes:
    - {name: tray, frame: tray, type: box, size: [1.0, 1.0, 0.1]}
    - {name: load, frame: box, type: box, size: [0.1, 0.1, 0.1]}
""", model)  # fmt: skip
    q = [0.0, 0.2, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]
    simulation = Simulation(model, q=q, options=SimulationOptions(start_braked=False), **scene._asdict())
    for _ in range(50):
        simulation.command([4.0 * 9.81], [0])
        simulation.advance(1)
    on_tray, on_box = (ShapeWrenchSensor(simulation, frame) for frame in ("tray", "box"))
    weight = 3.0 * 9.81
    np.testing.assert_allclose(
        on_tray.wrench(simulation.q, simulation.contact_forces), [0.0, 0.2 * weight, 0.0, 0.0, 0.0, -weight], atol=1e-6
    )
    np.testing.assert_allclose(
        on_box.wrench(simulation.q, simulation.contact_forces), [0.0, 0.0, 0.0, 0.0, 0.0, weight], atol=1e-6
    )


def test_shapes_of_the_robot_s_own_description(tmp_path):
    pytest.importorskip("coal")
    urdf = """<robot name="r"><link name="base"/><link name="arm">
      <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    (tmp_path / "robot.urdf").write_text(urdf)
    (tmp_path / "scene.yaml").write_text("collisions: {description: robot.urdf, shapes: [{name: f, type: plane}]}\n")
    scene = load_scene(tmp_path / "scene.yaml", rbd.load_urdf(urdf))
    assert [shape.name for shape in scene.contacts.shapes] == ["arm", "f"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("collisions: 3\n", "collisions: expected a dictionary"),
        ("collisions: {shapes: []}\n", "collisions: there are no shapes"),
        ("collisions: {shape: []}\n", "collisions: unknown key 'shape'; did you mean 'shapes'"),
        ("collisions: {shapes: {}}\n", "collisions: there are no shapes"),
        ("collisions: {shapes: 3}\n", "collisions: shapes: expected a list"),
        ("collisions: {shapes: [{type: plane}]}\n", "collision shape 0: needs a `name`"),
        ("collisions: {shapes: [{name: a}]}\n", "collision shape 'a': `type` is missing"),
        ("collisions: {shapes: [{name: a, type: ball}]}\n", "collision shape 'a': kind 'ball' is not one of"),
        ("collisions: {shapes: [{name: a, type: sphere}]}\n", "collision shape 'a': size .* of a sphere is radius"),
        ("collisions: {shapes: [{name: a, type: sphere, size: big}]}\n", "'a': size: expected a list of numbers"),
        ("collisions: {shapes: [{name: a, type: mesh, file: b.stl}]}\n", "'a': mesh 'b.stl' was not found"),
        ("collisions: {shapes: [{name: a, type: plane, file: b.stl}]}\n", "'a': a 'plane' has no file"),
        ("collisions: {shapes: [{name: a, type: sphere, size: [1], frame: b}]}\n", "no frame named 'b'"),
        ("collisions: {shapes: [{name: a, type: plane}], laws: [{friction_coefficient: 1}]}\n", "`pair` is missing"),
        ("collisions: {shapes: [{name: a, type: plane}], ignore: [[a]]}\n", "ignore 0: expected two names"),
        ("collisions: {shapes: [{name: a, type: plane}], ignore: [[a, b]]}\n", "frame named 'b'"),
        ("collisions: {shapes: [{name: a, type: plane}], restitution: 2}\n", "restitution 2"),
        ("collisions: {description: none.urdf}\n", "description: none.urdf cannot be read"),
        ("{contacts: [{name: a, frame: tip}], collisions: {shapes: [{name: a, type: plane}]}}\n", "has `contacts` and"),
    ],
)
def test_what_is_wrong_with_shapes_is_named(model, text, reason):
    pytest.importorskip("coal")
    with pytest.raises((ValueError, KeyError), match=reason):
        load_scene(text, model)
