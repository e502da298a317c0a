# SPDX-License-Identifier: Apache-2.0
"""A robot at one state, with all that its methods take, and every public method on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.checks.oracles import derivative
from helpers.models.robots import random_state
from rbd_dynamics import Model, Robot
from rbd_dynamics.constraints import (
    Constraint,
    ConstraintSet,
    FrameConstraint,
    HolonomicRows,
    JointCoupling,
    PfaffianRows,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import sin

Array = NDArray[np.float64]
IDENTITIES, DIFFERENCES = 1e-10, 1e-7


class State:
    """A robot at one state, with all that its methods take."""

    def __init__(self, model: Model, backend: Any = "reference", seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.robot, self.model, nv = Robot(model, backend=backend), model, model.nv
        q, self.v, self.a = random_state(model, rng)
        self.q = model.integrate(model.neutral(), 0.3 * model.difference(model.neutral(), q))
        self.x, self.b, self.tau = rng.normal(size=(3, nv))
        self.prescribed = np.arange(nv) % 2 == 0
        self.link = model.bodies[-1].name
        self.tool = f"tool{len(model.bodies) - 1}"
        self.f_ext = {body.name: rng.normal(size=6) for body in model.bodies}
        own = [joint.name for joint in model.joints if joint.kind.is_coordinate]
        coupled: dict[str, Any] = dict.fromkeys(own[:2], (1.0, 0.3))
        self.constraints = self._independent([
            FrameConstraint("held", self.tool, directions=("x",)),
            SurfaceConstraint("touching", "tool0", surface=Sphere(0.3)),
            *([JointCoupling("coupled", coupled)] if coupled else []),
            HolonomicRows("h", lambda q: [sin(q[0]) + q[-1] * q[-1]]),
            PfaffianRows("p", lambda q: [[q[0] + 0.1 * k for k in range(nv)]]),
        ])  # fmt: skip

    def _independent(self, candidates: list[Constraint]) -> ConstraintSet:
        """Those that hold something that the ones before do not; they leave a freedom where there are several."""
        chosen: list[Constraint] = []
        for constraint in candidates:
            of = ConstraintSet(self.model, [*chosen, constraint], stabilization=2.0)
            A = self.robot.constraint_rows(self.q, self.v, of).A
            if len(A) <= max(1, self.model.nv - 1) and _is_regular(A):
                chosen.append(constraint)
        return ConstraintSet(self.model, chosen, stabilization=2.0)

    @property
    def direction(self) -> tuple[Array, Array, Array]:
        """In which positions, velocities and accelerations or torques move together."""
        return self.x, self.b, self.a

    @property
    def one_prescribed(self) -> NDArray[np.bool_]:
        """A degree of freedom without which the constraints are still independent, if there is one."""
        A = self.robot.constraint_rows(self.q, self.v, self.constraints).A
        free = [k for k in range(self.model.nv) if _is_regular(np.delete(A, k, axis=1))]
        return np.isin(np.arange(self.model.nv), free[:1])

    @property
    def nearby(self) -> FrameConstraint:
        """The tool at a height that it has in a configuration nearby."""
        there = self.robot.pose(self.model.integrate(self.q, 0.02 * self.v), self.tool)
        return FrameConstraint("near", self.tool, reference_placement=there, directions=("z",))

    @property
    def inertias(self) -> list[Array]:
        """(6, 6) of each body."""
        found = []
        for row in self.robot.inertial_parameters:
            inertia = RigidInertia.from_parameters(tuple(row))
            found.append(np.array([inertia * tuple(unit) for unit in np.eye(6)]).T)
        return found

    def along(self, function: Callable[[Array], Any], step: float = 2e-3) -> Array:
        """Derivatives (..., nv) of function(q) along the tangent."""
        units = np.eye(self.model.nv)
        return np.stack(
            [derivative(lambda t, u=u: function(self.model.integrate(self.q, t * u)), step) for u in units], axis=-1
        )

    def in_time(self, function: Callable[[Array], Any], step: float = 2e-3) -> Array:
        """Rate of function(q) at the velocity v."""
        return derivative(lambda t: np.asarray(function(self.model.integrate(self.q, t * self.v))), step)


def _is_regular(A: Array) -> bool:
    if len(A) > A.shape[1] or not A.size:
        return False
    lengths = np.linalg.norm(A, axis=1, keepdims=True)
    return bool(lengths.min() > 1e-3 and np.linalg.svd(A / lengths)[1].min() > 0.1)


def linearly(function: Callable[[Array], Any], at: Array) -> Array:
    """Derivatives (..., n) of function(x), which is a polynomial of second degree."""
    return np.stack([derivative(lambda t, u=u: function(at + t * u), 0.1) for u in np.eye(len(at))], axis=-1)


#: every public method of Robot on one state
CALLS: dict[str, Callable[[Robot, State], Any]] = {
    "bias": lambda r, s: r.bias(s.q, s.v),
    "center_of_mass": lambda r, s: r.center_of_mass(s.q),
    "center_of_mass_derivatives": lambda r, s: r.center_of_mass_derivatives(s.q, s.v, s.a),
    "center_of_mass_jacobian": lambda r, s: r.center_of_mass_jacobian(s.q),
    "center_of_mass_jacobian_dot": lambda r, s: r.center_of_mass_jacobian_dot(s.q, s.v),
    "centroidal_momentum_bias": lambda r, s: r.centroidal_momentum_bias(s.q, s.v),
    "centroidal_momentum_derivatives": lambda r, s: r.centroidal_momentum_derivatives(s.q, s.v, s.a),
    "centroidal_momentum_matrix": lambda r, s: r.centroidal_momentum_matrix(s.q),
    "constrained_forward_dynamics": lambda r, s: r.constrained_forward_dynamics(s.q, s.v, s.tau, s.constraints)[:1],
    "constrained_forward_dynamics_derivatives": lambda r, s: r.constrained_forward_dynamics_derivatives(
        s.q, s.v, s.tau, s.constraints
    ),
    "constrained_hybrid_dynamics": lambda r, s: r.constrained_hybrid_dynamics(
        s.q, s.v, s.a, s.tau, s.one_prescribed, s.constraints
    )[:2],
    "constrained_hybrid_dynamics_derivatives": lambda r, s: r.constrained_hybrid_dynamics_derivatives(
        s.q, s.v, s.a, s.tau, s.one_prescribed, s.constraints
    )[:6],
    "constrained_inverse_dynamics": lambda r, s: r.constrained_inverse_dynamics(s.q, s.v, s.a, s.constraints)[:1],
    "constrained_inverse_dynamics_derivatives": lambda r, s: r.constrained_inverse_dynamics_derivatives(
        s.q, s.v, s.a, s.constraints
    )[:4],
    "constraint_impulse": lambda r, s: r.constraint_impulse(s.q, s.v, s.constraints)[:1],
    "constraint_impulse_derivatives": lambda r, s: r.constraint_impulse_derivatives(s.q, s.v, s.constraints)[:2],
    "constraint_rows": lambda r, s: r.constraint_rows(s.q, s.v, s.constraints),
    "constraint_wrenches": lambda r, s: list(
        r.constraint_wrenches(s.q, s.constraints, np.arange(1.0, 1.0 + len(s.constraints))).values()
    ),
    "coriolis": lambda r, s: r.coriolis(s.q, s.v),
    "coriolis_matrix": lambda r, s: r.coriolis_matrix(s.q, s.v),
    "factor_apply": lambda r, s: [r.factor_apply(s.q, s.x), r.factor_apply(s.q, s.x, transposed=True)],
    "factor_solve": lambda r, s: [r.factor_solve(s.q, s.x), r.factor_solve(s.q, s.x, transposed=True)],
    "force_projection": lambda r, s: r.force_projection(s.q, s.constraints),
    "forward_dynamics": lambda r, s: r.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext),
    "forward_dynamics_derivatives": lambda r, s: r.forward_dynamics_derivatives(s.q, s.v, s.tau),
    "forward_dynamics_second_derivatives": lambda r, s: r.forward_dynamics_second_derivatives(
        s.q, s.v, s.tau, s.direction
    ),
    "forward_dynamics_wrench_derivative": lambda r, s: r.forward_dynamics_wrench_derivative(s.q, s.tool),
    "frame_acceleration": lambda r, s: r.frame_acceleration(s.q, s.v, s.a, s.tool, reference="aligned"),
    "frame_derivatives": lambda r, s: r.frame_derivatives(s.q, s.v, s.a, s.tool),
    "frame_velocity": lambda r, s: r.frame_velocity(s.q, s.v, s.tool, reference="aligned"),
    "friction_torque": lambda r, s: r.friction_torque(s.v),
    "gravity": lambda r, s: r.gravity(s.q),
    "hybrid_dynamics": lambda r, s: r.hybrid_dynamics(s.q, s.v, s.a, s.tau, s.prescribed, f_ext=s.f_ext),
    "hybrid_dynamics_derivatives": lambda r, s: r.hybrid_dynamics_derivatives(s.q, s.v, s.a, s.tau, s.prescribed),
    "hybrid_dynamics_wrench_derivative": lambda r, s: r.hybrid_dynamics_wrench_derivative(s.q, s.prescribed, s.tool),
    "inverse_dynamics": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext),
    "inverse_dynamics_derivatives": lambda r, s: r.inverse_dynamics_derivatives(s.q, s.v, s.a),
    "inverse_dynamics_second_derivatives": lambda r, s: r.inverse_dynamics_second_derivatives(
        s.q, s.v, s.a, s.direction
    ),
    "inverse_dynamics_wrench_derivative": lambda r, s: r.inverse_dynamics_wrench_derivative(s.q, s.tool),
    "inverse_effective_inertia": lambda r, s: r.inverse_effective_inertia(s.q, s.tool),
    "inverse_effective_inertia_derivative": lambda r, s: r.inverse_effective_inertia_derivative(s.q, s.tool),
    "jacobian": lambda r, s: r.jacobian(s.q, s.tool),
    "jacobian_dot": lambda r, s: r.jacobian_dot(s.q, s.v, s.tool),
    "joint_reaction_derivatives": lambda r, s: r.joint_reaction_derivatives(s.q, s.v, s.a, f_ext=s.f_ext),
    "joint_reactions": lambda r, s: r.joint_reactions(s.q, s.v, s.a, f_ext=s.f_ext),
    "kinetic_energy": lambda r, s: r.kinetic_energy(s.q, s.v),
    "kinetic_energy_regressor": lambda r, s: r.kinetic_energy_regressor(s.q, s.v),
    "mass_factor": lambda r, s: r.mass_factor(s.q),
    "mass_matrix": lambda r, s: r.mass_matrix(s.q),
    "mass_matrix_inverse": lambda r, s: r.mass_matrix_inverse(s.q),
    "momentum": lambda r, s: r.momentum(s.q, s.v),
    "pose": lambda r, s: r.pose(s.q, s.tool),
    "potential_energy": lambda r, s: r.potential_energy(s.q),
    "potential_energy_regressor": lambda r, s: r.potential_energy_regressor(s.q),
    "project_configuration": lambda r, s: r.project_configuration(s.q, [s.nearby]),
    "quasi_velocity_coriolis": lambda r, s: r.quasi_velocity_coriolis(s.q, s.v),
    "regressor": lambda r, s: r.regressor(s.q, s.v, s.a),
    "spring_torque": lambda r, s: r.spring_torque(s.q),
}
#: what computes nothing of a state, or is a part of all of the above
NO_DYNAMICS = {
    "carrying",
    "body_wrenches", "compile", "compile_constrained", "constrained", "constrained_kernel", "custom_kernel",
    "inertia_input", "inertial_parameters", "payloads", "set_payload",
    "contact_forward_dynamics", "contact_impulse", "contact_inverse_dynamics", "evaluation", "in_contact",
    "inverse_kinematics", "loaded_model", "ready_kernels", "show",
}  # fmt: skip
