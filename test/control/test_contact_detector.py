# SPDX-License-Identifier: Apache-2.0
"""Contact by thresholds, baselines and friction's band, on signals that are known; and thresholds by false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.control.contact.detector import FOLLOWS, GRACE, HOLD, SETTLES, ContactDetector
from rbd_dynamics.control.contact.thresholds import deviation, level_of

DT = 0.01


def seconds(external, velocity=1.0, **options):
    """(N,) contact of a detector that sees torques (N, nv) and velocities that broadcast to them, and the detector."""
    external = np.asarray(external, dtype=float)
    velocity = np.broadcast_to(velocity, external.shape)
    detector = ContactDetector(**{"thresholds": np.ones(external.shape[1]), **options})
    return np.array([detector.update(e, v, DT) for e, v in zip(external, velocity)]), detector


def steps(*levels, joints=1):
    """1 s at each level, of the first joint; the others show nothing."""
    found = np.zeros((100 * len(levels), joints))
    found[:, 0] = np.repeat(levels, 100)
    return found


def changes(contact):
    return (np.flatnonzero(np.diff(contact)) + 1).tolist()


def test_contact_is_from_a_duration_after_the_threshold_to_one_after_its_end():
    contact, detector = seconds(steps(0.0, 3.0, 0.0), duration=0.05)
    assert changes(contact) == [104, 204] and detector.touched.tolist() == [True]
    assert detector.lasted == pytest.approx(1.0, abs=0.03)


def test_what_is_shorter_than_the_duration_is_none():
    external = steps(0.0, 0.0)
    external[100:104] = 5.0
    assert not seconds(external, duration=0.05)[0].any()


def test_short_pushes_do_not_add_up_to_a_contact():
    """Apart from each other, or just after a contact has ended: each has the whole duration before it."""
    external = steps(0.0, 3.0, 0.0)
    external[20:90:10] = external[21:91:10] = 5.0
    external[205:208] = 5.0
    assert changes(seconds(external, duration=0.05)[0]) == [104, 204]


def test_a_joint_that_did_not_trigger_does_not_keep_contact_open():
    """Seen: 51 s, because another joint's bias was above 0.6 of its threshold."""
    external = steps(0.0, 3.0, 0.0, 0.0, joints=2)
    external[:, 1] = np.where(np.arange(400) < 100, 0.0, 0.9)
    contact, detector = seconds(external, duration=0.05)
    assert changes(contact) == [104, 204] and detector.touched.tolist() == [True, False]


def test_an_offset_from_the_beginning_is_the_baseline():
    assert not seconds(steps(7.0, 7.0, 7.0))[0].any()


def test_drift_is_followed_and_does_not_hide_a_push():
    count = 6000
    external = np.linspace(0.0, 12.0, count)[:, None]  # 0.2 N m/s
    assert not seconds(external)[0].any()
    external[4000:4100] += 2.0
    contact, _ = seconds(external)
    begin, end = changes(contact)
    assert abs(begin - 4000) < 10 and abs(end - 4100) < 10


def test_a_bias_that_stays_after_a_push_does_not_keep_it_open():
    contact, detector = seconds(steps(0.0, 8.0, 0.9, 0.9, 0.9, 0.9, 0.9), duration=0.05)
    assert changes(contact) == [104, 204]
    contact, detector = seconds(steps(0.0, 1.5, *[0.9] * 5), duration=0.05)
    begin, end = changes(contact)
    assert begin == 104 and end == pytest.approx(200 + 100 * GRACE, abs=10)


def test_what_stays_for_very_long_is_a_load():
    contact, detector = seconds(np.vstack([steps(0.0), np.full((1000, 1), 4.0), steps(0.0, 0.0)]), longest=5.0)
    begin, end, again = changes(contact)[:3]
    assert end - begin == pytest.approx(500, abs=3) and again == pytest.approx(1100, abs=5)


@pytest.mark.parametrize("stiction", [-20.0, 13.0, 20.0])
def test_stiction_at_rest_is_no_contact(stiction):
    """It moves, stands with what friction holds, and moves on."""
    moves = np.repeat([1.0, 0.0, 1.0, 0.0, 1.0], 200)[:, None]
    external = np.where(moves > 0.0, 0.5, stiction)
    contact, detector = seconds(external, moves, breakaway=21.0)
    assert not contact.any()
    assert detector.baseline[0] == pytest.approx(0.5, abs=0.01)
    assert seconds(external, moves, breakaway=5.0)[0].any() == (abs(stiction) > 6.5)


def test_a_push_at_rest_is_found_beyond_breakaway():
    moves = np.repeat([1.0, 0.0, 0.0, 0.0], 200)[:, None]
    for push, found in ((19.0, False), (25.0, True)):
        external = np.zeros_like(moves)
        external[400:500] = push
        assert seconds(external, moves, breakaway=20.0)[0].any() == found


def test_a_joint_whose_friction_nobody_knows_counts_in_motion_only():
    moves = np.repeat([1.0, 0.0, 1.0], 200)[:, None]
    external = np.zeros_like(moves)
    external[250:350] = 50.0
    assert not seconds(external, moves, breakaway=np.inf)[0].any()
    external[500:] = 50.0
    contact, _ = seconds(external, moves, breakaway=np.inf)
    assert changes(contact)[0] == pytest.approx(500, abs=5)


def test_a_robot_that_stands_from_the_beginning_may_move_off():
    """What it showed at rest had friction in it."""
    moves = np.repeat([0.0, 1.0], 300)[:, None]
    external = np.where(moves > 0.0, -18.0, 18.0)
    assert not seconds(external, moves, breakaway=20.0)[0].any()


