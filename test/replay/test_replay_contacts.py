# SPDX-License-Identifier: Apache-2.0
"""Pushes on simulated arms with hard friction, found by a replay: a small `benchmarks.recordings.contacts`."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import FILES, shared_robot
from helpers.recorded.bags import START, Content, Message, needs_rosbags, write_ros2
from helpers.recorded.recordings import NAMES, RATE, SETTINGS, URDF
from helpers.wide import table
from rigs.found_pushes import PERIODS, SIZES, replayed
from rigs.pushed_arms import STEP, UR, description_of, simulate

from rbd_dynamics import load_urdf
from rbd_dynamics.control.contact.detector import LONGEST, ContactDetector
from rbd_dynamics.replay import analyse
from rbd_dynamics.replay.torques.contacts import TICK, ContactEvent, Ticks, calibrated, contacts, in_motion

pytestmark = [needs_rosbags, pytest.mark.skipif("ur5_robot" not in FILES, reason="needs example-robot-data")]


@pytest.fixture(scope="module")
def model():
    return description_of(UR)


@pytest.mark.parametrize("recordings", table([2, 4], [2]))
def test_pushes_are_found_and_few_are_invented(model, recordings):
    """Ten a recording, on an arm whose friction hides up to 17 N m at rest."""
    score = replayed(UR, model, simulate(UR, model, recordings, PERIODS, 3, SIZES))
    assert len(score.pushes) == 10 * recordings and score.precision >= 0.9
    moving, of = score.recall(False, 10.0)
    assert moving >= 0.8 * of
    hidden = [abs(push.size) for _, push, found in score.pushes if push.at_rest and not found]
    assert hidden and min(hidden) < 10.0 < max(UR.friction)
    breakaway = {joint: UR.breakaway * level for joint, level in zip(UR.joints, UR.friction)}
    sure = [found for joint, push, found in score.pushes if push.at_rest and abs(push.size) > 3.0 * breakaway[joint]]
    assert sum(sure) >= 0.75 * len(sure)


def test_friction_holds_the_simulated_joints_at_rest(model):
    """The simulation itself: at rest nothing creeps, though efforts are not those of gravity."""
    (run,) = simulate(UR, model, 1, 2, 0, None)
    rest = (run.t > 3.0) & (run.t < 3.9)
    assert np.ptp(run.q[rest], axis=0).max() < 1e-4
    assert np.abs(np.diff(run.t) - STEP).max() < 1e-9


def pressing(path, press):
    """A bag of `helpers.recorded.recordings`' arm: it stands, creeps to a table, is pressed on by it and moves on it.

    All motion worth the name is motion under the press, of `press` N m at each joint; Coulomb friction is 0.7 N m.
    """
    t = np.arange(700) / RATE
    circle = np.clip((t - 3.0) / 4.0, 0.0, 1.0)
    v = 0.011 * ((t > 1.4) & (t < 2.0)) + 0.3 * np.sin(2.0 * np.pi * circle) * (t > 3.0)
    v = np.column_stack([v, 0.8 * v])
    q, a = 0.5 + np.cumsum(v, axis=0) / RATE, np.gradient(v, 1.0 / RATE, axis=0)
    touch = np.clip((t - 2.0) / 0.5, 0.0, 1.0) * (1.0 + 0.1 * np.sin(2.0 * np.pi * circle))
    tau = shared_robot(load_urdf(URDF)).inverse_dynamics(q, v, a) + 0.7 * np.tanh(v / 0.01) - press * touch[:, None]
    tau += 0.02 * np.random.default_rng(0).normal(size=tau.shape)
    stamps = START + np.rint(t * 1e9).astype(np.int64)
    states = [Message(int(s), NAMES, *numbers) for s, *numbers in zip(stamps, q, v, tau)]
    return write_ros2(path, Content({"/joint_states": states}, {"/robot_description": URDF}))


@pytest.mark.parametrize("press", [0.0, 5.0, -5.0])
def test_a_press_under_which_all_motion_is_is_no_friction(tmp_path, press):
    """Seen in the demo's: the fit took the press for friction, which then may have held it at rest."""
    told, bag = [], pressing(tmp_path / "bag", press)
    found = analyse(bag, shared_robot(load_urdf(URDF)), settings=SETTINGS, progress=told.append)
    assert told == sorted(told) and told[-1] == 1.0
    if not press:
        assert found.external_torque.events == ()
    else:
        (event,) = found.external_torque.events
        assert 2.0 < event.start < 2.5 and event.end > 6.4 and set(event.peak) == set(NAMES)
    assert [joint.coulomb.value for joint in found.friction.joints] == pytest.approx([0.7, 0.7], abs=0.02)


