# SPDX-License-Identifier: Apache-2.0
"""From messages to signals: what is repaired, what is left out, and what the filter does."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.signal
from helpers.recorded.bags import START, Content, Message, bare, motion, needs_rosbags, write_ros2

from rbd_dynamics.model import Limits, Model, ModelBuilder
from rbd_dynamics.model.joints import Continuous, Floating, Revolute
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.replay import Recording, RecordingError, Segment, Segments, Settings, segments
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.signals.filtering import LowPass, Piece, SegmentSignals
from rbd_dynamics.replay.signals.resampling import Resampler

pytestmark = needs_rosbags
NAMES = ("j1", "j2", "j3")
RATE = 200.0
MOTION = motion(1200)
SETTINGS = Settings(cutoff=20.0, edge=0.3)
NOT_EQUAL_TO_TRUTH = 2e-6  # what the filter takes from motions of up to 0.4 Hz, and interpolation


def arm(names=NAMES, kind=Revolute, **more) -> Model:
    builder = ModelBuilder("arm")
    for k, name in enumerate(names):
        parent = names[k - 1] if k else None
        builder.add_body(name, parent, kind((0.0, 0.0, 1.0)), joint_name=name, mass=1.0, com=(0.1, 0, 0), **more)
    return builder.build()


def process(
    tmp_path: Path, messages, settings: Settings = SETTINGS, model: Model | None = None
) -> tuple[Segments, list[Segment]]:
    path = tmp_path / "bag"
    if not path.exists():
        write_ros2(path, Content({"/joint_states": list(messages)}))
    found = segments(Recording(path), model or arm(), settings=settings)
    return found, list(found)


def truth(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a and tau of `bags.motion`."""
    w = 1.0 + 0.7 * np.arange(3)
    x = w * t[:, None]
    tau = 10.0 * np.arange(1, 4) + np.cos(3.0 * t)[:, None]
    return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x), tau


def check_truth(parts: list[Segment], tolerance: float = NOT_EQUAL_TO_TRUTH) -> None:
    for part in parts:
        t = (part.stamps - START) * 1e-9
        for found, expected, scale in zip((part.q, part.v, part.a, part.tau), truth(t), (1.0, 3.0, 10.0, 1.0)):
            np.testing.assert_allclose(found, expected, atol=tolerance * scale, rtol=0.0)


# --- whole pipeline ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("velocity", ["auto", "measured", "differentiated"])
def test_the_motion_comes_out_with_velocity_and_acceleration(tmp_path, velocity):
    found, parts = process(tmp_path, MOTION, replace(SETTINGS, velocity=velocity))
    check_truth(parts)
    assert found.log.warnings == []
    (part,) = parts
    assert found.rate == pytest.approx(RATE)
    assert part.t[0] == pytest.approx(0.3)
    assert part.t[-1] == pytest.approx((len(MOTION) - 1) / RATE - 0.3)
    np.testing.assert_allclose(np.diff(part.t), 1 / RATE)
    assert found.log.samples == len(part) and found.log.messages == len(MOTION)
    assert part.measured.all() and not part.filled.any()
    np.testing.assert_allclose(part.tau_raw, truth((part.stamps - START) * 1e-9)[3], atol=1e-6)


@pytest.mark.parametrize("rate", [50.0, 173.0, 1000.0])
def test_samples_come_at_the_rate_that_is_asked_for(tmp_path, rate):
    found, parts = process(tmp_path, MOTION, replace(SETTINGS, rate=rate, cutoff=15.0, edge=0.6))
    check_truth(parts, 1e-5)
    np.testing.assert_allclose(np.diff(parts[0].t), 1 / rate, rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_size_of_blocks_does_not_matter(tmp_path, seed):
    """With all kinds of trouble: results agree to rounding, which differences multiply by the rate."""
    rng = np.random.default_rng(seed)
    messages = motion(4000, noise=0.01)
    for k in rng.integers(50, 3950, 40):
        messages[k] = replace(messages[k], position=[np.nan] * 3)
    for k in rng.integers(50, 3950, 40):
        messages[k], messages[k + 1] = messages[k + 1], messages[k]
    messages = [m for k, m in enumerate(messages) if k not in set(rng.integers(50, 3950, 60)) and not 2000 < k < 2100]
    messages = messages[:3000] + [replace(m, stamp=m.stamp - 10**10) for m in messages[3000:]]
    (whole_run, whole), *others = [
        process(tmp_path, messages, replace(SETTINGS, block=block)) for block in (10**6, 64, 1000)
    ]
    assert len(whole) == 3 and whole_run.log.events["clock resets"] == whole_run.log.events["gaps"] == 1
    for run, parts in others:
        assert len(parts) > 3
        assert run.log.to_dict() == whole_run.log.to_dict()
        for name, tolerance in (("stamps", 0), ("q", 1e-12), ("v", 1e-12), ("a", 1e-9), ("tau", 1e-12), ("filled", 0)):
            expected = np.concatenate([getattr(part, name) for part in whole])
            found = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))
        np.testing.assert_allclose(run.uncertainty().a, whole_run.uncertainty().a, rtol=1e-9)


