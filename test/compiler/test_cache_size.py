# SPDX-License-Identifier: Apache-2.0
"""The cache takes a bounded part of the disk, and removes nothing but what it made."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rbd_dynamics.compiler import cache, cache_entry, cache_size

NAME, DAY, MB = "mass_matrix.o", 86400.0, 1 << 20
BIG = bytes(100_000)  # ten fit into a MB


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder with the entries, of 1 MB."""
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "chosen"))
    monkeypatch.setenv(cache_size.SIZE_VARIABLE, "1")
    another_process()
    return tmp_path / "chosen" / "kernels"


def another_process() -> None:
    """Forget what this process knows of its folders, as one that starts does."""
    cache_size._rooms.clear()
    cache_size._warn.cache_clear()


def path(place: Path, key: object) -> Path:
    return place / cache_entry.Entry(NAME, str(key)).file_name


def store(place: Path, key: object, age: float = 0.0, data: bytes = BIG) -> None:
    cache.store(NAME, str(key), data)
    os.utime(path(place, key), (time.time() - age,) * 2)


def kept(place: Path, keys) -> list:
    return [key for key in keys if path(place, key).exists()]


def size(place: Path) -> int:
    return sum(p.stat().st_size for p in place.iterdir() if cache_entry.ENTRY_NAME.fullmatch(p.name))


# --- size and age ---------------------------------------------------------------------------------------


def test_one_process_never_exceeds_the_bound(place):
    rng = random.Random(0)
    for k in range(300):
        data = bytes(rng.choice([100, 10_000, 100_000, 400_000]))
        cache.store(NAME, str(k), data)
        assert size(place) <= MB
        assert cache.load(NAME, str(k)) == data  # the new one is never what goes
    assert size(place) > MB // 2


def test_what_was_not_used_for_longest_goes_first(place):
    for k in range(10):
        store(place, k, age=(20 - k) * DAY)
    assert cache.load(NAME, "0") == BIG  # used: not the oldest any more
    another_process()
    store(place, "new")
    assert kept(place, range(10)) == [0, 3, 4, 5, 6, 7, 8, 9]  # down to 15/16 of a MB


def test_a_use_is_noted_once_a_day(place):
    now = time.time()
    for age, noted in ((0.5 * DAY, False), (1.5 * DAY, True), (100 * DAY, True), (-3 * DAY, False)):
        store(place, "key", age)
        before = path(place, "key").stat().st_mtime
        assert cache.load(NAME, "key") == BIG
        after = path(place, "key").stat().st_mtime
        assert (after >= now - 1) if noted else (after == before)


def test_what_was_not_used_for_half_a_year_goes(place):
    for key, days in {"old": 181, "used": 181, "young": 179}.items():
        store(place, key, days * DAY, b"small")
    assert cache.load(NAME, "used") == b"small"
    another_process()
    store(place, "new")
    assert kept(place, ["old", "used", "young", "new"]) == ["used", "young", "new"]


def test_small_entries_cost_no_listing_of_the_folder_each(place, monkeypatch):
    listings = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda *args: listings.append(1) or scandir(*args))
    for k in range(300):
        cache.store(NAME, str(k), bytes(1000))
    assert 1 <= len(listings) <= 1 + 300 * 1100 * 16 // MB
    assert size(place) > 300_000


def test_a_process_that_runs_for_days_looks_again(place, monkeypatch):
    store(place, "first")
    store(place, "old", 181 * DAY)
    store(place, "second", data=b"small")
    assert kept(place, ["old"]) == ["old"]
    later = time.monotonic() + 2 * DAY
    monkeypatch.setattr(time, "monotonic", lambda: later)
    store(place, "third", data=b"small")
    assert kept(place, ["old"]) == []


def test_the_bound_may_change_while_a_process_runs(place, monkeypatch):
    monkeypatch.setenv(cache_size.SIZE_VARIABLE, "3")
    for k in range(25):
        store(place, k, age=(30 - k) * 60.0)
    assert len(kept(place, range(25))) == 25
    monkeypatch.setenv(cache_size.SIZE_VARIABLE, "1")
    store(place, "new")
    assert size(place) <= MB
    assert kept(place, range(25)) == list(range(17, 25))


def test_the_new_entry_stays_even_where_the_clock_was_set_back(place):
    for k in range(9):
        store(place, k, age=-DAY)
    another_process()
    cache.store(NAME, "new", BIG)
    cache.store(NAME, "newer", BIG)
    assert kept(place, ["newer"]) == ["newer"]
    assert size(place) <= MB


