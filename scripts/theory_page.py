"""Write docs/theory_map.md from docs/theory_map.yaml:  python scripts/theory_page.py"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).resolve().parent.parent / "docs"
SOURCE, PAGE = DOCS / "theory_map.yaml", DOCS / "theory_map.md"

HEAD = """\
# Where each equation is computed

Written by `scripts/theory_page.py` from `theory_map.yaml`; a test imports every name and asks for every equation.
The sources by their numbers, and our notation: [theory.md](theory.md).
"""


def read() -> list[dict[str, Any]]:
    """The sources with their entries."""
    return list(yaml.safe_load(SOURCE.read_text()))


def page(sources: list[dict[str, Any]]) -> str:
    """The text of the page."""
    parts = [HEAD, *map(_section, sources), _slips(sources)]
    return "\n".join(parts)


def _section(source: dict[str, Any]) -> str:
    lines = [f"## {source['source']}", "", "| where | what it says | computed by | tested in |", "|---|---|---|---|"]
    for entry in source["entries"]:
        says = entry["says"] + (f" *({entry['note'].rstrip('.')})*" if "note" in entry else "")
        names = ", ".join(f"`{name.removeprefix('rbd_dynamics.')}`" for name in entry["by"])
        tests = ", ".join(f"`{name}`" for name in entry["test"])
        lines.append("| " + " | ".join(_cell(text) for text in (_where(entry), says, names, tests)) + " |")
    return "\n".join([*lines, ""])


def _where(entry: dict[str, Any]) -> str:
    at = str(entry["at"])
    return f"({at})" if at[0].isdigit() and "." not in at.split(" ")[0] else at


def _slips(sources: list[dict[str, Any]]) -> str:
    lines = [
        "## Slips in the sources",
        "",
        "Found by computing both sides; the tests named above hold the right form.",
        "",
    ]
    for source in sources:
        lines += [
            f"- {source['source']}, {_where(entry)}: {entry['slip']}" for entry in source["entries"] if "slip" in entry
        ]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(read()))
    print(PAGE)
