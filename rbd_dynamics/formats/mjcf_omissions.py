# SPDX-License-Identifier: Apache-2.0
"""What acts in MuJoCo and not here: each is a defect of the model, an error when strict, else a warning."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbd_dynamics.formats.mjcf_names import Names
from rbd_dynamics.model.errors import Findings

_LEFT_OUT = "it is left out"
#: fields of the model, one row for each joint, tendon or body, that act where they are not zero, and what they are
_JOINT = {
    "jnt_stiffnesspoly": "a stiffness that is a polynomial",
    "jnt_springyield": "a spring that yields",
}
_TENDON = {
    "tendon_stiffness": "stiffness",
    "tendon_stiffnesspoly": "stiffness",
    "tendon_damping": "damping",
    "tendon_dampingpoly": "damping",
    "tendon_frictionloss": "friction",
    "tendon_armature": "armature",
}


def report_omissions(m: Any, names: Names, findings: Findings) -> None:
    """Add a defect for each."""
    for j in range(m.njnt):
        for key, what in _JOINT.items():
            if _acts(m, key, j):
                findings.defect(f"joint {names.joint(j)!r}", f"has {what}, {_LEFT_OUT}")
        dof = int(m.jnt_dofadr[j])
        if _acts(m, "dof_dampingpoly", dof):
            findings.defect(f"joint {names.joint(j)!r}", f"has a damping that is a polynomial, {_LEFT_OUT}")
        if int(m.jnt_type[j]) == 0 and m.dof_armature[dof]:
            findings.defect(
                f"joint {names.joint(j)!r}", "is free and has an armature", "it counts along the body's own axes here"
            )
    for k in range(1, m.nbody):
        if m.body_gravcomp[k]:
            findings.defect(f"body {names.body(k)!r}", f"has gravity compensation, {_LEFT_OUT}")
    for k in range(m.ntendon):
        acting = sorted({what for key, what in _TENDON.items() if _acts(m, key, k)})
        if acting:
            name = str(m.tendon(k).name) or str(k)
            findings.defect(f"tendon {name!r}", f"has {' and '.join(acting)}, {_LEFT_OUT}")
    if m.opt.density or m.opt.viscosity:
        findings.defect("option", f"has a medium (density or viscosity), {_LEFT_OUT}")
    if m.nflex:
        findings.defect("flex", f"deforms, {_LEFT_OUT}")
    if m.nplugin:
        findings.defect("plugin", f"may act, {_LEFT_OUT}")


def _acts(m: Any, key: str, k: int) -> bool:
    """Whether there is such a field, which depends on MuJoCo's version, and it is not zero."""
    values = getattr(m, key, None)
    return values is not None and len(values) > k and bool(np.any(values[k]))
