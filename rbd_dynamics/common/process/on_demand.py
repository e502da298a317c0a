# SPDX-License-Identifier: Apache-2.0
"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def on_demand(
    package: str, *, deprecated: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose imports stand under `if TYPE_CHECKING:` (PEP 562).

    There type checkers and editors read them; here each is done when its name is asked for:

        if TYPE_CHECKING:
            from package.module import Name
        else:
            __getattr__, __dir__ = on_demand(__name__)

    Modules of the package that are `deprecated` are found too, though nothing lists them.

    A name must not be that of a module of the package, which importing that module would bind to the module.
    """

    @cache
    def origins() -> dict[str, tuple[str, str]]:
        """{name: module and what it is called there}."""
        spec = sys.modules[package].__spec__
        source = spec.loader.get_source(package)  # type: ignore[union-attr]
        blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        return {part.asname or part.name: (str(node.module), part.name) for node in imports for part in node.names}

    def get(name: str) -> Any:
        if name in deprecated:
            return importlib.import_module(f"{package}.{name}")
        if name.startswith("__") or name not in origins():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = origins()[name]
        if module == package:
            found = importlib.import_module(f"{package}.{original}")
        else:
            found = getattr(importlib.import_module(module), original)
        setattr(sys.modules[package], name, found)  # asked once
        return found

    def names() -> list[str]:
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return get, names
