# SPDX-License-Identifier: Apache-2.0
"""Feedforward torque of a desired motion, with an optional PD around it (theory.md section 8)."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.feedforward_torque import feedforward_torque
from rbd_dynamics.algorithms.polynomial import POWERS
from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.control.motion.splines import motion_of
from rbd_dynamics.control.safety.softening import Shares
from rbd_dynamics.control.terms import INERTIA, TERMS, WITHOUT_FRICTION, checked_terms
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.bound_model import require_double
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]
EvaluateAt = Literal["measured", "desired"]
EVALUATE_AT = ("measured", "desired")
Law = Literal["feedforward", "computed_torque"]
LAWS = ("feedforward", "computed_torque")


class Tuning(NamedTuple):
    """What may change while a `Feedforward` runs, checked."""

    terms: frozenset[str]
    evaluate_at: EvaluateAt
    law: Law
    numbers: tuple[Array, Array, Array, Array]  # weights, gains (2, joints), offsets and effort limits (joints)


class Feedforward:
    """tau = (chosen terms of) M a_d + C v + N + springs + friction(v_d) + kp (q_d - q) + kd (v_d - v)
    + offsets, within limits.

    Computed torque has the feedback inside: M (a_d + kp (q_d - q) + kd (v_d - v)) + ..., so that the error
    obeys e'' + kd e' + kp e = 0 at every joint.

    M, C and N are taken at the measured or at the desired state. Joints of the robot that are not
    controlled are taken at the measured state, with no acceleration. Friction is that of the desired
    velocity: at the measured one it would chatter around standstill. The whole law, with the desired
    motion's polynomial, is one kernel; nothing is compiled or allocated once it runs.

    Parameters:
        robot: without friction, all joints of one degree of freedom.
        joints: the controlled ones; they order everything below. Default: all.
        others: see `tune`.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        joints: Sequence[str] = (),
        terms: Iterable[str] = WITHOUT_FRICTION,
        evaluate_at: EvaluateAt = "measured",
        kp: ArrayLike = (),
        kd: ArrayLike = (),
        effort_limits: ArrayLike = (),
        effort_offsets: Mapping[str, float] | None = None,
        law: Law = "feedforward",
    ) -> None:
        model = robot.model
        self.robot = robot
        self.joints = tuple(joints) or tuple(model.joint_names)
        self.index = single_freedom_indices(robot, self.joints)
        self._chosen = [model.joint(name) for name in self.joints]
        self.continuous = np.array([joint.kind.name == "continuous" for joint in self._chosen], dtype=bool)
        self.tune(
            terms,
            evaluate_at=evaluate_at,
            kp=kp,
            kd=kd,
            effort_limits=effort_limits,
            effort_offsets=effort_offsets,
            law=law,
        )
        self._outputs = np.zeros(len(self.joints)), np.zeros(len(self.joints))
        self._scratch = np.zeros(len(self.joints)), np.zeros(len(self.joints))
        self._kernel = self._build()
        self._call = self._kernel.fast

    def tune(
        self,
        terms: Iterable[str],
        *,
        evaluate_at: EvaluateAt = "measured",
        kp: ArrayLike = (),
        kd: ArrayLike = (),
        effort_limits: ArrayLike = (),
        effort_offsets: Mapping[str, float] | None = None,
        law: Law = "feedforward",
    ) -> None:
        """Change what may change while it runs, as `tuning` has it. Raises ValueError, and then changes nothing."""
        self.use(
            self.tuning(
                terms,
                evaluate_at=evaluate_at,
                kp=kp,
                kd=kd,
                effort_limits=effort_limits,
                effort_offsets=effort_offsets,
                law=law,
            )
        )

    def tuning(
        self,
        terms: Iterable[str],
        *,
        evaluate_at: EvaluateAt = "measured",
        kp: ArrayLike = (),
        kd: ArrayLike = (),
        effort_limits: ArrayLike = (),
        effort_offsets: Mapping[str, float] | None = None,
        law: Law = "feedforward",
    ) -> Tuning:
        """What `use` takes, and `attempt`. Raises ValueError.

        Parameters:
            terms: of "inertia", "coriolis", "gravity", "spring", "friction".
            evaluate_at: "measured" or "desired" state.
            kp, kd: gains (N m/rad, N m s/rad or N/m, N s/m): none, one for all, or one for each joint; of
                computed torque in 1/s^2 and 1/s.
            effort_limits: likewise; default: the model's.
            effort_offsets: {joint: N m or N} added to the torque, of any joints of the robot; none beyond the limits.
            law: "feedforward" or "computed_torque".
        """
        chosen = checked_terms(terms)
        if evaluate_at not in EVALUATE_AT:
            raise ValueError(f"evaluate_at is {evaluate_at!r}, expected one of {', '.join(EVALUATE_AT)}")
        if law not in LAWS:
            raise ValueError(f"law is {law!r}, expected one of {', '.join(LAWS)}")
        computed = law == "computed_torque"
        if computed and INERTIA not in chosen:
            raise ValueError("computed_torque needs the term inertia: its feedback is an acceleration")
        weights = np.array([*(term in chosen for term in TERMS), evaluate_at == "desired", computed], dtype=float)
        gains = np.array([per_joint("kp", kp, self.joints), per_joint("kd", kd, self.joints)])
        default = [joint.limits.effort for joint in self._chosen]
        limits = per_joint("effort_limits", effort_limits, self.joints, default)
        return Tuning(chosen, evaluate_at, law, (weights, gains, self._offsets(effort_offsets or {}, limits), limits))

    def use(self, tuning: Tuning) -> None:
        """Use this tuning from the next call on."""
        self.terms, self.evaluate_at, self.law, self._tuning = tuning
        self.effort_limits = self._tuning[3]
        self._gains = self.gains.copy()

    def soften(self, shares: Shares) -> None:
        """Use so much of the gains until the next tuning, or other shares."""
        np.multiply(self.gains, [[shares.stiffness], [shares.damping]], out=self._gains)

    def attempt(self, q: Array, v: Array, motion: Array, since: Array, tuning: Tuning) -> None:
        """Raise what `compute` would raise with another tuning; nothing changes."""
        self._kernel((q, v, motion, since, *tuning.numbers, self.robot.inertia_input), self._scratch)

    def holding(self, q: Array, inertia: Array) -> Array:
        """What the chosen terms need to hold the robot still at q, before it is cut off at the limits (joints).

        inertia: as `Robot.inertia_input` has it, of a robot with another load. Raises ArithmeticError where it is not
        finite. The same array each time.
        """
        still = motion_of([q[self.index], np.zeros(len(self.joints)), np.zeros(len(self.joints))])
        self._kernel((q, np.zeros(self.robot.model.nv), still, np.zeros(1), *self._tuning, inertia), self._scratch)
        return self._scratch[1]

    def compute(
        self, q: Array, v: Array, motion: Array, since: Array, *, added: Array | None = None, out: Array | None = None
    ) -> Array:
        """Efforts of the controlled joints, the same array each time or `out`.

        Parameters:
            q, v: measured, all joints of the robot in its order (nv).
            motion: coefficients of the desired motion (6, joints) for the powers of time, constant first.
            since: time at which it is taken, s (1,).
            added (joints): efforts besides, N m or N, within the limits of all.

        Raises ValueError or ArithmeticError where a number is not finite.
        """
        efforts, wanted = self._outputs
        if out is not None:
            efforts = out
        weights, _, offsets, limits = self._tuning
        if added is not None:
            offsets = offsets + added
        inputs = (q, v, motion, since, weights, self._gains, offsets, limits, self.robot.inertia_input)
        if self._call(*inputs, efforts, wanted) is None:
            self._kernel(inputs, (efforts, wanted))
        return efforts

    def _offsets(self, given: Mapping[str, float], limits: Array) -> Array:
        """Offsets of the controlled joints. Raises ValueError for an unknown joint, or one that could not give it."""
        for name, offset in given.items():
            if name not in self.robot.model.joint_names:
                raise ValueError(f"effort_offsets: {unknown('joint', name, list(self.robot.model.joint_names))}")
            if not math.isfinite(offset):
                raise ValueError(f"effort_offsets of joint {name!r} is {offset}, expected a finite number")
        found = np.array([given.get(name, 0.0) for name in self.joints], dtype=float)
        for name, offset, limit in zip(self.joints, found, limits):
            if abs(offset) > limit:
                raise ValueError(
                    f"effort_offsets of joint {name!r} is {offset:g}, beyond its effort limit of {limit:g}"
                )
        return found

    @property
    def gains(self) -> Array:
        """kp and kd of the controlled joints (2, joints), in the units of the law."""
        return self._tuning[1]

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Which controlled joints' efforts were cut off at the last call."""
        return np.asarray(np.abs(self._outputs[1]) > self.effort_limits)

    def _build(self) -> Evaluation:
        signature, function = feedforward_law(self.robot, self.joints)
        return self.robot.custom_kernel("feedforward", signature, function)


