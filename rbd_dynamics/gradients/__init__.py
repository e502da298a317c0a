# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot with derivatives of every order, for libraries that differentiate.

`Functions` is the list of them; `rbd_dynamics.jax`, `rbd_dynamics.torch` and `rbd_dynamics.casadi` give it to those
libraries. `Operation` is one function as a program with its derivatives; `transforms` differentiates programs.
"""

from rbd_dynamics.gradients.functions import Functions
from rbd_dynamics.gradients.operation import Operation
from rbd_dynamics.gradients.robot_operations import RobotOperations

__all__ = ["Functions", "Operation", "RobotOperations"]
