# SPDX-License-Identifier: Apache-2.0
"""How Python calls a function with loops: like one of its own built-ins, at the cost of one."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def emit_entry(function: Callable[..., int]) -> list[str]:
    """`entry(self, plan)`, as Python calls a built-in: the arguments stand in an array of int64, the result behind.

    And `plain(numbers)`, which is given what that array holds, and knows nothing of Python.
    """
    names = list(inspect.signature(function).parameters)
    lines = []
    for k, name in enumerate(names):
        lines.append(f"  %at.{name} = getelementptr i64, ptr %data, i64 {k}")
        lines.append(f"  %in.{name} = load i64, ptr %at.{name}")
    given = ", ".join(f"i64 %in.{name}" for name in names)
    return [
        "define i64 @plain(ptr %data) {",
        *lines,
        f"  %result = call i64 @{function.__name__}({given})",
        f"  %behind = getelementptr i64, ptr %data, i64 {len(names)}",
        "  store i64 %result, ptr %behind",
        "  ret i64 %result",
        "}",
        *(f"@{name} = global i64 0" for name in ("py_true", "py_false", "incref")),
        "define ptr @entry(ptr %self, ptr %plan) {",
        "  %object = ptrtoint ptr %plan to i64",
        "  %slot = add i64 %object, 16",  # PyArrayObject.data
        "  %where = inttoptr i64 %slot to ptr",
        "  %data = load ptr, ptr %where",
        "  %result = call i64 @plain(ptr %data)",
        "  %some = icmp ne i64 %result, 0",
        "  %yes = load i64, ptr @py_true",
        "  %no = load i64, ptr @py_false",
        "  %found = select i1 %some, i64 %yes, i64 %no",
        "  %answer = inttoptr i64 %found to ptr",
        "  %counting = load i64, ptr @incref",
        "  %count = inttoptr i64 %counting to ptr",
        "  call void %count(ptr %answer)",
        "  ret ptr %answer",
        "}",
    ]
