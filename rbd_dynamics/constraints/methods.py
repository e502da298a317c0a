# SPDX-License-Identifier: Apache-2.0
"""The constrained part of `Robot`: kernels for sets of constraints, bound to methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.compiler.program import Function, Signature
from rbd_dynamics.constraints.base import Constraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.constraints.kernels import specialise
from rbd_dynamics.evaluation import Evaluation
from rbd_dynamics.model.model import Model

Array = NDArray[np.float64]
Wrenches = Mapping[str, ArrayLike]
Constraints = ConstraintSet | Sequence[Constraint]


class ConstraintTerms(NamedTuple):
    """h (m), A (m, nv) and Adot v (m): rows without h have zeros there."""

    h: Array
    A: Array
    rates: Array


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
        scale = 1.0 + float(np.abs(self.tau).max(initial=0.0))
        worst = max(np.abs(self.lacking).max(initial=0.0), np.abs(self.residual).max(initial=0.0))
        return bool(worst <= 1e-6 * scale)


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


class ConstrainedMethods:
    """What `Robot` does under constraints. m is the number of rows of `constraints`.

    `constraints` is a `ConstraintSet`, or a sequence of constraints; make the set once where speed
    matters. Batches, `out` and errors as in `Robot`. Accelerations obey A a = target - Adot v, with
    the set's stabilization added; `target` (m) is zero unless given: for surfaces that move.
    """

    model: Model
    friction: bool

    def _forget_constraints(self) -> None:
        self._constrained: dict[tuple[str, str], Evaluation] = {}

    @property
    def inertia_input(self) -> Array:
        raise NotImplementedError

    def custom_kernel(self, name: str, variant: str, signature: Signature, function: Function) -> Evaluation:
        raise NotImplementedError

    def _body_wrenches(self, f_ext: Wrenches) -> Array:
        raise NotImplementedError

    def compile_constrained(self, constraints: Constraints, *names: str) -> None:
        """Make kernels ahead of use: names of methods below, with "_f_ext" for external wrenches.

        "constrained_inverse_dynamics_torque" and "..._constraint_force" are one for each objective.
        Raises KeyError for an unknown name.
        """
        of = self._set(constraints)
        for name in names:
            self._constrained_evaluation(name, of)

    def _set(self, constraints: Constraints) -> ConstraintSet:
        if isinstance(constraints, ConstraintSet):
            return constraints
        if isinstance(constraints, Iterable):
            return ConstraintSet(self.model, constraints)
        raise TypeError(f"constraints must be a ConstraintSet or a sequence, not {type(constraints).__name__}")

    def _constrained_evaluation(self, name: str, of: ConstraintSet) -> Evaluation:
        found = self._constrained.get((name, of.key))
        if found is None:
            if of.model is not self.model and of.model != self.model:
                raise ValueError("the constraint set was made for another model")
            signature, function = specialise(self.model, of, name, self.friction)
            found = self._constrained[name, of.key] = self.custom_kernel(name, of.key, signature, function)
        return found

    def constraint_terms(
        self, q: ArrayLike, v: ArrayLike, constraints: Constraints, out: tuple[Array, ...] | None = None
    ) -> ConstraintTerms:
        """h, A and Adot v. Source: theory.md section 7."""
        of = self._set(constraints)
        return ConstraintTerms(*self._constrained_evaluation("constraint_terms", of)((q, v, of.parameters), out))

    def constrained_forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedMotion:
        """Acceleration and multipliers under the torque tau: M a + b = tau + A^T lambda, A a = target - Adot v.

        out: (a, multipliers, rank, residual). Source: theory.md section 7.
        """
        return ConstrainedMotion(
            *self._constrained_run("constrained_forward_dynamics", (q, v, tau), constraints, f_ext, target, out)
        )

    def constrained_forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedDerivatives:
        """Derivatives of `constrained_forward_dynamics` at its solution. Source: theory.md sections 6 and 7."""
        return ConstrainedDerivatives(
            *self._constrained_run(
                "constrained_forward_dynamics_derivatives", (q, v, tau), constraints, None, target, out
            )
        )

    def constrained_hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        constraints: Constraints,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedHybridMotion:
        """Complete (a, tau), as in `hybrid_dynamics`, with multipliers.

        out: (a, tau, multipliers, rank, residual). Source: theory.md section 7; 000 section 3.
        """
        inputs = (q, v, a, tau, prescribed)
        return ConstrainedHybridMotion(
            *self._constrained_run("constrained_hybrid_dynamics", inputs, constraints, f_ext, target, out)
        )

    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        constraints: Constraints,
        actuated: ArrayLike | None = None,
        objective: Literal["torque", "constraint_force"] = "torque",
        tau: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedTorque:
        """Actuator torques for the acceleration a, which the constraints must allow.

        actuated (nv) bool: joints with an actuator, by default all. objective: of many solutions the
        one with the least norm of the actuators' torques or of the multipliers. tau (nv): torque at
        joints without actuator (springs), by default zero.
        out: (tau, multipliers, rank, lacking, residual). Raises ValueError for an unknown objective;
        an infeasible motion is no error: see `ConstrainedTorque`. Source: theory.md section 7.
        """
        if objective not in ("torque", "constraint_force"):
            raise ValueError(f"objective {objective!r} is none of torque, constraint_force")
        nv = self.model.nv
        inputs = (q, v, a, np.zeros(nv) if tau is None else tau, np.ones(nv, bool) if actuated is None else actuated)
        name = f"constrained_inverse_dynamics_{objective}"
        return ConstrainedTorque(*self._constrained_run(name, inputs, constraints, f_ext, target, out))

    def force_projection(self, q: ArrayLike, constraints: Constraints, out: Any = None) -> tuple[Array, Array]:
        """(P_w (nv, nv), rank): P_w tau is what of a torque moves the robot, the rest loads the constraints.

        P_T = P_w^T projects velocities on those that the constraints allow. Source: theory.md section 7.
        """
        of = self._set(constraints)
        return self._constrained_evaluation("force_projection", of)((q, of.parameters, self.inertia_input), out)

    def constraint_impulse(
        self,
        q: ArrayLike,
        v: ArrayLike,
        constraints: Constraints,
        restitution: float = 0.0,
        after: ArrayLike | None = None,
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """(v+ (nv), impulses (m), rank) when the constraints suddenly hold: M (v+ - v) = A^T impulses.

        A v+ = -restitution A v, or `after` (m) if given. With neither, v+ is P_T v, the nearest velocity
        that the constraints allow. Source: theory.md section 7.
        """
        of = self._set(constraints)
        if after is None:
            after = np.zeros(len(of))
            if restitution != 0.0:
                A = self.constraint_terms(q, v, of).A
                after = -restitution * np.einsum("...ij,...j", A, np.asarray(v, float))
        inputs = (q, v, of.parameters, after, self.inertia_input)
        return self._constrained_evaluation("constraint_impulse", of)(inputs, out)

    def project_configuration(
        self, q: ArrayLike, constraints: Constraints, tolerance: float = 1e-12, iterations: int = 50
    ) -> Array:
        """The configuration (nq,) near q that obeys h(q) = 0: Newton steps, the smallest in the metric of M.

        Raises ArithmeticError, naming the worst row, where h stays above `tolerance`.
        """
        of = self._set(constraints)
        correction = self._constrained_evaluation("constraint_correction", of)
        found = np.array(q, dtype=float)
        for _ in range(iterations):
            step, h = correction((found, of.parameters, self.inertia_input))
            if np.abs(h).max() <= tolerance:
                return found
            length = np.abs(step).max()
            found = self.model.integrate(found, step if length <= 0.5 else step * (0.5 / length))
        worst = int(np.abs(h).argmax())
        raise ArithmeticError(
            f"no configuration with {of.row_names[worst]} = 0 found near q: {h[worst]:.3g} left "
            f"after {iterations} steps"
        )

    def constraint_wrenches(self, q: ArrayLike, constraints: Constraints, multipliers: ArrayLike) -> dict[str, Array]:
        """{constraint: wrench (m, f) (6,)} of each constraint between frames on its frame, in that frame.

        Its reference gets the opposite. For one sample.
        """
        of = self._set(constraints)
        multipliers = np.asarray(multipliers, dtype=float)
        if multipliers.shape != (len(of),):
            raise ValueError(f"multipliers have shape {multipliers.shape}, expected ({len(of)},): {of.row_names}")
        numbers = [float(x) for x in np.asarray(q, dtype=float)]
        rows = of.wrench_rows(numbers, of.parameters[2:].tolist())
        return {name: np.array(wrenches).T @ multipliers[of.slice_of(name)] for name, wrenches in rows.items()}

    def _constrained_run(
        self,
        name: str,
        inputs: Sequence[Any],
        constraints: Constraints,
        f_ext: Wrenches | None,
        target: ArrayLike | None,
        out: Any,
    ) -> Any:
        of = self._set(constraints)
        wanted = of.zeros if target is None else target
        if f_ext is None:
            evaluation = self._constrained.get((name, of.key)) or self._constrained_evaluation(name, of)
            return evaluation((*inputs, of.parameters, wanted, self.inertia_input), out)
        evaluation = self._constrained_evaluation(f"{name}_f_ext", of)
        return evaluation((*inputs, of.parameters, wanted, self._body_wrenches(f_ext), self.inertia_input), out)
