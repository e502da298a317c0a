# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control of a robot under constraints (theory.md section 8; 001 section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.hybrid_control import multipliers_of
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.hybrid_law import LAWS, HybridLaw, Law
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]
Vector = Sequence[Scalar]


#: (kp, kd) of the task that hold with actuators of 30 Hz and sensors that are 5 ms late (docs/hybrid_control.md)
TASK_GAINS: dict[Law, tuple[float, float]] = {"geometric": (1200.0, 70.0), "gauge_invariant": (30.0, 40.0)}


@dataclass(frozen=True)
class HybridGains:
    """Gains; k is the number of task rows. kp and kd are one number for all rows, or one for each.

    kp, kd: of the task, by default `TASK_GAINS` of the law. Geometric law: e'' + kd e' + kp (e + task_ki int e) = 0,
        kp in 1/s^2 and kd in 1/s. Gauge-invariant law: (d/dt + kd)(e' + kp (e + task_ki int e)) = 0, both in 1/s,
        and kd one number for all. Rows without h (wheels) have no position, so kp counts for nothing there.
    task_ki: of the task error's integral, 1/s. task_integral_limit: of what that adds to the acceleration, m/s^2 or
        rad/s^2.
    ki: of the force error's integral, 1/s. integral_limit: of ki times the integral, N or N m.
    normal_damping: of velocity against the constraints, 1/s, for contacts that give. `hybrid_stability` says
        which of these are stable on what contact.
    posture_kp, posture_kd: 1/s^2, 1/s, of what constraints and task leave free; the gauge-invariant law
        damps that with its kd.

    Integrals need `dt`; neither grows while an effort limit cuts off.
    """

    _: KW_ONLY
    kp: float | Sequence[float] | None = None
    kd: float | Sequence[float] | None = None
    ki: float = 0.0
    integral_limit: float = 20.0
    normal_damping: float = 0.0
    posture_kp: float = 0.0
    posture_kd: float = 5.0
    task_ki: float = 0.0
    task_integral_limit: float = 20.0

    def of_law(self, law: Law) -> HybridGains:
        """With kp and kd filled in."""
        kp, kd = TASK_GAINS[law]
        return replace(self, kp=kp if self.kp is None else self.kp, kd=kd if self.kd is None else self.kd)


class HybridOutput(NamedTuple):
    """What one step found; the same two sets of arrays in turn.

    tau (nv): the command. wanted (nv): the same without effort limits. theta, rate (k): task rows and
    their velocity. h, drift (m): how far the constraints are from being met, and how fast they leave.
    force (m): commanded multipliers. integral (m): of the force error. task_integral (k): of the task error.
    lacking (nv): torque that joints without actuator would need. rank: of constraints and task together.
    """

    tau: Array
    wanted: Array
    theta: Array
    rate: Array
    h: Array
    drift: Array
    force: Array
    integral: Array
    task_integral: Array
    lacking: Array
    rank: Array


