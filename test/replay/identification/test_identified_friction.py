# SPDX-License-Identifier: Apache-2.0
"""Friction from recordings of simulated robots that are known exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.models.identified import arm, with_friction, without_friction
from helpers.models.robots import shared_robot
from helpers.recorded.exciting import LOW_PASS, RATE, fourier, measured, segments_of, stamps_of
from helpers.recorded.identifying import SEEDS, Coverage, found_by, needs_files, note_friction, resting
from helpers.wide import table

from rbd_dynamics import ModelBuilder
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.model import Model
from rbd_dynamics.model.joints import Prismatic
from rbd_dynamics.replay import Segment, Settings
from rbd_dynamics.replay.identification import FrictionIdentifier
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.simulation.perturbation import with_joint_friction


@needs_files
@pytest.mark.parametrize(
    ("robot_name", "colour"),
    table(
        [(name, colour) for name in ("ur5_robot", "panda") for colour in (0.0, 0.1)],
        [("ur5_robot", 0.1), ("panda", 0.0)],
    ),
)
def test_friction_lies_in_its_intervals_and_they_are_narrow(robot_name, colour):
    given = without_friction(robot_name)
    model, offset = with_friction(given)
    coverage, curved = Coverage(), 0
    for seed in SEEDS:
        parts = segments_of(*measured(model, seed, offset=offset, colour=colour))
        found = found_by(FrictionIdentifier(shared_robot(given), low_pass=LOW_PASS), parts)
        assert [joint.joint for joint in found.joints] == model.joint_names
        note_friction(coverage, found.joints, model, offset)
        curved += sum(joint.stribeck is not None for joint in found.joints)
        assert all(joint.rmse_after < 0.5 * joint.rmse_before for joint in found.joints)
    coverage.check()
    assert np.median(coverage.widths["coulomb"]) < 0.05
    assert np.median(coverage.widths["viscous"]) < 0.1
    assert curved <= 0.03 * len(SEEDS) * model.nv  # tested at 1 %


@needs_files
def test_a_fall_of_friction_with_speed_is_found():
    given = without_friction("ur5_robot")
    model, offset = with_friction(given)
    coverage = Coverage()
    for seed in range(8):
        parts = segments_of(*measured(model, seed, offset=offset, stribeck=(1.8, 0.12), speed=0.3))
        found = found_by(FrictionIdentifier(shared_robot(given), low_pass=LOW_PASS), parts)
        v = np.linspace(-0.8, 0.8, 300)[:, None] * np.ones(6)
        level = (1.0 + 0.8 * np.exp(-((v / 0.12) ** 2))) * np.tanh(v / 1e-2)
        friction, damping = (np.array([getattr(j, key) for j in model.joints]) for key in ("friction", "damping"))
        assert np.abs(found.torque(model.joint_names, v) - offset - friction * level - damping * v).max() < 0.15
        for joint, truth in zip(found.joints, model.joints):
            assert joint.stribeck is not None
            assert joint.stribeck.breakaway.value == pytest.approx(1.8 * truth.friction, rel=0.15)
            assert joint.stribeck.speed.value == pytest.approx(0.12, rel=0.3)
            coverage.note(joint.stribeck.speed, 0.12)
            coverage.note(joint.stribeck.breakaway, 1.8 * truth.friction)
            coverage.note(joint.coulomb, truth.friction)
            coverage.note(joint.viscous, truth.damping)
    coverage.check()


@needs_files
def test_friction_that_the_terms_name_is_part_of_what_is_found():
    given = without_friction("ur5_robot")
    model, offset = with_friction(given)
    half = with_joint_friction(
        given, **{key: {j.name: 0.5 * getattr(j, key) for j in model.joints} for key in ("damping", "friction")}
    )
    parts = segments_of(*measured(model, 0, offset=offset))
    without = found_by(FrictionIdentifier(shared_robot(given), low_pass=LOW_PASS), parts)
    named = found_by(
        FrictionIdentifier(shared_robot(half), low_pass=LOW_PASS, terms=(*Settings().terms, "friction")), parts
    )
    for one, other in zip(without.joints, named.joints):
        assert other.coulomb.value == pytest.approx(one.coulomb.value, rel=1e-6)
        assert other.viscous.value == pytest.approx(one.viscous.value, rel=1e-6)
        assert other.rmse_after == pytest.approx(one.rmse_after, rel=1e-6)
    assert sum(joint.rmse_before for joint in named.joints) < sum(joint.rmse_before for joint in without.joints)
    assert {j.name: j.friction for j in named.model(half).joints} == pytest.approx(
        {joint.joint: max(0.0, joint.coulomb.value) for joint in named.joints}
    )


def test_columns_that_jump_must_pass_the_filter_that_the_torque_has_passed():
    model = arm()
    parts = segments_of(*measured(model, None, speed=0.2, base=0.3))

    def wrong(low_pass: LowPass | None) -> float:
        found = found_by(FrictionIdentifier(shared_robot(model), low_pass=low_pass), parts)
        return max(abs(joint.coulomb.value - 0.3) for joint in found.joints)

    assert wrong(LOW_PASS) < 0.002 < 0.003 < wrong(None)


def test_friction_of_a_joint_that_stands_is_not_known():
    model = arm()
    parts = resting(model, np.zeros((20, 3)))
    found = found_by(FrictionIdentifier(shared_robot(model)), parts)
    assert found.joints == ()
    # one joint moves, the others stand
    stamps, numbers = measured(model, 1)
    numbers[:, :2, 1:] = numbers[0, :2, 1:] * [[1.0], [0.0]]
    q, v, effort = numbers.transpose(1, 0, 2)
    a = fourier(model, np.arange(len(q)) / RATE)[2] * [1.0, 0.0, 0.0]
    effort[:] = inverse_dynamics_terms(shared_robot(model), q, v, a, ("inertia", "coriolis", "gravity", "friction"))
    found = found_by(FrictionIdentifier(shared_robot(model), low_pass=LOW_PASS), segments_of(stamps, numbers))
    assert [joint.joint for joint in found.joints] == ["j0"]
    assert found.of("j0").coulomb.value == pytest.approx(0.3, abs=0.01)
    assert found.model(model).joint("j1") == model.joint("j1")


def starting(model: Model, count: int, *, stands: float, held: float) -> list[Segment]:
    """Segments that begin while the robot stands for so long, held by friction against `held` N m; then it moves."""
    found, motion = [], np.arange(int(2.5 * RATE)) / RATE
    speed = 0.5 * np.sin(2.0 * np.pi * motion / 1.25) ** 2 * np.where(motion < 1.25, 1.0, -0.5)
    for k in range(count):
        v = np.concatenate([np.zeros(int(stands * RATE)), speed])[:, None] * np.ones(model.nv)
        q, a = np.cumsum(v, axis=0) / RATE, np.gradient(v, 1.0 / RATE, axis=0)
        tau = inverse_dynamics_terms(shared_robot(model), q, v, a, ("inertia", "coriolis", "gravity", "friction"))
        tau[: int(stands * RATE)] += held
        tau += 0.01 * np.random.default_rng(k).normal(size=tau.shape)
        t = 10.0 * k + np.arange(len(q)) / RATE
        measured, filled = np.ones(model.nv, dtype=bool), np.zeros(len(q), dtype=bool)
        q, v, a, smooth = LOW_PASS.both_ways(np.stack([q, v, a, tau], axis=1)).transpose(1, 0, 2)
        found.append(Segment(k, 0, stamps_of(t), t, q, v, a, smooth, tau, measured, filled))
    return found


@pytest.mark.parametrize(
    ("stands", "held"),
    table(
        [(stands, held) for stands in (0.0, 0.4, 0.8) for held in (0.0, 2.0, -2.0)],
        [(0.0, 0.0), (0.4, 2.0), (0.8, 0.0), (0.8, -2.0)],
    ),
)
def test_what_holds_a_joint_before_it_moves_is_not_its_friction(stands, held):
    """Seen: standing that a segment's begin cuts short was taken for motion, and made friction anything."""
    model = arm()
    found = found_by(
        FrictionIdentifier(shared_robot(model), low_pass=LOW_PASS), starting(model, 8, stands=stands, held=held)
    )
    for joint in found.joints:
        assert joint.coulomb.value == pytest.approx(0.3, abs=0.01)
        assert joint.viscous.value == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("block", [2000, 700])
