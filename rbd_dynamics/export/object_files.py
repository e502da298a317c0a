# SPDX-License-Identifier: Apache-2.0
"""The files that an export has for a processor."""

from __future__ import annotations

from rbd_dynamics.compiler.llvm.machine import Processor, compile_for
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.object_code import object_ir
from rbd_dynamics.export.targets import TARGETS
from rbd_dynamics.export.web_assembly import loadable, script


def object_files(robot: Exported, target: str) -> dict[str, str | bytes]:
    """{path: content}: the object file, for WebAssembly also a module that is loaded as it is."""
    chosen = TARGETS[target]
    processor = Processor(chosen.triple, chosen.cpu, chosen.features, chosen.abi, chosen.relocation)
    code = compile_for(object_ir(robot, chosen.abi), processor)
    files: dict[str, str | bytes] = {f"{target}/{robot.prefix}.o": code}
    if target == "wasm32":
        files[f"{target}/{robot.prefix}.wasm"] = loadable(code)
        files[f"{target}/{robot.prefix}.mjs"] = script(robot)
    return files
