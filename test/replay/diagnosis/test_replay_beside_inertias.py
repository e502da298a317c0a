# SPDX-License-Identifier: Apache-2.0
"""What is said of efforts of arms that the description has wrong: nothing that inertias, rotors and friction explain,
and no less of efforts that are wrong."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from helpers.models.robots import FILES, shared_robot
from helpers.recorded.bags import Content, Message, needs_rosbags, write_ros2
from helpers.recorded.described import ARMS, described, recorded, without_centres
from helpers.recorded.exciting import LOW_PASS, segments_of
from helpers.recorded.recordings import URDF, messages
from helpers.wide import table

from rbd_dynamics import load_urdf
from rbd_dynamics.model import Model
from rbd_dynamics.replay import RecordingError, Settings, compare
from rbd_dynamics.replay.diagnosis import Diagnosis, DiagnosisResult
from rbd_dynamics.replay.diagnosis.beside import REACHES, remembered
from rbd_dynamics.replay.diagnosis.consequences import doubted_friction, doubted_inertias, reason
from rbd_dynamics.replay.diagnosis.telling import either_signs, sign_finding
from rbd_dynamics.replay.identification import FrictionIdentifier, InertiaIdentifier, PayloadIdentifier
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.inertial import implausible_masses
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.torques.comparison import predict
from rbd_dynamics.replay.torques.external_torque import ExternalTorque

pytestmark = pytest.mark.skipif(not ARMS.keys() <= FILES.keys(), reason="needs example-robot-data")
each_arm = pytest.mark.parametrize("name", table(ARMS, ("panda",)))


@functools.cache
def base_errors(model: Model) -> BaseErrors:
    return BaseErrors(shared_robot(model))


def diagnosis_of(model: Model, stamps, numbers) -> tuple[Diagnosis, DiagnosisResult]:
    names = model.joint_names
    prepare = Preparation(shared_robot(model), LOW_PASS, Settings().terms)
    diagnosis = Diagnosis(prepare, names, velocities=names, base=base_errors(model))
    for part in segments_of(stamps, numbers):
        diagnosis.add(part)
    return diagnosis, diagnosis.results()


def diagnosed(model: Model, stamps, numbers) -> DiagnosisResult:
    return diagnosis_of(model, stamps, numbers)[1]


def test_a_rotor_on_a_vertical_axis_is_no_current_and_the_inertias_are_exported():
    """Seen: 9.58 times the model's torque, "a motor's current", and nothing exported."""
    model = described("ur10_robot")
    stamps, numbers = recorded("ur10_robot", rubs=(0,))
    found = diagnosed(model, stamps, numbers)
    assert found.signals == ()
    pan = found.of("shoulder_pan_joint")
    causes = {cause.name: [part.value for part in cause.estimates] for cause in pan.causes}
    assert causes == {
        "rotor": [pytest.approx(9.5, rel=0.02)],
        "friction": [pytest.approx(13.3, rel=0.02), pytest.approx(18.0, rel=0.02)],
    }
    identifier = InertiaIdentifier(shared_robot(model), low_pass=LOW_PASS, base=base_errors(model))
    for part in segments_of(stamps, numbers):
        identifier.add(part)
    result = identifier.results()
    assert doubted_inertias(result, found) is result and not result.refused
    (told,) = (joint for joint in result.joints if joint.joint == "shoulder_pan_joint")
    assert told.rmse_after < 0.02 * told.rmse_before


FAULTS = {
    "rotors": ({}, None),
    "half the swing": ({"amplitude": 0.5}, None),
    "twice the swing": ({"amplitude": 2.0}, None),
    "masses": ({"off": 0.1, "seed": 2}, None),
    "bodies": ({"off": 0.3, "seed": 3}, None),
    "centres": ({"rotors": 0.0}, "all"),
    "rotors and centres": ({}, "all"),
    **{f"rotor of joint {k}": ({"rubs": (k,)}, None) for k in range(6)},
    **{f"centre of link {k}": ({"rotors": 0.0}, k) for k in range(6)},
}
NARROW = {("ur10_robot", "rotors and centres"), ("kinova", "centres"), ("z1", "twice the swing")}


