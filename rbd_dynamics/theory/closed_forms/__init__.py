# SPDX-License-Identifier: Apache-2.0
"""The equations of motion in closed form: definitions to check against and to explain with.

`Robot` computes the same quantities by recursions at control rate. Here are the formulas of the
sources, over NumPy arrays, one sample at a time:

- `product_of_exponentials`: kinematics by screws;
- `lagrange`: mass matrix as sums, its partial derivatives, Christoffel symbols;
- `stacked`: the recursions as sparse operators over all bodies;
- `quasi_velocities`: dynamics in which the mass matrix is the identity;
- `floating_base`: quaternion kinematics, manipulator form, Hamel's equations.
"""

from rbd_dynamics.theory.closed_forms.floating_base import (
    HamelTerms,
    ManipulatorForm,
    configuration_rate,
    hamel_equations,
    kinematics_jacobian,
    manipulator_form,
)
from rbd_dynamics.theory.closed_forms.lagrange import (
    christoffel_symbols,
    congruence_sum,
    mass_matrix_derivatives,
)
from rbd_dynamics.theory.closed_forms.product_of_exponentials import PoeKinematics
from rbd_dynamics.theory.closed_forms.quasi_velocities import QuasiVelocityDynamics, quasi_velocity_dynamics
from rbd_dynamics.theory.closed_forms.stacked import ArticulatedOperators, StackedOperators, adjacency

__all__ = [
    "ArticulatedOperators",
    "HamelTerms",
    "ManipulatorForm",
    "PoeKinematics",
    "QuasiVelocityDynamics",
    "StackedOperators",
    "adjacency",
    "christoffel_symbols",
    "configuration_rate",
    "congruence_sum",
    "hamel_equations",
    "kinematics_jacobian",
    "manipulator_form",
    "mass_matrix_derivatives",
    "quasi_velocity_dynamics",
]
