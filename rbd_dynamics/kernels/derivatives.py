# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a robot's dynamics, as methods: what `Robot` has of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import HybridDerivatives
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.kernels.directional import by_directions
from rbd_dynamics.kernels.evaluation import check_outputs, no_kernel
from rbd_dynamics.kernels.of_frames import Reference, kernel_of_frame

Array = NDArray[np.float64]
Three = tuple[Array, Array, Array]
Wrenches = Mapping[str, ArrayLike]

NONE_YET = object()  # and not (), which an `out` may be


class CentroidalDerivatives(NamedTuple):
    """Each (6, nv): of the momentum h by q, of its rate by q and v. Others are A: dh/dv = dhdot/da."""

    h_dq: Array
    hdot_dq: Array
    hdot_dv: Array


class CenterOfMassDerivatives(NamedTuple):
    """Each (3, nv): of its velocity by q, of its acceleration by q and v. Others are J: of the position by q, too."""

    velocity_dq: Array
    acceleration_dq: Array
    acceleration_dv: Array


class Derivatives(BoundModel):
    """Derivatives of the dynamics. By q: along the tangent, column k is the rate as q moves with the velocity e_k.

    It moves as `Model.integrate` moves it. External wrenches are constant in their frames, which turn along. Arguments,
    batches, `out` and errors as in `Robot`.
    """

    def _forget_kernels(self) -> None:
        super()._forget_kernels()
        self._fast_inverse_dynamics_derivatives = self._fast_forward_dynamics_derivatives = no_kernel
        self._fast_hybrid_dynamics_derivatives = no_kernel
        self._square = (self.model.nv, self.model.nv)
        self._checked_three: Any = NONE_YET  # outputs that were checked; loops give the same
        self._checked_six: Any = NONE_YET

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, f_ext: Wrenches | None = None, out: Three | None = None
    ) -> Three:
        """(d_dq, d_dv, d_da) of tau, each (nv, nv). Source: theory.md section 6."""
        if f_ext is None:
            three = out if out is self._checked_three else self._three("inverse_dynamics_derivatives", out)
            fast = self._fast_inverse_dynamics_derivatives
            if fast(q, v, a, self._inertia, three[0], three[1], three[2]) is not None:
                return three
        return self._run_under("inverse_dynamics_derivatives", (q, v, a), f_ext, out)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, f_ext: Wrenches | None = None, out: Three | None = None
    ) -> Three:
        """(d_dq, d_dv, d_dtau) of the acceleration, each (nv, nv). Source: theory.md section 6."""
        if f_ext is None:
            three = out if out is self._checked_three else self._three("forward_dynamics_derivatives", out)
            fast = self._fast_forward_dynamics_derivatives
            if fast(q, v, tau, self._inertia, three[0], three[1], three[2]) is not None:
                return three
        return self._run_under("forward_dynamics_derivatives", (q, v, tau), f_ext, out)

    def _three(self, name: str, out: Any) -> Three:
        """Three matrices to write to: new ones, or those given, checked."""
        if out is None:
            return self._empty(self._square), self._empty(self._square), self._empty(self._square)
        check_outputs(name, out, 3)
        self._checked_three = out if isinstance(out, tuple) else NONE_YET
        return out

    def _six(self, name: str, out: Any) -> Any:
        """Likewise."""
        if out is None:
            return tuple([self._empty(self._square) for _ in range(6)])
        check_outputs(name, out, 6)
        self._checked_six = out if isinstance(out, tuple) else NONE_YET
        return out

    def hybrid_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> HybridDerivatives:
        """Derivatives of the completed (a, tau) by q, v and the given inputs, each (nv, nv).

        Source: theory.md section 6.
        """
        if f_ext is None:
            six = out if out is self._checked_six else self._six("hybrid_dynamics_derivatives", out)
            fast = self._fast_hybrid_dynamics_derivatives
            if fast(q, v, a, tau, prescribed, self._inertia, *six) is not None:
                return six if isinstance(six, HybridDerivatives) else HybridDerivatives(*six)
        result = self._run_under("hybrid_dynamics_derivatives", (q, v, a, tau, prescribed), f_ext, out)
        return result if isinstance(result, HybridDerivatives) else HybridDerivatives._make(result)

    # --- by an external wrench ----------------------------------------------------------------------

    def inverse_dynamics_wrench_derivative(self, q: ArrayLike, frame: str) -> Array:
        """d tau / d f = -J^T (nv, 6), f a wrench (m, f) on a frame, in that frame. KeyError: unknown frame."""
        return -self._transposed_jacobian(q, frame)

    def forward_dynamics_wrench_derivative(self, q: ArrayLike, frame: str) -> Array:
        """d a / d f = M^-1 J^T (nv, 6), f a wrench (m, f) on a frame, in that frame. KeyError: unknown frame."""
        return self._run("mass_matrix_inverse", (q, self._inertia)) @ self._transposed_jacobian(q, frame)

    def hybrid_dynamics_wrench_derivative(self, q: ArrayLike, prescribed: ArrayLike, frame: str) -> tuple[Array, Array]:
        """(d a / d f, d tau / d f), both (nv, 6): `prescribed` as in `Robot.hybrid_dynamics`, the rest as above."""
        still = np.zeros(self.model.nv)
        found = self.hybrid_dynamics_derivatives(q, still, still, still, prescribed)
        push, given = self._transposed_jacobian(q, frame), real_array(prescribed, "prescribed").astype(bool)[..., None]
        free = np.where(given, 0.0, push)
        return found.a_dinput @ free, np.where(given, found.tau_dinput @ free - push, 0.0)

    def _transposed_jacobian(self, q: ArrayLike, frame: str) -> Array:
        return np.swapaxes(self._run(kernel_of_frame("jacobian", frame), (q,)), -1, -2)

    # --- of wrenches, momentum and frames -------------------------------------------------------------

    def joint_reaction_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, f_ext: Wrenches | None = None, out: Three | None = None
    ) -> Three:
        """(d_dq, d_dv, d_da) of `joint_reactions`, each (bodies, 6, nv). Source: theory.md section 6."""
        return self._run_under("joint_reaction_derivatives", (q, v, a), f_ext, out)

    def centroidal_momentum_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Three | None = None
    ) -> CentroidalDerivatives:
        """Derivatives of `momentum` and its rate A a + Adot v about the centre of mass. Source: theory.md section 6."""
        inputs = (q, v, a, self._inertia, self._fixed)
        return CentroidalDerivatives._make(self._run("centroidal_momentum_derivatives", inputs, out))

    def center_of_mass_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Three | None = None
    ) -> CenterOfMassDerivatives:
        """Derivatives of J v and J a + Jdot v of the centre of mass, world axes. Source: theory.md section 6."""
        inputs = (q, v, a, self._inertia, self._fixed)
        return CenterOfMassDerivatives._make(self._run("center_of_mass_derivatives", inputs, out))

    def frame_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str,
        *,
        reference: Reference = "body",
        out: Three | None = None,
    ) -> Three:
        """(dV/dq, dA/dq, dA/dv), each (6, nv), of a frame's twist V = J v and its rate A = J a + Jdot v.

        reference: as for `Robot.jacobian`. The others are the Jacobian: dV/dv = dA/da = J. Source: theory.md section 6.
        """
        return self._run(kernel_of_frame("frame_derivatives", frame, reference), (q, v, a), out)

    def inverse_effective_inertia_derivative(self, q: ArrayLike, frame: str, *, reference: Reference = "body") -> Array:
        """d(J M^-1 J^T)/dq (6, 6, nv), of `inverse_effective_inertia`. Source: theory.md sections 6 and 7.

        `analysis.operational_space.effective_inertia_derivative` has that of the inertia itself.
        """
        kernel = self.evaluation(kernel_of_frame("inverse_effective_inertia", frame, reference, along=True))
        ((by_q,),) = by_directions(kernel, (q, self._inertia), [(np.eye(self.model.nv),)])
        return by_q

    # --- second derivatives -----------------------------------------------------------------------------

    def inverse_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        direction: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        f_ext: Wrenches | None = None,
        out: Three | None = None,
    ) -> Three:
        """Rates of `inverse_dynamics_derivatives`, each (nv, nv), as (q, v, a) moves along a direction (dq, dv, da).

        dq (nv) is along the tangent. Exact: products of the second derivatives with a vector, as Newton's method and
        differential dynamic programming take them; all of them are a batch of unit directions. Source: theory.md
        section 6.
        """
        return self._along("inverse_dynamics_derivatives", (q, v, a), direction, f_ext, out)

    def forward_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        direction: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        f_ext: Wrenches | None = None,
        out: Three | None = None,
    ) -> Three:
        """Rates of `forward_dynamics_derivatives`, each (nv, nv), as (q, v, tau) moves along (dq, dv, dtau).

        As `inverse_dynamics_second_derivatives`. Source: theory.md section 6.
        """
        return self._along("forward_dynamics_derivatives", (q, v, tau), direction, f_ext, out)

    def _along(self, name: str, state: tuple[Any, ...], direction: Any, f_ext: Wrenches | None, out: Any) -> Any:
        if not isinstance(direction, (tuple, list)) or len(direction) != len(state):
            raise ValueError(f"direction: expected {len(state)} vectors, one for each of the state")
        if f_ext is None:
            return self._run(f"{name}_along", (*state, self._inertia, *direction), out)
        still = np.zeros((len(self.model.bodies), 6))
        inputs = (*state, self.body_wrenches(f_ext), self._inertia, *direction, still)
        return self._run(f"{name}_along_f_ext", inputs, out)
