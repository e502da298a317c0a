# SPDX-License-Identifier: Apache-2.0
"""External torques and contacts of recordings, and where the energy went: simulated robots, and a real one."""

from __future__ import annotations

import contextlib
import sqlite3
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.robots import FILES, shared_robot
from helpers.paths import RECORDINGS
from helpers.recorded.bags import bare, needs_rosbags
from helpers.recorded.exciting import LOW_PASS, RATE, fourier, segments_of, stamps_of
from helpers.recorded.recordings import URDF, bag

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.control.contact.detector import BREAKAWAY
from rbd_dynamics.control.terms import TERMS, inverse_dynamics_terms
from rbd_dynamics.model import ModelWarning
from rbd_dynamics.replay import Questions, Recording, analyse, predict
from rbd_dynamics.replay.identification import FrictionIdentifier
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.friction import FrictionResult, JointFriction, Stribeck
from rbd_dynamics.replay.torques.contacts import TICK
from rbd_dynamics.replay.torques.energy import Energy
from rbd_dynamics.replay.torques.external_torque import ExternalTorque, breakaway_of
from rbd_dynamics.simulation.perturbation import with_joint_friction

pytestmark = pytest.mark.skipif("ur5_robot" not in FILES, reason="needs example-robot-data")
RIGID = TERMS[:3]
FORCE = np.array([0.0, 0.0, 0.0, 12.0, -5.0, 20.0])  # wrench on the tool in its own frame
FROM, TO = 20.0, 26.0  # s


def ur5(damping=0.0, friction=0.0):
    model = load_urdf(FILES["ur5_robot"])
    names = model.joint_names
    return with_joint_friction(model, damping=dict.fromkeys(names, damping), friction=dict.fromkeys(names, friction))


def recorded(model, terms=RIGID, touched=True, seed=None, duration=40.0, block=2000):
    """Segments of a robot on which a wrench acts from 20 to 26 s; the true external torque at their times."""
    robot = shared_robot(model)
    t = np.arange(int(duration * RATE)) / RATE
    q, v, a = fourier(model, t)
    external = np.zeros_like(q)
    if touched:
        during = (t >= FROM) & (t < TO)
        external[during] = [robot.jacobian(row, "tool0").T @ FORCE for row in q[during]]
    tau = inverse_dynamics_terms(robot, q, v, a, terms) - external
    if seed is not None:
        tau += 0.3 * np.random.default_rng(seed).normal(size=tau.shape)
    return segments_of(stamps_of(t), np.stack([q, v, tau], axis=1), block), t, external


def observed(robot, parts, terms=RIGID, **options):
    """Result and external torques (N, nv) of segments."""
    found = ExternalTorque(robot, robot.model.joint_names, terms, low_pass=LOW_PASS, **options)
    torque = np.concatenate([found.add(part, predict(robot, part, terms=terms)) for part in parts])
    return found.results(), torque


def test_wrench_is_seen_as_its_torque_and_the_contact_has_its_times():
    robot = shared_robot(ur5())
    parts, t, external = recorded(robot.model)
    result, torque = observed(robot, parts, rate=30.0)
    times = np.concatenate([part.t for part in parts])
    true = np.array([np.interp(times - 1 / 30.0, t, column) for column in external.T]).T
    inside = (times > FROM + 0.5) & (times < TO - 0.5)
    scale = np.abs(external).max()
    assert np.abs(torque - true)[inside].max() < 0.02 * scale
    outside = (times < FROM - 0.5) | (times > TO + 0.5)
    assert np.abs(torque[outside]).max() < 1e-3 * scale
    (event,) = result.events
    late = 1 / 30.0 + 1.0 / LOW_PASS.cutoff
    assert FROM - late < event.start < FROM + late and TO < event.end < TO + 4 * late
    strongest = max(event.peak, key=event.peak.get)
    assert strongest == robot.model.joint_names[int(np.abs(external).max(axis=0).argmax())]
    assert event.peak[strongest] == pytest.approx(scale, rel=0.02)
    assert result.omitted == 0 and result.to_dict()["events"][0]["start"] == event.start


