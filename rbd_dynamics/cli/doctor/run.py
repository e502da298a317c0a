# SPDX-License-Identifier: Apache-2.0
"""All that is looked at, in its order, shown as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator

from rbd_dynamics.cli.doctor.findings import Looked
from rbd_dynamics.cli.doctor.ros import look_at_ros
from rbd_dynamics.cli.doctor.software import look_at_software
from rbd_dynamics.common.console import output_console, working

COLORS = {"fine": "green", "note": "yellow", "broken": "bold red"}

INDENT, INDENT_ADVICE = (0, 0, 0, 1), (0, 0, 0, 9)


def run_doctor(options: argparse.Namespace) -> int:
    """Exit code 1 where something is broken."""
    found: dict[str, list[Looked]] = {}
    for title, look in _sections().items():
        with working(title):
            found[title] = list(look())
    broken = sum(each.state == "broken" for section in found.values() for each in section)
    if options.json:
        sections = {title: [vars(each) for each in section] for title, section in found.items()}
        print(json.dumps({"broken": broken, "sections": sections}, indent=2))
    else:
        _show(found, broken)
    return 1 if broken else 0


def _sections() -> dict[str, Callable[[], Iterator[Looked]]]:
    return {
        "Software": look_at_software,
        "Kernels": _kernels,
        "ROS 2": look_at_ros,
        "Real time": _real_time,
    }


def _kernels() -> Iterator[Looked]:
    try:  # numpy may be what is broken
        from rbd_dynamics.cli.doctor.kernels import look_at_cache, look_at_kernels
    except ImportError as error:
        yield Looked("self-test", f"cannot be run: {error}", state="broken", advice="see Software")
        return
    yield from look_at_kernels()
    yield from look_at_cache()


def _real_time() -> Iterator[Looked]:
    try:
        from rbd_dynamics.cli.doctor.real_time import look_at_real_time
    except ImportError:  # no module `resource`
        yield Looked("system", "no Unix", state="note", advice="real time is for Linux")
        return
    yield from look_at_real_time()


def _show(found: dict[str, list[Looked]], broken: int) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    console = output_console()
    for title, section in found.items():
        console.print(f"[bold]{title}[/]")
        for each in section:
            mark = f"[{COLORS[each.state]}]{each.state:>6}[/]"
            console.print(Padding(f"{mark}  {escape(each.name)}: {escape(each.value)}", INDENT, expand=False))
            if each.advice:
                console.print(Padding(f"[dim]{escape(each.advice)}[/]", INDENT_ADVICE, expand=False))
    color = "bold red" if broken else "green"
    console.print(f"[{color}]{f'{broken} broken' if broken else 'nothing is broken'}[/]")