@pytest.mark.parametrize(
    ("name", "fault"), table([(name, fault) for name in ARMS for fault in FAULTS], lambda case: case in NARROW)
)
def test_of_a_description_that_is_wrong_no_signal_is_accused(name, fault):
    """Seen: motors' currents, positions in degrees, axes turned round, efforts 129 ms early."""
    how, centre = FAULTS[fault]
    model = described(name)
    links = range(model.nv) if centre == "all" else () if centre is None else (centre,)
    found = diagnosed(without_centres(model, tuple(links)), *recorded(name, **how))
    assert found.signals == ()


@each_arm
def test_currents_are_told_beside_inertias_and_rotors_that_are_wrong(name):
    """Their interval counts what the description may have wrong, and no number is called a remedy."""
    model = described(name)
    gains = np.random.default_rng(3).uniform(6.0, 14.0, model.nv)
    stamps, numbers = recorded(name, off=0.1)
    numbers[:, 2] /= gains
    found = diagnosed(model, stamps, numbers)
    assert {finding.kind for finding in found.signals} == {"effort scale"}
    truth = dict(zip(model.joint_names, 1.0 / gains))
    told = {joint: finding for finding in found.signals for joint in finding.joints}
    assert 2 * len(told) > model.nv
    for joint, finding in told.items():
        assert finding.estimate.covers(truth[joint]), (joint, finding.estimate, truth[joint])
        assert not finding.remedy and "--known-load" in finding.text
    assert all(reason(found, joint) for joint in model.joint_names)
    assert not any(joint.main == "load" for joint in found.joints)


@each_arm
def test_a_heavy_load_is_no_current(name):
    """Seen: 19.5 times the model's torque, "a motor's current?", of a load as heavy as the arm."""
    model = described(name)
    mass = sum(body.inertia.mass for body in model.bodies)
    found = diagnosed(model, *recorded(name, off=0.1, load=mass))
    assert found.signals == () and found.undecided == ()
    assert "load" in {joint.main for joint in found.joints}


@each_arm
def test_a_load_is_told_beside_rotors_that_the_description_lacks(name):
    """Seen: no mass, since errors of bodies that would stand in for the rotors do as much as a load."""
    model = described(name)
    mass = 0.1 * sum(body.inertia.mass for body in model.bodies)
    identifier = PayloadIdentifier(
        shared_robot(model), model.joint_names[-1], low_pass=LOW_PASS, base=base_errors(model)
    )
    for part in segments_of(*recorded(name, load=mass)):
        identifier.add(part)
    found = identifier.results().mass
    assert found.lower > 0.0 and found.value == pytest.approx(mass, rel=0.05)


@each_arm
def test_an_offset_is_told_beside_bodies_described_wrongly_and_only_there(name):
    """Seen: no number, since gravity of the description's errors is as large."""
    model, k = described(name), 2
    stamps, numbers = recorded(name, off=0.1)
    value = 0.3 * float(np.sqrt(np.square(numbers[:, 2, k]).mean()))
    numbers[:, 2, k] += value
    found = diagnosed(model, stamps, numbers)
    assert found.offsets is not None and set(found.offsets) == {model.joint_names[k]}
    friction = FrictionIdentifier(shared_robot(model), low_pass=LOW_PASS, base=base_errors(model))
    for part in segments_of(stamps, numbers):
        friction.add(part)
    told = {one.joint: one.offset for one in doubted_friction(friction.results(), found).joints}
    there = {joint for joint, offset in told.items() if offset.identifiable and offset.lower * offset.upper > 0.0}
    assert there == {model.joint_names[k]}
    assert told[model.joint_names[k]].value == pytest.approx(value, rel=0.2)


PUSHES = (12.3, 33.7, 48.2)  # s; of 0.6 s


