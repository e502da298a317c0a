# SPDX-License-Identifier: Apache-2.0
"""What is commanded once nobody answers the robot's states any more: controllers repeat the last effort for ever.

For some time the robot is held against gravity and its springs, and damped; then there is no effort at all. No ROS, no
clock: whoever uses it says what time it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.feedforward import Feedforward, per_joint
from rbd_dynamics.control.terms import GRAVITY, INERTIA, SPRING
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
OnSilence = Literal["gravity", "zero", "nothing"]
ON_SILENCE = ("gravity", "zero", "nothing")

RATE = 10.0  # 1/s: at which velocities die out under the damping that is derived from the mass matrix
RAMP = 0.2  # s: the end of the time, in which efforts go to zero; at most half of it
OLDEST = 1.0  # s: an older state says nothing of where the robot is


@dataclass(frozen=True, kw_only=True)
class StopOptions:
    """How a robot is left.

    Attributes:
        on_silence: "gravity": held against gravity and springs, damped, for `duration` (s), then zero; "zero": zero at
            once; "nothing": no command at all.
        damping: N m s/rad or N s/m: one for all or one for each joint. None: from the mass matrix, so that the
            velocities of all joints die out at 10 1/s.
    """

    on_silence: OnSilence = "gravity"
    duration: float = 1.5
    damping: tuple[float, ...] = ()


class SafeStop:
    """Efforts from `begin` on, by time (s, of any clock that never jumps).

    With the state as it is now: tau = N(q) + springs(q) - M(q) RATE v, or - damping v, within the effort limits.
    Without one: N and springs at the last good state, and of its velocity at most half the momentum is taken away, ever
    less with its age t: |tau_damping| <= 0.5 RATE exp(-RATE t) |M v|. A constant torque from an old velocity would
    throw a robot back that has stopped meanwhile.

    Parameters:
        robot: without friction, all joints of one degree of freedom. Its payloads count.
        joints: those that are commanded; they order the efforts. Default: all.
        others: see `tune`.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        joints: Sequence[str] = (),
        options: StopOptions | None = None,
        terms: Iterable[str] = (GRAVITY, SPRING),
        effort_limits: ArrayLike = (),
    ) -> None:
        self._held = Feedforward(robot, joints=joints, effort_limits=[math.inf])
        self._ideal = Feedforward(robot, joints=joints, effort_limits=[math.inf])
        self._chosen = Feedforward(robot, joints=joints, effort_limits=[math.inf])
        self.joints = self._held.joints
        chosen = [robot.model.joint(name) for name in self.joints]
        self._default_limits = [joint.limits.effort for joint in chosen]
        self._fastest = np.array([joint.limits.velocity or math.inf for joint in robot.model.joints])
        self._still = np.zeros(robot.model.nv)
        self._no_motion = np.zeros((6, len(self.joints))), np.zeros(1)  # a desired motion that stands still
        self._state: tuple[Array, Array, float] | None = None  # q, v, time of the last good state
        self._begun = self._end = 0.0
        self.tune(options or StopOptions(), terms=terms, effort_limits=effort_limits)
        self.torque_at(robot.model.start_position(), self._still)  # the first call, out of the way

    def tune(
        self,
        options: StopOptions,
        *,
        terms: Iterable[str] = (GRAVITY, SPRING),
        effort_limits: ArrayLike = (),
    ) -> None:
        """Change what may change; counts from the next `begin` on. Raises ValueError, and then changes nothing.

        Parameters:
            terms: those of the control law; of them gravity and spring hold the robot. Leave out what it compensates
                itself.
            effort_limits: N m or N: one for all or one for each joint; default: the model's.
        """
        damping = self.check(options)
        limits = per_joint("effort_limits", effort_limits, self.joints, self._default_limits)
        holding = [term for term in terms if term in (GRAVITY, SPRING)]
        none = [math.inf]
        self._held.tune(holding, effort_limits=none)
        self._ideal.tune([INERTIA, *holding], kd=[RATE], law="computed_torque", effort_limits=none)
        if options.damping:
            self._chosen.tune(holding, kd=damping, effort_limits=none)
        else:
            self._chosen.tune([INERTIA, *holding], kd=[RATE], law="computed_torque", effort_limits=none)
        self.options, self.limits = options, limits

    def check(self, options: StopOptions) -> Array:
        """The damping of each joint as given. Raises ValueError for what does not fit the robot."""
        if options.on_silence not in ON_SILENCE:
            raise ValueError(f"on_silence is {options.on_silence!r}, expected one of {', '.join(ON_SILENCE)}")
        if not 0.0 <= options.duration < math.inf:
            raise ValueError(f"silence_duration is {options.duration}, expected a number >= 0")
        damping = per_joint("silence_damping", options.damping, self.joints)
        if not np.isfinite(damping).all():
            raise ValueError("silence_damping is not finite")
        return damping

    # --- by time ----------------------------------------------------------------------------------

    def begin(self, time: float, q: Array | None, v: Array | None, *, age: float = 0.0) -> None:
        """The silence begins; q, v (nv): the last good state, if there is one, and its age in s."""
        self._begun = time
        self._state = None
        held = self.options.on_silence == "gravity" and q is not None and v is not None and 0.0 <= age <= OLDEST
        self._end = time + (self.options.duration if held else 0.0)
        self._ramp = min(RAMP, 0.5 * self.options.duration)
        if held:
            assert q is not None and v is not None
            self._state = (q.copy(), v.copy(), time - age)

    def over(self, time: float) -> bool:
        """Is zero commanded from now on?"""
        return not self._begun <= time < self._end

    def answer(self, time: float, q: Array, v: Array) -> Array:
        """Efforts (joints) for the state that was measured just now."""
        if self.over(time):
            return np.zeros(len(self.joints))
        try:
            efforts = self.torque_at(q, v)
        except (ValueError, ArithmeticError):
            return self.blind(time)
        self._state = (q.copy(), v.copy(), time)
        return self._scaled(efforts, time)

    def blind(self, time: float) -> Array:
        """Efforts (joints) where no state comes."""
        if self._state is None or self.over(time):
            return np.zeros(len(self.joints))
        q, v, seen = self._state
        try:
            held = self._torque(self._held, q, self._still)
            slow = np.clip(v, -self._fastest, self._fastest)
            half = 0.5 * (self._torque(self._ideal, q, slow) - held)
            damping = self._torque(self._chosen, q, slow) - held
        except (ValueError, ArithmeticError):
            return np.zeros(len(self.joints))
        damping = np.clip(damping, np.minimum(half, 0.0), np.maximum(half, 0.0))
        efforts = held + math.exp(-RATE * max(time - seen, 0.0)) * damping
        return self._scaled(np.clip(efforts, -self.limits, self.limits), time)

    def torque_at(self, q: Array, v: Array) -> Array:
        """Efforts (joints) that hold and damp, within the limits. Raises ValueError or ArithmeticError."""
        slow = np.clip(v, -self._fastest, self._fastest)  # a velocity that cannot be damps no more than one that can
        return np.clip(self._torque(self._chosen, q, slow), -self.limits, self.limits)

    def _torque(self, law: Feedforward, q: Array, v: Array) -> Array:
        efforts = law.compute(q, v, *self._no_motion).copy()
        if not np.isfinite(efforts).all():
            raise ArithmeticError("efforts are not finite")
        return efforts

    def _scaled(self, efforts: Array, time: float) -> Array:
        left = self._end - time
        return efforts * (left / self._ramp) if left < self._ramp else efforts