def test_an_offset_from_the_beginning_is_no_contact():
    """Seen: the observer begins at zero, and the offset it came to was a contact to the end."""
    robot = shared_robot(ur5())
    parts, *_ = recorded(robot.model, touched=False, duration=12.0)
    shifted = [replace(part, tau=part.tau + np.array([0.0, 6.0, -4.0, 0.0, 0.0, 0.0])) for part in parts]
    result, torque = observed(robot, shifted)
    assert result.events == () and np.abs(torque[-1, 1] + 6.0) < 0.1


@pytest.mark.parametrize("threshold", [None, 3.0])
def test_a_press_on_a_robot_that_never_moves_is_found_by_a_threshold_that_is_given(threshold):
    robot = shared_robot(ur5())
    t = np.arange(int(20.0 * RATE)) / RATE
    q = np.tile([0.3, -1.0, 1.2, 0.4, 0.5, 0.1], (len(t), 1))
    v = np.zeros_like(q)
    tau = robot.inverse_dynamics(q, v, v)
    tau[:, 2] -= 12.0 * np.clip((t - 10.0) / 0.5, 0.0, 1.0) * (t < 13.0)
    result, _ = observed(robot, segments_of(stamps_of(t), np.stack([q, v, tau], axis=1)), thresholds=threshold)
    if threshold is None:
        assert result.events == ()  # nobody knows what friction does
        return
    (event,) = result.events
    assert set(event.peak) == {"elbow_joint"} and 10.0 < event.start < 10.6 and 13.0 < event.end < 13.6
    assert event.peak["elbow_joint"] == pytest.approx(12.0, abs=0.5)


def test_it_does_not_matter_how_the_recording_is_cut():
    robot = shared_robot(ur5())
    whole, torque = observed(robot, recorded(robot.model, block=10**6)[0])
    pieces, cut = observed(robot, recorded(robot.model, block=137)[0])
    np.testing.assert_allclose(cut, torque, atol=1e-7 * np.abs(torque).max())
    assert len(pieces.events) == len(whole.events) == 1
    assert pieces.events[0].start == pytest.approx(whole.events[0].start, abs=1e-9)
    assert pieces.events[0].peak == pytest.approx(whole.events[0].peak, rel=1e-6)


@pytest.mark.parametrize("terms", [("inertia", "coriolis"), ("inertia", "coriolis", "gravity", "friction")])
def test_robots_that_compensate_or_rub_show_the_same_contact(terms):
    robot = shared_robot(ur5(1.0, 2.0))
    plain_robot = shared_robot(ur5())
    _, plain_torque = observed(plain_robot, recorded(plain_robot.model)[0])
    result, torque = observed(robot, recorded(robot.model, terms)[0], terms)
    assert (
        np.abs(torque - plain_torque).max() < 0.15 * np.abs(plain_torque).max()
    )  # friction turns faster than the filter
    assert np.median(np.abs(torque - plain_torque)) < 0.01
    assert len(result.events) == 1


def test_friction_that_was_found_is_taken_away():
    robot = shared_robot(ur5(1.0, 2.0))
    parts, _, _ = recorded(robot.model, TERMS, touched=False)
    identifier = FrictionIdentifier(robot, low_pass=LOW_PASS)
    for part in parts:
        identifier.add(part)
    found = identifier.results()
    with_it, torque = observed(robot, parts, friction=lambda v: found.torque(robot.model.joint_names, v))
    without, rubbing = observed(robot, parts)
    assert np.median(np.abs(torque)) < 0.02 * np.median(np.abs(rubbing))
    assert max(without.usual.values()) > 1.0


@pytest.mark.parametrize("cautious, bound", [(True, 0.5), (False, 0.0)])
def test_what_friction_may_hold_at_rest_is_what_was_found_else_what_the_description_says(cautious, bound):
    """Nothing is known of a joint without either."""
    names = load_urdf(FILES["ur5_robot"]).joint_names
    described = with_joint_friction(
        load_urdf(FILES["ur5_robot"]), friction=dict(zip(names, (2.0, 3.0, 0.0, 0.0, 0.0, 0.0)))
    )
    nothing = Estimate.of("", 0.0, 0.0, 2.0, "", False)

    def joint(name, coulomb, stribeck=None):
        return JointFriction(name, 1000, nothing, coulomb, nothing, stribeck, 1.0, 0.5)

    surely, hardly = (Estimate.of("coulomb", value, 0.25, 2.0, "N m", True) for value in (4.0, 0.0))
    bend = Stribeck(Estimate.of("breakaway", 6.0, 0.1, 2.0, "N m", True), nothing)
    joints = joint(names[1], surely), joint(names[2], surely, bend), joint(names[3], nothing), joint(names[4], hardly)
    found = breakaway_of(described, names, FrictionResult(joints, RIGID), cautious=cautious)
    np.testing.assert_allclose(found / BREAKAWAY, [2.0, 4.0, 6.0, np.inf, bound, np.inf])


