# SPDX-License-Identifier: Apache-2.0
"""What is said of recordings whose faults are known: each cause injected, and a recording without it."""

from __future__ import annotations

import functools
import json
import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.models.identified import LOAD, arm, loaded, with_friction, without_friction
from helpers.models.robots import FILES, shared_robot
from helpers.paths import RECORDINGS
from helpers.recorded.bags import START, Content, Message, needs_rosbags, write_ros2
from helpers.recorded.exciting import LOW_PASS, measured, segments_of
from helpers.recorded.recordings import SETTINGS, URDF, bag, messages
from helpers.wide import table, wide

from rbd_dynamics import ModelBuilder, Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.common.joint_numbers import numbers_by_joint
from rbd_dynamics.model import Model, ModelWarning
from rbd_dynamics.model.joints import Revolute
from rbd_dynamics.replay import Questions, Settings, analyse
from rbd_dynamics.replay.diagnosis import Diagnosis, DiagnosisResult
from rbd_dynamics.replay.diagnosis.consequences import doubted_contacts, reason
from rbd_dynamics.replay.diagnosis.findings import Cause, Finding, JointDiagnosis
from rbd_dynamics.replay.diagnosis.words import MAIN, SPEAKS, inertia_hint, sayings
from rbd_dynamics.replay.identification import DriveGainIdentifier, Load
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.torques.contacts import ContactEvent
from rbd_dynamics.replay.torques.external_torque import ExternalTorqueResult
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction

DEGREE = 180.0 / np.pi
TIPS = {"arm": "link2", "ur5_robot": "tool0", "panda": "panda_link8"}
needs_files = pytest.mark.skipif("ur5_robot" not in FILES, reason="needs example-robot-data")
needs_data = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="needs the recording of a Panda")


def robots(cases, narrow):
    """Cases for pytest.mark.parametrize, of which the robot comes first; wide are those not in `narrow`."""
    found = table(cases, narrow)
    marked = [
        case if hasattr(case, "marks") else pytest.param(*(case if isinstance(case, tuple) else (case,)))
        for case in found
    ]
    return [
        pytest.param(*case.values, marks=[*case.marks, *([needs_files] * (case.values[0] != "arm"))]) for case in marked
    ]


CLEAN = ("arm", None)


@functools.cache
def robot_of(name: str) -> Robot:
    if name != "arm":
        return Robot(without_friction(name))
    model = arm()
    zeros = dict.fromkeys(model.joint_names, 0.0)
    return Robot(with_joint_friction(model, damping=zeros, friction=zeros))


def found_in(name: str, change=None, model: Model | None = None, offset=0.0) -> DiagnosisResult:
    """Of a recording of `model`, by the robot's description, with its numbers (N, 3, nv) changed in place."""
    robot = robot_of(name)
    stamps, numbers = measured(model or robot.model, 0, 40.0, offset=offset)
    if change is not None:
        change(numbers)
    names = robot.model.joint_names
    diagnosis = Diagnosis(Preparation(robot, LOW_PASS, Settings().terms), names, velocities=names)
    for part in segments_of(stamps, numbers):
        diagnosis.add(part)
    return diagnosis.results()


def late(signal: int, by: int):
    def change(numbers):
        numbers[:, signal] = np.concatenate([np.repeat(numbers[:1, signal], by, axis=0), numbers[:-by, signal]])

    return change


def times(signal, factor, joint=slice(None)):
    def change(numbers):
        numbers[:, signal, joint] *= factor

    return change


def mains(found: DiagnosisResult) -> list[str]:
    return [joint.main for joint in found.joints]


def test_noise_in_the_velocity_of_a_joint_that_creeps_costs_the_others_nothing():
    """Seen: a joint at 0.008 rad/s, whose velocity was "not the rate of its position", so that no contact was told."""

    def creeps(numbers):
        t = np.arange(len(numbers)) / 100.0
        numbers[:, 0, 2] = 0.3 + 0.008 * t
        numbers[:, 1, 2] = 0.008 + 0.05 * np.random.default_rng(0).normal(size=len(t))

    assert not any(finding.kind == "velocity" for finding in found_in("arm", creeps).signals)


