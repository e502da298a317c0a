# SPDX-License-Identifier: Apache-2.0
"""Models of drives: each part is found where it was put, and only there."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.identified import arm, with_friction, without_friction
from helpers.models.robots import FILES, shared_robot
from helpers.recorded.bags import Content, Message, needs_rosbags, write_ros2
from helpers.recorded.exciting import LOW_PASS, RATE, fourier, measured, segments_of

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.model import Joint, Model
from rbd_dynamics.replay import Questions, Settings, analyse
from rbd_dynamics.replay.fleet.job import Job, run_job
from rbd_dynamics.replay.identification import DriveIdentifier, DriveResult, with_drives
from rbd_dynamics.replay.questions.drives import DrivesQuestion, drive_rows
from rbd_dynamics.simulation.perturbation import perturb_inertias

needs_files = pytest.mark.skipif("ur5_robot" not in FILES, reason="needs example-robot-data")
SECONDS = 40.0


def drives(model: Model, given: Model, add=None, seed: int = 0, colour: float = 0.0) -> DriveResult:
    """Of the model's simulated recording, to whose efforts `add(q, v, a, torque)` adds, with another one as given."""
    stamps, numbers = measured(model, seed, duration=SECONDS, colour=colour, offset=0.2)
    if add is not None:
        q, v, a = fourier(model, np.arange(len(numbers)) / RATE)
        numbers[:, 2] += add(q, v, a, shared_robot(model).inverse_dynamics(q, v, a))
    found = DriveIdentifier(shared_robot(given), low_pass=LOW_PASS)
    for part in segments_of(stamps, numbers):
        found.add(part)
    return found.results()


def on(joint: int, torque):
    """The torque of a drive (q, v, a, torque) -> (N,) on one joint."""

    def add(*signals: np.ndarray) -> np.ndarray:
        found = np.zeros_like(signals[0])
        found[:, joint] = torque(*(signal[:, joint] for signal in signals))
        return found

    return add


def sign(v: np.ndarray) -> np.ndarray:
    return np.tanh(v / 0.01)


def motor(v: np.ndarray, a: np.ndarray, coulomb: float, viscous: float, rotor: float) -> np.ndarray:
    return coulomb * sign(v) + viscous * v + rotor * a


def needs(found: DriveResult) -> dict[str, list[str]]:
    return {joint.joint: [part.name for part in joint.parts] for joint in found.joints if joint.parts}


#: part: torque on a joint, and the numbers that it has; of j1, which gravity loads
PARTS = {
    "rotor inertia": (lambda q, v, a, t: 0.3 * a, {"rotor inertia": 0.3}),
    "spring": (lambda q, v, a, t: 2.0 * (q - 0.4), {"stiffness": 2.0}),
    "friction by direction": (lambda q, v, a, t: 0.2 * np.abs(v), {"viscous forth": 0.7, "viscous back": 0.3}),
    "friction with load": (lambda q, v, a, t: 0.1 * np.abs(t) * sign(v), {"share of the torque": 0.1}),
    "friction falling with speed": (lambda q, v, a, t: 0.4 * np.exp(-((v / 0.16) ** 2)) * sign(v), {"breakaway": 0.7}),
    "gain": (lambda q, v, a, t: (1 / 0.8 - 1) * t, {"gain": 0.8}),
}


