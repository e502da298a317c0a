# SPDX-License-Identifier: Apache-2.0
"""The site that `make docs` builds has every page, and a reference of all that is public."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from types import ModuleType

import pytest
from helpers.paths import ROOT

import rbd_dynamics as rbd

SITE = ROOT / "docs" / "site"
INDEX = ROOT / "docs" / "index.md"
REFERENCE = sorted((SITE / "api").glob("*.rst"))
#: top of the repository, and where else pages are
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "notebooks").glob("*.ipynb"),
    *REFERENCE,
    ROOT / "examples" / "README.md",
]


def navigation():
    """{heading: files}, as docs/site/conf.py reads the start page."""
    parts = re.split(r"^## (.*)\n", INDEX.read_text(), flags=re.MULTILINE)
    links = [re.findall(r"^- \[[^]]*\]\(([^)#]+)\)", part, re.MULTILINE) for part in parts[2::2]]
    return dict(zip(parts[1::2], ([(INDEX.parent / link).resolve() for link in part] for part in links)))


def modules(page):
    return re.findall(r"^\.\. automodule:: (\S+)", page.read_text(), re.MULTILINE)


def test_every_page_is_in_the_navigation():
    named = [page for pages in navigation().values() for page in pages]
    assert set(PAGES) - {INDEX} == set(named)


def test_every_heading_of_the_start_page_has_pages():
    assert all(navigation().values())


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_the_reference_names_what_exists(page):
    text = page.read_text()
    for module in modules(page):
        importlib.import_module(module)
    for kind, path in re.findall(r"^\.\. auto(class|function):: (\S+)", text, re.MULTILINE):
        package, name = path.rsplit(".", 1)
        assert isinstance(getattr(importlib.import_module(package), name), type) == (kind == "class"), path
    for line in re.findall(r"^\.\. automodule:: (\S+)\n(?:   .*\n)*?   :exclude-members: (.*)", text, re.MULTILINE):
        assert set(line[1].split(", ")) <= set(importlib.import_module(line[0]).__all__)


def test_the_reference_has_all_that_is_public():
    named = {module for page in REFERENCE for module in modules(page)}
    public = {getattr(rbd, name).__name__ for name in rbd.__all__ if isinstance(getattr(rbd, name), ModuleType)}
    assert len(public) > 10
    assert public | {"rbd_dynamics", "rbd_dynamics.contacts"} <= named
    text = "".join(page.read_text() for page in REFERENCE)
    here = re.findall(r"^\.\. auto(?:class|function):: rbd_dynamics\.(\w+)$", text, re.MULTILINE)
    assert [name for name, times in Counter(here).items() if times > 1] == []  # Sphinx warns
    there = {
        id(thing) for module in named - {"rbd_dynamics"} for thing in vars(importlib.import_module(module)).values()
    }
    things = [name for name in rbd.__all__ if not isinstance(getattr(rbd, name), (ModuleType, str))]
    assert [name for name in things if name not in here and id(getattr(rbd, name)) not in there] == []
