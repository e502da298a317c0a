# SPDX-License-Identifier: Apache-2.0
"""What the set-up says while it works."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import threading

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
    for name in ("a-1.dist-info", "b_c-2.dist-info", "other-3.dist-info", "b"):
        (packages / name).mkdir(parents=True)
    assert setup.count_installed({"a", "b-c", "d"}) == 2


def test_what_is_done_beside_has_its_name_before_its_lines_and_its_error_is_raised(setup, capsys):
    step = threading.Barrier(2, timeout=60.0)  # which only two at the same time get past

    def aside():
        step.wait()
        setup.Screen().say("half")
        raise setup.SetupError("no space left")

    def work():
        step.wait()
        setup.Screen().say("all")

    with pytest.raises(setup.SetupError, match="no space left"):
        setup.beside("packages", aside, work)
    assert sorted(capsys.readouterr().out.splitlines()) == ["   all", "   packages: half"]


def test_on_a_terminal_progress_is_one_line(setup, capsys, monkeypatch, tmp_path):
    """Steps and how long they took stay; of what a command says the last, also of two at the same time."""
    monkeypatch.setattr(setup, "STAMPS", tmp_path)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    def work():
        for k in range(3):
            setup.Screen().say(f"{k} of 3 packages")
        setup.terminal.show("beside: ", "half")

    setup.step("packages", "key", "packages", work)
    shown = [line.rsplit("\r\033[K", 1)[-1] for line in capsys.readouterr().out.split("\n")]
    assert shown == ["== packages", "   0 s", "   beside: half"]


def test_the_set_up_ends_with_what_to_do_next(setup):
    """Commands and pages that there are; only where nothing comes after it, as `make demo` does."""
    from rbd_dynamics.cli.program import make_parser

    commands = [line[2:34].split() for line in setup.NEXT.splitlines()[1:]]
    assert [words[0] for words in commands] == [".", "rbd_dynamics", "make", "docs/first_torques.md"]
    make_parser().parse_args(commands[1][1:])
    assert (ROOT / commands[0][1]).is_file() and (ROOT / commands[3][0]).is_file()
    for goals, ends in {"setup": True, "demo": False, "test": False}.items():
        told = subprocess.run(["make", "-n", goals], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert ("setup_environment.py --next" in told) == ends


def test_what_is_done_is_what_has_changed_since(setup, tmp_path, monkeypatch):
    done = []

    def make_venv(python, with_system):
        shutil.rmtree(setup.VENV, ignore_errors=True)
        setup.VENV.mkdir()
        done.append("venv")

    (tmp_path / "requirements").mkdir()
    for name in ("-ros", "", "-tests"):
        (tmp_path / "requirements" / f"lock-jazzy{name}.txt").write_text(f"package{name}==1\n")
    python = "of this machine"
    for name, answer in {
        "VENV": tmp_path / ".venv", "STAMPS": tmp_path / ".venv" / "stamps", "make_venv": make_venv,
        "sourced_distro": lambda: None, "choose_python": lambda distro: sys.executable, "stand_ins": list,
        "check_machine": lambda distro, python: None, "ask": lambda python_, code: python,
        "interface_inputs": list, "package_inputs": lambda: "", "keep_compiled": lambda: None,
        "install_builder": lambda lock: None, "install_ros": lambda lock: done.append("ros"),
        "install_locked": lambda lock: done.append("tests" if "tests" in lock.name else "packages"),
        "build_interfaces": lambda distro: done.append("interfaces"),
        "build_package": lambda distro: done.append("package"),
    }.items():  # fmt: skip
        monkeypatch.setattr(setup, name, answer)

    def again(tests=False):
        done.clear()
        setup.main(tests=tests)
        return sorted(done)

    everything = ["interfaces", "package", "packages", "ros", "venv"]
    assert again() == everything and again() == []
    assert again(tests=True) == ["tests"] and again(tests=True) == []
    python = "another"
    assert again(tests=True) == sorted([*everything, "tests"])
    (tmp_path / "requirements" / "lock-jazzy.txt").write_text("package==2\n")
    assert again() == everything
    (setup.STAMPS / "packages").unlink()  # it was interrupted
    assert again() == everything and again() == []


def test_what_python_compiles_is_kept_where_nothing_may_lie_beside_sources(setup, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "")  # so that it is as it was afterwards
    setup.keep_compiled()
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert os.environ["PYTHONPYCACHEPREFIX"] == str(setup.VENV / "pycache")


@pytest.mark.parametrize("told", ["", "1"])
def test_so_it_is_in_its_shells(tmp_path, told):
    for name, text in {
        "scripts/environment.bash": (ROOT / "scripts" / "environment.bash").read_text(),
        "install/local_setup.bash": "",
        ".venv/stamps/package": "",
        ".venv/stamps/mode": "wheels jazzy",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    values = "${PYTHONDONTWRITEBYTECODE-none} ${PYTHONPYCACHEPREFIX-none}"
    command = f". {tmp_path}/scripts/environment.bash && echo {values}"
    environment = {"PATH": os.environ["PATH"]} | ({"PYTHONDONTWRITEBYTECODE": told} if told else {})
    answer = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["none", f"{tmp_path}/.venv/pycache" if told else "none"]
