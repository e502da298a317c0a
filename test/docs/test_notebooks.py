# SPDX-License-Identifier: Apache-2.0
"""The notebooks of docs/notebooks run, print what is stored in them, and link to what exists."""

from __future__ import annotations

import importlib.util
import json
import re

import pytest
from helpers.models.robots import needs_pinocchio
from helpers.paths import ROOT
from helpers.wide import table

SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)
PATHS = notebooks.paths()
#: run each time
QUICK = ("torque_of_a_motion",)
every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def printed(notebook):
    """What each cell prints and answers, pictures left out: these differ from one matplotlib to another."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            found.append("".join(output.get("text") or output.get("data", {}).get("text/plain") or ()))
    return found


def pictures(notebook):
    return sum("image/png" in out.get("data", {}) for cell in notebook["cells"] for out in cell.get("outputs", ()))


@needs_pinocchio
@pytest.mark.parametrize("path", table(PATHS, lambda path: path.stem in QUICK), ids=lambda path: path.stem)
def test_the_notebook_runs_and_prints_what_is_stored(path):
    pytest.importorskip("matplotlib")
    stored, now = notebooks.read(path), notebooks.executed(path)
    assert any(printed(stored))
    assert printed(now) == printed(stored), f"run: python scripts/notebooks.py {path.stem}"
    assert pictures(now) == pictures(stored)


@every_notebook
def test_the_file_is_as_jupyter_writes_it(path):
    assert path.read_text(encoding="utf-8") == notebooks.text(notebooks.read(path))


@every_notebook
def test_the_text_links_to_what_exists(path):
    text = notebooks.as_markdown(notebooks.read(path))
    links = [target for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if not target.startswith("data:")]
    assert links
    for target in links:
        assert (path.parent / target).exists(), target


def test_an_error_names_notebook_and_cell(tmp_path):
    cells = [{"cell_type": "code", "source": [source]} for source in ("x = 1\n", "print(x)\n", "x / 0\n")]
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    with pytest.raises(ZeroDivisionError) as error:
        notebooks.executed(path)
    assert str(error.traceback[-1].path).endswith("wrong.ipynb, cell 3")
