# SPDX-License-Identifier: Apache-2.0
"""Check what is in a wheel, and write what its extras ask for: see scripts/wheel.

    python scripts/wheel_contents.py WHEEL OTHER FOLDER

WHEEL: made of the source distribution. OTHER: of the checkout, which must have the same files with the same contents.
FOLDER: gets a file of requirements for each extra, EXTRA.txt, and none.txt.
"""

from __future__ import annotations

import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement

PACKAGE = "rbd_dynamics"
#: what a wheel consists of, by the first part of a path
PARTS = (f"{PACKAGE}/", f"{PACKAGE}-")
LARGEST = 3 << 20  # bytes


def contents(wheel: Path) -> dict[str, bytes]:
    """{path: content}, but for the list of checksums, whose order is free."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def metadata(files: dict[str, bytes]) -> Message:
    (name,) = (name for name in files if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(files[name].decode())


def problems(wheel: Path, files: dict[str, bytes], checkout: Path) -> list[str]:
    """What is wrong with a wheel of a checkout, one line each."""
    sources = [path for path in (checkout / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    found = [f"{path.relative_to(checkout)} is missing" for path in sources
             if path.relative_to(checkout).as_posix() not in files]  # fmt: skip
    found += [f"{name} does not belong there" for name in files if not name.startswith(PARTS) or "/test" in name]
    told = metadata(files)
    if Path(checkout, "README.md").read_text().strip() != str(told.get_payload()).strip():
        found.append("the description is not README.md")
    found += [f"{field} is missing" for field in ("Summary", "License", "Author-email", "Requires-Python")
              if field not in told and f"{field}-Expression" not in told]  # fmt: skip
    if wheel.stat().st_size > LARGEST:
        found.append(f"has more than {LARGEST >> 20} MiB")
    return found


def requirements(told: Message, extra: str) -> list[str]:
    """What an extra asks for, with all that is asked for without it; extra "": that alone."""
    asked = [Requirement(text) for text in told.get_all("Requires-Dist", [])]
    wanted = [each for each in asked if each.marker is None or each.marker.evaluate({"extra": extra})]
    return [f"{each.name}{each.specifier}" for each in wanted]


def main(wheel: Path, other: Path, folder: Path) -> int:
    files, others = contents(wheel), contents(other)
    wrong = problems(wheel, files, Path(__file__).resolve().parents[1])
    wrong += [f"{name} differs from that of the checkout" for name in sorted(files.keys() | others.keys())
              if files.get(name) != others.get(name)]  # fmt: skip
    for line in wrong:
        print(f"{wheel.name}: {line}", file=sys.stderr)
    told = metadata(files)
    for extra in ("none", *told.get_all("Provides-Extra", [])):
        text = "\n".join(requirements(told, "" if extra == "none" else extra))
        (folder / f"{extra}.txt").write_text(f"{text}\n")
    print(f"{wheel.name}: {len(files)} files, {wheel.stat().st_size / 1024:.0f} KiB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
