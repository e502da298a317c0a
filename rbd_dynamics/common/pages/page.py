# SPDX-License-Identifier: Apache-2.0
"""What pages in HTML are made of: their templates, tables and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

STYLE = "page.css"
LONG = 240  # characters of a text that is shown whole
SHOWN = 140  # and of a longer one


def template(package: str, name: str) -> tuple[Template, str]:
    """A page of that package, with $names to fill in, and the style of all pages."""
    style = (files(__package__) / STYLE).read_text(encoding="utf-8")
    return Template((files(package) / name).read_text(encoding="utf-8")), style


def json_text(content: Any) -> str:
    """Inside of a script element, where nothing may look like its end."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def number(value: float | None) -> str:
    """Three significant digits; a dash where there is none."""
    if value is None:
        return "–"
    size = abs(value)
    if size and not 1e-3 <= size < 1e5:
        return f"{value:.2e}".replace("-", "−")
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}".replace("-", "−")


def folded(text: str) -> str:
    """HTML of a text; a long one, such as a list of joints, shows its beginning until it is asked for."""
    if len(text) <= LONG:
        return escape(text)
    return f"<details><summary>{escape(beginning(text))}</summary>{escape(text)}</details>"


def beginning(text: str) -> str:
    """Beginning of a long text, up to a comma or a space if there is one; a short one as it is."""
    if len(text) <= LONG:
        return text
    head = text[:SHOWN]
    cut = max(head.rfind(", "), head.rfind(" ") if ", " not in head else -1)
    return f"{head[:cut] if cut > 0 else head} …"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], style: str = "") -> str:
    """Cells are HTML already. The first column is text."""
    head = "".join(f"<th>{text}</th>" for text in heads)
    body = "".join(f"<tr><th>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return f'<div class="scroll"><table class="{style}">{top}<tbody>{body}</tbody></table></div>'
