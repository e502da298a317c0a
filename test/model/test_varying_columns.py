# SPDX-License-Identifier: Apache-2.0
"""Joints whose S depends on q without being chains: cams, and kinds of one's own given by their pose alone.

Every quantity is checked against simpler ones, down to the poses, whose differences need no S.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative, error, every_backend, rotor_inertia
from helpers.models.mixed_trees import any_kind, mixed_tree
from helpers.models.robots import random_inertia, random_state, random_transform
from helpers.models.varying_kinds import (
    VARYING,
    Eccentric,
    LooseBall,
    NoChain,
    PoseOnly,
    Wobble,
    X,
    Y,
    Z,
    piston,
    varying_tree,
)
from helpers.wide import table
from numpy.typing import NDArray
from scipy.linalg import expm

from rbd_dynamics import Model, ModelBuilder, ModelError, Robot, load_yaml, model_to_dict, save_yaml, spatial
from rbd_dynamics.algorithms.world_frame import world_frame
from rbd_dynamics.analysis.sensitivity import AxisSensitivity
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
from rbd_dynamics.model.joints import Cam, Helical, JointKind, Prismatic, Revolute, Screw, Universal
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.model.passive_forces import Elastic, Spring
from rbd_dynamics.replay.identification.samples import torque_unit
from rbd_dynamics.simulation.smooth_methods import RungeKutta4
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import sin, sqrt
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_about
from rbd_dynamics.theory.closed_forms import PoeKinematics, kinematics_jacobian, lagrange
from rbd_dynamics.theory.closed_forms.stacked import StackedOperators
from rbd_dynamics.theory.screws import articulated_tree, projected_motion

Array = NDArray[np.float64]

IDENTITIES, DIFFERENCES = 1e-10, 1e-7

#: every kind alone under a revolute joint, cams with followers, floating bases, all kinds mixed
TREES: dict[str, Callable[[], Model]] = {
    **{name: lambda name=name: varying_tree(1, (name, "revolute")) for name in VARYING},  # type: ignore[misc]
    "cams and followers": lambda: varying_tree(2, ("harmonic cam", "polynomial cam", "cam of a function") * 2, 0, 0.5),
    "wobbles and followers": lambda: varying_tree(4, ("wobble",) * 4, followers=0.8),
    "on a floating base": lambda: varying_tree(5, ("floating", "harmonic cam", "on a curve", "loose ball")),
    "chains between": lambda: varying_tree(6, ("universal", "wobble", "product_of_exponentials", "eccentric")),
    **{f"mixed {seed}": lambda seed=seed: varying_tree(seed, n=5, followers=0.3) for seed in range(7, 11)},  # type: ignore[misc]
}
every_tree = pytest.mark.parametrize("name", TREES)
#: those with each kind of kind, and with followers, groups and chains among them
SEVERAL = ("spherical coordinates", "cams and followers", "on a floating base", "chains between")
#: derivatives take as long as all others together: the longest have followers only, the others chains as well
DERIVED = ("cams and followers", "chains between")
LONG = {
    "center_of_mass_derivatives", "centroidal_momentum_derivatives", "hybrid_dynamics_derivatives",
    "constrained_forward_dynamics_derivatives", "constrained_inverse_dynamics_derivatives",
    "constrained_hybrid_dynamics_derivatives",
}  # fmt: skip


def is_narrow(case: tuple[str, str]) -> bool:
    method, name = case
    if method in LONG:
        return name == DERIVED[0]
    return name in (DERIVED if "derivative" in method else SEVERAL)


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


def test_every_public_method_is_checked():
    methods = {name for name in dir(Robot) if not name.startswith("_")} - NO_DYNAMICS
    assert methods == set(CALLS) == set(CHECKS)


# --- each method against simpler ones ------------------------------------------------------------


def vee(X: Array) -> Array:
    return np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])


def pose_of_tool(s: State) -> Array:
    found, index = spatial.arrays.pose_array(s.model.frame(s.tool).placement), s.model.frame(s.tool).body
    while index >= 0:
        body = s.model.bodies[index]
        joint, follows = body.joint, body.joint.mimic or Mimic("")
        own = s.q[joint.q_index : joint.q_index + joint.kind.nq] * follows.multiplier + follows.offset
        here = spatial.arrays.pose_array(body.placement) @ spatial.arrays.pose_array(joint.kind.transform(own.tolist()))
        found, index = here @ found, body.parent
    return found


def check_pose(s: State) -> None:
    assert_close(s.robot.pose(s.q, s.tool), pose_of_tool(s), 1e-13)


def check_jacobian(s: State) -> None:
    change = s.along(lambda q: s.robot.pose(q, s.tool))
    back = np.linalg.inv(s.robot.pose(s.q, s.tool))
    expected = np.stack([vee(back @ change[..., k]) for k in range(s.model.nv)], axis=-1)
    assert_close(s.robot.jacobian(s.q, s.tool), expected, 1e-9)


def check_jacobian_dot(s: State) -> None:
    assert_close(s.robot.jacobian_dot(s.q, s.v, s.tool), s.in_time(lambda q: s.robot.jacobian(q, s.tool)), 1e-8)


def mass_matrix(s: State, q: Array) -> Array:
    """sum J^T I J."""
    M = np.diag(rotor_inertia(s.model))
    for body, inertia in zip(s.model.bodies, s.inertias):
        J = s.robot.jacobian(q, body.name)
        M = M + J.T @ inertia @ J
    return M


def body_wrenches(s: State, a: Array, gravity: bool = True) -> list[Array]:
    """I Vdot - ad*_V I V of each body, in its frame, with the weight."""
    found = []
    for body, inertia in zip(s.model.bodies, s.inertias):
        J = s.robot.jacobian(s.q, body.name)
        V = J @ s.v
        weight = s.robot.pose(s.q, body.name)[:3, :3].T @ np.array(s.model.gravity) * gravity
        acceleration = J @ a + s.robot.jacobian_dot(s.q, s.v, body.name) @ s.v - np.concatenate([np.zeros(3), weight])
        found.append(inertia @ acceleration - spatial.ad(V).T @ inertia @ V)
    return found


def newton_euler(s: State, a: Array, gravity: bool = True) -> Array:
    tau = rotor_inertia(s.model) * a
    for body, wrench in zip(s.model.bodies, body_wrenches(s, a, gravity)):
        tau = tau + s.robot.jacobian(s.q, body.name).T @ wrench
    return tau


def external(s: State) -> Array:
    return sum((s.robot.jacobian(s.q, name).T @ wrench for name, wrench in s.f_ext.items()), np.zeros(s.model.nv))


def check_inverse_dynamics(s: State) -> None:
    assert_close(s.robot.inverse_dynamics(s.q, s.v, s.a), newton_euler(s, s.a), IDENTITIES)
    with_wrenches = s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    assert_close(with_wrenches, newton_euler(s, s.a) - external(s), IDENTITIES)
    # the power goes into the energies
    energy = derivative(
        lambda t: (
            s.robot.kinetic_energy(s.model.integrate(s.q, t * s.v), s.v + t * s.a)
            + s.robot.potential_energy(s.model.integrate(s.q, t * s.v))
        ),
        2e-3,
    )
    assert_close(energy, s.robot.inverse_dynamics(s.q, s.v, s.a) @ s.v, DIFFERENCES)


def check_coriolis(s: State) -> None:
    assert_close(s.robot.coriolis(s.q, s.v), newton_euler(s, 0.0 * s.a, gravity=False), IDENTITIES)
    if coordinates(s):  # Lagrange's equations
        half = 0.5 * s.along(lambda q: s.v @ s.robot.mass_matrix(q) @ s.v)
        assert_close(s.robot.coriolis(s.q, s.v), s.in_time(s.robot.mass_matrix) @ s.v - half, DIFFERENCES)


def coordinates(s: State) -> list[int]:
    """Degrees of freedom of trees in which every velocity is the rate of a coordinate."""
    if any(type(joint.kind).rates is not JointKind.rates for joint in s.model.joints):
        return []
    return list(range(s.model.nv))


def check_coriolis_matrix(s: State) -> None:
    C = s.robot.coriolis_matrix(s.q, s.v)
    assert_close(C @ s.v, s.robot.coriolis(s.q, s.v), IDENTITIES)
    assert_close(C + C.T, s.in_time(s.robot.mass_matrix), DIFFERENCES)
    if coordinates(s):
        dM = s.along(s.robot.mass_matrix)
        symbols = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0))
        assert_close(C, symbols @ s.v, DIFFERENCES)
    assert_close(C, lagrange.coriolis_matrix(s.robot, s.q, s.v), IDENTITIES)


def check_gravity(s: State) -> None:
    assert_close(s.robot.gravity(s.q), s.along(s.robot.potential_energy), DIFFERENCES)


def check_bias(s: State) -> None:
    assert_close(s.robot.bias(s.q, s.v), newton_euler(s, 0.0 * s.a), IDENTITIES)


def check_mass_matrix(s: State) -> None:
    assert_close(s.robot.mass_matrix(s.q), mass_matrix(s, s.q), 1e-12)


def check_mass_matrix_inverse(s: State) -> None:
    assert_close(s.robot.mass_matrix_inverse(s.q) @ s.robot.mass_matrix(s.q), np.eye(s.model.nv), 1e-9)


def check_mass_factor(s: State) -> None:
    W = s.robot.mass_factor(s.q)
    assert_close(W @ W.T, s.robot.mass_matrix(s.q), 1e-11)
    assert not np.any(np.tril(W, -1)) and np.all(np.diag(W) > 0.0)


def check_factor_apply(s: State) -> None:
    W = s.robot.mass_factor(s.q)
    assert_close(s.robot.factor_apply(s.q, s.x), W @ s.x, 1e-9)
    assert_close(s.robot.factor_apply(s.q, s.x, transposed=True), W.T @ s.x, 1e-9)


def check_factor_solve(s: State) -> None:
    W = s.robot.mass_factor(s.q)
    assert_close(W @ s.robot.factor_solve(s.q, s.x), s.x, 1e-9)
    assert_close(W.T @ s.robot.factor_solve(s.q, s.x, transposed=True), s.x, 1e-9)


def check_quasi_velocity_coriolis(s: State) -> None:
    W, W_dot = s.robot.mass_factor(s.q), s.in_time(s.robot.mass_factor)
    expected = np.linalg.solve(W, s.robot.coriolis_matrix(s.q, s.v) - W @ W_dot.T) @ np.linalg.inv(W).T
    found = s.robot.quasi_velocity_coriolis(s.q, s.v)
    assert_close(found, expected, 1e-6, least=1e-2)
    assert_close(found, -found.T, IDENTITIES)


def check_joint_reactions(s: State) -> None:
    wrenches = [w - s.f_ext[body.name] for body, w in zip(s.model.bodies, body_wrenches(s, s.a))]
    poses = [s.robot.pose(s.q, body.name) for body in s.model.bodies]
    for index in reversed(range(len(wrenches))):
        parent = s.model.bodies[index].parent
        if parent >= 0:
            to_child = spatial.adjoint(np.linalg.inv(poses[index]) @ poses[parent])
            wrenches[parent] = wrenches[parent] + to_child.T @ wrenches[index]
    assert_close(s.robot.joint_reactions(s.q, s.v, s.a, f_ext=s.f_ext), np.array(wrenches), IDENTITIES)


def check_inverse_effective_inertia(s: State) -> None:
    J = s.robot.jacobian(s.q, s.tool)
    expected = J @ np.linalg.solve(s.robot.mass_matrix(s.q), J.T)
    assert_close(s.robot.inverse_effective_inertia(s.q, s.tool), expected, 1e-9)


def check_forward_dynamics(s: State) -> None:
    tau = s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    assert_close(s.robot.forward_dynamics(s.q, s.v, tau, f_ext=s.f_ext), s.a, 1e-9)


def check_hybrid_dynamics(s: State) -> None:
    tau = s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    for prescribed in (s.prescribed, ~s.prescribed, s.prescribed | True):
        a, t = np.where(prescribed, s.a, 7.0), np.where(prescribed, 7.0, tau)
        found = s.robot.hybrid_dynamics(s.q, s.v, a, t, prescribed, f_ext=s.f_ext)
        assert_close(found[0], s.a, 1e-9)
        assert_close(found[1], tau, 1e-9)


def check_inverse_dynamics_derivatives(s: State) -> None:
    r = s.robot
    by_q, by_v, by_a = r.inverse_dynamics_derivatives(s.q, s.v, s.a)
    assert_close(by_q, s.along(lambda q: r.inverse_dynamics(q, s.v, s.a)), DIFFERENCES)
    assert_close(by_v, linearly(lambda v: r.inverse_dynamics(s.q, v, s.a), s.v), IDENTITIES)
    assert_close(by_a, r.mass_matrix(s.q), 1e-12)


def check_forward_dynamics_derivatives(s: State) -> None:
    r = s.robot
    by_q, by_v, by_tau = r.forward_dynamics_derivatives(s.q, s.v, s.tau)
    a = r.forward_dynamics(s.q, s.v, s.tau)
    assert_close(by_q, s.along(lambda q: r.forward_dynamics(q, s.v, s.tau), 1e-3), DIFFERENCES)
    assert_close(by_v, linearly(lambda v: r.forward_dynamics(s.q, v, s.tau), s.v), 1e-9)
    M, at_a = r.mass_matrix(s.q), r.inverse_dynamics_derivatives(s.q, s.v, a)
    for ours, theirs in zip((by_q, by_v, by_tau), (-at_a[0], -at_a[1], np.eye(s.model.nv))):
        assert_close(M @ ours, theirs, 1e-9)


def check_hybrid_dynamics_derivatives(s: State) -> None:
    r, p = s.robot, s.prescribed
    found = r.hybrid_dynamics_derivatives(s.q, s.v, s.a, s.tau, p)
    for k, (by_q, by_v, by_input) in enumerate((found[:3], found[3:])):
        assert_close(by_q, s.along(lambda q, k=k: r.hybrid_dynamics(q, s.v, s.a, s.tau, p)[k], 1e-3), DIFFERENCES)
        assert_close(by_v, linearly(lambda v, k=k: r.hybrid_dynamics(s.q, v, s.a, s.tau, p)[k], s.v), 1e-9)
        given = np.where(p, s.a, s.tau)
        moved = linearly(
            lambda x, k=k: r.hybrid_dynamics(s.q, s.v, np.where(p, x, 0.0), np.where(p, 0.0, x), p)[k], given
        )
        assert_close(by_input, moved, 1e-9)


def check_frame_velocity(s: State) -> None:
    turn = np.kron(np.eye(2), s.robot.pose(s.q, s.tool)[:3, :3])
    assert_close(CALLS["frame_velocity"](s.robot, s), turn @ s.robot.jacobian(s.q, s.tool) @ s.v, 1e-11)


def check_frame_acceleration(s: State) -> None:
    expected = s.in_time(lambda q: s.robot.jacobian(q, s.tool, reference="aligned")) @ s.v
    expected = expected + s.robot.jacobian(s.q, s.tool, reference="aligned") @ s.a
    assert_close(CALLS["frame_acceleration"](s.robot, s), expected, DIFFERENCES)


def check_frame_derivatives(s: State) -> None:
    def rate(q: Array, v: Array) -> Array:
        return np.asarray(s.robot.jacobian(q, s.tool) @ s.a + s.robot.jacobian_dot(q, v, s.tool) @ v)

    twist_q, rate_q, rate_v = s.robot.frame_derivatives(s.q, s.v, s.a, s.tool)
    assert_close(twist_q, s.along(lambda q: s.robot.jacobian(q, s.tool) @ s.v), DIFFERENCES)
    assert_close(rate_q, s.along(lambda q: rate(q, s.v)), DIFFERENCES)
    assert_close(rate_v, linearly(lambda v: rate(s.q, v), s.v), IDENTITIES)


def check_inverse_dynamics_wrench_derivative(s: State) -> None:
    found = s.robot.inverse_dynamics_wrench_derivative(s.q, s.tool)
    push = linearly(lambda f: s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext={s.tool: f}), np.zeros(6))
    assert_close(found, push, 1e-9)


def check_forward_dynamics_wrench_derivative(s: State) -> None:
    found = s.robot.forward_dynamics_wrench_derivative(s.q, s.tool)
    assert_close(s.robot.mass_matrix(s.q) @ found, s.robot.jacobian(s.q, s.tool).T, 1e-9)


def check_hybrid_dynamics_wrench_derivative(s: State) -> None:
    found = s.robot.hybrid_dynamics_wrench_derivative(s.q, s.prescribed, s.tool)
    for k, ours in enumerate(found):
        push = linearly(
            lambda f, k=k: s.robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, s.prescribed, f_ext={s.tool: f})[k],
            np.zeros(6),
        )
        assert error(ours, push, 1e-3) < 1e-8


def check_joint_reaction_derivatives(s: State) -> None:
    r = s.robot
    by_q, by_v, by_a = r.joint_reaction_derivatives(s.q, s.v, s.a, f_ext=s.f_ext)
    assert_close(by_q, s.along(lambda q: r.joint_reactions(q, s.v, s.a, f_ext=s.f_ext)), DIFFERENCES)
    assert_close(by_v, linearly(lambda v: r.joint_reactions(s.q, v, s.a, f_ext=s.f_ext), s.v), 1e-9)
    assert_close(by_a, linearly(lambda a: r.joint_reactions(s.q, s.v, a, f_ext=s.f_ext), s.a), 1e-9)


def check_centroidal_momentum_derivatives(s: State) -> None:
    def rate(q: Array, v: Array) -> Array:
        return np.asarray(s.robot.centroidal_momentum_matrix(q) @ s.a + s.robot.centroidal_momentum_bias(q, v))

    found = s.robot.centroidal_momentum_derivatives(s.q, s.v, s.a)
    assert error(found.h_dq, s.along(lambda q: s.robot.momentum(q, s.v)), 1e-3) < DIFFERENCES
    assert error(found.hdot_dq, s.along(lambda q: rate(q, s.v)), 1e-3) < DIFFERENCES
    assert error(found.hdot_dv, linearly(lambda v: rate(s.q, v), s.v), 1e-3) < 1e-9


def check_center_of_mass_derivatives(s: State) -> None:
    def acceleration(q: Array, v: Array) -> Array:
        J, Jdot = s.robot.center_of_mass_jacobian(q), s.robot.center_of_mass_jacobian_dot(q, v)
        return np.asarray(J @ s.a + Jdot @ v)

    found = s.robot.center_of_mass_derivatives(s.q, s.v, s.a)
    speed = s.along(lambda q: s.robot.center_of_mass_jacobian(q) @ s.v)
    assert error(found.velocity_dq, speed, 1e-3) < DIFFERENCES
    assert error(found.acceleration_dq, s.along(lambda q: acceleration(q, s.v)), 1e-3) < DIFFERENCES
    assert error(found.acceleration_dv, linearly(lambda v: acceleration(s.q, v), s.v), 1e-3) < 1e-9


def check_inverse_effective_inertia_derivative(s: State) -> None:
    found = s.robot.inverse_effective_inertia_derivative(s.q, s.tool)
    assert_close(found, s.along(lambda q: s.robot.inverse_effective_inertia(q, s.tool), 1e-3), DIFFERENCES)


def moving(s: State, first: Callable[..., Any], last: Array, k: int) -> Array:
    """The rate of the k-th of first derivatives in the state's direction."""
    dq, dv, dx = s.direction
    return derivative(lambda t: first(s.model.integrate(s.q, t * dq), s.v + t * dv, last + t * dx)[k], 1e-3)


