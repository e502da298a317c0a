# SPDX-License-Identifier: Apache-2.0
"""Loads from recordings of simulated robots that are known exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.models.identified import LOAD, arm, loaded, with_friction, without_friction
from helpers.models.robots import shared_robot
from helpers.recorded.bags import Content, Message, needs_rosbags, write_ros2
from helpers.recorded.exciting import LOW_PASS, RATE, efforts, measured, segments_of, stamps_of, with_noise
from helpers.recorded.identifying import SEEDS, Coverage, found_by, needs_files, note_friction, resting
from helpers.wide import table

from rbd_dynamics import Robot
from rbd_dynamics.replay import Recording, Settings, segments
from rbd_dynamics.replay.identification import PayloadIdentifier
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction


@needs_files
@pytest.mark.parametrize("robot_name", table(["ur5_robot", "panda"], ["panda"]))
def test_a_load_lies_in_its_intervals_and_they_are_narrow(robot_name):
    given = without_friction(robot_name)
    frame = {"ur5_robot": "tool0", "panda": "panda_link8"}[robot_name]
    model, offset = with_friction(loaded(given, frame))
    coverage, friction = Coverage(), Coverage()
    for seed in SEEDS:
        parts = segments_of(*measured(model, seed, offset=offset))
        found = found_by(PayloadIdentifier(shared_robot(given), frame, low_pass=LOW_PASS), parts)
        for estimate, truth in zip((found.mass, *found.com), (LOAD[0], *LOAD[1])):
            coverage.note(estimate, truth)
        for estimate, truth in zip(found.inertia, LOAD[2]):
            if estimate.identifiable:
                coverage.note(estimate, truth)
        note_friction(friction, found.joints, model, offset)
        load = found.load
        assert load.mass == pytest.approx(LOAD[0], abs=0.02)
        assert np.allclose(load.com, LOAD[1], atol=0.003)
        Robot(given).set_payload(
            frame, load.mass, com=load.com, inertia=load.inertia
        )  # which refuses what cannot exist
    coverage.check()
    friction.check()
    assert np.median(coverage.widths["mass"]) < 0.02
    assert all(np.median(coverage.widths[f"com {axis}"]) < 0.004 for axis in "xyz")
    assert len(coverage.widths["Iyy"]) > len(SEEDS) / 2


@needs_rosbags
@needs_files
def test_a_load_is_found_in_a_recording_written_and_read(tmp_path):
    given = without_friction("ur5_robot")
    model, offset = with_friction(loaded(given, "tool0"))
    stamps, numbers = measured(model, 1, duration=40.0, offset=offset)
    names = [*reversed(model.joint_names), "gripper"]
    messages = [
        Message(int(stamp), names, *(np.append(row[::-1], 0.0) for row in rows)) for stamp, rows in zip(stamps, numbers)
    ]
    bag = write_ros2(tmp_path / "bag", Content({"/joint_states": messages}))
    settings = Settings(cutoff=10.0, block=1500)
    robot = shared_robot(given)
    recorded = segments(Recording(bag), given, settings=settings)
    load = PayloadIdentifier(robot, "tool0", low_pass=recorded.low_pass, terms=settings.terms)
    friction = PayloadIdentifier(robot, "tool0", low_pass=recorded.low_pass, terms=settings.terms, friction=False)
    for part in recorded:
        load.add(part)
        friction.add(part)
    found = load.results()
    assert found.mass.covers(LOAD[0])
    assert all(abs(x.value - truth) < 3.5 * x.error < 0.01 for x, truth in zip(found.com, LOAD[1]))
    assert found.mass.upper - found.mass.lower < 0.02
    assert friction.results().mass.error > found.mass.error  # what friction does is noise then
    assert friction.results().joints[0].coulomb is None


def stop_and_go(model, seed, stiction, seconds=60.0):
    """Segments of an arm that goes from posture to posture, and stands there while friction holds up to `stiction` of
    Coulomb's, the same until it moves again; and those of the same arm without stiction."""
    rng, t = np.random.default_rng(seed), np.arange(int(seconds * RATE)) / RATE
    q, v, a = np.zeros((3, len(t), model.nv))
    here, now, held = np.zeros(model.nv), 0.0, np.zeros((len(t), model.nv))
    coulomb = np.array([joint.friction for joint in model.joints])
    while now < seconds:
        there, takes, rest = rng.uniform(-1.2, 1.2, model.nv), rng.uniform(1.5, 2.5), rng.uniform(0.8, 2.0)
        s, rows, way = np.clip((t - now) / takes, 0.0, 1.0)[:, None], t >= now, there - here
        q[rows] = (here + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2))[rows]
        v[rows] = (way * 30.0 * s**2 * (1.0 - s) ** 2 / takes)[rows]
        a[rows] = (way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / takes**2)[rows]
        held[(t >= now + takes) & (t < now + takes + rest)] = stiction * coulomb * rng.uniform(-1.0, 1.0, model.nv)
        here, now = there, now + takes + rest
    clean = efforts(model, q, v, a)
    return [segments_of(stamps_of(t), with_noise(q, v, effort, seed)) for effort in (clean + held, clean)]


