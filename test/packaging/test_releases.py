# SPDX-License-Identifier: Apache-2.0
"""What a release for ROS needs: manifests that say all, and changelogs in the form of bloom."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType
from xml.etree import ElementTree

import pytest
from helpers.paths import ROOT

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


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("changelog_rst", ROOT / "scripts" / "changelog_rst.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