@pytest.mark.parametrize("watched", [1.0, 10.0])
def test_a_press_on_a_joint_that_never_moved_is_none_of_its_offset(watched):
    """Seen: a press that grows in half a second was taken into the baseline as it grew, and never found."""
    grown = np.concatenate([np.zeros(int(watched / DT)), np.linspace(0.0, 30.0, 50), np.full(100, 30.0), np.zeros(100)])
    contact, detector = seconds(5.0 + grown[:, None], 0.0, thresholds=[2.0], breakaway=3.0, duration=0.05)
    begin, end = changes(contact)
    pressed = int(watched / DT)
    assert pressed < begin < pressed + 50 and abs(end - (pressed + 155)) < 5
    assert detector.baseline[0] == pytest.approx(5.0, abs=2.0 if watched < 2.0 else 0.5)


def test_noise_before_the_first_motion_is_averaged_into_the_baseline():
    noise = np.random.default_rng(0).normal(size=(2000, 2))
    noise[:300, 1] = np.nan  # comes later
    contact, detector = seconds(4.0 + noise, 0.0, thresholds=[9.0, 9.0], breakaway=[0.0, 5.0])
    assert not contact.any()
    few = round(SETTLES / DT)  # values in which it leans on the first
    share = (1.0 - 1.0 / few) ** np.arange(few - 1, -1, -1.0) / few
    share[0] *= few
    for joint, seen in enumerate((noise[:, 0], noise[300:, 1])):
        expected = 4.0 + (few * (share @ seen[:few]) + seen[few:].sum()) / len(seen)
        np.testing.assert_allclose(detector.baseline[joint], expected, rtol=1e-12)


def test_an_offset_that_drifts_before_the_first_motion_is_followed_slowly():
    external = np.concatenate([np.zeros(20_000), np.linspace(0.0, 3.0, 60_000)])[:, None]  # 5 mN m/s
    assert not seconds(external, 0.0)[0].any()


def test_joints_without_a_torque_are_left_out():
    external = steps(0.0, 3.0, 0.0, joints=2)
    external[:, 1] = np.nan
    contact, detector = seconds(external, duration=0.05)
    assert changes(contact) == [104, 204] and np.isfinite(detector.baseline).all()


def test_a_gap_ends_contact_and_keeps_baselines():
    detector = ContactDetector([1.0])
    for torque in np.full(300, 5.0):
        detector.update(np.array([torque]), np.ones(1), DT)
    detector.pause()
    assert detector.baseline[0] == pytest.approx(5.0)
    for _ in range(10):
        detector.update(np.array([8.0]), np.ones(1), DT)
    assert detector.contact
    detector.pause()
    assert not detector.contact
    detector.reset()
    assert not any(detector.update(np.array([8.0]), np.ones(1), DT) for _ in range(100))


@pytest.mark.parametrize("rest", [HOLD, FOLLOWS])
def test_just_after_rest_friction_may_still_hold(rest):
    moves = np.ones((1000, 1))
    moves[400 : 400 + int(rest / DT)] = 0.0
    external = np.zeros_like(moves)
    external[400 : 400 + int((rest + 0.8 * HOLD) / DT)] = 9.0
    assert not seconds(external, moves, breakaway=10.0)[0].any()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"thresholds": 0.0}, "thresholds"),
        ({"thresholds": [1.0, -1.0]}, "thresholds"),
        ({"thresholds": [np.nan]}, "thresholds"),
        ({"thresholds": [1.0], "duration": -1.0}, "duration"),
        ({"thresholds": [1.0], "breakaway": -1.0}, "breakaway"),
        ({"thresholds": [1.0], "breakaway": np.nan}, "breakaway"),
        ({"thresholds": [1.0], "follows": 0.0}, "follows"),
        ({"thresholds": [1.0], "longest": np.nan}, "longest"),
    ],
)
def test_bad_numbers(wrong, text):
    with pytest.raises(ValueError, match=text):
        ContactDetector(**wrong)


# --- thresholds -------------------------------------------------------------------------------------------------------


def test_deviation_of_sizes_is_that_of_the_signal_whatever_a_few_are():
    sizes = np.abs(3.0 * np.random.default_rng(0).normal(size=20_000))
    assert deviation(sizes) == pytest.approx(3.0, rel=0.03)
    sizes[:1000] = 1e3
    assert deviation(sizes) == pytest.approx(3.0, rel=0.1)
    assert deviation(sizes, quantiles=(0.5, 0.99)) > 100.0


def test_a_gaussian_signal_passes_its_level_as_often_as_stated():
    """200,000 s of a signal of known deviation: 30 false alarms an hour are wanted of it."""
    rng, dt, kept = np.random.default_rng(1), 0.05, 0.9
    smooth = np.zeros(4_000_000)
    import scipy.signal

    for _ in range(2):  # twice, so that it has a rate of crossings (Rice)
        white = rng.normal(size=len(smooth)) if not smooth.any() else smooth
        smooth = scipy.signal.lfilter([1.0 - kept], [1.0, -kept], white)
    smooth /= smooth.std()
    rises = np.count_nonzero((smooth[:-1] <= 0.0) & (smooth[1:] > 0.0)) / (len(smooth) * dt)
    level = level_of(30.0, rises, 1)
    passed = np.abs(smooth) > level
    alarms = np.count_nonzero(passed[1:] & ~passed[:-1]) / (len(smooth) * dt / 3600.0)
    assert 15.0 < alarms < 45.0
    assert level_of(30.0, rises, 7) > level > level_of(300.0, rises, 1)
