# SPDX-License-Identifier: Apache-2.0
"""A model in a line, and as a table for notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from rbd_dynamics.common.excerpt import shortened

Model = Any  # a `model.Model`, which imports this file

LONGEST_NAME = 40  # characters
MOST_ROWS = 100


def in_a_line(model: Model) -> str:
    """The model in a line, as in: 'panda', fixed base, 7 joints (nq 7, nv 7), 7 moving bodies, 17.45 kg."""
    joints, bodies = len(model.joints), len(model.bodies)
    return (
        f"{shortened(model.name, LONGEST_NAME)!r}, {model.base} base, {joints} joint{'' if joints == 1 else 's'} "
        f"(nq {model.nq}, nv {model.nv}), {bodies} moving bod{'y' if bodies == 1 else 'ies'}, {model.mass:.4g} kg"
    )


def as_html(title: str, model: Model) -> str:
    """A table with a row for each joint: where it is in q and v, its kind and limits, the body it moves, its mass."""
    heads = ("q", "v", "joint", "kind", "position", "speed", "effort", "moves", "mass, kg")
    rows: list[Sequence[str]] = []
    for body in model.bodies[:MOST_ROWS]:
        joint = body.joint
        follows = joint.mimic is not None
        first = (
            "" if follows else _span(joint.q_index, joint.kind.nq),
            f"follows {joint.mimic.leader}" if joint.mimic is not None else _span(joint.v_index, joint.kind.nv),
        )
        rows.append((*first, joint.name, joint.kind.name, *_limits(joint), body.name, f"{body.inertia.mass:.4g}"))
    if len(model.bodies) > MOST_ROWS:
        rows.append(("...", "", f"and {len(model.bodies) - MOST_ROWS} more", *[""] * (len(heads) - 3)))
    if model.fixed_inertia.mass:
        rows.append(("", "", "", "", "", "", "", "fixed to the world", f"{model.fixed_inertia.mass:.4g}"))
    table = f"<thead>{_row('th', heads)}</thead><tbody>{''.join(_row('td', row) for row in rows)}</tbody>"
    return f"<div><b>{html.escape(title)}</b> {html.escape(in_a_line(model))}<table>{table}</table></div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(shortened(cell, 80))}</{tag}>' for cell in cells)}</tr>"


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _limits(joint: Any) -> tuple[str, str, str]:
    limits = joint.limits
    bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
    position = f"{limits.lower:.4g} .. {limits.upper:.4g}" if bounded else ""
    speed, effort = (f"{x:.4g}" if math.isfinite(x) else "" for x in (limits.velocity, limits.effort))
    return position, speed, effort
