# SPDX-License-Identifier: Apache-2.0
"""Write docs/theory_map.md from docs/theory_map.yaml:  python scripts/theory_page.py"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "test"
SOURCE, PAGE = ROOT / "docs" / "theory_map.yaml", ROOT / "docs" / "theory_map.md"
PACKAGE = "rbd_dynamics"

HEAD = """\
# Where each equation is computed

Every equation of the sources, what computes it, and the tests that say so. The sources and our notation:
[theory.md](theory.md). Names are within `rbd_dynamics`; *definition* marks what only names something.
Written by `scripts/theory_page.py` from `theory_map.yaml`. `test_theory_map.py` asks for every equation number,
imports every name, looks for every test, and for this page to be up to date.
"""


def read() -> list[dict[str, Any]]:
    """The sources with their entries."""
    return list(yaml.safe_load(SOURCE.read_text()))


def page(sources: list[dict[str, Any]]) -> str:
    """The text of the page."""
    return "\n".join([HEAD, _missing(sources), *map(_section, sources), _slips(sources)])


def resolve(name: str) -> Any:
    """The object of a dotted name in the package. Raises AttributeError or ModuleNotFoundError if there is none."""
    found: Any = importlib.import_module(PACKAGE)
    for part in name.split("."):
        if isinstance(found, ModuleType) and not hasattr(found, part):  # a module that nobody has imported yet
            found = importlib.import_module(f"{found.__name__}.{part}")
        else:
            found = getattr(found, part)
    return found


@cache
def file_of_tests(name: str) -> Path:
    """The file of tests of that name, in whatever folder of test/. Raises FileNotFoundError if there is none."""
    found = sorted(TESTS.rglob(name))
    if not found:
        raise FileNotFoundError(f"{name} is in no folder of {TESTS}")
    return found[0]


def _missing(sources: list[dict[str, Any]]) -> str:
    missing = [
        f"- {source['source']}, {_where(entry)}: {_text(entry['says'])} ({entry['planned']})"
        for source in sources
        for entry in source["entries"]
        if "planned" in entry
    ]
    return "\n".join(["## Not there yet", "", *missing, ""]) if missing else "Nothing is missing.\n"


def _section(source: dict[str, Any]) -> str:
    lines = [f"## {source['source']}", "", "| where | what it says | computed by | tested: |", "|---|---|---|---|"]
    for entry in source["entries"]:
        says = _text(entry["says"]) + (" *(definition)*" if entry.get("kind") == "definition" else "")
        says += f" *({_text(entry['note'])})*" if "note" in entry else ""
        if "planned" in entry:
            names = tests = f"*not there yet: {entry['planned']}*"
        else:
            names, tests = ", ".join(map(_code_link, entry["by"])), _test_links(entry["test"])
        lines.append(f"| {_where(entry)} | {says} | {names} | {tests} |")
    return "\n".join([*lines, ""])


def _where(entry: dict[str, Any]) -> str:
    at = str(entry["at"])
    return f"({at})" if at.replace("-", "").isdigit() else _text(at)


def _code_link(name: str) -> str:
    if name.startswith("examples/"):
        return f"[{name}](../{name})"
    found = inspect.unwrap(resolve(name))
    file = found.__file__ if isinstance(found, ModuleType) else inspect.getsourcefile(found)
    return f"[`{name}`](../{Path(str(file)).resolve().relative_to(ROOT)})"


def _test_links(tests: list[str]) -> str:
    """A link to each file, with its tests as the sentences that their names are."""
    parts = []
    for file, group in groupby(tests, key=lambda test: test.split("::")[0]):
        claims = [test.split("::")[1].removeprefix("test_").replace("_", " ") for test in group if "::" in test]
        parts.append("; ".join(claims) + f" [({file})](../{file_of_tests(file).relative_to(ROOT)})")
    return ", ".join(parts).strip()


def _slips(sources: list[dict[str, Any]]) -> str:
    lines = [
        "## Slips in the sources",
        "",
        "Each is computed both ways in the test that follows it. Our texts were extracted from slides and handwriting:",
        "some slips may have come in there.",
        "",
    ]
    for source in sources:
        lines += [
            f"- {source['source']}, {_where(entry)}: {_text(entry['slip'])}. "
            f"*Tested: {_test_links(entry['slip_test'])}*"
            for entry in source["entries"]
            if "slip" in entry
        ]
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    """On one line, without characters that Markdown takes for its own; `code` stays as it is."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [re.sub(r"([*_<|])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(read()))
    print(PAGE)
