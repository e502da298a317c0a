# SPDX-License-Identifier: Apache-2.0
"""Names of robots, frames, joints and kernels as identifiers of C."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

#: in C, as namespaces of C++, as targets of CMake, and as headers beside those of C
_RESERVED = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    "alignas", "alignof", "and", "and_eq", "asm", "bitand", "bitor", "bool", "catch", "char16_t", "char32_t", "char8_t",
    "class", "co_await", "co_return", "co_yield", "compl", "concept", "const_cast", "consteval", "constexpr",
    "constinit", "decltype", "delete", "dynamic_cast", "explicit", "export", "false", "friend", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public",
    "reinterpret_cast", "requires", "static_assert", "static_cast", "std", "template", "this", "thread_local", "throw",
    "true", "try", "typeid", "typename", "using", "virtual", "wchar_t", "xor", "xor_eq",
    "linux", "main", "unix",
    "all", "clean", "depend", "edit_cache", "help", "install", "list_install_components", "m", "package",
    "package_source", "preinstall", "rebuild_cache", "test",
    "assert", "complex", "ctype", "errno", "fenv", "inttypes", "iso646", "limits", "locale", "math", "setjmp",
    "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn",
    "string", "tgmath", "threads", "time", "uchar", "wchar", "wctype",
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "drem",
    "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "frexp", "gamma",
    "hypot", "ilogb", "j0", "j1", "jn", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "logb", "lrint", "lround",
    "modf", "nan", "nearbyint", "pow", "remainder", "rint", "round", "scalb", "signgam", "significand", "sin", "sinh",
    "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1", "yn",
}  # fmt: skip


def identifier(text: str) -> str:
    """Letters, digits and underscores; what else there is becomes an underscore."""
    found = re.sub(r"_+", "_", re.sub(r"[^0-9a-zA-Z_]", "_", text)).strip("_")
    return f"_{found}" if found[:1].isdigit() else found


def prefix_of(name: str | None, robot: str) -> str:
    """What names in C begin with: `name` as it is, or the robot's name in lower case. Raises ValueError."""
    if name is None:
        made = identifier(robot).lower().lstrip("_")
        return f"robot_{made}".rstrip("_") if not made[:1].isalpha() or made in _RESERVED else made
    if name in _RESERVED:
        raise ValueError(f"name {name!r} cannot begin names in C: C, C++ or CMake has it for something else")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"name {name!r} cannot begin names in C: lower-case letters, digits and single underscores")
    return name


def literal(text: str) -> str:
    """A string of C."""
    return json.dumps(text, ensure_ascii=False)


def distinct(names: Iterable[str]) -> list[str]:
    """An identifier in upper case for each name; those that would be equal are numbered."""
    found: list[str] = []
    for name in names:
        plain = identifier(name).upper().lstrip("_") or "UNNAMED"
        number, made = 1, plain
        while made in found:
            number += 1
            made = f"{plain}_{number}"
        found.append(made)
    return found