@pytest.mark.parametrize("name", robots(TIPS, ("arm", "panda")))
def test_of_a_good_recording_nothing_is_said(name):
    found = found_in(name)
    assert found.signals == ()
    assert mains(found) == ["none"] * len(found.joints)
    assert all(joint.left == 1.0 for joint in found.joints)


CAUSES = ("offset", "friction", "load", "scale", "sign", "contact")


@pytest.mark.parametrize(
    ("name", "cause"),
    robots(product(TIPS, CAUSES), {*product(["arm"], CAUSES), ("ur5_robot", "load")}),
)
def test_the_cause_that_was_injected_is_named(name, cause):
    model, offset = robot_of(name).model, 3.0 if cause == "offset" else 0.0
    change = {"scale": times(2, 0.08), "sign": times(2, -1.0)}.get(cause)
    if cause == "friction":
        model, _ = with_friction(model)
    elif cause == "load":
        model = loaded(model, TIPS[name])
    elif cause == "contact":

        def change(numbers):
            numbers[2000:2150, 2] += 20.0

    found = found_in(name, change, model, offset)
    assert mains(found) == [cause] * len(found.joints)
    assert all(joint.causes[0].share > 0.9 and joint.left < 0.1 for joint in found.joints)
    kinds = [finding.kind for finding in found.signals]
    assert kinds == {"scale": ["effort scale"], "sign": ["effort sign"]}.get(cause, [])
    for joint in found.joints:
        estimates = joint.causes[0].estimates
        truth = {"offset": 3.0, "scale": 0.08, "sign": -1.0}.get(cause)
        assert truth is None or estimates[0].value == pytest.approx(truth, rel=0.05)
        if cause == "friction":
            assert estimates[0].value == pytest.approx(model.joint(joint.joint).friction, abs=0.05)


@pytest.mark.parametrize("name", robots(TIPS, ("arm",)))
def test_efforts_that_are_late_are_told_from_friction_and_load(name):
    found = found_in(name, late(2, 3))
    (finding,) = found.signals
    assert finding.kind == "effort delay" and len(finding.joints) >= 2
    assert finding.estimate.value == pytest.approx(0.03, abs=0.002)
    assert "--delay effort=0.03" in finding.remedy
    named = {joint.joint for joint in found.joints if joint.main == "delay"}
    assert named == set(finding.joints)
    assert all(joint.main in ("delay", "none") for joint in found.joints)


@pytest.mark.parametrize(
    ("change", "kind", "number", "remedy"),
    [
        (late(1, 15), "velocity delay", 0.15, "--delay velocity=0.15"),
        (times(1, -1.0, 1), "velocity sign", -1.0, "--velocity differentiated"),
        (times(1, DEGREE), "velocity scale", DEGREE, "--velocity differentiated"),
        (times(0, DEGREE), "degrees", 1.0 / DEGREE, "--angles degrees --velocity differentiated"),
        (times(slice(0, 2), DEGREE), "degrees", None, "--angles degrees"),
        (times(slice(0, 2), -1.0, 1), "position sign", None, ""),
    ],
)
@pytest.mark.parametrize("name", robots(["arm", "ur5_robot"], ["arm"]))
def test_wrong_motion_is_said_first_and_nothing_of_efforts(name, change, kind, number, remedy):
    found = found_in(name, change)
    assert {finding.kind for finding in found.signals} == {kind}
    assert len(found.signals) == 1 and found.signals[0].remedy.startswith(remedy)
    if number is not None:
        assert found.signals[0].estimate.value == pytest.approx(number, rel=0.02)
    assert mains(found) == ["none"] * len(found.joints) and all(np.isnan(joint.left) for joint in found.joints)


