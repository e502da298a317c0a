#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write CHANGELOG.rst of both packages from CHANGELOG.md, as bloom wants it:  python scripts/changelog_rst.py

Form: catkin_pkg.changelog (REP 132). What is not released yet stands in CHANGELOG.md alone, so that there is one place
to write it to; bloom needs the section Forthcoming, which catkin_prepare_release turns into the release.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"rbd_dynamics": ROOT, "rbd_dynamics_interfaces": ROOT / "rbd_dynamics_interfaces"}
FORTHCOMING = "Forthcoming"
HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$")


def changelog(package: str, markdown: str) -> str:
    """CHANGELOG.rst of a package, out of the text of CHANGELOG.md."""
    title = f"Changelog for package {package}"
    lines = ["^" * len(title), title, "^" * len(title), "", ".. Written by scripts/changelog_rst.py from CHANGELOG.md."]
    for name, entries in releases(markdown):
        if name == FORTHCOMING:
            entries = ["What is not released yet is in CHANGELOG.md."]
        elif package != "rbd_dynamics":
            entries = [f"Released with rbd_dynamics {name.split()[0]}, whose changelog says what is new."]
        lines += ["", name, "-" * len(name), *(f"* {as_rst(entry)}" for entry in entries)]
    return "\n".join([*lines, ""])


def releases(markdown: str) -> list[tuple[str, list[str]]]:
    """(heading in reStructuredText, entries) of each section. Raises ValueError for a heading that is none."""
    found: list[tuple[str, list[str]]] = []
    for line in markdown.splitlines():
        if line.startswith("## "):
            heading = HEADING.match(line)
            if heading is None:
                raise ValueError(f"CHANGELOG.md: {line!r} is neither '## [Unreleased]' nor '## [1.2.3] - 2026-01-31'")
            unreleased = heading["version"] == "Unreleased"
            if not unreleased and not heading["date"]:
                raise ValueError(f"CHANGELOG.md: {line!r} has no date")
            found.append((FORTHCOMING if unreleased else f"{heading['version']} ({heading['date']})", []))
        elif found and line.startswith("- "):
            found[-1][1].append(line[2:])
        elif found and found[-1][1] and line.startswith("  "):
            found[-1][1][-1] += " " + line.strip()
    return found


def as_rst(text: str) -> str:
    """One entry of Markdown: code, links and emphasis."""
    parts = re.split(r"(`[^`]+`)", text)
    for k, part in enumerate(parts):
        if part.startswith("`"):
            parts[k] = f"``{part[1:-1]}``"
        else:
            part = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1 (\2)", part)
            parts[k] = re.sub(r"(?<!\*)\*(?!\*)", r"\\*", part).replace("_ ", r"\_ ")
    return "".join(parts)


def main() -> None:
    """Write both files."""
    markdown = (ROOT / "CHANGELOG.md").read_text()
    for package, folder in PACKAGES.items():
        (folder / "CHANGELOG.rst").write_text(changelog(package, markdown))


if __name__ == "__main__":
    main()
