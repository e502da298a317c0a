# SPDX-License-Identifier: Apache-2.0
"""The algorithms of one robot as kernels: named functions of named vectors.

To make an algorithm a kernel, add a function and a line to `CATALOG` here; `arguments.py` has the names of vectors.
"""

from __future__ import annotations

from typing import Any

from rbd_dynamics.algorithms import energy, frames, mass_factor, momentum, passive_forces
from rbd_dynamics.algorithms.center_of_mass import center_of_mass_jacobian, center_of_mass_jacobian_dot
from rbd_dynamics.algorithms.coriolis_matrix import coriolis_matrix
from rbd_dynamics.algorithms.factor_products import mass_factor_products
from rbd_dynamics.algorithms.free_base_step import free_base_step
from rbd_dynamics.algorithms.hybrid_dynamics import forward_dynamics, hybrid_dynamics
from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import (
    forward_dynamics_derivatives,
    hybrid_dynamics_derivatives,
)
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics, joint_reactions
from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from rbd_dynamics.algorithms.joint_reaction_derivatives import joint_reaction_derivatives
from rbd_dynamics.algorithms.momentum_derivatives import center_of_mass_derivatives, centroidal_momentum_derivatives
from rbd_dynamics.algorithms.quasi_velocities import quasi_velocity_coriolis
from rbd_dynamics.algorithms.regressor import kinetic_energy_regressor, potential_energy_regressor, regressor
from rbd_dynamics.algorithms.runge_kutta_stage import EXPLICIT_EULER, RK4, Method, runge_kutta_stage
from rbd_dynamics.algorithms.time_step import time_step
from rbd_dynamics.kernels import several_frames
from rbd_dynamics.kernels.directional import directional
from rbd_dynamics.kernels.entry import Algorithm, Entry, rows_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.of_frames import OF_FRAMES
from rbd_dynamics.spatial.row_sweeps import flat


def _gravity(x: Inputs) -> Any:
    return [inverse_dynamics(x.model, x.inertias, x.q, x.still, x.still, springs=False)]


def _coriolis(x: Inputs) -> Any:
    return [inverse_dynamics(x.model, x.inertias, x.q, x.v, x.still, gravity=False, springs=False)]


def _free_base_step(x: Inputs) -> Any:
    (coriolis,), (step,) = _coriolis(x), x.step
    found = free_base_step(x.model, x.inertias, x.q, x.v, x.reached_velocity, coriolis, step)
    return [found.q, found.v, [found.change]]


def _time_step(x: Inputs) -> Any:
    (step,), limits = x.step, (x.lower, x.upper)
    state = x.q, x.v, x.a, x.tau, step, limits, x.side, x.count
    found = time_step(x.model, x.inertias, *state, friction=x.friction)
    x.checks.append(found.doubt)
    return found[:-1]


def _stage(method: Method) -> Algorithm:
    def stage(x: Inputs) -> Any:
        (step,), limits = x.step, (x.lower, x.upper)
        state = x.q, x.v, x.a, x.tau, step, limits, x.stages, x.count
        return runge_kutta_stage(method, x.model, x.inertias, *state, friction=x.friction)

    return stage


def _forward(x: Inputs) -> Any:
    return [forward_dynamics(x.model, x.inertias, x.q, x.v, x.tau, x.wrenches, x.friction)]


def _hybrid(x: Inputs) -> Any:
    return hybrid_dynamics(x.model, x.inertias, x.q, x.v, x.a, x.tau, x.prescribed, x.wrenches, x.friction)


def _inverse_derivatives(x: Inputs) -> Any:
    return map(flat, inverse_dynamics_derivatives(x.model, x.inertias, x.q, x.v, x.a, x.wrenches, x.friction))


def _forward_derivatives(x: Inputs) -> Any:
    return forward_dynamics_derivatives(x.model, x.inertias, x.q, x.v, x.tau, x.wrenches, x.friction)


def _hybrid_derivatives(x: Inputs) -> Any:
    inputs = (x.q, x.v, x.a, x.tau, x.prescribed)
    return hybrid_dynamics_derivatives(x.model, x.inertias, *inputs, x.wrenches, x.friction)


def _mass_matrix_inverse(x: Inputs) -> Any:
    return mass_factor.mass_matrix_inverse(x.model, x.inertias, x.q)