def check_inverse_dynamics_second_derivatives(s: State) -> None:
    found = s.robot.inverse_dynamics_second_derivatives(s.q, s.v, s.a, s.direction)
    for k, ours in enumerate(found):
        assert error(ours, moving(s, s.robot.inverse_dynamics_derivatives, s.a, k), 1e-3) < 1e-6


def check_forward_dynamics_second_derivatives(s: State) -> None:
    found = s.robot.forward_dynamics_second_derivatives(s.q, s.v, s.tau, s.direction)
    for k, ours in enumerate(found):
        assert error(ours, moving(s, s.robot.forward_dynamics_derivatives, s.tau, k), 1e-3) < 1e-5


def check_constrained_hybrid_dynamics_derivatives(s: State) -> None:
    r, of, p = s.robot, s.constraints, s.one_prescribed
    found = r.constrained_hybrid_dynamics_derivatives(s.q, s.v, s.a, s.tau, p, of)

    def both(q: Array, v: Array) -> Array:
        return np.concatenate(r.constrained_hybrid_dynamics(q, v, s.a, s.tau, p, of)[:2])

    by_q, by_v = np.vstack(found[0:6:3]), np.vstack(found[1:6:3])
    assert_close(by_q, s.along(lambda q: both(q, s.v), 5e-4), 1e-5)
    assert_close(by_v, linearly(lambda v: both(s.q, v), s.v), 1e-7)


