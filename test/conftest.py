# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several files of tests share."""

from __future__ import annotations

import importlib

import pytest
from helpers.paths import EXAMPLES


@pytest.fixture
def example(monkeypatch):
    """Import a script of examples/ by its name."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module
