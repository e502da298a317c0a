# SPDX-License-Identifier: Apache-2.0
"""Distances of shapes, and what rests, slides and is held, against MuJoCo."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from rigs import quadruped as quadrupeds

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, Prismatic
from rbd_dynamics.simulation import Simulation, SimulationOptions

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape  # noqa: E402
from rbd_dynamics.constraints import placement  # noqa: E402

G = 9.81
POINTS = np.array([(0.0, 0.0, -0.1), (0.12, 0.02, 0.1), (-0.07, 0.09, 0.1), (-0.03, -0.1, 0.08), (0.02, 0.0, 0.16)])
#: kind: (our numbers, MuJoCo's geom)
SHAPES = {
    "sphere": ({"size": (0.1,)}, 'type="sphere" size="0.1"'),
    "capsule": ({"size": (0.05, 0.3)}, 'type="capsule" size="0.05 0.15"'),
    "box": ({"size": (0.2, 0.3, 0.25)}, 'type="box" size="0.1 0.15 0.125"'),
    "cylinder": ({"size": (0.12, 0.2)}, 'type="cylinder" size="0.12 0.1"'),
    "mesh": ({"points": POINTS}, 'type="mesh" mesh="hull"'),
}
PAIRS = [*itertools.combinations_with_replacement(SHAPES, 2), *(("plane", kind) for kind in SHAPES)]
# MuJoCo moves a mesh to its centre of mass and axes; a body's placement of the geom moves it back
HULL = f'<mesh name="hull" vertex="{" ".join(map(str, POINTS.reshape(-1)))}"/>'


def two_bodies():
    builder = rbd.ModelBuilder("two")
    for name in ("one", "other"):
        builder.add_body(name, None, Floating(), mass=1.0, inertia=0.01 * np.eye(3))
    return builder.build()


TWO = two_bodies()


def mujoco_of(content, *, assets="", step=1e-3):
    """A model with stiff contacts: they give way by micrometres, in the time of two steps."""
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{step}" cone="elliptic" impratio="100" tolerance="0" iterations="200"/>
        <default><geom solref="{2.0 * step} 1" solimp="0.99 0.999 1e-4"/></default>
        <asset>{assets}</asset><worldbody>{content}</worldbody></mujoco>"""
    )


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=["-".join(pair) for pair in PAIRS])
def test_gaps_and_normals_of_random_poses(one, other):
    """Apart by up to some cm. MuJoCo finds distances to 1e-6 of its own search."""
    geoms = [SHAPES[kind][1] if kind != "plane" else 'type="plane" size="1 1 1"' for kind in (one, other)]
    first = f"<geom {geoms[0]}/>" if one == "plane" else f'<body mocap="true"><geom {geoms[0]}/></body>'
    model = mujoco_of(f'{first}<body mocap="true"><geom {geoms[1]}/></body>', assets=HULL)
    data = mujoco.MjData(model)
    frames = ("world" if one == "plane" else "one", "other")
    shapes = CollisionSet(
        TWO,
        [CollisionShape(f, f, kind, **SHAPES.get(kind, ({},))[0]) for f, kind in zip(frames, (one, other))],
    )
    rng, compared = np.random.default_rng(7), 0
    while compared < 12:
        q = TWO.start_position()
        for at, off in ((0, 0.0), (7, 0.24)):
            turn = rng.normal(size=4)
            q[at : at + 7] = [
                *(off * np.array([0.3, 0.5, 0.8]) + 0.03 * rng.normal(size=3)),
                *(turn / np.linalg.norm(turn)),
            ]
        moving = (7,) if one == "plane" else (0, 7)
        for k, at in enumerate(moving):
            data.mocap_pos[k], data.mocap_quat[k] = q[at : at + 3], q[[at + 6, at + 3, at + 4, at + 5]]
        mujoco.mj_forward(model, data)
        ends = np.zeros(6)
        distance = mujoco.mj_geomDistance(model, data, 0, 1, 0.5, ends)
        if distance < 1e-3:
            continue
        compared += 1
        touches = shapes.contacts(q, margin=0.5)
        nearest = min(touches, key=lambda touch: touch.gap)
        assert nearest.gap == pytest.approx(distance, abs=2e-5)
        along = (ends[3:] - ends[:3]) / distance
        np.testing.assert_allclose(nearest.normal, along, atol=2e-2)