def check_constrained_inverse_dynamics_derivatives(s: State) -> None:
    r, of = s.robot, s.constraints
    found = r.constrained_inverse_dynamics_derivatives(s.q, s.v, s.a, of)
    tau = s.along(lambda q: r.constrained_inverse_dynamics(q, s.v, s.a, of).tau, 5e-4)
    assert error(found.tau_dq, tau, 1e-2) < 1e-5
    by_a = linearly(lambda a: r.constrained_inverse_dynamics(s.q, s.v, a, of).tau, s.a)
    assert error(found.tau_da, by_a, 1e-2) < 1e-8


def check_constraint_impulse_derivatives(s: State) -> None:
    r, of = s.robot, s.constraints
    found = r.constraint_impulse_derivatives(s.q, s.v, of)
    assert_close(found.v_dq, s.along(lambda q: r.constraint_impulse(q, s.v, of)[0], 5e-4), 1e-5)
    assert_close(found.v_dv, r.force_projection(s.q, of)[0].T, 1e-7)


def check_kinetic_energy(s: State) -> None:
    assert_close(s.robot.kinetic_energy(s.q, s.v), 0.5 * s.v @ mass_matrix(s, s.q) @ s.v, 1e-12)


def check_kinetic_energy_regressor(s: State) -> None:
    rotors = 0.5 * np.sum(rotor_inertia(s.model) * s.v**2)
    energy = s.robot.kinetic_energy_regressor(s.q, s.v) @ s.robot.inertial_parameters.ravel() + rotors
    assert_close(np.asarray(energy), 0.5 * s.v @ mass_matrix(s, s.q) @ s.v, 1e-12)


def moments(s: State) -> Array:
    """sum m c in the world."""
    total = np.zeros(3)
    for body, row in zip(s.model.bodies, s.robot.inertial_parameters):
        pose = s.robot.pose(s.q, body.name)
        total += pose[:3, :3] @ row[1:4] + row[0] * pose[:3, 3]
    return total