def feedforward_law(robot: Robot, joints: Sequence[str] = ()) -> tuple[Signature, Function]:
    """The whole law as a kernel's function, with what goes in and out, for some joints or all. Raises ValueError."""
    model, chosen = robot.model, tuple(joints) or tuple(robot.model.joint_names)
    dofs = tuple(single_freedom_indices(robot, chosen).tolist())
    continuous = tuple(model.joint(name).kind.name == "continuous" for name in chosen)
    count = len(chosen)
    own = {
        argument.name: argument
        for argument in (
            Argument("motion", (POWERS, count)),
            Argument("t", (1,)),
            Argument("weights", (len(TERMS) + 2,), shared=True),
            Argument("gains", (2, count), shared=True),
            Argument("offsets", (count,), shared=True),
            Argument("limits", (count,), shared=True),
            Argument("efforts", (count,)),
            Argument("wanted", (count,)),
        )
    }
    sizes = sizes_of(model)
    signature = Signature(
        arguments("q v motion t weights gains offsets limits inertia", sizes, own),
        arguments("efforts wanted", sizes, own),
    )

    return signature, function_of(model, signature, functools.partial(_law, dofs, continuous))


def _law(dofs: tuple[int, ...], continuous: tuple[bool, ...], x: Inputs) -> tuple[Sequence[Scalar], ...]:
    given = (x.q, x.v, x.motion, x.t, x.weights, x.gains, x.offsets, x.limits)
    return feedforward_torque(x.model, x.inertias, dofs, continuous, *given)


