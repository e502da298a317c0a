# SPDX-License-Identifier: Apache-2.0
"""No folder has so many files that nobody finds one: more than a few dozen have rooms."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from helpers.paths import ROOT

MOST = 24  # files of Python, without `__init__.py`
TREES = ("rbd_dynamics", "test", "benchmarks", "campaigns")
#: each of whose files is one algorithm, named by the field's term
ALGORITHMS = {"rbd_dynamics/algorithms"}


def files_in(folder: Path) -> int:
    return sum(path.name != "__init__.py" for path in folder.glob("*.py"))


@pytest.mark.parametrize("tree", TREES)
def test_a_folder_of_many_files_has_rooms(tree):
    folders = [ROOT / tree, *(path for path in (ROOT / tree).rglob("*") if path.is_dir())]
    full = {str(folder.relative_to(ROOT)) for folder in folders if files_in(folder) > MOST}
    assert full - ALGORITHMS == set(), "too many files: make rooms"


def test_no_two_files_of_tests_have_the_same_name():
    """Pytest imports them by their names alone: one of the two would not be collected."""
    names = Counter(path.name for path in (ROOT / "test").rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []
