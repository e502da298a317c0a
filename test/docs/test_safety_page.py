# SPDX-License-Identifier: Apache-2.0
"""docs/safety.md: every row of the contract names a test of the suite that proves it."""

from __future__ import annotations

import ast
import re

import pytest
from helpers.paths import ROOT

HEAD = ["situation", "what is published", "what diagnostics say", "test"]


def rows():
    """(line number, cells) of all tables of the page."""
    for number, line in enumerate((ROOT / "docs" / "safety.md").read_text().splitlines(), 1):
        if line.startswith("|"):
            yield number, [cell.strip() for cell in line.strip("|").split("|")]


CONTRACT = [(number, cells) for number, cells in rows() if cells != HEAD and not set("".join(cells)) <= {"-", " "}]


def test_every_table_has_the_same_columns():
    assert {len(cells) for _, cells in rows()} <= {len(HEAD)}


@pytest.mark.parametrize(("number", "cells"), CONTRACT, ids=[f"line {number}" for number, _ in CONTRACT])
def test_the_row_is_whole_and_its_tests_exist(number, cells):
    assert all(cells), f"docs/safety.md, line {number}: an empty cell"
    named = re.findall(r"`([\w/.]+\.py)::(\w+)`", cells[-1])
    assert named, f"docs/safety.md, line {number}: name the test as `folder/file.py::test_name`, from test/"
    for file, test in named:
        tree = ast.parse((ROOT / "test" / file).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert test in functions, f"docs/safety.md, line {number}: {file} has no {test}"