class HybridController:
    """Moves along constraints and presses against them: task rows follow theta_d(t), multipliers lambda_d.

    Geometric law: tau = M J (thetadd_d - K_v e' - K_p (e + K_i int e)) + (M Jdot + C J) thetad + N
    - A^T (lambda_d - K_I int(lambda - lambda_d)). Gauge-invariant law: theory.md section 8, without any
    choice of a basis. Neither needs minimal coordinates: the task is a set of rows, as constraints are,
    and what both leave free is damped towards a posture. lambda_d is what the constraints are to exert on the
    robot: positive along a surface's outward normal to press on it. One kernel, nothing allocated.

    Parameters:
        robot: with its payload; payloads set later count as well.
        constraints: what the environment imposes, m rows.
        task: rows whose values are controlled, k of them: frame directions, joint couplings, or rows
            without h (then their velocity is).
        law: "geometric" or "gauge_invariant".
        actuated (nv) bool: joints with a motor; default all. With fewer, the torque nearest to the full
            one that makes the same motion: internal forces stay as near to lambda_d as they can.
        gains: see `HybridGains`; `tune` changes them.
        effort_limits: (nv), default the model's.

    Raises ValueError for gains or limits that do not fit, and for a task that repeats a constraint's name.
    """

    def __init__(
        self,
        robot: Robot,
        constraints: ConstraintSet,
        task: ConstraintSet,
        *,
        law: Law = "geometric",
        actuated: ArrayLike | None = None,
        gains: HybridGains | None = None,
        effort_limits: ArrayLike | None = None,
    ) -> None:
        if law not in LAWS:
            raise ValueError(f"law is {law!r}, expected one of {', '.join(LAWS)}")
        nv = robot.model.nv
        self.robot, self.constraints, self.task, self.law = robot, constraints, task, law
        self.m, self.k = len(constraints), len(task)
        self.actuated = np.ones(nv, bool) if actuated is None else np.array(actuated, dtype=bool)
        if self.actuated.shape != (nv,):
            raise ValueError(f"actuated has shape {self.actuated.shape}, expected ({nv},)")
        self._rows = ConstraintSet(robot.model, (*constraints.constraints, *task.constraints))
        limits = [x for joint in robot.model.joints for x in [joint.limits.effort] * joint.kind.nv]
        self.effort_limits = np.array(limits if effort_limits is None else effort_limits, dtype=float)
        if self.effort_limits.shape != (nv,) or not (self.effort_limits >= 0).all():
            raise ValueError(f"effort_limits must be {nv} numbers >= 0")
        self._numbers = np.zeros(2 * self.k + 9)
        self.tune(gains or HybridGains())
        # the integral is read and written: two sets of arrays take turns
        self._output = HybridOutput(*(np.zeros(size) for size in self._sizes()))
        self._work = HybridOutput(*(np.zeros(size) for size in self._sizes()))
        self._none = np.zeros(self.m), np.zeros(self.k)
        self._kernel = self._build()
        self._call = self._kernel.fast

    def tune(self, gains: HybridGains) -> None:
        """Change gains while it runs. Raises ValueError, and then changes nothing."""
        gains = gains.of_law(self.law)
        numbers: list[Array] = []
        for what, value in (("kp", gains.kp), ("kd", gains.kd)):
            given = np.asarray(value, dtype=float).reshape(-1)
            if given.size not in (1, self.k):
                raise ValueError(f"{what} has {given.size} values for {self.k} task rows: {self.task.row_names}")
            numbers.append(np.broadcast_to(given, (self.k,)))
        names = ("ki", "integral_limit", "normal_damping", "posture_kp", "posture_kd", "task_ki", "task_integral_limit")
        everything = np.concatenate([*numbers, [getattr(gains, name) for name in names]])
        bad = ~(np.isfinite(everything) & (everything >= 0.0))
        if bad.any():
            name = (*["kp"] * self.k, *["kd"] * self.k, *names)[int(bad.argmax())]
            raise ValueError(f"{name} = {everything[bad][0]:g}: gains must be finite and not negative")
        if self.law == "gauge_invariant" and np.ptp(numbers[1]) > 0:
            raise ValueError("the gauge-invariant law needs one kd for all task rows")
        self.gains = gains
        self._numbers[: len(everything)] = everything

    def move(self, constraints: ConstraintSet, task: ConstraintSet) -> None:
        """Other placements, radii and the like, between two steps.

        Raises ValueError for rows of another kind, which need another controller.
        """
        rows = ConstraintSet(self.robot.model, (*constraints.constraints, *task.constraints))
        if rows.key != self._rows.key or len(constraints) != self.m:
            raise ValueError(f"{rows} does not have the structure of {self._rows}")
        self.constraints, self.task, self._rows = constraints, task, rows

    def place(self, reference: Transform) -> None:
        """Another reference placement of all constraints and task rows between frames, in a fraction of a millisecond.

        Raises ValueError, see `ConstraintSet.placed`.
        """
        constraints, task, rows = (s.placed(reference) for s in (self.constraints, self.task, self._rows))
        self.constraints, self.task, self._rows = constraints, task, rows

    def reset(self) -> None:
        """Forget the integrals of force and task error."""
        self.preset()

    def preset(self, *, force: ArrayLike = 0.0, acceleration: ArrayLike | None = 0.0) -> None:
        """Let the integrals begin with what is known already, so that nothing jumps.

        force (m): what the force error's integral adds to the commanded multipliers. acceleration (k): what the task
        error's adds to the acceleration of the task rows; None leaves it as it is. Without a gain there is no
        integral, which then stays zero.
        """
        gains, k = self._numbers, self.k
        self._output.integral[:] = _over(-np.asarray(force, dtype=float), gains[2 * k])
        if acceleration is not None:
            slope = gains[:k] * gains[2 * k + 5] * (1.0 if self.law == "geometric" else gains[k])
            self._output.task_integral[:] = _over(-np.asarray(acceleration, dtype=float), slope)

    def step(
        self,
        q: Array,
        v: Array,
        theta: Array,
        *,
        rate: Array | None = None,
        acceleration: Array | None = None,
        force: Array | None = None,
        measured: Array | None = None,
        dt: float = 0.0,
        posture: Array | None = None,
        approach: Array | None = None,
    ) -> HybridOutput:
        """The command for one measured state.

        Parameters:
            q (nq), v (nv): measured.
            theta, rate, acceleration (k): wanted of the task rows; the latter two zero by default.
            force (m): wanted multipliers, by default zero.
            measured (m): multipliers by a sensor, see `multipliers`; None leaves the integral as it is.
            dt: s since the last step, for the integral.
            posture (nv): where joints of one degree of freedom are drawn to, as far as they are free.
            approach (m): velocity of the constraint rows that the normal damping aims at, by default zero:
                negative to find a surface.

        Raises ValueError for what is not finite, ArithmeticError where the result is not: nothing may be
        commanded then, and the integral stays.
        """
        out = self._output
        no_force, no_motion = self._none
        force = no_force if force is None else force
        self._numbers[-1] = dt
        self._numbers[-2] = 0.0 if posture is None else 1.0
        inputs = (
            q, v, theta,
            no_motion if rate is None else rate,
            no_motion if acceleration is None else acceleration,
            force, no_force if approach is None else approach, force if measured is None else measured, out.integral,
            out.task_integral, v if posture is None else posture,
            self._numbers, self.effort_limits, self._rows.parameters, self.robot.inertia_input,
        )  # fmt: skip
        if self._call(*inputs, *self._work) is None:
            self._kernel(inputs, self._work)
        self._output, self._work = self._work, out
        return self._output

    def _sizes(self) -> list[tuple[int, ...]]:
        nv, m, k = (self.robot.model.nv,), (self.m,), (self.k,)
        return [nv, nv, k, k, m, m, m, m, k, nv, ()]

    def _build(self) -> Evaluation:
        m, k = (self.m,), (self.k,)
        sizes = sizes_of(self.robot.model, len(self._rows), len(self._rows.parameters))
        own = {"theta": k, "rate": k, "acceleration": k, "force": m, "approach": m, "measured": m, "integral": m}
        own |= {"task_integral": k, "posture": (self.robot.model.nv,)}
        shared = {"gains": self._numbers.shape, "limits": self.effort_limits.shape}
        named = {name: Argument(name, shape) for name, shape in own.items()}
        named |= {name: Argument(name, shape, shared=True) for name, shape in shared.items()}
        outputs = tuple(Argument(name, size) for name, size in zip(HybridOutput._fields, self._sizes()))
        signature = Signature(arguments(f"q v {' '.join(named)} parameters inertia", sizes, named), outputs)
        friction = self.robot.friction
        holonomic = tuple(self.task.holonomic.tolist())
        law = HybridLaw(self.law, self.m, self.k, holonomic, tuple(self.actuated.tolist()), self._rows)
        function = function_of(self.robot.model, signature, law, friction=friction, constraints=self._rows)
        return self.robot.custom_kernel("hybrid_position_force", signature, function)


