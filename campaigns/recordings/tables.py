# SPDX-License-Identifier: Apache-2.0
"""What a campaign found, kind by kind."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

ENOUGH = 100  # claims of a kind, from which on a share means something


def table(verdicts: list[dict[str, Any]]) -> str:
    """Claims, false ones, precision and coverage of each kind; then recall of each cause."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for verdict in verdicts:
        for claim in verdict["claims"]:
            row = counts[claim["kind"]]
            row[0] += 1
            row[1] += not claim["true"]
            if claim["covers"] is not None:
                row[2] += 1
                row[3] += claim["covers"]
    lines = ["| claim | made | false | precision | intervals | hold the truth |", "|---|---|---|---|---|---|"]
    rows = [*sorted(counts.items()), ("all", [sum(row[k] for row in counts.values()) for k in range(4)])]
    for kind, (made, false, intervals, hold) in rows:
        precision = f"{100.0 * (1.0 - false / made):.1f} %" if made >= ENOUGH else "–"
        coverage = f"{100.0 * hold / intervals:.0f} %" if intervals else "–"
        lines.append(f"| {kind} | {made} | {false} | {precision} | {intervals or '–'} | {coverage} |")
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for verdict in verdicts:
        for cause, (told, could) in verdict["injected"].items():
            found[cause][0] += 1
            found[cause][1] += could
            found[cause][2] += told and could
    lines += ["", "| injected | recordings | an oracle could tell | found of these | recall |", "|---|---|---|---|---|"]
    rows = [*sorted(found.items()), ("all", [sum(row[k] for row in found.values()) for k in range(3)])]
    for cause, (there, could, told) in rows:
        recall = f"{100.0 * told / could:.0f} %" if could else "–"
        lines.append(f"| {cause} | {there} | {could} | {told} | {recall} |")
    return "\n".join(lines)
