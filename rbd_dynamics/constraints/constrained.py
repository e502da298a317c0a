# SPDX-License-Identifier: Apache-2.0
"""A robot under constraints: its kernels for one set, bound to methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.constraints.bound import Array, Objective, Wrenches, inverse_kernel
from rbd_dynamics.constraints.derivatives import DerivativesUnderConstraints
from rbd_dynamics.constraints.results import (
    ConstrainedHybridMotion,
    ConstrainedMotion,
    ConstrainedTorque,
    ConstraintRows,
)


class Constrained(DerivativesUnderConstraints):
    """Dynamics of a robot under a set of constraints; m is the number of its rows.

    Batches, `out` and errors as in `Robot`. Accelerations obey A a = target - Adot v, with the set's
    stabilization added; `target` (m) is zero unless given: for surfaces that move. The robot's payloads
    count as they are at each call.

    Parameters:
        robot: what moves.
        constraints: a `ConstraintSet` of its model, or a sequence of constraints.

    Raises ValueError for a set of another model, TypeError for what is no set.
    """

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
        out: (tau, multipliers, rank, lacking, residual, needed). Raises ValueError for an unknown objective;
        an infeasible motion is no error: see `ConstrainedTorque`. Source: theory.md section 7.
        """
        inputs = (q, v, a, *self._actuators(tau, actuated))
        return ConstrainedTorque(*self._run(inverse_kernel(objective), inputs, f_ext, target, out))

    def force_projection(self, q: ArrayLike, *, out: tuple[Array, ...] | None = None) -> tuple[Array, Array]:
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
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array, Array]:
        """(v+ (nv), impulses (m), rank) when the constraints suddenly hold: M (v+ - v) = A^T impulses.

        A v+ = -restitution A v, or `after` (m) if given. With neither, v+ is P_T v, the nearest velocity
        that the constraints allow. Source: theory.md section 7.
        """
        reached = self._rebound(q, v, restitution)[0] if after is None else self._after(after)
        inputs = (q, v, self.constraints.parameters, reached, self.robot.inertia_input)
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