def test_a_velocity_that_belongs_to_another_joint_is_said():
    def swapped(numbers):
        numbers[:, 1, :2] = numbers[:, 1, 1::-1]

    found = found_in("arm", swapped)
    assert {finding.kind for finding in found.signals} == {"velocity"}
    assert sorted(name for finding in found.signals for name in finding.joints) == ["j0", "j1"]


@needs_files
def test_several_causes_are_named_in_the_order_of_what_they_explain():
    model, offset = with_friction(robot_of("ur5_robot").model)
    found = found_in("ur5_robot", times(2, 0.08), model, offset)
    assert [finding.kind for finding in found.signals] == ["effort scale"]
    assert found.signals[0].estimate.value == pytest.approx(0.08, rel=0.01)
    elbow = found.of("elbow_joint")
    assert [cause.name for cause in elbow.causes][:2] == ["scale", "friction"]
    shares = [cause.share for joint in found.joints for cause in joint.causes]
    assert min(shares) >= 0.0 and all(sum(c.share for c in joint.causes) <= 1.0 + 1e-9 for joint in found.joints)


@needs_files
@pytest.mark.parametrize("joints", [pytest.param((2,), marks=wide), (0, 1, 2, 3, 4)])
def test_a_sign_is_found_beside_friction_and_is_neither_load_nor_delay(joints):
    """Seen: a load and 170 ms, since friction of an effort whose sign is turned would drive."""
    model, _ = with_friction(robot_of("ur5_robot").model)
    found = found_in("ur5_robot", times(2, -1.0, list(joints)), model)
    names = robot_of("ur5_robot").model.joint_names
    (finding,) = found.signals
    assert finding.kind == "effort sign" and set(finding.joints) == {names[k] for k in joints}
    assert finding.estimate.value == pytest.approx(-1.0, abs=0.02)
    for k in joints:
        causes = {cause.name: cause for cause in found.of(names[k]).causes}
        assert set(causes) == {"sign", "friction"}
        assert causes["friction"].estimates[0].value == pytest.approx(model.joint(names[k]).friction, abs=0.05)


def planar(tip: float) -> Model:
    """Two links in a vertical plane, with a point mass on the second one's axis, beyond its centre of mass."""
    builder = ModelBuilder("planar")
    inertia = (0.01, 0.0, 0.0, 0.04, 0.0, 0.04)
    parts = {"mass": 3.0, "com": (0.2, 0.0, 0.0), "inertia": inertia}
    builder.add_body("upper", None, Revolute((0.0, 1.0, 0.0)), joint_name="shoulder", **parts)
    parts |= {"mass": 2.0 + tip, "com": ((0.4 + 0.35 * tip) / (2.0 + tip), 0.0, 0.0), "placement": (0.4, 0.0, 0.0)}
    builder.add_body("lower", "upper", Revolute((0.0, 1.0, 0.0)), joint_name="elbow", **parts)
    return builder.build()


def test_a_load_that_another_joint_feels_is_no_scale():
    """The elbow's gravity grows with it in proportion, so that a scale says as much of its efforts; not the shoulder's.

    Where the shoulder shows none, it is a scale.
    """
    robot = Robot(planar(0.0))
    for at_both, expected in ((True, ["load", "load"]), (False, ["none", "scale"])):
        stamps, numbers = measured(planar(0.5), 0, 40.0, speed=0.2)
        if not at_both:
            numbers[:, 2, 0] = measured(robot.model, 0, 40.0, speed=0.2)[1][:, 2, 0]
        names = robot.model.joint_names
        diagnosis = Diagnosis(Preparation(robot, LOW_PASS, Settings().terms), names, velocities=names)
        for part in segments_of(stamps, numbers):
            diagnosis.add(part)
        assert mains(diagnosis.results()) == expected