@pytest.mark.parametrize("setting", ["0", " 0 "])
def test_no_room_means_nothing_is_stored(place, monkeypatch, setting):
    store(place, "there")
    monkeypatch.setenv(cache_size.SIZE_VARIABLE, setting)
    cache.store(NAME, "new", b"")
    assert kept(place, ["there", "new"]) == ["there"]
    assert cache.load(NAME, "there") == BIG


def test_what_does_not_fit_is_not_stored_and_drives_nothing_out(place):
    store(place, "there")
    cache.store(NAME, "huge", bytes(MB))
    another_process()
    cache.store(NAME, "huge", bytes(MB))
    assert kept(place, ["there", "huge"]) == ["there"]


@pytest.mark.parametrize("setting", ["much", "-5", "1.5", "1e3", "9" * 30])
def test_a_bound_that_is_no_number_is_said_and_the_default_holds(place, monkeypatch, caplog, setting):
    monkeypatch.setenv(cache_size.SIZE_VARIABLE, setting)
    with caplog.at_level(logging.WARNING, "rbd_dynamics"):
        store(place, 1)
        store(place, 2)
    assert kept(place, [1, 2]) == [1, 2]
    assert cache_size.size_limit() == 1 << 30
    (record,) = caplog.records
    assert cache_size.SIZE_VARIABLE in record.getMessage()
    assert setting in record.getMessage()


def test_the_default_bound_is_one_gigabyte(monkeypatch):
    for setting in (None, ""):
        if setting is None:
            monkeypatch.delenv(cache_size.SIZE_VARIABLE, raising=False)
        else:
            monkeypatch.setenv(cache_size.SIZE_VARIABLE, setting)
        assert cache_size.size_limit() == 1 << 30


# --- nothing else is removed ----------------------------------------------------------------------------


def test_files_of_crashed_writers_go_after_an_hour(place):
    store(place, "key")
    ages = {".rbd_dynamics-" + f"{k:016x}" + ".tmp": age for k, age in enumerate((3700.0, 1e6, 3500.0, 0.0))}
    for name, age in ages.items():
        (place / name).write_bytes(b"half")
        os.utime(place / name, (time.time() - age,) * 2)
    another_process()
    store(place, "new")
    assert sorted(p.name for p in place.iterdir() if p.suffix == ".tmp") == [n for n, age in ages.items() if age < 3600]


HEX = "0123456789abcdef" * 2
UNKNOWN = [
    "note.txt", "inverse_dynamics.o", f"mine-{HEX}.o", f"-{HEX}", f"mine-{HEX[1:]}.o", f"mine-{HEX.upper()}.o",
    ".hidden", ".rbd_dynamics-0.tmp", f"x.rbd_dynamics-{HEX[:16]}.tmp", f".rbd_dynamics-{HEX[:16]}.tmp~", ".new-abc",
    "0.0.1-abc",
]  # fmt: skip
ENTRY_LIKE = st.from_regex(r"\A[a-z_]{0,9}-[0-9a-f]{32}(\.[a-z]{1,8})?\Z")
ANY_NAME = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=40)
WRITING = f".rbd_dynamics-{HEX[:16]}.tmp"
KINDS = st.sampled_from(["file", "folder", "link to an entry", "link to a folder", "pipe"])


