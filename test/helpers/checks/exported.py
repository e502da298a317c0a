# SPDX-License-Identifier: Apache-2.0
"""Exported packages, compiled and called."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbd_dynamics.compiler.program import Signature

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name}"))
    for name in ("gcc", "clang")
]


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips the test where one of these is not installed; scripts/emulators installs them."""
    missing = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)} (scripts/emulators)")


def output_of(*command: Any, status: int = 0, **options: Any) -> str:
    """What a command says; its errors are the test's."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def self_test(folder: Path, *code: Any, compiler: Sequence[Any] = ("gcc", *STRICT), run: Sequence[Any] = ()) -> str:
    """Compile the self-test with the source, or with `code` in its place, and run it."""
    (source,) = (folder / "src").glob("*.c")
    name = source.stem
    program = folder / "self_test"
    test = folder / "test" / f"{name}_self_test.c"
    output_of(*compiler, "-O1", "-I", folder / "include", *(code or (source,)), test, "-o", program, "-lm")
    return output_of(*run, program)


class Library:
    """An exported package as a shared library, called with NumPy arrays."""

    def __init__(self, folder: Path, *, compiler: str = "gcc", flags: Sequence[str] = ("-O1",)) -> None:
        (source,) = (folder / "src").glob("*.c")
        self.prefix = source.stem
        place = folder / f"lib{self.prefix}-{compiler}.so"
        output_of(compiler, *STRICT, *flags, "-fPIC", "-shared", "-I", folder / "include", source, "-o", place, "-lm")
        self._library = ctypes.CDLL(str(place))

    def __call__(self, name: str, signature: Signature, *inputs: Any, real: type = np.float64) -> tuple[int, list[Any]]:
        """Status, and the outputs, which begin as 7."""
        given = [
            np.ascontiguousarray(value, dtype=np.uint8 if argument.boolean else real)
            for argument, value in zip(signature.inputs, inputs, strict=True)
        ]
        for argument, array in zip(signature.inputs, given):
            assert array.size == argument.size, argument.name
        found = [np.full(argument.shape, 7, dtype=real) for argument in signature.outputs]
        function = getattr(self._library, f"{self.prefix}_{name}")
        status = function(*(ctypes.c_void_p(array.ctypes.data) for array in (*given, *found)))
        return status, found
