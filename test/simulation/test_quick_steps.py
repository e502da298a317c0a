# SPDX-License-Identifier: Apache-2.0
"""Many steps in one call of a kernel come to what single ones do, and end where these would say why."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.models.arms import ARM, CHECKED_ARM, FLOATING_ARM
from helpers.models.built import robot_of
from helpers.models.mixed_trees import mixed_tree
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, Planar, Prismatic, Revolute, Spherical, Universal
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation import Simulation, SimulationDiverged, SimulationOptions
from rbd_dynamics.simulation.simulation import QUICK_AFTER

MODELS = {
    "arm with a stop, friction": lambda: load_urdf(ARM),
    "arm with a mimic joint": lambda: load_urdf(CHECKED_ARM),
    "arm on a floating body": lambda: load_urdf(FLOATING_ARM, base="floating"),
    "tree of screws": lambda: mixed_tree(3, 5, ["revolute", "prismatic", "helical", "universal", "screw"]),
    "balls on an arm": lambda: robot_of(
        [Revolute((0.0, 0.0, 1.0)), Spherical(), Prismatic((1.0, 0.0, 0.0)), Spherical()]
    ),
    "balls on a floating body": lambda: robot_of(
        [Floating(), Spherical(), Universal((1, 0, 0), (0, 1, 0)), Spherical()]
    ),
    "free body": lambda: robot_of([Floating()], gravity=(0.0, 0.0, -9.81)),
}


def pair(model, seed=0, pushed=20.0, **options):
    """Two simulations on their way, the second one step by step."""
    rng = np.random.default_rng(seed)
    q, v, tau = model.random(rng), 0.5 * rng.normal(size=model.nv), pushed * rng.normal(size=model.nv)
    both = [Simulation(model, q=q, options=SimulationOptions(start_braked=False, **options)) for _ in range(2)]
    for simulation in both:
        simulation.v[:] = v
        simulation.command(tau, np.arange(model.nv))
    quick, slow = both
    assert quick.quick is not None
    for robot, kernels in quick.robots:
        robot.compile(*kernels)
    slow.quick = None
    return quick, slow


def assert_same(quick, slow, tolerance=1e-9):
    for name in ("q", "v", "a", "tau"):
        size = max(1.0, np.abs(getattr(slow, name)).max())
        np.testing.assert_allclose(getattr(quick, name), getattr(slow, name), atol=tolerance * size, rtol=0.0)
    assert (quick.steps, quick.time) == (slow.steps, slow.time)


OPTIONS = ({}, {"friction": False, "effort_limits": False}, {"position_limits": False})


@pytest.mark.parametrize(
    ("name", "options"),
    table(
        [(name, options) for name in MODELS for options in OPTIONS],
        lambda case: not case[1] or case[0] in ("arm with a stop, friction", "arm on a floating body"),
    ),
)
def test_many_steps_at_once_are_those_one_by_one(name, options):
    quick, slow = pair(MODELS[name](), seed=2, step=5e-4, **options)
    for count in (1, 2, 97, 100):
        assert quick.advance(count) == count
        slow.advance(count)
        assert_same(quick, slow)


def test_joints_stand_at_their_stops_and_leave_them():
    """The slide is pushed out, and drawn back: it stands still at the stop, and no stop pulls."""
    model = load_urdf(ARM)
    quick, slow = pair(model, pushed=0.0, friction=False)
    seen = set()
    for force in (25.0, -25.0, 25.0, 0.0):
        for simulation in (quick, slow):
            simulation.command([force], [2])
            simulation.advance(500)
        assert_same(quick, slow, 1e-8)
        seen.add(round(float(quick.q[2]), 9))
    assert {0.2, -0.1} <= seen
    assert model.lower[2] - 1e-9 <= quick.q[2] <= model.upper[2] + 1e-9


def test_stops_push_at_several_joints_at_once():
    """A robot with all joints near a limit: who stands there is found together, as the long way finds it."""
    model = rbd.load("talos_reduced")
    quick, slow = pair(model, seed=1, pushed=3.0)
    for _ in range(4):
        quick.advance(60)
        slow.advance(60)
        assert_same(quick, slow, 1e-8)
    at_limit = (np.abs(quick.q - model.lower) < 1e-9) | (np.abs(quick.q - model.upper) < 1e-9)
    assert at_limit.sum() >= 3


def test_a_base_that_turns_far_in_a_step_goes_the_long_way():
    model = robot_of([Floating()], gravity=(0.0, 0.0, 0.0))
    quick, slow = pair(model, pushed=0.0, step=0.01)
    for simulation in (quick, slow):
        simulation.v[:3] = (150.0, 40.0, -90.0)
        simulation.advance(20)
    assert_same(quick, slow)


def test_kernel_is_compiled_where_it_pays(tmp_path, monkeypatch):
    """The first steps go without; nothing jumps where the others begin."""
    quick, slow = pair(load_urdf(ARM), pushed=5.0)
    fresh = Simulation(quick.model, q=quick.start, options=quick.options)
    fresh.v[:] = quick.v
    fresh.command(quick._command, np.arange(3))
    assert fresh.quick is not None and not fresh.quick.ready
    for count in (QUICK_AFTER - 1, 1):
        for simulation in (fresh, slow):
            simulation.advance(count)
        assert not fresh.quick.ready
    for simulation in (fresh, slow):
        simulation.advance(30)
    assert fresh.quick.ready
    assert_same(fresh, slow)


@pytest.mark.parametrize("timeout", [0.05, 0.0501, 1e-4])
def test_commands_time_out_within_many_steps(timeout):
    quick, slow = pair(load_urdf(ARM), pushed=8.0, command_timeout=timeout)
    quick.advance(120)
    for _ in range(120):
        slow.advance()
    assert quick.timed_out and slow.timed_out
    assert not quick.tau.any()
    assert_same(quick, slow)


def test_brakes_hold_for_all_steps():
    simulation = Simulation(load_urdf(ARM))
    simulation.advance(1000)
    assert simulation.steps == 1000
    np.testing.assert_array_equal(simulation.q, simulation.start)


def test_what_diverges_says_so_and_keeps_the_last_sound_state():
    builder = rbd.ModelBuilder("rocket", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", None, Prismatic((1.0, 0.0, 0.0)), mass=1.0)
    quick, slow = pair(builder.build(), pushed=0.0)
    for simulation in (quick, slow):
        simulation.command([2.0e6], [0])
        with pytest.raises(SimulationDiverged, match=r"joint '.*' reaches a speed of .* at t = "):
            simulation.advance(100)
    assert_same(quick, slow)
    assert 0 < quick.steps < 100


def test_states_that_were_read_stay_as_they_were():
    quick, _ = pair(load_urdf(ARM))
    q, v, a = quick.q, quick.v, quick.a
    kept = q.copy(), v.copy(), a.copy()
    quick.advance(10)
    for array, before in zip((q, v, a), kept):
        np.testing.assert_array_equal(array, before)
    assert not np.array_equal(quick.q, q)


def test_loads_act_from_the_next_step_on():
    quick, slow = pair(load_urdf(ARM), pushed=1.0)
    for simulation in (quick, slow):
        simulation.advance(20)
        for robot, _ in simulation.robots:
            robot.set_payload("hand", 3.0, com=(0.0, 0.0, 0.1))
        simulation.advance(50)
    assert_same(quick, slow)


SMOOTH = MODELS | {
    "arm with damping": lambda: load_urdf(re.sub(r'friction="[^"]*"', 'friction="0"', ARM)),
    "ball at the world": lambda: robot_of([Spherical(), Revolute((0.0, 0.0, 1.0))]),
    "a second free body": lambda: robot_of([Floating(), Revolute((0.0, 0.0, 1.0)), Floating()]),
}


@pytest.mark.parametrize("integrator", ["rk4", "explicit_euler"])
@pytest.mark.parametrize("name", table(SMOOTH, ["arm with damping", "balls on a floating body"]))
def test_steps_of_smooth_methods_are_those_one_by_one(name, integrator):
    """Also where stops are met on the way, by friction that is not dry."""
    friction = name == "arm with damping"
    for options in ({"friction": friction}, {"friction": friction, "position_limits": False}):
        quick, slow = pair(SMOOTH[name](), seed=1, integrator=integrator, **options)
        for count in (1, 99):
            quick.advance(count)
            for _ in range(count):
                slow.advance()
            assert_same(quick, slow, 1e-11)


def test_long_ways_remain_for_what_is_not_plain():
    ball = robot_of([Spherical(), Revolute((0.0, 0.0, 1.0))])
    arm = load_urdf(ARM)
    assert Simulation(ball).quick is None
    assert Simulation(arm, options=SimulationOptions(integrator="adaptive", friction=False)).quick is None
    plane = robot_of([Planar()])
    assert Simulation(plane, options=SimulationOptions(integrator="rk4")).quick is None
    assert Simulation(arm).quick is not None


def test_kernel_of_a_step_is_the_algorithm():
    """Machine code and plain Python, with joints at and off their stops."""
    model = load_urdf(ARM)
    rng = np.random.default_rng(4)
    for _ in range(20):
        q, v, tau = model.random(rng), rng.normal(size=3), 10.0 * rng.normal(size=3)
        side = rng.integers(-2, 3, size=3).astype(float)
        lower, upper = np.maximum(model.lower, -1e300), np.minimum(model.upper, 1e300)
        count = np.array([rng.integers(0, 3), 0.0])
        found = [
            Robot(model, friction=True, backend=backend).evaluation("time_step")(
                (q, v, np.zeros(3), tau, np.array(1e-3), lower, upper, side, count, Robot(model).inertia_input)
            )
            for backend in ("llvm", "reference")
        ]
        for one, other in zip(*found):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
