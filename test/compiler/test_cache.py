# SPDX-License-Identifier: Apache-2.0
"""Kernels on disk: the second start compiles nothing, and nothing that happens to the files does harm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.models.arms import ARM

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler import backends, cache
from rbd_dynamics.compiler.cache_entry import HEADER_SIZE
from rbd_dynamics.compiler.program import Argument, Signature, trace

pytest.importorskip("llvmlite")
from rbd_dynamics.compiler import native

STATE = np.array([0.3, -0.4, 0.1]), np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.1, -0.3])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own for this test: the folder with the entries."""
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    return tmp_path / "kernels"


@pytest.fixture
def compiled(monkeypatch):
    """Counts what is compiled."""
    count: list[int] = []
    compile_object = native.compile_object

    def counting(program, **options):
        count.append(program.operations)
        return compile_object(program, **options)

    monkeypatch.setattr(native, "compile_object", counting)
    return count


def torque(text=ARM, **options):
    return Robot(load_urdf(text), **{"backend": "llvm", **options}).inverse_dynamics(*STATE)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".o", ".py"))


# --- hits and misses ----------------------------------------------------------------------------------


def test_the_second_robot_compiles_nothing(folder, compiled):
    first = torque()
    assert len(compiled) == 1
    np.testing.assert_array_equal(torque(), first)
    assert len(compiled) == 1
    assert [entry.suffix for entry in entries(folder)] == [".o"]
    assert entries(folder)[0].name.startswith("inverse_dynamics-")


def test_code_for_batches_is_made_when_it_is_needed(folder, compiled):
    robot = Robot(load_urdf(ARM), backend="llvm")
    one = robot.inverse_dynamics(*STATE)
    robot.inverse_dynamics(*(list(x) for x in STATE))  # not by the shortest way
    for bad, error in ((np.nan, ValueError), (1e200, ArithmeticError)):
        with pytest.raises(error):
            robot.inverse_dynamics(STATE[0], [bad, *STATE[1][1:]], STATE[2])
    robot.inverse_dynamics([1e7, *STATE[0][1:]], *STATE[1:])  # by the plain algorithm
    assert len(compiled) == 1
    for _ in range(2):
        for count in (2, 100):
            np.testing.assert_allclose(robot.inverse_dynamics(*(np.tile(x, (count, 1)) for x in STATE))[-1], one)
    robot.compile("inverse_dynamics")
    assert len(compiled) == 2
    assert [entry.name.partition("-")[0] for entry in entries(folder)] == ["inverse_dynamics", "inverse_dynamics.many"]
    Robot(load_urdf(ARM), backend="llvm").inverse_dynamics(*(np.tile(x, (3, 1)) for x in STATE))
    assert len(compiled) == 2


def test_compiling_ahead_makes_all_code_and_traces_once(folder, compiled, monkeypatch):
    traced = []
    monkeypatch.setattr(backends, "trace", lambda *given, **options: traced.append(1) or trace(*given, **options))
    robot = Robot(load_urdf(ARM), backend="llvm")
    robot.compile("inverse_dynamics")
    assert (len(compiled), len(traced)) == (2, 1)
    robot.inverse_dynamics(*STATE)
    robot.inverse_dynamics(*(np.tile(x, (3, 1)) for x in STATE))
    assert (len(compiled), len(traced)) == (2, 1)


def test_code_for_batches_is_made_where_only_single_calls_were_before(folder, compiled):
    robot = Robot(load_urdf(ARM), backend="llvm")
    robot.inverse_dynamics(*STATE)
    robot.compile("inverse_dynamics")
    assert len(compiled) == 2


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
        lambda data: data[:HEADER_SIZE],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data[: HEADER_SIZE - 1] + bytes([data[HEADER_SIZE - 1] ^ 1]) + data[HEADER_SIZE:],
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
    assert entry.read_bytes() == good


OTHER_ROBOTS = {
    "geometry": CHANGES["geometry"],
    "one joint less": ARM.replace('type="prismatic"', 'type="fixed"'),
}


@pytest.mark.parametrize("backend", ["llvm", "python"])
@pytest.mark.parametrize("other", OTHER_ROBOTS)
def test_the_kernel_of_another_robot_under_this_ones_name_is_not_run(folder, backend, other):
    """It would give other torques, or write to memory that is not its own."""
    expected = torque(backend=backend)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    entry.unlink()
    robot = Robot(load_urdf(OTHER_ROBOTS[other]), backend=backend)
    robot.inverse_dynamics(*(x[: robot.model.nv] for x in STATE))
    (others,) = entries(folder)
    os.replace(others, entry)
    np.testing.assert_array_equal(torque(backend=backend), expected)
    assert entry.read_bytes() == good


def test_the_signature_is_a_part_of_the_key(folder):
    """The same name, robot and variant, and a function of other arrays."""
    robot = Robot(load_urdf(ARM), backend="llvm")
    for size in (1, 2, 3):
        signature = Signature((Argument("x", (size,)),), (Argument("y", (size,)),))
        kernel = robot.custom_kernel("double", signature, lambda x: [[2 * value for value in x]])
        np.testing.assert_array_equal(kernel([np.arange(1.0, size + 1)], None), 2 * np.arange(1.0, size + 1))
    assert len(entries(folder)) == 3


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
    shutil.rmtree(folder)
    np.testing.assert_array_equal(torque(), expected)
    assert entries(folder) == [entry]


def test_a_full_disk_costs_only_time(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert torque().shape == (3,)
    assert entries(folder) == []


def test_a_place_that_cannot_be_used_costs_only_time(tmp_path, monkeypatch, compiled):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "file"))
    assert torque().shape == (3,)
    assert len(compiled) == 1


def test_machine_code_from_a_folder_that_others_may_write_is_not_run(folder, compiled):
    expected = torque()
    folder.chmod(0o770)
    np.testing.assert_array_equal(torque(), expected)
    assert len(compiled) == 2
    folder.chmod(0o700)
    np.testing.assert_array_equal(torque(), expected)
    assert len(compiled) == 2


def test_an_empty_setting_turns_it_off(tmp_path, monkeypatch, compiled):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    torque()
    torque()
    assert len(compiled) == 2
    assert not list(tmp_path.iterdir())


# --- processes ----------------------------------------------------------------------------------------

PROCESS = """
import json, sys
import numpy as np
from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler import native

compiled = []
compile_object = native.compile_object
native.compile_object = lambda *given, **options: compiled.append(1) or compile_object(*given, **options)
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
    names = [path.name for path in entries(tmp_path / "kernels")]
    assert len(names) == 3
    assert not [name for name in names if name.startswith(".")]
    assert result(start(tmp_path))[1] == 0