@pytest.mark.parametrize("seed", table(range(200), range(3)))
def test_stiction_moves_a_load_by_no_more_than_what_samples_in_motion_say(seed):
    """Seen: 0.82 +- 6.7 kg where samples in motion say 0.501 +- 0.007: what holds a joint that stands was zero."""
    given = arm()
    real = with_joint_friction(loaded(given, "link2"), friction=dict.fromkeys(given.joint_names, 1.5))
    stuck, free = (
        found_by(PayloadIdentifier(shared_robot(given), "link2", low_pass=LOW_PASS), parts).mass
        for parts in stop_and_go(real, seed, stiction=0.8 * (seed % 5) / 4.0)
    )
    assert stuck.covers(LOAD[0]) or abs(stuck.value - LOAD[0]) < 0.01
    assert stuck.error < 1.05 * free.error + 1e-4 and abs(stuck.value - free.value) < 0.05 * LOAD[0]


def test_a_load_is_known_from_gravity_alone_but_for_its_inertia():
    model = arm()
    poses = np.random.default_rng(0).uniform(-1.5, 1.5, (30, 3))
    found = found_by(PayloadIdentifier(shared_robot(model), "link2"), resting(loaded(model, "link2"), poses))
    assert found.mass.covers(LOAD[0])
    assert found.mass.error < 0.01
    assert all(estimate.covers(truth) for estimate, truth in zip(found.com, LOAD[1]))
    assert not any(estimate.identifiable for estimate in found.inertia)
    assert found.load.mass == pytest.approx(LOAD[0], abs=0.02)
    moments = np.linalg.eigvalsh(np.array(found.load.inertia)[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]])
    assert 0.0 < moments.min() and moments.max() < moments.sum() - moments.max()


def test_no_load_is_a_mass_near_zero_that_has_no_centre():
    model = arm()
    found = found_by(
        PayloadIdentifier(shared_robot(model), "link2", low_pass=LOW_PASS), segments_of(*measured(model, 0))
    )
    assert found.mass.covers(0.0)
    assert found.mass.upper - found.mass.lower < 0.1
    assert found.load is None
    assert not any(estimate.identifiable for estimate in (*found.com, *found.inertia))


def test_one_pose_does_not_tell_a_load():
    model = arm()
    parts = resting(loaded(model, "link2"), np.tile([0.3, 0.5, -0.2], (30, 1)))
    found = found_by(PayloadIdentifier(shared_robot(model), "link2"), parts)
    assert not found.mass.identifiable and found.load is None
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["mass"]["value"] is None
    for joint in found.joints:  # nor friction, and what cannot be told from the load is not
        assert not joint.coulomb.identifiable and not joint.viscous.identifiable


@needs_files
@pytest.mark.parametrize("share", [0.05, 0.15])
def test_intervals_hold_the_truth_where_the_description_is_wrong_and_noise_is_coloured(share):
    """Bodies of the real robot are off by up to this share; neither residuals nor blocks of time show all of it."""
    given = without_friction("ur5_robot")
    truth, offset = with_friction(given)
    robot, inside, narrow = shared_robot(given), [], []
    for seed in SEEDS:
        real = loaded(perturb_inertias(truth, share, seed=seed), "tool0")
        parts = segments_of(*measured(real, seed, offset=offset, colour=0.1))
        found = found_by(PayloadIdentifier(robot, "tool0", low_pass=LOW_PASS), parts)
        for estimate, value in zip((found.mass, *found.com), (LOAD[0], *LOAD[1])):
            if estimate.identifiable:
                inside.append(estimate.covers(value))
        narrow.append(found.mass.upper - found.mass.lower)
        for k, (joint, body) in enumerate(zip(found.joints, real.joints)):
            for estimate, value in zip(
                (joint.offset, joint.coulomb, joint.viscous), (offset[k], body.friction, body.damping)
            ):
                if estimate.identifiable:
                    inside.append(estimate.covers(value))
    assert len(inside) > 15 * len(SEEDS)
    assert np.mean(inside) >= 0.9
    assert np.nanmedian(narrow) < 8.0 * share * LOAD[0]  # wide, but not so wide that nothing is said


def test_a_load_lighter_than_nothing_is_a_finding():
    described, real = loaded(arm(), "link2"), arm()
    found = found_by(
        PayloadIdentifier(shared_robot(described), "link2", low_pass=LOW_PASS), segments_of(*measured(real, 0))
    )
    assert not found.mass.identifiable and found.load is None
    assert found.mass.finding.startswith("-1.2 ±") and "cannot have negative mass" in found.mass.finding
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["mass"]["value"] is None


def test_a_load_of_the_size_of_the_misfit_is_refused():
    given = without_friction("ur5_robot")
    truth, offset = with_friction(given)
    real = perturb_inertias(truth, 0.3, seed=3)  # without a load
    found = found_by(
        PayloadIdentifier(shared_robot(given), "tool0", low_pass=LOW_PASS),
        segments_of(*measured(real, 1, offset=offset)),
    )
    assert not found.mass.identifiable or found.mass.covers(0.0)
    assert "errors of the description" in found.mass.finding
