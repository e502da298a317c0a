# SPDX-License-Identifier: Apache-2.0
"""A load attached at run time: the same numbers as a robot built with it, and none left when it is gone."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, every_backend, trees
from helpers.models.robots import load_robot, needs_pinocchio, random_state

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.model.model import WORLD
from rbd_dynamics.model.payload import payload_inertia

BOX = [[0.02, 0.001, 0.0], [0.001, 0.03, 0.002], [0.0, 0.002, 0.025]]


def everything(robot, q, v, a):
    """All that depends on inertia, and what must not."""
    mask = np.arange(len(v)) % 2 == 0
    return [
        robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.mass_matrix(q),
        *robot.hybrid_dynamics(q, v, a, 2 * a, mask), robot.bias(q, v), robot.gravity(q), robot.coriolis(q, v),
        robot.kinetic_energy(q, v), robot.potential_energy(q), robot.center_of_mass(q),
    ]  # fmt: skip


def with_load(model, frame, mass, **load):
    """A model that has the load as part of its body."""
    body, extra = payload_inertia(model, frame, mass, **load)
    if body == WORLD:
        return replace(model, fixed_inertia=model.fixed_inertia + extra)
    changed = replace(model.bodies[body], inertia=model.bodies[body].inertia + extra)
    return replace(model, bodies=(*model.bodies[:body], changed, *model.bodies[body + 1 :]))


@every_backend
def test_a_load_is_as_if_it_were_part_of_the_robot(backend):
    for robot, rng in islice(trees(backend, mimic=0.2), 3):  # of each size, fixed and floating
        state = random_state(robot.model, rng)
        before = everything(robot, *state)
        shapes = [{"com": (0.1, 0.2, -0.1), "inertia": BOX}, {"com": (0.0, 0.0, 0.3), "inertia": BOX}]
        loads = list(zip(("tool1", "link0"), (2.5, 1.5), shapes, strict=True))
        model = robot.model
        for frame, mass, shape in loads:
            robot.set_payload(frame, mass, **shape)
            model = with_load(model, frame, mass, **shape)
        for ours, expected in zip(everything(robot, *state), everything(Robot(model, backend=backend), *state)):
            assert_close(ours, expected, 1e-10)
        robot.set_payload("tool1", 0.0)
        frame, mass, shape = loads[1]
        one = Robot(with_load(robot.model, frame, mass, **shape), backend=backend)
        for ours, expected in zip(everything(robot, *state), everything(one, *state)):
            assert_close(ours, expected, 1e-10)
        robot.set_payload("link0", 0.0)
        for ours, expected in zip(everything(robot, *state), before):
            np.testing.assert_array_equal(ours, expected)  # exactly as before


@needs_pinocchio
def test_a_load_is_the_same_as_a_link_in_the_description():
    """Written into the URDF, as an own link on a fixed joint at the tool."""
    from helpers.models.robots import robot_file

    text = robot_file("ur5_robot").read_text()
    box = '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.025"/>'
    link = f"""<link name="load"><inertial><origin xyz="0.1 0.2 -0.1"/><mass value="2.5"/>{box}</inertial></link>
      <joint name="grip" type="fixed"><parent link="tool0"/><child link="load"/></joint></robot>"""
    loaded = Robot(load_urdf(text.replace("</robot>", link)), backend="reference")
    robot = Robot(load_robot("ur5_robot"), backend="reference")
    robot.set_payload("tool0", 2.5, com=(0.1, 0.2, -0.1), inertia=BOX)
    state = random_state(robot.model, np.random.default_rng(0))
    for ours, expected in zip(everything(robot, *state), everything(loaded, *state)):
        assert_close(ours, expected)


@every_backend
def test_a_second_load_at_a_frame_takes_the_place_of_the_first(backend):
    robot, rng = next(trees(backend))
    state = random_state(robot.model, rng)
    robot.set_payload("tool1", 2.0, com=(0.0, 0.1, 0.0))
    expected = everything(robot, *state)
    robot.set_payload("tool1", 7.0, com=(0.3, 0.1, 0.0), inertia=BOX)
    assert np.abs(robot.inverse_dynamics(*state) - expected[0]).max() > 1e-3
    robot.set_payload("tool1", 2.0, com=(0.0, 0.1, 0.0))
    for ours, wanted in zip(everything(robot, *state), expected):
        np.testing.assert_array_equal(ours, wanted)


@every_backend
def test_a_load_of_one_robot_is_not_one_of_another(backend):
    robot, rng = next(trees(backend))
    other = Robot(robot.model, backend=backend)
    state = random_state(robot.model, rng)
    expected = everything(other, *state)
    robot.set_payload("tool1", 2.0)
    for ours, wanted in zip(everything(other, *state), expected):
        np.testing.assert_array_equal(ours, wanted)


@needs_pinocchio
@every_backend
def test_a_load_on_what_is_fixed_to_the_world_moves_only_the_center_of_mass(backend):
    robot = Robot(load_robot("ur5_robot"), backend=backend)
    state = random_state(robot.model, np.random.default_rng(0))
    before = everything(robot, *state)
    robot.set_payload("base_link", 10.0, com=(0.0, 0.0, 1.0))
    after = everything(robot, *state)
    for ours, expected in zip(after[:-2], before[:-2]):
        np.testing.assert_array_equal(ours, expected)
    expected = everything(
        Robot(with_load(robot.model, "base_link", 10.0, com=(0.0, 0.0, 1.0)), backend=backend), *state
    )
    assert_close(after[-1], expected[-1])
    assert_close(after[-2], expected[-2])


@needs_pinocchio
def test_no_kernel_is_compiled_for_a_load(monkeypatch):
    from rbd_dynamics.compiler import backends

    robot = Robot(load_robot("ur5_robot"))
    state = random_state(robot.model, np.random.default_rng(0))
    everything(robot, *state)

    def refuse(*args):
        raise AssertionError("compiled")

    monkeypatch.setattr(backends, "build", refuse)
    robot.set_payload("tool0", 2.0)
    everything(robot, *state)


def test_impossible_loads_are_refused_and_change_nothing():
    robot, rng = next(trees("reference"))
    state = random_state(robot.model, rng)
    robot.set_payload("tool1", 1.0)
    before = everything(robot, *state)
    for mass, shape in ((-1.0, {}), (np.nan, {}), (1.0, {"com": (0, 0)}), (1.0, {"inertia": [1, 0, 0, 1, 0, 5]})):
        with pytest.raises(ValueError, match="tool1"):
            robot.set_payload("tool1", mass, **shape)
    with pytest.raises(KeyError, match="tool_1"):
        robot.set_payload("tool_1", 1.0)
    for ours, wanted in zip(everything(robot, *state), before):
        np.testing.assert_array_equal(ours, wanted)
