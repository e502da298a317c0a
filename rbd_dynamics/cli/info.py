# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics info`: the robot as the dynamics see it."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from rbd_dynamics.cli.sources import load_and_warn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from rbd_dynamics.model.model import Joint, Model

#: kernels whose size `--kernels` tells
KERNELS = ("inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "mass_matrix", "bias", "gravity")

FIRST_COLUMNS = ("#", "joint", "type", "range", "speed", "effort")
JOINT_COLUMNS = (*FIRST_COLUMNS, "damping", "friction", "armature", "mimic", "moves", "on")


def run_info(options: argparse.Namespace) -> int:
    model = load_and_warn(options)
    operations = _count_operations(model) if options.kernels else {}
    if options.json:
        print(json.dumps(_info(model, operations), indent=2))
        return 0
    from rbd_dynamics.common.console import output_console

    console = output_console()
    console.print(_summary(model))
    for table in _joint_tables(model, console):
        console.print(table)
    console.print(_body_table(model))
    if operations:
        console.print(_kernel_table(operations))
    return 0


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _summary(model: Model) -> str:
    from rich.markup import escape

    gravity = ", ".join(f"{g:g}" for g in model.gravity)
    return (
        f"[bold]{escape(model.name)}[/], {model.base} base: {_counted(len(model.joints), 'joint')}, "
        f"{_counted(model.nv, 'degree')} of freedom (nq {model.nq}, nv {model.nv}), "
        f"{_counted(len(model.bodies), 'body', 'bodies')}, {_counted(len(model.frames), 'frame')}, "
        f"[bold]{model.mass:.6g} kg[/], gravity ({gravity}) m/s²"
    )


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _joint_tables(model: Model, console: Console) -> Iterator[Table]:
    """Every movable joint with what it moves, in one table or, where that is too wide, in two.

    Columns without any entry are left out.
    """
    from rich.measure import Measurement

    columns: dict[str, list[str]] = {name: [] for name in JOINT_COLUMNS}
    for body in model.bodies:
        joint, limits, mimic = body.joint, body.joint.limits, body.joint.mimic
        bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
        cells = [
            "" if mimic else _index(joint),
            joint.name,
            joint.kind.name,
            f"{limits.lower:.4g} .. {limits.upper:.4g}" if bounded else "",
            *(f"{x:.6g}" if math.isfinite(x) else "" for x in (limits.velocity, limits.effort)),
            *(f"{x:.6g}" if x else "" for x in (joint.damping, joint.friction, joint.armature)),
            f"{mimic.multiplier:g} * {mimic.leader} {mimic.offset:+g}" if mimic else "",
            body.name,
            model.bodies[body.parent].name if body.parent >= 0 else "world",
        ]
        for column, cell in zip(columns.values(), cells):
            column.append(cell)
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    whole = _columns("Joints, in the order of q and v (rad, m, s, N, N m)", shown)
    if Measurement.get(console, console.options.update(max_width=10_000), whole).maximum <= console.width:
        yield whole
        return
    first = {name: cells for name, cells in shown.items() if name in FIRST_COLUMNS}
    rest = {name: cells for name, cells in shown.items() if name not in first or name in ("#", "joint")}
    yield _columns("Joints, in the order of q and v (rad, m, s, N, N m)", first)
    yield _columns("Joints: what else they do, and what they move", rest)


def _columns(title: str, columns: dict[str, list[str]]) -> Table:
    from rich.markup import escape

    table = _table(title)
    for name in columns:
        text = name in ("joint", "type", "moves", "on", "mimic")
        table.add_column(name, justify="left" if text else "right", overflow="fold", no_wrap=name == "range")
    for row in zip(*columns.values()):
        table.add_row(*map(escape, row))
    return table


def _index(joint: Joint) -> str:
    """The joint's places in v, as text."""
    first, count = joint.v_index, joint.kind.nv
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _body_table(model: Model) -> Table:
    from rich.markup import escape

    table = _table("Bodies: links with all that is fixed to them (kg, m)")
    table.add_column("body", overflow="fold")
    table.add_column("mass", justify="right")
    table.add_column("centre of mass", justify="right")
    table.add_column("frames", overflow="fold")
    rows = [("fixed to the world", model.fixed_inertia, -1)] if model.fixed_inertia.mass else []
    rows += [(body.name, body.inertia, k) for k, body in enumerate(model.bodies)]
    for name, inertia, index in rows:
        mass = float(inertia.mass)
        com = " ".join(f"{float(h) / mass:.4f}" for h in inertia.moment) if mass else ""
        links = [frame.name for frame in model.frames if frame.body == index and frame.element == "link"]
        table.add_row(escape(name), f"{mass:.6g}", com, escape(", ".join(links)))
    return table


def _kernel_table(operations: dict[str, int]) -> Table:
    from rbd_dynamics.compiler.backends import best_backend

    table = _table(f"Operations per call, backend {best_backend()}")
    table.add_column("algorithm")
    table.add_column("operations", justify="right")
    for name, count in operations.items():
        table.add_row(name, str(count))
    return table


def _count_operations(model: Model) -> dict[str, int]:
    from rbd_dynamics.common.console import working
    from rbd_dynamics.compiler.program import trace
    from rbd_dynamics.kernels.specialise import specialise

    def count(name: str) -> int:
        signature, function = specialise(model, name, friction=False)
        return trace(function, signature).operations

    with working("counting operations"):
        return {name: count(name) for name in KERNELS}


def _info(model: Model, operations: dict[str, int]) -> dict[str, Any]:
    """All that the tables show, as plain data; None stands for no limit."""
    return {
        "name": model.name,
        "base": model.base,
        "nq": model.nq,
        "nv": model.nv,
        "mass": model.mass,
        "gravity": list(model.gravity),
        "frames": model.frame_names,
        "joints": [
            {
                "name": body.joint.name,
                "type": body.joint.kind.name,
                "moves": body.name,
                "parent": model.bodies[body.parent].name if body.parent >= 0 else None,
                "q_index": body.joint.q_index,
                "v_index": body.joint.v_index,
                "limits": {
                    name: value if math.isfinite(value := getattr(body.joint.limits, name)) else None
                    for name in ("lower", "upper", "velocity", "effort")
                },
                "damping": body.joint.damping,
                "friction": body.joint.friction,
                "armature": body.joint.armature,
                "mimic": None
                if body.joint.mimic is None
                else {
                    "leader": body.joint.mimic.leader,
                    "multiplier": body.joint.mimic.multiplier,
                    "offset": body.joint.mimic.offset,
                },
            }
            for body in model.bodies
        ],
        "bodies": [{"name": body.name, "mass": float(body.inertia.mass)} for body in model.bodies],
        "fixed_mass": float(model.fixed_inertia.mass),
        **({"operations": operations} if operations else {}),
    }