def check_potential_energy(s: State) -> None:
    assert_close(s.robot.potential_energy(s.q), np.asarray(-np.array(s.model.gravity) @ moments(s)), 1e-12)


def check_potential_energy_regressor(s: State) -> None:
    row = s.robot.potential_energy_regressor(s.q)
    energy = np.asarray(row @ s.robot.inertial_parameters.ravel())
    assert_close(energy, np.asarray(-np.array(s.model.gravity) @ moments(s)), 1e-12)


def check_regressor(s: State) -> None:
    tau = s.robot.regressor(s.q, s.v, s.a) @ s.robot.inertial_parameters.ravel() + rotor_inertia(s.model) * s.a
    assert_close(tau, newton_euler(s, s.a), IDENTITIES)


def check_center_of_mass(s: State) -> None:
    assert_close(s.robot.center_of_mass(s.q), moments(s) / s.model.mass, 1e-12)


def check_center_of_mass_jacobian(s: State) -> None:
    assert_close(s.robot.center_of_mass_jacobian(s.q), s.along(s.robot.center_of_mass), DIFFERENCES)


def check_center_of_mass_jacobian_dot(s: State) -> None:
    expected = s.in_time(s.robot.center_of_mass_jacobian)
    assert_close(s.robot.center_of_mass_jacobian_dot(s.q, s.v), expected, DIFFERENCES)


def check_centroidal_momentum_matrix(s: State) -> None:
    center, total = s.robot.center_of_mass(s.q), np.zeros((6, s.model.nv))
    for body, inertia in zip(s.model.bodies, s.inertias):
        pose = s.robot.pose(s.q, body.name)
        momentum = inertia @ s.robot.jacobian(s.q, body.name)
        linear = pose[:3, :3] @ momentum[3:]
        total += np.vstack([pose[:3, :3] @ momentum[:3] + np.cross(pose[:3, 3] - center, linear, axisb=0).T, linear])
    assert_close(s.robot.centroidal_momentum_matrix(s.q), total, 1e-11)


def check_momentum(s: State) -> None:
    assert_close(s.robot.momentum(s.q, s.v), s.robot.centroidal_momentum_matrix(s.q) @ s.v, 1e-11)


def check_centroidal_momentum_bias(s: State) -> None:
    expected = s.in_time(s.robot.centroidal_momentum_matrix) @ s.v
    assert_close(s.robot.centroidal_momentum_bias(s.q, s.v), expected, DIFFERENCES)


def check_friction_torque(s: State) -> None:
    expected = np.zeros(s.model.nv)
    for joint in (body.joint for body in s.model.bodies):
        own, ratio = slice(joint.v_index, joint.v_index + joint.kind.nv), (joint.mimic or Mimic("")).multiplier
        speed = ratio * s.v[own]
        expected[own] += ratio * (joint.damping * speed + joint.friction * np.tanh(speed / 1e-2))
    assert_close(s.robot.friction_torque(s.v), expected, 1e-12)
    rough = Robot(s.model, backend="reference", friction=True)
    assert_close(rough.bias(s.q, s.v), s.robot.bias(s.q, s.v) + expected, IDENTITIES)


def check_spring_torque(s: State) -> None:
    """Springs hang on q whatever S is; kinds without coordinates have none."""
    assert not np.any(s.robot.spring_torque(s.q))
    bodies = [
        replace(body, joint=replace(body.joint, passive=(Spring(20.0, rest=0.3),) * body.joint.kind.velocity_is_rate))
        for body in s.model.bodies
    ]
    sprung = Robot(replace(s.model, bodies=tuple(bodies)), backend="reference")
    held = s.along(lambda q: sprung.potential_energy(q) - s.robot.potential_energy(q))
    assert_close(sprung.spring_torque(s.q), held, DIFFERENCES)
    by_q = sprung.inverse_dynamics_derivatives(s.q, s.v, s.a)[0]
    assert_close(by_q, s.along(lambda q: sprung.inverse_dynamics(q, s.v, s.a)), DIFFERENCES)


def check_constraint_rows(s: State) -> None:
    def terms(q: Array) -> Any:
        return s.robot.constraint_rows(q, s.v, s.constraints)

    found, holonomic = terms(s.q), s.constraints.holonomic
    assert_close(found.A[holonomic], s.along(lambda q: terms(q).h)[holonomic], DIFFERENCES)
    assert_close(found[2], s.in_time(lambda q: terms(q).A) @ s.v, DIFFERENCES)


def stabilised(s: State) -> tuple[Array, Array]:
    """A, and what A a has to be."""
    h, A, Adot_v = s.robot.constraint_rows(s.q, s.v, s.constraints)
    return A, -Adot_v - 4.0 * A @ s.v - 4.0 * h


def check_constrained_forward_dynamics(s: State) -> None:
    found = s.robot.constrained_forward_dynamics(s.q, s.v, s.tau, s.constraints)
    A, wanted = stabilised(s)
    assert_close(A @ found.a, wanted, 1e-8)
    needed = s.robot.mass_matrix(s.q) @ found.a + s.robot.bias(s.q, s.v)
    assert error(needed, s.tau + A.T @ found.multipliers, np.abs(needed).max()) < 1e-8


def check_constrained_hybrid_dynamics(s: State) -> None:
    prescribed = s.one_prescribed
    found = s.robot.constrained_hybrid_dynamics(s.q, s.v, s.a, s.tau, prescribed, s.constraints)
    A, wanted = stabilised(s)
    assert_close(A @ found.a, wanted, 1e-7)
    needed = s.robot.mass_matrix(s.q) @ found.a + s.robot.bias(s.q, s.v)
    assert error(needed, found.tau + A.T @ found.multipliers, np.abs(needed).max()) < 1e-8
    np.testing.assert_array_equal(found.a[prescribed], s.a[prescribed])


def check_constrained_inverse_dynamics(s: State) -> None:
    found = s.robot.constrained_inverse_dynamics(s.q, s.v, s.a, s.constraints)
    A, wanted = stabilised(s)
    needed = s.robot.inverse_dynamics(s.q, s.v, s.a)
    assert error(found.tau + A.T @ found.multipliers, needed) < 1e-9
    assert error(found.residual, A @ s.a - wanted) < 1e-9


def check_constrained_forward_dynamics_derivatives(s: State) -> None:
    r, of, m = s.robot, s.constraints, len(s.constraints)
    found = r.constrained_forward_dynamics_derivatives(s.q, s.v, s.tau, of)

    def both(q: Array, v: Array, tau: Array) -> Array:
        return np.concatenate(r.constrained_forward_dynamics(q, v, tau, of)[:2])

    expected = (
        s.along(lambda q: both(q, s.v, s.tau), 5e-4),
        linearly(lambda v: both(s.q, v, s.tau), s.v),
        linearly(lambda tau: both(s.q, s.v, tau), s.tau),
    )
    for k, (moved, tolerance) in enumerate(zip(expected, (1e-6, 1e-8, 1e-8))):
        assert_close(np.vstack([found[k], found[3 + k]]), moved, tolerance)
        assert found[3 + k].shape == (m, s.model.nv)


def check_constraint_impulse(s: State) -> None:
    after, impulses, _ = s.robot.constraint_impulse(s.q, s.v, s.constraints)
    A, M = stabilised(s)[0], s.robot.mass_matrix(s.q)
    assert np.abs(A @ after).max() < 1e-8 * np.abs(A).max() * np.abs(s.v).max()
    change = M @ (after - s.v)
    assert error(change, A.T @ impulses) < 1e-7


def check_force_projection(s: State) -> None:
    P, rank = s.robot.force_projection(s.q, s.constraints)
    A, M_inverse = stabilised(s)[0], s.robot.mass_matrix_inverse(s.q)
    assert rank == len(A)
    expected = np.eye(s.model.nv) - A.T @ np.linalg.solve(A @ M_inverse @ A.T, A @ M_inverse)
    assert_close(P, expected, 1e-7)


