# SPDX-License-Identifier: Apache-2.0
"""Motors: power through the gear, the line of torque over speed, files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics import Drive, ModelBuilder, ModelError, joints
from rbd_dynamics.actuators import DrivenRobot, Motor, load_motors, with_motors

GEARED = Motor(
    torque_constant=0.08, gear_ratio=-50.0, efficiency=0.7, back_efficiency=0.5, rotor_inertia=2e-4,
    viscous_friction=1e-4, coulomb_friction=0.01, resistance=0.6,
)  # fmt: skip


@pytest.mark.parametrize("motor", [GEARED, Motor(torque_constant=0.2)])
def test_current_is_the_inverse_of_torque(motor):
    rng = np.random.default_rng(0)
    current, speed, acceleration = rng.normal(size=(3, 500)) * [[10.0], [2.0], [5.0]]
    torque = motor.torque(current, speed, acceleration=acceleration)
    np.testing.assert_allclose(motor.current(torque, speed, acceleration=acceleration), current, rtol=1e-12, atol=1e-12)


def test_the_gear_takes_its_part_of_the_power_whichever_way_it_flows():
    motor = Motor(torque_constant=0.1, gear_ratio=20.0, efficiency=0.7, back_efficiency=0.5)
    speed, current = 3.0, 4.0
    at_rotor = motor.torque_constant * current * motor.gear_ratio * speed
    assert motor.torque(current, speed) * speed == pytest.approx(0.7 * at_rotor, rel=1e-14)
    assert 0.5 * motor.torque(-current, speed) * speed == pytest.approx(-at_rotor, rel=1e-14)


def test_what_goes_in_is_what_comes_out_and_the_losses():
    rng = np.random.default_rng(1)
    current, speed = rng.normal(size=(2, 200)) * [[10.0], [2.0]]
    omega = GEARED.gear_ratio * speed
    given = GEARED.electrical_power(current, speed)
    heat = GEARED.resistance * current**2
    friction = GEARED.viscous_friction * omega**2 + GEARED.coulomb_friction * np.abs(np.tanh(speed / 1e-2) * omega)
    lost = given - heat - friction - GEARED.torque(current, speed) * speed
    assert (lost > -1e-12).all()  # in the gear
    assert lost.max() > 1.0


def test_the_torque_that_is_left_falls_with_the_speed():
    motor = Motor.of_voltage(48.0, resistance=0.6, torque_constant=0.08, gear_ratio=100.0, peak_torque=1.2)
    assert motor.stall_torque == pytest.approx(6.4) and motor.no_load_speed == pytest.approx(600.0)
    lowest, highest = motor.available([0.0, 3.0, 5.5, 6.0, 6.3, -5.5])
    np.testing.assert_allclose(highest, [120.0, 120.0, 640 * (1 - 5.5 / 6), 0.0, -32.0, 120.0], atol=1e-9)
    np.testing.assert_allclose(lowest, [-120.0, -120.0, -120.0, -120.0, -120.0, -640 * (1 - 5.5 / 6)], atol=1e-9)
    np.testing.assert_allclose(motor.saturated([200.0, -500.0, 1.0], [5.5, 0.0, 0.0]), [highest[2], -120.0, 1.0])


def test_voltage_bounds_what_is_available():
    """At the highest torque the supply gives all of its voltage: R i + k omega = U."""
    motor = Motor.of_voltage(
        24.0, resistance=0.5, torque_constant=0.05, gear_ratio=-30.0, efficiency=0.8, viscous_friction=1e-4
    )
    speed = np.linspace(-14.0, 14.0, 57)
    lowest, highest = motor.available(speed)
    for torque, voltage in ((highest, -24.0), (lowest, 24.0)):  # the gear turns the other way
        volts = motor.resistance * motor.current(torque, speed) + motor.torque_constant * motor.gear_ratio * speed
        np.testing.assert_allclose(volts, voltage, rtol=1e-12)


def test_without_limits_everything_is_available():
    lowest, highest = GEARED.available(np.array([0.0, 2.0]))
    assert (lowest == -math.inf).all() and (highest == math.inf).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"torque_constant": 0.0}, "torque_constant 0 is not positive"),
        ({"efficiency": 1.2}, "efficiency 1.2 is more than 1"),
        ({"rotor_inertia": -1}, "rotor_inertia -1 is negative"),
        ({"gear_ratio": 0}, "gear_ratio is zero"),
        ({"stall_torque": 2.0}, "give both or neither"),
        ({"resistance": math.inf}, "resistance inf is not finite"),
        ({"gear_ratio": "many"}, "gear_ratio 'many' is not a number"),
        ({"peak_torque": math.nan}, "peak_torque nan is not finite"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong, said):
    with pytest.raises(ModelError, match=said):
        Motor(**{"torque_constant": 0.1} | wrong)


def test_motors_of_a_file(tmp_path):
    path = tmp_path / "motors.yaml"
    path.write_text("elbow: {torque_constant: 0.1, gear_ratio: 100, rotor_inertia: 1e-4, peak_torque: 2}\n")
    motors = load_motors(path)
    assert motors == {"elbow": Motor(torque_constant=0.1, gear_ratio=100, rotor_inertia=1e-4, peak_torque=2.0)}
    builder = ModelBuilder("arm")
    builder.add_body(
        "forearm", None, joints.Revolute(), joint_name="elbow", mass=1.0, com=(0.1, 0, 0), drive=Drive(stiffness=1e3)
    )
    model = with_motors(builder.build(), motors)
    assert model.joint("elbow").armature == pytest.approx(1.0, rel=1e-15) == motors["elbow"].reflected_inertia
    assert model.joint("elbow").drive == Drive(stiffness=1e3, gear_ratio=100.0)
    assert DrivenRobot(model).elastic == ("elbow",)
    for text, said in [
        ("elbow: {torque_constant: 0.1, gear: 3}", "motors.yaml.*joint 'elbow': unknown key 'gear'"),
        ("elbow: {}", "joint 'elbow': `torque_constant` is missing"),
        ("elbow: 3", "joint 'elbow': expected parameters"),
        ("- 1", "holds no motors"),
        ("elbow: [", "not well-formed YAML"),
    ]:
        path.write_text(text)
        with pytest.raises(ModelError, match=said):
            load_motors(path)
    with pytest.raises(KeyError, match="wrist"):
        with_motors(model, {"wrist": motors["elbow"]})
    with pytest.raises(TypeError, match="motors: joint 'elbow': expected a Motor, not 3"):
        with_motors(model, {"elbow": 3})
    with pytest.raises(TypeError, match="motors: expected {joint: Motor}, not"):
        with_motors(model, [motors["elbow"]])


@pytest.mark.parametrize("method", ["torque", "current", "saturated", "electrical_power"])
def test_arrays_that_do_not_go_together_are_named(method):
    with pytest.raises(ValueError, match=r"shapes do not go together: \w+ has \(3,\), speed has \(2,\)"):
        getattr(GEARED, method)(np.ones(3), np.ones(2))
    assert getattr(GEARED, method)(np.ones((0, 1)), np.ones(2)).shape == (0, 2)


def test_motors_are_reachable_from_the_package():
    assert rbd.actuators.Motor is Motor


def test_by_default_a_motor_is_ideal():
    motor = Motor(torque_constant=2.0)
    assert motor.torque(3.0, 4.0, acceleration=5.0) == 6.0 == motor.torque(3.0, -4.0)
    assert motor.electrical_power(3.0, 4.0) == 24.0
    assert motor.reflected_inertia == 0.0