@pytest.mark.parametrize("colour", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_plain_friction_needs_no_more(seed, colour):
    found = drives(arm(), arm(), seed=seed, colour=colour)
    assert needs(found) == {}
    assert not found.inertias_free and not found.finding and not found.exported
    assert all(joint.rmse_after == joint.rmse_friction < 0.5 * joint.rmse_before for joint in found.joints)
    assert all(joint.coulomb.value == pytest.approx(0.3, abs=0.02) for joint in found.joints)


@pytest.mark.parametrize("name", PARTS)
def test_each_part_is_found_where_it_is_and_only_there(name):
    torque, truth = PARTS[name]
    found = drives(arm(), arm(), on(1, torque))
    assert needs(found) == {"j1": [name]}
    (part,) = found.of("j1").parts
    assert {number.name: number.value for number in part.estimates} == pytest.approx(truth, rel=0.05)
    for number in part.estimates:
        assert number.lower - 1.5 * number.error < truth[number.name] < number.upper + 1.5 * number.error
        assert number.upper - number.lower < 0.2 * truth[number.name]
    joint = found.of("j1")
    assert part.share > 0.5
    assert joint.rmse_after < 0.7 * joint.rmse_friction


@pytest.mark.parametrize("ratio", [1.0, -1.0])
def test_joints_that_share_a_motor_are_told_with_the_motors_numbers(ratio):
    def shared(q, v, a, torque):
        found = np.zeros_like(q)
        found[:, 2] = motor(v[:, 2] + ratio * v[:, 1], a[:, 2] + ratio * a[:, 1], 0.8, 0.4, 0.05)
        found[:, 1] = ratio * found[:, 2]
        return found

    found = drives(arm(), arm(), shared)
    assert needs(found) == {"j1": ["shared motor"], "j2": ["shared motor"]}
    part = found.of("j2").part("shared motor")
    assert part.motor == ("j2 + j1" if ratio > 0.0 else "j2 - j1")
    assert [number.value for number in part.estimates] == pytest.approx([0.8, 0.4, 0.05], rel=0.1)
    assert found.of("j1").parts[0].estimates == part.estimates


def test_two_parts_of_one_drive_are_both_found():
    torque = on(1, lambda q, v, a, t: 0.3 * a + 0.1 * np.abs(t) * sign(v))
    found = drives(arm(), arm(), torque)
    assert {name: set(parts) for name, parts in needs(found).items()} == {"j1": {"rotor inertia", "friction with load"}}


@needs_files
def test_wrong_inertias_are_no_drives_and_a_rotor_is_told_from_them():
    given = without_friction("ur5_robot")
    model, _ = with_friction(given)
    wrong = perturb_inertias(given, 0.1)
    found = drives(model, wrong)
    assert found.inertias_free
    assert needs(found) == {}
    found = drives(model, wrong, on(2, lambda q, v, a, t: 0.5 * a))
    assert needs(found) == {"elbow_joint": ["rotor inertia"]}
    (part,) = found.of("elbow_joint").parts
    assert part.estimates[0].covers(0.5) and not part.note
    assert not found.exported  # which belongs to inertias that are not in the description


def test_what_the_bodies_may_do_as_well_is_said_of_a_rotor():
    found = drives(arm(), arm(), on(0, PARTS["rotor inertia"][0]))
    (part,) = found.of("j0").parts
    assert part.name == "rotor inertia" and "no motion tells them apart" in part.note


def test_a_rotor_that_the_description_has_is_part_of_what_is_found():
    def rotors(value: float) -> Model:
        bodies = arm().bodies
        return replace(arm(), bodies=tuple(replace(b, joint=replace(b.joint, armature=value)) for b in bodies))

    found = drives(rotors(0.4), rotors(0.4))
    assert needs(found) == {}
    found = drives(rotors(0.4), rotors(0.2))
    assert set(needs(found)["j1"]) == {"rotor inertia"}
    assert found.of("j1").parts[0].estimates[0].covers(0.4)


def test_what_a_drive_cannot_have_is_no_part():
    found = drives(arm(), arm(), on(1, lambda q, v, a, t: -0.3 * a))  # no rotor is lighter than nothing
    assert "rotor inertia" not in [part.name for part in found.of("j1").parts]
    found = drives(arm(), arm(), on(1, lambda q, v, a, t: -0.02 * np.abs(t) * sign(v)))
    assert "friction with load" not in [part.name for part in found.of("j1").parts]


def test_parts_of_a_recording_are_merged_and_short_ones_decide_nothing():
    stamps, numbers = measured(arm(), 0, duration=SECONDS, offset=0.2)
    parts = segments_of(stamps, numbers)
    whole, *halves = (DriveIdentifier(shared_robot(arm()), low_pass=LOW_PASS) for _ in range(3))
    for k, part in enumerate(parts):
        whole.add(part)
        halves[k % 2].add(part)
    halves[0].merge(pickle.loads(pickle.dumps(halves[1])))
    one, other = whole.results(), halves[0].results()
    for a, b in zip(one.joints, other.joints):
        assert a.coulomb.value == pytest.approx(b.coulomb.value, rel=1e-9)
        assert a.rmse_after == pytest.approx(b.rmse_after, rel=1e-9)
    with pytest.raises(ValueError, match="another robot"):
        whole.merge(DriveIdentifier(Robot(arm(2)), low_pass=LOW_PASS))
    assert "too short" in DriveIdentifier(shared_robot(arm()), low_pass=LOW_PASS).results().finding


# --- what a description can hold ----------------------------------------------------------------------------------


def test_rotor_and_spring_go_into_the_description_and_predict_better():
    torque = on(1, lambda q, v, a, t: 0.3 * a + 2.0 * (q - 0.4))
    found = drives(arm(), arm(), torque)
    assert set(found.exported) == {"j1"}
    drive = found.exported["j1"]
    assert (drive.armature, drive.stiffness) == pytest.approx((0.3, 2.0), rel=0.05)
    assert drive.offset == 0.0  # the spring's preload
    assert drive.reference == pytest.approx(0.4 - 0.2 / 2.0, abs=0.05)
    before, _, exported, beside = found.validation.of("j1")
    assert exported == beside < 0.1 * before
    joint: Joint = with_drives(arm(), found.exported).joint("j1")
    assert joint.armature == drive.armature
    q, v, a = fourier(arm(), np.arange(500) / RATE)
    moved = Robot(with_drives(arm(), found.exported)).inverse_dynamics(q, v, a)[:, 1]
    plain = shared_robot(arm()).inverse_dynamics(q, v, a)[:, 1]
    assert np.allclose(moved - plain, drive.armature * a[:, 1] + drive.stiffness * (q[:, 1] - drive.reference))


URDF = """<robot name="slab"><link name="world"/>
<joint name="turn" type="continuous"><parent link="world"/><child link="slab"/><axis xyz="0 1 0"/></joint>
<link name="slab"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link></robot>"""


@needs_rosbags
def test_a_replay_says_what_drives_need_and_writes_it(tmp_path):
    given = load_urdf(URDF)
    stamps, numbers = measured(given, 0, duration=SECONDS)
    q, v, a = fourier(given, np.arange(len(numbers)) / RATE)
    numbers[:, 2] += motor(v, a, 0.5, 0.3, 0.1) + 2.0 * q
    messages = [Message(int(stamp), ["turn"], *rows) for stamp, rows in zip(stamps, numbers)]
    bag = write_ros2(tmp_path / "bag", Content({"/joint_states": messages}))
    questions = Questions(drives=True, external_torque=False, energy=False)
    job = Job(bag, tmp_path / "out", urdf=URDF, settings=Settings(cutoff=10.0), questions=questions,
              formats=("urdf", "html"))  # fmt: skip
    summary = run_job(job).summary
    assert {row[1].split(" ± ")[0].rsplit(" ", 1)[0] for row in drive_rows(summary["drives"])} == {
        "rotor inertia", "spring stiffness"
    }  # fmt: skip
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["drives"] == summary["drives"]
    assert "<h2>Drives</h2>" in (tmp_path / "out" / "report.html").read_text()
    written = load_urdf(tmp_path / "out" / "corrected.urdf").joint("turn")
    assert (written.armature, written.damping, written.friction) == pytest.approx((0.1, 0.3, 0.5), rel=0.1)
    (spring,) = written.passive
    assert spring.stiffness == pytest.approx(2.0, rel=0.05)
    again = analyse(bag, Robot(load_urdf(tmp_path / "out" / "corrected.urdf")),
                    settings=Settings(cutoff=10.0, terms=("inertia", "coriolis", "gravity", "spring", "friction")),
                    questions=replace(questions, friction=False))  # fmt: skip
    assert again.comparison.results()[0].rmse < 0.1 * summary["joints"][0]["rmse"]
    assert needs(again.drives) == {}
    assert "friction only" in DrivesQuestion().section(again.drives.to_dict())
