# SPDX-License-Identifier: Apache-2.0
"""The map from the sources' equations to the code: nothing missing, nothing that does not exist."""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache

import pytest
from helpers.paths import ROOT

SPEC = importlib.util.spec_from_file_location("theory_page", ROOT / "scripts" / "theory_page.py")
theory_page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(theory_page)
SOURCES = theory_page.read()
BY_NUMBER = {source["source"]: source for source in SOURCES}
ENTRIES = [(source["source"], entry) for source in SOURCES for entry in source["entries"]]
every_entry = pytest.mark.parametrize(("source", "entry"), ENTRIES, ids=[f"{s} {e['at']}" for s, e in ENTRIES])
every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda s: s["source"])


def numbers(at):
    """The equation numbers that an entry covers; none for a heading."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(at))
    return range(int(found[1]), int(found[2] or found[1]) + 1) if found else ()


@cache
def names_of_tests(file):
    """The names of a file's tests."""
    tree = ast.parse(theory_page.file_of_tests(file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def check_tests(tests):
    assert tests
    for test in tests:
        file, _, name = test.partition("::")
        assert file.startswith("test_") and names_of_tests(file)
        assert not name or name in names_of_tests(file), test


@every_entry
def test_everything_named_exists(source, entry):
    allowed = {"at", "says", "kind", "by", "test", "planned", "note", "slip", "slip_test"}
    assert entry["says"] and set(entry) <= allowed
    assert entry.get("kind", "definition") == "definition"
    assert ("by" in entry) == ("test" in entry) != ("planned" in entry)
    assert ("slip" in entry) == ("slip_test" in entry)
    for name in entry.get("by", ()):
        if name.startswith("examples/"):
            assert (ROOT / name).is_file(), name
        else:
            assert not any(part.startswith("_") for part in name.split(".")), f"{name} is private"
            assert theory_page.resolve(name).__doc__, f"{name} has no docstring"
    for field in {"test", "slip_test"} & set(entry):
        check_tests(entry[field])


def test_a_name_that_does_not_exist_is_found_out():
    for wrong in ("spatial.exp_so4", "Robot.inverse_dynamic", "algorithms.inverse_dynamics.nothing", "nothing"):
        with pytest.raises((AttributeError, ModuleNotFoundError)):
            theory_page.resolve(wrong)
    with pytest.raises(AssertionError):
        check_tests(["test_theory_map.py::test_that_is_not_there"])


@every_source
def test_every_equation_number_is_there_once(source):
    covered = [number for entry in source["entries"] for number in numbers(entry["at"])]
    assert sorted(covered) == list(range(1, source.get("numbered", 0) + 1))


@every_source
def test_every_label_and_example_is_there_once(source):
    places = [str(entry["at"]) for entry in source["entries"]]
    assert len(set(places)) == len(places)
    for label, count in source.get("labels", {}).items():
        assert [at for at in places if at.startswith(label)] == [f"{label} {n}" for n in range(1, count + 1)]
    assert len([at for at in places if re.search("example:", at, re.I)]) == source.get("examples", 0)


def slides_without_entry(source):
    """Titles whose entry is not there."""
    places = {str(entry["at"]) for entry in source["entries"]} | {"no formula"}
    return [title for title, at in source.get("slides", {}).items() if at not in places]


@every_source
def test_every_slide_has_its_entry_and_every_entry_its_slide(source):
    assert not slides_without_entry(source)
    if "slides" in source:
        assert {str(entry["at"]) for entry in source["entries"]} <= set(source["slides"].values())


def test_a_source_without_numbers_has_its_slides():
    """What has no numbers is not counted, and was missing without notice."""
    assert [s["source"] for s in SOURCES if "slides" in s] == ["003"]
    assert len(BY_NUMBER["003"]["slides"]) == 48
    lacking = {**BY_NUMBER["003"], "entries": BY_NUMBER["003"]["entries"][:-1]}
    assert slides_without_entry(lacking) == ["Screw Cylindroid"]


def test_all_sources_are_there():
    assert list(BY_NUMBER) == ["000", "001", "002", "003", "004"]


def test_the_page_is_up_to_date():
    assert theory_page.PAGE.read_text() == theory_page.page(SOURCES), "run python scripts/theory_page.py"


def test_what_is_not_there_yet_is_said():
    waiting = {"source": "000", "entries": [{"at": "54", "says": "M a = tau", "planned": "constraints"}]}
    text = theory_page.page([waiting])
    assert "## Not there yet\n\n- 000, (54): M a = tau (constraints)" in text
    assert "| *not there yet: constraints* |" in text


def test_equations_cited_in_the_code_are_in_the_map():
    """As in "000 equation 37, 41", "000 equations 13 and 24", "000 lemma 1"."""
    cited = 0
    for file in [*(ROOT / "rbd_dynamics").rglob("*.py"), *(ROOT / "examples").glob("*.py")]:
        text = file.read_text()
        for source, found in re.findall(r"(00[0-4])(?:'s)? equations? ((?:\d+(?:, | and |-)?)+)", text):
            for number in re.findall(r"\d+", found):
                assert 1 <= int(number) <= BY_NUMBER[source].get("numbered", 0), f"{file}: {source} equation {number}"
                cited += 1
        for source, label, number in re.findall(r"(00[0-4]) (lemma|property|theorem|table) (\d+)", text):
            assert 1 <= int(number) <= BY_NUMBER[source].get("labels", {}).get(label, 0), f"{file}: {label} {number}"
            cited += 1
    assert cited > 15
