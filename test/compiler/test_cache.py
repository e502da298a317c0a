# SPDX-License-Identifier: Apache-2.0
"""Kernels on disk: the second start compiles nothing, and nothing that happens to the files does harm."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.arms import ARM

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler import backends, cache

pytest.importorskip("llvmlite")
from rbd_dynamics.compiler import native

STATE = np.array([0.3, -0.4, 0.1]), np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.1, -0.3])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own for this test: the folder with the entries."""
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    cache.folder.cache_clear()
    yield tmp_path / "kernels" / cache.code_version()
    monkeypatch.undo()
    cache.folder.cache_clear()


@pytest.fixture
def compiled(monkeypatch):
    """Counts what is compiled."""
    count: list[int] = []
    compile_object = native.compile_object

    def counting(program):
        count.append(program.operations)
        return compile_object(program)

    monkeypatch.setattr(native, "compile_object", counting)
    return count


def torque(text=ARM, **options):
    return Robot(load_urdf(text), **{"backend": "llvm", **options}).inverse_dynamics(*STATE)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


# --- hits and misses ----------------------------------------------------------------------------------


def test_the_second_robot_compiles_nothing(folder, compiled):
    first = torque()
    assert len(compiled) == 1
    np.testing.assert_array_equal(torque(), first)
    assert len(compiled) == 1
    assert [entry.suffix for entry in entries(folder)] == [".o"]
    assert entries(folder)[0].name.startswith("inverse_dynamics-")


def test_emitted_source_is_kept_too(folder, monkeypatch):
    first = torque(backend="python")
    assert [entry.suffix for entry in entries(folder)] == [".py"]
    monkeypatch.setattr(backends, "emit_python", None)
    np.testing.assert_array_equal(torque(backend="python"), first)


CHANGES = {
    "geometry": ARM.replace('xyz="0.4 0 0"', 'xyz="0.41 0 0"'),
    "axis": ARM.replace('xyz="0 1 0"', 'xyz="0 0 1"'),
    "kind": ARM.replace('type="prismatic"', 'type="revolute"'),
    "rotor": ARM.replace("<dynamics ", '<dynamics armature="0.3" '),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_robot_has_other_kernels(folder, compiled, change):
    first = torque()
    other = torque(CHANGES[change])
    assert len(compiled) == 2
    reference = torque(CHANGES[change], backend="reference")
    np.testing.assert_allclose(other, reference, rtol=1e-12)
    assert np.abs(other - first).max() > 1e-3


def test_another_gravity_friction_frame_or_algorithm_has_other_kernels(folder, compiled):
    model = load_urdf(ARM)
    robot = Robot(model, backend="llvm")
    robot.inverse_dynamics(*STATE)
    Robot(model.with_gravity((0, 0, -1.6)), backend="llvm").inverse_dynamics(*STATE)
    rough = Robot(model, backend="llvm", friction=True).inverse_dynamics(*STATE)
    np.testing.assert_allclose(rough, torque(backend="reference", friction=True), rtol=1e-12)
    robot.pose(STATE[0], "hand")
    robot.pose(STATE[0], "fore")
    robot.bias(*STATE[:2])
    assert len(compiled) == 6
    assert len(entries(folder)) == 6


def test_inertias_and_limits_are_no_part_of_a_kernel(folder, compiled):
    torque()
    heavier = ARM.replace('<mass value="2.0"', '<mass value="3.0"').replace('effort="80"', 'effort="8"')
    np.testing.assert_allclose(torque(heavier), torque(heavier, backend="reference"), rtol=1e-12)
    assert len(compiled) == 1


def test_another_processor_or_compiler_has_other_kernels(folder, compiled, monkeypatch):
    torque()
    monkeypatch.setattr(native, "target_name", lambda: "another processor")
    torque()
    assert len(compiled) == 2


# --- damage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["llvm", "python"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:16],
        lambda data: data[:32],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: bytes(len(data)),
    ],
    ids=["empty", "short", "no data", "half", "longer", "last bit", "checksum", "zeros"],
)
def test_a_damaged_entry_is_made_anew(folder, damage, backend):
    expected = torque(backend=backend)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    entry.write_bytes(damage(good))
    np.testing.assert_array_equal(torque(backend=backend), expected)
    assert len(entry.read_bytes()) == len(good)
    assert cache.load(entry.name) is not None


def test_something_else_in_the_place_of_an_entry_does_no_harm(folder):
    expected = torque()
    (entry,) = entries(folder)
    entry.unlink()
    entry.mkdir()
    np.testing.assert_array_equal(torque(), expected)
    assert entries(folder) == [entry]  # nothing half-written is left


def test_a_folder_that_disappears_is_made_again(folder):
    expected = torque()
    (entry,) = entries(folder)
    entry.unlink()
    folder.rmdir()
    np.testing.assert_array_equal(torque(), expected)
    assert entries(folder) == [entry]


