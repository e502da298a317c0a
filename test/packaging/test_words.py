# SPDX-License-Identifier: Apache-2.0
"""Words that users read: docstrings that stand alone in `help()`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: a docstring that begins so continues the name of what it describes, which `help()` of another place does not show
CONTINUES = set(
    "About After Along Among As At Before Between By For From In Into Like Of On Over Per To Under When Where With "
    "Within Without".split()
)
#: rooms that are not mended yet
OPEN: tuple[str, ...] = ()


def names_and_docstrings(tree: ast.Module):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


def continuing(room: Path) -> list[str]:
    """Docstrings of a room that begin with a bare preposition."""
    return [
        f"{path.relative_to(ROOT)}: {name}: {text.splitlines()[0]}"
        for path in ([room] if room.is_file() else sorted(room.rglob("*.py")))
        for name, text in names_and_docstrings(ast.parse(path.read_text()))
        if text.split()[0].strip(",:") in CONTINUES
    ]


@pytest.mark.parametrize(
    "room",
    sorted(p.name for p in (ROOT / "rbd_dynamics").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()),
)
def test_docstrings_stand_alone(room):
    found = continuing(ROOT / "rbd_dynamics" / room)
    assert bool(found) == (room in OPEN), "\n".join(found) or f"{room} is mended: take it from the list"


def test_a_docstring_that_continues_its_name_would_be_found(tmp_path):
    (tmp_path / "room.py").write_text('def torque():\n    """Of the last step."""\n')
    tree = ast.parse((tmp_path / "room.py").read_text())
    assert [text.split()[0] in CONTINUES for _, text in names_and_docstrings(tree)] == [True]
