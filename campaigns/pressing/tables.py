# SPDX-License-Identifier: Apache-2.0
"""What a campaign found, class by class: counted, kept in a file, and printed."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from campaigns.pressing.cases import Case
from campaigns.pressing.judge import UNITS, Verdict

Tally = dict[str, Any]  # as it stands in a report: numbers, texts, and dictionaries of them


def new() -> Tally:
    return {"runs": 0, "bad": 0, "not pressed": 0, "stopped": 0, "motion ended": 0, "bounds": {}, "said": {},
            "refused": {}, "wrong": {}}  # fmt: skip


def add(tally: Tally, case: Case, verdict: Verdict) -> None:
    """Count a run."""
    tally["runs"] += 1
    tally["bad"] += not verdict.good
    tally["not pressed"] += not verdict.pressed
    tally["stopped"] += verdict.stopped
    tally["motion ended"] += verdict.motion_ended
    told = ", ".join(f"{key} {_short(value)}" for key, value in case.told().items())
    if not verdict.good:
        tally["wrong"][str(case.number)] = _what(verdict)
    for name, found in verdict.bounds.items():
        row = tally["bounds"].setdefault(name, {"bad": 0, "value": -1.0, "most": 0.0, "excess": -math.inf, "run": 0})
        row["bad"] += found.bad
        excess = found.value - found.most if math.isfinite(found.most) else found.value
        if excess > row["excess"] or math.isnan(found.value):
            row |= {"value": found.value, "most": found.most, "excess": excess, "run": case.number, "case": told}
    for said, true in verdict.reasons:
        count = tally["said"].setdefault(said, {"true": 0, "false": 0, "not judged": 0})
        key = "not judged" if true is None else "true" if true else "false"
        count[key] += 1
        if key != "true":
            count.setdefault(f"a {key} run", case.number)
    for text, times in Counter(each[:60] for each in verdict.refused).items():
        tally["refused"][text] = tally["refused"].get(text, 0) + times


def _what(verdict: Verdict) -> str:
    """What was wrong."""
    bounds = [
        f"{name} {UNITS[name][1] * found.value:.3g} {UNITS[name][0]} ({UNITS[name][1] * found.most:.3g})"
        for name, found in verdict.bounds.items() if found.bad
    ]  # fmt: skip
    return "; ".join([*bounds, *(f"not true: {said}" for said, true in verdict.reasons if true is False)])


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} {_short(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_short(each) for each in value) + ")"
    return str(value)


def text(name: str, tally: Tally, *, law: str = "hybrid", seed: int = 0) -> str:
    """A table for people."""
    lines = [
        f"## {name} ({law}): {tally['runs']} runs, {tally['bad']} with something wrong, {tally['stopped']} stopped, "
        f"{tally['not pressed']} never pressed, {tally['motion ended']} with a motion ended before its time",
        "",
        "| bound | violated | worst | allowed then | run | of |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for bound, row in tally["bounds"].items():
        unit, factor = UNITS[bound]
        most = "-" if not math.isfinite(row["most"]) else f"{factor * row['most']:.3g}"
        of = row.get("case", "") if row["bad"] or not math.isfinite(row["most"]) else ""
        lines.append(f"| {bound}, {unit} | {row['bad']} | {factor * row['value']:.3g} | {most} | {row['run']} | {of} |")
    if tally["said"]:
        lines += ["", "| said | true | false | not judged | e.g. run |", "|---|---|---|---|---|"]
        for said, count in sorted(tally["said"].items()):
            example = count.get("a false run", count.get("a not judged run", ""))
            lines.append(f"| {said} | {count['true']} | {count['false']} | {count['not judged']} | {example} |")
    if tally["refused"]:
        lines += ["", "refused: " + "; ".join(f"{n} x {what!r}" for what, n in sorted(tally["refused"].items())[:8])]
    if tally["wrong"]:
        lines += ["", *(f"run {number}: {what}" for number, what in tally["wrong"].items())]
    lines += ["", f"again: python -m campaigns.pressing --only {name} --seed {seed} --law {law} --run N", ""]
    return "\n".join(lines)


def summary(tallies: dict[str, Tally]) -> str:
    """A line for each class: how often which bound was violated, and how often a reason was false."""
    bounds = [bound for bound in UNITS if any(bound in tally["bounds"] for tally in tallies.values())]
    bounds = [bound for bound in bounds if bound != "fall"]
    lines = [
        "| class | runs | wrong | " + " | ".join(bounds) + " | reason false |", "|---" * (len(bounds) + 4) + "|"
    ]  # fmt: skip
    for name, tally in tallies.items():
        cells = []
        for bound in bounds:
            row = tally["bounds"].get(bound)
            factor = UNITS[bound][1]
            cells.append("" if row is None else f"{row['bad']} ({factor * row['value']:.3g})" if row["bad"] else "0")
        false = sum(count["false"] for said, count in tally["said"].items() if said != "(went on)")
        lines.append(f"| {name} | {tally['runs']} | {tally['bad']} | " + " | ".join(cells) + f" | {false} |")
    return "\n".join(lines) + "\n"


def said(tallies: dict[str, Tally]) -> str:
    """What was said in which class: how often that was true, and how often false."""
    reasons = sorted({reason for tally in tallies.values() for reason in tally["said"]})
    lines = ["| said, true / false | " + " | ".join(tallies) + " |", "|---" * (len(tallies) + 1) + "|"]
    for reason in reasons:
        cells = []
        for tally in tallies.values():
            count = tally["said"].get(reason)
            open_ = f" / ? {count['not judged']}" if count and count["not judged"] else ""
            cells.append(f"{count['true']} / {count['false']}{open_}" if count else "")
        lines.append(f"| {reason} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
