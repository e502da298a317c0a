# SPDX-License-Identifier: Apache-2.0
"""What is exported of an analysis: a model, offsets beside it, and the proof that it is not worse; or why it is not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import yaml

from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.analysis import Analysis
from rbd_dynamics.replay.diagnosis.consequences import reason
from rbd_dynamics.replay.identification import with_drives
from rbd_dynamics.replay.identification.estimates import plain
from rbd_dynamics.replay.identification.validation import Validation, joined

HEAD = """\
# Torque offsets, N m or N, that belong to corrected.urdf: the efforts of the robot less those of that model.
# rbd_dynamics replay RECORDING --urdf corrected.urdf --terms ...,friction --offsets offsets.yaml
"""


@dataclass(frozen=True)
class Export:
    """A model and the proof that it is not worse.

    Attributes:
        model: what a corrected description holds; offsets: {joint: N m or N} beside it.
        refused: why neither is written; empty where both are.
        inertias: whether the model has other inertias, or other friction and drives only.
        drives: joints with another rotor inertia or spring.
    """

    model: Model
    offsets: dict[str, float]
    validation: Validation | None
    refused: str
    inertias: bool
    drives: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON."""
        proof = None if self.validation is None else plain(self.validation)
        return {"offsets": dict(self.offsets), "validation": proof, "refused": self.refused or None}

    def offsets_yaml(self) -> str:
        """The text of a file that `--offsets` reads, and the node `feedforward`."""
        rounded = {name: float(f"{value:.6g}") for name, value in self.offsets.items()}
        return HEAD + yaml.safe_dump({"robot": self.model.name, "effort_offsets": rounded}, sort_keys=False)


def export_of(found: Analysis) -> Export:
    """What may be exported: inertias where they were asked for, else friction and drives, where these were."""
    model = found.robot.model
    if found.inertias is not None:
        result = found.inertias
        rotors = tuple(result.rotors)
        return Export(result.model, result.offsets, result.validation, result.refused, True, rotors)
    rubs, drives = found.friction, found.drives
    why = "" if found.diagnosis is None else reason(found.diagnosis)
    if why and not ((rubs and rubs.exported) or (drives and drives.exported)):
        return Export(model, {}, None, f"not exported: {why}", False)
    offsets: dict[str, float] = {}
    proof = None
    if rubs is not None:
        model, offsets, proof = rubs.model(model), dict(rubs.offsets), rubs.validation
    if drives is not None and drives.exported:
        model = with_drives(model, drives.exported)
        offsets |= {name: drive.offset for name, drive in drives.exported.items()}
        proof = _replaced(proof, drives.validation)
        return Export(model, offsets, proof, "", False, tuple(drives.exported))
    return Export(model, offsets, proof, "", False)


def _replaced(old: Validation | None, new: Validation | None) -> Validation | None:
    """The old figures, with those of the joints of the new one in their place."""
    if old is None or new is None:
        return new or old
    kept = [k for k, name in enumerate(old.joints) if name not in new.joints]
    lists: dict[str, Any] = {
        key: tuple(getattr(old, key)[k] for k in kept)
        for key in ("joints", "before", "base", "exported", "with_offsets", "torque")
    }
    return joined([replace(old, **lists), new])
