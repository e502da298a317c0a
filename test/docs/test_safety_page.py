# SPDX-License-Identifier: Apache-2.0
"""docs/safety.md: every row of the contract names a test of the suite that proves it."""

from __future__ import annotations

import ast
import re
from functools import cache

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


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((ROOT / "test" / file).read_text())


def marks_of(file, test):
    """What stands above a test, its class and at the head of its file; None where there is no such test."""
    tree = parsed(file)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner in (tree, *classes):
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and node.name == test:
                above = [*node.decorator_list, *getattr(owner, "decorator_list", [])]
                heads = [n for n in (*tree.body, *owner.body) if isinstance(n, ast.Assign)]
                heads = [n.value for n in heads if ast.unparse(n.targets[0]) == "pytestmark"]
                return " ".join(ast.unparse(mark) for mark in (*above, *heads))
    return None


@pytest.mark.parametrize(("number", "cells"), CONTRACT, ids=[f"line {number}" for number, _ in CONTRACT])
def test_the_row_is_whole_and_its_tests_exist(number, cells):
    assert all(cells), f"docs/safety.md, line {number}: an empty cell"
    named = re.findall(r"`([\w/.]+\.py)::(\w+)`", cells[-1])
    assert named, f"docs/safety.md, line {number}: name the test as `folder/file.py::test_name`, from test/"
    for file, test in named:
        marks = marks_of(file, test)
        assert marks is not None, f"docs/safety.md, line {number}: {file} has no {test}"
        assert "wide" not in marks, f"docs/safety.md, line {number}: `make test` leaves {test} out"
