# SPDX-License-Identifier: Apache-2.0
"""Extras: each optional import has one that installs it, each is named where it is missing, and documents agree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.paths import ROOT

from rbd_dynamics.cli.doctor import software
from rbd_dynamics.common import extras

PACKAGE = ROOT / "rbd_dynamics"
#: modules that come with rosbags, or with Python from 3.14 on
WITH_ROSBAGS = {"lz4", "backports", "compression"}
#: extras that this package imports nothing of
OF_EXAMPLES = {"learning", "robots", "test", "all"}
#: too large for [all], or for learning alone
LARGE = {"torch", "jax", "casadi", "cuda", "gymnasium"}


@pytest.fixture(scope="module")
def setup() -> dict[str, object]:
    if find_spec("setuptools") is None:  # not imported here: it wants to be before distutils
        pytest.skip("needs setuptools")
    code = "import setuptools, json; setuptools.setup = lambda **k: print(json.dumps(k)); exec(open('setup.py').read())"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(answer.stdout)
    return found


def versions(asked) -> dict[str, str]:
    """{package: its bounds}."""
    parsed = [re.fullmatch(r"([\w-]+)(.*)", each) for each in asked]
    return {each[1].lower().replace("_", "-"): each[2] for each in parsed}


def optional_imports() -> dict[str, Path]:
    """Modules that are neither of Python, of ROS, of this package, nor always there: {name: a file that imports it}."""
    present = {"numpy", "rbd_dynamics", *software.NEEDED.values()}
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] == "nodes":
            continue  # there ROS is
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                names = [part.name for part in node.names] if isinstance(node, ast.Import) else []
            found |= {name.partition(".")[0]: path for name in names}
    ros = {"rclpy", "launch", "launch_ros", "ament_index_python"}
    return {
        name: path
        for name, path in found.items()
        if name not in present | ros | set(sys.stdlib_module_names)
        and not name.endswith(("_msgs", "_srvs", "_interfaces"))
    }


def test_every_optional_import_has_an_extra(setup):
    imported = optional_imports()
    assert set(imported) - WITH_ROSBAGS == set(extras.OPTIONAL)
    for module, optional in extras.OPTIONAL.items():
        assert optional.package in versions(setup["extras_require"][optional.extra]), module
        assert optional.needs.endswith(("need", "needs"))


def test_every_extra_is_of_use_and_says_the_oldest_version_that_works(setup):
    named = {optional.extra for optional in extras.OPTIONAL.values()}
    assert set(setup["extras_require"]) == named | OF_EXAMPLES
    for name, asked in {**setup["extras_require"], "": setup["install_requires"]}.items():
        for package, bounds in versions(asked).items():
            assert re.fullmatch(r">=[\d.]+", bounds) or (name, package) == ("test", "hypothesis"), (name, package)
    small = {package for name in named - LARGE for package in setup["extras_require"][name]}
    assert set(setup["extras_require"]["all"]) == small


def test_requirements_of_the_checkout_have_the_same_bounds(setup):
    extras = {name: asked for name, asked in setup["extras_require"].items() if name not in ("jax", "learning")}
    assert "llvmlite>=0.45" in setup["extras_require"]["jax"]  # newer than elsewhere: it calls loops
    known = versions(setup["install_requires"] + [each for asked in extras.values() for each in asked])
    agreed = set()
    for name in ("library", "optional", "docs"):
        lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
        asked = versions(line for line in lines if line and not line.startswith("#"))
        agreed |= set(asked) & set(known)
        assert {package: known[package] for package in set(asked) & set(known)} == {
            package: bounds for package, bounds in asked.items() if package in known
        }
    assert len(agreed) > 12


def test_doctor_looks_for_all_that_is_needed(setup):
    assert {name.lower() for name in software.NEEDED} == set(versions(setup["install_requires"]))


def test_no_message_names_a_package_in_place_of_its_extra():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for found in re.finditer(r"pip install (?!'rbd_dynamics\[)[\w{'.-]*", path.read_text()):
            wrong.append(f"{path.relative_to(ROOT)}: {found[0]}")
    # what must be there has no extra; one is no message
    allowed = ("rbd_dynamics/cli/doctor/software.py", "rbd_dynamics/nodes/reference.py")
    assert not [each for each in wrong if not each.startswith(allowed)]


def test_a_missing_module_is_told_with_its_extra(monkeypatch):
    for module, optional in extras.OPTIONAL.items():
        monkeypatch.setitem(sys.modules, module, None)
        told = rf"needs? the package {optional.package}: pip install 'rbd_dynamics\[{optional.extra}\]'$"
        with pytest.raises(ValueError, match=told):
            extras.require(module)
    assert extras.remedy("llvmlite.binding") == extras.remedy("llvmlite") != ""
    assert extras.remedy("numpy") == ""
    assert "the package trimesh (new): pip" in extras.needed("trimesh", note="new")


def test_the_wheel_is_tried_with_every_extra_but_two(setup):
    """Each is tried by itself, and is used: scripts/wheel_trial.py has what for."""
    tried = re.search(r"^extras=\$\{EXTRAS:-(.*)\}$", (ROOT / "scripts" / "wheel").read_text(), re.MULTILINE)[1].split()
    assert set(tried) == {"none", *setup["extras_require"]} - {"torch", "cuda", "learning", "robots", "test"}
    trial = (ROOT / "scripts" / "wheel_trial.py").read_text()
    assert set(re.findall(r'^    "(\w+)": use_', trial, re.MULTILINE)) == set(tried) - {"none", "all"}


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_documents_name_extras_that_there_are(setup, page):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"rbd_dynamics\[(\w+)\]", text)) | set(re.findall(r"`\[(\w+)\]`", text))
    assert named and named <= set(setup["extras_require"])


def test_readme_names_every_extra(setup):
    text = (ROOT / "README.md").read_text()
    assert {name for name in setup["extras_require"] if f"`[{name}]`" not in text} <= {"test"}


# --- what a wheel is checked for ----------------------------------------------------------------


@pytest.fixture
def contents(monkeypatch):
    pytest.importorskip("packaging")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import wheel_contents

    yield wheel_contents
    sys.modules.pop("wheel_contents")


METADATA = """Metadata-Version: 2.4
Name: rbd_dynamics
Summary: dynamics
License: Apache-2.0
Author-email: a@b.c
Requires-Python: >=3.10
Requires-Dist: numpy>=1.21
Requires-Dist: trimesh>=4; extra == "show"
Provides-Extra: show