def check_constraint_wrenches(s: State) -> None:
    multipliers = np.arange(1.0, 1.0 + len(s.constraints))
    A = stabilised(s)[0]
    for name, wrench in s.robot.constraint_wrenches(s.q, s.constraints, multipliers).items():
        rows = s.constraints.slice_of(name)
        frame = getattr(s.constraints[name], "frame")  # noqa: B009
        work = s.robot.jacobian(s.q, frame).T @ wrench
        assert_close(work, A[rows].T @ multipliers[rows], 1e-9)


def check_project_configuration(s: State) -> None:
    q = s.robot.project_configuration(s.q, [s.nearby])
    assert np.abs(s.robot.constraint_rows(q, s.v, [s.nearby]).h).max() < 1e-12
    assert 0.0 < np.abs(s.model.difference(s.q, q)).max() < 1.0


CHECKS: dict[str, Callable[[State], None]] = {
    name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")
}


@pytest.fixture(scope="module")
def states() -> Callable[[str], State]:
    known: dict[str, State] = {}

    def state(name: str) -> State:
        if name not in known:
            known[name] = State(TREES[name]())
        return known[name]

    return state


@pytest.mark.parametrize(("method", "name"), table(product(sorted(CALLS), TREES), is_narrow))
def test_method(name, method, states):
    CHECKS[method](states(name))


# --- against the same motion, given in another way -----------------------------------------------


def same(ours: State, theirs: State, tolerance: float, methods: Any = CALLS) -> None:
    """Every method gives the same on both robots, at the state of the second."""
    for name in methods:
        found, expected = (CALLS[name](x.robot, theirs if x is theirs else _at(ours, theirs)) for x in (ours, theirs))
        several = isinstance(expected, (tuple, list))
        for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
            assert error(one, other, 1e-3) <= tolerance, name


def _at(ours: State, theirs: State) -> State:
    """One robot at the state of another, under the same constraints."""
    for what in ("q", "v", "a", "x", "tau", "prescribed", "f_ext"):
        setattr(ours, what, getattr(theirs, what))
    ours.constraints = ConstraintSet(ours.model, theirs.constraints.constraints, stabilization=2.0)
    return ours


@pytest.mark.parametrize(
    ("seed", "wrapped"),
    table([(k, NoChain if k in (2, 5) else PoseOnly) for k in range(6)], lambda case: case[0] in (2, 4, 5)),
)
def test_a_kind_by_its_pose_alone_is_that_kind(seed, wrapped):
    """Chains without being expanded, groups and single joints without their own S: all as they are otherwise."""
    given, built = (varying_tree(seed, MIXED[seed], followers=0.3, wrapped=how) for how in (wrapped, lambda kind: kind))
    assert any(not body.joint.kind.has_constant_columns for body in given.bodies)
    same(State(given), State(built), 1e-9)


MIXED = [
    ("universal", "product_of_exponentials", "revolute"),
    ("product_of_exponentials", "helical", "universal", "screw"),
    ("floating", "universal", "prismatic"),
    ("planar", "product_of_exponentials", "spherical"),
    ("revolute", "spherical", "universal", "revolute"),
    ("screw", "screw", "universal", "screw", "screw"),
]


@pytest.mark.parametrize(
    ("name", "backend"),
    table(
        [("harmonic cam", "llvm"), ("eccentric", "llvm"), ("on a curve", "python"), ("loose ball", "python")],
        [("harmonic cam", "llvm")],
    ),
)
def test_backends_agree(name, backend, states):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    reference = states(name)
    # jets of jets make long programs, which Python takes long to read
    long = {"constrained_hybrid_dynamics_derivatives", "constrained_inverse_dynamics_derivatives",
            "constraint_impulse_derivatives", "forward_dynamics_second_derivatives"}  # fmt: skip
    same(State(reference.model, backend), reference, 1e-9, set(CALLS) - (long if backend == "python" else set()))


