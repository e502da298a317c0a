# SPDX-License-Identifier: Apache-2.0
"""Print the section of CHANGELOG.md on a version, for its release:  python scripts/release_notes.py 1.0.0

Ends with exit code 1 where the package or the changelog is of another version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def notes(version: str, markdown: str) -> str:
    """What stands below `## [version] - date`. Raises ValueError where that is missing or empty."""
    found = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", markdown, re.M | re.S)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no section on {version} with a date, or nothing in it")
    return f"{found[1].strip()}\n"


def check_version(version: str, package: str) -> None:
    """Raises ValueError where the text of rbd_dynamics/__init__.py has another one."""
    if f'__version__ = "{version}"' not in package.splitlines():
        raise ValueError(f"the package is not of version {version}")


if __name__ == "__main__":
    try:
        check_version(sys.argv[1], (ROOT / "rbd_dynamics" / "__init__.py").read_text(encoding="utf-8"))
        print(notes(sys.argv[1], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")), end="")
    except ValueError as problem:
        sys.exit(f"release notes: {problem}")
