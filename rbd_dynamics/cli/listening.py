# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics status` and `echo`, which need ROS 2."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from rbd_dynamics.cli.ros import needs_ros

if TYPE_CHECKING:
    from rbd_dynamics.nodes.tools.listening import Report, Topic

COLORS = {"ok": "green", "warning": "yellow", "error": "bold red", "stale": "magenta"}


def run_status(options: argparse.Namespace) -> int:
    """Exit code 1 where a node reports an error, or none reports at all."""
    with needs_ros("status"):
        from rbd_dynamics.nodes.tools.listening import reports, visitor
    from rbd_dynamics.common.console import output_console, working

    with working("listening to /diagnostics"), visitor("status") as (node, spin):
        found = reports(node, spin)
    if options.json:
        print(json.dumps([each._asdict() for each in found], indent=2))
    elif not found:
        print("no node says anything in /diagnostics: is one running, in this ROS_DOMAIN_ID?")
    else:
        console = output_console()
        for each in found:
            console.print(_status_text(each))
    return 0 if found and all(each.level in ("ok", "warning") for each in found) else 1


def run_echo(options: argparse.Namespace) -> int:
    with needs_ros("echo"):
        from rbd_dynamics.nodes.tools.listening import messages, topics, visitor
        from rbd_dynamics.nodes.tools.message_values import plain

    with visitor("echo") as (node, spin):
        if options.topic is None:
            _print_topics(topics(node, spin), json_wanted=options.json)
            return 0
        coming = messages(node, spin, options.topic, options.patience)
        if options.rate:
            return _print_rate(coming, options.count)
        for k, (_, message) in enumerate(coming, 1):
            print_message(plain(message), json_wanted=options.json)
            if k == options.count:
                return 0
    return 0


def print_message(message: Any, *, json_wanted: bool) -> None:
    """A message of plain values as YAML and a line of dashes, or as a line of JSON."""
    if json_wanted:
        print(json.dumps(without_nan(message), allow_nan=False), flush=True)
        return
    import yaml

    text = yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True)
    print(f"{text}---", flush=True)


def without_nan(message: Any) -> Any:
    """JSON has no number that is none, nor infinite ones: null."""
    if isinstance(message, dict):
        return {name: without_nan(each) for name, each in message.items()}
    if isinstance(message, list):
        return [without_nan(each) for each in message]
    return None if isinstance(message, float) and not math.isfinite(message) else message


def _print_rate(coming: Any, count: int | None) -> int:
    """A line for each second in which messages come: how many, and the longest time between two."""
    begun = last = next(coming)[0]
    number, longest, lines = 0, 0.0, 0
    for now, _ in coming:
        number, longest, last = number + 1, max(longest, now - last), now
        if now - begun >= 1.0:
            print(f"{number / (now - begun):.1f} per second, at most {1e3 * longest:.1f} ms apart", flush=True)
            begun, number, longest, lines = now, 0, 0.0, lines + 1
            if lines == count:
                break
    return 0


def _print_topics(found: list[Topic], *, json_wanted: bool) -> None:
    if json_wanted:
        print(json.dumps([each._asdict() for each in found], indent=2))
        return
    rows = [("topic", "type", "publishers", "subscribers")]
    rows += [(each.name, each.kind, str(each.publishers), str(each.subscriptions)) for each in found]
    wide, type_wide = (max(len(row[k]) for row in rows) for k in range(2))
    for name, kind, publishers, subscribers in rows:  # whole names in any terminal: they are to be pasted
        print(f"{name:<{wide}}  {kind:<{type_wide}}  {publishers:>10}  {subscribers:>11}")


def _status_text(report: Report) -> str:
    from rich.markup import escape

    color = COLORS[report.level]
    lines = [f"[{color}]{report.level:>7}[/]  [bold]{escape(report.node)}[/]: {escape(report.message)}"]
    lines += [f"           {escape(key)}: {escape(value)}" for key, value in report.values.items()]
    return "\n".join(lines)
