# SPDX-License-Identifier: Apache-2.0
"""What lies in the cache runs: only what was made for that key, whole, in a file that nobody else wrote."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import stat
import struct
import tempfile
from pathlib import Path

import pytest
from helpers.cache_files import DATA, KEY, NAME, OTHER_USER, as_root, entry, files, made_anew, with_status
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.compiler import cache, cache_entry

# --- an entry is of one key ---------------------------------------------------------------------------
PAIRS = [
    (NAME, KEY), (NAME, "UR10"), ("mass_matrix.o", KEY), ("inverse_dynamics.py", KEY), (NAME, ""), ("", NAME + KEY),
    (NAME + KEY, ""), (NAME, KEY + "\0"), (NAME + "\0", KEY), (NAME[:-1], NAME[-1] + KEY), (NAME, KEY * 10_000),
]  # fmt: skip


def test_every_name_and_key_has_an_entry_of_its_own(place):
    for number, pair in enumerate(PAIRS):
        cache.store(*pair, b"%d" % number)
    assert [cache.load(*pair) for pair in PAIRS] == [b"%d" % number for number in range(len(PAIRS))]
    assert len(files(place)) == len(PAIRS)


@pytest.mark.parametrize("pair", range(len(PAIRS)))
def test_the_entry_of_another_key_is_not_loaded(place, pair):
    for number, other in enumerate(PAIRS):
        cache.store(*other, b"%d" % number)
    here = entry(place, *PAIRS[pair])
    for other in PAIRS:
        if other != PAIRS[pair]:
            shutil.copy(entry(place, *other), here)
            assert cache.load(*PAIRS[pair]) is None
    cache.store(*PAIRS[pair], DATA)
    assert cache.load(*PAIRS[pair]) == DATA


@given(st.lists(st.tuples(st.text(), st.text(), st.binary()), min_size=2, max_size=2, unique_by=lambda t: t[:2]))
@settings(max_examples=60, deadline=None)
def test_names_and_keys_are_any_texts(pairs):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.ENVIRONMENT_VARIABLE, folder)
        for one in pairs:
            cache.store(*one)
        for name, key, data in pairs:
            assert cache.load(name, key) == data
        first, second = (entry(Path(folder) / "kernels", *pair[:2]) for pair in pairs)
        assert sorted(files(first.parent)) == sorted({first, second})
        assert all(cache_entry.ENTRY_NAME.fullmatch(path.name) for path in (first, second))
        os.replace(first, second)
        assert [cache.load(name, key) for name, key, _ in pairs] == [None, None]


def test_half_a_character_in_a_key_is_a_key_too(place):
    cache.store(NAME, "joint \udcff", DATA)
    assert cache.load(NAME, "joint \udcff") == DATA
    assert cache.load(NAME, "joint \udcfe") is None


# --- an entry is whole --------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_entry_is_not_loaded(choices):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.ENVIRONMENT_VARIABLE, folder)
        data = choices.draw(st.binary(max_size=300))
        cache.store(NAME, KEY, data)
        path = entry(Path(folder) / "kernels")
        good = path.read_bytes()
        at = choices.draw(st.integers(0, len(good) - 1))
        kind = choices.draw(st.sampled_from(["flip", "cut", "cut out", "put in", "extend", "double"]))
        some = choices.draw(st.binary(min_size=1, max_size=80))
        bad = {
            "flip": good[:at] + bytes([good[at] ^ choices.draw(st.integers(1, 255))]) + good[at + 1 :],
            "cut": good[:at],
            "cut out": good[:at] + good[at + len(some) :],
            "put in": good[:at] + some + good[at:],
            "extend": good + some,
            "double": good + good,
        }[kind]
        path.write_bytes(bad)
        assert cache.load(NAME, KEY) == (data if bad == good else None)
        cache.store(NAME, KEY, data)
        assert path.read_bytes() == good


def test_every_bit_of_the_header_counts(place):
    path = entry(place)
    good = path.read_bytes()
    assert len(good) == cache_entry.HEADER_SIZE + len(DATA)
    for bit in range(8 * cache_entry.HEADER_SIZE):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        assert cache.load(NAME, KEY) is None
    assert made_anew(place)


def test_another_version_of_the_format_is_not_loaded(place, monkeypatch):
    path = entry(place)
    with monkeypatch.context() as other:
        other.setattr(cache_entry, "FORMAT_VERSION", cache_entry.FORMAT_VERSION + 1)
        cache.store(NAME, KEY, DATA)
        os.replace(entry(place), path)
    assert cache.load(NAME, KEY) is None
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, len(cache_entry.MAGIC), cache_entry.FORMAT_VERSION)  # and not by its label
    path.write_bytes(content)
    assert cache.load(NAME, KEY) is None
    assert made_anew(place)


def test_a_file_of_any_size_takes_bounded_memory(place):
    with open(entry(place), "r+b") as file:
        file.truncate(1 << 40)  # with a hole: takes no room
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert cache.load(NAME, KEY) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
    assert made_anew(place)


# --- a file is ours, alone, and a file ----------------------------------------------------------------


def link(path: Path, aside: Path) -> None:
    path.rename(aside)
    path.symlink_to(aside)


def dangling(path: Path, aside: Path) -> None:
    path.unlink()
    path.symlink_to(aside)


def pipe(path: Path, aside: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def unix_socket(path: Path, aside: Path) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(path.parent, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{folder}/{path.name}")  # the path alone may be too long
        os.close(folder)


@pytest.mark.parametrize(
    "attack",
    [
        link,
        dangling,
        pipe,
        unix_socket,
        lambda path, aside: os.link(path, aside),
        lambda path, aside: path.chmod(0o620),
        lambda path, aside: path.chmod(0o602),
        lambda path, aside: path.chmod(0o666),
    ],
    ids=["link", "dangling link", "pipe", "socket", "hard link", "group", "others", "all"],
)
def test_only_a_file_of_ours_alone_is_loaded(place, attack):
    aside = place.parent / "aside"
    attack(entry(place), aside)
    before = aside.read_bytes() if aside.exists() else None
    assert cache.load(NAME, KEY) is None
    assert made_anew(place)
    assert (aside.read_bytes() if aside.exists() else None) == before


def test_a_folder_in_the_place_of_an_entry_does_no_harm(place):
    path = entry(place)
    path.unlink()
    path.mkdir()
    (path / "mine").write_text("kept")
    assert cache.load(NAME, KEY) is None
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) is None
    assert files(place) == [path]
    assert (path / "mine").read_text() == "kept"


@pytest.mark.parametrize("owner", [0, OTHER_USER, 65534])
def test_a_file_of_another_user_is_not_loaded(place, monkeypatch, owner):
    if owner == os.geteuid():
        pytest.skip("that is this user")
    with_status(monkeypatch, entry(place), st_uid=owner)
    assert cache.load(NAME, KEY) is None


@as_root
@pytest.mark.parametrize("owner", [OTHER_USER, 65534])
def test_a_file_that_another_user_really_owns_is_not_loaded(place, owner):
    os.chown(entry(place), owner, -1)
    assert cache.load(NAME, KEY) is None
    assert made_anew(place)
    assert entry(place).stat().st_uid == 0


def overwrite(evil: Path, path: Path) -> None:
    path.write_bytes(evil.read_bytes())


@pytest.mark.parametrize("swap", [os.replace, overwrite])
@pytest.mark.parametrize("content", ["of another key", "cut", "longer", "forged"])
def test_a_file_that_changes_between_opening_and_reading_gives_nothing_else(place, monkeypatch, swap, content):
    path, evil = entry(place), place.parent / "evil"
    good = path.read_bytes()
    cache.store(NAME, "another", b"evil" * 256)
    other = entry(place, NAME, "another").read_bytes()
    header = cache_entry.HEADER_SIZE
    evil.write_bytes(
        {
            "of another key": other,
            "cut": good[:-1],
            "longer": good + b"x",
            "forged": good[:header] + other[header:],
        }[content]
    )
    fstat, swapped = os.fstat, []

    def slow(descriptor):
        status = fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and not swapped:
            swapped.append(swap(evil, path))
        return status

    monkeypatch.setattr(os, "fstat", slow)
    # a file put in its place is not looked at: what was opened is what is read, and no more than was there
    expected = DATA if swap is os.replace or content == "longer" else None
    assert cache.load(NAME, KEY) == expected
    assert len(swapped) == 1
    assert cache.load(NAME, KEY) is None


@pytest.mark.parametrize("change", ["replaced", "evicted"])
def test_a_file_that_another_process_replaces_or_evicts_once_it_is_open_is_loaded(place, monkeypatch, change):
    fstat, changed = os.fstat, []

    def slow(descriptor):
        if stat.S_ISREG(fstat(descriptor).st_mode) and not changed:
            changed.append(entry(place).unlink())
            if change == "replaced":
                cache.store(NAME, KEY, DATA)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", slow)
    assert cache.load(NAME, KEY) == DATA
    assert len(changed) == 1
    assert cache.load(NAME, KEY) == (DATA if change == "replaced" else None)