def _over(value: Array, gain: Array) -> Array:
    """Their quotient, zero where there is no gain."""
    gain = np.broadcast_to(gain, np.broadcast_shapes(value.shape, gain.shape))
    return np.divide(value, gain, out=np.zeros(gain.shape), where=gain > 0.0)


class MultiplierSensor:
    """Multipliers of constraints on one body, out of a wrench that a sensor on that body reads.

    Parameters:
        robot, constraints: pairs, all on frames of one body.
        frame: of the sensor: its axes and its origin.

    Raises ValueError for constraints of another kind, or on a body that the sensor is not fixed to, KeyError
    for an unknown frame.
    """

    def __init__(self, robot: Robot, constraints: ConstraintSet, frame: str) -> None:
        model = robot.model
        body = model.frame(frame).body
        for constraint in constraints.constraints:
            if not isinstance(constraint, PairConstraint):
                raise ValueError(f"constraint {constraint.name!r} is not between frames: a wrench does not show it")
            if model.frame(constraint.frame).body != body:
                raise ValueError(
                    f"the sensor frame {frame!r} is not fixed to frame {constraint.frame!r} of constraint "
                    f"{constraint.name!r}"
                )
        self.robot, self.constraints, self.frame = robot, constraints, frame
        self._out = np.zeros(len(constraints))
        sizes = sizes_of(model, len(constraints), len(constraints.parameters))
        signature = Signature(arguments("q wrench parameters", sizes), arguments("multipliers", sizes))

        def sensed(x: Inputs) -> list[Vector]:
            rows = constraints.wrench_rows(x.q, x.parameters[2:], sensor=x.frame)
            return [multipliers_of([row for one in rows.values() for row in one], x.wrench)]

        function = function_of(model, signature, sensed, frame=frame, constraints=constraints)
        self._kernel = robot.custom_kernel("multiplier_sensor", signature, function)
        self._call = self._kernel.fast

    def multipliers(self, q: Array, wrench: Array) -> Array:
        """lambda (m) of the wrench (m, f) on the robot, in the sensor's frame; the same array each time."""
        inputs = (q, wrench, self.constraints.parameters)
        if self._call(*inputs, self._out) is None:
            self._kernel(inputs, self._out)
        return self._out