def _mass_factor(x: Inputs) -> Any:
    return [flat(mass_factor.mass_factor(x.model, x.inertias, x.q))]


def _factor(product: str) -> Algorithm:
    return lambda x: [getattr(mass_factor_products(x.model, x.inertias, x.q), product)(x.x)]


def _quasi_velocity_coriolis(x: Inputs) -> Any:
    return [flat(quasi_velocity_coriolis(x.model, x.inertias, x.q, x.v))]


def _joint_reactions(x: Inputs) -> Any:
    return [flat(joint_reactions(x.model, x.inertias, x.q, x.v, x.a, x.wrenches))]


def _joint_reaction_derivatives(x: Inputs) -> Any:
    found = joint_reaction_derivatives(x.model, x.inertias, x.q, x.v, x.a, x.wrenches)
    return [[entry for columns in bodies for entry in rows_of(columns)] for bodies in found]


def _coriolis_matrix(x: Inputs) -> Any:
    return [flat(coriolis_matrix(x.model, x.inertias, x.q, x.v))]


def _momentum(x: Inputs) -> Any:
    return [momentum.momentum(x.model, x.inertias, x.fixed, x.q, x.v)]


def _centroidal_momentum_matrix(x: Inputs) -> Any:
    return [rows_of(momentum.centroidal_momentum_matrix(x.model, x.inertias, x.fixed, x.q))]


def _centroidal_momentum_bias(x: Inputs) -> Any:
    return [momentum.centroidal_momentum_bias(x.model, x.inertias, x.fixed, x.q, x.v)]


def _centroidal_momentum_derivatives(x: Inputs) -> Any:
    found = centroidal_momentum_derivatives(x.model, x.inertias, x.fixed, x.q, x.v, x.a)
    return map(rows_of, found)


def _center_of_mass_derivatives(x: Inputs) -> Any:
    return map(rows_of, center_of_mass_derivatives(x.model, x.inertias, x.fixed, x.q, x.v, x.a))


def _potential_energy(x: Inputs) -> Any:
    return [[energy.potential_energy(x.model, x.inertias, x.fixed, x.q)]]


def _center_of_mass_jacobian(x: Inputs) -> Any:
    return [rows_of(center_of_mass_jacobian(x.model, x.inertias, x.fixed, x.q))]


def _center_of_mass_jacobian_dot(x: Inputs) -> Any:
    return [rows_of(center_of_mass_jacobian_dot(x.model, x.inertias, x.fixed, x.q, x.v))]


def _pose(x: Inputs) -> Any:
    pose = frames.frame_pose(x.model, x.q, x.frame)
    r, p = pose.rotation, pose.p
    return [[*r[0:3], p[0], *r[3:6], p[1], *r[6:9], p[2], 0.0, 0.0, 0.0, 1.0]]


def _inverse_kinematics_step(x: Inputs) -> Any:
    return several_frames.several_frames_step(x, [x.frame])


#: steps of a simulation are parts of this package's own loops
STEPS = ("free_base_step", "time_step", "explicit_euler_stage", "rk4_stage")
_OF_STAGES = (
    "q v a tau step lower upper stages count inertia",
    "q_after v_after a_after stages_after count_after",
)

