# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several files of tests share."""

from __future__ import annotations

import importlib

import pytest
from helpers.browser import Browser
from helpers.paths import EXAMPLES
from hypothesis import settings

settings.register_profile("tests", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("tests")


@pytest.fixture
def example(monkeypatch):
    """Import a script of examples/ by its name."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """For pages; mark the test with `needs_browser`."""
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one