@each_arm
def test_pushes_are_told_beside_bodies_described_wrongly_and_none_is_invented(name):
    """Seen: thresholds of half a joint's torque, since rotors are missing from the description."""
    model = described(name)
    stamps, numbers = recorded(name, off=0.1)
    t = 1e-9 * (stamps - stamps[0])
    pushed = np.any([(t >= begin) & (t < begin + 0.6) for begin in PUSHES], axis=0)
    numbers[pushed, 2] -= 0.3 * np.sqrt(np.square(numbers[:, 2]).mean(axis=0))
    diagnosis, found = diagnosis_of(model, stamps, numbers)
    assert found.signals == () and diagnosis.free is not None
    robot, terms = shared_robot(model), Settings().terms
    external = ExternalTorque(robot, model.joint_names, terms, low_pass=LOW_PASS, missing=diagnosis.free.missing)
    for part in segments_of(stamps, numbers):
        external.add(part, predict(robot, part, terms=terms))
    events = external.results().events
    assert [event.start for event in events] == pytest.approx(PUSHES, abs=0.15)
    assert [event.end for event in events] == pytest.approx([begin + 0.6 for begin in PUSHES], abs=0.25)


SIGNS = [(name, k) for name in ARMS for k in range(6)]


@pytest.mark.parametrize(("name", "k"), table(SIGNS, [("z1", 1)]))
def test_one_sign_is_told_beside_inertias_and_rotors_that_are_wrong(name, k):
    model = described(name)
    stamps, numbers = recorded(name, off=0.1, seed=k + 1)
    numbers[:, 2, k] *= -1.0
    found = diagnosed(model, stamps, numbers)
    (finding,) = found.signals
    joint = model.joint_names[k]
    if (name, k) in (("ur10_robot", 5), ("kinova", 5)):  # which turn hardly more than themselves
        assert finding.kind == "effort or position sign"
        return
    assert finding.kind == "effort sign" and finding.joints == (joint,)
    assert finding.remedy == f"--effort-scale {joint}=-1"


TURNED = [("ur10_robot", 0), ("ur10_robot", 3), ("z1", 5)]


@pytest.mark.parametrize(("name", "k"), table(TURNED, TURNED[:1]))
def test_where_an_axis_that_is_turned_looks_like_an_effort_s_sign_both_are_named(name, k):
    """Seen: "effort of shoulder_pan has the opposite sign to the model", of a vertical axis that was turned."""
    model = described(name)
    stamps, numbers = recorded(name, off=0.1, seed=k + 1)
    numbers[:, :2, k] *= -1.0
    found = diagnosed(model, stamps, numbers)
    (finding,) = found.signals
    joint = model.joint_names[k]
    assert finding.kind == "effort or position sign" and finding.joints == (joint,)
    assert finding.remedy == f"--effort-scale {joint}=-1, or --position-scale {joint}=-1"
    assert reason(found, joint) and found.of(joint).main == "sign"


def test_of_several_signs_only_those_are_left_open_that_may_be_turned_axes():
    scale = Estimate("scale", -1.0, 0.05, -1.1, -0.9, "", True)
    both = sign_finding(["a", "b"], scale, whole=True)
    open_, told = either_signs(both, {"b", "c"})
    assert (open_.kind, open_.joints) == ("effort or position sign", ("b",))
    assert told == sign_finding(["a"], scale) and told.remedy == "--effort-scale a=-1"
    assert either_signs(both, {"c"}) == [both]


@each_arm
def test_thousandths_are_told_of_all_joints_with_one_remedy(name):
    model = described(name)
    stamps, numbers = recorded(name, off=0.1, seed=2)
    numbers[:, 2] *= 1e3
    (finding,) = diagnosed(model, stamps, numbers).signals
    assert finding.kind == "effort scale" and finding.remedy == "--effort-scale 0.001"
    assert finding.estimate.covers(1e3)


def test_friction_grows_over_a_displacement_after_each_reversal():
    """Dahl's equation, step by step."""
    t = np.arange(400) / 100.0
    v = np.column_stack([0.3 * np.cos(5.0 * t), 0.05 * np.sin(9.0 * t)])
    found = remembered(v, 100.0)
    for joint in range(2):
        for place, reach in enumerate(REACHES):
            z = float(found[0, joint, place])
            for k in range(1, len(t)):
                moved = v[k, joint] / 100.0
                z = np.sign(moved) + (z - np.sign(moved)) * np.exp(-abs(moved) / reach)
                assert found[k, joint, place] == pytest.approx(z, abs=1e-8)