@every_backend
def test_a_batch_is_its_samples(backend, states):
    model = states("chains between").model
    robot, rng = Robot(model, backend=backend), np.random.default_rng(3)
    q, v, a = (np.stack(x) for x in zip(*(random_state(model, rng) for _ in range(4))))
    batches = [robot.inverse_dynamics(q, v, a), *robot.inverse_dynamics_derivatives(q, v, a)]
    for k in range(4):
        one = [robot.inverse_dynamics(q[k], v[k], a[k]), *robot.inverse_dynamics_derivatives(q[k], v[k], a[k])]
        for batch, sample in zip(batches, one):
            assert_close(batch[k], sample, 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_a_chain_needs_no_expansion(seed):
    """World-frame sums of the tree as it is and of the tree of single joints."""
    from rbd_dynamics.algorithms.expansion import expanded
    from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
    from rbd_dynamics.algorithms.momentum import centroidal_momentum_bias

    model = mixed_tree(seed, n=4)
    q, v, a = (x.tolist() for x in random_state(model, np.random.default_rng(seed)))
    tree = expanded(model).model
    both = [(one, [body.inertia for body in one.bodies]) for one in (model, tree)]

    def momentum_bias(one, inertias, q, v):
        return centroidal_momentum_bias(one, inertias, model.fixed_inertia, q, v)

    for algorithm, more in ((inverse_dynamics_derivatives, [a]), (momentum_bias, [])):
        found, expected = (algorithm(one, inertias, q, v, *more) for one, inertias in both)
        for ours, theirs in zip(found, expected):
            assert_close(np.array(ours, dtype=float), np.array(theirs, dtype=float), 1e-10, least=1e-3)


# --- closed forms --------------------------------------------------------------------------------


def under_gravity(*kinds: JointKind, mass: float = 2.0, armature: float = 0.3) -> Robot:
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    for k, kind in enumerate(kinds):
        builder.add_body(f"link{k}", f"link{k - 1}" if k else None, kind, mass=mass, armature=armature)
    return Robot(builder.build(), backend="reference")


def test_follower_of_an_eccentric_cam():
    """s = e (1 - cos q): tau = (J + m e^2 sin^2 q) a + m e^2 sin q cos q v^2 + m g e sin q, and its derivatives."""
    m, J, e, g = 2.0, 0.3, 0.05, 9.81
    robot = under_gravity(Cam(polynomial=(e,), cosine=(-e,)))
    for q, v, a in np.random.default_rng(1).normal(size=(20, 3)):
        s, c = np.sin(q), np.cos(q)
        tau = (J + m * e**2 * s**2) * a + m * e**2 * s * c * v**2 + m * g * e * s
        assert_close(robot.inverse_dynamics([q], [v], [a]), np.array([tau]), 1e-13)
        assert_close(robot.forward_dynamics([q], [v], [tau]), np.array([a]), 1e-12)
        by_q, by_v, by_a = robot.inverse_dynamics_derivatives([q], [v], [a])
        slope = 2 * m * e**2 * s * c * a + m * e**2 * (c**2 - s**2) * v**2 + m * g * e * c
        assert_close(by_q, np.array([[slope]]), 1e-12)
        assert_close(by_v, np.array([[2 * m * e**2 * s * c * v]]), 1e-12)
        assert_close(by_a, np.array([[J + m * e**2 * s**2]]), 1e-13)
        assert_close(robot.coriolis_matrix([q], [v]), np.array([[m * e**2 * s * c * v]]), 1e-12)
        assert_close(robot.jacobian([q], "link0"), np.array([[0, 0, 0, 0, 0, e * s]]).T, 1e-13)


def test_piston_of_a_crank():
    """A cam whose profile x(q) is the slider-crank's: tau = (J + m x'^2) a + m x' x'' v^2 + m g x'."""
    m, J, g, r, length = 2.0, 0.3, 9.81, 0.2, 0.5
    robot = under_gravity(Cam(profile=piston))
    for q, v, a in np.random.default_rng(2).normal(size=(20, 3)):
        s, c = r * np.sin(q), r * np.cos(q)
        root = np.sqrt(length**2 - s**2)
        height = c + root
        root_1 = -s * c / root
        root_2 = -(c * c - s * s + root_1**2) / root
        root_3 = (4 * s * c - 3 * root_1 * root_2) / root
        x1, x2, x3 = -s + root_1, -c + root_2, s + root_3
        assert_close(robot.pose([q], "link0")[2, 3], np.asarray(height), 1e-14)
        tau = (J + m * x1**2) * a + m * x1 * x2 * v**2 + m * g * x1
        assert_close(robot.inverse_dynamics([q], [v], [a]), np.array([tau]), 1e-13)
        slope = 2 * m * x1 * x2 * a + m * (x2**2 + x1 * x3) * v**2 + m * g * x2
        assert_close(robot.inverse_dynamics_derivatives([q], [v], [a])[0], np.array([[slope]]), 1e-11)


def test_spherical_coordinates_of_a_point():
    """The textbook's equations of a point mass: longitude, latitude, distance."""
    from helpers.models.varying_kinds import SphericalCoordinates

    m, J, g = 2.0, 0.3, 9.81
    robot = under_gravity(SphericalCoordinates())
    for _ in range(10):
        (_, lat, r), (dlon, dlat, dr), (a_lon, a_lat, a_r) = state = np.random.default_rng(3).normal(size=(3, 3))
        c, s = np.cos(lat), np.sin(lat)
        expected = [
            m * r**2 * c**2 * a_lon + 2 * m * r * c**2 * dr * dlon - 2 * m * r**2 * s * c * dlat * dlon + J * a_lon,
            m * r**2 * a_lat + 2 * m * r * dr * dlat + m * r**2 * s * c * dlon**2 + m * g * r * c + J * a_lat,
            m * a_r - m * r * dlat**2 - m * r * c**2 * dlon**2 + m * g * s + J * a_r,
        ]
        assert_close(robot.inverse_dynamics(*state), np.array(expected), 1e-12)


def test_a_cam_is_what_its_profile_makes_of_a_screw():
    rng = np.random.default_rng(4)
    twist = any_kind(rng, "screw").twist
    cam = Cam(twist, (0.3, -0.5, 0.2), (0.1, 0.0, -0.2), (0.4,))
    q = 0.7
    s = 0.3 - 0.5 * q + 0.2 * q**2 + 0.1 * np.cos(q) - 0.2 * np.cos(3 * q) + 0.4 * np.sin(q)
    assert abs(cam.position(q) - s) < 1e-15
    X6 = np.zeros((4, 4))
    X6[:3, :3], X6[:3, 3] = spatial.hat(np.array(twist[:3])), twist[3:]
    np.testing.assert_allclose(spatial.arrays.pose_array(cam.transform([q])), expm(X6 * s), atol=1e-14)
    slope = -0.5 + 0.4 * q - 0.1 * np.sin(q) + 0.6 * np.sin(3 * q) + 0.4 * np.cos(q)
    np.testing.assert_allclose(cam.columns([q])[0], slope * np.array(twist), atol=1e-15)


def test_a_cam_counts_its_angle_and_is_driven_by_a_torque():
    for kind, unit in ((Cam(cosine=(0.1,)), "N m"), (Revolute(), "N m"), (Prismatic(), "N"), (Helical(Z, 0.1), "N m")):
        assert torque_unit(under_gravity(kind).model, "link0_joint") == unit


def test_a_linear_cam_is_a_screw_and_costs_as_much():
    cam, screw = Cam((*Z, 0.0, 0.0, 0.0), (0.0, 1.0)), Screw((*Z, 0.0, 0.0, 0.0))
    assert cam.has_constant_columns and cam.columns([0.4]) == screw.columns([0.4])
    assert cam.transform([0.4]) == screw.transform([0.4])


@pytest.mark.parametrize("name", ["harmonic cam", "loose ball", "eccentric", "on a floating base"])
def test_motion_without_torque_keeps_its_energy(name, states):
    """But for the integrator's error, which is of fourth order."""
    model = states(name).model
    robot = Robot(model, backend="python")
    steps = (2e-3, 1e-3)
    lost = []
    for h in steps:
        q, v, _ = random_state(model, np.random.default_rng(11))
        integrator = RungeKutta4(robot, h, robot.forward_dynamics)
        start = robot.kinetic_energy(q, v) + robot.potential_energy(q)
        for _ in range(round(0.4 / h)):
            q, v, _ = integrator.step(q, v, np.zeros(model.nv))
        lost.append(abs(float(robot.kinetic_energy(q, v) + robot.potential_energy(q) - start)) / max(1.0, abs(start)))
    assert lost[0] < 1e-6
    assert lost[1] < max(lost[0] / 14.0, 1e-12)


@every_tree
def test_closed_forms(name, states):
    s = states(name)
    r, q, v = s.robot, s.q, s.v
    assert_close(PoeKinematics(s.model).pose(q, s.tool), r.pose(q, s.tool), 1e-12)
    assert_close(PoeKinematics(s.model).body_jacobian(q, s.tool), r.jacobian(q, s.tool), 1e-11)
    assert_close(lagrange.mass_matrix(r, q), r.mass_matrix(q), 1e-11)
    assert_close(lagrange.congruence_sum(r, q), r.mass_matrix(q), 1e-11)
    assert_close(lagrange.mass_matrix_derivatives(r, q), s.along(r.mass_matrix), DIFFERENCES)
    stacked = StackedOperators(r, q)
    assert_close(stacked.mass_matrix(), r.mass_matrix(q), 1e-11)
    assert_close(stacked.gravity(), r.gravity(q), 1e-10)
    assert_close(stacked.coriolis_matrix(v), r.coriolis_matrix(q, v), 1e-10)
    rate = derivative(lambda t: s.model.integrate(q, t * v), 1e-2)
    assert_close(kinematics_jacobian(s.model, q) @ v, rate, 1e-9)
    if not any(body.joint.mimic for body in s.model.bodies):
        tau = r.inverse_dynamics(q, v, s.a)
        assert_close(projected_motion(articulated_tree(s.model, q, v, tau)).qdd, s.a, 1e-9)


def test_sensitivity_to_the_axis_of_a_cam():
    """Its follower is away from its screw's origin at q = 0: T(0) is not the identity."""
    rng = np.random.default_rng(6)
    cam = Cam((*Z, 0.0, 0.1, 0.05), (0.4, 0.3), (0.2, 0.1))
    place, first, turn, second = random_transform(rng), random_inertia(rng), random_transform(rng), random_inertia(rng)
    q, v, a = rng.normal(size=(3, 2))

    def robot(twist: Array) -> Robot:
        """The joint frame displaced, while the link and what it carries stay where they are at q = 0."""
        by, start = spatial.exp_se3(twist), spatial.arrays.pose_array(cam.transform([0.0]))
        behind = np.linalg.inv(start) @ np.linalg.inv(by) @ start  # new link frame to the old one
        shift, back = (
            Transform((tuple(map(float, T[:3, :3].ravel())),), tuple(map(float, T[:3, 3]))) for T in (by, behind)
        )
        builder = ModelBuilder(gravity=(1.0, 2.0, -8.0))
        for name, parent, kind, pose, inertia in (
            ("one", None, cam, place @ shift, first.to_parent(back)),
            ("two", "one", Revolute(Y), back @ turn, second),
        ):
            com = np.array(inertia.moment) / inertia.mass
            about = RigidInertia.from_com(inertia.mass, tuple(com), (0.0,) * 6).rotational
            own = np.array(inertia.rotational) - np.array(about)
            where = Transform.of(pose.rotation, pose.p)
            load = {"mass": inertia.mass, "com": com, "inertia": own}
            builder.add_body(name, parent, kind, joint_name=f"j{name}", placement=where, **load)
        return Robot(builder.build(), backend="reference")

    found = AxisSensitivity(robot(np.zeros(6)), "jone")(q, v, a)
    moved = [derivative(lambda t, e=e: robot(t * e).inverse_dynamics(q, v, a), 1e-3) for e in np.eye(6)]
    assert_close(found, np.stack(moved, axis=-1), 1e-7)


# --- where there is no answer --------------------------------------------------------------------


@every_backend
def test_a_dwell_without_rotor_inertia_is_singular(backend):
    builder = ModelBuilder()
    builder.add_body("follower", None, Cam(cosine=(0.05,)), joint_name="cam", mass=1.0)
    robot = Robot(builder.build(), backend=backend)
    assert robot.mass_matrix([0.0]) == 0.0
    with pytest.raises(ArithmeticError):
        robot.forward_dynamics([0.0], [0.0], [1.0])
    with pytest.raises(ArithmeticError):
        robot.forward_dynamics_derivatives([0.0], [0.0], [1.0])
    assert np.isfinite(robot.inverse_dynamics([0.0], [1.0], [1.0])).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cam(), "needs a profile"),
        (lambda: Cam(polynomial=(0.3,)), "not constant"),
        (lambda: Cam((0, 0, 0, 0, 0, 2), (0, 1)), "not a unit twist"),
        (lambda: Cam(polynomial="ab"), "polynomial 'ab' is not a list"),
        (lambda: Cam(cosine=3.0), "cosine 3.0 is not a list"),
        (lambda: Cam(sine=(float("nan"),)), "sine .* not finite"),
        (lambda: Cam(polynomial=(0, 1), profile=piston), "not both"),
        (lambda: Cam(profile="piston"), "not a function"),
        (lambda: Cam(profile=np.sin), "cannot be differentiated.*spatial.scalar"),
        (lambda: JointKind.from_dict({"type": "cam", "lift": 3}), "a cam joint has no 'lift'"),
    ],
)
def test_impossible_cams_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_cams_are_written_down_unless_they_are_functions(tmp_path, states):
    robot = under_gravity(Cam((*Z, 0.0, 0.0, 0.02), (0.0, 0.5), (), (0.1, 0.2)), Cam(cosine=(0.1,)))
    kind = robot.model.bodies[1].joint.kind
    assert kind.to_dict() == {"type": "cam", "twist": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "cosine": [0.1]}
    save_yaml(robot.model, tmp_path / "cam.yaml")
    assert load_yaml(tmp_path / "cam.yaml") == robot.model
    with pytest.raises(ModelError, match="function .* cannot be written down"):
        model_to_dict(under_gravity(Cam(profile=piston)).model)


