# SPDX-License-Identifier: Apache-2.0
"""What lies in the cache is executed: only what was made for that key, and what nobody else can have written."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import resource
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.compiler import cache, cache_entry, cache_size

NAME, KEY, DATA = "inverse_dynamics.o", "UR5 and all that matters", bytes(range(256)) * 4
OTHER_USER = 54321 if os.geteuid() != 54321 else 54322
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


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


@contextlib.contextmanager
def user(number: int):
    """Be another user for a while."""
    mine = os.geteuid()
    os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(mine)


def unprivileged():
    """Be no root for a while."""
    return user(OTHER_USER) if os.geteuid() == 0 else contextlib.nullcontext()


def files(place: Path) -> list[Path]:
    """All but the tag."""
    return sorted(path for path in place.iterdir() if path.name != "CACHEDIR.TAG")


def entry(place: Path, name: str = NAME, key: str = KEY) -> Path:
    return place / cache_entry.Entry(name, key).file_name


def made_anew(place: Path) -> bool:
    """Storing mends it: an entry that can be loaded, and nothing half-written."""
    cache.store(NAME, KEY, DATA)
    return cache.load(NAME, KEY) == DATA and not [path for path in files(place) if path.name.startswith(".")]


def with_status(monkeypatch, where, **changes):
    """Let os.fstat tell another owner, mode... of descriptors of the path `where`."""
    fstat, there = os.fstat, os.stat(where)

    def telling(descriptor):
        status = fstat(descriptor)
        if (status.st_dev, status.st_ino) != (there.st_dev, there.st_ino):
            return status
        fields = {f"st_{field}": getattr(status, f"st_{field}") for field in ("dev", "ino", "size", "mtime")}
        fields |= {f"st_{field}": getattr(status, f"st_{field}") for field in ("uid", "mode", "nlink")}
        return type("Status", (), {**fields, **changes})

    monkeypatch.setattr(os, "fstat", telling)


# --- an entry is of one key -----------------------------------------------------------------------------

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


# --- an entry is whole ----------------------------------------------------------------------------------


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


# --- a file is ours, alone, and a file ------------------------------------------------------------------


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


# --- folders --------------------------------------------------------------------------------------------


def unused(place: Path) -> None:
    """Nothing is loaded from there, nothing put there."""
    before = files(place)
    assert cache.load(NAME, KEY) is None
    cache.store(NAME, "another", DATA)
    assert files(place) == before
    assert cache.load(NAME, "another") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720, 0o702])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_folder_that_others_may_write_is_not_used_as_long_as_they_may(place, caplog, mode, depth):
    folder = [place, *place.parents][depth]
    before = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(mode)
    try:
        with caplog.at_level(logging.WARNING, "rbd_dynamics"):
            unused(place)
            unused(place)
    finally:
        folder.chmod(before)
    (record,) = caplog.records  # said once
    assert str(folder) in record.getMessage()
    assert f"mode {mode:o}" in record.getMessage()
    assert cache.load(NAME, KEY) == DATA  # looked at anew at every load
    folder.chmod(mode)
    assert cache.load(NAME, KEY) is None
    folder.chmod(before)


def test_a_shared_folder_with_the_sticky_bit_may_lie_above_and_no_nearer(place):
    place.parent.chmod(0o1777)
    assert cache.load(NAME, KEY) == DATA
    assert made_anew(place)
    place.chmod(0o1777)
    unused(place)


@pytest.mark.parametrize("owner", [OTHER_USER, 0, 65534])
def test_in_a_shared_folder_even_what_root_owns_is_not_enough(place, monkeypatch, owner):
    if owner == os.geteuid():
        owner += 1
    place.parent.parent.chmod(0o1777)
    assert cache.load(NAME, KEY) == DATA
    with_status(monkeypatch, place.parent, st_uid=owner)
    unused(place)


@as_root
@pytest.mark.parametrize("open_to_all", ["/tmp", "/var/cache"], indirect=True)
def test_a_folder_of_root_may_lie_above_and_in_a_shared_one_it_may_not(open_to_all, monkeypatch):
    os.chown(open_to_all, 0, -1)
    (open_to_all / "mine").mkdir()
    os.chown(open_to_all / "mine", OTHER_USER, -1)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(open_to_all / "mine"))
    with unprivileged():
        cache.store(NAME, KEY, DATA)
        assert cache.load(NAME, KEY) == (None if open_to_all.parent == Path("/tmp") else DATA)


@pytest.mark.parametrize("owner", [OTHER_USER, 65534])
@pytest.mark.parametrize("depth", range(4))
def test_a_folder_of_another_user_anywhere_on_the_path_is_enough_not_to_use_it(
    place, monkeypatch, caplog, depth, owner
):
    folder = [place, *place.parents][depth] if depth < 3 else Path("/")
    with_status(monkeypatch, folder, st_uid=owner)
    with caplog.at_level(logging.WARNING, "rbd_dynamics"):
        unused(place)
    (record,) = caplog.records
    assert f"{folder} belongs to user {owner}" in record.getMessage()


def test_the_own_folder_does_not_belong_to_root_either(place, monkeypatch):
    if os.geteuid() == 0:  # then all above belongs to root, and that alone would do
        monkeypatch.setattr(os, "geteuid", lambda: OTHER_USER)
    with_status(monkeypatch, place, st_uid=0)
    unused(place)


def test_the_effective_user_counts(place, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: OTHER_USER)
    assert cache.load(NAME, KEY) == DATA


def test_nobody_owns_nothing(place, monkeypatch):
    """In a namespace that does not know this user, files of all unknown users look like its own."""
    fstat = os.fstat

    def unknown(descriptor):
        status = fstat(descriptor)
        return os.stat_result((*status[:4], 65534, *status[5:])) if status.st_uid else status

    monkeypatch.setattr(os, "fstat", unknown)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    unused(place)


@as_root
def test_nobody_really_owns_nothing(open_to_all, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(open_to_all / "chosen"))
    os.chown(open_to_all, 65534, -1)
    with user(65534):
        cache.store(NAME, KEY, DATA)
        assert cache.load(NAME, KEY) is None
    os.chown(open_to_all, OTHER_USER, -1)
    with unprivileged():  # any other user does
        cache.store(NAME, KEY, DATA)
        assert cache.load(NAME, KEY) == DATA


@as_root
def test_root_does_not_use_the_home_of_another_user(home, caplog):
    """As under sudo with HOME kept."""
    os.chown(home, OTHER_USER, -1)
    with caplog.at_level(logging.WARNING, "rbd_dynamics"):
        cache.store(NAME, KEY, DATA)
    assert not list(home.iterdir())
    assert f"{home} belongs to user {OTHER_USER}" in caplog.text
    assert cache.load(NAME, KEY) == DATA
    assert files(home.parent / "tmp" / "rbd_dynamics-0" / "kernels")


@as_root
@pytest.mark.parametrize("open_to_all", ["/var/cache"], indirect=True)  # a shared folder in a shared one is not used
@pytest.mark.parametrize("plant", ["folder", "entry"])
def test_what_another_user_planted_in_the_temporary_folder_is_not_run(open_to_all, monkeypatch, plant):
    monkeypatch.delenv(cache.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(open_to_all))
    os.chown(open_to_all, 0, -1)
    open_to_all.chmod(0o1777)
    mine = open_to_all / "rbd_dynamics-0"
    if plant == "entry":  # root's own folder, which root has opened to all
        (mine / "kernels").mkdir(parents=True)
        (mine / "kernels").chmod(0o777)
    cache.store(NAME, KEY, DATA)
    with user(OTHER_USER):
        cache.store(NAME, KEY, b"evil")  # the attacker's own cache: an entry for the very key
        evil = open_to_all / f"rbd_dynamics-{OTHER_USER}" / "kernels"
        assert cache.load(NAME, KEY) == b"evil"
        if plant == "entry":
            shutil.copy(entry(evil), entry(mine / "kernels"))
    if plant == "folder":
        shutil.rmtree(mine)
        with user(OTHER_USER):
            evil.parent.chmod(0o755)
            shutil.copytree(evil.parent, mine)
    assert entry(mine / "kernels").stat().st_uid == OTHER_USER
    assert cache.load(NAME, KEY) is None
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) is None
    if plant == "entry":
        (mine / "kernels").chmod(0o700)
        assert cache.load(NAME, KEY) is None  # the folder is mended, the file still is another's


def test_a_link_above_is_resolved_and_its_target_is_what_counts(place, monkeypatch):
    chosen = place.parent
    there = chosen.parent / "link"
    there.symlink_to(chosen)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(there))
    assert cache.load(NAME, KEY) == DATA
    chosen.chmod(0o770)
    assert cache.load(NAME, KEY) is None
    chosen.chmod(0o700)
    chosen.parent.joinpath("open").mkdir()
    chosen.parent.joinpath("open").chmod(0o777)
    target = chosen.rename(chosen.parent / "open" / "chosen")
    there.unlink()
    there.symlink_to(target)
    assert cache.load(NAME, KEY) is None  # anybody may put another folder there


@pytest.mark.parametrize("target", ["another folder", "nowhere", "itself"])
def test_the_own_folder_is_no_link(place, caplog, target):
    elsewhere = place.parent / "elsewhere"
    if target == "another folder":
        place.rename(elsewhere)
    else:
        shutil.rmtree(place)
    place.symlink_to(place if target == "itself" else elsewhere)
    with caplog.at_level(logging.WARNING, "rbd_dynamics"):
        assert cache.load(NAME, KEY) is None
        cache.store(NAME, "another", DATA)
    assert f"{place} is a link or a file" in caplog.text
    assert elsewhere.exists() == (target == "another folder")
    assert not elsewhere.exists() or len(files(elsewhere)) == 1


def test_a_link_in_the_temporary_folder_leads_nowhere(home, monkeypatch):
    monkeypatch.setenv("HOME", "/dev/null")
    (home / "mine").mkdir()
    (home.parent / "tmp" / f"rbd_dynamics-{os.geteuid()}").symlink_to(home / "mine")
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) is None
    assert not list((home / "mine").iterdir())


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_folder_swapped_for_a_link_while_it_is_opened_is_not_followed(place, monkeypatch, depth):
    folder = [place, *place.parents][depth]
    aside, realpath = folder.with_name("aside"), os.path.realpath

    def swap(path):
        path = realpath(path)
        folder.rename(aside)
        folder.symlink_to(aside)
        return path

    monkeypatch.setattr(os.path, "realpath", swap)
    try:
        assert cache.load(NAME, KEY) is None
        assert folder.is_symlink()
    finally:
        folder.unlink()
        aside.rename(folder)
    monkeypatch.setattr(os.path, "realpath", realpath)
    assert cache.load(NAME, KEY) == DATA


def test_a_folder_moved_away_between_check_and_use_is_the_one_that_is_used(place, monkeypatch):
    """What was checked is an open descriptor, and not a path that may lead elsewhere by now."""
    cache.store(NAME, "another", DATA)
    evil = place.with_name("evil")
    shutil.copytree(place, evil)
    shutil.copy(entry(evil, NAME, "another"), entry(evil))
    open_file = cache_entry.open_file

    def swap(folder, name):
        place.rename(place.with_name("aside"))
        evil.rename(place)
        return open_file(folder, name)

    monkeypatch.setattr(cache_entry, "open_file", swap)
    assert cache.load(NAME, KEY) == DATA


def test_what_is_made_is_private_under_any_umask(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "a" / "b"))
    before = os.umask(0)
    try:
        cache.store(NAME, KEY, DATA)
    finally:
        os.umask(before)
    place = tmp_path / "a" / "b" / "kernels"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (place, place.parent, place.parent.parent)] == [0o700] * 3
    assert stat.S_IMODE(entry(place).stat().st_mode) == 0o600
    assert cache.load(NAME, KEY) == DATA


def test_a_folder_that_can_only_be_searched_may_lie_above(open_to_all, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(open_to_all / "above" / "chosen"))
    with unprivileged():
        cache.store(NAME, KEY, DATA)
        (open_to_all / "above").chmod(0o100)
        assert cache.load(NAME, KEY) == DATA
        (open_to_all / "above").chmod(0o700)


# --- which folder ---------------------------------------------------------------------------------------


def test_the_place_follows_the_desktop_standard(home, monkeypatch):
    cache.store(NAME, KEY, DATA)
    assert entry(home / ".cache" / "rbd_dynamics" / "kernels").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert cache.load(NAME, KEY) is None  # the environment may change while a process runs
    cache.store(NAME, KEY, DATA)
    assert entry(home / "xdg" / "rbd_dynamics" / "kernels").exists()
    assert not list((home.parent / "tmp").iterdir())


def test_relative_homes_are_no_homes(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    cache.store(NAME, KEY, DATA)
    assert entry(home / ".cache" / "rbd_dynamics" / "kernels").exists()
    monkeypatch.setenv("HOME", "relative")
    cache.store(NAME, "another", DATA)
    assert [path.name for path in home.iterdir()] == [".cache"]
    assert cache.load(NAME, "another") == DATA


def test_where_the_home_is_not_to_be_trusted_the_temporary_folder_is_used_and_else_nothing(home, caplog):
    spare = home.parent / "tmp" / f"rbd_dynamics-{os.geteuid()}" / "kernels"
    home.chmod(0o770)
    with caplog.at_level(logging.WARNING, "rbd_dynamics"):
        for key in ("one", "two"):
            cache.store(NAME, key, DATA)
            assert cache.load(NAME, key) == DATA
    assert len(files(spare)) == 2
    assert not list(home.iterdir())
    assert [str(home) in record.getMessage() for record in caplog.records] == [True]
    spare.parent.chmod(0o777)
    assert cache.load(NAME, "one") is None
    cache.store(NAME, "three", DATA)
    assert len(files(spare)) == 2


def test_an_empty_setting_turns_it_off(home, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "")
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) is None
    assert not list(home.iterdir())


def test_the_setting_may_change_and_folders_may_go_while_a_process_runs(place, monkeypatch, tmp_path):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "second"))
    assert cache.load(NAME, KEY) is None
    cache.store(NAME, KEY, b"second")
    assert cache.load(NAME, KEY) == b"second"
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(place.parent))
    assert cache.load(NAME, KEY) == DATA
    shutil.rmtree(place.parent)
    assert cache.load(NAME, KEY) is None
    assert made_anew(place)


def test_a_working_folder_that_is_gone_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "relative")
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) is None


def test_a_file_in_the_place_of_the_folder_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "file"))
    cache.store(NAME, KEY, DATA)
    assert cache.load(NAME, KEY) is None
    assert (tmp_path / "file").read_text() == "mine"


def test_a_read_only_place_is_read_and_what_is_new_goes_to_the_next(open_to_all, monkeypatch):
    monkeypatch.delenv(cache.ENVIRONMENT_VARIABLE, raising=False)
    home, spare = open_to_all / "home", open_to_all / "tmp"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(spare))
    place = home / "rbd_dynamics" / "kernels"
    with unprivileged():
        spare.mkdir(mode=0o700)
        cache.store(NAME, KEY, DATA)
        place.chmod(0o500)
        assert cache.load(NAME, KEY) == DATA
        cache.store(NAME, "another", DATA)
        assert len(files(place)) == 1
        assert cache.load(NAME, "another") == DATA
        monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(home / "rbd_dynamics"))  # and where there is no next
        assert cache.load(NAME, KEY) == DATA
        cache.store(NAME, "third", DATA)
        assert cache.load(NAME, "third") is None
        place.chmod(0o700)


def test_a_home_that_cannot_be_written_is_none(open_to_all, monkeypatch):
    monkeypatch.delenv(cache.ENVIRONMENT_VARIABLE, raising=False)
    home, spare = open_to_all / "home", open_to_all / "tmp"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("TMPDIR", str(spare))
    with unprivileged():
        home.mkdir(mode=0o500)
        spare.mkdir(mode=0o700)
        cache.store(NAME, KEY, DATA)
        assert cache.load(NAME, KEY) == DATA
        assert files(spare / f"rbd_dynamics-{os.geteuid()}" / "kernels")
        spare.chmod(0o500)
        cache.store(NAME, "another", DATA)
        monkeypatch.setenv("TMPDIR", str(spare / "gone"))
        cache.store(NAME, "another", DATA)
        assert cache.load(NAME, "another") is None
        home.chmod(0o700)
        spare.chmod(0o700)


# --- what the disk does ---------------------------------------------------------------------------------

CALLS = ("open", "mkdir", "fstat", "replace", "unlink", "utime", "scandir", "access", "read")
ERRORS = [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ESTALE, errno.EDQUOT, errno.EIO, errno.EMFILE]


class FailingDisk:
    """Lets one call to the system fail, the one with that number."""

    def __init__(self, patch: pytest.MonkeyPatch, failing: int, code: int) -> None:
        self.count, self.failed = 0, None
        for call in CALLS:
            patch.setattr(os, call, functools.partial(self._call, call, getattr(os, call), failing, code))

    def _call(self, name, real, failing, code, *args, **kwargs):
        self.count += 1
        if self.count == failing:
            self.failed = name
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)


@pytest.mark.parametrize("code", ERRORS, ids=errno.errorcode.get)
@pytest.mark.parametrize("fresh", [True, False], ids=["no folder yet", "full folder"])
def test_whatever_fails_on_the_disk_is_no_error_and_leaves_nothing(tmp_path, monkeypatch, code, fresh):
    """Every single call to the system in turn fails."""
    reached = set()
    monkeypatch.setenv(cache_size.SIZE_VARIABLE, "1")
    big = bytes(400_000)
    for failing in range(1, 200):
        folder = tmp_path / str(failing)
        monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(folder))
        ages = {} if fresh else {"old": 300 * 86400, "young": 2 * 86400}
        for key in ages:
            cache.store(NAME, key, big)
        for key, age in ages.items():
            os.utime(entry(folder / "kernels", NAME, key), (time.time() - age,) * 2)
        cache_size._rooms.clear()
        descriptors = len(os.listdir("/proc/self/fd"))
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, failing, code)
            cache.load(NAME, "young")
            cache.store(NAME, KEY, big)
            assert cache.load(NAME, KEY) in (None, big)
        assert len(os.listdir("/proc/self/fd")) == descriptors
        if (folder / "kernels").exists():
            assert not [path for path in files(folder / "kernels") if path.name.startswith(".")]
        cache.store(NAME, KEY, DATA)
        assert cache.load(NAME, KEY) == DATA
        if disk.failed is None:
            break
        reached.add(disk.failed)
        shutil.rmtree(folder)
    else:
        pytest.fail("more calls than expected")
    assert reached == set(CALLS) - ({"unlink", "read", "utime"} if fresh else {"mkdir"})


def test_a_file_that_cannot_be_written_to_its_end_is_taken_back(tmp_path):
    code = """if True:
        import os, resource
        from rbd_dynamics.compiler import cache
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        cache.store("big.o", "key", bytes(200_000))
        assert cache.load("big.o", "key") is None
        cache.store("small.o", "key", bytes(20_000))
        assert cache.load("small.o", "key") == bytes(20_000)
    """
    environment = {**os.environ, cache.ENVIRONMENT_VARIABLE: str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)
    assert len(files(tmp_path / "kernels")) == 1


def test_a_forked_process_shares_the_folder_and_nothing_else(place):
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            cache.store(NAME, "child", DATA)
            os._exit(0 if cache.load(NAME, KEY) == DATA == cache.load(NAME, "child") else 1)
        os._exit(2)
    cache.store(NAME, "parent", DATA)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cache.load(NAME, "child") == DATA == cache.load(NAME, "parent")


def test_threads_share_a_folder(place):
    wrong = []

    def work(seed):
        for k in range(60):
            key = str((seed + k) % 7)
            cache.store(NAME, key, key.encode() * 1000)
            if cache.load(NAME, key) != key.encode() * 1000:
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(files(place)) == 8
