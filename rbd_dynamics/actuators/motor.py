# SPDX-License-Identifier: Apache-2.0
"""A motor with its gear: current and torque, losses, and the torque that is left at a speed (theory.md section 11)."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.real_numbers import real_array, real_number
from rbd_dynamics.common.safe_yaml import SMALL, YamlError, read_file
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.open_kinds import built
from rbd_dynamics.model.passive_forces import COULOMB_SPEED

Array = NDArray[np.float64]

_POSITIVE = ("torque_constant", "efficiency", "back_efficiency", "stall_torque", "no_load_speed", "peak_torque")
_NOT_NEGATIVE = ("rotor_inertia", "viscous_friction", "coulomb_friction", "resistance")


@dataclass(frozen=True)
class Motor:
    """All but the gear at the rotor; methods take and give torque and speed of the joint, arrays of any shape.

    Parameters:
        torque_constant: N m/A.
        gear_ratio: rotor's speed over the joint's, rad/rad or rad/m; negative: the other way.
        efficiency: part of the power that comes through the gear when the motor drives the joint, above 0, up to 1.
        back_efficiency: the same when the joint drives the motor.
        rotor_inertia: kg m^2. viscous_friction: N m s/rad. coulomb_friction: N m, smooth through rest as a joint's.
        stall_torque, no_load_speed: N m, rad/s, where the line of greatest torque over speed begins and ends; of a DC
            motor k U / R and U / k. peak_torque: N m, what the greatest current gives. Infinite: no such limit.
        resistance: of the windings, ohm; 0: not known.

    Raises ModelError for numbers that make no sense.
    """

    _: KW_ONLY
    torque_constant: float
    gear_ratio: float = 1.0
    efficiency: float = 1.0
    back_efficiency: float = 1.0
    rotor_inertia: float = 0.0
    viscous_friction: float = 0.0
    coulomb_friction: float = 0.0
    stall_torque: float = math.inf
    no_load_speed: float = math.inf
    peak_torque: float = math.inf
    resistance: float = 0.0

    def __post_init__(self) -> None:
        for own in fields(self):
            value = getattr(self, own.name)
            try:
                number = real_number(value)
            except ValueError as error:
                raise ModelError(f"{own.name} {excerpt(value)} {error}") from None
            if math.isnan(number) or (math.isinf(number) and own.default != math.inf):
                raise ModelError(f"{own.name} {number:g} is not finite")
            if number <= 0.0 if own.name in _POSITIVE else number < 0.0 and own.name in _NOT_NEGATIVE:
                raise ModelError(f"{own.name} {number:g} is {'not positive' if own.name in _POSITIVE else 'negative'}")
            object.__setattr__(self, own.name, number)
        if self.gear_ratio == 0.0:
            raise ModelError("gear_ratio is zero")
        for name in ("efficiency", "back_efficiency"):
            if getattr(self, name) > 1.0:
                raise ModelError(f"{name} {getattr(self, name):g} is more than 1")
        if math.isfinite(self.no_load_speed) != math.isfinite(self.stall_torque):
            raise ModelError("stall_torque and no_load_speed are the ends of one line: give both or neither")

    @classmethod
    def of_voltage(cls, voltage: float, *, resistance: float, torque_constant: float, **others: float) -> Motor:
        """A DC motor at a supply voltage (V): its torque constant is that of its back EMF, V s/rad, too."""
        if not (voltage > 0.0 and resistance > 0.0 and torque_constant > 0.0):
            raise ModelError("voltage, resistance and torque_constant must be positive")
        return cls(
            torque_constant=torque_constant, resistance=resistance, stall_torque=torque_constant * voltage / resistance,
            no_load_speed=voltage / torque_constant, **others,
        )  # fmt: skip

    @property
    def reflected_inertia(self) -> float:
        """n^2 J, the rotor's inertia as seen at the joint: its `armature`."""
        return self.gear_ratio**2 * self.rotor_inertia

    def torque(self, current: ArrayLike, speed: ArrayLike, *, acceleration: ArrayLike = 0.0) -> Array:
        """The joint's torque (N m or N) of a current (A) at a speed (rad/s or m/s).

        acceleration: of the joint, where the rotor's inertia shall count here and not as the joint's armature.
        """
        _check_shapes(current=current, speed=speed, acceleration=acceleration)
        given = self.torque_constant * real_array(current, "current")
        rotor, omega = self._rotor_losses(speed, acceleration)
        return self._through_gear(given - rotor, omega)

    def current(self, torque: ArrayLike, speed: ArrayLike, *, acceleration: ArrayLike = 0.0) -> Array:
        """The current (A) for a torque of the joint: the inverse of `torque`."""
        _check_shapes(torque=torque, speed=speed, acceleration=acceleration)
        wanted = real_array(torque, "torque")
        losses, omega = self._rotor_losses(speed, acceleration)
        rotor = wanted / self.gear_ratio
        found: Array = (rotor / self._gain(rotor, omega) + losses) / self.torque_constant
        return found

    def available(self, speed: ArrayLike) -> tuple[Array, Array]:
        """(lowest, highest) torque of the joint at a speed: by current, by voltage, less what friction takes.

        Faster than the no-load speed the back EMF brakes: the highest torque has the other sign there.
        """
        losses, omega = self._rotor_losses(speed, 0.0)
        slope = omega / self.no_load_speed  # 0 without a limit
        highest = np.minimum(self.peak_torque, self._line(1.0 - slope))
        lowest = np.maximum(-self.peak_torque, -self._line(1.0 + slope))
        highest, lowest = np.maximum(highest, -self.peak_torque), np.minimum(lowest, self.peak_torque)
        ends = self._through_gear(lowest - losses, omega), self._through_gear(highest - losses, omega)
        return np.minimum(*ends), np.maximum(*ends)

    def saturated(self, torque: ArrayLike, speed: ArrayLike) -> Array:
        """The torque, no more than what is available at the speed."""
        _check_shapes(torque=torque, speed=speed)
        lowest, highest = self.available(speed)
        return np.clip(real_array(torque, "torque"), lowest, highest)

    def electrical_power(self, current: ArrayLike, speed: ArrayLike) -> Array:
        """R i^2 + k i omega, W: heat of the windings, and what the rotor takes; negative: it generates."""
        _check_shapes(current=current, speed=speed)
        i, omega = real_array(current, "current"), self.gear_ratio * real_array(speed, "speed")
        found: Array = self.resistance * i * i + self.torque_constant * i * omega
        return found

    def _line(self, part: Array) -> Array:
        return self.stall_torque * part if math.isfinite(self.stall_torque) else np.full(np.shape(part), math.inf)

    def _rotor_losses(self, speed: ArrayLike, acceleration: ArrayLike) -> tuple[Array, Array]:
        """What friction and inertia take of the rotor's torque, and its speed."""
        joint, rising = real_array(speed, "speed"), real_array(acceleration, "acceleration")
        omega: Array = self.gear_ratio * joint
        dry = self.coulomb_friction * np.tanh(joint / COULOMB_SPEED) * math.copysign(1.0, self.gear_ratio)
        found: Array = self.viscous_friction * omega + dry + self.rotor_inertia * self.gear_ratio * rising
        return found, omega

    def _through_gear(self, rotor: Array, omega: Array) -> Array:
        found: Array = self.gear_ratio * rotor * self._gain(rotor, omega)
        return found

    def _gain(self, rotor: Array, omega: Array) -> Array:
        """What the gear makes of the ideal torque; at rest as if the motor drove."""
        return np.where(np.sign(rotor) * np.sign(omega) >= 0.0, self.efficiency, 1.0 / self.back_efficiency)