"""


def a_wheel(path: Path, **changed: str | None) -> Path:
    """Of the files of this package, some left out (None) or added."""
    sources = [each for each in PACKAGE.rglob("*") if each.is_file() and "__pycache__" not in each.parts]
    files: dict[str, str | None] = {each.relative_to(ROOT).as_posix(): each.read_text() for each in sources}
    files["rbd_dynamics-0.1.0.dist-info/METADATA"] = METADATA + (ROOT / "README.md").read_text()
    files |= changed
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in files.items():
            if text is not None:
                archive.writestr(name, text)
    return path


def test_a_sound_wheel_passes_and_its_extras_are_listed(contents, tmp_path, capsys):
    wheel, other = a_wheel(tmp_path / "one.whl"), a_wheel(tmp_path / "other.whl")
    assert contents.main(wheel, other, tmp_path) == 0, capsys.readouterr().err
    assert (tmp_path / "none.txt").read_text() == "numpy>=1.21\n"
    assert (tmp_path / "show.txt").read_text() == "numpy>=1.21\ntrimesh>=4\n"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"rbd_dynamics/robot.py": None}, "rbd_dynamics/robot.py is missing"),
        ({"rbd_dynamics/scene/viewer.js": None}, "rbd_dynamics/scene/viewer.js is missing"),
        ({"test/test_it.py": ""}, "test/test_it.py does not belong there"),
        ({"rbd_dynamics/robot.py": "# another"}, "rbd_dynamics/robot.py differs from that of the checkout"),
        ({"rbd_dynamics-0.1.0.dist-info/METADATA": METADATA}, "the description is not README.md"),
    ],
)
def test_a_wheel_that_is_not_sound_is_refused(contents, tmp_path, capsys, changed, told):
    wheel, other = a_wheel(tmp_path / "one.whl", **changed), a_wheel(tmp_path / "other.whl")
    assert contents.main(wheel, other, tmp_path) == 1
    assert f"one.whl: {told}" in capsys.readouterr().err
