# SPDX-License-Identifier: Apache-2.0
"""Files that are there as a whole or not at all; what is no file is left where it is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rbd_dynamics.common.whole_files import check_file, check_folder, whole_file, write_whole


def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path):
    """A pipe stands for all of them; a device that is replaced by a file is a machine that is broken."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    write_whole(pipe, "a motion\n")
    assert reader.communicate(timeout=60)[0] == "a motion\n"
    assert pipe.is_fifo() and sorted(os.listdir(tmp_path)) == ["pipe"]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    for text in ("first", "second"):
        write_whole(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "there" / "file").read_text() == text
    with pytest.raises(RuntimeError), whole_file(tmp_path / "link") as part:
        part.write_text("third")
        raise RuntimeError
    assert (tmp_path / "link").read_text() == "second" and os.listdir(tmp_path / "there") == ["file"]


def test_what_cannot_be_written_is_found_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    for path, error in (
        (tmp_path, IsADirectoryError),
        (tmp_path / "missing" / "x", FileNotFoundError),
        (tmp_path / "file" / "x", NotADirectoryError),
    ):
        with pytest.raises(error) as told:
            check_file(path)
        assert Path(told.value.filename) == path
    check_file(tmp_path / "new")
    check_file(tmp_path / "file")
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(NotADirectoryError):
        check_folder(tmp_path / "file")
    check_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_where_one_may_not_write_is_found_before_the_work(tmp_path, monkeypatch):
    """A file is replaced, so that its folder counts; what is no file is written to. Whoever runs this may be root."""
    locked, pipe = tmp_path / "locked", tmp_path / "pipe"
    locked.mkdir()
    (locked / "file").write_text("")
    os.mkfifo(pipe)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in (locked, pipe))
    for check, path in ((check_file, locked / "new"), (check_file, locked / "file"), (check_file, pipe),
                        (check_folder, locked)):  # fmt: skip
        with pytest.raises(PermissionError) as told:
            check(path)
        assert Path(told.value.filename) == path
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != locked / "file")
    check_file(locked / "file")
    check_file(pipe)
