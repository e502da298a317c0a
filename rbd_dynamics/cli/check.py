# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics check`: what is wrong with a description."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbd_dynamics.cli.sources import reading_of, source_of

if TYPE_CHECKING:
    from rbd_dynamics.model.errors import Finding

COLORS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def run_check(options: argparse.Namespace) -> int:
    """Exit code 1 where there are errors: what `load` and `load_urdf` refuse."""
    from rbd_dynamics.formats import check

    findings = check(source_of(options.urdf), strict=options.strict, model=options.model, **reading_of(options))
    if options.quiet:
        findings = [finding for finding in findings if finding.severity != "note"]
    errors = sum(finding.severity == "error" for finding in findings)
    if options.json:
        entries = [
            {"severity": f.severity, "element": f.element, "message": f.message, "hint": f.hint} for f in findings
        ]
        print(json.dumps({"urdf": options.urdf, "errors": errors, "findings": entries}, indent=2))
    else:
        _print(findings)
    return 1 if errors else 0


def _print(findings: Sequence[Finding]) -> None:
    from rich.markup import escape

    from rbd_dynamics.common.console import output_console

    console = output_console()
    for finding in findings:
        color = COLORS[finding.severity]
        hint = f" [dim]({escape(finding.hint)})[/]" if finding.hint else ""
        line = f"[{color}]{finding.severity:>7}[/]  [bold]{escape(finding.element)}[/]: {escape(finding.message)}{hint}"
        console.print(line)
    counts = {name: sum(f.severity == name for f in findings) for name in COLORS}
    parts = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    color = next((COLORS[name] for name, count in counts.items() if count and name != "note"), "green")
    console.print(f"[{color}]{', '.join(parts) or 'no problems found'}[/]")
