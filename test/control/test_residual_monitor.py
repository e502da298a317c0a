# SPDX-License-Identifier: Apache-2.0
"""The residual and what touches a robot, sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot

from rbd_dynamics import Robot
from rbd_dynamics.control.contact.detector import RELEASE_OF_PEAK
from rbd_dynamics.control.contact.residual_monitor import ResidualMonitor
from rbd_dynamics.control.contact.state_filter import StateFilter
from rbd_dynamics.control.terms import inverse_dynamics_terms

RATE = 500.0


def trajectory(nv, count=2000, rate=RATE):
    t = np.arange(count) / rate
    w, phase = 1.0 + 0.3 * np.arange(nv), np.arange(nv)
    x = w * t[:, None] + phase
    return t, 0.4 * np.sin(x), 0.4 * w * np.cos(x), -0.4 * w**2 * np.sin(x)


@pytest.fixture(scope="module")
def robot():
    return Robot(load_robot("ur5_robot"))


def run(monitor, t, q, v, tau):
    """Residuals where they are valid, external torques and contact, of all samples."""
    found = []
    for k in range(len(t)):
        answered = monitor.update(q[k], v[k], tau[k], t[k])
        found.append((answered and monitor.ready, monitor.residual.copy(), monitor.external.copy(), monitor.contact))
    return [np.array(column) for column in zip(*found)]


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_filter_gives_a_delayed_signal_and_its_derivative(rate):
    low_pass, t = StateFilter(1, 8.0), np.arange(0.0, 3.0, 1.0 / rate)
    u = np.sin(2.0 * t)
    low_pass.reset(u[:1])
    found = []
    for k in range(1, len(t)):
        low_pass.update(u[k : k + 1], t[k] - t[k - 1])
        found.append((low_pass.x[0], low_pass.rate[0]))
    gain, late = 1.0 / (1.0 + (2.0 / low_pass.w) ** 2), 2.0 * np.arctan(2.0 / low_pass.w) / 2.0
    settled = t[1:] > low_pass.settling
    x, rate_ = np.array(found)[settled].T
    after = t[1:][settled] - late
    np.testing.assert_allclose(x, gain * np.sin(2.0 * after), atol=2e-3)
    np.testing.assert_allclose(rate_, 2.0 * gain * np.cos(2.0 * after), atol=8e-3)


def test_filter_is_exact_for_straight_signals_at_any_distance():
    rng = np.random.default_rng(0)
    one, other = StateFilter(1, 3.0), StateFilter(1, 3.0)
    for low_pass in (one, other):
        low_pass.reset(np.array([0.3]))
    one.update(np.array([1.3]), 1.0)
    steps = rng.dirichlet(np.ones(20))
    for time, step in zip(np.cumsum(steps), steps):
        other.update(np.array([0.3 + time]), step)
    np.testing.assert_allclose((one.x, one.rate), (other.x, other.rate), rtol=1e-12)


def test_right_model_has_no_residual(robot):
    t, q, v, a = trajectory(6)
    monitor = ResidualMonitor(robot, cutoff=10.0)
    ready, residual, external, _ = run(monitor, t, q, v, robot.inverse_dynamics(q, v, a))
    assert 0.05 < np.flatnonzero(ready)[0] / RATE < 0.2
    scale = np.abs(robot.inverse_dynamics(q, v, a)).max()
    assert np.abs(residual[ready]).max() < 0.01 * scale  # the filter is not linear in what the model is
    assert np.abs(external[1:]).max() < 1e-3 * scale
    assert monitor.restarts == 0


def test_offset_and_external_torque_are_seen_late_by_what_is_stated(robot):
    t, q, v, a = trajectory(6)
    push = np.zeros((len(t), 6))
    push[500:1200, 2] = 8.0
    monitor = ResidualMonitor(robot, cutoff=10.0, observer_rate=40.0, thresholds=3.0, contact_duration=0.02)
    ready, residual, external, contact = run(monitor, t, q, v, robot.inverse_dynamics(q, v, a) - push)
    np.testing.assert_allclose(external[700:1200, 2], 8.0, atol=0.1)
    np.testing.assert_allclose(residual[700:1200, 2], -8.0, atol=0.5)
    # 3 of 8 N m: ln(8 / 5) / 40 s, and the duration; 0.35 of the peak
    begin, end = np.flatnonzero(np.diff(contact)) / RATE
    assert abs(begin - (1.0 + np.log(8 / 5) / 40 + 0.02)) < 0.006
    assert abs(end - (2.4 + np.log(1 / RELEASE_OF_PEAK) / 40 + 0.02)) < 0.006


def test_an_offset_is_no_contact_at_the_beginning_nor_after_a_gap(robot):
    t, q, v, a = trajectory(6, 1500)
    tau = robot.inverse_dynamics(q, v, a) + np.array([0.0, 8.0, -5.0, 0.0, 0.0, 0.0])
    t[750:] += 5.0
    for still in (False, True):
        if still:
            q, v = np.tile(q[:1], (len(t), 1)), np.zeros_like(v)
            tau = robot.gravity(q) + np.array([0.0, 8.0, -5.0, 0.0, 0.0, 0.0])
        monitor = ResidualMonitor(robot, thresholds=1.0)
        *_, contact = run(monitor, t, q, v, tau)
        assert monitor.restarts == 1 and not contact.any()
        np.testing.assert_allclose(monitor.detector.baseline, [0, -8.0, 5.0, 0, 0, 0], atol=0.2)


@pytest.mark.parametrize("terms", [("inertia", "coriolis"), ("inertia", "coriolis", "gravity", "friction")])
def test_terms_of_the_efforts(terms):
    robot = Robot(load_robot("panda"))
    t, q, v, a = trajectory(robot.model.nv)
    tau = inverse_dynamics_terms(robot, q, v, a, terms)
    monitor = ResidualMonitor(robot, terms=terms, cutoff=10.0)
    ready, residual, external, _ = run(monitor, t, q, v, tau)
    assert np.abs(external[1:]).max() < 0.02 * np.abs(tau).max()
    assert np.abs(residual[ready]).max() < 0.05 * np.abs(tau).max()


def test_gaps_and_clocks_set_back_begin_anew(robot):
    t, q, v, a = trajectory(6, 1000)
    tau = robot.inverse_dynamics(q, v, a)
    for shift in (0.5, -3.0):
        shifted = t + shift * (np.arange(len(t)) >= 500)
        monitor = ResidualMonitor(robot, cutoff=10.0)
        ready, residual, external, _ = run(monitor, shifted, q, v, tau)
        assert monitor.restarts == 1 and not ready[500] and not ready[510] and ready[700]
        assert np.abs(external[501:]).max() < 0.1 and np.abs(residual[ready]).max() < 1.0


def test_a_sample_with_which_it_only_begins_anew_is_said_to_give_nothing(robot):
    t, q, v, a = trajectory(6, 6)
    tau = robot.inverse_dynamics(q, v, a)
    monitor = ResidualMonitor(robot, cutoff=10.0)
    told = [monitor.update(q[k], v[k], tau[k], t[k] + 0.5 * (k >= 3)) for k in range(6)]
    assert told == [False, True, True, False, True, True]


def test_after_a_gap_nothing_is_left_of_what_was_felt_before(robot):
    """As with a monitor that has only seen what came after it, to the last bit but rounding."""
    t, q, v, a = trajectory(6, 1000)
    tau = robot.inverse_dynamics(q, v, a)
    tau[:500] -= 20.0  # something holds against it until then
    t[500:] += 0.5
    whole, after = ResidualMonitor(robot, cutoff=10.0), ResidualMonitor(robot, cutoff=10.0)
    _, _, external, contact = run(whole, t, q, v, tau)
    assert np.abs(external[499]).min() > 10.0
    _, residual, alone, touched = run(after, t[500:], q[500:], v[500:], tau[500:])
    np.testing.assert_allclose(external[501:], alone[1:], atol=1e-9)
    np.testing.assert_array_equal(contact[501:], touched[1:])


def test_odd_samples_change_nothing(robot):
    t, q, v, a = trajectory(6, 100)
    tau = robot.inverse_dynamics(q, v, a)
    monitor = ResidualMonitor(robot)
    run(monitor, t, q, v, tau)
    external = monitor.external.copy()
    with pytest.raises(ValueError, match="not later"):
        monitor.update(q[-1], v[-1], tau[-1], t[-1])
    with pytest.raises(ValueError, match="not finite"):
        monitor.update(np.full(6, np.nan), v[-1], tau[-1], t[-1] + 0.01)
    np.testing.assert_array_equal(monitor.external, external)
    assert monitor.update(q[-1], v[-1], tau[-1], t[-1] + 1 / RATE)


def test_joints_without_effort_do_not_disturb_the_others(robot):
    t, q, v, a = trajectory(6)
    tau = robot.inverse_dynamics(q, v, a)
    whole = run(ResidualMonitor(robot), t, q, v, tau)
    tau = tau.copy()
    tau[:, 3] = np.nan
    monitor = ResidualMonitor(robot, thresholds=1.0)
    part = run(monitor, t, q, v, tau)
    rest = [0, 1, 2, 4, 5]
    for one, other in zip(whole[1:3], part[1:3]):
        np.testing.assert_allclose(one[1:, rest], other[1:, rest], atol=1e-9)
        assert np.isnan(other[1:, 3]).all()
    assert not part[3].any()


def test_continuous_joints_may_jump_by_a_turn():
    robot = Robot(load_robot("ur5_robot"))
    from rbd_dynamics import ModelBuilder
    from rbd_dynamics.model.joints import Continuous

    builder = ModelBuilder("wheel")
    builder.add_body(
        "wheel", None, Continuous((0.0, 1.0, 0.0)), mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0, 0, 0.1, 0, 0.1)
    )
    robot = Robot(builder.build())
    t = np.arange(1500) / RATE
    q = (3.0 * t)[:, None]
    v, a = np.full_like(q, 3.0), np.zeros_like(q)
    wrapped = (q + np.pi) % (2.0 * np.pi) - np.pi
    ready, residual, external, _ = run(
        ResidualMonitor(robot, cutoff=20.0), t, wrapped, v, robot.inverse_dynamics(q, v, a)
    )
    assert np.abs(residual[ready]).max() < 0.02 and np.abs(external[1:]).max() < 0.01


@pytest.mark.parametrize("what", ["reset", "brakes"])
def test_resets_and_brakes_are_no_contact(robot, what):
    """It moves, then stands elsewhere; or its brakes hold it, and no joint exerts anything. Then it moves on."""
    t, q, v, a = trajectory(6, 1500)
    tau = robot.inverse_dynamics(q, v, a)
    if what == "reset":
        q = q.copy()
        q[700:] += 0.1
        tau[700:] = robot.inverse_dynamics(q[700:], v[700:], a[700:])
    else:
        q[500:900], v[500:900], tau[500:900] = q[500], 0.0, 0.0
    monitor = ResidualMonitor(robot, thresholds=3.0, cutoff=10.0)
    braked = []
    contact = []
    for k in range(len(t)):
        monitor.update(q[k], v[k], tau[k], t[k])
        braked.append(monitor.braked)
        contact.append(monitor.contact)
    assert not any(contact)
    assert monitor.restarts == 1
    assert np.flatnonzero(braked).tolist() == ([] if what == "reset" else list(range(500, 900)))


def test_without_gravity_in_the_efforts_brakes_cannot_be_told(robot):
    monitor = ResidualMonitor(robot, terms=("inertia", "coriolis"))
    for k in range(100):
        monitor.update(np.full(6, 0.5), np.zeros(6), np.zeros(6), k / RATE)
    assert not monitor.braked and monitor.restarts == 0
