# SPDX-License-Identifier: Apache-2.0
"""Joint damping and Coulomb friction: in the equation of motion only where they are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from helpers.checks.oracles import assert_close, every_backend, hybrid_by_partition, random_states, trees
from helpers.models.robots import random_state

from rbd_dynamics import Robot
from rbd_dynamics.model.passive_forces import COULOMB_SPEED


def friction(model, v):
    """c tanh(v / eps) + d v of each joint, a mimic's at its own speed and carried to its leader."""
    torque = np.zeros(model.nv)
    for joint in (body.joint for body in model.bodies):
        ratio = joint.mimic.multiplier if joint.mimic else 1.0
        dofs = slice(joint.v_index, joint.v_index + joint.kind.nv)
        speed = ratio * v[dofs]
        torque[dofs] += ratio * (joint.damping * speed + joint.friction * np.tanh(speed / COULOMB_SPEED))
    return torque


def rough_trees(backend):
    """Trees whose mimic joints have friction too."""
    for robot, rng in trees(backend, mimic=0.4):
        bodies = tuple(
            replace(body, joint=replace(body.joint, damping=rng.uniform(0, 2), friction=rng.uniform(0, 2)))
            for body in robot.model.bodies
        )
        yield replace(robot.model, bodies=bodies), rng


@every_backend
def test_friction_adds_to_the_torque_and_takes_from_the_acceleration(backend):
    for model, rng in rough_trees(backend):
        smooth, rough = Robot(model, backend=backend), Robot(model, backend=backend, friction=True)
        q, v, a = random_state(model, rng)
        v *= rng.choice([1.0, COULOMB_SPEED, 0.0], model.nv)  # also slow joints and joints at rest
        lost = friction(model, v)
        assert_close(smooth.friction_torque(v), lost)
        assert_close(rough.friction_torque(v), lost)
        assert_close(rough.inverse_dynamics(q, v, a), smooth.inverse_dynamics(q, v, a) + lost)
        assert_close(rough.bias(q, v), smooth.bias(q, v) + lost)
        assert_close(rough.forward_dynamics(q, v, a), smooth.forward_dynamics(q, v, a - lost), 1e-10)
        prescribed = rng.random(model.nv) < 0.5
        tau = 3 * rng.normal(size=model.nv)
        expected = hybrid_by_partition(smooth.mass_matrix(q), smooth.bias(q, v) + lost, a, tau, prescribed)
        found = rough.hybrid_dynamics(q, v, a, tau, prescribed)
        assert_close(found[0], expected[0], 1e-10)
        assert_close(found[1], expected[1], 1e-10)
        np.testing.assert_array_equal(found[1][~prescribed], tau[~prescribed])


@every_backend
def test_friction_is_no_part_of_gravity_coriolis_or_energy(backend):
    model, rng = next(rough_trees(backend))
    smooth, rough = Robot(model, backend=backend), Robot(model, backend=backend, friction=True)
    q, v, _ = random_state(model, rng)
    for method in ("gravity", "mass_matrix", "potential_energy"):
        np.testing.assert_array_equal(getattr(rough, method)(q), getattr(smooth, method)(q))
    for method in ("coriolis", "kinetic_energy"):
        np.testing.assert_array_equal(getattr(rough, method)(q, v), getattr(smooth, method)(q, v))


@every_backend
def test_friction_comes_in_batches_and_never_helps(backend):
    for model, rng in rough_trees(backend):
        rough = Robot(model, backend=backend, friction=True)
        v = random_states(model, rng, 9).v
        torque = rough.friction_torque(v)
        assert_close(torque, np.array([friction(model, sample) for sample in v]))
        assert (np.sum(torque * v, axis=1) >= 0).all()
        np.testing.assert_array_equal(rough.friction_torque(np.zeros(model.nv)), 0.0)
