# SPDX-License-Identifier: Apache-2.0
"""A robot under constraints: its kernels for one set, bound to methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.constraints.base import Constraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.model.excerpt import excerpt
from rbd_dynamics.model.real_numbers import real_array

Array = NDArray[np.float64]
Wrenches = Mapping[str, ArrayLike]
Constraints = ConstraintSet | Sequence[Constraint]
Objective = Literal["torque", "constraint_force"]


class ConstraintRows(NamedTuple):
    """h (m), A (m, nv) and Adot v (m): rows without h have zeros there."""

    h: Array
    A: Array
    Adot_v: Array


class ConstrainedMotion(NamedTuple):
    """Result of constrained forward dynamics.

    a (nv): acceleration. multipliers (m): lambda, the force of each row on the robot, the shortest
    where they are not unique. rank: number of independent rows; where it is less than m, rows are
    redundant or contradict each other. residual (m): A a less what it has to be, zero but for
    rounding unless rows contradict each other, and then in the later ones.
    """

    a: Array
    multipliers: Array
    rank: Array
    residual: Array


class ConstrainedHybridMotion(NamedTuple):
    """Result of constrained hybrid dynamics: as `ConstrainedMotion`, and tau (nv).

    The residual is also where prescribed accelerations violate a constraint.
    """

    a: Array
    tau: Array
    multipliers: Array
    rank: Array
    residual: Array


def negligible(tau: Array, *rests: Array) -> bool:
    """What is left of a motion, beside the largest torque that it takes."""
    worst = max(float(np.abs(rest).max(initial=0.0)) for rest in rests)
    return worst <= 1e-6 * (1.0 + float(np.abs(tau).max(initial=0.0)))


class ConstrainedTorque(NamedTuple):
    """Result of constrained inverse dynamics.

    tau (nv): at actuated joints what the actuators give, at the others the given passive torque.
    multipliers (m). rank: of the constraints as passive joints feel them. lacking (nv): torque that
    passive joints would need besides; not zero means that no actuator torque makes this motion.
    residual (m): by how much the acceleration violates the constraints.
    """

    tau: Array
    multipliers: Array
    rank: Array
    lacking: Array
    residual: Array

    @property
    def feasible(self) -> bool:
        """The motion obeys the constraints, and the actuators can make it; to 1e-6 of the largest torque."""
        return negligible(self.tau, self.lacking, self.residual)


class ConstrainedDerivatives(NamedTuple):
    """Of constrained forward dynamics: a by q (along the tangent), v and tau, each (nv, nv); the multipliers (m, nv).

    Where rows are redundant those of a are right as long as the rank does not change; the multipliers' are those
    of least norm in each column.
    """

    a_dq: Array
    a_dv: Array
    a_dtau: Array
    multipliers_dq: Array
    multipliers_dv: Array
    multipliers_dtau: Array


class Constrained:
    """Dynamics of a robot under a set of constraints; m is the number of its rows.

    Batches, `out` and errors as in `Robot`. Accelerations obey A a = target - Adot v, with the set's
    stabilization added; `target` (m) is zero unless given: for surfaces that move. The robot's payloads
    count as they are at each call.

    Parameters:
        robot: what moves.
        constraints: a `ConstraintSet` of its model, or a sequence of constraints.

    Raises ValueError for a set of another model, TypeError for what is no set.
    """

    def __init__(self, robot: BoundModel, constraints: Constraints) -> None:
        self.robot = robot
        self.constraints = set_of(robot, constraints)
        if self.constraints.model is not robot.model and self.constraints.model != robot.model:
            raise ValueError("the constraint set was made for another model")
        self._kernels: dict[str, Evaluation] = {}

    def compile(self, *names: str) -> None:
        """Make kernels ahead of use: names as in "constrained_forward_dynamics", "_f_ext" for external wrenches.

        "constrained_inverse_dynamics_torque" and "..._constraint_force" are one for each objective.
        Raises KeyError for an unknown name.
        """
        for name in names:
            self._kernel(name)

    def _kernel(self, name: str) -> Evaluation:
        found = self._kernels.get(name)
        if found is None:
            of = self.constraints
            found = self._kernels[name] = self.robot.constrained_kernel(name, of, of.key)
        return found

    def rows(self, q: ArrayLike, v: ArrayLike, *, out: tuple[Array, ...] | None = None) -> ConstraintRows:
        """h, A and Adot v. Source: theory.md section 7."""
        return ConstraintRows(*self._kernel("constraint_rows")((q, v, self.constraints.parameters), out))

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedMotion:
        """Acceleration and multipliers under the torque tau: M a + b = tau + A^T lambda, A a = target - Adot v.

        out: (a, multipliers, rank, residual). Source: theory.md section 7.
        """
        return ConstrainedMotion(*self._run("constrained_forward_dynamics", (q, v, tau), f_ext, target, out))

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedDerivatives:
        """Derivatives of `forward_dynamics` at its solution. Source: theory.md sections 6 and 7."""
        name = "constrained_forward_dynamics_derivatives"
        return ConstrainedDerivatives(*self._run(name, (q, v, tau), None, target, out))

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedHybridMotion:
        """Complete (a, tau), as in `Robot.hybrid_dynamics`, with multipliers.

        out: (a, tau, multipliers, rank, residual). Source: theory.md section 7; 000 section 3.
        """
        inputs = (q, v, a, tau, prescribed)
        return ConstrainedHybridMotion(*self._run("constrained_hybrid_dynamics", inputs, f_ext, target, out))

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        actuated: ArrayLike | None = None,
        objective: Objective = "torque",
        tau: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedTorque:
        """Actuator torques for the acceleration a, which the constraints must allow.

        actuated (nv) bool: joints with an actuator, by default all. objective: of many solutions the
        one with the least norm of the actuators' torques or of the multipliers. tau (nv): torque at
        joints without actuator, by default zero.
        out: (tau, multipliers, rank, lacking, residual). Raises ValueError for an unknown objective;
        an infeasible motion is no error: see `ConstrainedTorque`. Source: theory.md section 7.
        """
        if not isinstance(objective, str) or objective not in ("torque", "constraint_force"):
            raise ValueError(f"objective {excerpt(objective)} is none of torque, constraint_force")
        nv = self.robot.model.nv
        inputs = (q, v, a, np.zeros(nv) if tau is None else tau, np.ones(nv, bool) if actuated is None else actuated)
        name = f"constrained_inverse_dynamics_{objective}"
        return ConstrainedTorque(*self._run(name, inputs, f_ext, target, out))

    def force_projection(self, q: ArrayLike, *, out: Any = None) -> tuple[Array, Array]:
        """(P_w (nv, nv), rank): P_w tau is what of a torque moves the robot, the rest loads the constraints.

        P_T = P_w^T projects velocities on those that the constraints allow. Source: theory.md section 7.
        """
        inputs = (q, self.constraints.parameters, self.robot.inertia_input)
        return self._kernel("force_projection")(inputs, out)

    def impulse(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        restitution: float = 0.0,
        after: ArrayLike | None = None,
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """(v+ (nv), impulses (m), rank) when the constraints suddenly hold: M (v+ - v) = A^T impulses.

        A v+ = -restitution A v, or `after` (m) if given. With neither, v+ is P_T v, the nearest velocity
        that the constraints allow. Source: theory.md section 7.
        """
        if after is None:
            after = np.zeros(len(self.constraints))
            part = real_array(restitution, "restitution")
            if part.ndim or not np.isfinite(part):
                raise ValueError(f"restitution {excerpt(restitution)} is not a finite number")
            if part:
                after = -part * np.einsum("...ij,...j", self.rows(q, v).A, real_array(v, "v"))
        inputs = (q, v, self.constraints.parameters, after, self.robot.inertia_input)
        return self._kernel("constraint_impulse")(inputs, out)

    def project_configuration(self, q: ArrayLike, *, tolerance: float = 1e-12, iterations: int = 50) -> Array:
        """The configuration (nq,) near q that obeys h(q) = 0: Newton steps, the smallest in the metric of M.

        Raises ArithmeticError, naming the worst row, where h stays above `tolerance`.
        """
        of, correction = self.constraints, self._kernel("constraint_correction")
        if not isinstance(iterations, (int, np.integer)) or iterations < 1:
            raise ValueError(f"iterations {excerpt(iterations)} is not a whole number above zero")
        if not np.all(real_array(tolerance, "tolerance") > 0.0) or np.ndim(tolerance):
            raise ValueError(f"tolerance {excerpt(tolerance)} must be positive")
        found = self._one_configuration(q)
        for _ in range(iterations):
            step, h = correction((found, of.parameters, self.robot.inertia_input))
            if np.abs(h).max() <= tolerance:
                return found
            length = np.abs(step).max()
            found = self.robot.model.integrate(found, step if length <= 0.5 else step * (0.5 / length))
        worst = int(np.abs(h).argmax())
        raise ArithmeticError(
            f"no configuration with {of.row_names[worst]} = 0 found near q: {h[worst]:.3g} left "
            f"after {iterations} steps"
        )

    def wrenches(self, q: ArrayLike, multipliers: ArrayLike) -> dict[str, Array]:
        """{constraint: wrench (m, f) (6,)} of each constraint between frames on its frame, in that frame.

        Its reference gets the opposite. For one sample.
        """
        of = self.constraints
        multipliers = real_array(multipliers, "multipliers")
        if multipliers.shape != (len(of),):
            raise ValueError(f"multipliers have shape {multipliers.shape}, expected ({len(of)},): {of.row_names}")
        if not np.isfinite(multipliers).all():
            raise ValueError("multipliers: one is not finite")
        rows = of.wrench_rows(self._one_configuration(q).tolist(), of.parameters[2:].tolist())
        return {name: np.array(wrenches).T @ multipliers[of.slice_of(name)] for name, wrenches in rows.items()}

    def _one_configuration(self, q: ArrayLike) -> Array:
        model = self.robot.model
        checked = model.configuration(q)
        if checked.ndim != 1:
            raise ValueError(f"q has shape {checked.shape}, expected ({model.nq},)")
        return checked.copy()

    def _run(self, name: str, inputs: Sequence[Any], f_ext: Wrenches | None, target: ArrayLike | None, out: Any) -> Any:
        of, robot = self.constraints, self.robot
        wanted = of.zeros if target is None else target
        if f_ext is None:
            kernel = self._kernels.get(name) or self._kernel(name)
            return kernel((*inputs, of.parameters, wanted, robot.inertia_input), out)
        wrenches = robot.body_wrenches(f_ext)
        return self._kernel(f"{name}_f_ext")((*inputs, of.parameters, wanted, wrenches, robot.inertia_input), out)


def set_of(robot: BoundModel, constraints: Constraints) -> ConstraintSet:
    """The set itself, or one of a sequence. Raises TypeError for anything else."""
    if isinstance(constraints, ConstraintSet):
        return constraints
    if isinstance(constraints, Iterable):
        return ConstraintSet(robot.model, constraints)
    raise TypeError(f"constraints must be a ConstraintSet or a sequence, not {type(constraints).__name__}")
