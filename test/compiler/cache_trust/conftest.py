# SPDX-License-Identifier: Apache-2.0
"""Folders of a cache, with one entry and without."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from helpers.cache_files import DATA, KEY, NAME, OTHER_USER

from rbd_dynamics.compiler import cache


@pytest.fixture(autouse=True)
def start():
    """Every test is told anew why a folder is not used, and its own folders are its own."""
    cache._warn.cache_clear()
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder with the entries, one of them there already."""
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "chosen"))
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) == DATA
    return tmp_path / "chosen" / "kernels"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No folder is chosen: a home and a temporary folder of this test's own."""
    for variable in (cache.ENVIRONMENT_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for variable, name in {"HOME": "home", "TMPDIR": "tmp"}.items():
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    (tmp_path / "tmp").chmod(0o1777)
    return tmp_path / "home"


@pytest.fixture(params=["/tmp"])
def open_to_all(request):
    """A folder that other users may enter, of the user that `unprivileged` is."""
    folder = Path(tempfile.mkdtemp(dir=request.param))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder, OTHER_USER, -1)
    yield folder
    shutil.rmtree(folder)
