# SPDX-License-Identifier: Apache-2.0
"""Which folder is the cache's, and what the disk does: it is never an error."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest
from helpers.cache_files import DATA, KEY, NAME, entry, files, made_anew, unprivileged

from rbd_dynamics.compiler import cache, cache_size

# --- which folder -------------------------------------------------------------------------------------


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


# --- what the disk does -------------------------------------------------------------------------------
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
