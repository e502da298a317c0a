# SPDX-License-Identifier: Apache-2.0
"""Gains by joint: stable in every posture, and what they promise holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.linalg
import yaml

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.cli.gains import _with_armatures
from rbd_dynamics.control.pd_gains import joint_gains
from rbd_dynamics.control.safety.closed_loop import Timing, growth_rate
from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters

TIMING = Timing(2e-3, 4e-3, 30.0)


def matrices(robot, seed=0, count=100):
    rng = np.random.default_rng(seed)
    return robot.mass_matrix(np.array([robot.model.random(rng) for _ in range(count)]))


@pytest.mark.parametrize(("name", "rotor"), [("ur5_robot", None), ("ur5_robot", 0.1), ("z1", 0.01), ("panda", None)])
def test_what_is_promised_holds_in_every_posture(name, rotor):
    model = rbd.load(name)
    robot = rbd.Robot(_with_armatures(model, [] if rotor is None else [("", rotor)]), backend="reference")
    found = joint_gains(robot, TIMING, postures=100)
    assert found.margin == pytest.approx(2.0)
    K, D = np.diag(found.kp), np.diag(found.kd)
    rates, slowest, least_damped = [], np.inf, np.inf
    for M in matrices(robot):
        inverse = np.linalg.inv(M)
        modes = np.linalg.eigvals(np.block([[np.zeros_like(M), np.eye(len(M))], [-inverse @ K, -inverse @ D]]))
        swinging = modes[np.abs(modes.imag) > 1e-9]
        slowest = min(slowest, np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[0]))
        least_damped = min([least_damped, *(-swinging.real / np.abs(swinging))])
        rates.append((growth_rate(M, K, D, TIMING), growth_rate(M, 4.41 * K, 2.1 * D, TIMING)))
    as_promised, beyond = np.max(rates, axis=0)
    assert as_promised < 0.0 < beyond
    assert slowest / (2.0 * np.pi) == pytest.approx(found.bandwidth, rel=1e-6)
    assert least_damped == pytest.approx(0.7, rel=1e-6)


def test_computed_torque_has_one_gain_for_all_and_a_wish_is_met():
    robot = rbd.Robot(rbd.load("ur5_robot"), backend="reference")
    found = joint_gains(robot, TIMING, computed_torque=True, bandwidth=2.0, damping_ratio=1.0)
    w = 4.0 * np.pi
    np.testing.assert_allclose(found.kp, w * w, rtol=1e-12)
    np.testing.assert_allclose(found.kd, 2.0 * w, rtol=1e-12)
    np.testing.assert_allclose(found.stiffness, w * w * found.inertia, rtol=1e-12)
    step = growth_rate(
        np.eye(1), np.eye(1) * w**2 * (1.02 * found.margin) ** 2, np.eye(1) * 2.04 * w * found.margin, TIMING
    )
    assert step > 0.0


def test_what_is_not_stable_or_has_several_freedoms_is_refused():
    robot = rbd.Robot(rbd.load("ur5_robot"), backend="reference")
    with pytest.raises(ValueError, match=r"a bandwidth of 9 Hz is unstable .* at 500 Hz.* limit is 0\.\d"):
        joint_gains(robot, TIMING, bandwidth=9.0)
    with pytest.raises(ValueError, match="joint 'root_joint' has 6 degrees of freedom"):
        joint_gains(rbd.Robot(rbd.load("ur5_robot", base="floating"), backend="reference"), TIMING)


def test_the_command_prints_them_and_writes_what_the_node_reads(tmp_path, capsys):
    path = tmp_path / "pd.yaml"
    options = ["--rate", "500", "--delay", "0.002", "--lag", "0.005", "--lock", "panda_finger_joint1=0"]
    rotors = ["--armature", "0.1", "--armature", "panda_joint7=0.05"]
    assert main(["gains", "panda", *options, *rotors, "--law", "feedforward", "-o", str(path)]) == 0
    out = capsys.readouterr().out
    assert "control at 500 Hz, 4 ms from a state to its torque, and actuators of 31.8 Hz" in out
    assert "no rotor" not in out and out.rstrip().endswith(str(path))
    ((node, written),) = yaml.safe_load(path.read_text()).items()
    assert node == "/**/feedforward"
    given = FeedforwardParameters(**{
        key: tuple(value) if isinstance(value, list) else value for key, value in written["ros__parameters"].items()
    })  # fmt: skip
    assert len(given.kp) == len(given.kd) == len(given.joints) == 7 and given.law == "feedforward"
    assert main(["gains", "panda", *options, "--law", "feedforward", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["joints"] == list(given.joints) and max(plain["kp"]) < min(given.kp)
    assert main(["gains", "panda", *options, "--law", "feedforward"]) == 0
    assert "The description has no rotor for panda_joint7 (0.0067 kg m²)" in capsys.readouterr().out
    assert main(["gains", "panda", "--armature", "wrist=1"]) == 2
    assert "no joint named 'wrist'" in capsys.readouterr().err


@pytest.mark.parametrize(("rotor", "law"), [([], "computed_torque"), (["--armature", "100"], "feedforward")])
def test_the_law_is_that_with_the_faster_slowest_motion_and_no_faster_than_drives_allow(capsys, rotor, law):
    assert main(["gains", "z1", "--rate", "1000", *rotor, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["law"] == law
    assert found["bandwidth"] == pytest.approx(10.0) and found["margin"] > 2.0
    assert main(["gains", "z1", "--rate", "1000", "--law", "computed_torque", "--bandwidth", "30", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bandwidth"] == pytest.approx(30.0)
    assert main(["gains", "z1", "--rate", "1000", "--bandwidth", "300"]) == 2
    assert "a bandwidth of 300 Hz is unstable" in capsys.readouterr().err


def test_friction_of_the_description_is_among_the_terms_that_are_written(tmp_path, capsys):
    for name, friction in (("z1", True), ("ur5", False)):
        assert main(["gains", name, "--rate", "1000", "-o", str(tmp_path / name)]) == 0
        ((_, written),) = yaml.safe_load((tmp_path / name).read_text()).items()
        assert ("friction" in written["ros__parameters"]["terms"]) == friction
        assert ("friction moves jointGripper off by" in capsys.readouterr().out) == friction
