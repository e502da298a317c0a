# SPDX-License-Identifier: Apache-2.0
"""Object files in memory without LLVM: the same numbers as LLVM's loader gives, and no harm from what is not known."""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.arms import ARM

pytest.importorskip("llvmlite")
from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler import backends, cache, native
from rbd_dynamics.compiler.object_image import ObjectImage, UnknownObject

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or __import__("platform").machine() != "x86_64", reason="LLVM loads the code here"
)
STATE = np.array([0.3, -0.4, 0.1]), np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.1, -0.3])


@pytest.fixture(scope="module")
def objects():
    """Of some kernels, as they are compiled here."""
    found = {}
    made = backends._Making.made

    def kept(self, suffix, make):
        found[self._name + suffix] = made(self, suffix, make)
        return found[self._name + suffix]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends._Making, "made", kept)
        robot = Robot(load_urdf(ARM), friction=True, backend="llvm")
        robot.inverse_dynamics(*STATE)
        robot.forward_dynamics(*STATE)
        robot.mass_matrix(STATE[0])
    return found


def results():
    robot = Robot(load_urdf(ARM), friction=True, backend="llvm")
    many = tuple(np.tile(x, (37, 1)) + 0.01 * np.arange(37)[:, None] for x in STATE)
    return [
        robot.inverse_dynamics(*STATE), robot.inverse_dynamics(*many), robot.forward_dynamics(*STATE),
        robot.forward_dynamics(*many), robot.mass_matrix(STATE[0]),
    ]  # fmt: skip


def test_the_numbers_are_those_of_llvms_loader(objects, monkeypatch):
    class Known(ObjectImage):
        count = 0

        def __init__(self, data):
            super().__init__(data)
            Known.count += 1

    def unknown(data):
        raise UnknownObject("for comparison")

    monkeypatch.setattr(native, "ObjectImage", Known)
    ours = results()
    assert Known.count >= 3
    monkeypatch.setattr(native, "ObjectImage", unknown)
    for a, b in zip(ours, results(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_loops_are_loaded_as_well():
    from rbd_dynamics.compiler.loops import Array, Loops

    def halved(n: int, values: Array) -> int:
        k = 0
        while k < n:
            if values[k] > 0.0:
                values[k] = 0.5 * values[k]
            else:
                values[k] = -values[k]
            k = k + 1
        return k

    values = np.array([2.0, -3.0, 5.0])
    bound = Loops(halved, machine_code=True).bind(3, values)
    image = bound.run.func.__self__[0]  # what the built-in function keeps alive
    assert isinstance(image, ObjectImage)
    assert bound.run() and bound.result == 3
    np.testing.assert_array_equal(values, [1.0, 3.0, 2.5])


def test_code_cannot_be_written_and_data_cannot_be_run(objects):
    image = ObjectImage(next(iter(objects.values())))
    rights = {"code": _rights(image.address("call")), "data": _rights(image.address("array_type"))}
    assert rights == {"code": "r-xp", "data": "rw-p"}
    begin = ctypes.addressof(image._held)
    whole = [_rights(begin + at) for at in range(0, len(image._memory), 4096)]
    assert "rwxp" not in whole and whole.count("r--p") > 0


def _rights(address):
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(number, 16) for number in re.match(r"(\w+)-(\w+)", line).groups())
        if first <= address < last:
            return line.split()[1]
    raise AssertionError("not mapped")


def test_what_is_damaged_or_unknown_is_refused_without_harm(objects):
    """In headers, symbols and relocations; bits of the code itself are the digest's business (`cache_entry`)."""
    rng = random.Random(1)
    refused = 0
    for name, data in objects.items():
        begin = int.from_bytes(data[40:48], "little")
        symbols = begin - len(data) // 8
        for length in (0, 10, 64, len(data) // 2, begin, len(data) - 1):
            with pytest.raises(UnknownObject):
                ObjectImage(data[:length])
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(rng.randrange(1, 6)):
                at = rng.choice((rng.randrange(64), rng.randrange(symbols, len(data)), rng.randrange(begin, len(data))))
                damaged[at] ^= 1 << rng.randrange(8)
            try:
                ObjectImage(bytes(damaged))
            except UnknownObject:
                refused += 1
        assert refused, name
    assert refused > 50 * len(objects)


def _flagged(data, number, value):
    """With other flags of a section."""
    begin = int.from_bytes(data[40:48], "little")
    changed = bytearray(data)
    changed[begin + 64 * number + 8 : begin + 64 * number + 16] = value.to_bytes(8, "little")
    return bytes(changed)


def test_code_that_may_be_written_is_refused(objects):
    data = next(iter(objects.values()))
    with pytest.raises(UnknownObject, match="code that may be written"):
        ObjectImage(_flagged(data, 2, 1 | 2 | 4))


def test_what_it_does_not_know_is_loaded_by_llvm():
    """A function of the C library, which LLVM looks for in the process."""
    text = """
    declare double @cbrt(double)
    define double @root(double %x) {
      %y = call double @cbrt(double %x)
      ret double %y
    }"""
    data = native.compile_text(text)
    with pytest.raises(UnknownObject, match="a symbol that is elsewhere"):
        ObjectImage(data)
    image = native.load_image(data)
    assert not isinstance(image, ObjectImage)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image.address("root"))
    assert function(27.0) == pytest.approx(3.0)


PROCESS = """
import sys, numpy as np
from rbd_dynamics import Robot, load_urdf
robot = Robot(load_urdf(sys.argv[1]), friction=True)
print(robot.inverse_dynamics(*np.array([[0.3, -0.4, 0.1], [1.0, -2.0, 0.5], [0.2, 0.1, -0.3]])).tolist())
print("libllvmlite" in open("/proc/self/maps").read(), "llvmlite" in sys.modules)
"""


def test_a_process_with_its_kernels_on_disk_does_without_llvm(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))

    def said():
        command = [sys.executable, "-c", PROCESS, ARM]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout.splitlines()

    first, second = said(), said()
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("True True", "False False")


def test_another_llvm_or_processor_is_asked_anew(tmp_path, monkeypatch):
    from rbd_dynamics.compiler import host

    before = host.description("code")
    assert before and host.description("other code") != before
    other = tmp_path / "cpuinfo"
    other.write_text(re.sub(r"(?m)^(flags\s*:.*)$", r"\1 wings", host.CPUINFO.read_text()))
    monkeypatch.setattr(host, "CPUINFO", other)
    changed = host.description("code")
    assert changed and changed != before
    other.write_text("")
    assert host.description("code") == ""
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    assert native.target_name.__wrapped__() == native.target_name()  # without a note, LLVM says the same
