# SPDX-License-Identifier: Apache-2.0
"""Headers of numbers in C++ that an exported package has of the library's laws."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.export.c_code import number
from rbd_dynamics.export.exported import Exported

#: names in C++, values, and what they are
Numbers = Sequence[tuple[str, float, str]]


def constants_header(exported: Exported, path: str, what: str, lines: Sequence[str]) -> str:
    """The header at a path below the package's own folder, with what it holds, out of declarations in its namespace."""
    prefix = exported.prefix
    guard = "__".join((exported.capital, *path.removesuffix(".hpp").upper().split("/"))) + "_HPP_"
    return "\n".join(
        [
            "// SPDX-License-Identifier: Apache-2.0",
            f"// {exported.origin} {what}",
            f"#ifndef {guard}\n#define {guard}\n",
            f'#include <cmath>\n#include <cstddef>\n\n#include "{prefix}/{prefix}.hpp"\n',
            f"namespace {prefix}\n{{\n",
            *lines,
            f"\n}}  // namespace {prefix}\n\n#endif  // {guard}\n",
        ]
    )


def declared(exported: Exported, numbers: Numbers) -> list[str]:
    """A line for each number."""
    return [
        f"constexpr double {name} = {number(value, exported.precision)};  // {text}" for name, value, text in numbers
    ]
