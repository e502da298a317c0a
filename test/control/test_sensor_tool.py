# SPDX-License-Identifier: Apache-2.0
"""The tool on a force-torque sensor, out of static readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rbd_dynamics.control.contact.sensor_tool import DIRECTIONS, SensorCalibration, UntoldToolError

GRAVITY = np.array([0.0, 0.0, -9.81])
MASS, CENTER, BIAS = 1.3, np.array([0.01, -0.02, 0.09]), np.array([0.2, -0.1, 0.3, 4.0, -7.0, 2.0])
DOWN, FORWARD, SIDE = np.eye(3), Rotation.from_rotvec([0, np.pi / 2, 0]).as_matrix(), Rotation.from_rotvec(
    [np.pi / 2, 0, 0]
).as_matrix()  # fmt: skip


def reading(R, mass=MASS, center=CENTER, bias=BIAS, gravity=GRAVITY):
    """Closed form: the weight at its centre, and the bias."""
    weight = mass * R.T @ gravity
    return np.concatenate([np.cross(center, weight), weight]) + bias


def calibrated(rotations, gravity=GRAVITY, **tool):
    found = SensorCalibration(gravity)
    for R in rotations:
        found.add(R, reading(R, gravity=gravity, **tool))
    return found


def test_three_orientations_tell_mass_centre_and_bias():
    tool = calibrated([DOWN, FORWARD, SIDE]).tool()
    assert tool.significant and tool.mass == pytest.approx(MASS, rel=1e-12)
    np.testing.assert_allclose(tool.center_of_mass, CENTER, atol=1e-12)
    np.testing.assert_allclose(tool.bias, BIAS, atol=1e-12)
    R = Rotation.random(random_state=3).as_matrix()
    push = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    np.testing.assert_allclose(tool.without(reading(R) + push, R), push, atol=1e-11)
    assert "mass 1.3 kg" in str(tool)


def test_a_sensor_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint type="ball"/><geom size=".1" mass="5" contype="0" conaffinity="0"/>
        <body name="tool" euler="20 30 40"><site name="s" euler="10 50 5" pos=".02 0 .01"/>
        <geom type="box" size=".02 .03 .05" pos=".01 .02 .06" mass=".8" contype="0" conaffinity="0"/></body>
        </body></worldbody><sensor><force site="s"/><torque site="s"/></sensor></mujoco>"""
    )
    data = mujoco.MjData(model)
    found = SensorCalibration(model.opt.gravity)
    for quaternion in Rotation.random(5, random_state=1).as_quat():
        data.qpos[:] = np.roll(quaternion, 1)
        data.qvel[:] = data.qacc[:] = 0.0
        mujoco.mj_inverse(model, data)
        force, torque = np.split(-data.sensordata, 2)  # MuJoCo's is what the parent exerts on the child
        found.add(data.site("s").xmat.reshape(3, 3), np.concatenate([torque, force]))
    tool = found.tool()
    assert tool.mass == pytest.approx(0.8, rel=1e-9)
    where = data.site("s").xmat.reshape(3, 3).T @ (data.xipos[model.body("tool").id] - data.site("s").xpos)
    np.testing.assert_allclose(tool.center_of_mass, where, atol=1e-9)
    np.testing.assert_allclose(tool.bias, 0.0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(3, 12), st.floats(1e-3, 100.0), st.floats(1e-3, 1e3))
def test_any_tool_at_any_orientations(seed, count, mass, unit):
    """Lengths are in `unit` m: what is told and what is not does not depend on it, nor do the results."""
    rng = np.random.default_rng(seed)
    rotations = Rotation.random(count, random_state=seed % 2**31).as_matrix()
    gravity, center, bias = rng.normal(size=3) * 9.81, rng.normal(size=3) * 0.1, rng.normal(size=6)
    found = calibrated(rotations, gravity=gravity, mass=mass, center=center, bias=bias)
    other = SensorCalibration(gravity * unit)
    for R in rotations:
        numbers = reading(R, mass, center, bias, gravity)
        other.add(R, np.concatenate([numbers[:3] * unit**2, numbers[3:] * unit]))
    assert found.missing == other.missing
    if found.missing:
        return
    tool, scaled = found.tool(), other.tool()
    size = 1.0 + mass * np.linalg.norm(gravity)
    assert tool.mass * np.linalg.norm(gravity) == pytest.approx(mass * np.linalg.norm(gravity), abs=1e-9 * size)
    np.testing.assert_allclose(tool.moment, mass * center, atol=1e-9 * size)
    np.testing.assert_allclose(tool.bias, bias, atol=1e-9 * size)
    np.testing.assert_allclose(scaled.moment, unit * tool.moment, atol=1e-9 * size * unit)


