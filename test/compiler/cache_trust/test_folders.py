# SPDX-License-Identifier: Apache-2.0
"""Folders of the cache: only where nobody else can write, whoever owns them and whatever leads to them."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from pathlib import Path

import pytest
from helpers.cache_files import (
    DATA,
    KEY,
    NAME,
    OTHER_USER,
    as_root,
    entry,
    files,
    made_anew,
    unprivileged,
    user,
    with_status,
)

from rbd_dynamics.compiler import cache, cache_entry


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
