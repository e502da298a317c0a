"""The map from the sources' equations to the code: nothing missing, nothing that does not exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("theory_page", ROOT / "scripts" / "theory_page.py")
theory_page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(theory_page)
SOURCES = theory_page.read()
ENTRIES = [(source["source"], entry) for source in SOURCES for entry in source["entries"]]


def numbers(at):
    """The equation numbers that an entry covers; none for a heading."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(at))
    return range(int(found[1]), int(found[2] or found[1]) + 1) if found else ()


@pytest.mark.parametrize(("source", "entry"), ENTRIES, ids=[f"{s} {e['at']}" for s, e in ENTRIES])
def test_everything_named_exists(source, entry):
    assert entry["says"] and entry["by"] and entry["test"]
    assert set(entry) <= {"at", "says", "by", "test", "note", "slip"}
    for name in entry["by"]:
        if name.startswith("examples/"):
            assert (ROOT / name).is_file(), name
        else:
            assert callable(resolve(name)), name
    for name in entry["test"]:
        assert (ROOT / "test" / name).is_file(), name


def resolve(dotted):
    """The object of a dotted name."""
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


@pytest.mark.parametrize("source", [s for s in SOURCES if "numbered" in s], ids=lambda s: s["source"])
def test_every_equation_number_is_there_once(source):
    covered = [number for entry in source["entries"] for number in numbers(entry["at"])]
    assert covered == list(range(1, source["numbered"] + 1))


def test_all_sources_are_there():
    assert [source["source"] for source in SOURCES] == ["000", "001", "002", "003", "004"]


def test_the_page_is_up_to_date():
    assert theory_page.PAGE.read_text() == theory_page.page(SOURCES), "run python scripts/theory_page.py"


def test_equations_cited_in_the_code_are_in_the_map():
    """As in "000 equation 37, 41" or "000 equations 13 and 24"."""
    limits = {source["source"]: source.get("numbered", 0) for source in SOURCES}
    cited = 0
    for file in [*(ROOT / "rbd_dynamics").rglob("*.py"), *(ROOT / "examples").glob("*.py")]:
        for source, text in re.findall(r"(00[0-4]) equations? ((?:\d+(?:, | and |-)?)+)", file.read_text()):
            for number in re.findall(r"\d+", text):
                assert 1 <= int(number) <= limits[source], f"{file}: {source} equation {number}"
                cited += 1
    assert cited > 10