def test_covariance_is_what_repetitions_show():
    rng = np.random.default_rng(0)
    rotations = Rotation.random(12, random_state=2).as_matrix()
    noise = np.repeat([0.01, 0.2], 3)
    errors, deviations = [], []
    for _ in range(300):
        found = SensorCalibration(GRAVITY)
        for R in rotations:
            found.add(R, reading(R) + noise * rng.normal(size=6))
        tool = found.tool()
        errors.append(np.concatenate([[tool.mass - MASS], tool.moment - MASS * CENTER, tool.bias - BIAS]))
        deviations.append(np.diagonal(tool.covariance))
    np.testing.assert_allclose(np.std(errors, axis=0), np.sqrt(np.mean(deviations, axis=0)), rtol=0.15)


@pytest.mark.parametrize(
    ("rotations", "text"),
    [
        ([], "no reading yet"),
        ([DOWN], "one direction of gravity"),
        ([DOWN, Rotation.from_rotvec([0, 0, 1.0]).as_matrix()], "one direction of gravity"),  # about the vertical
        ([DOWN, FORWARD], "two directions"),
        ([DOWN, FORWARD, DOWN, FORWARD], "two directions"),
        ([Rotation.from_rotvec([x, y, 0]).as_matrix() for x, y in ((0, 0), (0.1, 0), (0, 0.1))], "too near"),
    ],
)
def test_poses_that_do_not_tell_are_refused_with_what_would(rotations, text):
    found = calibrated(rotations)
    assert text in found.missing and "until gravity points along" in found.missing
    with pytest.raises(UntoldToolError, match=text) as caught:
        found.tool()
    assert caught.value.direction in DIRECTIONS


def test_following_the_advice_three_poses_are_enough():
    found = calibrated([DOWN])
    for _ in range(2):
        assert found.missing
        R = Rotation.align_vectors([GRAVITY], [found.next_direction])[0].as_matrix()
        np.testing.assert_allclose(R.T @ GRAVITY / 9.81, found.next_direction, atol=1e-9)
        found.add(R, reading(R))
    assert not found.missing and found.tool().mass == pytest.approx(MASS)


def test_a_negative_mass_and_none_are_said():
    rotations = [DOWN, FORWARD, SIDE]
    with pytest.raises(ValueError, match=r"-1.3 kg, below zero"):
        calibrated(rotations, mass=-MASS).tool()
    none = calibrated(rotations, mass=0.0).tool()
    assert not none.significant and "no tool" in str(none)
    with pytest.raises(ValueError, match="no centre"):
        _ = none.center_of_mass
    light = SensorCalibration(GRAVITY)
    for R in rotations:
        light.add(R, reading(R, mass=0.01), variance=1.0)
    assert not light.tool().significant


@pytest.mark.parametrize(
    ("R", "numbers", "variance", "text"),
    [
        (2.0 * np.eye(3), BIAS, 0.0, "rotation"),
        (-np.eye(3), BIAS, 0.0, "rotation"),
        (np.full((3, 3), np.nan), BIAS, 0.0, "rotation"),
        (np.eye(3), BIAS[:5], 0.0, "six finite"),
        (np.eye(3), np.full(6, np.inf), 0.0, "six finite"),
        (np.eye(3), BIAS, -1.0, "not below zero"),
        (np.eye(3), BIAS, np.ones(3), "one number, or six"),
    ],
)
def test_bad_readings_are_refused(R, numbers, variance, text):
    found = SensorCalibration(GRAVITY)
    with pytest.raises(ValueError, match=text):
        found.add(R, numbers, variance=variance)
    assert len(found) == 0


@pytest.mark.parametrize("gravity", [np.zeros(3), [1.0, 2.0], [np.nan, 0.0, 1.0]])
def test_without_gravity_there_is_nothing_to_tell(gravity):
    with pytest.raises(ValueError, match="other than zero"):
        SensorCalibration(gravity)