@needs_files
def test_a_velocity_that_is_a_little_late_is_no_early_effort():
    """Seen: 30 ms explain 0.4 % of the velocity, and the efforts were called 28 ms early."""
    model, _ = with_friction(robot_of("ur5_robot").model)
    for by, told in ((1, True), (3, False)):
        found = found_in("ur5_robot", late(1, by), model)
        assert {finding.kind for finding in found.signals} == {"velocity delay"}
        assert found.signals[0].estimate.value == pytest.approx(0.01 * by, abs=0.002)
        assert all(np.isfinite(joint.left) == told for joint in found.joints)


@needs_files
@pytest.mark.parametrize("rubs", [False, True])
def test_efforts_without_gravity_are_said_to_be_so(rubs):
    """Seen: signs turned, and motors' currents."""
    robot = robot_of("ur5_robot")
    model = with_friction(robot.model)[0] if rubs else robot.model

    def without(numbers):
        numbers[:, 2] -= robot.gravity(numbers[:, 0])

    (finding,) = found_in("ur5_robot", without, model).signals
    assert finding.kind == "gravity" and finding.remedy == "--terms inertia,coriolis,spring"
    assert reason(DiagnosisResult((finding,), ()), "elbow_joint") == "the efforts are without gravity"


def test_efforts_of_most_joints_in_another_unit_cost_all_joints():
    joints = tuple(JointDiagnosis(name, (), 1.0) for name in "abcd")
    for named, costs in ((("a", "b"), False), (("a", "b", "c"), True)):
        found = DiagnosisResult((Finding("effort scale", named, ""),), joints)
        assert bool(reason(found, "d")) == costs and reason(found, "a")


def test_of_noise_nothing_is_said():
    compared = SimpleNamespace(name="a", nrmse=1.02, rmse=0.03, measured_rms=20.0)
    assert sayings(None, [compared], noise={"a": 0.03}) == []
    assert len(sayings(None, [compared], noise={"a": 0.015})) == len(sayings(None, [compared])) == 1


def test_contacts_are_not_told_where_signals_are_wrong():
    events = tuple(ContactEvent(0.0, 1.0, dict.fromkeys(names, 9.0)) for names in ("a", "ab", "b"))
    limits = {"a": 1.0, "b": 1.0}
    told = ExternalTorqueResult(limits, limits, 1.0, limits, limits, limits, events, 3)
    assert doubted_contacts(told, DiagnosisResult((), ())) == told
    wrong = doubted_contacts(told, DiagnosisResult((Finding("position sign", ("b",), ""),), ()))
    assert wrong.events == () and wrong.omitted == 0 and "motion is not what was recorded" in wrong.doubt
    one = doubted_contacts(told, DiagnosisResult((Finding("effort sign", ("a",), ""),), ()))
    assert one.events == events[1:] and not one.doubt


def test_a_recording_too_short_is_not_explained():
    robot = robot_of("arm")
    stamps, numbers = measured(robot.model, 0, 1.2, offset=3.0)
    diagnosis = Diagnosis(Preparation(robot, LOW_PASS, Settings().terms), robot.model.joint_names, velocities=())
    for part in segments_of(stamps, numbers):
        diagnosis.add(part)
    found = diagnosis.results()
    assert all(joint.main == "none" and np.isnan(joint.left) for joint in found.joints)
    json.dumps(found.to_dict(), allow_nan=False)


