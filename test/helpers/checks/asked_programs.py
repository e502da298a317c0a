# SPDX-License-Identifier: Apache-2.0
"""Programs around an exported package that are asked on standard input."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from helpers.checks.exported import STRICT, output_of

#: an answer: its words after the first
Answers = Callable[..., list[list[str]]]


def asked_program(folder: Path, main: Path) -> Answers:
    """Compiles `main` (C++) with the kernels of the package in `folder`; its answers to lines of commands.

    Both are compiled once for all that ask, also from other processes; some optimization saves more than it takes.
    """
    name, include = folder.name, ("-I", folder / "include")
    kernels, program = folder / f"{name}.o", folder / main.stem
    with whole(folder):
        if not kernels.exists():
            output_of("gcc", *STRICT, "-O1", *include, "-c", folder / "src" / f"{name}.c", "-o", kernels)
        if not program.exists():
            strict = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread")
            output_of("g++", *strict, "-O1", *include, main, kernels, "-o", program)

    def answers(*lines: Sequence[Any]) -> list[list[str]]:
        text = "\n".join(" ".join(words(line)) for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        return [line.split()[1:] for line in done.stdout.splitlines()]

    return answers


@contextmanager
def whole(folder: Path) -> Iterator[None]:
    """A folder that no other process of the tests changes meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def words(line: Sequence[Any]) -> Iterator[str]:
    for part in line:
        if isinstance(part, str):
            yield part
        else:
            yield from (repr(float(value)) for value in np.asarray(part, dtype=float).reshape(-1))