CATALOG: dict[str, Entry] = {
    "inverse_dynamics": Entry("q v a inertia", "tau", lambda x: [x.inverse_dynamics(x.v, x.a)], wrenches=True),
    "forward_dynamics": Entry("q v tau inertia", "a", _forward, wrenches=True),
    "hybrid_dynamics": Entry("q v a tau prescribed inertia", "a tau", _hybrid, wrenches=True),
    "free_base_step": Entry("q v reached_velocity step inertia", "q_after v_after change", _free_base_step),
    "time_step": Entry(
        "q v a tau step lower upper side count inertia", "q_after v_after a_after side_after count_after", _time_step
    ),
    "explicit_euler_stage": Entry(*_OF_STAGES, _stage(EXPLICIT_EULER)),
    "rk4_stage": Entry(*_OF_STAGES, _stage(RK4)),
    "mass_matrix": Entry("q inertia", "M", lambda x: [flat(x.mass_matrix())]),
    "inverse_dynamics_derivatives": Entry("q v a inertia", "dq dv da", _inverse_derivatives, wrenches=True),
    "forward_dynamics_derivatives": Entry("q v tau inertia", "dq dv dtau", _forward_derivatives, wrenches=True),
    "hybrid_dynamics_derivatives": Entry(
        "q v a tau prescribed inertia",
        "a_dq a_dv a_dinput tau_dq tau_dv tau_dinput",
        _hybrid_derivatives,
        wrenches=True,
    ),
    "mass_matrix_inverse": Entry("q inertia", "M", _mass_matrix_inverse),
    "mass_factor": Entry("q inertia", "M", _mass_factor),
    "factor_apply": Entry("q x inertia", "product", _factor("times")),
    "factor_apply_transposed": Entry("q x inertia", "product", _factor("times_transposed")),
    "factor_solve": Entry("q x inertia", "product", _factor("solve")),
    "factor_solve_transposed": Entry("q x inertia", "product", _factor("solve_transposed")),
    "quasi_velocity_coriolis": Entry("q v inertia", "M", _quasi_velocity_coriolis),
    "joint_reactions": Entry("q v a inertia", "reactions", _joint_reactions, wrenches=True),
    "joint_reaction_derivatives": Entry(
        "q v a inertia", "reactions_dq reactions_dv reactions_da", _joint_reaction_derivatives, wrenches=True
    ),
    "coriolis_matrix": Entry("q v inertia", "M", _coriolis_matrix),
    "regressor": Entry("q v a", "regressor", lambda x: [flat(regressor(x.model, x.q, x.v, x.a))]),
    "kinetic_energy_regressor": Entry(
        "q v", "energy_regressor", lambda x: [kinetic_energy_regressor(x.model, x.q, x.v)]
    ),
    "potential_energy_regressor": Entry("q", "energy_regressor", lambda x: [potential_energy_regressor(x.model, x.q)]),
    "momentum": Entry("q v inertia fixed_inertia", "momentum", _momentum),
    "centroidal_momentum_matrix": Entry("q inertia fixed_inertia", "J", _centroidal_momentum_matrix),
    "centroidal_momentum_bias": Entry("q v inertia fixed_inertia", "momentum", _centroidal_momentum_bias),
    "centroidal_momentum_derivatives": Entry(
        "q v a inertia fixed_inertia", "momentum_dq rate_dq rate_dv", _centroidal_momentum_derivatives
    ),
    "bias": Entry("q v inertia", "tau", lambda x: [x.bias()]),
    "gravity": Entry("q inertia", "tau", _gravity),
    "coriolis": Entry("q v inertia", "tau", _coriolis),
    "friction": Entry("v", "tau", lambda x: [passive_forces.friction_torque(x.model, x.v)]),
    "springs": Entry("q", "tau", lambda x: [passive_forces.spring_torque(x.model, x.q)]),
    "kinetic_energy": Entry(
        "q v inertia", "energy", lambda x: [[energy.kinetic_energy(x.model, x.inertias, x.q, x.v)]]
    ),
    "potential_energy": Entry("q inertia fixed_inertia", "energy", _potential_energy),
    "center_of_mass": Entry(
        "q inertia fixed_inertia", "point", lambda x: [energy.center_of_mass(x.model, x.inertias, x.fixed, x.q)]
    ),
    "center_of_mass_jacobian": Entry("q inertia fixed_inertia", "point_J", _center_of_mass_jacobian),
    "center_of_mass_jacobian_dot": Entry("q v inertia fixed_inertia", "point_J", _center_of_mass_jacobian_dot),
    "center_of_mass_derivatives": Entry(
        "q v a inertia fixed_inertia", "velocity_dq acceleration_dq acceleration_dv", _center_of_mass_derivatives
    ),
    "pose": Entry("q", "pose", _pose, of="frame"),
    "inverse_kinematics_step": Entry(
        several_frames.INPUTS, several_frames.OUTPUTS, _inverse_kinematics_step, of="frame"
    ),
}

CATALOG |= OF_FRAMES

#: of these there are directional derivatives, too
CATALOG |= {
    f"{name}_along": directional(CATALOG[name])
    for name in CATALOG
    if name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
    or name.startswith("inverse_effective_inertia")
}