def test_a_full_disk_costs_only_time(folder, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert torque().shape == (3,)
    assert entries(folder) == []


# --- places -------------------------------------------------------------------------------------------


def test_a_place_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "file"))
    cache.folder.cache_clear()
    try:
        assert cache.folder() is None
        assert torque().shape == (3,)
    finally:
        cache.folder.cache_clear()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_home_costs_only_time(tmp_path, monkeypatch):
    tmp_path.chmod(0o500)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    cache.folder.cache_clear()
    try:
        assert cache.folder() is None
        assert torque().shape == (3,)
    finally:
        cache.folder.cache_clear()
        tmp_path.chmod(0o700)


def test_an_empty_setting_turns_it_off(tmp_path, monkeypatch, compiled):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.folder.cache_clear()
    try:
        torque()
        torque()
    finally:
        cache.folder.cache_clear()
    assert len(compiled) == 2
    assert not list(tmp_path.iterdir())


def test_the_place_follows_the_desktop_standard_and_is_private(tmp_path, monkeypatch):
    monkeypatch.delenv(cache.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.folder.cache_clear()
    try:
        place = cache.folder()
        assert place == tmp_path / "rbd_dynamics" / "kernels" / cache.code_version()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        cache.folder.cache_clear()
        assert cache.folder() == tmp_path / "home" / ".cache" / "rbd_dynamics" / "kernels" / cache.code_version()
    finally:
        cache.folder.cache_clear()


def test_machine_code_from_a_folder_of_somebody_else_is_not_run(folder, monkeypatch):
    torque()
    cache.folder.cache_clear()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert cache.folder() is None


def test_kernels_of_other_versions_are_removed_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "kernels" / "0.0.1-abc").mkdir(parents=True)
    (tmp_path / "kernels" / "0.0.1-abc" / "gravity-1.o").write_bytes(b"old")
    (tmp_path / "mine").mkdir()
    (tmp_path / "kernels" / "note.txt").write_text("kept")
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    cache.folder.cache_clear()
    try:
        place = cache.folder()
    finally:
        cache.folder.cache_clear()
    assert sorted(p.name for p in (tmp_path / "kernels").iterdir()) == sorted([place.name, "note.txt"])
    assert (tmp_path / "mine").is_dir()


def test_the_version_depends_on_all_code_that_makes_kernels(tmp_path, monkeypatch):
    import shutil

    import rbd_dynamics

    package = tmp_path / "rbd_dynamics"
    shutil.copytree(Path(rbd_dynamics.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(rbd_dynamics, "__file__", str(package / "__init__.py"))
    versions = set()
    try:
        rooms = ("spatial", "model", "algorithms", "compiler")
        sources = [source for room in rooms for source in sorted((package / room).rglob("*.py"))]
        assert len(sources) > 20
        for source in [None, *sources]:
            if source is not None:
                source.write_text(source.read_text() + "# changed\n")
            cache.code_version.cache_clear()
            versions.add(cache.code_version())
        assert len(versions) == len(sources) + 1
        monkeypatch.setattr(rbd_dynamics, "__version__", "9.9.9")
        cache.code_version.cache_clear()
        assert cache.code_version().startswith("9.9.9-")
    finally:
        monkeypatch.undo()
        cache.code_version.cache_clear()


# --- processes ----------------------------------------------------------------------------------------

PROCESS = """
import json, sys
import numpy as np
from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler import native

compiled = []
compile_object = native.compile_object
native.compile_object = lambda program: compiled.append(1) or compile_object(program)
q, v, a = np.array(json.loads(sys.argv[2]))
robot = Robot(load_urdf(sys.argv[1]))
results = [robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.mass_matrix(q).ravel()]
print(json.dumps([robot.backend, len(compiled), np.concatenate(results).tolist()]))
"""


def start(tmp_path):
    environment = {**os.environ, cache.ENVIRONMENT_VARIABLE: str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROCESS, ARM, json.dumps(np.array(STATE).tolist())]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def result(process):
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(output)


def test_a_second_process_compiles_nothing(tmp_path):
    backend, compiled, first = result(start(tmp_path))
    assert (backend, compiled) == ("llvm", 3)
    backend, compiled, second = result(start(tmp_path))
    assert (backend, compiled) == ("llvm", 0)
    assert first == second


def test_processes_that_start_at_once_do_not_disturb_each_other(tmp_path):
    results = [result(process) for process in [start(tmp_path) for _ in range(4)]]
    assert all(numbers == results[0][2] for _, _, numbers in results)
    names = [path.name for path in (tmp_path / "kernels" / cache.code_version()).iterdir()]
    assert len(names) == 3
    assert not [name for name in names if name.startswith(".new")]
    assert result(start(tmp_path))[1] == 0