def test_stretches_of_a_segment_follow_on_each_other(tmp_path):
    _, parts = process(tmp_path, motion(4000), replace(SETTINGS, block=256))
    assert len(parts) > 5
    for before, after in zip(parts, parts[1:]):
        assert after.number == before.number
        assert after.start == before.start + len(before)


# --- what goes wrong in the wild, one by one --------------------------------------------------------------------------


def test_messages_a_little_out_of_order_are_sorted(tmp_path):
    messages = list(MOTION)
    for k in range(100, 1100, 100):
        messages[k : k + 5] = [messages[k + j] for j in (3, 1, 0, 4, 2)]
    found, parts = process(tmp_path, messages)
    check_truth(parts)
    assert found.log.events == {"reordered messages": 10 * 3}


def test_of_equal_stamps_the_first_counts(tmp_path):
    messages = []
    for k, message in enumerate(MOTION):
        messages.append(message)
        if k % 10 == 5:
            messages.append(replace(message, position=[9.0] * 3))
    found, parts = process(tmp_path, messages)
    check_truth(parts)
    assert found.log.events == {"duplicate stamps": 120}


def test_a_clock_that_is_set_back_starts_a_new_segment(tmp_path):
    back = 4 * 10**9
    messages = MOTION[:600] + [replace(message, stamp=message.stamp - back) for message in MOTION[600:]]
    found, parts = process(tmp_path, messages)
    assert [part.number for part in parts] == [0, 1]
    assert found.log.events == {"clock resets": 1}
    check_truth([parts[0], replace(parts[1], stamps=parts[1].stamps + back)])


def test_a_wild_stamp_costs_its_message_only(tmp_path):
    messages = list(MOTION)
    messages[600] = replace(messages[600], stamp=messages[600].stamp + 10**15)
    found, parts = process(tmp_path, messages)
    check_truth(parts)
    assert sum(map(len, parts)) > 1200 - 4 * 0.3 * RATE - 5
    assert found.log.events == {"implausible stamps": 1, "dropped messages": 1}


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_time_goes_on_where_the_clock_was_set(tmp_path, seconds):
    """Times of an hour back, or an hour of nothing, make tables and plots unreadable."""
    shift = int(seconds * 1e9)
    messages = MOTION[:600] + [replace(m, stamp=m.stamp + shift) for m in MOTION[600:]]
    found, parts = process(tmp_path, messages)
    assert found.log.events == {"clock resets": 1} and [part.number for part in parts] == [0, 1]
    expected = np.concatenate([(parts[0].stamps - START), (parts[1].stamps - shift - START)]) * 1e-9
    np.testing.assert_allclose(np.concatenate([part.t for part in parts]), expected, atol=1e-6)
    np.testing.assert_array_equal(parts[1].stamps > parts[0].stamps[-1], seconds > 0.0)


def test_a_gap_is_no_clock_that_was_set(tmp_path):
    later = 3600 * 10**9
    messages = MOTION[:600] + [replace(m, stamp=m.stamp + later, received=m.received + later) for m in MOTION[600:]]
    found, parts = process(tmp_path, messages)
    assert found.log.events == {"gaps": 1}
    assert parts[1].t[0] == pytest.approx(3600.0 + 3.0 + SETTINGS.edge, abs=0.01)


@pytest.mark.parametrize("where", [0, 600, len(MOTION) - 1])
@pytest.mark.parametrize("wrong", [-(10**12), 3 * 10**9, 10**17])
def test_wild_stamps_anywhere_cost_their_message(tmp_path, where, wrong):
    messages = list(MOTION)
    messages[where] = replace(messages[where], stamp=messages[where].stamp + wrong)
    found, parts = process(tmp_path, messages)
    check_truth(parts)
    assert len({part.number for part in parts}) == 1 and found.log.events["implausible stamps"] == 1
    assert parts[0].t[0] == pytest.approx(SETTINGS.edge, abs=0.02)