def ticks_of(external, v):
    """As a recording's of one segment."""
    found = Ticks(external.shape[1])
    found.add(TICK * np.arange(len(external)), 0, 0, external, v, TICK)
    return found


def test_thresholds_do_not_depend_on_pushes():
    """White noise in motion, without and with pushes in an eighth of the time."""
    rng = np.random.default_rng(0)
    noise, v = 0.3 * rng.normal(size=(6000, 2)), np.ones((6000, 2))
    pushed = noise + np.array([20.0, 0.0]) * ((np.arange(6000) % 160) < 20)[:, None]
    nothing = np.zeros(2)
    one, other = (calibrated(ticks_of(x, v), nothing, nothing, per_hour=1.0, duration=0.1) for x in (noise, pushed))
    np.testing.assert_allclose(other, one, rtol=0.25)
    np.testing.assert_allclose(in_motion(ticks_of(noise, v)).spread, 0.6745 * 0.3, rtol=0.05)
    fewer = calibrated(ticks_of(noise, v), nothing, nothing, per_hour=0.01, duration=0.1)
    assert (fewer > one).all()


@pytest.mark.parametrize("both_ways", [True, False])
def test_motion_tells_what_friction_may_be_at_most(both_ways):
    """Where no fit tells it: with pushes of 40 times its size in a fifth of the time. Not where it hardly moves."""
    rng = np.random.default_rng(1)
    v = np.where((np.arange(2000) // 50 % 2 == 0) | (not both_ways), 0.5, -0.5)
    pushes = 40.0 * ((np.arange(2000) % 160) < 32)
    external = 1.0 * np.sign(v) + 0.1 * rng.normal(size=2000) + pushes
    moving = np.column_stack([v, np.where(np.arange(2000) < 50, v, 0.0)])
    known, unknown = in_motion(ticks_of(np.column_stack([external, external]), moving)).friction()
    assert 1.0 < known < 7.0 and unknown == np.inf


@pytest.mark.parametrize(("dt", "every"), [(0.03, 0.06), (0.04, 0.04), (0.2, 0.2), (0.001, 0.05)])
def test_how_long_a_joint_was_seen_in_motion_is_counted_in_the_recordings_own_time(dt, every):
    """Of samples that are no whole part of a tick, and rarer than ticks."""
    t = dt * np.arange(round(12.0 / dt))
    ticks = Ticks(1)
    ticks.add(t, 0, 0, np.zeros((len(t), 1)), np.ones((len(t), 1)), dt)
    assert ticks.dt == pytest.approx(every)
    assert in_motion(ticks).seconds == pytest.approx(12.0, abs=every)


@pytest.mark.parametrize("pushed", [0.1, 0.3, 0.4])
def test_a_push_of_a_third_of_the_motion_hides_no_push(pushed):
    """Seen: the baseline followed it, so that most of the motion was far from it, and "No contacts" of 17 N m."""
    count = 320  # ticks
    push = 15.0 * ((np.arange(count) >= 120) & (np.arange(count) < 120 + round(pushed * count)))
    noise = 0.3 * np.random.default_rng(4).normal(size=count)
    ticks = ticks_of((noise + push)[:, None], np.ones((count, 1)))
    found = calibrated(ticks, np.zeros(1), np.zeros(1), per_hour=1.0, duration=0.1)
    assert 1.0 < found[0] < 3.0
    (event,), _ = contacts(ticks, ContactDetector(found, breakaway=0.0, duration=0.1), ["elbow"])
    np.testing.assert_allclose([event.start, event.end], TICK * np.array([120, 120 + round(pushed * count)]), atol=0.1)


@pytest.mark.parametrize("when", [(12.0,), (12.0, 32.0), (2.0, 12.0, 22.0, 32.0, 42.0)])
def test_what_comes_whenever_the_robot_moves_likewise_is_the_models_and_no_contact(when):
    """Seen: five contacts, one in each round of a motion, of friction that grows with a torque described wrongly; and a
    push that was none, since another one had come at the same place."""
    t = TICK * np.arange(1000)
    q, v = np.sin(0.2 * np.pi * t)[:, None], 0.2 * np.pi * np.cos(0.2 * np.pi * t)[:, None]
    external = 0.1 * np.random.default_rng(0).normal(size=(1000, 1))
    for begin in when:
        external[(t >= begin) & (t < begin + 0.5)] += 5.0
    ticks = Ticks(1)
    ticks.add(t, 0, 0, external, v, TICK, q)
    recurs = [ticks.recurs(ContactEvent(begin, begin + 0.5, {"elbow": 5.0}), ["elbow"]) for begin in when]
    assert recurs == [len(when) == 5] * len(when)
    assert not ticks_of(external, v).recurs(ContactEvent(12.0, 12.5, {"elbow": 5.0}), ["elbow"])


def test_a_joint_that_never_moves_has_no_threshold():
    v = np.ones((1000, 2))
    v[:, 1] = 0.0
    found = calibrated(ticks_of(np.random.default_rng(0).normal(size=(1000, 2)), v), np.zeros(2), np.full(2, np.inf),
                       per_hour=1.0, duration=0.1)  # fmt: skip
    assert np.isfinite(found[0]) and np.isinf(found[1])


@pytest.mark.parametrize("seed", table(range(12), range(4)))
def test_many_ticks_at_once_are_one_after_the_other(seed):
    """Also with pushes, rests, torques that are missing, friction at rest and joints nobody knows."""
    rng = np.random.default_rng(seed)
    count, joints, dt = 2500, 4, 0.05
    external = np.cumsum(0.02 * rng.normal(size=(count, joints)), axis=0) + 0.1 * rng.normal(size=(count, joints))
    for begin in rng.integers(0, count - 80, 6):
        external[begin : begin + rng.integers(2, 80), rng.integers(joints)] += 5.0
    external[rng.integers(count, size=100), rng.integers(joints, size=100)] = np.nan
    external[:, 3] = np.nan if seed % 3 == 0 else external[:, 3]
    slow = np.repeat(rng.random((count // 50, joints)) < 0.4, 50, axis=0)
    parts = {"breakaway": [0.3, 0.0, np.inf, 0.5], "duration": 0.1, "longest": 2.0}
    one, many = (ContactDetector([1.0, 2.0, 1.0, np.inf], **parts) for _ in range(2))
    tick = taken = 0
    while tick < count:
        stop = min(count, tick + int(rng.integers(1, 200)))
        beyond, moving = many.advance_free(external[tick:stop], slow[tick:stop], dt)
        for row, still, was, moves in zip(external[tick:], slow[tick:], beyond, moving):
            assert not one.advance(row, still, dt)
            np.testing.assert_allclose(was, one.beyond, rtol=0, atol=1e-14)
            np.testing.assert_array_equal(moves, one.moving)
        tick, taken = tick + len(beyond), taken + len(beyond)
        if tick < stop:
            assert one.advance(external[tick], slow[tick], dt) == many.advance(external[tick], slow[tick], dt)
            tick += 1
        np.testing.assert_allclose(many.baseline, one.baseline, rtol=0, atol=1e-14)
        assert (many.contact, many.lasted) == (one.contact, one.lasted)
        for name in ("touched", "moving", "away", "beyond", "_over", "_since_rest", "_followed", "_seen"):
            np.testing.assert_allclose(getattr(many, name), getattr(one, name), rtol=0, atol=1e-14, err_msg=name)
    assert taken > count // 2


def test_a_contact_that_a_segment_ends_is_one():
    """And has its joints."""
    ticks = Ticks(1)
    t = np.arange(400) * 0.05
    torque = np.where((t > 8.0) & (t < 10.0), 5.0, 0.01 * np.sin(7.0 * t))[:, None]
    for number, part in enumerate((slice(0, 190), slice(190, 400))):
        ticks.add(t[part], number, 0, torque[part], np.ones((len(t[part]), 1)), 0.05)
    events, omitted = contacts(ticks, ContactDetector([1.0], duration=0.1), ["elbow"])
    assert omitted == 0 and [list(event.peak) for event in events] == 2 * [["elbow"]]
    assert events[0].end == pytest.approx(9.45) and events[1].start == pytest.approx(9.5, abs=0.06)


def test_a_contact_is_from_its_rise_to_its_fall_and_a_load_until_it_is_taken_for_one():
    """However long it takes until either is certain."""
    t = np.arange(2000) * 0.05
    torque = np.where(((t > 8.0) & (t < 10.0)) | (t > 20.0), 5.0, 0.01 * np.sin(7.0 * t))
    detector = ContactDetector([1.0], duration=0.3)
    (contact, load), omitted = contacts(ticks_of(torque[:, None], np.ones((2000, 1))), detector, ["elbow"])
    assert omitted == 0 and (contact.load, load.load) == (False, True)
    assert (contact.start, contact.end, load.start) == pytest.approx((8.0, 10.0, 20.0), abs=0.06)
    assert load.end == pytest.approx(20.0 + 0.3 + LONGEST, abs=0.11)
