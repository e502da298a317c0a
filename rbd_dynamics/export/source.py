# SPDX-License-Identifier: Apache-2.0
"""The source file: all kernels in C99."""

from __future__ import annotations

from rbd_dynamics.export.c_code import prelude, sum_function
from rbd_dynamics.export.exported import Exported


def source(robot: Exported) -> str:
    functions = robot.functions
    parts = [f"/* {robot.origin} */", f'#include "{robot.prefix}.h"\n', prelude(robot.real, robot.precision)]
    if any(not function.pieces.is_whole for function in functions):
        parts.append(sum_function(robot.real))
    return "\n".join([*parts, *(function.text() for function in functions)])