@pytest.mark.parametrize(
    ("field", "value", "event"),
    [
        ("position", 1e200, "implausible positions"),
        ("position", -0.4, "implausible positions"),
        ("velocity", -2e5, "implausible velocities"),
        ("velocity", 2.9, "implausible velocities"),
        ("effort", 2489.0, "implausible efforts"),
        ("effort", -21.0, "implausible efforts"),
    ],
)
def test_damaged_numbers_cost_their_message(tmp_path, field, value, event):
    messages = list(MOTION)
    for k in range(100, 1100, 100):
        numbers = np.array(getattr(messages[k], field))
        numbers[1] = value
        messages[k] = replace(messages[k], **{field: numbers})
    found, parts = process(tmp_path, messages)
    check_truth(parts, 1e-4)
    assert found.log.events[event] == 10 and found.log.events["dropped messages"] == 10
    assert any(f"{event.removeprefix('implausible ')} of j2" in text for text in found.log.remarks)


@pytest.mark.parametrize(
    ("field", "value", "change", "plain"),
    [
        (0, 1.49, 0.0, True), (0, 1.51, 0.0, False), (0, -0.51, 0.0, False),
        (1, 1.99, 0.0, True), (1, -2.01, 0.0, False), (2, 2.99, 0.0, True), (2, 3.01, 0.0, False),
        (0, 0.5, 0.19, True), (0, 0.5, 0.21, False), (1, 0.0, 0.31, False), (2, 0.0, 0.29, True),
    ],
)  # fmt: skip
def test_only_what_is_suspicious_is_looked_at_closely(field, value, change, plain):
    from rbd_dynamics.replay.signals.implausible import Screen
    from rbd_dynamics.replay.signals.usual import Usual

    usual = Usual(
        names=("a",), plausibility=None, measured=np.ones((3, 1), dtype=bool), beyond=np.array([[1.0], [2.0], [3.0]]),
        middle=np.array([0.5]), noise=np.zeros((3, 1)), smallest=np.full((3, 1), 0.3), jump=np.array([0.2]),
        step=np.array([0.2]), slack=np.zeros(1), turns=np.zeros(1),
    )  # fmt: skip
    numbers = np.zeros((5, 3, 1))
    numbers[:, 0] = 0.5
    numbers[:, field] = value
    numbers[3:, field] += change
    assert Screen(usual, Log())._unsuspicious(numbers) is plain