def test_noise_is_no_contact():
    robot = shared_robot(ur5())
    counts = [len(observed(robot, recorded(robot.model, touched=False, seed=seed)[0])[0].events) for seed in range(10)]
    assert counts == [0] * 10
    touched = [observed(robot, recorded(robot.model, seed=seed)[0])[0] for seed in range(10)]
    assert [len(result.events) for result in touched] == [1] * 10


def test_thresholds_that_are_given():
    robot = shared_robot(ur5())
    parts, _, _ = recorded(robot.model)
    result, _ = observed(robot, parts, thresholds={"elbow_joint": 2.0})
    assert result.threshold["elbow_joint"] == 2.0 and np.isinf(result.threshold["wrist_1_joint"])
    assert all(list(event.peak) == ["elbow_joint"] for event in result.events) and result.events
    assert observed(robot, parts, thresholds=1e4)[0].events == ()
    assert result.to_dict()["threshold"]["wrist_1_joint"] is None
    with pytest.raises(ValueError, match="unknown joint 'elbow'"):
        ExternalTorque(robot, robot.model.joint_names, RIGID, thresholds={"elbow": 1.0})


def test_joints_without_effort_and_filled_samples():
    robot = shared_robot(ur5())
    parts, _, _ = recorded(robot.model)
    silent = np.arange(6) != 2
    blind = [
        replace(part, measured=silent, tau=np.where(silent, part.tau, np.nan), filled=part.t > 30.0) for part in parts
    ]
    result, torque = observed(robot, blind)
    assert np.isnan(torque[:, 2]).all() and np.isfinite(torque[:, silent]).all()
    assert "elbow_joint" not in result.threshold and len(result.events) == 1


def test_a_robot_that_stands_touches_nothing():
    """However wrong the model is about its weight."""
    robot = shared_robot(ur5())
    still = np.zeros((3000, 3, 6))
    still[:, 0], still[:, 2] = 0.5, robot.gravity(np.full(6, 0.5)) + 5.0
    assert observed(robot, segments_of(stamps_of(np.arange(3000) / RATE), still))[0].events == ()


def test_a_contact_at_the_end_of_a_segment_ends_with_it():
    robot = shared_robot(ur5())
    parts = recorded(robot.model, duration=23.0)[0]
    (event,) = observed(robot, parts, thresholds=3.0)[0].events
    assert parts[-1].t[-1] - TICK < event.end <= parts[-1].t[-1]


@needs_rosbags
@pytest.mark.parametrize("seed", range(3))
def test_flipped_bytes_invent_no_contact(tmp_path, seed):
    """Seen: 80 of them made an event of 2,489 N m."""
    file = bare(bag(tmp_path / "run", count=3000))
    robot = shared_robot(load_urdf(URDF))
    whole = analyse(Recording(file), robot)
    rng = np.random.default_rng(seed)
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        rows = [row for (row,) in database.execute("SELECT id FROM messages WHERE length(data) > 100")]
        for row in rng.choice(rows, 80, replace=False):
            (data,) = database.execute("SELECT data FROM messages WHERE id = ?", (int(row),)).fetchone()
            data = bytearray(data)
            data[int(rng.integers(4, len(data)))] ^= int(rng.integers(1, 256))
            database.execute("UPDATE messages SET data = ? WHERE id = ?", (bytes(data), int(row)))
    found = analyse(Recording(file), robot)
    lost = sum(number for event, number in found.log.events.items() if "impl" in event or "undec" in event)
    assert 5 <= lost <= 80
    assert found.external_torque.events == whole.external_torque.events == ()
    for name, peak in found.external_torque.peak.items():
        assert peak < whole.external_torque.peak[name] + 1.0
    for one, other in zip(found.comparison.results(), whole.comparison.results()):
        assert one.rmse < other.rmse + 0.01