def test_what_touches_a_robot_is_not_its_friction(block):
    """With an offset of its own for each time that something does, what it exerts makes no difference at all."""
    model, spans = arm(), [(5.0, 21.0), (30.0, 31.0), (45.0, 90.0)]
    free = segments_of(*measured(model, 0), block)

    def pressed(part: Segment) -> Segment:
        exerted = sum(6.0 * (k - 1.5) * ((part.t >= begin) & (part.t <= end)) for k, (begin, end) in enumerate(spans))
        return replace(part, tau=part.tau + np.reshape(exerted, (-1, 1)))

    def found(parts, touched=()):
        return found_by(FrictionIdentifier(shared_robot(model), low_pass=LOW_PASS, touched=touched), parts)

    apart, same, mixed = found(map(pressed, free), spans), found(free, spans), found(map(pressed, free))
    for one, other, wrong in zip(apart.joints, same.joints, mixed.joints):
        for name in ("offset", "coulomb", "viscous"):
            assert getattr(one, name).value == pytest.approx(getattr(other, name).value, rel=1e-9)
            assert getattr(one, name).error == pytest.approx(getattr(other, name).error, rel=1e-6)
        assert one.coulomb.covers(0.3) and one.coulomb.upper - one.coulomb.lower < 0.05
        assert not wrong.coulomb.identifiable or wrong.coulomb.error > 10.0 * one.coulomb.error


def test_units_are_those_of_the_joint():
    builder = ModelBuilder("slide")
    builder.add_body("cart", None, Prismatic((1, 0, 0)), joint_name="rail", mass=2.0, inertia=(0.1, 0, 0, 0.1, 0, 0.1))
    model = with_joint_friction(builder.build(), damping={"rail": 1.0}, friction={"rail": 2.0})
    found = found_by(FrictionIdentifier(shared_robot(model), low_pass=LOW_PASS), segments_of(*measured(model, 0)))
    (joint,) = found.joints
    assert (joint.coulomb.unit, joint.viscous.unit) == ("N", "N s/m")
    assert joint.coulomb.value == pytest.approx(2.0, rel=0.05)
