# SPDX-License-Identifier: Apache-2.0
"""The templates are formatted as ros2_control is, and pass cpplint with what ament lets pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rbd_dynamics.export.ros2_control.package import TEMPLATES

FILES = sorted(str(path) for path in TEMPLATES.rglob("*.[ch]pp"))
LET_PASS = (
    "build/c++11", "runtime/references", "whitespace/braces", "whitespace/indent", "whitespace/parens",
    "whitespace/semicolon", "whitespace/newline",
    # these are as ament has them: the guard of a header, with the package in it, and of what is within a namespace
    "build/header_guard", "whitespace/indent_namespace",
    "legal/copyright",  # whose package it is
)  # fmt: skip


def test_templates_are_formatted():
    pytest.importorskip("clang_format")
    tool = Path(sys.executable).with_name("clang-format")
    done = subprocess.run([tool, "--dry-run", "-Werror", *FILES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_templates_pass_cpplint():
    pytest.importorskip("cpplint")
    options = ["--quiet", "--linelength=100", "--filter=" + ",".join(f"-{name}" for name in LET_PASS)]
    done = subprocess.run(
        [sys.executable, "-m", "cpplint", *options, *FILES], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
