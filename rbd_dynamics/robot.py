# SPDX-License-Identifier: Apache-2.0
"""`Robot`: a model bound to its compiled kernels. The public face of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.catalog import specialise
from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import HybridDerivatives
from rbd_dynamics.compiler import kernels
from rbd_dynamics.compiler.fingerprint import fingerprint
from rbd_dynamics.compiler.kernels import Backend, Kernel
from rbd_dynamics.compiler.program import Function, Signature
from rbd_dynamics.constraints.methods import ConstrainedMethods
from rbd_dynamics.evaluation import Evaluation
from rbd_dynamics.model.model import WORLD, Limits, Model
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import wrench_to_parent

Array = NDArray[np.float64]
Wrenches = Mapping[str, ArrayLike]


class Robot(ConstrainedMethods):
    """Dynamics of one robot.

    One sample is a 1-D array, (nq,) or (nv,); a leading axis makes a batch, (N, nq) or (N, nv) in
    and (N, ...) out; in a batch a 1-D argument counts for every sample. `out` takes an array (or
    a tuple of them, where a method returns several) to write into; it must be C-contiguous
    float64 of the right shape, and it is also what is returned.

    Everywhere: q in the order of `model.joint_names`, a floating joint's (x, y, z, qx, qy, qz, qw)
    with body twist (w, v) as velocity; SI units; wrenches (m, f), angular part first.

    Errors: ValueError for a wrong shape, a non-finite number (it names the argument, the joint and
    the sample) or a quaternion far from unit length; ArithmeticError where the result is not
    finite, that is where the mass matrix is singular. The result is then not to be used.

    Parameters:
        model: the robot, from `load_urdf`.
        backend: "llvm" (machine code; "numba" is another name for it), "python" (the same emitted
            program as Python source) or "reference" (the algorithms on plain floats). Default: the
            best that this machine has.
        friction: add the joints' damping and Coulomb friction to the equation of motion.
    """

    def __init__(self, model: Model, backend: Backend | None = None, friction: bool = False) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"Robot needs a Model, as load_urdf makes it, not {type(model).__name__}")
        known = ("llvm", "numba", "python", "reference")
        if backend is not None and backend not in known:
            raise ValueError(f"backend {backend!r} is none of {', '.join(known)}")
        self.model = model
        self.backend: Backend = backend or kernels.best_backend()
        self.friction = friction
        self._payloads: dict[str, tuple[int, RigidInertia]] = {}
        self._inertia, self._fixed = self._inertial_parameters()
        self._identity = _identity(model, friction)
        self._forget_kernels()

    def _forget_kernels(self) -> None:
        self._kernels: dict[str, Evaluation] = {}
        self._fast_inverse_dynamics = self._fast_forward_dynamics = _refuse
        self._fast_hybrid_dynamics = self._fast_mass_matrix = _refuse
        self._forget_constraints()

    def __getstate__(self) -> dict[str, Any]:
        """For copies and other processes: without kernels, which they find in the cache when they need them."""
        forgotten = ("_kernels", "_fast_", "_constrained")
        return {name: value for name, value in vars(self).items() if not name.startswith(forgotten)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget_kernels()

    # --- kernels --------------------------------------------------------------------------------

    def compile(self, *names: str, progress: Callable[[str, int, int], None] | None = None) -> None:
        """Make kernels ahead of use, so that no call waits for a compiler.

        Parameters:
            names: of methods ("inverse_dynamics", "mass_matrix"...), with "_f_ext" for the variant
                with external wrenches; those of a frame as "pose:tool0", "jacobian:tool0".
            progress: called as progress(name, number, total) before each kernel.

        Raises KeyError for an unknown name.
        """
        for number, name in enumerate(names, start=1):
            if progress is not None:
                progress(name, number, len(names))
            self._evaluation(name)

    def _evaluation(self, name: str) -> Evaluation:
        found = self._kernels.get(name)
        if found is None:
            signature, function = specialise(self.model, name, self.friction)
            kernel: Kernel = kernels.build(self.backend, name, self._identity, signature, function)
            found = self._kernels[name] = Evaluation(name, self.model, kernel, function)
            if hasattr(self, f"_fast_{name}"):
                setattr(self, f"_fast_{name}", kernel.call)
        return found

    def custom_kernel(self, name: str, variant: str, signature: Signature, function: Function) -> Evaluation:
        """A kernel of a function of one's own over generic scalars, made and cached like the robot's.

        `variant` is a text that tells functions of that name apart, for this model. Where the function
        needs inertias, make `inertia_input` an input: payloads then need no other kernel.
        """
        kernel: Kernel = kernels.build(self.backend, name, f"{self._identity}\0{variant}", signature, function)
        return Evaluation(name, self.model, kernel, function)

    @property
    def inertia_input(self) -> Array:
        """`inertial_parameters` for kernels: not a copy, so not to be written to."""
        return self._inertia

    def _run(self, name: str, inputs: Sequence[Any], out: Any = None) -> Any:
        """Any input that is not the fast path's: a batch, lists, other types, something wrong."""
        return (self._kernels.get(name) or self._evaluation(name))(inputs, out)

    # --- dynamics -------------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Wrenches | None = None, out: Array | None = None
    ) -> Array:
        """Torque tau (nv) for the acceleration a: tau = M a + C v + N - J^T f_ext.

        f_ext: {frame name: wrench (m, f) that acts on the robot, in that frame}. Source: theory.md
        section 2, recursive Newton-Euler.
        """
        if f_ext is None:
            result = out if out is not None else np.empty(self.model.nv)
            if self._fast_inverse_dynamics(q, v, a, self._inertia, result) is not None:
                return result
            return self._run("inverse_dynamics", (q, v, a, self._inertia), out)
        wrenches = self._body_wrenches(f_ext)
        return self._run("inverse_dynamics_f_ext", (q, v, a, wrenches, self._inertia), out)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: Wrenches | None = None, out: Array | None = None
    ) -> Array:
        """Acceleration a (nv) under the torque tau. Source: theory.md section 2, articulated bodies."""
        if f_ext is None:
            result = out if out is not None else np.empty(self.model.nv)
            if self._fast_forward_dynamics(q, v, tau, self._inertia, result) is not None:
                return result
            return self._run("forward_dynamics", (q, v, tau, self._inertia), out)
        wrenches = self._body_wrenches(f_ext)
        return self._run("forward_dynamics_f_ext", (q, v, tau, wrenches, self._inertia), out)

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        f_ext: Wrenches | None = None,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Complete (a, tau), both (nv).

        prescribed (nv) bool: where true `a` is given and the torque is found, elsewhere `tau` is
        given and the acceleration is found; what is not given is ignored, but must be finite.
        Source: theory.md section 2, hybrid dynamics.
        """
        if f_ext is None:
            pair = out if out is not None else (np.empty(self.model.nv), np.empty(self.model.nv))
            fast = self._fast_hybrid_dynamics
            if len(pair) == 2 and fast(q, v, a, tau, prescribed, self._inertia, pair[0], pair[1]) is not None:
                return pair
            return self._run("hybrid_dynamics", (q, v, a, tau, prescribed, self._inertia), out)
        wrenches = self._body_wrenches(f_ext)
        inputs = (q, v, a, tau, prescribed, wrenches, self._inertia)
        return self._run("hybrid_dynamics_f_ext", inputs, out)

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M (nv, nv), symmetric, with rotor inertia. Source: theory.md section 3."""
        result = out if out is not None else np.empty((self.model.nv, self.model.nv))
        if self._fast_mass_matrix(q, self._inertia, result) is not None:
            return result
        return self._run("mass_matrix", (q, self._inertia), out)

    def bias(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """b (nv) = C v + N, the torque at zero acceleration (with friction, if the robot has it)."""
        return self._run("bias", (q, v, self._inertia), out)

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """N (nv), the torque that holds the robot at rest."""
        return self._run("gravity", (q, self._inertia), out)

    def coriolis(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """C v (nv), the Coriolis and centrifugal torque."""
        return self._run("coriolis", (q, v, self._inertia), out)

    def friction_torque(self, v: ArrayLike, out: Array | None = None) -> Array:
        """d v + c tanh(v / eps) (nv), the torque that overcomes joint damping and Coulomb friction.

        It is the model's, whether or not this robot was made with friction=True.
        """
        return self._run("friction", (v,), out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """C (nv, nv): C v is the Coriolis torque and Mdot - 2 C is skew-symmetric. Source: theory.md section 3."""
        return self._run("coriolis_matrix", (q, v, self._inertia), out)

    def mass_matrix_inverse(self, q: ArrayLike, out: Array | None = None) -> Array:
        """M^-1 (nv, nv), symmetric, without forming M's dense factors."""
        return self._run("mass_matrix_inverse", (q, self._inertia), out)

    def mass_factor(self, q: ArrayLike, out: Array | None = None) -> Array:
        """W (nv, nv), upper triangular with positive diagonal, with M = W W^T. Source: theory.md section 3."""
        return self._run("mass_factor", (q, self._inertia), out)

    def factor_apply(self, q: ArrayLike, x: ArrayLike, transposed: bool = False, out: Array | None = None) -> Array:
        """W x, or W^T x if transposed, (nv), in O(n) without forming W. Source: theory.md section 3.

        W^T v are the quasi-velocities: their squares sum to twice the kinetic energy.
        """
        return self._run("factor_apply_transposed" if transposed else "factor_apply", (q, x, self._inertia), out)

    def factor_solve(self, q: ArrayLike, b: ArrayLike, transposed: bool = False, out: Array | None = None) -> Array:
        """W^-1 b, or W^-T b if transposed, (nv), in O(n) without forming W. Source: theory.md section 3."""
        return self._run("factor_solve_transposed" if transposed else "factor_solve", (q, b, self._inertia), out)

    def quasi_velocity_coriolis(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """Gam (nv, nv), skew-symmetric: with w = W^T v, wdot + Gam w = W^-1 (tau - N). Source: theory.md section 3."""
        return self._run("quasi_velocity_coriolis", (q, v, self._inertia), out)

    def joint_reactions(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Wrenches | None = None, out: Array | None = None
    ) -> Array:
        """Wrenches (bodies, 6) that the joints transmit, each (m, f) on a body of `model.body_names` in its frame.

        From the parent to the body, in the motion (q, v, a); along the joint's own directions it is
        the actuator's torque without what turns the rotor. Source: theory.md section 2, F_i.
        """
        if f_ext is None:
            return self._run("joint_reactions", (q, v, a, self._inertia), out)
        wrenches = self._body_wrenches(f_ext)
        return self._run("joint_reactions_f_ext", (q, v, a, wrenches, self._inertia), out)

    def inverse_effective_inertia(self, q: ArrayLike, frame: str, out: Array | None = None) -> Array:
        """J M^-1 J^T (6, 6): the frame's acceleration (w, v) per wrench (m, f) on it, both in the frame.

        `rbd_dynamics.operational_space` has the inertia itself, which is infinite along singular
        directions. Source: theory.md section 7.
        """
        return self._run(f"inverse_effective_inertia:{frame}", (q, self._inertia), out)

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: Array | None = None) -> Array:
        """Y (nv, 10 bodies) with tau = Y @ `inertial_parameters`.ravel(), but for rotor inertia and friction."""
        return self._run("regressor", (q, v, a), out)

    def kinetic_energy_regressor(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """y (10 bodies): the kinetic energy is y @ `inertial_parameters`.ravel(), but for the rotors'."""
        return self._run("kinetic_energy_regressor", (q, v), out)

    def potential_energy_regressor(self, q: ArrayLike, out: Array | None = None) -> Array:
        """y (10 bodies): potential energy y @ `inertial_parameters`.ravel(), but for what is fixed to the world."""
        return self._run("potential_energy_regressor", (q,), out)

    # --- derivatives ----------------------------------------------------------------------------

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: tuple[Array, Array, Array] | None = None
    ) -> tuple[Array, Array, Array]:
        """(d_dq, d_dv, d_da) of tau, each (nv, nv); by q along the tangent, as `Model.integrate` moves it.

        Source: theory.md section 6.
        """
        return self._run("inverse_dynamics_derivatives", (q, v, a, self._inertia), out)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, out: tuple[Array, Array, Array] | None = None
    ) -> tuple[Array, Array, Array]:
        """(d_dq, d_dv, d_dtau) of the acceleration, each (nv, nv). Source: theory.md section 6."""
        return self._run("forward_dynamics_derivatives", (q, v, tau, self._inertia), out)

    def hybrid_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        out: tuple[Array, ...] | None = None,
    ) -> HybridDerivatives:
        """Derivatives of the completed (a, tau) by q, v and the given inputs, each (nv, nv).

        Source: theory.md section 6.
        """
        inputs = (q, v, a, tau, prescribed, self._inertia)
        result = self._run("hybrid_dynamics_derivatives", inputs, out)
        return result if isinstance(result, HybridDerivatives) else HybridDerivatives._make(result)

    def frame_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, out: tuple[Array, Array, Array] | None = None
    ) -> tuple[Array, Array, Array]:
        """(dV/dq, dA/dq, dA/dv), each (6, nv), of a frame's body twist V = J v and its rate A = J a + Jdot v.

        The others are the Jacobian: dV/dv = dA/da = J. Source: theory.md section 6.
        """
        return self._run(f"frame_derivatives:{frame}", (q, v, a), out)

    # --- kinematics -----------------------------------------------------------------------------

    def pose(self, q: ArrayLike, frame: str, out: Array | None = None) -> Array:
        """Pose of a frame in the world, a homogeneous matrix (4, 4). KeyError: unknown frame."""
        return self._run(f"pose:{frame}", (q,), out)

    def jacobian(self, q: ArrayLike, frame: str, out: Array | None = None) -> Array:
        """J (6, nv): J v is the frame's body twist (w, v), expressed in the frame itself."""
        return self._run(f"jacobian:{frame}", (q,), out)

    def jacobian_dot(self, q: ArrayLike, v: ArrayLike, frame: str, out: Array | None = None) -> Array:
        """dJ/dt (6, nv): the body twist's component-wise rate is J vdot + Jdot v."""
        return self._run(f"jacobian_dot:{frame}", (q, v), out)

    # --- energy ---------------------------------------------------------------------------------

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """v^T M v / 2 in J: a 0-d array, (N,) for a batch."""
        return self._run("kinetic_energy", (q, v, self._inertia), out)

    def potential_energy(self, q: ArrayLike, out: Array | None = None) -> Array:
        """In J, zero with all mass at the height of the world's origin: a 0-d array, (N,) for a batch."""
        return self._run("potential_energy", (q, self._inertia, self._fixed), out)

    def center_of_mass(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass of the whole robot in the world, (3,) in m."""
        return self._run("center_of_mass", (q, self._inertia, self._fixed), out)

    def center_of_mass_jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """J (3, nv): the velocity of the centre of mass is J v, world axes."""
        return self._run("center_of_mass_jacobian", (q, self._inertia, self._fixed), out)

    def center_of_mass_jacobian_dot(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """dJ/dt (3, nv): the acceleration of the centre of mass is J a + Jdot v, world axes."""
        return self._run("center_of_mass_jacobian_dot", (q, v, self._inertia, self._fixed), out)

    def momentum(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """(6,): angular momentum about the centre of mass, linear momentum; world axes."""
        return self._run("momentum", (q, v, self._inertia), out)

    def centroidal_momentum_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """A (6, nv) with momentum = A v."""
        return self._run("centroidal_momentum_matrix", (q, self._inertia), out)

    def centroidal_momentum_bias(self, q: ArrayLike, v: ArrayLike, out: Array | None = None) -> Array:
        """Adot v (6,): the rate of the momentum is A a + Adot v."""
        return self._run("centroidal_momentum_bias", (q, v, self._inertia), out)

    # --- payload --------------------------------------------------------------------------------

    def set_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> None:
        """Attach a rigid load to a frame, in place of the one attached there before; mass 0 detaches it.

        com (3,): its centre of mass in the frame, m. inertia (3, 3) or (ixx, ixy, ixz, iyy, iyz,
        izz): about its centre of mass, in the frame's axes, kg m^2. No kernel is compiled; a call
        that is under way in another thread uses either all of the old or all of the new load.
        Raises KeyError for an unknown frame, ModelError for an impossible load.
        """
        body, load = payload_inertia(self.model, frame, mass, com, inertia)
        payloads = dict(self._payloads)
        payloads.pop(frame, None)
        if load.mass != 0.0:
            payloads[frame] = (body, load)
        self._payloads = payloads
        self._inertia, self._fixed = self._inertial_parameters()

    @property
    def inertial_parameters(self) -> Array:
        """(bodies, 10): m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each body at its frame, payloads included."""
        return self._inertia.copy()

    def _inertial_parameters(self) -> tuple[Array, Array]:
        """(bodies, 10), and (10,) of what is fixed to the world, with the payloads."""
        inertias = [*(body.inertia for body in self.model.bodies), self.model.fixed_inertia]  # last: WORLD
        for body, load in self._payloads.values():
            inertias[body] = inertias[body] + load
        parameters = np.array([inertia.parameters for inertia in inertias], dtype=float)
        return parameters[:-1], parameters[-1]

    def _body_wrenches(self, f_ext: Wrenches) -> Array:
        """Wrenches on frames as one on each body, in the body's frame: (bodies, 6) or (N, bodies, 6)."""
        given: dict[str, Array] = {}
        samples: dict[str, int] = {}
        for name, value in f_ext.items():
            try:
                wrench = given[name] = np.asarray(value, dtype=float)
            except (TypeError, ValueError) as error:
                raise ValueError(f"f_ext[{name!r}]: {error}") from None
            if wrench.ndim not in (1, 2) or wrench.shape[-1] != 6:
                raise ValueError(f"f_ext[{name!r}] has shape {wrench.shape}, expected (6,) or (N, 6)")
            if not np.isfinite(wrench).all():
                raise ValueError(f"f_ext[{name!r}] is not finite: {wrench[~np.isfinite(wrench)][0]}")
            if wrench.ndim == 2:
                samples[name] = len(wrench)
        if len(set(samples.values())) > 1:
            text = ", ".join(f"f_ext[{name!r}] has {count}" for name, count in samples.items())
            raise ValueError(f"numbers of samples differ: {text}")
        total = np.zeros((*list(samples.values())[:1], len(self.model.bodies), 6))
        for name, wrench in given.items():
            frame = self.model.frame(name)
            if frame.body != WORLD:
                parts = wrench_to_parent(frame.placement, tuple(wrench[..., k] for k in range(6)))
                total[..., frame.body, :] += np.stack(np.broadcast_arrays(*parts), axis=-1)
        return total


def _refuse(*arrays: Any) -> None:
    """Stands for a kernel that is not there yet."""


def _identity(model: Model, friction: bool) -> str:
    """All of a model that is compiled into its kernels; inertias are not, they are inputs."""
    bodies = [
        (body.parent, body.placement, replace(body.joint, name="", limits=Limits()), fingerprint(body.joint.kind))
        for body in model.bodies
    ]
    frames = [(frame.name, frame.body, frame.placement, frame.kind) for frame in model.frames]
    return repr((bodies, frames, model.gravity, friction))