# --- a kind of one's own -------------------------------------------------------------------------


def test_built_in_kinds_keep_what_they_know():
    rng = np.random.default_rng(5)
    for name in ("revolute", "continuous", "prismatic", "planar", "spherical", "floating", "helical", "screw"):
        kind = any_kind(rng, name)
        assert kind.has_constant_columns and not np.any(kind.columns_rate(kind.neutral().tolist(), [1.0] * kind.nv))
    for name in VARYING:
        assert not VARYING[name](rng).has_constant_columns
    assert not Universal().has_constant_columns


@pytest.mark.parametrize("name", VARYING)
def test_columns_and_their_derivatives_follow_from_the_pose(name):
    rng = np.random.default_rng(7)
    for _ in range(5):
        kind = VARYING[name](rng)
        q, v, w = kind.random(rng, -1.0, 1.0), rng.normal(size=kind.nv), rng.normal(size=kind.nv)

        def at(t: float, w: Array = w, kind: JointKind = kind, q: Array = q) -> list[float]:
            return [float(x) for x in kind.integrate(q, t * w)]

        def pose(t: float, at: Any = at, kind: JointKind = kind) -> Array:
            return spatial.arrays.pose_array(kind.transform(at(t)))

        S = np.array(kind.columns(at(0.0))).T
        np.testing.assert_allclose(S @ w, vee(np.linalg.inv(pose(0.0)) @ derivative(pose, 1e-2)), atol=1e-8)
        along = derivative(lambda t, at=at, kind=kind: np.array(kind.columns(at(t))), 1e-2)
        np.testing.assert_allclose(kind.columns_rate(at(0.0), w.tolist()), along, atol=1e-8)
        along = derivative(lambda t, at=at, kind=kind, v=v: np.array(kind.columns_rate(at(t), v.tolist())), 1e-2)
        found = kind.columns_rate_derivative(at(0.0), v.tolist(), w.tolist())
        np.testing.assert_allclose(found, along, atol=1e-7)
        # d[S_k, .]: the structure of motion, dS_l/dq_k - dS_k/dq_l = [S_l, S_k] for coordinates
        if type(kind).rates is JointKind.rates:
            slopes = [np.array(kind.columns_rate(at(0.0), u.tolist())) for u in np.eye(kind.nv)]
            for k in range(kind.nv):
                for j in range(kind.nv):
                    bracket = spatial.ad(S[:, j]) @ S[:, k]
                    np.testing.assert_allclose(slopes[k][j] - slopes[j][k], bracket, atol=1e-12)


def test_what_no_longer_belongs_together_is_refused():
    def kind(base: type, **given: Any) -> Any:
        return type("Own", (base,), given)

    with pytest.raises(TypeError, match="Own: gives 'transform', but 'columns' is still that of Revolute"):
        kind(Revolute, transform=lambda self, q: None)
    with pytest.raises(TypeError, match="gives 'transform', but 'columns' is still that of CoordinateChain"):
        kind(Universal, transform=lambda self, q: None)
    with pytest.raises(TypeError, match="gives 'columns', but 'columns_rate' is still that of CoordinateChain"):
        kind(Universal, columns=JointKind.columns)
    with pytest.raises(TypeError, match="gives 'rates', so it must give 'integrate'"):
        kind(JointKind, rates=lambda self, q, v: None)
    kind(LooseBall, transform=lambda self, q: None, columns=JointKind.columns)
    kind(Prismatic, reach=2.0)


@dataclass(frozen=True)
class Bent(JointKind):
    """A slider on a parabola, whose parts can be wrong."""

    wrong: str = ""

    def transform(self, q: Any) -> Transform:
        turn = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.1 if self.wrong == "rotation" else 1.0)
        return Transform((turn,), (q[0], q[0] * q[0], 0.0))

    def columns(self, q: Any) -> Any:
        return ((0.0, 0.0, 0.0, 1.0, (1.0 if self.wrong == "columns" else 2.0) * q[0], 0.0),)

    def columns_rate(self, q: Any, v: Any) -> Any:
        return ((0.0, 0.0, 0.0, 0.0, (0.0 if self.wrong == "columns_rate" else 2.0) * v[0], 0.0),)

    def rates(self, q: Any, v: Any) -> Any:
        return v, (0.1 if self.wrong == "second" else 0.0,)

    def integrate(self, q: Any, dv: Any) -> Any:
        return q + (2.0 if self.wrong == "integrate" else 1.0) * dv

    def as_chain(self) -> Any:
        return (Prismatic(X),) if self.wrong == "as_chain" else None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("columns", "`columns` are not the body twists of `transform`"),
        ("columns_rate", "`columns_rate` is not the rate of `columns`"),
        ("integrate", "`rates` are not those of `integrate`"),
        ("second", "second `rates` are not those"),
        ("rotation", "no rotation matrix"),
        ("as_chain", "`as_chain` has not the pose"),
    ],
)
def test_a_kind_that_contradicts_itself_is_refused(wrong, message):
    for kind in (Bent(), Bent(wrong)):
        builder = ModelBuilder()
        builder.add_body("slide", None, kind, joint_name="slider", mass=1.0)
        if kind.wrong:
            with pytest.raises(ModelError, match=f"joint 'slider': Bent: .*{message}"):
                builder.build()
        else:
            builder.build()