# --- delays, and friction that looks like one -------------------------------------------------------------------------


def with_slow_friction(name, reach, last=3, **how):
    """The last joints' Coulomb friction takes some motion, rad, to grow after each reversal."""
    stamps, numbers = recorded(name, off=0.1, seed=3, **how)
    v = numbers[:, 1]
    z = np.zeros_like(v)
    z[0] = np.sign(v[0])
    for k in range(1, len(v)):
        moved = v[k] / 100.0
        z[k] = np.sign(moved) + (z[k - 1] - np.sign(moved)) * np.exp(-np.abs(moved) / reach)
    coulomb = np.array(ARMS[name].coulomb) * (np.arange(v.shape[1]) >= v.shape[1] - last)
    numbers[:, 2] += coulomb * (z - np.tanh(v / 0.01))
    return stamps, numbers


@pytest.mark.parametrize(
    ("name", "reach"), table([(n, r) for n in ARMS for r in (0.005, 0.02)], [("ur10_robot", 0.02)])
)
def test_friction_that_turns_round_slowly_is_no_delay(name, reach):
    """Seen: one delay for all joints, which made most of them worse, and then efforts that were early."""
    found = diagnosed(described(name), *with_slow_friction(name, reach))
    assert found.signals == ()
    assert all("early" not in finding.text and not finding.remedy for finding in found.undecided)


@each_arm
def test_a_delay_of_all_joints_is_told_beside_friction_that_turns_round_slowly(name):
    model = described(name)
    stamps, numbers = with_slow_friction(name, 0.01)
    numbers[2:, 2] = numbers[:-2, 2]
    (finding,) = diagnosed(model, stamps, numbers).signals
    assert finding.kind == "effort delay" and set(finding.joints) == set(model.joint_names)
    assert finding.estimate.value == pytest.approx(0.02, abs=0.0015)
    assert finding.remedy.startswith("--delay effort=0.0")


def test_efforts_are_never_early():
    model = described("panda")
    stamps, numbers = recorded("panda", off=0.1, seed=3)
    numbers[:-3, 2] = numbers[3:, 2]
    assert not [finding for finding in diagnosed(model, stamps, numbers).signals if finding.kind == "effort delay"]


# --- zeros of joints --------------------------------------------------------------------------------------------------

ZEROS = [("panda", 3, -np.pi / 2), ("panda", 1, 0.25), ("ur10_robot", 1, np.pi / 2), ("kinova", 2, -0.3),
         ("z1", 2, np.pi / 2)]  # fmt: skip


@pytest.mark.parametrize(("name", "k", "zero"), table(ZEROS, ZEROS[:1]))
def test_a_zero_that_is_elsewhere_is_told_with_its_value(name, k, zero):
    """Beside bodies that are off by a tenth, and rotors that the description lacks."""
    model = described(name)
    stamps, numbers = recorded(name, off=0.1, seed=4)
    numbers[:, 0, k] -= zero
    (finding,) = diagnosed(model, stamps, numbers).signals
    assert finding.kind == "joint zero" and finding.joints[0] == model.joint_names[k]
    assert finding.estimate.value == pytest.approx(zero, abs=0.05) and finding.estimate.unit == "rad"
    assert f"--joint-offset {model.joint_names[k]}={finding.estimate.value:.4g}" in finding.remedy


def touched(name, stamps, numbers):
    """Efforts (N, nv) of pushes, 0.8 s long, at three times, by half of the joints' torques."""
    t = (stamps - stamps[0]) * 1e-9
    size = 0.5 * numbers[:, 2].std(axis=0) * np.random.default_rng(5).choice((-1.0, 1.0), described(name).nv)
    return sum(np.exp(-(((t - share * t[-1]) / 0.4) ** 4)) for share in (0.2, 0.5, 0.8))[:, None] * size


