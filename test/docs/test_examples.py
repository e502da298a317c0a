# SPDX-License-Identifier: Apache-2.0
"""Every script of examples/ runs, ends in a picture, and stands in the table of examples/README.md."""

from __future__ import annotations

import re
import sys

import pytest
from helpers.paths import EXAMPLES
from helpers.wide import table

#: what an example needs that nothing else does; where it is missing its test is skipped
NEEDED = {"learning_jax": "jax", "learning_torch": "torch", "reach_casadi": "casadi", "reach_crocoddyl": "crocoddyl"}
#: run each time; what the others compute is tested without their pictures
QUICK = ("box_inertia", "cornering_car")
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if "\ndef main(" in path.read_text())


@pytest.mark.parametrize("name", table(SCRIPTS, QUICK))
def test_the_example_runs_and_ends_in_a_picture(name, example, monkeypatch, tmp_path, capsys):
    for package in ("matplotlib", NEEDED.get(name)):
        if package is not None:
            pytest.importorskip(package)
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path / "new" / "picture.png")])
    example(name).main()
    assert (tmp_path / "new" / "picture.png").stat().st_size > 10_000
    assert "picture.png" in capsys.readouterr().out


def test_the_table_of_examples_is_complete():
    table = (EXAMPLES / "README.md").read_text()
    assert sorted(re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\)", table, flags=re.MULTILINE)) == SCRIPTS