# --- dynamics: MuJoCo's contacts are soft, so what does not depend on their softness is compared ---------


def simulate(model, q, contacts):
    options = SimulationOptions(step=1e-3, start_braked=False, effort_limits=False)
    return Simulation(model, q=q, options=options, contacts=contacts)


def forces_of(model, data):
    """{(geom, geom): sum of normal forces} of MuJoCo's contacts."""
    found: dict[tuple[int, int], float] = {}
    for k in range(data.ncon):
        wrench = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, wrench)
        key = tuple(sorted((int(data.contact[k].geom1), int(data.contact[k].geom2))))
        found[key] = found.get(key, 0.0) + wrench[0]
    return found


@pytest.mark.parametrize("angle", [0.2, 0.5])
def test_a_block_sticks_or_slides_as_in_mujoco(angle):
    """Friction 0.3 holds up to 0.29 rad. What sticks creeps in MuJoCo, the slower the larger impratio; its friction
    lags behind by its time constants, 1e-2 of the speed after 0.2 s."""
    other = mujoco_of(
        f'<geom type="plane" size="9 9 1" euler="0 {math.degrees(angle)} 0" friction="0.3 0 0"/>'
        f'<body pos="{0.05 * math.sin(angle)} 0 {0.05 * math.cos(angle)}" euler="0 {math.degrees(angle)} 0">'
        "<freejoint/>"
        '<geom type="box" size="0.1 0.1 0.05" mass="2" friction="0.3 0 0"/></body>'
    )
    data = mujoco.MjData(other)
    for _ in range(200):
        mujoco.mj_step(other, data)
    builder = rbd.ModelBuilder("block")
    inertia = 2.0 / 12.0 * np.diag([0.05, 0.05, 0.08])
    builder.add_body("block", None, Floating(), mass=2.0, inertia=inertia)
    model = builder.build()
    shapes = [
        CollisionShape("slope", "world", "plane", placement=placement((0.0, 0.0, 0.0), (0.0, angle, 0.0))),
        CollisionShape("block", "block", "box", size=(0.2, 0.2, 0.1)),
    ]
    half = 0.5 * angle
    q = [0.05 * math.sin(angle), 0.0, 0.05 * math.cos(angle), 0.0, math.sin(half), 0.0, math.cos(half)]
    simulation = simulate(model, q, CollisionSet(model, shapes, friction_coefficient=0.3))
    simulation.advance(200)
    speed = float(data.qvel[:3] @ [math.cos(angle), 0.0, -math.sin(angle)])
    assert simulation.v[3] == pytest.approx(speed, rel=1e-2, abs=2e-3)


def test_levels_of_a_stack_carry_what_they_do_in_mujoco():
    """Three boxes at rest; the sums of forces are those of statics in both, MuJoCo's to its own 1e-3 of rest."""
    masses = (2.0, 1.0, 4.0)
    boxes = "".join(
        f'<body pos="0 0 {0.1 + 0.2 * k}"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="{m}"/></body>'
        for k, m in enumerate(masses)
    )
    other = mujoco_of(f'<geom type="plane" size="2 2 1"/>{boxes}')
    data = mujoco.MjData(other)
    for _ in range(500):
        mujoco.mj_step(other, data)
    theirs = forces_of(other, data)
    builder, shapes, q = rbd.ModelBuilder("stack"), [CollisionShape("-1", "world", "plane")], []
    for k, mass in enumerate(masses):
        builder.add_body(f"{k}", None, Floating(), mass=mass, inertia=mass / 150.0 * np.eye(3))
        shapes.append(CollisionShape(f"{k}", f"{k}", "box", size=(0.2, 0.2, 0.2)))
        q += [0.0, 0.0, 0.1 + 0.2 * k, 0.0, 0.0, 0.0, 1.0]
    simulation = simulate(builder.build(), q, CollisionSet(builder.build(), shapes))
    simulation.advance(20)
    for k in range(3):
        own = sum(
            force[0]
            for contact, force in zip(simulation.contacts, simulation.contact_forces)
            if contact.name == f"{k} on {k - 1}"
        )
        assert own == pytest.approx(G * sum(masses[k:]), rel=1e-8)
        assert own == pytest.approx(theirs[(k, k + 1)], rel=2e-3)


