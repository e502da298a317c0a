# SPDX-License-Identifier: Apache-2.0
"""Fields of a compiled MJCF: those that not every version of MuJoCo has, and numbers that no model can have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.formats.mjcf_names import Names, name_of
from rbd_dynamics.model.errors import Findings

#: what is read of each body, joint and degree of freedom
_BODY = ("pos", "quat", "ipos", "iquat", "mass", "inertia", "gravcomp")
_JOINT = ("pos", "axis", "range", "stiffness", "stiffnesspoly", "actfrcrange")
_DOF = ("damping", "dampingpoly", "frictionloss", "armature")
_NOT_NEGATIVE = ("frictionloss", "armature")


def row(m: Any, key: str, k: int) -> NDArray[np.float64]:
    """The k-th row of a field, flat; empty where this version has no such field."""
    values = getattr(m, key, None)
    return np.zeros(0) if values is None or len(values) <= k else np.array(values[k], dtype=float).ravel()


def acts(m: Any, key: str, k: int) -> bool:
    """Whether there is such a field and its k-th row is not zero."""
    return bool(np.any(row(m, key, k)))


def check_numbers(m: Any, names: Names, findings: Findings) -> None:
    """An error for each that is not finite or, where that has no meaning, negative: MuJoCo lets them pass."""
    _check(m.opt.gravity, "option", "gravity", findings)
    for k in range(m.nbody):
        for key in _BODY:
            _check(row(m, f"body_{key}", k), f"body {names.body(k)!r}", key, findings)
    for j in range(m.njnt):
        where, at = f"joint {names.joint(j)!r}", int(m.jnt_qposadr[j])
        for key in _JOINT:
            _check(row(m, f"jnt_{key}", j), where, key, findings)
        _check(m.qpos0[at : at + 1], where, "ref", findings)
        _check(m.qpos_spring[at : at + 1], where, "springref", findings)
        for key in _DOF:
            _check(row(m, f"dof_{key}", int(m.jnt_dofadr[j])), where, key, findings)
    for k in range(m.neq):
        _check(m.eq_data[k], f"equality {name_of(m, 'eq', k) or str(k + 1)!r}", "data", findings)
    for name, _, position, quaternion in names.sites():
        _check(np.append(position, quaternion), f"site {name!r}", "pose", findings)
    for key in ("gear", "forcerange", "ctrlrange", "armature", "damping", "dampingpoly", "gainprm"):
        for k, values in enumerate(getattr(m, f"actuator_{key}", ())):
            _check(values, f"actuators, row {k}", key, findings)


def _check(values: Any, where: str, key: str, findings: Findings) -> None:
    if not np.all(np.isfinite(values)):
        findings.error(where, f"{key} is not finite")
    elif key in _NOT_NEGATIVE and np.any(np.asarray(values) < 0.0):
        findings.error(where, f"{key} {float(np.min(values)):g} is negative")