def test_friction_of_a_joint_that_moves_once_is_no_contact():
    """Seen: a robot at rest that moved for some seconds of a minute, and "contact 100 %" of its friction."""
    robot = robot_of("arm")
    stamps, numbers = measured(robot.model, 0, 40.0)
    period = 1e-9 * float(stamps[1] - stamps[0])
    here = np.arange(len(stamps)) * period
    bump = np.where(abs(here - 22.5) < 2.0, np.cos(np.pi * (here - 22.5) / 4.0) ** 4, 0.0)[:, None]
    q = bump * np.linspace(0.8, 0.5, robot.model.nv)
    v = np.gradient(q, period, axis=0)
    rubbing = Robot(with_friction(robot.model)[0], friction=True)
    numbers[:, 0], numbers[:, 1] = q, v
    numbers[:, 2] = rubbing.inverse_dynamics(q, v, np.gradient(v, period, axis=0))
    diagnosis = Diagnosis(Preparation(robot, LOW_PASS, Settings().terms), robot.model.joint_names, velocities=())
    for part in segments_of(stamps, numbers):
        diagnosis.add(part)
    found = diagnosis.results()
    assert found.signals == () and all(joint.main == "none" and np.isnan(joint.left) for joint in found.joints)
    poor = SimpleNamespace(name=found.joints[0].joint, nrmse=0.8, rmse=1.0, measured_rms=20.0)
    assert sayings(found, [poor])[0].endswith("why cannot be told: it moves for too little of the recording")


# --- what follows for the rest of a replay ------------------------------------------------------------------------


def velocity_delay(seconds):
    estimate = Estimate("delay", seconds, 0.0, seconds, seconds, "s", True)
    return Finding("velocity delay", ("a", "c"), "", estimate=estimate)


def test_a_cause_is_said_of_joints_where_it_matters():
    def joint(name, share, main=0.6, left=0.1, nrmse=0.1):
        causes = (Cause("load", main), Cause("friction", 0.3)) if main else ()
        compared = SimpleNamespace(name=name, nrmse=nrmse, rmse=2.0 * share, measured_rms=2.0)
        return compared, JointDiagnosis(name, causes, left)

    cases = [
        (joint("a", 1.01 * SPEAKS), ["what the model lacks is mostly a load, or inertias other than described: a "]),
        (joint("a", 0.99 * SPEAKS), []),
        (joint("a", 1.0, main=0.99 * MAIN), []),
        (joint("a", 1.0, main=0.0), []),
        (joint("a", 1.0, nrmse=0.9), ["a: the model explains less than half of the torque (nrmse 0.90); most of the "
                                      "rest is a load, or inertias other than described (60 %), then friction"]),
        (joint("a", 1.0, nrmse=1.0, left=np.nan), ["a: the model explains nothing of the torque (nrmse 1.00); why "]),
    ]  # fmt: skip
    for (compared, found), texts in cases:
        said = sayings(DiagnosisResult((), (found,)), [compared])
        assert len(said) == len(texts), said
        assert all(one.startswith(text) for one, text in zip(said, texts)), said


def test_a_replay_without_inertias_says_where_they_would_tell_more():
    compared = [SimpleNamespace(name=name, nrmse=0.3, rmse=1.0, measured_rms=2.0) for name in "abcd"]
    causes = {"a": [("friction", 0.6), ("load", 0.2), ("scale", 0.11)], "b": [("friction", 0.9), ("load", 0.09)],
              "c": [("scale", MAIN)], "d": []}  # fmt: skip
    joints = [JointDiagnosis(name, tuple(Cause(*one) for one in some), 0.0) for name, some in causes.items()]
    told = "--inertias tells whether a body is described wrongly: a, c"
    assert inertia_hint(DiagnosisResult((), tuple(joints)), compared) == [told]
    compared[0].rmse = compared[2].rmse = 0.99 * SPEAKS * 2.0
    assert inertia_hint(DiagnosisResult((), tuple(joints)), compared) == []


