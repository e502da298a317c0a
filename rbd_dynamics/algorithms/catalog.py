# SPDX-License-Identifier: Apache-2.0
"""The algorithms as the compiler and `Robot` see them: named functions of vectors.

An entry says which vectors go in and out for a model and calls the algorithm. To make a new
algorithm a kernel, add a function and a line to `CATALOG` here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.algorithms import energy, frames, mass_factor, momentum
from rbd_dynamics.algorithms.center_of_mass import center_of_mass_jacobian, center_of_mass_jacobian_dot
from rbd_dynamics.algorithms.coriolis_matrix import coriolis_matrix
from rbd_dynamics.algorithms.effective_inertia import inverse_effective_inertia
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.algorithms.factor_products import mass_factor_products
from rbd_dynamics.algorithms.frame_derivatives import frame_derivatives
from rbd_dynamics.algorithms.hybrid_dynamics import forward_dynamics, hybrid_dynamics
from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import (
    forward_dynamics_derivatives,
    hybrid_dynamics_derivatives,
)
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics, joint_reactions
from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from rbd_dynamics.algorithms.joint_friction import joint_friction, joint_friction_slope
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.quasi_velocities import quasi_velocity_coriolis
from rbd_dynamics.algorithms.regressor import (
    kinetic_energy_regressor,
    potential_energy_regressor,
    regressor,
)
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal, sqrt, where
from rbd_dynamics.spatial.se3 import Vec6

Vector = Sequence[Scalar]

#: vectors that hold so many numbers for each body
_PER_BODY = {"inertia": 10, "f_ext": 6, "F": 6, "Y": 10, "y": 10}

#: how far from 1 the norm of a quaternion may be before it is an error
QUATERNION_TOLERANCE = 1e-2


class Inputs:
    """The input vectors of one call, as the algorithms want them."""

    def __init__(self, model: Model, vectors: dict[str, Vector]) -> None:
        self._vectors = vectors
        self.checks: list[Scalar] = []
        if "q" in vectors:
            self.q = self._with_unit_quaternions(model, vectors["q"])

    def __getattr__(self, name: str) -> Any:
        return self._vectors[name]

    @property
    def inertias(self) -> list[RigidInertia]:
        numbers = self._vectors["inertia"]
        return [RigidInertia.from_parameters(tuple(numbers[k : k + 10])) for k in range(0, len(numbers), 10)]

    @property
    def fixed_inertia(self) -> RigidInertia:
        """Of what is fixed to the world, at its origin."""
        return RigidInertia.from_parameters(tuple(self._vectors["fixed"]))

    @property
    def wrenches(self) -> list[Vec6] | None:
        numbers = self._vectors.get("f_ext")
        if numbers is None:
            return None
        return [tuple(numbers[k : k + 6]) for k in range(0, len(numbers), 6)]

    def _with_unit_quaternions(self, model: Model, q: Vector) -> list[Scalar]:
        """q with normalised quaternions; a norm far from 1 fails a check."""
        unit = list(q)
        for joint in model.joints:
            part = joint.kind.quaternion
            if part is not None:
                positions = range(joint.q_index + part.start, joint.q_index + part.stop)
                square = sum((unit[k] * unit[k] for k in positions), 0.0)
                self.checks.append((square - 1.0) * (0.5 / QUATERNION_TOLERANCE))
                scale = reciprocal(sqrt(square))
                for k in positions:
                    unit[k] = scale * unit[k]
        return unit


def _inverse(model: Model, x: Inputs, friction: bool) -> Any:
    tau = inverse_dynamics(model, x.inertias, x.q, x.v, x.a, x.wrenches)
    return [_plus_friction(model, tau, x.v) if friction else tau]


def _bias(model: Model, x: Inputs, friction: bool) -> Any:
    tau = inverse_dynamics(model, x.inertias, x.q, x.v, [0.0] * model.nv)
    return [_plus_friction(model, tau, x.v) if friction else tau]


def _gravity(model: Model, x: Inputs, friction: bool) -> Any:
    rest = [0.0] * model.nv
    return [inverse_dynamics(model, x.inertias, x.q, rest, rest)]


def _coriolis(model: Model, x: Inputs, friction: bool) -> Any:
    return [inverse_dynamics(model, x.inertias, x.q, x.v, [0.0] * model.nv, gravity=False)]


def _forward(model: Model, x: Inputs, friction: bool) -> Any:
    tau = _minus_friction(model, x.tau, x.v) if friction else x.tau
    return [forward_dynamics(model, x.inertias, x.q, x.v, tau, x.wrenches)]


def _hybrid(model: Model, x: Inputs, friction: bool) -> Any:
    tau = _minus_friction(model, x.tau, x.v) if friction else x.tau
    prescribed = x.prescribed
    qdd, torque = hybrid_dynamics(model, x.inertias, x.q, x.v, x.a, tau, prescribed, x.wrenches)
    if friction:  # a given torque comes back as it was given
        pairs = zip(prescribed, _plus_friction(model, torque, x.v), x.tau)
        torque = [where(is_prescribed, found, given) for is_prescribed, found, given in pairs]
    return [qdd, torque]


def _inverse_derivatives(model: Model, x: Inputs, friction: bool) -> Any:
    dq, dv, da = inverse_dynamics_derivatives(model, x.inertias, x.q, x.v, x.a)
    if friction:
        for dof, slope in enumerate(joint_friction_slope(model, x.v)):
            dv[dof][dof] = dv[dof][dof] + slope
    return [_flat(matrix) for matrix in (dq, dv, da)]


def _forward_derivatives(model: Model, x: Inputs, friction: bool) -> Any:
    tau = _minus_friction(model, x.tau, x.v) if friction else x.tau
    slopes = joint_friction_slope(model, x.v) if friction else None
    matrices = forward_dynamics_derivatives(model, x.inertias, x.q, x.v, tau, slopes)
    return [_flat(matrix) for matrix in matrices]


def _hybrid_derivatives(model: Model, x: Inputs, friction: bool) -> Any:
    tau = _minus_friction(model, x.tau, x.v) if friction else x.tau
    slopes = joint_friction_slope(model, x.v) if friction else None
    matrices = hybrid_dynamics_derivatives(model, x.inertias, x.q, x.v, x.a, tau, x.prescribed, slopes)
    return [_flat(matrix) for matrix in matrices]


def _mass_matrix(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(mass_matrix(model, x.inertias, x.q))]


def _mass_matrix_inverse(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(mass_factor.mass_matrix_inverse(model, x.inertias, x.q))]


def _mass_factor(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(mass_factor.mass_factor(model, x.inertias, x.q))]


def _factor_apply(model: Model, x: Inputs, friction: bool) -> Any:
    return [mass_factor_products(model, x.inertias, x.q).times(x.x)]


def _factor_apply_transposed(model: Model, x: Inputs, friction: bool) -> Any:
    return [mass_factor_products(model, x.inertias, x.q).times_transposed(x.x)]


def _factor_solve(model: Model, x: Inputs, friction: bool) -> Any:
    return [mass_factor_products(model, x.inertias, x.q).solve(x.x)]


def _factor_solve_transposed(model: Model, x: Inputs, friction: bool) -> Any:
    return [mass_factor_products(model, x.inertias, x.q).solve_transposed(x.x)]


def _quasi_velocity_coriolis(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(quasi_velocity_coriolis(model, x.inertias, x.q, x.v))]


def _joint_reactions(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(joint_reactions(model, x.inertias, x.q, x.v, x.a, x.wrenches))]


def _coriolis_matrix(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(coriolis_matrix(model, x.inertias, x.q, x.v))]


def _regressor(model: Model, x: Inputs, friction: bool) -> Any:
    return [_flat(regressor(model, x.q, x.v, x.a))]


def _kinetic_energy_regressor(model: Model, x: Inputs, friction: bool) -> Any:
    return [kinetic_energy_regressor(model, x.q, x.v)]


def _potential_energy_regressor(model: Model, x: Inputs, friction: bool) -> Any:
    return [potential_energy_regressor(model, x.q)]


def _momentum(model: Model, x: Inputs, friction: bool) -> Any:
    return [momentum.momentum(model, x.inertias, x.q, x.v)]


def _centroidal_momentum_matrix(model: Model, x: Inputs, friction: bool) -> Any:
    return [_rows(momentum.centroidal_momentum_matrix(model, x.inertias, x.q))]


def _centroidal_momentum_bias(model: Model, x: Inputs, friction: bool) -> Any:
    return [momentum.centroidal_momentum_bias(model, x.inertias, x.q, x.v)]


def _friction(model: Model, x: Inputs, friction: bool) -> Any:
    return [joint_friction(model, x.v)]


def _kinetic_energy(model: Model, x: Inputs, friction: bool) -> Any:
    return [[energy.kinetic_energy(model, x.inertias, x.q, x.v)]]


def _potential_energy(model: Model, x: Inputs, friction: bool) -> Any:
    return [[energy.potential_energy(model, x.inertias, x.fixed_inertia, x.q)]]


def _center_of_mass(model: Model, x: Inputs, friction: bool) -> Any:
    return [energy.center_of_mass(model, x.inertias, x.fixed_inertia, x.q)]


def _center_of_mass_jacobian(model: Model, x: Inputs, friction: bool) -> Any:
    return [_rows(center_of_mass_jacobian(model, x.inertias, x.fixed_inertia, x.q))]


def _center_of_mass_jacobian_dot(model: Model, x: Inputs, friction: bool) -> Any:
    return [_rows(center_of_mass_jacobian_dot(model, x.inertias, x.fixed_inertia, x.q, x.v))]


def _pose(model: Model, x: Inputs, friction: bool, frame: str) -> Any:
    pose = frames.frame_pose(model, x.q, model.frame(frame))
    r, p = pose.rotation, pose.p
    return [[*r[0:3], p[0], *r[3:6], p[1], *r[6:9], p[2], 0.0, 0.0, 0.0, 1.0]]


def _jacobian(model: Model, x: Inputs, friction: bool, frame: str) -> Any:
    return [_rows(frames.frame_jacobian(model, x.q, model.frame(frame)))]


def _jacobian_dot(model: Model, x: Inputs, friction: bool, frame: str) -> Any:
    return [_rows(frames.frame_jacobian_dot(model, x.q, x.v, model.frame(frame)))]


def _frame_derivatives(model: Model, x: Inputs, friction: bool, frame: str) -> Any:
    return [_rows(columns) for columns in frame_derivatives(model, x.q, x.v, x.a, model.frame(frame))]


def _inverse_effective_inertia(model: Model, x: Inputs, friction: bool, frame: str) -> Any:
    return [_flat(inverse_effective_inertia(model, x.inertias, x.q, model.frame(frame)))]


#: name -> (inputs, outputs, function); the names of vectors stand for shapes, see `_shape`
CATALOG: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "inverse_dynamics": ("q v a inertia", "tau", _inverse),
    "inverse_dynamics_f_ext": ("q v a f_ext inertia", "tau", _inverse),
    "forward_dynamics": ("q v tau inertia", "a", _forward),
    "forward_dynamics_f_ext": ("q v tau f_ext inertia", "a", _forward),
    "hybrid_dynamics": ("q v a tau prescribed inertia", "a tau", _hybrid),
    "hybrid_dynamics_f_ext": ("q v a tau prescribed f_ext inertia", "a tau", _hybrid),
    "mass_matrix": ("q inertia", "M", _mass_matrix),
    "inverse_dynamics_derivatives": ("q v a inertia", "dq dv da", _inverse_derivatives),
    "forward_dynamics_derivatives": ("q v tau inertia", "dq dv dtau", _forward_derivatives),
    "hybrid_dynamics_derivatives": (
        "q v a tau prescribed inertia",
        "a_dq a_dv a_dinput tau_dq tau_dv tau_dinput",
        _hybrid_derivatives,
    ),
    "mass_matrix_inverse": ("q inertia", "M", _mass_matrix_inverse),
    "mass_factor": ("q inertia", "M", _mass_factor),
    "factor_apply": ("q x inertia", "product", _factor_apply),
    "factor_apply_transposed": ("q x inertia", "product", _factor_apply_transposed),
    "factor_solve": ("q x inertia", "product", _factor_solve),
    "factor_solve_transposed": ("q x inertia", "product", _factor_solve_transposed),
    "quasi_velocity_coriolis": ("q v inertia", "M", _quasi_velocity_coriolis),
    "joint_reactions": ("q v a inertia", "F", _joint_reactions),
    "joint_reactions_f_ext": ("q v a f_ext inertia", "F", _joint_reactions),
    "coriolis_matrix": ("q v inertia", "M", _coriolis_matrix),
    "regressor": ("q v a", "Y", _regressor),
    "kinetic_energy_regressor": ("q v", "y", _kinetic_energy_regressor),
    "potential_energy_regressor": ("q", "y", _potential_energy_regressor),
    "momentum": ("q v inertia", "momentum", _momentum),
    "centroidal_momentum_matrix": ("q inertia", "J", _centroidal_momentum_matrix),
    "centroidal_momentum_bias": ("q v inertia", "momentum", _centroidal_momentum_bias),
    "bias": ("q v inertia", "tau", _bias),
    "gravity": ("q inertia", "tau", _gravity),
    "coriolis": ("q v inertia", "tau", _coriolis),
    "friction": ("v", "tau", _friction),
    "kinetic_energy": ("q v inertia", "energy", _kinetic_energy),
    "potential_energy": ("q inertia fixed", "energy", _potential_energy),
    "center_of_mass": ("q inertia fixed", "point", _center_of_mass),
    "center_of_mass_jacobian": ("q inertia fixed", "Jc", _center_of_mass_jacobian),
    "center_of_mass_jacobian_dot": ("q v inertia fixed", "Jc", _center_of_mass_jacobian_dot),
    # for a frame, named after a colon: "pose:tool0"
    "pose": ("q", "T", _pose),
    "jacobian": ("q", "J", _jacobian),
    "jacobian_dot": ("q v", "J", _jacobian_dot),
    "frame_derivatives": ("q v a", "twist_J rate_q_J rate_v_J", _frame_derivatives),
    "inverse_effective_inertia": ("q inertia", "L", _inverse_effective_inertia),
}

_OF_A_FRAME = ("pose", "jacobian", "jacobian_dot", "frame_derivatives", "inverse_effective_inertia")


def specialise(model: Model, name: str, friction: bool) -> tuple[Signature, Function]:
    """Signature and function of an algorithm for one model. Raises KeyError for an unknown name.

    The algorithm sees the expanded tree, in which chains are single joints; what goes in and out
    is for the bodies of the model itself.
    """
    base, _, frame = name.partition(":")
    if base not in CATALOG or bool(frame) != (base in _OF_A_FRAME):
        frames_hint = ", ".join(f"{base}:FRAME" for base in _OF_A_FRAME)
        known = ", ".join(other for other in CATALOG if other not in _OF_A_FRAME)
        raise KeyError(f"no algorithm named {name!r}; known: {known}, {frames_hint}")
    inputs, outputs, algorithm = CATALOG[base]
    signature = Signature(
        tuple(_argument(model, word) for word in inputs.split()),
        tuple(_argument(model, word) for word in outputs.split()),
    )
    options = {"frame": frame} if frame else {}
    into, out_of = inputs.split(), outputs.split()
    tree = expanded(model)

    def function(*vectors: Vector) -> list[Vector]:
        spread = [tree.spread(x, _PER_BODY[word]) if word in _PER_BODY else x for word, x in zip(into, vectors)]
        given = Inputs(tree.model, dict(zip(into, spread)))
        results = algorithm(tree.model, given, friction, **options)
        own = [tree.gather(y, _PER_BODY[word]) if word in _PER_BODY else y for word, y in zip(out_of, results)]
        return [*own, given.checks]

    return signature, function


def _argument(model: Model, word: str) -> Argument:
    """A vector or matrix by its name; derivatives end in _d..., Jacobian-like matrices in J."""
    bodies, nv = len(model.bodies), model.nv
    shapes = {
        "q": (model.nq,), "f_ext": (bodies, 6), "inertia": (bodies, 10), "fixed": (10,), "M": (nv, nv), "T": (4, 4),
        "Y": (nv, 10 * bodies), "y": (10 * bodies,), "energy": (), "point": (3,), "momentum": (6,),
        "Jc": (3, nv), "F": (bodies, 6), "L": (6, 6),
    }  # fmt: skip
    if word.endswith("J"):
        shape: tuple[int, ...] = (6, nv)
    elif word.rpartition("_")[2].startswith("d"):
        shape = (nv, nv)
    else:
        shape = shapes.get(word, (nv,))
    return Argument(word, shape, shared=word in ("inertia", "fixed"), boolean=word == "prescribed")


def _plus_friction(model: Model, tau: Vector, v: Vector) -> list[Scalar]:
    return [t + f for t, f in zip(tau, joint_friction(model, v))]


def _minus_friction(model: Model, tau: Vector, v: Vector) -> list[Scalar]:
    return [t - f for t, f in zip(tau, joint_friction(model, v))]


def _flat(matrix: Sequence[Vector]) -> list[Scalar]:
    return [entry for row in matrix for entry in row]


def _rows(columns: Sequence[Vector]) -> list[Scalar]:
    return [entry for row in zip(*columns) for entry in row]
