# SPDX-License-Identifier: Apache-2.0
"""A fit over many recordings as tables of plain text: (heads, rows) by title."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rbd_dynamics.common.pages.page import number
from rbd_dynamics.replay.identification import TogetherResult
from rbd_dynamics.replay.questions.estimates import estimate_cell

Table = tuple[Sequence[str], list[list[str]]]


def together_tables(found: TogetherResult) -> dict[str, Table]:
    """What transfers, each recording, each robot's friction, loads that were unknown."""
    tables: dict[str, Table] = {}
    if found.held_out:
        tables["What of the other recordings helps with one that was left out"] = (
            ("from the others", "RMSE without", "with", "helped", "transfers"),
            [
                [t.name, _percent(t.before), _percent(t.after), f"{t.helped} of {t.recordings}",
                 "yes" if t.transfers else "no"]
                for t in found.transfers
            ],
        )  # fmt: skip
        tables["Each recording, left out: RMSE in the RMS torque"] = (
            ("recording", "robot", "load", "description", "by the others", "with friction of its own"),
            [
                [h.recording, h.robot or "–", h.load, *(_percent(h.share(x)) for x in (h.before, h.after, h.own))]
                for h in found.held_out
            ],
        )
    tables["Friction"] = (
        ("robot", "joint", "offset", "Coulomb", "viscous"),
        [
            [f.robot or "–", f.joint, *(estimate_cell(part.to_dict()) for part in (f.offset, f.coulomb, f.viscous))]
            for f in found.friction
        ],
    )
    if found.loads:
        tables["Loads"] = (
            ("in", "frame", "mass", "x", "y", "z"),
            [
                [load.name, load.frame, *(estimate_cell(part.to_dict()) for part in (load.mass, *load.com))]
                for load in found.loads
            ],
        )
    known = sum(part.identifiable for part in found.base)
    tables[f"Inertias of all robots: {known} of {len(found.base)} base parameters identified"] = (
        ("base parameter", "identified", "in the given model"),
        [[part.name, estimate_cell(part.to_dict()), number(prior)] for part, prior in zip(found.base, found.prior)],
    )
    return tables


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %" if math.isfinite(share) else "–"
