# SPDX-License-Identifier: Apache-2.0
"""The table of MJCF against the schema that MuJoCo publishes; the documentation against the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rbd_dynamics.common.markup.vocabulary import markdown
from rbd_dynamics.formats.mjcf_vocabulary import MJCF

mujoco = pytest.importorskip("mujoco", reason="the schema is MuJoCo's")


def specified() -> Iterator[tuple[tuple[str, ...], str]]:
    """Path and attribute, empty for an element, of all that the schema has; `(world)body` is both."""
    path: tuple[str, ...] = ()
    for line in mujoco.mj_printSchema(False, False).splitlines():
        begin = re.match(r"( *)(\S+) +\([!?*R]\) *(.*)", line)
        if begin:
            path = (*path[: len(begin[1]) // 3], begin[2].replace("(world)body", "body"))
        plain = path if "body" not in path else ("mujoco", "worldbody", *path[1:])
        for name in ["", *begin[3].split()] if begin else line.split():
            yield plain, name


def is_looked_at(path: tuple[str, ...], name: str) -> bool:
    """What is in an element that is left out or aside is not."""
    rows = [MJCF.row(path[:k]) for k in range(1, len(path) + bool(name))]
    return all(row is None or row.use in ("used", "converted") for row in rows)


def test_the_table_has_all_that_is_specified():
    said = [each for each in specified() if is_looked_at(*each)]
    assert len(said) > 500
    assert not [f"{'/'.join(path)} {name}" for path, name in said if MJCF.row(path, name) is None]


def test_the_documentation_has_the_table():
    page = (Path(__file__).parents[2] / "docs" / "model_format.md").read_text()
    assert markdown(MJCF) in page, "write it anew: print(markdown(MJCF))"
