# SPDX-License-Identifier: Apache-2.0
"""The functions of a robot for libraries that differentiate: one list of them, whatever the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.constraints.bound import Constraints, set_of
from rbd_dynamics.gradients.robot_operations import RobotOperations
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.kernels.of_frames import Reference, kernel_of_frame
from rbd_dynamics.model.model import WORLD
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import wrench_to_parent

Wrenches = Mapping[str, Any]
BODY = 10  # inertial parameters of a body
#: functions that depend on the inertia of what is fixed to the world, too
WITH_WHAT_IS_FIXED = ("potential_energy", "center_of_mass")


class Library(Protocol):
    """What a library of arrays with derivatives does."""

    name: str

    def apply(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        """The outputs of an operation for what the library takes as arrays; None: the robot's own (`own`)."""
        ...

    def elements(self, value: Any, what: str, size: int) -> list[Any]:
        """The numbers along the last axis. Raises ValueError that names `what` for another size."""
        ...

    def rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        """(..., len(rows), len(rows[0])) of numbers with any leading axes, floats among them."""
        ...


class Functions:
    """Functions of one robot with derivatives of every order by all inputs that are real numbers.

    Arguments and results as in `Robot`, with any leading axes that broadcast: q (..., nq), v, a, tau (..., nv). q in
    the order of `model.joint_names`, a floating joint's (x, y, z, qx, qy, qz, qw) with body twist (w, v); SI units;
    wrenches (m, f).

    Derivatives by q are by its numbers. Quaternions are normalised inside, so that the derivative along their length
    is zero. To differentiate along the tangent, by nv numbers, move q by `integrate(q, dv)` and differentiate by dv at
    zero, or go back by `difference`.

    f_ext: {frame name: wrench (m, f) (..., 6) on the robot, in that frame}. inertial_parameters: (..., bodies, 10) in
    place of the robot's own: m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each body at its frame; `with_payload` makes some.
    Both have gradients. The robot's friction acts if it was made with friction=True; its payloads count as they are
    when a function is called (in JAX: traced).

    A sample that cannot be computed (not finite, an invalid quaternion, a singular mass matrix) is NaN in all results,
    and in no others. Wrong shapes raise ValueError, unknown frames KeyError.
    """

    def __init__(
        self,
        robot: BoundModel,
        library: Callable[[RobotOperations], Library],
        *,
        constraints: Constraints | None = None,
    ) -> None:
        self._constraints: ConstraintSet | None = None if constraints is None else set_of(robot, constraints)
        self.operations = RobotOperations(robot, constraints=self._constraints)
        self.robot, self._library = robot, library(self.operations)

    def __repr__(self) -> str:
        return f"<{self._library.name} functions of {self.robot!r}>"

    # --- dynamics ---------------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, *, f_ext: Wrenches | None = None, inertial_parameters: Any = None
    ) -> Any:
        """Torque (..., nv) for the acceleration a."""
        return self._under("inverse_dynamics", (q, v, a), f_ext, inertial_parameters)[0]

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, *, f_ext: Wrenches | None = None, inertial_parameters: Any = None
    ) -> Any:
        """Acceleration (..., nv) under the torque tau."""
        return self._under("forward_dynamics", (q, v, tau), f_ext, inertial_parameters)[0]

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        tau: Any,
        prescribed: Any,
        *,
        f_ext: Wrenches | None = None,
        inertial_parameters: Any = None,
    ) -> tuple[Any, Any]:
        """Complete (a, tau), both (..., nv); prescribed (..., nv) bool: where true `a` is given, elsewhere `tau`."""
        a, tau = self._under("hybrid_dynamics", (q, v, a, tau, prescribed), f_ext, inertial_parameters)
        return a, tau

    def mass_matrix(self, q: Any, *, inertial_parameters: Any = None) -> Any:
        """M (..., nv, nv)."""
        return self._under("mass_matrix", (q,), None, inertial_parameters)[0]

    def mass_matrix_inverse(self, q: Any, *, inertial_parameters: Any = None) -> Any:
        """M^-1 (..., nv, nv)."""
        return self._under("mass_matrix_inverse", (q,), None, inertial_parameters)[0]

    def bias(self, q: Any, v: Any, *, inertial_parameters: Any = None) -> Any:
        """Torque (..., nv) at zero acceleration."""
        return self._under("bias", (q, v), None, inertial_parameters)[0]

    def gravity(self, q: Any, *, inertial_parameters: Any = None) -> Any:
        """Torque (..., nv) that holds the robot at rest."""
        return self._under("gravity", (q,), None, inertial_parameters)[0]

    def kinetic_energy(self, q: Any, v: Any, *, inertial_parameters: Any = None) -> Any:
        """v^T M v / 2 in J, (...)."""
        return self._under("kinetic_energy", (q, v), None, inertial_parameters)[0]

    def potential_energy(self, q: Any, *, inertial_parameters: Any = None) -> Any:
        """Potential energy in J, (...), zero with all mass at the height of the world's origin."""
        return self._under("potential_energy", (q,), None, inertial_parameters)[0]

    def center_of_mass(self, q: Any, *, inertial_parameters: Any = None) -> Any:
        """Centre of mass in the world, (..., 3) in m."""
        return self._under("center_of_mass", (q,), None, inertial_parameters)[0]

    def constrained_forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        *,
        f_ext: Wrenches | None = None,
        target: Any = None,
        inertial_parameters: Any = None,
    ) -> tuple[Any, Any]:
        """Acceleration (..., nv) and multipliers (..., m) under the constraints that these functions were made with.

        target (..., m): what A a + Adot v has to be, zero unless given. Derivatives are those of rows that are
        independent. Raises ValueError where no constraints were given.
        """
        name = "constrained_forward_dynamics"
        if self._constraints is None:
            raise ValueError(f"{name}: needs constraints: functions(robot, constraints=...)")
        a, multipliers = self._under(name, (q, v, tau, None, target), f_ext, inertial_parameters)
        return a, multipliers

    # --- kinematics -------------------------------------------------------------------------------

    def pose(self, q: Any, frame: str) -> Any:
        """Pose of a frame in the world, a homogeneous matrix (..., 4, 4)."""
        return self._library.apply(kernel_of_frame("pose", frame), (q,))[0]

    def jacobian(self, q: Any, frame: str, *, reference: Reference = "body") -> Any:
        """J (..., 6, nv): J v is the frame's twist (w, v). reference: as for `Robot.jacobian`."""
        return self._library.apply(kernel_of_frame("jacobian", frame, reference), (q,))[0]

    # --- motion -----------------------------------------------------------------------------------

    def step(
        self,
        q: Any,
        v: Any,
        tau: Any,
        h: Any,
        *,
        f_ext: Wrenches | None = None,
        inertial_parameters: Any = None,
    ) -> tuple[Any, Any]:
        """(q', v') after the time h (s) under the torque tau: v' = v + h a, q' = q moved by h v'.

        That of `simulation.SemiImplicitEuler` without limits and contacts, for robots without friction; a floating
        base keeps its momentum. Friction acts as in `forward_dynamics`.
        """
        reached, v = self._under("step", (q, v, tau, h), f_ext, inertial_parameters)
        return reached, v

    def integrate(self, q: Any, dv: Any) -> Any:
        """Configuration (..., nq) that moves along the constant velocity dv (..., nv) for unit time."""
        return self._library.apply("integrate", (q, dv))[0]

    def difference(self, q0: Any, q1: Any) -> Any:
        """The shortest dv (..., nv) with which integrate(q0, dv) is the pose of q1."""
        return self._library.apply("difference", (q0, q1))[0]

    # --- inertia ----------------------------------------------------------------------------------

    def with_payload(
        self,
        frame: str,
        mass: Any,
        *,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        inertial_parameters: Any = None,
    ) -> Any:
        """`inertial_parameters` (..., bodies, 10) with a rigid load at a frame, besides what is there.

        mass (...), com (..., 3) in the frame, inertia (..., 6): ixx, ixy, ixz, iyy, iyz, izz about the centre of mass
        in the frame's axes. They may be variables, and nothing is checked of them. Raises KeyError for an unknown
        frame, ValueError for one that is fixed to the world.
        """
        place, library = self.robot.model.frame(frame), self._library
        if place.body == WORLD:
            raise ValueError(f"payload at {excerpt(frame)}: the frame is fixed to the world")
        center, rotational = self._elements(com, "com", 3), self._elements(inertia, "inertia", 6)
        load = RigidInertia.from_com(mass, (center[0], center[1], center[2]), tuple(rotational))
        added = load.to_parent(place.placement).parameters
        if inertial_parameters is None:
            table: list[list[Any]] = self.robot.inertial_parameters.tolist()
        else:
            flat = self._elements(inertial_parameters, "inertial_parameters", BODY * len(self.robot.model.bodies))
            table = [flat[k : k + BODY] for k in range(0, len(flat), BODY)]
        table[place.body] = [own + more for own, more in zip(table[place.body], added)]
        return library.rows(table)

    def _elements(self, value: Any, what: str, size: int) -> list[Any]:
        """The numbers along the last axis; plain ones stay such, which take any precision."""
        if isinstance(value, (tuple, list)) and len(value) == size and all(type(x) in (float, int) for x in value):
            return list(map(float, value))
        return self._library.elements(value, what, size)

    # --- parts ------------------------------------------------------------------------------------

    def _under(
        self, name: str, inputs: tuple[Any, ...], f_ext: Wrenches | None, inertial_parameters: Any
    ) -> Sequence[Any]:
        further = [inertial_parameters] if f_ext is None else [self._body_wrenches(f_ext), inertial_parameters]
        fixed = [None] * (name in WITH_WHAT_IS_FIXED)
        return self._library.apply(name if f_ext is None else f"{name}_f_ext", (*inputs, *further, *fixed))

    def _body_wrenches(self, f_ext: Wrenches) -> Any:
        """One on each body, in the body's frame, (..., bodies, 6)."""
        model = self.robot.model
        if not isinstance(f_ext, Mapping):
            raise TypeError(
                f"f_ext: expected a mapping {{frame: wrench (m, f)}}, as {{'{model.frame_names[-1]}': ...}}, "
                f"not {type(f_ext).__name__}"
            )
        table: list[list[Any]] = [[0.0] * 6 for _ in model.bodies]
        for name, wrench in f_ext.items():
            frame = model.frame(name)
            parts = tuple(self._elements(wrench, f"f_ext[{name!r}]", 6))
            if frame.body != WORLD:
                carried = wrench_to_parent(frame.placement, parts)
                table[frame.body] = [own + more for own, more in zip(table[frame.body], carried)]
        return self._library.rows(table)