BESIDE = {
    "thousandths": lambda name, stamps, numbers: 1e3 * numbers[:, 2],
    "a sign": lambda name, stamps, numbers: numbers[:, 2] * np.where(np.arange(described(name).nv) == 2, -1.0, 1.0),
    "late": lambda name, stamps, numbers: np.roll(numbers[:, 2], 3, axis=0),
    "touched": lambda name, stamps, numbers: numbers[:, 2] + touched(name, stamps, numbers),
}


@pytest.mark.parametrize(
    ("name", "k", "zero", "efforts"),
    table(
        [(*zero, efforts) for zero in ZEROS for efforts in BESIDE],
        lambda case: case[:3] == ZEROS[0] and case[3] in ("late", "touched"),
    ),
)
def test_a_zero_that_is_elsewhere_is_told_beside_efforts_that_are_wrong_themselves(name, k, zero, efforts):
    """The motion is said first; efforts can be told once it is right."""
    model = described(name)
    stamps, numbers = recorded(name, off=0.1, seed=4)
    numbers[:, 2] = BESIDE[efforts](name, stamps, numbers)
    numbers[:, 0, k] -= zero
    (finding,) = diagnosed(model, stamps, numbers).signals
    assert finding.kind == "joint zero" and finding.joints[0] == model.joint_names[k]
    assert finding.estimate.value == pytest.approx(zero, abs=0.15)


# --- efforts that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", table([0.0, 2.5], [2.5]))
def test_efforts_that_never_change_are_none_and_nothing_is_exported(value):
    model = described("panda")
    stamps, numbers = recorded("panda")
    numbers[:, 2] = value
    found = diagnosed(model, stamps, numbers)
    (finding,) = found.signals
    assert finding.kind == "no efforts" and finding.joints == tuple(model.joint_names)
    assert "no efforts" in reason(found, "panda_joint1") and all(np.isnan(joint.left) for joint in found.joints)
    numbers[:, 2, 1:] = recorded("panda")[1][:, 2, 1:]  # of one joint alone
    found = diagnosed(model, stamps, numbers)
    assert [finding.kind for finding in found.signals] == ["no efforts"]
    assert reason(found, "panda_joint1") and not reason(found, "panda_joint2")


UNITS = [(name, scale) for name in ("z1", "panda") for scale in (0.02, 0.0)]


@pytest.mark.parametrize(("name", "scale"), table(UNITS, UNITS[:1]))
def test_efforts_without_gravity_or_in_an_unknown_unit_export_no_masses(name, scale):
    """Seen: a corrected description of 0.17 kg in place of 4.5."""
    model = described(name)
    stamps, numbers = recorded(name, duration=20.0)
    numbers[:, 2] *= scale
    identifier = InertiaIdentifier(shared_robot(model), low_pass=LOW_PASS, base=base_errors(model))
    for part in segments_of(stamps, numbers):
        identifier.add(part)
    assert "in another unit, without gravity, or none at all" in identifier.results().refused


def test_masses_that_no_description_has_so_wrong_are_implausible():
    given = np.array([3.0, 2.0, 1.0])
    assert not implausible_masses(given, given * [1.5, 0.6, 0.1])  # one small body by much, others by little
    assert implausible_masses(given, given * [1.0, 0.1, 0.1])


# --- two robots on one topic ------------------------------------------------------------------------------------------


@needs_rosbags
@pytest.mark.parametrize("after", [4_000_000, 0, "any"])
def test_two_robots_on_one_topic_are_refused(tmp_path, after):
    """Seen: exit code 0, half of the friction, contacts that never were, and a corrected description."""
    own, rng = messages(count=400), np.random.default_rng(0)
    later = [int(rng.integers(1_000_000, 9_000_000)) if after == "any" else after for _ in own]
    parked = [Message(m.stamp + more, m.names, (0.3, -0.4), (0.0, 0.0), (1.0, 0.5)) for m, more in zip(own, later)]
    both = sorted([*own, *parked], key=lambda message: message.stamp)
    path = write_ros2(tmp_path / "run", Content({"/joint_states": both}, {"/robot_description": URDF}))
    with pytest.raises(RecordingError, match="shoulder goes back and forth.*two robots publish on one topic"):
        compare(path, shared_robot(load_urdf(URDF)))
