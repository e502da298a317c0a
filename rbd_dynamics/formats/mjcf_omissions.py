# SPDX-License-Identifier: Apache-2.0
"""What acts in a compiled MJCF and not here: each is a defect of the model, an error when strict, else a warning.

What a file has and is never read, `mjcf_vocabulary` knows by its name. Here is what counts in one place and not in
another: that depends on the kind of a joint, on flags, and on the rest of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbd_dynamics.formats.mjcf_fields import acts
from rbd_dynamics.formats.mjcf_flags import Flags
from rbd_dynamics.formats.mjcf_names import Names
from rbd_dynamics.model.errors import Findings

_LEFT_OUT = "it is left out"
_FREE, _BALL = 0, 1  # mjtJoint


def report_omissions(m: Any, names: Names, flags: Flags, findings: Findings) -> None:
    """Add a defect for each, but for gravity compensation (`gravity_of`)."""
    for j in range(m.njnt):
        _report_joint(m, j, f"joint {names.joint(j)!r}", flags, findings)
    for k in range(1, m.nbody):
        if int(m.body_mocapid[k]) >= 0:
            findings.defect(f"body {names.body(k)!r}", "is moved by motion capture, it stays where the file puts it")
    if len(m.actuator_trntype) and not flags.actuation:
        findings.defect("option", "disables actuation, limits and inertia of actuators are those of actuators that act")


def gravity_of(m: Any, names: Names, flags: Flags, findings: Findings) -> tuple[float, float, float]:
    """Less what is compensated, where that is the same share of all that moves; otherwise that is a defect."""
    x, y, z = (float(entry) if flags.gravity else 0.0 for entry in m.opt.gravity)
    share = m.body_gravcomp
    if not (flags.passive and any((x, y, z)) and np.any(share)):
        return x, y, z
    moving = [k for k in range(1, m.nbody) if m.body_weldid[k] and m.body_mass[k]]
    supported = [k for k in moving if share[k]]
    by_actuators = bool(np.any(getattr(m, "jnt_actgravcomp", False)))
    if supported and not by_actuators and np.ptp(share[moving]) == 0.0:
        rest = 1.0 - float(share[moving[0]])
        findings.note("option", f"gravity is {rest:g} of what the file says: the rest is compensated (gravcomp)")
        return rest * x, rest * y, rest * z
    for k in supported:
        findings.defect(f"body {names.body(k)!r}", f"has gravity compensation, {_LEFT_OUT}")
    return x, y, z


def _report_joint(m: Any, j: int, where: str, flags: Flags, findings: Findings) -> None:
    kind, dof = int(m.jnt_type[j]), int(m.jnt_dofadr[j])
    stiff = acts(m, "jnt_stiffness", j) or acts(m, "jnt_stiffnesspoly", j)
    if kind not in (_FREE, _BALL):
        return
    if flags.springs and stiff:
        findings.defect(where, f"is free or a ball and has a spring, {_LEFT_OUT}")
    if flags.limits and m.jnt_limited[j]:
        findings.defect(where, f"is a ball and has a range, {_LEFT_OUT}")
    if kind == _BALL:
        return
    # along the world's axes there, along the body's own axes here: the same only for what is linear in the speed
    if m.dof_armature[dof]:
        findings.defect(where, "is free and has an armature, it moves along with the body's own axes here")
    if flags.friction and m.dof_frictionloss[dof]:
        findings.defect(where, "is free and has friction, it acts along the body's own axes here")
    if flags.dampers and acts(m, "dof_dampingpoly", dof):
        findings.defect(where, "is free and has a damping that is a polynomial, it acts along the body's own axes here")