def test_fast_but_possible_signals_are_kept(tmp_path):
    """Steps of the effort, quantised and noisy numbers, wrapped angles: nothing of that is damage."""
    rng = np.random.default_rng(0)
    messages = []
    for k, message in enumerate(MOTION):
        effort = np.array(message.effort) + 8.0 * (k // 50 % 2) + 0.5 * rng.normal(size=3)
        velocity = np.round(np.array(message.velocity), 1)
        messages.append(replace(message, effort=np.round(effort, 1), velocity=velocity))
    found, _ = process(tmp_path, messages)
    assert found.log.events == {}


def test_chatter_is_no_damage(tmp_path):
    """As drives have it when they start: seen at the beginning of a real Panda's recording."""
    messages = []
    for k, message in enumerate(MOTION):
        size = 5.0 * np.exp(-k / 20.0) * (-1.0) ** k
        messages.append(
            replace(message, effort=np.array(message.effort) + size, velocity=np.array(message.velocity) + 0.1 * size)
        )
    found, _ = process(tmp_path, messages)
    assert found.log.events == {}


def test_limits_that_the_robot_passes_all_the_time_are_not_its_own(tmp_path):
    builder = ModelBuilder("arm")
    for k, name in enumerate(NAMES):
        parent = NAMES[k - 1] if k else None
        builder.add_body(
            name, parent, Revolute((0.0, 0.0, 1.0)), joint_name=name, mass=1.0, com=(0.1, 0, 0),
            limits=Limits(effort=2.0, velocity=0.1),
        )  # fmt: skip
    found, parts = process(tmp_path, MOTION, model=builder.build())
    check_truth(parts)
    assert found.log.events == {} and any("not those of its efforts" in text for text in found.log.remarks)


def test_many_jumps_hide_none(tmp_path):
    """Seen: a bound from the messages' own quantiles, which a few jumps in a thousand lift above all of them."""
    messages, away = [], 0.0
    for k, message in enumerate(MOTION):
        away += 0.3 * (k % 100 == 50)
        messages.append(replace(message, position=np.array(message.position) + away))
    found, _ = process(tmp_path, messages)
    assert found.log.events["state jumps"] == len(MOTION) // 100


def test_steps_of_an_encoder_are_no_jumps(tmp_path):
    """At 1 kHz, with steps of 0.18 degrees, from rest."""
    step, rate, messages = 2.0 * np.pi / 2000.0, 1000.0, []
    for k in range(6000):
        t = max(0.0, k / rate - 2.5)
        q, v = 0.2 * (1.0 - np.cos(0.7 * t)), 0.14 * np.sin(0.7 * t)
        position = step * np.round(np.array([q, -q, 0.5 * q]) / step)
        messages.append(replace(MOTION[0], stamp=START + k * 10**6, position=position, velocity=[v, -v, 0.5 * v]))
    found, _ = process(tmp_path, messages)
    assert found.log.events == {}


@pytest.mark.parametrize("field", ["velocity", "effort"])
def test_a_unit_that_shows_late_costs_no_messages(tmp_path, field):
    """Seen: milliamperes of one gripper, beyond its limit once it held something, took most messages away."""
    messages = motion(3200)
    for k in range(2200, len(messages)):
        numbers = np.array(getattr(messages[k], field))
        numbers[1] = 500.0 + 20.0 * np.sin(0.05 * k)
        messages[k] = replace(messages[k], **{field: numbers})
    found, parts = process(tmp_path, messages, model=arm(limits=Limits(effort=50.0, velocity=4.0)))
    assert not any("implausible" in event for event in found.log.events)
    assert sum(map(len, parts)) > 0.7 * len(messages)
    assert any("limits are not those of its" in text and "j2" in text for text in found.log.remarks)


def test_positions_that_wrap_where_the_description_has_limits_are_unwrapped(tmp_path):
    """Seen: "--velocity differentiated", and then torques of 1677 N m."""
    _, expected = process(tmp_path / "as it is", MOTION)
    wrapped = [replace(m, position=np.mod(np.array(m.position) - 0.5, 2.0 * np.pi) + 0.5) for m in MOTION]
    found, parts = process(tmp_path / "wrapped", wrapped)
    assert found.log.events == {} and any("wrap by whole turns" in text for text in found.log.remarks)
    for part, other in zip(parts, expected, strict=True):
        turns = (part.q - other.q) / (2.0 * np.pi)
        np.testing.assert_allclose(turns, np.tile(np.rint(turns[0]), (len(turns), 1)), atol=1e-9)
        np.testing.assert_allclose(part.v, other.v, atol=1e-9)


@pytest.mark.parametrize("jump", [0.3, 0.02])
def test_a_state_that_jumps_starts_a_new_segment(tmp_path, jump):
    """As where a simulator is reset."""
    messages = MOTION[:600] + [replace(m, position=np.array(m.position) + jump) for m in MOTION[600:]]
    found, parts = process(tmp_path, messages)
    assert found.log.events == {"state jumps": 1} and [part.number for part in parts] == [0, 1]
    check_truth([parts[0]])


def hanging():
    """It falls without efforts."""
    builder = ModelBuilder("arm")
    for k, name in enumerate(NAMES):
        parent = NAMES[k - 1] if k else None
        builder.add_body(name, parent, Revolute((0.0, 1.0, 0.0)), joint_name=name, mass=1.0, com=(0.1, 0, 0))
    return builder.build()


@pytest.mark.parametrize(("standing", "event"), [(1, "state jumps"), (2, "braked stretches")])
def test_a_jump_onto_a_state_without_efforts_starts_a_new_segment(tmp_path, standing, event):
    """As where a simulator is reset while its brakes are on: it starts from rest, and efforts come later."""
    messages, position = list(MOTION[:600]), np.array(MOTION[600].position) + 0.3
    for k, message in enumerate(MOTION[600:]):
        share = min(1.0, max(0, k + 1 - standing) / 10.0)
        velocity, effort = (share * np.array(numbers) for numbers in (message.velocity, message.effort))
        position = position + velocity / RATE
        messages.append(replace(message, position=position, velocity=velocity, effort=effort))
    found, parts = process(tmp_path, messages, model=hanging())
    assert found.log.events == {event: 1} and [part.number for part in parts] == [0, 1]
    check_truth([parts[0]])


def test_brakes_are_left_out(tmp_path):
    """It stands without efforts where it would fall, for 0.5 s and once more."""
    still = MOTION[600]
    held = [replace(m, position=still.position, velocity=np.zeros(3), effort=np.zeros(3)) for m in MOTION[600:700]]
    messages = [*MOTION[:600], *held, *MOTION[700:]]
    found, parts = process(tmp_path, messages, model=hanging())
    assert found.log.events["braked stretches"] == 1 and {part.number for part in parts} == {0, 1}
    assert not any(((part.t > 3.0) & (part.t < 3.5)).any() for part in parts)
    found, parts = process(tmp_path, messages, model=arm())  # upright axes: nothing would fall
    assert "braked stretches" not in found.log.events


def test_dropped_messages_are_bridged_and_marked(tmp_path):
    messages = [message for k, message in enumerate(MOTION) if k not in (300, 500, 501, 502, 700)]
    found, parts = process(tmp_path, messages)
    (part,) = parts
    check_truth(parts, 1e-4)
    assert found.log.events == {"dropped messages": 5}
    np.testing.assert_array_equal(np.rint(part.t[part.filled] * RATE), [300, 500, 501, 502, 700])


def test_a_long_hole_starts_a_new_segment(tmp_path):
    messages = MOTION[:500] + MOTION[520:]
    found, parts = process(tmp_path, messages)
    check_truth(parts)
    assert [part.number for part in parts] == [0, 1]
    assert found.log.events == {"gaps": 1}
    _, parts = process(tmp_path, messages, replace(SETTINGS, max_gap=0.2))
    assert [part.number for part in parts] == [0]


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_none_costs_its_message(tmp_path, field, value):
    messages = list(MOTION)
    for k in (300, 700):
        numbers = np.array(getattr(messages[k], field))
        numbers[1] = value
        messages[k] = replace(messages[k], **{field: numbers})
    found, parts = process(tmp_path, messages)
    check_truth(parts, 1e-4)
    kind = {"position": "NaN positions", "velocity": "NaN velocities", "effort": "NaN efforts"}[field]
    assert found.log.events == {kind: 2, "dropped messages": 2}


def test_messages_in_bursts_give_the_average_rate(tmp_path):
    """Four at a time, as a buffer that is emptied now and then hands them on."""
    slow = motion(1600, rate=400.0)
    messages = [replace(m, stamp=m.stamp - (k % 4) * 2_490_000) for k, m in enumerate(slow)]
    found, parts = process(tmp_path, messages, replace(SETTINGS, rate=None))
    assert found.rate == pytest.approx(400.0, rel=0.1)
    assert "messages come in bursts" in found.log.warnings[0]
    assert len(parts) == 1


def test_the_survey_goes_on_over_small_parts(tmp_path):
    """The first file has too little to tell the rate by."""
    (tmp_path / "bag").mkdir()
    for k, part in enumerate((MOTION[:1], MOTION[1:])):
        file = bare(write_ros2(tmp_path / f"part{k}", Content({"/joint_states": part})))
        file.rename(tmp_path / "bag" / f"bag_{k}.db3")
    check_truth(process(tmp_path, ())[1])


def test_messages_without_a_stamp_are_left_out(tmp_path):
    messages = list(MOTION)
    for k in (300, 700):
        messages[k] = replace(messages[k], stamp=0)
    found, parts = process(tmp_path, messages)
    check_truth(parts, 1e-4)
    assert found.log.events == {"messages without a stamp": 2, "dropped messages": 2}


def test_simulated_time_may_start_at_zero(tmp_path):
    found, parts = process(tmp_path, [replace(message, stamp=message.stamp - START) for message in MOTION])
    check_truth([replace(part, stamps=part.stamps + START) for part in parts])
    assert found.log.warnings == []


@pytest.mark.parametrize("stamp", [0, START])
def test_without_stamps_the_time_of_reception_counts(tmp_path, stamp):
    found, parts = process(tmp_path, [replace(message, stamp=stamp) for message in MOTION])
    check_truth([replace(part, stamps=part.stamps - 300_000) for part in parts])
    assert found.summary()["clock"] == "received"
    assert "times are those of the reception" in found.log.warnings[0]


@pytest.mark.parametrize(("clock", "late"), [("header", 0), ("received", 300_000)])
def test_the_clock_that_is_asked_for_counts(tmp_path, clock, late):
    found, parts = process(tmp_path, MOTION, replace(SETTINGS, clock=clock))
    check_truth([replace(part, stamps=part.stamps - late) for part in parts])
    assert int(parts[0].stamps[0]) % 100_000_000 == late
    assert found.summary()["clock"] == clock and found.log.warnings == []


@pytest.mark.parametrize("missing", ["empty", "zero", "NaN"])
def test_without_velocities_positions_are_differentiated(tmp_path, missing):
    instead = {"empty": (), "zero": np.zeros(3), "NaN": np.full(3, np.nan)}[missing]
    found, parts = process(tmp_path, [replace(message, velocity=instead) for message in MOTION])
    check_truth(parts)
    assert found.summary()["differentiated"] == list(NAMES)
    assert "differentiated from" in found.log.warnings[0]
    with pytest.raises(RecordingError, match="no velocities of j1, j2, j3") if missing != "zero" else nullcontext():
        process(tmp_path, [], replace(SETTINGS, velocity="measured"))


def test_one_joint_without_velocity_is_differentiated(tmp_path):
    messages = [replace(message, velocity=[*message.velocity[:1], np.nan, *message.velocity[2:]]) for message in MOTION]
    found, parts = process(tmp_path, messages)
    check_truth(parts)
    assert found.summary()["differentiated"] == ["j2"]


def test_joints_without_efforts_are_marked(tmp_path):
    messages = [replace(message, effort=[*message.effort[:2], np.nan]) for message in MOTION]
    found, parts = process(tmp_path, messages)
    assert parts[0].measured.tolist() == [True, True, False]
    assert np.isnan(parts[0].tau[:, 2]).all() and np.isfinite(parts[0].tau[:, :2]).all()
    assert "not compared, since without efforts: j3" in found.log.warnings


def test_joints_that_are_not_recorded_are_held(tmp_path):
    model = arm(("j3", "finger", "j1", "j2"))
    found, parts = process(tmp_path, MOTION, replace(SETTINGS, positions={"finger": 0.02}), model)
    order = [model.joint_names.index(name) for name in NAMES]
    (part,) = parts
    check_truth([replace(part, q=part.q[:, order], v=part.v[:, order], a=part.a[:, order], tau=part.tau[:, order])])
    finger = model.joint_names.index("finger")
    np.testing.assert_allclose(part.q[:, finger], 0.02, rtol=1e-12)
    assert not part.v[:, finger].any() and not part.a[:, finger].any()
    assert not part.measured[finger]
    assert found.log.warnings == ["finger is not recorded: held at 0.02, and not compared"]
    assert np.isnan(found.uncertainty().q[finger])
    with pytest.raises(ValueError, match="no joint named 'fingr'; did you mean 'finger'"):
        process(tmp_path, [], replace(SETTINGS, positions={"fingr": 0.02}), model)


def test_joints_in_messages_of_their_own_are_held_where_they_were_last_seen(tmp_path):
    messages: list[Message] = []
    for k, message in enumerate(MOTION):
        messages.append(message)
        if k % 20 == 10:
            where = 0.01 if k < 600 else 0.03
            messages.append(Message(message.stamp + 10**6, ["finger", "lamp"], [where, 1.0], [0.0, 0.0], [0.5, 0.0]))
    model = arm((*NAMES, "finger"))
    found, parts = process(tmp_path, messages, model=model)
    (part,) = parts
    check_truth([replace(part, q=part.q[:, :3], v=part.v[:, :3], a=part.a[:, :3], tau=part.tau[:, :3])])
    np.testing.assert_allclose(part.q[[0, -1], 3], [0.01, 0.03], atol=1e-6)
    assert found.log.events == {"partial messages": 60}
    assert part.measured.tolist() == [True, True, True, False]
    assert any("lamp" in text and "ignored" in text for text in found.log.warnings)


def test_angles_of_continuous_joints_are_unwrapped(tmp_path):
    rate = 40.0 * np.arange(1, 4)
    messages = []
    for k, message in enumerate(MOTION):
        angle = rate * k / RATE
        wrapped = np.angle(np.exp(1j * angle))
        messages.append(replace(message, position=wrapped, velocity=rate))
    found, parts = process(tmp_path, messages, replace(SETTINGS, block=100), arm(kind=Continuous))
    t = np.concatenate([part.t for part in parts])
    np.testing.assert_allclose(np.concatenate([part.q for part in parts]), rate * t[:, None], rtol=1e-9)
    np.testing.assert_allclose(parts[0].v, np.tile(rate, (len(parts[0]), 1)), rtol=1e-9)


def test_efforts_of_followers_count_with_those_of_the_joint_that_they_follow(tmp_path):
    """Seen: dropped, and found again as an offset of 14.7 N that feedforward would have added."""
    builder = ModelBuilder("hand")
    for k, name in enumerate(NAMES):
        mimic = Mimic("j1", multiplier=-2.0) if name == "j3" else None
        parent = "j1" if name == "j3" else NAMES[k - 1] if k else None
        builder.add_body(
            name, parent, Revolute((0.0, 0.0, 1.0)), joint_name=name, mass=1.0, com=(0.1, 0, 0), mimic=mimic
        )
    found, parts = process(tmp_path, MOTION, model=builder.build())
    assert found.joint_names == ["j1", "j2"]
    t = np.concatenate([part.t for part in parts])
    q, v, a, tau = truth(t)
    expected = tau[:, 0] - 2.0 * tau[:, 2]
    np.testing.assert_allclose(np.concatenate([part.tau for part in parts])[:, 0], expected, atol=1e-4)
    assert any("efforts of j3 are counted with those of j1" in text for text in found.log.remarks)


def test_zeros_and_turned_axes_are_mended(tmp_path):
    settings = replace(SETTINGS, joint_offsets={"j2": 0.5}, position_scale={"j1": -1.0})
    _, parts = process(tmp_path, MOTION, settings)
    for part in parts:
        q, v, a, _ = truth((part.stamps - START) * 1e-9)
        np.testing.assert_allclose(part.q, q * [-1.0, 1.0, 1.0] + [0.0, 0.5, 0.0], atol=1e-5)
        np.testing.assert_allclose(part.v, v * [-1.0, 1.0, 1.0], atol=1e-5)


def test_a_floating_base_stays_where_it_is(tmp_path):
    builder = ModelBuilder("walker")
    builder.add_body("base", None, Floating(), joint_name="root", mass=1.0, inertia=(0.1, 0, 0, 0.1, 0, 0.1))
    for name in NAMES:
        builder.add_body(name, "base", Revolute((0, 0, 1)), joint_name=name, mass=1.0, com=(0.1, 0, 0))
    found, parts = process(tmp_path, MOTION, model=builder.build())
    (part,) = parts
    check_truth([replace(part, q=part.q[:, 7:], v=part.v[:, 6:], a=part.a[:, 6:], tau=part.tau[:, 6:])])
    assert (part.q[:, :7] == [0, 0, 0, 0, 0, 0, 1]).all() and not part.v[:, :6].any()
    assert part.measured.tolist() == [False] * 6 + [True] * 3
    assert found.velocity_names[:7] == ["root[0]", "root[1]", "root[2]", "root[3]", "root[4]", "root[5]", "j1"]
    assert any("root is of more than one coordinate" in text for text in found.log.warnings)


def test_other_joint_states_in_the_recording_are_told(tmp_path):
    write_ros2(tmp_path / "bag", Content({"/joint_states": MOTION, "/elsewhere": MOTION[:50]}))
    found, _ = process(tmp_path, ())
    assert "joint states taken from /joint_states; there are others: /elsewhere" in found.log.warnings


def test_a_recording_too_short_for_its_edges_gives_nothing_and_says_so(tmp_path):
    found, parts = process(tmp_path, MOTION[:50])
    assert parts == []
    assert found.log.events == {"short segments": 1}


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (MOTION[:1], "1 sample with all of j1, j2, j3: too few"),
        ([replace(message, position=()) for message in MOTION], "no position of j1, j2, j3 in the first 1200 messages"),
        ([replace(message, names=("a", "b", "c")) for message in MOTION], "none of them is a joint of the robot"),
    ],
)
def test_a_recording_that_cannot_be_used_is_refused(tmp_path, messages, text):
    with pytest.raises(RecordingError, match=text):
        process(tmp_path, messages)


