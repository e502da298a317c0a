# SPDX-License-Identifier: Apache-2.0
"""Every source file says under which licence it is, at its top and in the form that tools read."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.paths import ROOT

LINE = "SPDX-License-Identifier: Apache-2.0"
#: code, interface definitions, settings; also everything that starts with #!
SUFFIXES = {
    ".action", ".bash", ".c", ".cfg", ".cmake", ".cpp", ".css", ".h", ".hpp", ".html", ".js", ".msg", ".py", ".sh",
    ".srv", ".toml", ".yaml", ".yml",
}  # fmt: skip
NAMES = {"CMakeLists.txt", "Dockerfile", "Makefile"}
#: where nothing is ours, or everything is generated
SKIPPED = {
    "build",
    "install",
    "log",
    "dist",
    "demo_output",
    "benchmark_output",
    "output",
    "__pycache__",
    "node_modules",
}


def from_git() -> list[Path]:
    """What git knows or would take in; nothing outside of a checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return [ROOT / name for name in answer.stdout.split("\0") if name] if answer.returncode == 0 else []


def from_folders(folder: Path = ROOT) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif path.name not in SKIPPED and not path.name.endswith(".egg-info") and not path.is_symlink():
            if not path.name.startswith(".") or path.name in (".ci", ".github"):
                yield from from_folders(path)


def is_source(path: Path) -> bool:
    if path.suffix in SUFFIXES or path.name in NAMES:
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def sources(paths: Iterator[Path] | list[Path]) -> set[Path]:
    return {path for path in paths if path.is_file() and is_source(path)}


def test_every_source_file_names_its_licence() -> None:
    files = sources(from_git() or from_folders())
    assert {ROOT / "setup.py", ROOT / "Makefile", ROOT / "scripts" / "lint", ROOT / ".ci" / "run"} <= files
    for path in sorted(files):
        with path.open(encoding="utf-8") as file:
            top = [file.readline() for _ in range(3)]
        assert any(LINE in line for line in top), f"{path.relative_to(ROOT)}: no '{LINE}' in its first three lines"


def test_walk_finds_what_git_knows() -> None:
    known = from_git()
    if not known:
        pytest.skip("no git checkout")
    assert sources(known) <= sources(from_folders())


def test_no_file_has_the_marks_of_an_open_merge():
    paths = from_git() or list(from_folders())
    marks = tuple(7 * mark + b" " for mark in (b"<", b">"))
    open_ones = [
        str(path.relative_to(ROOT))
        for path in paths
        if path.is_file() and any(line.startswith(marks) for line in path.read_bytes().splitlines())
    ]
    assert not open_ones
