# SPDX-License-Identifier: Apache-2.0
"""What a release for ROS needs: manifests that say all, and changelogs in the form of bloom."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from types import ModuleType
from xml.etree import ElementTree

import pytest
import yaml
from helpers.paths import ROOT
from helpers.wide import wide

import rbd_dynamics

PACKAGES = {"rbd_dynamics": ROOT, "rbd_dynamics_interfaces": ROOT / "rbd_dynamics_interfaces"}
RELEASED = """# Changelog

## [Unreleased]

### Added

- A thing with `code_` and *stress*
  over two lines.

## [1.2.0] - 2026-03-01

### Fixed

- Another: [a page](docs/safety.md), `__init__`.

## [1.1.0] - 2026-01-31

- The first one.
"""


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def script_called(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_called("changelog_rst")


@pytest.mark.parametrize("package", PACKAGES)
def test_changelog_for_bloom_is_that_of_the_markdown(script, package):
    written = (PACKAGES[package] / "CHANGELOG.rst").read_text()
    expected = script.changelog(package, (ROOT / "CHANGELOG.md").read_text())
    assert written == expected, "write it anew with: python scripts/changelog_rst.py"


@pytest.mark.parametrize("package", PACKAGES)
def test_blooms_parser_reads_the_changelog(script, package):
    parser = pytest.importorskip("catkin_pkg.changelog", reason="needs catkin_pkg, which comes with colcon")
    pytest.importorskip("docutils", reason="needs docutils, which comes with catkin_pkg")
    text = script.changelog(package, RELEASED)
    assert "\nForthcoming\n-----------\n" in text  # what catkin_prepare_release looks for
    log = parser.populate_changelog_from_rst(parser.Changelog(package), text)
    versions = {version: (date, content) for version, date, content in log.foreach_version()}
    assert sorted(versions) == ["1.1.0", "1.2.0"]
    assert str(versions["1.2.0"][0].date()) == "2026-03-01"
    if package == "rbd_dynamics":
        assert "Another: a page (docs/safety.md), " in str(versions["1.2.0"][1][0])


def test_heading_that_is_no_release_is_refused(script):
    with pytest.raises(ValueError, match="has no date"):
        script.releases("## [1.0.0]\n")
    with pytest.raises(ValueError, match="is neither"):
        script.releases("## 1.0.0\n")


@pytest.mark.parametrize("package", PACKAGES)
def test_manifest_says_who_where_and_under_which_license(package):
    root = ElementTree.parse(PACKAGES[package] / "package.xml").getroot()
    for tag in ("version", "description", "maintainer", "license", "url", "author"):
        assert (root.findtext(tag) or "").strip(), f"{package}: <{tag}> is missing"
    for person in (*root.iter("maintainer"), *root.iter("author")):
        assert re.fullmatch(r"[\w.-]+@[\w.-]+\.\w+", person.get("email", ""))
    assert {url.get("type") for url in root.iter("url")} <= {"website", "bugtracker", "repository"}


def test_manifest_declares_what_launch_files_and_tests_use():
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    declared = {kind: {element.text for element in root.iter(kind)} for kind in ("exec_depend", "test_depend")}
    assert {"xacro", "control_msgs", "launch", "launch_ros"} <= declared["exec_depend"]
    assert {"example-robot-data", "pinocchio", "python3-pytest", "python3-hypothesis"} <= declared["test_depend"]


def test_bloom_finds_both_packages(tmp_path):
    """In the branch and the tag that it releases from; in the usual branch one is inside the other, where it is not."""
    packages = pytest.importorskip("catkin_pkg.packages", reason="needs catkin_pkg, which comes with colcon")
    order = pytest.importorskip("catkin_pkg.topological_order")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "safe.directory=*"]
    variables = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c"}
    variables |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path / "source", env=variables, capture_output=True, text=True)

    (tmp_path / "source").mkdir()
    parts = "package.xml CHANGELOG.rst LICENSE setup.py scripts/ros_release rbd_dynamics_interfaces"
    for name in parts.split():
        copy = tmp_path / "source" / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copytree(ROOT / name, copy) if (ROOT / name).is_dir() else shutil.copy(ROOT / name, copy)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        assert run(*git, *words).returncode == 0
    made = run("scripts/ros_release")
    assert made.returncode == 0, made.stderr
    assert "is there already" in run("scripts/ros_release").stderr
    version = rbd_dynamics.__version__
    for name in ("ros", f"ros/{version}"):
        folder = tmp_path / name.replace("/", "-")
        assert run(*git, "worktree", "add", "-q", "--detach", str(folder), name).returncode == 0
        found = order.topological_order(str(folder))
        assert [path for path, _ in found] == ["rbd_dynamics_interfaces", "rbd_dynamics"]
        for path, package in found:
            assert (package.name, package.version) == (path, version)
            assert {"CHANGELOG.rst", "LICENSE"} <= {file.name for file in (folder / path).iterdir()}
        assert not (folder / "rbd_dynamics" / "rbd_dynamics_interfaces").exists()
    assert list(packages.find_packages(str(tmp_path / "source"))) == ["."]
    text = (tmp_path / "source" / "package.xml").read_text()
    (tmp_path / "source" / "package.xml").write_text(text.replace(f">{version}<", ">9.0.0<"))
    assert run(*git, "commit", "-qam", "another").returncode == 0
    assert f"of versions 9.0.0 and {version}" in run("scripts/ros_release").stderr


# --- on a code host -----------------------------------------------------------------------------


def test_release_notes_are_the_section_of_that_version():
    notes = script_called("release_notes").notes
    assert notes("1.2.0", RELEASED) == "### Fixed\n\n- Another: [a page](docs/safety.md), `__init__`.\n"
    assert notes("1.1.0", RELEASED) == "- The first one.\n"
    for version in ("1.1", "1.3.0", "Unreleased"):
        with pytest.raises(ValueError, match=f"has no section on {version}"):
            notes(version, RELEASED)


def test_a_tag_that_is_not_the_version_is_refused():
    check = script_called("release_notes").check_version
    check("1.2.0", '__version__ = "1.2.0"\n')
    with pytest.raises(ValueError, match=r"is not of version 1\.2\.1"):
        check("1.2.1", '__version__ = "1.2.0"\n')


def steps(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_there_is(path):
    """Each step uses an action of a named version, or runs a command; those of this repository exist."""
    workflow = yaml.safe_load(path.read_text())
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./-]+", step.get("uses", "a/b@v1"))
        words = shlex.split(step.get("run", "true"))
        if words[0] == "make":
            assert words[1] in targets
        for word in words:
            if word.startswith(("scripts/", ".ci/", "requirements/")):
                assert (ROOT / word).exists(), word
    for job in workflow["jobs"].values():
        assert set(job.get("needs", "").split()) <= set(workflow["jobs"])


def test_library_and_wheel_are_tested_on_every_python_that_is_promised():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    promised = re.search(
        r"Python :: 3\.\{minor\}\" for minor in range\((\d+), (\d+)\)", (ROOT / "setup.py").read_text()
    )
    pythons = [f"3.{minor}" for minor in range(int(promised[1]), int(promised[2]))]
    assert pythons == ["3.10", "3.11", "3.12", "3.13"]
    for name in ("library", "wheel"):
        assert jobs[name]["strategy"]["matrix"]["python"] == pythons
    assert " ".join(pythons) in (ROOT / "scripts" / "wheel").read_text()
    assert {"lint", "library", "wheel", "ros", "docs", "installed"} <= set(jobs)


@wide
def test_the_wheel_is_installed_with_all_its_extras_in_a_fresh_environment(tmp_path):
    """Wheel and source archive, `twine check --strict`, pip, and what a user does with it."""
    found = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "build"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if found.returncode:
        pytest.skip("there is no package index to install from")
    variables = {**os.environ, "AGES": "newest", "EXTRAS": "all"}
    command = [str(ROOT / "scripts" / "wheel"), sys.executable]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=1500)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    version = rbd_dynamics.__version__
    assert f"rbd_dynamics-{version}-py3-none-any.whl" in answer.stdout and answer.stdout.count("PASSED") == 2