# --- the parts --------------------------------------------------------------------------------------------------------


def run(signals: SegmentSignals, stamps: np.ndarray, numbers: np.ndarray) -> Piece:
    pieces = [*signals.feed(stamps, numbers), *signals.finish()]
    assert len(pieces) == 1
    return pieces[0]


@pytest.mark.parametrize("order", [1, 2, 4, 7])
def test_the_filter_is_scipys_forward_backward_filter(order):
    rng = np.random.default_rng(0)
    numbers = np.cumsum(rng.normal(size=(3000, 3, 2)), axis=0)
    stamps = np.arange(3000, dtype=np.int64) * 10**7
    low_pass = LowPass(4.0, order, 100.0)
    signals = SegmentSignals(low_pass, np.array([True, True]), 0, 0.01, 0.015, 0, 10**6)
    piece = run(signals, stamps, numbers)
    sections = scipy.signal.butter(order, 4.0, fs=100.0, output="sos")
    expected = scipy.signal.sosfiltfilt(sections, numbers, axis=0, padlen=56)
    np.testing.assert_allclose(piece.signals, expected.transpose(1, 2, 0), rtol=0, atol=1e-10)
    half = np.exp(2j * np.pi * 4.0 * np.arange(3000) * 0.01)
    passed = scipy.signal.sosfiltfilt(sections, half.real)[1000:2000] / half.real[1000:2000]
    assert np.median(passed) == pytest.approx(0.5, rel=1e-6)  # the stated meaning of the cutoff


