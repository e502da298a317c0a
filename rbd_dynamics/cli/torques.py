# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics torques`: inverse dynamics of one state, joint by joint."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.cli.sources import load_and_warn
from rbd_dynamics.cli.usage_error import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from rbd_dynamics.model.model import Joint, Model

Array = NDArray[np.float64]
FREE = ("wx", "wy", "wz", "vx", "vy", "vz")  # rows of a joint with six degrees of freedom


def run_torques(options: argparse.Namespace) -> int:
    model = load_and_warn(options)
    q = _filled("--q", options.q, model, model.start_position(), "q")
    v, a = (_filled(f"--{key}", getattr(options, key), model, np.zeros(model.nv), "v") for key in "va")
    parts = torque_parts(model, q, v, a, friction=options.friction)
    if options.json:
        named = {name: row.tolist() for name, row in parts.items()}
        print(json.dumps({"rows": _rows(model), "q": q.tolist(), "v": v.tolist(), "a": a.tolist(), **named}, indent=2))
        return 0
    from rbd_dynamics.common.console import output_console

    output_console().print(_table(model, (q, v, a), parts))
    return 0


def torque_parts(model: Model, q: Array, v: Array, a: Array, *, friction: bool = False) -> dict[str, Array]:
    """{part: (nv,)}, the last of them "torque", their sum.

    The parts are gravity, velocity (C v), inertia (M a), springs where there are any, and on demand friction.
    Source: theory.md section 2.
    """
    from rbd_dynamics.robot import Robot

    robot = Robot(model, backend="reference")  # for one state nothing is worth compiling
    parts = {
        "gravity": robot.gravity(q),
        "velocity": robot.coriolis(q, v),
        "inertia": robot.mass_matrix(q) @ a,
        "springs": robot.spring_torque(q),
        "friction": robot.friction_torque(v) if friction else np.zeros(model.nv),
    }
    total = robot.inverse_dynamics(q, v, a) + parts["friction"]
    for name in ("springs", "friction"):
        if not parts[name].any():
            del parts[name]
    return {**parts, "torque": total}


def _filled(option: str, words: Sequence[str], model: Model, values: Array, which: str) -> Array:
    """All numbers in the order of the joints, or those of some joints by name. Raises UsageError, KeyError."""
    if not words:
        return values
    if not any("=" in word for word in words):
        numbers = [_number(option, each) for word in words for each in word.split(",") if each]
        if len(numbers) != len(values):
            order = ", ".join(model.joint_names)
            raise UsageError(f"{option}: {len(numbers)} numbers for {len(values)}; the joints are {order}")
        return np.array(numbers)
    for word in words:
        name, _, text = word.rpartition("=")
        if not name:
            raise UsageError(f"{option}: {word!r} is not NAME=NUMBER, as others here are")
        joint = model.joint(name)
        if getattr(joint.kind, f"n{which}") != 1:
            raise UsageError(f"{option}: joint {name!r} has {getattr(joint.kind, f'n{which}')} numbers, not one")
        values[getattr(joint, f"{which}_index")] = _number(option, text)
    return values


def _number(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{option}: {text!r} is not a finite number")
    return number


def _rows(model: Model) -> list[str]:
    """A name for each degree of freedom."""
    return [name for joint in model.joints for name in _names(joint)]


def _names(joint: Joint) -> list[str]:
    count = joint.kind.nv
    if count == 1:
        return [joint.name]
    suffixes = FREE if count == len(FREE) else [str(k) for k in range(count)]
    return [f"{joint.name}.{suffix}" for suffix in suffixes]


def _table(model: Model, state: tuple[Array, Array, Array], parts: dict[str, Array]) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    q, v, a = state
    bounded = any(math.isfinite(joint.limits.effort) for joint in model.joints)
    table = Table(
        title=f"[bold]{escape(model.name)}[/]: torques of inverse dynamics (rad, m, s, N m, N)",
        title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
    )  # fmt: skip
    table.add_column("joint", overflow="fold")
    for name in ("q", "v", "a", *parts, *(["of limit"] if bounded else [])):
        table.add_column(name, justify="right", style="bold" if name == "torque" else None)
    for joint in model.joints:
        for k, name in enumerate(_names(joint), joint.v_index):
            position = f"{q[joint.q_index]:.4g}" if joint.kind.nq == 1 else ""
            share = abs(parts["torque"][k]) / joint.limits.effort if joint.limits.effort else math.inf
            cells = [position, f"{v[k]:.4g}", f"{a[k]:.4g}", *(f"{_clean(row[k]):.5g}" for row in parts.values())]
            if bounded:
                limited = math.isfinite(joint.limits.effort)
                cells.append(f"[red]{share:.0%}[/]" if limited and share > 1.0 else f"{share:.0%}" if limited else "")
            table.add_row(escape(name), *cells)
    return table


def _clean(x: float) -> float:
    """What is rounding is shown as zero."""
    return 0.0 if abs(x) < 1e-12 else float(x)
