# SPDX-License-Identifier: Apache-2.0
"""`Robot`: a model bound to its compiled kernels. The public face of the library."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.constraints.bound import Constraints, Objective
from rbd_dynamics.constraints.constrained import Constrained
from rbd_dynamics.constraints.results import (
    ConstrainedDerivatives,
    ConstrainedHybridDerivatives,
    ConstrainedHybridMotion,
    ConstrainedMotion,
    ConstrainedTorque,
    ConstrainedTorqueDerivatives,
    ConstraintRows,
    ImpulseDerivatives,
)
from rbd_dynamics.contacts.dynamics import STILL, TOUCHING, ContactDynamics, Contacts
from rbd_dynamics.contacts.found import ContactFinder, FinderDynamics
from rbd_dynamics.contacts.results import ContactImpulse, ContactMotion, ContactTorque
from rbd_dynamics.kernels.bound_model import require_double
from rbd_dynamics.kernels.derivatives import Derivatives
from rbd_dynamics.kernels.evaluation import check_outputs, no_kernel
from rbd_dynamics.kernels.inverse_kinematics import InverseKinematics, PoseSolver, frames_of
from rbd_dynamics.kernels.of_frames import Reference, kernel_of_frame

Array = NDArray[np.float64]
Wrenches = Mapping[str, ArrayLike]


class Robot(Derivatives):
    """Dynamics of one robot.

    One sample is a 1-D array, (nq,) or (nv,). Leading axes make a batch, (..., nq) or (..., nv) in and (..., *) out, as
    many as you like: (T, B, nv) are T steps of B robots. They broadcast as NumPy's do, so that a 1-D argument counts
    for every sample. `out` takes an array (or a tuple of them, where a method returns several) to write into; it must
    be C-contiguous, of the robot's `dtype` and of the right shape, and it is also what is returned. Tensors of other
    libraries are read and written where they are, by DLPack, if they are in the processor's memory.

    Everywhere: q in the order of `model.joint_names`, a floating joint's (x, y, z, qx, qy, qz, qw)
    with body twist (w, v) as velocity; SI units; wrenches (m, f), angular part first.

    Errors: ValueError for a wrong shape, a non-finite number (it names the argument, the joint and
    the sample) or a quaternion far from unit length; ArithmeticError where the result is not
    finite, that is where the mass matrix is singular. The result is then not to be used. With errors="nan"
    only wrong shapes and types are errors: a sample that cannot be computed is NaN in all its results, the others
    are right, and `np.isfinite(result).all(axis=-1)` is the mask of those.

    Threads may share it. A payload is the robot's own: what one thread sets counts for the later calls of all.

    Parameters:
        model: the robot, from `load_urdf`.
        backend: "llvm" (machine code), "python" (the same emitted program as Python source) or "reference" (the
            algorithms on plain floats). Default: the best that this machine has.
        friction: add the joints' damping and Coulomb friction to the equation of motion.
        errors: "raise" or "nan", what becomes of samples that cannot be computed.
        dtype: np.float64, or np.float32: arguments are then taken in single precision, and so are computed and given;
            batches take half the time and memory. Torques and M are accurate to 1e-6 or so of their largest number,
            accelerations less, as M is nearer to a singular one. For learning and sampling: what needs double
            precision (constraints, contacts, controllers, trajectories, ranks) raises TypeError.
        threads: how many may share a batch, where it takes a millisecond and more; 1 for real-time processes. Results
            do not depend on it.
    """

    def _forget_kernels(self) -> None:
        super()._forget_kernels()
        self._kernels_of_poses: dict[tuple[str | tuple[str, ...], bool], PoseSolver] = {}
        self._fast_inverse_dynamics = self._fast_forward_dynamics = no_kernel
        self._fast_hybrid_dynamics = self._fast_mass_matrix = no_kernel
        self._constrained_last: tuple[Any, Constrained] | None = None  # of which set, or tuple of frozen constraints
        self._contact_last: tuple[Any, ContactDynamics] | None = None
        self._checked_pair: tuple[Array, Array] | None = None  # outputs of hybrid dynamics; loops give the same

    # --- dynamics -------------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, f_ext: Wrenches | None = None, out: Array | None = None
    ) -> Array:
        """Torque tau (nv) for the acceleration a: tau = M a + C v + N - J^T f_ext.

        f_ext: {frame name: wrench (m, f) that acts on the robot, in that frame}. Source: theory.md
        section 2, recursive Newton-Euler.
        """
        if f_ext is None:
            result = out if out is not None else self._empty(self.model.nv)
            if self._fast_inverse_dynamics(q, v, a, self._inertia, result) is not None:
                return result
            return self._refused("inverse_dynamics", (q, v, a, self._inertia), out)
        return self._run_under("inverse_dynamics", (q, v, a), f_ext, out)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, f_ext: Wrenches | None = None, out: Array | None = None
    ) -> Array:
        """Acceleration a (nv) under the torque tau. Source: theory.md section 2, articulated bodies."""
        if f_ext is None:
            result = out if out is not None else self._empty(self.model.nv)
            if self._fast_forward_dynamics(q, v, tau, self._inertia, result) is not None:
                return result
            return self._refused("forward_dynamics", (q, v, tau, self._inertia), out)
        return self._run_under("forward_dynamics", (q, v, tau), f_ext, out)

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Complete (a, tau), both (nv).

        prescribed (nv) bool: where true `a` is given and the torque is found, elsewhere `tau` is
        given and the acceleration is found; what is not given is ignored, but must be finite.
        Source: theory.md section 2, hybrid dynamics.
        """
        if f_ext is None:
            pair = out if out is not None else (self._empty(self.model.nv), self._empty(self.model.nv))
            if out is not self._checked_pair:
                check_outputs("hybrid_dynamics", pair, 2)
                self._checked_pair = out if isinstance(out, tuple) else None
            fast = self._fast_hybrid_dynamics
            if fast(q, v, a, tau, prescribed, self._inertia, pair[0], pair[1]) is not None:
                return pair
            return self._refused("hybrid_dynamics", (q, v, a, tau, prescribed, self._inertia), out)
        return self._run_under("hybrid_dynamics", (q, v, a, tau, prescribed), f_ext, out)

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M (nv, nv), symmetric, with rotor inertia. Source: theory.md section 3."""
        result = out if out is not None else self._empty((self.model.nv, self.model.nv))
        if self._fast_mass_matrix(q, self._inertia, result) is not None:
            return result
        return self._refused("mass_matrix", (q, self._inertia), out)

    def bias(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """b (nv) = C v + N, the torque at zero acceleration (with friction, if the robot has it)."""
        return self._run("bias", (q, v, self._inertia), out)

    def gravity(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """N (nv), the torque that holds the robot at rest."""
        return self._run("gravity", (q, self._inertia), out)

    def coriolis(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """C v (nv), the Coriolis and centrifugal torque."""
        return self._run("coriolis", (q, v, self._inertia), out)

    def spring_torque(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Torque (nv) that holds the joints' springs; part of inverse dynamics and `bias`, not of `gravity`."""
        return self._run("springs", (q,), out)

    def friction_torque(self, v: ArrayLike, *, out: Array | None = None) -> Array:
        """d v + c tanh(v / eps) (nv), the torque that overcomes joint damping and Coulomb friction.

        It is the model's, whether or not this robot was made with friction=True.
        """
        return self._run("friction", (v,), out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """C (nv, nv): C v is the Coriolis torque and Mdot - 2 C is skew-symmetric. Source: theory.md section 3."""
        return self._run("coriolis_matrix", (q, v, self._inertia), out)

    def mass_matrix_inverse(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M^-1 (nv, nv), symmetric, without forming M's dense factors."""
        return self._run("mass_matrix_inverse", (q, self._inertia), out)

    def mass_factor(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """W (nv, nv), upper triangular with positive diagonal, with M = W W^T. Source: theory.md section 3."""
        return self._run("mass_factor", (q, self._inertia), out)

    def factor_apply(self, q: ArrayLike, x: ArrayLike, *, transposed: bool = False, out: Array | None = None) -> Array:
        """W x, or W^T x if transposed, (nv), in O(n) without forming W. Source: theory.md section 3.

        W^T v are the quasi-velocities: their squares sum to twice the kinetic energy.
        """
        return self._run("factor_apply_transposed" if transposed else "factor_apply", (q, x, self._inertia), out)

    def factor_solve(self, q: ArrayLike, b: ArrayLike, *, transposed: bool = False, out: Array | None = None) -> Array:
        """W^-1 b, or W^-T b if transposed, (nv), in O(n) without forming W. Source: theory.md section 3."""
        return self._run("factor_solve_transposed" if transposed else "factor_solve", (q, b, self._inertia), out)

    def quasi_velocity_coriolis(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """Gam (nv, nv), skew-symmetric: with w = W^T v, wdot + Gam w = W^-1 (tau - N). Source: theory.md section 3."""
        return self._run("quasi_velocity_coriolis", (q, v, self._inertia), out)

    def joint_reactions(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, f_ext: Wrenches | None = None, out: Array | None = None
    ) -> Array:
        """Wrenches (bodies, 6) that the joints transmit, each (m, f) on a body of `model.body_names` in its frame.

        From the parent to the body, in the motion (q, v, a); along the joint's own directions it is
        the actuator's torque without what turns the rotor. Source: theory.md section 2, F_i.
        """
        return self._run_under("joint_reactions", (q, v, a), f_ext, out)

    def inverse_effective_inertia(
        self, q: ArrayLike, frame: str, *, reference: Reference = "body", out: Array | None = None
    ) -> Array:
        """J M^-1 J^T (6, 6): the frame's acceleration (w, v) per wrench (m, f) on it, both in the `reference` of J.

        `rbd_dynamics.analysis.operational_space` has the inertia itself, which is infinite along singular
        directions. Source: theory.md section 7.
        """
        return self._run(kernel_of_frame("inverse_effective_inertia", frame, reference), (q, self._inertia), out)

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None) -> Array:
        """Y (nv, 10 bodies) with tau = Y @ `inertial_parameters`.ravel(), but for rotor inertia and friction."""
        return self._run("regressor", (q, v, a), out)

    def kinetic_energy_regressor(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """y (10 bodies): the kinetic energy is y @ `inertial_parameters`.ravel(), but for the rotors'."""
        return self._run("kinetic_energy_regressor", (q, v), out)

    def potential_energy_regressor(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """y (10 bodies): potential energy y @ `inertial_parameters`.ravel(), but for what is fixed to the world."""
        return self._run("potential_energy_regressor", (q,), out)

    # --- kinematics -----------------------------------------------------------------------------

    def pose(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Pose of a frame in the world, a homogeneous matrix (4, 4). KeyError: unknown frame."""
        return self._run(kernel_of_frame("pose", frame), (q,), out)

    def jacobian(self, q: ArrayLike, frame: str, *, reference: Reference = "body", out: Array | None = None) -> Array:
        """J (6, nv): J v is the twist (w, v) of the frame.

        reference: where it is expressed. "body": at the frame's origin, in the frame's own axes; "aligned": there, in
        the world's axes, so that v is the velocity of the origin; "world": at the world's origin, in the world's axes
        (the spatial twist). A `ValueError` for any other, a `KeyError` for an unknown frame.
        """
        return self._run(kernel_of_frame("jacobian", frame, reference), (q,), out)

    def jacobian_dot(
        self, q: ArrayLike, v: ArrayLike, frame: str, *, reference: Reference = "body", out: Array | None = None
    ) -> Array:
        """dJ/dt (6, nv) of `jacobian`: the twist's component-wise rate is J vdot + Jdot v."""
        return self._run(kernel_of_frame("jacobian_dot", frame, reference), (q, v), out)

    def frame_velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str, *, reference: Reference = "body", out: Array | None = None
    ) -> Array:
        """Twist (w, v) (6,) of a frame: J v, without forming J.

        reference: as for `jacobian`.
        """
        return self._run(kernel_of_frame("frame_velocity", frame, reference), (q, v), out)

    def frame_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str,
        *,
        reference: Reference = "body",
        out: Array | None = None,
    ) -> Array:
        """Component-wise rate (6,) of a frame's twist: J a + Jdot v.

        reference: as for `jacobian`. In "aligned" the linear part is the acceleration of the frame's origin in the
        world, without gravity's; in "body", in the frame's own axes, it is that less w x v.
        """
        return self._run(kernel_of_frame("frame_acceleration", frame, reference), (q, v, a), out)

    def inverse_kinematics(
        self,
        frame: str | Sequence[str],
        pose: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        limits: bool = True,
        tolerance: float = 1e-6,
        restarts: int = 50,
        posture: ArrayLike | None = None,
        held: Sequence[str] = (),
        seed: int = 0,
    ) -> InverseKinematics:
        """Positions q that bring a frame to a pose (4, 4) in the world, or many poses (..., 4, 4) side by side.

        Parameters:
            frame: a link or joint by name; or F of them, all at once, of poses (..., F, 4, 4).
            pose: as `pose` gives it.
            q0: where the search begins (..., nq): what is found is mostly near to it. Default: the posture, or zero, or
                within limits. A floating base moves from there as it needs to.
            limits: positions stay within the joints' limits.
            tolerance: what counts as reached, of rad and of m.
            restarts: how often a search that has not come there begins anew, at random. seed: of these.
            posture: positions (..., nq) to come near to, where the frames leave a choice.
            held: joints by name that stay where q0 has them.

        A pose that is out of reach is no error: `reached` is then false, and q the nearest that was found. Raises
        KeyError for an unknown frame, ValueError for a pose that is none, ModelError for a joint of your own that
        moves in a way of its own. Source: Sugihara 2011; see `algorithms.inverse_kinematics`.
        """
        frames = frames_of(frame)
        solver = self._kernels_of_poses.get((frames, limits))
        if solver is None:
            require_double(self, "inverse_kinematics")
            solver = self._kernels_of_poses[frames, limits] = PoseSolver(self, frames, limits=limits)
        return solver.solve(pose, q0, posture, held, tolerance, restarts, seed)

    # --- energy ---------------------------------------------------------------------------------

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """v^T M v / 2 in J: a 0-d array, (...) for a batch."""
        return self._run("kinetic_energy", (q, v, self._inertia), out)

    def potential_energy(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Potential energy (J), zero with all mass at the height of the world's origin: 0-d, (...) for a batch."""
        return self._run("potential_energy", (q, self._inertia, self._fixed), out)

    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Centre of mass of the whole robot in the world, (3,) in m; what is fixed to the world counts, too."""
        return self._run("center_of_mass", (q, self._inertia, self._fixed), out)

    def center_of_mass_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """J (3, nv): the velocity of the centre of mass is J v, world axes."""
        return self._run("center_of_mass_jacobian", (q, self._inertia, self._fixed), out)

    def center_of_mass_jacobian_dot(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """dJ/dt (3, nv): the acceleration of the centre of mass is J a + Jdot v, world axes."""
        return self._run("center_of_mass_jacobian_dot", (q, v, self._inertia, self._fixed), out)

    def momentum(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """(6,): angular momentum about `center_of_mass`, linear momentum; world axes.

        Pinocchio leaves what is fixed to the world out of the centre of mass: there the angular part differs
        by the moment of the linear one about this other point.
        """
        return self._run("momentum", (q, v, self._inertia, self._fixed), out)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """A (6, nv) with momentum = A v."""
        return self._run("centroidal_momentum_matrix", (q, self._inertia, self._fixed), out)

    def centroidal_momentum_bias(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """Adot v (6,): the rate of the momentum is A a + Adot v."""
        return self._run("centroidal_momentum_bias", (q, v, self._inertia, self._fixed), out)

    # --- under constraints ------------------------------------------------------------------------

    def constrained(self, constraints: Constraints) -> Constrained:
        """This robot under constraints: a `ConstraintSet`, or a sequence of constraints.

        The methods below are those of `Constrained`; for speed make the set once, and give the same object.
        """
        last = self._constrained_last
        if last is not None and last[0] is constraints:
            return last[1]
        given = _unchanging(constraints)
        if last is None or not _same(last[0], given):
            last = self._constrained_last = given, Constrained(self, given)
        return last[1]

    def compile_constrained(self, constraints: Constraints, *names: str, batches: bool = True) -> None:
        """`Constrained.compile`."""
        self.constrained(constraints).compile(*names, batches=batches)

    def constraint_rows(
        self, q: ArrayLike, v: ArrayLike, constraints: Constraints, *, out: tuple[Array, ...] | None = None
    ) -> ConstraintRows:
        """h (m), A (m, nv) and Adot v (m) of the m rows: h(q) = 0, A v = 0, A a + Adot v = 0.

        out: (h, A, Adot_v). Source: theory.md section 7.
        """
        return self.constrained(constraints).rows(q, v, out=out)

    def constrained_forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedMotion:
        """Acceleration (nv) and multipliers (m) under tau (nv): M a + b = tau + A^T lambda, A a = target - Adot v.

        f_ext: {frame name: wrench (m, f) on the robot, in that frame}. target (m): what A a + Adot v has to be, zero
        unless given; for surfaces that move. out: (a, multipliers, rank, residual). Redundant rows are no error, see
        `ConstrainedMotion`. Source: theory.md section 7.
        """
        return self.constrained(constraints).forward_dynamics(q, v, tau, f_ext=f_ext, target=target, out=out)

    def constrained_forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedDerivatives:
        """Derivatives of acceleration (nv, nv) and multipliers (m, nv) by q (along the tangent), v and tau.

        f_ext, target: as for `constrained_forward_dynamics`; wrenches are constant in their frames. out: an array for
        each field of the result. Source: theory.md sections 6 and 7.
        """
        bound = self.constrained(constraints)
        return bound.forward_dynamics_derivatives(q, v, tau, f_ext=f_ext, target=target, out=out)

    def constrained_hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        constraints: Constraints,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedHybridMotion:
        """Complete (a, tau), both (nv), and the multipliers (m).

        prescribed (nv) bool: where true `a` is given and the torque is found, elsewhere the reverse. f_ext, target: as
        for `constrained_forward_dynamics`. out: (a, tau, multipliers, rank, residual). Source: theory.md section 7;
        Kim 2012, section 3.
        """
        bound = self.constrained(constraints)
        return bound.hybrid_dynamics(q, v, a, tau, prescribed, f_ext=f_ext, target=target, out=out)

    def constrained_hybrid_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        constraints: Constraints,
        *,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
    ) -> ConstrainedHybridDerivatives:
        """Derivatives of acceleration, torque and multipliers by q (along the tangent), v and what is given.

        f_ext, target: as for `constrained_forward_dynamics`. Source: theory.md sections 6 and 7.
        """
        bound = self.constrained(constraints)
        return bound.hybrid_dynamics_derivatives(q, v, a, tau, prescribed, f_ext=f_ext, target=target)

    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        constraints: Constraints,
        *,
        actuated: ArrayLike | None = None,
        objective: Objective = "torque",
        tau: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> ConstrainedTorque:
        """Actuator torques (nv) and multipliers (m) for the acceleration a, which the constraints must allow.

        actuated (nv) bool: joints with an actuator, by default all. objective: of many solutions the one with the
        least norm of the actuators' torques ("torque") or of the multipliers ("constraint_force"). tau (nv): torque at
        joints without actuator, by default zero. f_ext, target: as for `constrained_forward_dynamics`.
        out: (tau, multipliers, rank, lacking, residual, needed). ValueError: an unknown objective; an infeasible
        motion is no error: see `ConstrainedTorque`. Source: theory.md section 7.
        """
        return self.constrained(constraints).inverse_dynamics(
            q, v, a, actuated=actuated, objective=objective, tau=tau, f_ext=f_ext, target=target, out=out
        )

    def constrained_inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        constraints: Constraints,
        *,
        actuated: ArrayLike | None = None,
        objective: Objective = "torque",
        tau: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        target: ArrayLike | None = None,
    ) -> ConstrainedTorqueDerivatives:
        """Derivatives of torques and multipliers by q (along the tangent), v, a and the torque of passive joints.

        Options as for `constrained_inverse_dynamics`. Raises ValueError for an unknown objective. Source: theory.md
        sections 6 and 7.
        """
        return self.constrained(constraints).inverse_dynamics_derivatives(
            q, v, a, actuated=actuated, objective=objective, tau=tau, f_ext=f_ext, target=target
        )

    def constraint_impulse(
        self,
        q: ArrayLike,
        v: ArrayLike,
        constraints: Constraints,
        *,
        restitution: float = 0.0,
        after: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Array, Array, Array]:
        """(v+ (nv), impulses (m), rank) when the constraints suddenly hold: M (v+ - v) = A^T impulses.

        A v+ = -restitution A v, or `after` (m) if given. Source: theory.md section 7.
        """
        return self.constrained(constraints).impulse(q, v, restitution=restitution, after=after, out=out)

    def constraint_impulse_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        constraints: Constraints,
        *,
        restitution: float = 0.0,
        after: ArrayLike | None = None,
    ) -> ImpulseDerivatives:
        """Derivatives of the velocity after and of the impulses by q (along the tangent), v and `after`.

        restitution, after: as for `constraint_impulse`; with a restitution `after` changes with q and v. Source:
        theory.md sections 6 and 7.
        """
        return self.constrained(constraints).impulse_derivatives(q, v, restitution=restitution, after=after)

    def force_projection(
        self, q: ArrayLike, constraints: Constraints, *, out: tuple[Array, ...] | None = None
    ) -> tuple[Array, Array]:
        """(P_w (nv, nv), rank): P_w tau is what of a torque moves the robot, the rest loads the constraints.

        P_w^T projects velocities on those that the constraints allow. out: (P_w, rank). Source: theory.md section 7.
        """
        return self.constrained(constraints).force_projection(q, out=out)

    def project_configuration(
        self, q: ArrayLike, constraints: Constraints, *, tolerance: float = 1e-12, iterations: int = 50
    ) -> Array:
        """The configuration (nq,) near q that obeys h(q) = 0: Newton steps, the smallest in the metric of M.

        tolerance: the largest |h| that counts as zero. Raises ArithmeticError, naming the worst row, where h stays
        above it after so many `iterations`.
        """
        return self.constrained(constraints).project_configuration(q, tolerance=tolerance, iterations=iterations)

    def constraint_wrenches(self, q: ArrayLike, constraints: Constraints, multipliers: ArrayLike) -> dict[str, Array]:
        """{constraint: wrench (m, f) (6,)} of each constraint between frames on its frame, in that frame.

        multipliers (m): of constrained dynamics at this q. Its reference gets the opposite. For one sample.
        """
        return self.constrained(constraints).wrenches(q, multipliers)

    # --- in contact -------------------------------------------------------------------------------

    def in_contact(self, contacts: Contacts | ContactFinder) -> ContactDynamics:
        """This robot with unilateral contacts: a `ContactSet`, a sequence of contacts, or a `CollisionSet`.

        The methods below are those of `ContactDynamics`; for speed make the set once, and give the same object.
        """
        last = self._contact_last
        if last is not None and last[0] is contacts:
            return last[1]
        given = _unchanging(contacts)
        if last is None or not _same(last[0], given):
            made = FinderDynamics if isinstance(given, ContactFinder) else ContactDynamics
            last = self._contact_last = given, made(self, given)
        return last[1]

    def contact_forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        contacts: Contacts | ContactFinder,
        *,
        f_ext: Wrenches | None = None,
        touching: float = TOUCHING,
        still: float = STILL,
    ) -> ContactMotion:
        """Acceleration (nv) and contact forces (n, 3) under the torque tau.

        A contact acts where its gap is at most `touching` (m) and it does not leave faster than `still` (m/s); it
        slides where it is faster than that along the surface. f_ext: {frame name: wrench (m, f) on the robot, in that
        frame}. Source: theory.md section 10.
        """
        bound = self.in_contact(contacts)
        return bound.forward_dynamics(q, v, tau, f_ext=f_ext, touching=touching, still=still)

    def contact_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        contacts: Contacts | ContactFinder,
        *,
        actuated: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        touching: float = TOUCHING,
        still: float = STILL,
    ) -> ContactTorque:
        """Torques (nv) and contact forces (n, 3) for the acceleration a: the shortest forces in their cones.

        actuated (nv) bool: joints with an actuator, by default all but floating ones. f_ext, touching, still: as for
        `contact_forward_dynamics`. An infeasible motion is no error: see `ContactTorque`. Source: theory.md section 10.
        """
        return self.in_contact(contacts).inverse_dynamics(
            q, v, a, actuated=actuated, f_ext=f_ext, touching=touching, still=still
        )

    def contact_impulse(
        self, q: ArrayLike, v: ArrayLike, contacts: Contacts | ContactFinder, *, touching: float = TOUCHING
    ) -> ContactImpulse:
        """Velocity (nv) after the impacts of what touches, to `touching` (m), and approaches; and the impulses (n, 3).

        Source: theory.md section 10.
        """
        return self.in_contact(contacts).impulse(q, v, touching=touching)


def _unchanging(given: Any) -> Any:
    """A sequence as it is now, which its owner may change; sets, which do not change, and what is none as they are."""
    return tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else given


def _same(known: Any, given: Any) -> bool:
    """The same set, or a tuple of the same frozen parts in the same order."""
    if type(known) is not tuple or type(given) is not tuple:
        return known is given
    return len(known) == len(given) and all(map(operator.is_, known, given))
