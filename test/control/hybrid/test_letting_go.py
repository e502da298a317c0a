# SPDX-License-Identifier: Apache-2.0
"""The force that can be let go in time, against motions of one joint in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbd_dynamics.control.hybrid.touch import letting_go
from rbd_dynamics.control.hybrid.touch.approach import fastest_approach
from rbd_dynamics.control.hybrid.touch.letting_go import (
    KEPT,
    LOST,
    STEP,
    THROWN,
    UNSEEN,
    Answer,
    HeldByFriction,
    LettingGo,
)
from rbd_dynamics.control.hybrid.touch.normal_speed import BRAKING, NormalSpeed

MASS, LEVER, DAMPING, SPEED = 3.0, 0.4, 30.0, 0.05  # kg, m, 1/s, m/s
INERTIA = MASS * LEVER**2  # of one joint


def one_joint(damping=DAMPING):
    return Answer(
        np.array([LEVER]), np.array([LEVER]),
        np.array([[1.0 / INERTIA]]), np.array([[BRAKING * damping * INERTIA]]), np.zeros((1, 1)),
    )  # fmt: skip


def largest(rate, *, most=1e3, answer=None, damping=DAMPING):
    answer = answer or one_joint(damping)
    letting = LettingGo(len(answer.row))
    letting.rates[:] = rate
    return letting.largest(answer, SPEED, most)


def test_efforts_that_may_jump_leave_what_is_not_seen_at_once_and_the_braking():
    """For `UNSEEN` steps it grows faster; then the damper takes the speed away, over v / (k c) of the way."""
    force = largest(np.inf)
    unseen = UNSEEN * STEP
    speed = force / MASS * unseen
    way = 0.5 * speed * unseen + speed / (BRAKING * DAMPING)
    assert way == pytest.approx(LOST * SPEED, rel=0.1)


def test_efforts_that_fall_slowly_leave_what_they_push_meanwhile():
    """So slowly that the damper is not felt: after u, F falls to nothing in T = F l / rate, and on, until it stands."""
    rate, hard = 20.0, 1e4  # braked by all that the rate allows
    force = largest(rate, most=10.0, damping=hard)
    fall = force * LEVER / rate
    unseen = UNSEEN * STEP
    stands = fall + math.sqrt(fall**2 + 2.0 * unseen * fall)  # of a(t) = F / m (1 - t / T)
    way = force / MASS * (0.5 * unseen**2 + unseen * stands + 0.5 * stands**2 - stands**3 / (6.0 * fall))
    assert way == pytest.approx(LOST * SPEED, rel=0.05)
    assert largest(10.0 * rate, damping=hard) > force


def test_what_friction_holds_pushes_on_as_well_where_the_contact_is_lost():
    """An arm that answers a force aside by half of it along the normal: 1.3 times as far, of a friction of 0.6."""
    alone = one_joint()
    friction = alone._replace(pushed=1.3 * alone.row)
    found, without = (largest(np.inf, most=200.0, answer=each) for each in (friction, alone))
    assert found == pytest.approx(without / 1.3, abs=2.0 * 200.0 / 2**7)
    assert largest(100.0, most=200.0, answer=friction) < 0.9 * largest(100.0, most=200.0, answer=alone)


def test_it_is_never_more_than_is_asked_and_without_a_bound_all_of_it():
    assert largest(1000.0, most=2.0) == 2.0
    assert LettingGo(1).largest(one_joint(), 0.0, 50.0) == 50.0


def test_no_joint_is_thrown_by_friction_that_lets_go():
    """Two joints in closed form: a torque mu F r is free for T, and makes mu F r T / I of a joint's speed."""
    inertias, arms, speeds, late = np.array([5e-4, 2.0]), np.array([0.05, 0.5]), np.array([3.0, 3.0]), 0.015
    felt, friction = 10.0, 0.6
    held = HeldByFriction()
    most = held.largest(np.diag(inertias), friction * felt * arms, felt, speeds, late)
    assert friction * most * arms[0] * late / inertias[0] == pytest.approx(THROWN * speeds[0], rel=1e-12)
    later = held.largest(np.diag(inertias), np.zeros(2), felt, speeds, late)  # friction comes and goes
    assert later == pytest.approx(most / KEPT, rel=1e-12)
    assert HeldByFriction().largest(np.diag(inertias), np.zeros(2), felt, speeds, late) == math.inf


