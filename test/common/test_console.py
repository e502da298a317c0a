# SPDX-License-Identifier: Apache-2.0
"""Plain tables: whatever the terminal's width, every number is whole and every name can be put together again."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from rbd_dynamics.common.console import print_table

HEADS = ("joint", "RMSE", "NRMSE", "bias", "", "offset", "Coulomb")
NAMES = ["left_front_outer_shoulder_flexion_extension_actuated_joint", "elbow", "[bold]wrist[/]"]
ROWS = [[name, "0.006", "9.08e−04", "−2.36e−04", "N m", f"{k}.00 ± 0.001 N m", "−"] for k, name in enumerate(NAMES)]


def shown(width, heads=HEADS, rows=ROWS):
    text = io.StringIO()
    print_table(Console(file=text, width=width), heads, rows)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_what_fits_is_one_table():
    head, *rows = shown(200)
    assert head.split() == [head for head in HEADS if head]
    assert [row.split()[0] for row in rows] == NAMES
    assert [" ".join(row.split()[1:]) for row in rows] == [" ".join(row[1:]) for row in ROWS]


@pytest.mark.parametrize(("width", "count"), [(40, 4), (60, 2), (80, 2), (100, 1)])
def test_what_does_not_fit_is_several_with_the_names_each(width, count):
    lines = shown(width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for row in ROWS:
        assert all(cell in text for cell in row[1:]), "a number is broken"
    tables = re.split("^joint ", text, flags=re.M)[1:]
    assert len(tables) == count
    for table in tables:
        first = "".join(line[: max(16, width // 3) - 2].strip() for line in table.splitlines()[1:])
        assert first == "".join(NAMES)
    assert [head for line in lines if line.startswith("joint ") for head in line.split()[1:]] == [
        head for head in HEADS[1:] if head
    ]


def test_a_cell_wider_than_the_terminal_is_folded_and_whole():
    finding = "where postures differ little, an offset of the torque looks like a load, and this one is long"
    lines = shown(50, ("joint", "gain", ""), [["elbow", "1.25", finding]])
    assert max(map(len, lines)) <= 50
    words = " ".join(" ".join(lines).split())
    assert all(word in words for word in finding.split()) and "1.25" in words


def test_without_rows_there_are_the_heads():
    assert shown(80, rows=[])[0].split() == [head for head in HEADS if head]
