# SPDX-License-Identifier: Apache-2.0
"""What each way of installing puts where: real runs of colcon and pip on a copy of this checkout, in a workspace."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from helpers.paths import ROOT

from rbd_dynamics.common.node_table import NODES

INTERFACES = "rbd_dynamics_interfaces"
BOTH = {"rbd_dynamics": "(ros.ament_python)", INTERFACES: "(ros.ament_cmake)"}
COMMAND = "rbd_dynamics"
EXECUTABLES = {*NODES, "replay"}
PATIENCE = 300.0  # s for a build that takes three

needs_colcon = pytest.mark.skipif(
    not (importlib.util.find_spec("colcon_core") and importlib.util.find_spec("colcon_ros")),
    reason="colcon is not installed",
)


def makes_wheels() -> bool:
    """pip is here, and a setuptools that makes wheels by itself or with the package wheel."""
    if not importlib.util.find_spec("pip") or not importlib.util.find_spec("setuptools"):
        return False
    version = tuple(int(part) for part in metadata.version("setuptools").split(".")[:2])
    return version >= (70, 1) or importlib.util.find_spec("wheel") is not None


needs_pip = pytest.mark.skipif(not makes_wheels(), reason="pip, or a setuptools that makes wheels, is not installed")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a plain clone in src/, as if it had been cloned now."""
    clone = tmp_path / "ws" / "src" / "rbd_dynamics"
    clone.mkdir(parents=True)
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    for name in ("rbd_dynamics", INTERFACES, "launch", "config", "resource"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "ws"


def has_interfaces(prefix: str) -> bool:
    return Path(prefix, "share", "ament_index", "resource_index", "packages", INTERFACES).exists()


def environment(folder: Path, with_interfaces: bool) -> dict[str, str]:
    """This one, with or without the prefixes that hold the interface package, and nobody's settings of colcon."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    if with_interfaces and not any(map(has_interfaces, prefixes)):
        pytest.skip("the interface package is not built")
    kept = [prefix for prefix in prefixes if with_interfaces or not has_interfaces(prefix)]
    variables = {**os.environ, "AMENT_PREFIX_PATH": os.pathsep.join(kept), "COLCON_HOME": str(folder / "colcon")}
    for name in ("COLCON_DEFAULTS_FILE", "COLCON_PREFIX_PATH"):
        variables.pop(name, None)
    return variables


def colcon(workspace: Path, *arguments: str, with_interfaces: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colcon", *arguments]
    variables = environment(workspace.parent, with_interfaces)
    return subprocess.run(command, cwd=workspace, env=variables, capture_output=True, text=True, timeout=PATIENCE)


def listed(workspace: Path) -> dict[str, str]:
    answer = colcon(workspace, "--log-base", os.devnull, "list", with_interfaces=False)
    return {line.split()[0]: line.split()[-1] for line in answer.stdout.splitlines()}


def in_workspace(workspace: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that has sourced the workspace, elsewhere than in it."""
    line = ["bash", "-c", f'. "{workspace}/install/local_setup.bash" && exec "$@"', "bash", *command]
    variables = environment(workspace.parent, True)
    variables["ROS_LOG_DIR"] = str(workspace / "log" / "ros")
    return subprocess.run(line, cwd="/", env=variables, capture_output=True, text=True, timeout=PATIENCE)


def executables(folder: Path) -> set[str]:
    """Everything below a folder that can be started."""
    return {path.name for path in folder.rglob("*") if path.is_file() and os.access(path, os.X_OK)}


# --- a workspace --------------------------------------------------------------------------------


@needs_colcon
@pytest.mark.wide
@pytest.mark.parametrize("options", [(), ("--symlink-install",)], ids=["copy", "symlink"])
def test_build_without_interfaces_ends_with_one_line_whose_command_helps(
    workspace: Path, options: Sequence[str]
) -> None:
    assert set(listed(workspace)) == {"rbd_dynamics"}
    answer = colcon(workspace, "build", *options, with_interfaces=False)
    assert answer.returncode != 0
    told = re.search(r"^--- stderr: rbd_dynamics\n(.*?)^---$", answer.stderr, re.MULTILINE | re.DOTALL)
    assert told, answer.stderr
    (line,) = told[1].strip().splitlines()
    assert line.startswith(f"{INTERFACES} is missing")
    assert not (workspace / "install" / "rbd_dynamics" / "lib" / "rbd_dynamics").exists()

    subprocess.run(re.findall(r"ln -s .*", line)[0], shell=True, cwd=workspace, check=True)
    assert listed(workspace) == BOTH


@needs_colcon
def test_one_link_in_src_shows_both_packages_to_colcon_and_rosdep(workspace: Path) -> None:
    packages = pytest.importorskip("catkin_pkg.packages")  # rosdep asks it what --from-paths holds
    subprocess.run(["ln", "-s", f"rbd_dynamics/{INTERFACES}", "."], cwd=workspace / "src", check=True)
    assert listed(workspace) == BOTH
    assert {package.name for package in packages.find_packages(str(workspace / "src")).values()} == set(BOTH)
    order = colcon(workspace, "--log-base", os.devnull, "list", "--topological-order", "--names-only").stdout.split()
    assert order == [INTERFACES, "rbd_dynamics"]


@needs_colcon
@pytest.mark.wide
@pytest.mark.parametrize("options", [(), ("--symlink-install",)], ids=["copy", "symlink"])
def test_colcon_build_puts_what_ros2_run_starts_where_it_looks(workspace: Path, options: Sequence[str]) -> None:
    answer = colcon(workspace, "build", *options)  # the interface package is there as an installed one
    assert answer.returncode == 0, answer.stderr
    prefix = workspace / "install" / "rbd_dynamics"
    folder = prefix / "lib" / "rbd_dynamics"
    assert executables(folder) == {COMMAND, *EXECUTABLES}
    assert not (prefix / "bin").exists()

    where = in_workspace(workspace, sys.executable, "-c", "import rbd_dynamics; print(rbd_dynamics.__file__)")
    source = workspace / "src" / "rbd_dynamics" / "rbd_dynamics" / "__init__.py"
    assert Path(where.stdout.strip()).samefile(source) == bool(options), (
        "the installed package, or a link to the source"
    )
    for name, arguments in ((COMMAND, ["replay"]), ("replay", [])):
        answer = in_workspace(workspace, str(folder / name), *arguments, "--help")
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.startswith("usage: rbd_dynamics replay")
    if importlib.util.find_spec("rclpy") is None:
        return
    for name in NODES:  # each gets as far as its parameters
        answer = in_workspace(workspace, str(folder / name), "--ros-args", "-p", "executor:=none_such")
        assert answer.returncode != 0
        assert "cannot start: parameter 'executor'" in answer.stderr


# --- without ROS --------------------------------------------------------------------------------


@needs_pip
@pytest.mark.parametrize(
    "how", ["wheel", *(pytest.param(how, marks=pytest.mark.wide) for how in ("source", "editable"))]
)
def test_pip_installs_the_command_only(workspace: Path, how: str) -> None:
    clone, prefix = workspace / "src" / "rbd_dynamics", workspace.parent / "prefix"
    # with a ROS sourced, too: it is pip that decides, not the shell
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--no-index"]

    def pip(*arguments: str) -> None:
        command = [sys.executable, "-m", "pip", *arguments]
        answer = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=PATIENCE)
        assert answer.returncode == 0, answer.stderr

    what = ["."] if how == "source" else ["-e", "."]
    if how == "wheel":
        pip("wheel", *options, "--wheel-dir", "dist", ".")
        what = [str(next(clone.glob("dist/*.whl")))]
    pip("install", *options, "--ignore-installed", "--prefix", str(prefix), *what)
    assert executables(prefix) == {COMMAND}

    library = next(prefix.rglob("*.dist-info")).parent
    variables = {**os.environ, "PYTHONPATH": str(clone if how == "editable" else library)}
    command = next(path for path in prefix.rglob(COMMAND) if path.is_file() and os.access(path, os.X_OK))
    answer = subprocess.run([command, "--version"], cwd="/", env=variables, capture_output=True, text=True)
    assert answer.stdout.startswith("rbd_dynamics "), answer.stderr