@pytest.mark.parametrize("cut", [1, 17, 400])
def test_the_resampler_follows_cubics_exactly(cut):
    rng = np.random.default_rng(0)
    stamps = (np.arange(400) * 10**7 + rng.integers(-(10**6), 10**6, 400)).astype(np.int64)
    stamps -= stamps[0]

    def cubic(t: np.ndarray) -> np.ndarray:
        return np.stack([1 + t - t**2 + 0.3 * t**3, -2 * t**3], axis=1)

    resampler = Resampler(0, 137.0, 0.005, 0.015)
    parts = [resampler.feed(stamps[k : k + cut], cubic(stamps[k : k + cut] * 1e-9)) for k in range(0, 400, cut)]
    parts.append(resampler.finish())
    values = np.concatenate([part[0] for part in parts if len(part[0])])
    grid = np.arange(len(values)) / 137.0
    np.testing.assert_allclose(values, cubic(grid), rtol=1e-11, atol=1e-11)
    assert grid[-1] <= stamps[-1] * 1e-9 < grid[-1] + 1 / 137.0


def test_where_samples_bunch_up_the_resampler_does_not_swing():
    stamps = np.array([0, 10, 20, 30, 30.01, 40, 50, 60]) * 1e6
    noise = np.array([0, 0, 0, 0, 1e-3, 0, 0, 0])[:, None]
    resampler = Resampler(0, 1000.0, 0.005, 0.015)
    values = np.concatenate([resampler.feed(stamps.astype(np.int64), noise)[0], resampler.finish()[0]])
    assert len(values) == 61 and np.abs(values).max() <= 1e-3