def posed(turn: Any, place: Any) -> Any:
    return lambda self, q: Transform(turn(q), place(q))


def turn(q: Any) -> Any:
    return (rotation_about((0.0, 0.0, 1.0), q[0]),)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (JointKind.transform, "gives no `transform`"),
        (posed(turn, lambda q: (math.sin(q[0]), 0.0, 0.0)), "not Jet; `transform` gets"),
        (posed(turn, lambda q: (np.sin(q[0]), 0.0, 0.0)), "those of math and numpy"),
        (posed(lambda q: turn(q)[0], lambda q: (0.0, 0.0, 0.0)), r"returns Transform\(\(rotation,\)"),
        (posed(lambda q: turn([q]), lambda q: (0.0, 0.0, 0.0)), "q as a sequence"),
    ],
)
def test_a_pose_that_cannot_be_computed_is_refused_with_what_is_expected(transform, message):
    builder = ModelBuilder()
    builder.add_body("link", None, type("Own", (JointKind,), {"transform": transform})(), joint_name="own", mass=1.0)
    with pytest.raises(ModelError, match=f"joint 'own': Own: .*{message}") as error:
        builder.build()
    assert error.value.__cause__ is not None


def test_a_kind_without_a_name_computes_but_is_not_written_down():
    robot = under_gravity(Bent())
    assert_close(robot.mass_matrix([0.5]), np.array([[2.0 * 2.0 + 0.3]]), 1e-14)
    with pytest.raises(ModelError, match="Bent is a joint kind without a name of its own"):
        model_to_dict(robot.model)


def test_a_kind_is_asked_within_its_limits():
    def build(limits: Limits | None) -> Model:
        builder = ModelBuilder()
        cam = Cam(profile=lambda q: sqrt(q - 1.0))
        builder.add_body("link", None, cam, joint_name="short", mass=1.0, armature=0.1, limits=limits)
        return builder.build()

    build(Limits(lower=1.1, upper=2.0))
    with pytest.raises(ModelError, match="joint 'short': Cam: it has no pose at .*within its limits"):
        build(None)


def test_a_kind_with_other_numbers_than_freedoms_says_how_they_move():
    class Angle(JointKind):
        name: ClassVar[str] = "test angle"
        nq: ClassVar[int] = 2

        def transform(self, q: Any) -> Transform:
            return Eccentric().transform(q)

    with pytest.raises(TypeError, match="'test angle' has nq = 2, nv = 1: it must give `rates`"):
        Angle().columns([1.0, 0.0])


def test_couplings_and_followers_need_a_coordinate():
    model = varying_tree(3, ("eccentric", "wobble"))
    robot = Robot(model, backend="reference")
    with pytest.raises(ValueError, match="joint0.*not the rate of its position"):
        robot.constraint_rows(model.neutral(), [0.1, 0.2], [JointCoupling("c", {"joint0": 1.0})])
    builder = ModelBuilder()
    builder.add_body("one", None, Wobble(), joint_name="first", mass=1.0, armature=0.1)
    builder.add_body("two", "one", Eccentric(), joint_name="second", mass=1.0, mimic=Mimic("first"))
    with pytest.raises(ModelError, match="'second': is test eccentric and cannot mimic"):
        builder.build()


@pytest.mark.parametrize("backend", ["python", "llvm"])
def test_kernels_of_like_kinds_with_other_code_are_told_apart(backend, tmp_path, monkeypatch):
    """The cache must not take an edited kind, or another function, for the one that it knows."""
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RBD_DYNAMICS_CACHE_DIR", raising=False)

    def edited(factor: float) -> JointKind:
        @dataclass(frozen=True)
        class Lift(JointKind):
            def transform(self, q: Any) -> Transform:
                return Transform((), (0.0, 0.0, factor * q[0] * q[0]))

            def __repr__(self) -> str:
                return "Lift()"

        return Lift()

    for make in (edited, lambda factor: Cam(profile=lambda q: factor * q * q)):
        found = []
        for factor in (1.0, 2.0, 1.0):
            builder = ModelBuilder()
            builder.add_body("link", None, make(factor), joint_name="joint", mass=1.0, armature=0.1)
            found.append(float(Robot(builder.build(), backend=backend).mass_matrix([0.5])[0, 0]))
        np.testing.assert_allclose(found, [1.1, 4.1, 1.1])

    def stiff(factor: float) -> Elastic:
        class Stop(Elastic):
            def energy(self, q: Any) -> Any:
                return factor * q * q

            def __repr__(self) -> str:
                return "Stop()"

        return Stop()

    found = []
    for factor in (1.0, 2.0):
        builder = ModelBuilder()
        builder.add_body("link", None, Prismatic(), joint_name="joint", mass=1.0, passive=[stiff(factor)])
        found.append(float(Robot(builder.build(), backend=backend).spring_torque([0.5])[0]))
    np.testing.assert_allclose(found, [1.0, 2.0])


def test_a_mimic_of_a_cam_is_the_chain_rule():
    """Two cams on one shaft: q' = (q, r q + o), v' = J v."""
    kinds, ratio, offset = (Cam(cosine=(0.2,), sine=(0.1, 0.05)), Cam((*X, 0.0, 0.2, 0.0), (0.0, 0.3, 0.2))), -0.7, 0.4

    def model(mimic: Mimic | None) -> Model:
        rng, builder = np.random.default_rng(8), ModelBuilder(gravity=(1.0, 2.0, -9.0))
        for k, kind in enumerate(kinds):
            builder.add_body(
                f"link{k}", "link0" if k else None, kind, joint_name=f"joint{k}", mass=1.0 + k, com=rng.normal(size=3),
                inertia=0.1 * np.eye(3), placement=random_transform(rng), armature=0.1, mimic=mimic if k else None,
            )  # fmt: skip
        return builder.build()

    free, held = (
        Robot(model(None), backend="reference"),
        Robot(model(Mimic("joint0", multiplier=ratio, offset=offset)), backend="reference"),
    )
    q, v, a = np.random.default_rng(9).normal(size=(3, 1))
    J = np.array([[1.0], [ratio]])
    both = (np.array([q[0], ratio * q[0] + offset]), J @ v, J @ a)
    assert_close(held.inverse_dynamics(q, v, a), J.T @ free.inverse_dynamics(*both), 1e-12)
    for ours, theirs in zip(held.inverse_dynamics_derivatives(q, v, a), free.inverse_dynamics_derivatives(*both)):
        assert_close(ours, J.T @ theirs @ J, 1e-12)
    assert_close(held.coriolis_matrix(q, v), J.T @ free.coriolis_matrix(*both[:2]) @ J, 1e-12)


def test_helical_is_a_cam_with_that_lead():
    """A thread is a linear cam along a screw with pitch."""
    helical, cam = Helical(Z, 0.05), Cam((*Z, 0.0, 0.0, 0.05), (0.0, 1.0))
    one, other = (under_gravity(kind, Revolute(X)) for kind in (helical, cam))
    q, v, a = np.random.default_rng(10).normal(size=(3, 2))
    assert_close(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), 1e-13)
    assert (
        world_frame(other.model, [b.inertia for b in other.model.bodies], q.tolist(), v.tolist()).columns[0][0].slopes
        == ()
    )