def test_machine_code_and_python_agree(monkeypatch):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((7, 7))
    M = A @ A.T + np.eye(7)
    answer = Answer(*rng.standard_normal((2, 7)), np.linalg.inv(M), 70.0 * M, 1200.0 * M)
    compiled = largest(800.0, answer=answer)
    slow = letting_go.Loops(letting_go.way_of, letting_go.let_go, machine_code=False)
    monkeypatch.setattr(letting_go, "_loops", lambda: slow)
    assert largest(800.0, answer=answer) == pytest.approx(compiled, rel=1e-12)


def test_a_blow_makes_no_joint_faster_than_its_limit():
    """A wrist that weighs little takes the blow: its speed changes by the whole impulse, twice what stops the tool."""
    M, row, limits = np.diag([2.0, 0.02]), np.array([[0.5, 0.15]]), np.array([2.0, 3.0])
    Minv_At = np.linalg.solve(M, row.T)
    mass = 1.0 / float(row[0] @ Minv_At[:, 0])
    speed = fastest_approach(Minv_At * mass, limits)
    after = Minv_At[:, 0] * 2.0 * mass * speed  # an elastic blow
    share = np.abs(after) / limits
    assert 0.8 < share.max() < 1.0
    assert math.isinf(fastest_approach(np.zeros((2, 0)), limits))


@pytest.mark.parametrize("stiffness", [1200.0, 3000.0, 10000.0])
def test_the_push_comes_back_on_soft_ground(stiffness):
    """2.1 kg sink in under 25 N, with efforts 11 ms late.

    A push that came back at once made them fast at once, was cut, and came back, for ever: 3 to 7 N were pressed.
    """
    speed, height, rate, effort, late, felt = NormalSpeed(np.array([True])), 0.0, 0.0, 0.0, [0.0] * 6, []
    for _ in range(2000):
        drift = np.array([rate])
        speed.update(drift, 1e-3, 0.05, 0.011)
        late.append(-25.0 * speed.share + 2.1 * 60.0 * (speed.aim(drift, np.zeros(1))[0] - rate))
        effort += (1.0 - math.exp(-2.0 * math.pi * 30.0 * 1e-3)) * (late.pop(0) - effort)
        felt.append(max(0.0, -stiffness * height))
        rate += 1e-3 * (effort + felt[-1]) / 2.1
        height += 1e-3 * rate
    np.testing.assert_allclose(felt[-300:], 25.0, atol=0.1)


@pytest.mark.parametrize(("force", "mass"), [(48.0, 3.0), (25.0, 0.9), (10.0, 0.4)])
def test_a_push_that_nothing_holds_makes_no_more_than_the_speed_that_is_allowed(force, mass):
    """Where the surface ends, efforts 11 ms late; by the damping alone it would go on at .27 to .46 m/s."""
    allowed, damping = 0.05, 60.0
    speed, rate, effort, late, fastest = NormalSpeed(np.array([True])), 0.0, -force, [-force] * 6, 0.0
    for _ in range(1000):
        drift = np.array([rate])
        speed.update(drift, 1e-3, allowed, 0.011)
        late.append(-force * speed.share + mass * damping * (speed.aim(drift, np.zeros(1))[0] - rate))
        effort += (1.0 - math.exp(-2.0 * math.pi * 30.0 * 1e-3)) * (late.pop(0) - effort)
        rate += 1e-3 * effort / mass
        fastest = max(fastest, -rate)
    unseen = force / mass * 0.011  # before any effort answers
    assert fastest < unseen + allowed and -rate < allowed
    assert force / (mass * damping) > 5.0 * allowed