def test_wrong_motion_costs_every_joint_and_wrong_efforts_their_own():
    scale, sign = Finding("effort scale", ("a", "b"), ""), Finding("effort sign", ("b",), "")
    turned = Finding("velocity sign", ("a",), "")
    slightly, much = velocity_delay(-0.019), velocity_delay(-0.021)
    cases = [
        ((), None, ""),
        ((scale,), None, "the efforts are not the model's torques (effort scale, a, b)"),
        ((scale,), "b", "the efforts are not the model's torques (effort scale, a, b)"),
        ((scale,), "c", ""),
        ((sign,), "b", "the efforts are not the model's torques (effort sign, b)"),
        ((Finding("effort delay", ("a",), ""),), "a", ""),
        ((turned,), None, "the motion is not what was recorded (velocity sign, a)"),
        ((turned,), "b", "the motion is not what was recorded (velocity sign, a)"),
        ((sign, turned), "a", "the motion is not what was recorded (velocity sign, a)"),
        ((slightly,), "a", ""),
        ((much,), "b", "the motion is not what was recorded (velocity delay, a, c)"),
    ]
    for signals, joint, why in cases:
        assert reason(DiagnosisResult(signals, ()), joint) == why, (signals, joint)


def changed_bag(path, change):
    """The arm of two joints; `change` of its numbers (N, 3, 2)."""
    told = messages(count=3000)
    numbers = np.array([[m.position, m.velocity, m.effort] for m in told])
    change(numbers)
    content = [Message(m.stamp, m.names, *row) for m, row in zip(told, numbers)]
    return write_ros2(path, Content({"/joint_states": content}, {"/robot_description": URDF}))


@needs_rosbags
def test_from_efforts_in_another_unit_no_load_and_no_inertia_follows(tmp_path, capsys):
    path = changed_bag(tmp_path / "run", times(2, 0.08))
    questions = Questions(payload="lower", inertias=True)
    found = analyse(path, shared_robot(load_urdf(URDF)), settings=SETTINGS, questions=questions)
    said = sayings(found.diagnosis, found.comparison.results())
    assert said[0].startswith("efforts of shoulder, elbow are not in the model's unit")
    parts = (found.payload.mass, *found.payload.com, *found.inertias.base, found.friction.of("elbow").coulomb)
    assert not any(part.identifiable for part in parts) and found.payload.load is None
    assert "effort scale" in found.payload.mass.finding
    assert found.friction.exported == {} and found.inertias.refused
    # with the remedy all is well
    settings = Settings.from_dict({**SETTINGS.to_dict(), "effort_scale": 12.5})
    mended = analyse(path, shared_robot(load_urdf(URDF)), settings=settings, questions=questions)
    assert mended.diagnosis.signals == () and mended.payload.mass.covers(0.0)
    # and the command refuses what it is not sure of
    arguments = ["replay", str(path), "--cutoff", "8", "--inertias", "-o", str(tmp_path / "out"), "--formats", "urdf"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "corrected.urdf").write_text("of an earlier replay")
    assert main(arguments) == 1
    assert not (tmp_path / "out" / "corrected.urdf").exists()
    assert "not exported" in capsys.readouterr().out
    assert main([*arguments, "--effort-scale", "12.5"]) == 0
    assert (tmp_path / "out" / "corrected.urdf").exists()
    capsys.readouterr()


@needs_rosbags
@pytest.mark.parametrize("by", [0.02, -0.015, 0.15])
@pytest.mark.parametrize("signal", ["velocity", "effort"])
def test_delays_are_taken_out(tmp_path, signal, by):
    w, phase = np.array([1.3, 2.1]), np.array([0.0, 1.0])
    robot = Robot(load_urdf(URDF), backend="reference")

    def motion(t):
        x = w * t[:, None] + phase
        return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)

    t = np.arange(1200) / 100.0
    q, v, a = motion(t)
    before = motion(t - by)
    v, tau = (
        (before[1], robot.inverse_dynamics(q, v, a)) if signal == "velocity" else (v, robot.inverse_dynamics(*before))
    )
    told = [Message(START + int(s * 1e9), ("shoulder", "elbow"), *row) for s, *row in zip(t, q, v, tau)]
    path = write_ros2(tmp_path / "run", Content({"/joint_states": told}, {"/robot_description": URDF}))
    none = Questions(friction=False, external_torque=False, energy=False, diagnosis=False)

    def rmse(**more):
        settings = Settings(cutoff=8.0, block=200, **more)
        found = analyse(path, shared_robot(load_urdf(URDF)), settings=settings, questions=none)
        return max(joint.rmse for joint in found.comparison.results())

    mended = rmse(delay={signal: by})
    assert mended < 0.005 and mended < 0.5 * rmse()
    assert rmse(delay={signal: {"shoulder": by, "elbow": by}}) == mended