@given(st.dictionaries(st.one_of(st.sampled_from(UNKNOWN), ENTRY_LIKE, ANY_NAME), KINDS, max_size=8))
@example(dict.fromkeys(UNKNOWN, "file"))
@example(dict.fromkeys(UNKNOWN, "folder"))
@example(dict.fromkeys([*UNKNOWN, WRITING], "link to an entry"))
@example({WRITING: "folder"})
@example({WRITING: "pipe"})
@settings(max_examples=60, deadline=None)
def test_what_the_cache_did_not_make_survives_everything(unknown):
    """Even under names like its own: files without its magic, folders, links, pipes, however old and large."""
    unknown = {name: kind for name, kind in unknown.items() if name not in (".", "..", "CACHEDIR.TAG")}
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.ENVIRONMENT_VARIABLE, root)
        patch.setenv(cache_size.SIZE_VARIABLE, "1")
        place = Path(root) / "kernels"
        outside = Path(root) / "outside"
        another_process()
        store(place, "aside")
        path(place, "aside").rename(outside)
        for name, kind in unknown.items():
            new = place / name
            if kind == "file":
                new.write_bytes(b"mine" * 200_000)
            elif kind == "folder":
                new.mkdir()
                (new / f"mine-{HEX}.o").write_bytes(outside.read_bytes())
            elif kind == "pipe":
                os.mkfifo(new)
            else:
                new.symlink_to(outside if kind == "link to an entry" else root)
            os.utime(new, (0, 0), follow_symlinks=False)
        before = snapshot(root, unknown)
        for k in range(25):
            if k % 5 == 0:
                another_process()
            store(place, k, age=(400 - 20 * k) * DAY)
            cache.load(NAME, str(k // 2))
        assert snapshot(root, unknown) == before
        assert size_of_ours(place, unknown) <= MB
        assert kept(place, [24]) == [24]
        assert len(kept(place, range(25))) >= 5  # what is not ours does not count either


def snapshot(root: str, unknown) -> dict:
    place = Path(root) / "kernels"
    status = {name: (place / name).lstat() for name in unknown}
    inside = {name: os.listdir(place / name) for name, kind in unknown.items() if kind == "folder"}
    files = {name: (s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns) for name, s in status.items()}
    return {**files, "inside": inside, "outside": (Path(root) / "outside").read_bytes()}


def size_of_ours(place: Path, unknown) -> int:
    return sum(p.lstat().st_size for p in place.iterdir() if p.name not in unknown and p.name != "CACHEDIR.TAG")


def test_other_folders_beside_and_below_are_left_alone(tmp_path, monkeypatch):
    (tmp_path / "kernels" / "0.0.1-abc").mkdir(parents=True)
    (tmp_path / "kernels" / "0.0.1-abc" / "gravity-1.o").write_bytes(b"old")
    (tmp_path / "mine").mkdir()
    (tmp_path / "kernels").chmod(0o700)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    another_process()
    cache.store(NAME, "key", BIG)
    assert cache.load(NAME, "key") == BIG
    assert (tmp_path / "kernels" / "0.0.1-abc" / "gravity-1.o").read_bytes() == b"old"
    assert (tmp_path / "mine").is_dir()


def test_entries_of_another_format_are_the_caches_own(place, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr(cache_entry, "FORMAT_VERSION", 1)
        for k in range(9):
            store(place, k, age=DAY)
        names = [path(place, k) for k in range(9)]
        assert all(name.exists() for name in names)
    for k in range(10):
        store(place, k)
    assert size(place) <= MB
    assert not any(name.exists() for name in names)


def test_a_folder_that_the_cache_makes_is_marked_for_backups_and_another_is_not(place, tmp_path, monkeypatch):
    store(place, "key")
    tag = place / "CACHEDIR.TAG"
    assert tag.read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    tag.write_text("changed")
    store(place, "another")
    assert tag.read_text() == "changed"
    assert not (place.parent / "CACHEDIR.TAG").exists()
    (tmp_path / "there" / "kernels").mkdir(parents=True, mode=0o700)
    (tmp_path / "there" / "kernels").chmod(0o700)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "there"))
    store(tmp_path / "there" / "kernels", "key")
    assert not list((tmp_path / "there").rglob("CACHEDIR.TAG"))


def test_a_load_makes_no_folder(place):
    assert cache.load(NAME, "key") is None
    assert not place.parent.exists()


# --- several processes ----------------------------------------------------------------------------------

PROCESS = """
import random, sys
from rbd_dynamics.compiler import cache, cache_size

rng = random.Random(int(sys.argv[1]))
found = 0
for _ in range(400):
    key = str(rng.randrange(40))
    data = key.encode() * 50_000
    known = cache.load("gravity.o", key)
    assert known in (None, data), "an entry of another key"
    found += known is not None
    if rng.random() < 0.5 or known is None:
        cache.store("gravity.o", key, data)
    if rng.random() < 0.2:
        cache_size._rooms.clear()  # list, and evict
print(found)
"""


def test_processes_that_store_load_and_evict_at_once_do_not_disturb_each_other(place):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(seed)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for seed in range(3)
    ]
    results = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], results
    assert all(int(output) > 10 for output, _ in results)
    assert not [p for p in place.iterdir() if p.suffix == ".tmp"]
    another_process()
    store(place, "last")
    assert size(place) <= MB
