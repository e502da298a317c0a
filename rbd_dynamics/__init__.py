# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics for torque-controlled robots, with and without ROS 2.

Names are imported when they are first used: importing the package costs next to nothing.

`load`, of any format, `load_urdf`, `load_yaml` and `ModelBuilder` make a `Model`; `Robot` computes with it, under a
`ConstraintSet` too. Beside them:

- `spatial`: the algebra; `theory`: screws and other textbook forms to check against;
- `analysis`: `operational_space`, `sensitivity`, `base_parameters`;
- `actuators`: motors, elastic joints and rotors;
- `collisions`: contact between bodies with shapes;
- `control`, `simulation`, `replay`, `joint_states`: laws, simulators, recordings, joint states by name;
- `trajectories`: checked against limits, and retimed to the fastest motion;
- `show`: the robot in 3-D, as a page and in notebooks;
- `write_urdf`, `write_sdf`, `write_mjcf`, `save_yaml` and `model_to_dict`: a model as a file, or as plain data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

import rbd_dynamics.common.imported  # noqa: F401 - first, for it takes the time
from rbd_dynamics.common.process.early_signals import heed_early_signals

heed_early_signals()  # before all that takes time

from rbd_dynamics.common import machine_code
from rbd_dynamics.common.process.on_demand import on_demand


def _kernel_of(*formula: Any) -> Any:
    from rbd_dynamics.compiler.formulas import kernel_of  # with the first kernel that is asked for

    return kernel_of(*formula)


machine_code.maker = _kernel_of

if TYPE_CHECKING:
    from rbd_dynamics import (
        actuators,
        analysis,
        collisions,
        constraints,
        control,
        joint_states,
        joints,
        replay,
        simulation,
        spatial,
        theory,
        trajectories,
        viewer,
    )
    from rbd_dynamics.analysis import base_parameters, operational_space, sensitivity
    from rbd_dynamics.constraints import Constrained, ConstraintSet
    from rbd_dynamics.formats import (
        load,
        model_to_mjcf,
        model_to_sdf,
        model_to_urdf,
        write_mjcf,
        write_sdf,
        write_urdf,
    )
    from rbd_dynamics.model import (
        Coulomb,
        Damping,
        Drive,
        Limits,
        Mimic,
        Model,
        ModelBuilder,
        ModelError,
        PolynomialDamping,
        PolynomialSpring,
        Spring,
        load_urdf,
        load_yaml,
        model_from_dict,
        model_to_dict,
        passive_forces,
        save_yaml,
    )
    from rbd_dynamics.robot import Robot
    from rbd_dynamics.viewer import show
else:
    __getattr__, __dir__ = on_demand(__name__, deprecated=("closed_forms", "screws"))

__all__ = [
    "Constrained",
    "ConstraintSet",
    "Coulomb",
    "Damping",
    "Drive",
    "Limits",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelError",
    "PolynomialDamping",
    "PolynomialSpring",
    "Robot",
    "Spring",
    "__version__",
    "actuators",
    "analysis",
    "base_parameters",
    "collisions",
    "constraints",
    "control",
    "joint_states",
    "joints",
    "load",
    "load_urdf",
    "load_yaml",
    "model_from_dict",
    "model_to_dict",
    "model_to_mjcf",
    "model_to_sdf",
    "model_to_urdf",
    "operational_space",
    "passive_forces",
    "replay",
    "save_yaml",
    "sensitivity",
    "show",
    "simulation",
    "spatial",
    "theory",
    "trajectories",
    "viewer",
    "write_mjcf",
    "write_sdf",
    "write_urdf",
]