def test_settings_name_what_is_wrong():
    for wrong, match in (
        ({"effort_scale": 0.0}, "effort_scale must be a finite number other than zero"),
        ({"effort_scale": {"elbow": float("nan")}}, "effort_scale of joint 'elbow'"),
        ({"effort_offsets": 3.0}, "effort_offsets must be"),
        ({"delay": {"position": 0.1}}, "unknown signal 'position'; known: velocity, effort"),
        ({"delay": {"effort": 7.0}}, "delay: effort must be seconds, at most 1"),
        ({"delay": {"effort": {"elbow": "x"}}}, "delay: effort of joint 'elbow'"),
        ({"angles": "gradians"}, "angles"),
    ):
        with pytest.raises(ValueError, match=match):
            Settings(**wrong)
    settings = Settings(effort_scale={"elbow": -1.0}, delay={"effort": 0.02}, effort_offsets={"elbow": 0.3})
    assert Settings.from_json(settings.to_json()) == settings


@needs_rosbags
def test_unknown_joints_and_files_of_corrections_are_errors(tmp_path, capsys):
    path = bag(tmp_path / "run", count=400)
    for option, value, match in (
        ("--effort-scale", "wrist=2", "effort_scale: no joint named 'wrist'"),
        ("--effort-scale", str(tmp_path / "none.yaml"), "neither"),
        ("--delay", "effort", "SIGNAL"),
        ("--delay", "effort:wrist=0.1", "'wrist'"),
    ):
        try:
            code = main(["replay", str(path), option, value])
        except SystemExit as error:  # of argparse
            code = error.code
        assert code != 0 and match in capsys.readouterr().err
    (tmp_path / "bad.yaml").write_text("- 1\n- 2\n")
    assert main(["replay", str(path), "--effort-scale", str(tmp_path / "bad.yaml")]) != 0
    assert "bad.yaml: expected {joint: number}" in capsys.readouterr().err
    (tmp_path / "good.yaml").write_text("effort_scale: {elbow: 2.0, shoulder: 1.0}\n")
    assert main(["replay", str(path), "--json", "--effort-scale", str(tmp_path / "good.yaml")]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["effort_scale"] == {"elbow": 2.0, "shoulder": 1.0}


# --- drive gains --------------------------------------------------------------------------------------------------


def currents(name, gains, seed, load=None, share=0.0):
    """Segments of a robot with friction, whose inertias are off by a share, and currents in place of efforts."""
    model, offset = with_friction(robot_of(name).model)
    model = perturb_inertias(model, share, seed=5)
    stamps, numbers = measured(model if load is None else loaded(model, load), seed, 40.0, offset=offset)
    numbers[:, 2] /= gains
    return segments_of(stamps, numbers)


@needs_files
def test_gains_follow_from_a_known_load_whatever_the_inertias_and_friction_are(tmp_path):
    gains, inside = np.array([11.0, 12.0, 9.5, 8.0, 7.5, -7.0]), []
    robot = robot_of("ur5_robot")
    for seed in range(6):
        identifier = DriveGainIdentifier(robot, "tool0", Load(*LOAD), low_pass=LOW_PASS)
        for load in (None, "tool0"):
            for part in currents("ur5_robot", gains, 2 * seed + (load is None), load, share=0.3):
                identifier.add(part, loaded=load is not None)
        found = identifier.results()
        for k, name in enumerate(robot.model.joint_names[:5]):
            estimate = found.gains[name]
            assert estimate.value == pytest.approx(gains[k], rel=0.05)
            inside.append(estimate.covers(gains[k]))
        last = found.gains[robot.model.joint_names[5]]
        assert not last.identifiable  # its sign is turned, or the load adds too little to be seen
    assert np.mean(inside) >= 0.9
    (tmp_path / "gains.yaml").write_text(found.to_yaml())
    read = numbers_by_joint(tmp_path / "gains.yaml", ("drive_gains",))
    assert read.keys() == set(robot.model.joint_names[:5])


def test_without_a_recording_of_the_load_no_gain_is_known():
    identifier = DriveGainIdentifier(robot_of("arm"), "link2", Load(*LOAD), low_pass=LOW_PASS)
    for part in currents("arm", np.full(3, 10.0), 0):
        identifier.add(part, loaded=False)
    assert not any(gain.identifiable for gain in identifier.results().gains.values())
    with pytest.raises(KeyError, match="link9"):
        DriveGainIdentifier(robot_of("arm"), "link9", Load(*LOAD), low_pass=LOW_PASS)


@needs_rosbags
def test_the_command_writes_gains_that_a_replay_reads(tmp_path, capsys):
    carrying = Robot(load_urdf(URDF), backend="reference")
    carrying.set_payload("lower", 2.0, com=(0.0, 0.0, 0.3))
    for name, robot in (("free", Robot(load_urdf(URDF), backend="reference")), ("loaded", carrying)):

        def as_currents(numbers, robot=robot):
            t = np.arange(len(numbers)) / 100.0
            w = np.array([1.3, 2.1])
            a = -(w**2) * np.sin(w * t[:, None] + [0.0, 1.0])
            numbers[:, 2] += robot.inverse_dynamics(numbers[:, 0], numbers[:, 1], a)
            numbers[:, 2] -= Robot(load_urdf(URDF), backend="reference").inverse_dynamics(
                numbers[:, 0], numbers[:, 1], a
            )
            numbers[:, 2] /= [20.0, 5.0]

        changed_bag(tmp_path / name, as_currents)
    arguments = ["replay", str(tmp_path / "loaded"), "--cutoff", "8", "--known-load", "lower=2,0,0,0.3"]
    out = ["-o", str(tmp_path / "out")]
    assert main([*arguments, "--unloaded", str(tmp_path / "free"), *out]) == 0
    capsys.readouterr()
    found = numbers_by_joint(tmp_path / "out" / "drive_gains.yaml", ("drive_gains",))
    assert found == {"shoulder": pytest.approx(20.0, rel=0.02), "elbow": pytest.approx(5.0, rel=0.02)}
    scaled = ["replay", str(tmp_path / "free"), "--cutoff", "8", "--json", "--effort-scale"]
    assert main([*scaled, str(tmp_path / "out" / "drive_gains.yaml")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["diagnosis"]["signals"] == [] and all(joint["nrmse"] < 0.05 for joint in summary["joints"])
    assert main(arguments) != 0
    assert "belong together" in capsys.readouterr().err


# --- a real robot -------------------------------------------------------------------------------------------------


@needs_rosbags
@needs_data
def test_a_hand_that_the_description_lacks_is_called_a_load():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robots = [Robot(load_urdf(RECORDINGS / f"{name}.urdf")) for name in ("fer", "fer_hand")]
    only = Questions(external_torque=False, energy=False, friction=False)
    without, complete = (
        analyse(RECORDINGS / "panda_exciting_trajectory.db3", robot, questions=only).diagnosis for robot in robots
    )
    assert without.signals == complete.signals == ()
    assert [without.of(f"fer_joint{k}").main for k in (2, 3, 4)] == ["load"] * 3
    for found in (without, complete):
        assert [found.of(f"fer_joint{k}").main for k in (1, 5, 6, 7)] == ["friction"] * 4