def per_joint(what: str, values: ArrayLike, joints: Sequence[str], default: Sequence[float] | float = 0.0) -> Array:
    """One number >= 0 for each joint out of none (then the default), one or as many. Raises ValueError."""
    given = np.asarray(values, dtype=float).reshape(-1)
    count = len(joints)
    if given.size == 0:
        given = np.asarray(default, dtype=float).reshape(-1)
    if given.size not in (1, count):
        raise ValueError(f"{what} has {given.size} values for {count} joints: {', '.join(joints)}")
    wrong = np.flatnonzero(~(given >= 0.0))
    if wrong.size:
        name = joints[wrong[0]] if given.size == count else "every joint"
        raise ValueError(f"{what} of {name} is {given[wrong[0]]}, expected a number >= 0")
    return np.ascontiguousarray(np.broadcast_to(given, (count,)), dtype=float)


def single_freedom_indices(robot: Robot, joints: Sequence[str]) -> NDArray[np.intp]:
    """Places of `joints` in q and in v. Raises ValueError for an unknown or repeated one.

    All joints of the robot must have one degree of freedom, as in sensor_msgs/JointState. Raises TypeError for a robot
    in single precision: who asks controls it, or plans motions for it.
    """
    require_double(robot, "control and trajectories")
    for joint in robot.model.joints:
        if joint.kind.nv != 1 or joint.kind.nq != 1:
            raise ValueError(
                f"joint {joint.name!r} has {joint.kind.nv} degrees of freedom, which a JointState cannot carry: lock it"
            )
    if len(set(joints)) < len(joints):
        twice = next(name for name, count in Counter(joints).items() if count > 1)
        raise ValueError(f"joint {twice!r} is named twice")
    place = {joint.name: joint.v_index for joint in robot.model.joints}
    try:
        for name in dict.fromkeys(joints).keys() - place.keys():
            robot.model.joint(name)  # knows what it may be called
    except KeyError as error:
        raise ValueError(str(error.args[0])) from None
    return np.array([place[name] for name in joints], dtype=np.intp)