def energy_of(robot, parts, terms=RIGID):
    found = Energy(robot, robot.model.joint_names, terms)
    for part in parts:
        found.add(part, predict(robot, part, terms=terms))
    return found


def test_work_of_a_robot_without_friction_is_its_change_of_energy():
    robot = shared_robot(ur5())
    parts, _, _ = recorded(robot.model, touched=False, duration=37.0)
    result = energy_of(robot, parts).results()
    size = sum(joint.work_in for joint in result.joints)
    assert abs(result.change) > 0.01 * size
    assert abs(result.lost) < 1e-6 * size
    assert result.duration == pytest.approx(parts[-1].t[-1] - parts[0].t[0])
    kinetic = np.concatenate([robot.kinetic_energy(part.q, part.v) for part in parts])
    assert result.kinetic == pytest.approx((kinetic.min(), kinetic.max()))
    for joint in result.joints:
        assert joint.predicted_work == pytest.approx(joint.work_in + joint.work_out, abs=1e-6 * size)
        assert joint.mean_power * result.duration == pytest.approx(joint.work_in + joint.work_out, abs=1e-9 * size)


def test_largest_power_is_that_of_all_samples_however_they_are_cut():
    robot = shared_robot(ur5())
    for block in (137, 10**6):
        parts, _, _ = recorded(robot.model, touched=False, block=block)
        power = np.abs(np.concatenate([part.tau * part.v for part in parts])).max(axis=0)
        found = [joint.largest_power for joint in energy_of(robot, parts).results().joints]
        np.testing.assert_allclose(found, power, rtol=1e-12)


def test_what_viscous_friction_takes_is_lost():
    robot = shared_robot(ur5(damping=1.5))
    parts, _, _ = recorded(robot.model, TERMS, touched=False)
    result = energy_of(robot, parts).results()
    rate = [1.5 * (part.v**2).sum(axis=1) for part in parts]
    assert result.lost == pytest.approx(np.concatenate(rate).sum() / RATE, rel=2e-3)


def test_energy_does_not_depend_on_cuts_and_adds_up():
    robot = shared_robot(ur5())
    whole = energy_of(robot, recorded(robot.model, block=10**6)[0]).results()
    pieces = energy_of(robot, recorded(robot.model, block=137)[0])
    assert pieces.results().work == pytest.approx(whole.work, rel=1e-9)
    pieces.merge(energy_of(robot, recorded(robot.model, block=500)[0]))
    assert pieces.results().work == pytest.approx(2 * whole.work, rel=1e-9)
    assert pieces.results().duration == pytest.approx(2 * whole.duration)
    with pytest.raises(ValueError, match="other joints or terms"):
        pieces.merge(Energy(robot, robot.model.joint_names, ("gravity",)))


def test_no_balance_without_all_efforts():
    robot = shared_robot(ur5())
    parts = [replace(part, measured=np.arange(6) != 1) for part in recorded(robot.model)[0]]
    result = energy_of(robot, parts).results()
    assert result.work is None and result.lost is None and len(result.joints) == 5


@needs_rosbags
@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="needs the recording of a Panda")
def test_nothing_touched_the_real_robot():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = Robot(load_urdf(RECORDINGS / "fer_hand.urdf"))
    found = analyse(Recording(RECORDINGS / "panda_exciting_trajectory.db3"), robot, questions=Questions())
    assert found.external_torque.events == ()
    assert max(found.external_torque.usual.values()) < 1.0
    assert 0.0 < found.energy.lost < 30.0  # friction of 0.3 N m at 0.5 rad/s on seven joints over 24 s


def test_errors_below_a_fiftieth_of_a_joints_torque_are_no_contact():
    """Nothing is noisy and nothing touches: the threshold is what is left then."""
    robot = shared_robot(ur5())
    parts, _, _ = recorded(robot.model, touched=False, duration=30.0)
    result, _ = observed(robot, parts)
    torque = np.concatenate([predict(robot, part, terms=RIGID).tau for part in parts])
    rms = np.sqrt((torque**2).mean(axis=0))
    for name, least in zip(robot.model.joint_names, 0.02 * rms):
        if result.spread[name] * 10.0 < least:
            assert result.threshold[name] == pytest.approx(least, rel=1e-6)
    assert sum(10.0 * result.spread[name] < 0.02 * of for name, of in zip(robot.model.joint_names, rms)) >= 3
    assert not result.events
