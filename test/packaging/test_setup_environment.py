# SPDX-License-Identifier: Apache-2.0
"""What the set-up says while it works."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from helpers.paths import ROOT


@pytest.fixture
def setup(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("setup_environment", ROOT / "scripts" / "setup_environment.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LOG", tmp_path / "setup.log")
    monkeypatch.setattr(module, "SILENCE", 0.01)
    return module


def test_a_command_without_output_is_not_silent(setup, capsys, tmp_path):
    def waiting():
        (tmp_path / "waited").touch()
        return "3 of 8 installed"

    until = "import pathlib, time\nwhile not pathlib.Path('waited').exists(): time.sleep(0.01)\nprint('end')"
    setup.run([sys.executable, "-c", until], show=lambda line: f"said {line.strip()}", waiting=waiting)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "   3 of 8 installed"
    assert "   said end" in lines
    assert (tmp_path / "setup.log").read_text().endswith("\nend\n")


def test_a_command_that_fails_says_its_last_lines_and_where_the_rest_is(setup, capsys):
    with pytest.raises(setup.SetupError, match=r"failed, see above and setup\.log"):
        setup.run([sys.executable, "-c", "print('no space left'); raise SystemExit(3)"])
    assert "no space left" in capsys.readouterr().err


def test_pip_tells_every_20th_package_and_what_is_installed(setup, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "VENV", tmp_path)
    show = setup.pip_progress(45)
    said = [show(f"Collecting package{k}\n") for k in range(45)]
    assert [line for line in said if line] == ["20 of 45 packages", "40 of 45 packages", "45 of 45 packages"]
    assert show("Installing collected packages: a, b\n") == "installing"
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("a-1.dist-info", "b-2.dist-info", "b"):
        (packages / name).mkdir(parents=True)
    assert setup.installed() == 2