def test_a_grasp_holds_as_in_mujoco():
    """20 N from each side on a box of 0.5 kg with friction 0.4, which carries 16 of its 4.9 N."""
    fingers = "".join(
        f'<body pos="{0.06 * s} 0 0.5"><joint name="{n}" type="slide" axis="1 0 0"/>'
        '<geom type="box" size="0.01 0.03 0.04" mass="0.2" friction="0.4 0 0"/></body>'
        for n, s in (("left", -1), ("right", 1))
    )
    other = mujoco_of(
        f'<body pos="0 0 0.5"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.5" friction="0.4 0 0"/></body>'
        f"{fingers}"
    )
    data = mujoco.MjData(other)
    data.qfrc_applied[6:] = [20.0, -20.0]
    for _ in range(300):
        mujoco.mj_step(other, data)
    builder = rbd.ModelBuilder("grasp")
    builder.add_body("box", None, Floating(), mass=0.5, inertia=0.5 * 0.1**2 / 6.0 * np.eye(3))
    shapes = [CollisionShape("box", "box", "box", size=(0.1, 0.1, 0.1))]
    for name, side in (("left", -1.0), ("right", 1.0)):
        builder.add_body(name, None, Prismatic((1.0, 0.0, 0.0)), placement=placement((0.06 * side, 0.0, 0.5)), mass=0.2)
        shapes.append(CollisionShape(name, name, "box", size=(0.02, 0.06, 0.08)))
    model = builder.build()
    q = [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    contacts = CollisionSet(model, shapes, friction_coefficient=0.4)
    simulation = simulate(model, q, contacts)
    simulation.command([20.0, -20.0], [6, 7])
    simulation.advance(100)
    assert simulation.q[2] == pytest.approx(0.5, abs=1e-9)
    assert simulation.q[2] == pytest.approx(data.qpos[2], abs=1e-3)
    own = simulation.contact_forces.reshape(2, 4, 3)
    np.testing.assert_allclose(own[:, :, 0].sum(axis=1), 20.0, rtol=1e-8)
    np.testing.assert_allclose(own[:, :, 0].sum(axis=1), sorted(forces_of(other, data).values()), rtol=2e-3)
    touches = contacts.contacts(simulation.q)
    assert [touch.law.name for touch in touches] == [contact.name for contact in simulation.contacts]
    on_fingers = [f[0] * t.normal + f[1:] @ t.tangents for t, f in zip(touches, simulation.contact_forces)]
    np.testing.assert_allclose(np.sum(on_fingers, axis=0), [0.0, 0.0, -0.5 * G], atol=1e-6)


def test_a_quadruped_stands_as_in_mujoco():
    """A PD law for 0.3 s: each foot carries what it does there, to 2e-3 of the weight, and it is as high to 0.2 mm."""
    text = quadrupeds.mjcf().replace(
        'friction="0.7 0 0"', 'friction="0.7 0 0" solref="0.002 1" solimp="0.99 0.999 1e-4"'
    )
    other = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(other)
    data.qpos[7:] = quadrupeds.POSTURE
    model = quadrupeds.quadruped()
    shapes = [CollisionShape("floor", "world", "plane")]
    for name in quadrupeds.FEET:
        end = placement((0.0, 0.0, -quadrupeds.LINK))
        shapes.append(CollisionShape(name, f"{name}_calf", "sphere", size=(quadrupeds.RADIUS,), placement=end))
    contacts = CollisionSet(model, shapes, friction_coefficient=quadrupeds.FRICTION)
    simulation = simulate(model, quadrupeds.standing(), contacts)
    for _ in range(300):
        data.qfrc_applied[6:] = (
            quadrupeds.STIFFNESS * (quadrupeds.POSTURE - data.qpos[7:]) - quadrupeds.DAMPING * data.qvel[6:]
        )
        mujoco.mj_step(other, data)
        law = quadrupeds.STIFFNESS * (quadrupeds.POSTURE - simulation.q[7:]) - quadrupeds.DAMPING * simulation.v[6:]
        simulation.command(law, np.arange(6, 18))
        simulation.advance(1)
    weight = G * sum(body.inertia.mass for body in model.bodies)
    theirs = forces_of(other, data)
    own = simulation.contact_forces[:, 0]
    np.testing.assert_allclose(own, [theirs[(0, k)] for k in range(1, 5)], atol=2e-3 * weight)
    assert simulation.q[2] == pytest.approx(data.qpos[2], abs=2e-4)
