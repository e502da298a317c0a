# SPDX-License-Identifier: Apache-2.0
"""Derivatives of dynamics under constraints, as methods of `Constrained` (theory.md sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.constraints.bound import Array, BoundConstraints, Objective, Wrenches, inverse_kernel
from rbd_dynamics.constraints.results import (
    ConstrainedDerivatives,
    ConstrainedHybridDerivatives,
    ConstrainedTorqueDerivatives,
    ImpulseDerivatives,
)
from rbd_dynamics.kernels.directional import by_directions


class DerivativesUnderConstraints(BoundConstraints):
    """Derivatives under constraints; by q: along the tangent, as in `Robot`. External wrenches turn with frames.

    Where rows are redundant, or an objective chooses among solutions, the derivatives are those of the solution that
    is returned, as long as the ranks do not change.
    """

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedDerivatives:
        """Derivatives of `forward_dynamics` at its solution. Source: theory.md sections 6 and 7."""
        name = "constrained_forward_dynamics_derivatives"
        return ConstrainedDerivatives(*self._run(name, (q, v, tau), f_ext, target, out))

    def hybrid_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
    ) -> ConstrainedHybridDerivatives:
        """Derivatives of `hybrid_dynamics` by q, v and the given inputs. Source: theory.md sections 6 and 7."""
        n = np.eye(self.robot.model.nv)
        groups = [(n, None, None, None), (None, n, None, None), (None, None, n, n)]
        found = self._by("constrained_hybrid_dynamics", (q, v, a, tau, prescribed), groups, f_ext, target)
        return ConstrainedHybridDerivatives(*(part for output in found for part in output))

    def inverse_dynamics_derivatives(
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
    ) -> ConstrainedTorqueDerivatives:
        """Derivatives of `inverse_dynamics` by q, v, a and the torque of passive joints.

        Raises ValueError for an unknown objective. Source: theory.md sections 6 and 7.
        """
        n = np.eye(self.robot.model.nv)
        groups = [tuple(n if i == k else None for i in range(4)) for k in range(4)]
        inputs = (q, v, a, *self._actuators(tau, actuated))
        found = self._by(inverse_kernel(objective), inputs, groups, f_ext, target)
        return ConstrainedTorqueDerivatives(*(part for output in found for part in output))

    def impulse_derivatives(
        self, q: ArrayLike, v: ArrayLike, *, restitution: float = 0.0, after: ArrayLike | None = None
    ) -> ImpulseDerivatives:
        """Derivatives of `impulse` by q, v and `after`; with a restitution `after` changes with q and v.

        Source: theory.md sections 6 and 7.
        """
        n, m = np.eye(self.robot.model.nv), np.eye(len(self.constraints))
        rebound, A = self._rebound(q, v, restitution) if after is None else (self._after(after), None)
        inputs = (q, v, self.constraints.parameters, rebound, self.robot.inertia_input)
        groups = [(n, None, None), (None, n, None), (None, None, m)]
        found = by_directions(self._kernel("constraint_impulse_along"), inputs, groups)
        if A is not None:
            rows = (q, v, self.constraints.parameters)
            _, (A_dq,) = by_directions(self._kernel("constraint_rows_along"), rows, [(n, None)])
            by_q = -restitution * np.einsum("...ijk,...j->...ik", A_dq, real_array(v, "v"))
            found = [(dq + da @ by_q, dv - restitution * (da @ A), da) for dq, dv, da in found]
        return ImpulseDerivatives(*(part for output in found for part in output))

    # --- by an external wrench ----------------------------------------------------------------------

    def forward_dynamics_wrench_derivative(self, q: ArrayLike, frame: str) -> tuple[Array, Array]:
        """(d a / d f (nv, 6), d multipliers / d f (m, 6)), f a wrench (m, f) on a frame, in that frame."""
        nothing = np.zeros(self.robot.model.nv, bool)
        a, _, multipliers = self.hybrid_dynamics_wrench_derivative(q, nothing, frame)
        return a, multipliers

    def hybrid_dynamics_wrench_derivative(
        self, q: ArrayLike, prescribed: ArrayLike, frame: str
    ) -> tuple[Array, Array, Array]:
        """(d a / d f, d tau / d f, d multipliers / d f), f a wrench (m, f) on a frame, in that frame."""
        still = self._still
        found = self._by_wrench("constrained_hybrid_dynamics", (q, still, still, still, prescribed), frame)
        return found[0], found[1], found[2]

    def inverse_dynamics_wrench_derivative(
        self, q: ArrayLike, frame: str, *, actuated: ArrayLike | None = None, objective: Objective = "torque"
    ) -> tuple[Array, Array]:
        """(d tau / d f (nv, 6), d multipliers / d f (m, 6)), f a wrench (m, f) on a frame, in that frame."""
        inputs = (q, self._still, self._still, *self._actuators(None, actuated))
        found = self._by_wrench(inverse_kernel(objective), inputs, frame)
        return found[0], found[1]

    def _by_wrench(self, name: str, inputs: Sequence[Any], frame: str) -> list[Array]:
        """Dynamics are affine in the wrench: the state besides q does not count."""
        units = self.robot.body_wrenches({frame: np.eye(6)})
        found = self._by(name, inputs, [(None, None, None, None, units)], {frame: np.zeros(6)}, None)
        return [part for (part,) in found]

    # --- shared ---------------------------------------------------------------------------------------

    def _by(
        self,
        name: str,
        inputs: Sequence[Any],
        groups: Sequence[Sequence[Array | None]],
        f_ext: Wrenches | None,
        target: ArrayLike | None,
    ) -> list[tuple[Array, ...]]:
        kernel, complete = self._inputs(f"{name}_along", inputs, f_ext, target)
        moving = len(kernel.arguments) - len(complete)
        return by_directions(kernel, complete, [(*group, *[None] * (moving - len(group))) for group in groups])

    def _rebound(self, q: ArrayLike, v: ArrayLike, restitution: float) -> tuple[Array, Array | None]:
        """Velocity of the rows after an impact with a coefficient of restitution; and A, where it counts."""
        part = real_array(restitution, "restitution")
        if part.ndim or not np.isfinite(part):
            raise ValueError(f"restitution {excerpt(restitution)} is not a finite number")
        if not part:
            return np.zeros(len(self.constraints)), None
        A = self._kernel("constraint_rows")((q, v, self.constraints.parameters))[1]
        return -part * np.einsum("...ij,...j", A, real_array(v, "v")), A

    def _after(self, after: ArrayLike) -> Array:
        """Checked as `after`, which kernels call the target of the rows."""
        found = real_array(after, "after")
        if found.shape[-1:] != (len(self.constraints),):
            raise ValueError(f"after has shape {found.shape}, expected (..., {len(self.constraints)})")
        if self.robot.errors == "raise" and not np.isfinite(found).all():
            row = self.constraints.row_names[int(np.argwhere(~np.isfinite(found))[0, -1])]
            raise ValueError(f"after of row {row!r} is not finite")
        return found

    def _actuators(self, tau: ArrayLike | None, actuated: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
        nv = self.robot.model.nv
        return np.zeros(nv) if tau is None else tau, np.ones(nv, bool) if actuated is None else actuated

    @property
    def _still(self) -> Array:
        return np.zeros(self.robot.model.nv)
