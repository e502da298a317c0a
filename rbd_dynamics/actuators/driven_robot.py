# SPDX-License-Identifier: Apache-2.0
"""`DrivenRobot`: the dynamics of a robot with its motors, behind elastic joints and as rotors."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.actuators.drives import drives_of, link_side, with_drives
from rbd_dynamics.actuators.kernels import ALGORITHMS, arguments_of
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.algorithms.motor_series import motor_series, needed_derivatives
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.compiler.backends import Backend
from rbd_dynamics.compiler.program import Signature
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]


class ElasticMotion(NamedTuple):
    """Motors behind elastic joints, as seen at the gears' output, (m) or (N, m), and all joints' torques."""

    theta: Array  # rad or m
    velocity: Array
    acceleration: Array
    tau: Array  # (nv) or (N, nv)


class DrivenRobot:
    """A robot of which m joints are elastic: a spring, with damping or without, between gear and link.

    theta (m) are their motors' positions at the gears' output, in the order of `elastic`: with springs at rest
    theta = q. tau (nv) are the motors' torques there, at rigid joints those of the joints as in `Robot`.
    Samples, batches and errors as in `Robot`. Source: theory.md section 11.

    Parameters:
        model: its joints' `drive` tells stiffness, damping and gear, their `armature` the rotors' inertia.
        stiffness, damping: {joint: N m/rad or N/m, N m s/rad or N s/m}, in place of what the model tells.
        gyroscopics: rotors have angular momentum on the links that carry them (the complete model); else each feels
            its own speed only (Spong's reduced model), which is good for high gear ratios. Needs gear ratios: joints
            without a `drive` have a motor that counts as their `armature` alone.
        backend, friction: as for `Robot`; friction acts on the links' side, the motors' own belongs to `Motor`.

    Raises ModelError that names the joint for what cannot be elastic, KeyError for an unknown joint.
    """

    def __init__(
        self,
        model: Model,
        *,
        stiffness: Mapping[str, float] | None = None,
        damping: Mapping[str, float] | None = None,
        gyroscopics: bool = False,
        friction: bool = False,
        backend: Backend | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"DrivenRobot needs a Model, as load_urdf makes it, not {type(model).__name__}")
        if not isinstance(gyroscopics, (bool, np.bool_)):
            raise TypeError(f"gyroscopics {excerpt(gyroscopics)} is neither true nor false")
        self.model = with_drives(model, stiffness, damping)
        self.gyroscopics = bool(gyroscopics)
        #: the links with all that is rigid; its payloads are those of the whole
        self.links = Robot(link_side(self.model), backend=backend, friction=friction)
        self.drives = drives_of(self.model, gyroscopics=self.gyroscopics)
        springs = self.drives.springs
        names = {joint.v_index: joint.name for joint in self.model.joints}
        self.elastic: tuple[str, ...] = tuple(names[spring.dof] for spring in springs)
        #: of each elastic joint: where it is in v and in q; N m/rad or N/m; N m s/rad or N s/m; kg m^2 or kg
        self.dofs: NDArray[np.intp] = np.array([spring.dof for spring in springs], dtype=np.intp)
        self.positions: NDArray[np.intp] = np.array([spring.position for spring in springs], dtype=np.intp)
        self.stiffness = np.array([spring.stiffness for spring in springs], dtype=float)
        self.damping = np.array([spring.damping for spring in springs], dtype=float)
        self.motor_inertia = np.array([spring.inertia for spring in springs], dtype=float)
        self._kernels: dict[str, Evaluation] = {}

    def __getstate__(self) -> dict[str, Any]:
        """State for copies and other processes, without kernels: they find them in the cache when they need them."""
        return {**vars(self), "_kernels": {}}

    def compile(self, *names: str) -> None:
        """Make kernels ahead of use: of the methods with these names, by default of all. Raises KeyError."""
        for name in names or (name for name in ALGORITHMS if not (self.drives.rotors and name == "inverse_dynamics")):
            self._kernel(name, batches=True)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        jerk: ArrayLike,
        snap: ArrayLike,
        *,
        theta: ArrayLike | None = None,
        further: Sequence[ArrayLike] = (),
    ) -> ElasticMotion:
        """What the motors have to do for a motion of the links: exact, by the motion's derivatives.

        jerk, snap (nv): da/dt and its rate. theta (m): needed if a joint has damping, and read there: where the
        motor is then depends on what was before, by K (theta - q) + D (thetadot - v) = tau_link, and `velocity` is
        how theta goes on from there.

        further: with `gyroscopics`, the derivatives from the fifth to the one that `needed_derivatives` says. That
        is computed by power series, in NumPy, which takes some milliseconds a call; not for joints with damping.

        Raises ValueError for a theta or derivatives that are missing, and with `gyroscopics` for damping, for joints
        whose velocity is not their position's rate, and for rotors that sit behind their own joint.
        """
        if self.drives.rotors:
            return self._by_series([q, v, a, jerk, snap, *further])
        if theta is None:
            if self.damping.any():
                name = self.elastic[int(np.flatnonzero(self.damping)[0])]
                raise ValueError(f"inverse_dynamics: joint {name!r} has damping, so that theta has to be given")
            theta = np.zeros(len(self.elastic))
        inputs = (q, v, a, jerk, snap, theta, self.links.inertia_input)
        return ElasticMotion(*self._kernel("inverse_dynamics")(inputs))

    @property
    def needed_derivatives(self) -> int:
        """How many derivatives of the links' motion `inverse_dynamics` needs: 4, with gyroscopics often more."""
        return needed_derivatives(expanded(self.links.model).model, self.drives)

    def _by_series(self, derivatives: Sequence[ArrayLike]) -> ElasticMotion:
        for name, damping in zip(self.elastic, self.damping):
            if damping:
                raise ValueError(f"inverse_dynamics with gyroscopics: joint {name!r} has damping")
        for joint in self.model.joints:
            if not joint.kind.velocity_is_rate:
                raise ValueError(f"inverse_dynamics with gyroscopics: joint {joint.name!r} is {joint.kind.name}")
        needed = self.needed_derivatives
        if len(derivatives) <= needed:
            raise ValueError(
                f"inverse_dynamics with gyroscopics needs derivatives up to order {needed}, not {len(derivatives) - 1}"
            )
        values = np.broadcast_arrays(*(real_array(x, f"derivative {k}") for k, x in enumerate(derivatives)))
        if values[0].shape[-1:] != (self.model.nv,):
            raise ValueError(f"derivatives have shape {values[0].shape}, expected (..., {self.model.nv})")
        if not np.isfinite(values).all():
            raise ValueError("a derivative is not finite")
        tree = expanded(self.links.model)
        numbers = list(map(float, tree.spread(self.links.inertia_input.ravel().tolist(), 10)))
        inertias = [RigidInertia.from_parameters(tuple(numbers[k : k + 10])) for k in range(0, len(numbers), 10)]
        scalars = [list(np.moveaxis(x, -1, 0)) if x.ndim > 1 else x.tolist() for x in values[: needed + 1]]
        found = motor_series(tree.model, inertias, self.drives, scalars, self.links.friction)
        lead = values[0].shape[:-1]
        return ElasticMotion(*(_stacked(part, lead) for part in found))

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, theta: ArrayLike, theta_velocity: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array]:
        """Accelerations of the joints (nv) and of the motors behind elastic ones (m) under the motors' torques tau."""
        inputs = (q, v, theta, theta_velocity, tau, self.links.inertia_input)
        a, acceleration = self._kernel("forward_dynamics")(inputs)
        return a, acceleration

    def drive_torques(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        theta_velocity: ArrayLike,
        theta_acceleration: ArrayLike,
    ) -> tuple[Array, Array]:
        """Torques (nv) that joints pass on to links, and (m) that motors need besides, for any motion of both.

        It is a motion of the robot if the springs' torque (`spring_torque`) is the former at each elastic joint; the
        motor's torque is then the sum of both.
        """
        inputs = (q, v, a, theta_velocity, theta_acceleration, self.links.inertia_input)
        on_links, own = self._kernel("drive_torques")(inputs)
        return on_links, own

    def mass_matrix(self, q: ArrayLike) -> Array:
        """[[M, S], [S^T, B]] (nv + m, nv + m) of joints and motors, symmetric; S is zero without gyroscopics."""
        found: Array = self._kernel("mass_matrix")((q, self.links.inertia_input))
        return found

    def spring_torque(self, q: ArrayLike, v: ArrayLike, theta: ArrayLike, theta_velocity: ArrayLike) -> Array:
        """(m) K (theta - q) + D (thetadot - v), the torque that elastic joints pass on to their links."""
        found: Array = self._kernel("spring_torque")((q, v, theta, theta_velocity))
        return found

    def energy(self, q: ArrayLike, v: ArrayLike, theta: ArrayLike, theta_velocity: ArrayLike) -> Array | np.float64:
        """Kinetic and potential energy in J of links, motors and springs: a scalar, or (N,)."""
        inputs = (q, v, theta, theta_velocity, self.links.inertia_input)
        own = self._kernel("drive_energy")(inputs)
        found: Array | np.float64 = own + self.links.potential_energy(q)
        return found

    def _kernel(self, name: str, *, batches: bool = False) -> Evaluation:
        found = self._kernels.get(name)
        if found is None:
            if name not in ALGORITHMS:
                raise KeyError(f"no algorithm named {name!r}; known: {', '.join(ALGORITHMS)}")
            inputs, outputs, algorithm = ALGORITHMS[name]
            model, m = self.links.model, len(self.elastic)
            signature = Signature(arguments_of(model, m, inputs), arguments_of(model, m, outputs))
            of_drives = functools.partial(algorithm, self.drives)
            function = function_of(model, signature, of_drives, friction=self.links.friction)
            found = self._kernels[name] = self.links.custom_kernel(name, signature, function, batches=batches)
        elif batches:
            found.complete()
        return found


def _stacked(values: Sequence[Scalar], lead: tuple[int, ...]) -> Array:
    """(..., n) of n numbers or arrays."""
    return np.stack([np.broadcast_to(x, lead) for x in values], axis=-1) if values else np.zeros((*lead, 0))
