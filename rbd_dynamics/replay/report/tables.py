"""Tables and numbers of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def number(value: float | None) -> str:
    """Three significant digits; a dash where there is none."""
    if value is None:
        return "–"
    size = abs(value)
    if size and not 1e-3 <= size < 1e5:
        return f"{value:.2e}".replace("-", "−")
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}".replace("-", "−")


def estimate_cell(estimate: Mapping[str, Any]) -> str:
    """A value with half of its interval and its unit."""
    if not estimate["identifiable"]:
        return "–"
    reach = (estimate["upper"] - estimate["lower"]) / 2.0
    return f"{number(estimate['value'])} ± {number(reach)} {estimate['unit']}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already. The first column is text."""
    head = "".join(f"<th>{text}</th>" for text in heads)
    body = "".join(f"<tr><th>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{body}</tbody></table></div>'