def _check_shapes(**given: ArrayLike) -> None:
    shapes = {name: real_array(value, name).shape for name, value in given.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        text = ", ".join(f"{name} has {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes do not go together: {text}") from None


def check_motors(motors: Mapping[str, Motor]) -> None:
    """Raises TypeError, naming the joint, for what is no {joint: Motor}."""
    if not isinstance(motors, Mapping):
        raise TypeError(f"motors: expected {{joint: Motor}}, not {excerpt(motors)}")
    for name, motor in motors.items():
        if not isinstance(motor, Motor):
            raise TypeError(f"motors: joint {excerpt(name)}: expected a Motor, not {excerpt(motor)}")


def load_motors(path: str | os.PathLike[str]) -> dict[str, Motor]:
    """{joint: motor} of a YAML file with the parameters of `Motor` for each joint. Raises ModelError, naming both."""
    where = f"file {shortened(os.fsdecode(path), 200)}"
    try:
        data = read_file(path, where, SMALL)
    except YamlError as error:
        raise ModelError(str(error)) from None
    if not isinstance(data, Mapping):
        raise ModelError(f"{where} holds no motors: expected joints and the parameters of their motors")
    found = {}
    for name, values in data.items():
        if not isinstance(values, Mapping):
            raise ModelError(f"{where}: joint {name!r}: expected parameters, not {excerpt(values)}")
        found[name] = built(Motor, values, f"{where}: joint {name!r}")
    return found


def with_motors(model: Model, motors: Mapping[str, Motor]) -> Model:
    """The model with the motors' gear ratios, and their reflected inertias as armatures. Raises KeyError, TypeError."""
    check_motors(motors)
    for name in motors:
        model.joint(name)
    bodies = []
    for body in model.bodies:
        motor = motors.get(body.joint.name)
        if motor is not None:
            drive = replace(body.joint.drive or Drive(), gear_ratio=motor.gear_ratio)
            body = replace(body, joint=replace(body.joint, drive=drive, armature=motor.reflected_inertia))
        bodies.append(body)
    return replace(model, bodies=tuple(bodies))