def test_uncertainties_are_those_of_the_noise(tmp_path):
    """White noise on a robot at rest: the spread of the filtered signals is what is stated."""
    rng = np.random.default_rng(0)
    sizes = np.array([1e-3, 2e-2, 0.5])
    messages = []
    for k in range(20000):
        noise = sizes[:, None] * rng.normal(size=(3, 3))
        messages.append(Message(START + k * 5 * 10**6, NAMES, *noise))
    for velocity in ("measured", "differentiated"):
        found, parts = process(tmp_path, messages, replace(SETTINGS, velocity=velocity))
        stated = found.uncertainty()
        np.testing.assert_allclose(found.noise.measured(found.low_pass), np.tile(sizes[:, None], 3), rtol=0.05)
        for name in ("q", "v", "a", "tau"):
            signal = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_allclose(signal.std(axis=0), getattr(stated, name), rtol=0.1)


def test_settings_go_to_json_and_back():
    settings = Settings(topic="/a", cutoff=3.0, terms=("gravity",), positions={"finger": 0.02}, block=64)
    assert Settings.from_json(settings.to_json()) == settings
    assert Settings.from_json(Settings().to_json()) == Settings()
    with pytest.raises(ValueError, match="unknown setting 'cutof'"):
        Settings.from_dict({"cutof": 3.0})
    for text in ("[1.0]", "3", '"cutoff"', "null"):
        with pytest.raises(ValueError, match="expected a dictionary of settings"):
            Settings.from_json(text)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"clock": "sun"}, "clock is 'sun', must be one of auto, header, received"),
        ({"velocity": "none"}, "velocity is 'none'"),
        ({"rate": -1.0}, "rate must be a positive number"),
        ({"cutoff": float("nan")}, "cutoff must be a positive number"),
        ({"edge": -1.0}, "edge must be a number of seconds"),
        ({"order": 0}, "order must be from 1 to 10"),
        ({"block": 1}, "block must be from 16"),
        ({"terms": ["drag"]}, "unknown term 'drag'"),
        ({"terms": "gravity"}, "terms must be a list"),
        ({"positions": {"finger": float("inf")}}, "position of joint 'finger' is inf"),
    ],
)
def test_wrong_settings_are_named(wrong, text):
    with pytest.raises(ValueError, match=text):
        Settings(**wrong)


def test_a_cutoff_too_high_for_the_rate_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cutoff of 100 Hz is too high for 200 samples per second: at most 90 Hz"):
        process(tmp_path, MOTION, Settings(cutoff=100.0))
    assert Settings().cutoff_at(10.0) == 2.0 and Settings().cutoff_at(1000.0) == 5.0


def test_logs_merge_and_go_to_json_and_back():
    log, other = Log(messages=3, samples=2), Log(messages=4, samples=1)
    log.count("gaps", number=2)
    other.count("gaps")
    other.count("duplicate stamps", number=0)
    other.remark("cold")
    log.merge(other)
    assert (log.messages, log.samples, log.events, log.remarks) == (7, 3, {"gaps": 3}, ["cold"])
    assert Log.from_dict(log.to_dict()) == log
    assert log.warnings == ["cold", "3 gaps (too long to bridge: a new segment starts)"]
    with pytest.raises(KeyError, match="unknown event"):
        log.count("ghosts")
