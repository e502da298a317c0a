# SPDX-License-Identifier: Apache-2.0
"""WebAssembly that browsers and Node.js load as it is, without a linker, and a script that calls it.

An object file is a module already, but it exports nothing: what it has by name stands in a section for linkers. From
there the names of the functions come into a section of exports, and what is for linkers only is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rbd_dynamics.compiler.precision import DOUBLE
from rbd_dynamics.export.c_code import output_name

if TYPE_CHECKING:
    from rbd_dynamics.compiler.program import Argument
    from rbd_dynamics.export.exported import Exported

_CUSTOM, _EXPORT, _DATA = 0, 7, 11
_AFTER_EXPORTS = {8, 9, 10, 11, 12}  # start, elements, code, data, their count
_SYMBOLS = 8
_FUNCTION, _DATA_SYMBOL, _SECTION_SYMBOL = 0, 1, 3
_LOCAL, _UNDEFINED, _NAMED = 0x02, 0x10, 0x40
_HAS_DATA = "the object file has data, which only a linker can place"
_PAGE = 65536
_STACK = 16384  # bytes beside the arrays of the kernels


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        """Unsigned, seven bits at a time."""
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> str:
        return self.take(self.number()).decode()

    def part(self) -> _Reader:
        return _Reader(self.take(self.number()))


def loadable(code: bytes) -> bytes:
    """A module that exports the functions of an object file by name."""
    reader = _Reader(code)
    head = reader.take(8)
    sections: list[tuple[int, bytes]] = []
    exports: dict[str, int] = {}
    while reader:
        (kind,) = reader.take(1)
        body = reader.part()
        if kind == _DATA:
            raise RuntimeError(_HAS_DATA)
        if kind == _CUSTOM:
            if body.text() == "linking":
                exports = dict(_functions(body))
        else:
            sections.append((kind, body.data))
    entries = [_number(len(name.encode())) + name.encode() + b"\0" + _number(k) for name, k in exports.items()]
    table = (_EXPORT, _number(len(entries)) + b"".join(entries))
    place = next(k for k, (kind, _) in enumerate(sections) if kind in _AFTER_EXPORTS)
    sections.insert(place, table)
    return head + b"".join(bytes([kind]) + _number(len(body)) + body for kind, body in sections)


def _functions(linking: _Reader) -> Iterator[tuple[str, int]]:
    """Names and numbers of the functions that the object file defines for others."""
    linking.number()  # its version
    while linking:
        (kind,) = linking.take(1)
        part = linking.part()
        for _ in range(part.number() if kind == _SYMBOLS else 0):
            (symbol,) = part.take(1)
            flags = part.number()
            if symbol in (_DATA_SYMBOL, _SECTION_SYMBOL):
                raise RuntimeError(_HAS_DATA)
            defined, index = not flags & _UNDEFINED, part.number()
            name = part.text() if defined or flags & _NAMED else ""
            if symbol == _FUNCTION and defined and not flags & _LOCAL:
                yield name, index


def _number(value: int) -> bytes:
    found = bytearray()
    while True:
        found.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(found)


def script(robot: Exported) -> str:
    """The module of JavaScript that loads and calls it."""
    kind = "Float64Array" if robot.precision is DOUBLE else "Float32Array"
    size = robot.precision.bits // 8
    model = robot.model
    kernels, at = {}, 64
    for each in robot.kernels:
        given = [argument.name for argument in each.signature.inputs]
        ins, outs = [], []
        for argument in each.signature.inputs:
            ins.append(_place(argument.name, argument, at))
            at += -(-argument.size * (1 if argument.boolean else size) // 16) * 16
        for argument in each.signature.outputs:
            outs.append(_place(output_name(argument, given), argument, at))
            at += -(-argument.size * size // 16) * 16
        kernels[each.identifier] = {"inputs": ins, "outputs": outs}
    stack = max(function.pieces.size for function in robot.functions) * size + _STACK
    facts = {
        "name": model.name,
        "nq": model.nq,
        "nv": model.nv,
        "jointNames": list(model.joint_names),
        "frameNames": [frame.name for frame in robot.frames],
    }
    tables = {
        "inertia": [_rounded(robot, body.inertia.parameters) for body in model.bodies],
        "fixedInertia": _rounded(robot, model.fixed_inertia.parameters),
        "frames": [
            [frame.body, _rounded(robot, (*frame.placement.rotation, *frame.placement.p))] for frame in robot.frames
        ],
    }
    return f"""\
// {robot.origin}
// const robot = await load(bytes of {robot.prefix}.wasm); robot.inverse_dynamics(q, v, a) is an array, several outputs
// are an object of arrays. What cannot be computed throws.

const facts = {json.dumps(facts)};
const tables = {json.dumps(tables)};
const kernels = {json.dumps(kernels)};
const pages = {-(-(at + stack) // _PAGE)};
const faults = {{
  1: "an input is not finite",
  2: "the result is not finite",
  4: "an angle or quaternion is out of range",
}};

export async function load(bytes) {{
  const memory = new WebAssembly.Memory({{ initial: pages }});
  const stack = new WebAssembly.Global({{ value: "i32", mutable: true }}, pages * {_PAGE});
  const env = {{ __linear_memory: memory, __stack_pointer: stack, tanh: Math.tanh, tanhf: Math.tanh }};
  const {{ instance }} = await WebAssembly.instantiate(bytes, {{ env }});
  const robot = {{ ...facts, inertia: {kind}.from(tables.inertia.flat()) }};
  const kept = {{ inertia: () => robot.inertia, fixed_inertia: () => tables.fixedInertia }};
  for (const [name, kernel] of Object.entries(kernels)) {{
    const view = (one) => new (one.boolean ? Uint8Array : {kind})(memory.buffer, one.at, one.size);
    const inputs = kernel.inputs.map(view), outputs = kernel.outputs.map(view);
    const places = [...kernel.inputs, ...kernel.outputs].map((one) => one.at);
    const run = instance.exports["{robot.prefix}_" + name];
    robot[name] = (...given) => {{
      kernel.inputs.forEach((one, k) => {{
        const values = kept[one.name] ? kept[one.name]() : given.shift();
        if (values?.length !== one.size) throw new Error(`${{name}}: ${{one.name}} needs ${{one.size}} numbers`);
        inputs[k].set(values);
      }});
      const status = run(...places);
      if (status) throw new Error(`${{name}}: ${{faults[status]}}`);
      const copies = outputs.map((one) => one.slice());
      if (copies.length === 1) return copies[0];
      return Object.fromEntries(kernel.outputs.map((one, k) => [one.name, copies[k]]));
    }};
  }}
  // A load at a frame by its name, beside those that are there; com (3) in it, rotational (6) about the centre of mass.
  robot.attach = (frame, mass, com = [0, 0, 0], rotational = [0, 0, 0, 0, 0, 0]) => {{
    const found = tables.frames[facts.frameNames.indexOf(frame)];
    if (!found) throw new Error(`no frame named ${{frame}}`);
    const load = robot.inertia_of_load([mass], com, rotational, found[1]);
    if (found[0] >= 0) load.forEach((value, k) => (robot.inertia[10 * found[0] + k] += value));
  }};
  return robot;
}}
"""


def _place(name: str, argument: Argument, at: int) -> dict[str, object]:
    return {"name": name, "at": at, "size": argument.size, "boolean": argument.boolean}


def _rounded(robot: Exported, values: tuple[float, ...]) -> list[float]:
    return [float(value) if robot.precision is DOUBLE else float(np.float32(value)) for value in values]
