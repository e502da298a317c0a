# SPDX-License-Identifier: Apache-2.0
"""Run by `xacro_files.py` in a process of its own: expands a xacro file. It imports nothing of this package.

Standard input: {"file": path, "arguments": {name: value}, "packages": {name: folder}, "seconds": s, "bytes": n} as
JSON; standard output: {"text": the expanded text, "known": names of arguments that it asked for}. What is wrong ends it
with one line on standard error.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any


def main() -> None:
    request = json.load(sys.stdin)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"] + 1))
        resource.setrlimit(resource.RLIMIT_AS, (request["bytes"], request["bytes"]))
    except (ImportError, ValueError, OSError):
        pass  # the time is bounded by the caller, too
    _give_packages(request["packages"])
    import xacro

    arguments = _Asked(request["arguments"])
    try:
        document = xacro.process_file(request["file"], mappings=arguments)
        json.dump({"text": document.toxml(), "known": sorted(arguments.names)}, sys.stdout)
    except BaseException as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        sys.exit(" ".join(what.split())[:1500])


class _Asked(dict[str, str]):
    """Notes what it is asked for: `<xacro:arg>` asks whether its name is given, `$(arg name)` for the value."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return super().__getitem__(name)


def _give_packages(folders: dict[str, str]) -> None:
    """$(find name) asks the index of ROS: here it knows the given folders first, and works without its Python."""
    try:
        from ament_index_python.packages import get_package_share_directory as indexed
    except ImportError:

        def indexed(name: str) -> str:
            for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
                folder = os.path.join(prefix, "share", name)
                if prefix and os.path.isdir(folder):
                    return folder
            raise LookupError(f"package {name!r} not found: give packages={{name: folder}}")

    def share(name: str, *more: object) -> str:
        return folders.get(name) or indexed(name)

    module: Any = sys.modules.get("ament_index_python.packages")
    if module is None:
        sys.modules["ament_index_python"] = types.ModuleType("ament_index_python")
        module = sys.modules["ament_index_python.packages"] = types.ModuleType("ament_index_python.packages")
    module.get_package_share_directory = share


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its files are no modules here
    main()
