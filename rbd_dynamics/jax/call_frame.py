# SPDX-License-Identifier: Apache-2.0
"""How XLA calls a kernel: machine code that takes the call frame of XLA's foreign function interface.

The frame is a structure of C, described by the header that jaxlib brings with it (xla/ffi/api/c_api.h). That header is
read and compared with what is known here before any code is registered: what was moved there would be read wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rbd_dynamics.compiler.llvm.function import OUT_OF_RANGE
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.evaluation import CHUNK

HEADER = Path("xla", "ffi", "api", "c_api.h")
MAJOR = 0  # of the interface
#: fields, in order, of the structures that are read; with "..." more may follow
LAYOUT = {
    "XLA_FFI_Extension_Base": "struct_size type next",  # XLA_FFI_InternalExtension from version 0.5 on
    "XLA_FFI_Buffer": "struct_size extension_start dtype data rank dims ...",
    "XLA_FFI_Args": "struct_size extension_start size types args",
    "XLA_FFI_Rets": "struct_size extension_start size types rets",
    "XLA_FFI_CallFrame": "struct_size extension_start api ctx stage args rets attrs ...",
    "XLA_FFI_Api_Version": "struct_size extension_start major_version minor_version",
    "XLA_FFI_Metadata": "struct_size api_version traits ...",
    "XLA_FFI_Metadata_Extension": "extension_base metadata",
    "XLA_FFI_Api": "struct_size extension_start api_version internal_api XLA_FFI_Error_Create ...",
    "XLA_FFI_Error_Create_Args": "struct_size extension_start message errc",
}
RENAMED = {"XLA_FFI_Extension_Base": "XLA_FFI_InternalExtension"}
# offsets that follow, in bytes
_EXTENSION, _API, _ARGS, _RETS, _FRAME_SIZE = 8, 16, 40, 80, 168
_COUNT, _POINTERS = 16, 32  # of arguments and results
_DATA, _RANK, _DIMS = 24, 32, 40  # of a buffer
_METADATA, _MAJOR, _MINOR, _TRAITS, _STATE, _METADATA_SIZE = 24, 24, 28, 32, 40, 48
_ERROR_CREATE, _INVALID_ARGUMENT = 48, 3
_NO_FIT = "rbd_dynamics: these arrays do not belong to the kernel"


def fields_of(header: str, name: str) -> list[str]:
    """Names of the fields of a structure, in order, by its name now or later; none where there is no such structure."""
    if name in RENAMED and f"struct {name} {{" not in header:
        name = RENAMED[name]
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    found = re.search(rf"struct {name} {{(.*?)}}", text, re.DOTALL)
    if not found:
        return []
    return re.findall(r"(\w+)\)?\s*;", re.sub(r"\w+_FIELD\((\w+)\)", r"\1", found[1]))


def minor_version(include: str) -> int:
    """The minor version of the interface that jaxlib has. Raises RuntimeError for one that is not known."""
    try:
        header = Path(include, HEADER).read_text()
    except OSError as error:
        raise RuntimeError(f"jaxlib has no description of its foreign function interface: {error}") from error
    versions = [re.search(rf"define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    major, minor = (int(found[1]) if found else -1 for found in versions)
    problem = "" if major == MAJOR else f"its major version is {major}, known is {MAJOR}"
    for name, expected in LAYOUT.items():
        known, more = expected.removesuffix(" ...").split(), expected.endswith("...")
        fields = fields_of(header, name)
        if (fields[: len(known)] if more else fields) != known:
            problem = problem or f"{name} has the fields {', '.join(fields) or 'none'}, known are {', '.join(known)}"
    if problem:
        raise RuntimeError(
            f"this jaxlib calls functions in a way that is not known here (XLA FFI {major}.{minor}): {problem}; "
            "take a version of JAX that was tried, see docs/learning.md"
        )
    return minor


def emit_handler(signature: Signature, minor: int) -> str:
    """IR of `handler(frame)`, what XLA calls, over @one, @many and @rescue, variables with the addresses of code.

    It counts the samples by the buffers' leading axes. Where samples are bad all are done again, some at a time and
    then one by one: results of a sample that cannot be computed are NaN. @rescue(pointers), a function of Python's, is
    asked for samples whose angles are too large for machine code.
    """
    return "\n".join(_Handler(signature, minor).emit())


class _Handler:
    def __init__(self, signature: Signature, minor: int) -> None:
        self._signature, self._minor = signature, minor
        self._arguments: Sequence[Argument] = (*signature.inputs, *signature.outputs)
        self._lines: list[str] = []
        self._count = 0

    def emit(self) -> list[str]:
        message = f'c"{_NO_FIT}\\00"'
        return [
            *(f"@{name} = global i64 0" for name in ("one", "many", "rescue")),
            f"@message = private constant [{len(_NO_FIT) + 1} x i8] {message}",
            *_SAMPLES,
            *self._fill(),
            *self._bad(),
            *self._spare(),
            *self._handler(),
        ]

    def _let(self, expression: str) -> str:
        self._count += 1
        self._lines.append(f"  %c{self._count} = {expression}")
        return f"%c{self._count}"

    def _field(self, kind: str, base: str, offset: int) -> str:
        return self._let(f"load {kind}, ptr {self._let(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    def _function(self, name: str) -> str:
        return self._let(f"inttoptr i64 {self._let(f'load i64, ptr @{name}')} to ptr")

    def _taken(self) -> list[str]:
        """The lines so far, and none from now on."""
        lines, self._lines = self._lines, []
        return lines

    def _width(self, argument: Argument) -> int:
        return 1 if argument.boolean else self._signature.precision.bits // 8

    def _pairs(self) -> str:
        """Parameters: a pointer and a stride in elements for each array."""
        return ", ".join(f"ptr %p{k}, i64 %s{k}" for k in range(len(self._arguments)))

    def _at(self, sample: str) -> list[str]:
        """Pointers to what belongs to a sample."""
        pointers = []
        for k, argument in enumerate(self._arguments):
            offset = self._let(f"mul i64 {self._let(f'mul i64 {sample}, %s{k}')}, {self._width(argument)}")
            pointers.append(self._let(f"getelementptr i8, ptr %p{k}, i64 {offset}"))
        return pointers

    def _fill(self) -> list[str]:
        scalar = self._signature.precision.scalar
        return [
            "define private void @fill(ptr %to, i64 %n) {",
            "entry:",
            "  %some = icmp sgt i64 %n, 0",
            "  br i1 %some, label %loop, label %done",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            f"  %at = getelementptr {scalar}, ptr %to, i64 %i",
            f"  store {scalar} 0x7FF8000000000000, ptr %at",
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  ret void",
            "}",
        ]

    def _bad(self) -> list[str]:
        """A sample that the kernel has refused with a status."""
        names = ", ".join(f"ptr %p{k}" for k in range(len(self._arguments)))
        total = len(self._arguments)
        self._lines = [
            f"define private void @bad(i32 %status, {names}) {{",
            f"  %all = alloca [{total} x ptr]",
            f"  %asks = icmp eq i32 %status, {OUT_OF_RANGE}",
            "  br i1 %asks, label %ask, label %nothing",
            "ask:",
        ]
        for k in range(total):
            self._lines.append(f"  store ptr %p{k}, ptr {self._let(f'getelementptr ptr, ptr %all, i64 {k}')}")
        found = self._let(f"call i32 {self._function('rescue')}(ptr %all)")
        self._lines.append(f"  br i1 {self._let(f'icmp eq i32 {found}, 0')}, label %done, label %nothing")
        self._lines.append("nothing:")
        for k, argument in enumerate(self._signature.outputs, start=len(self._signature.inputs)):
            self._lines.append(f"  call void @fill(ptr %p{k}, i64 {argument.size})")
        self._lines += ["  br label %done", "done:", "  ret void", "}"]
        return self._taken()

    def _spare(self) -> list[str]:
        """A batch of which some samples are bad: in chunks, and chunks that have some one by one."""
        self._lines = [
            f"define private void @spare(i64 %n, {self._pairs()}) {{",
            "entry:",
            "  br label %chunk",
            "chunk:",
            "  %start = phi i64 [ 0, %entry ], [ %end, %chunked ]",
            f"  %full = add i64 %start, {CHUNK}",
            "  %over = icmp sgt i64 %full, %n",
            "  %end = select i1 %over, i64 %n, i64 %full",
            "  %size = sub i64 %end, %start",
        ]
        pointers = self._at("%start")
        given = ", ".join(f"ptr {pointer}, i64 %s{k}" for k, pointer in enumerate(pointers))
        status = self._let(f"call i32 {self._function('many')}(i64 %size, {given})")
        self._lines += [
            f"  br i1 {self._let(f'icmp eq i32 {status}, 0')}, label %chunked, label %single",
            "single:",
            "  %k = phi i64 [ %start, %chunk ], [ %k.next, %singled ]",
        ]
        pointers = self._at("%k")
        names = ", ".join(f"ptr {pointer}" for pointer in pointers)
        status = self._let(f"call i32 {self._function('one')}({names})")
        self._lines += [
            f"  br i1 {self._let(f'icmp eq i32 {status}, 0')}, label %singled, label %refused",
            "refused:",
            f"  call void @bad(i32 {status}, {names})",
            "  br label %singled",
            "singled:",
            "  %k.next = add i64 %k, 1",
            "  %k.more = icmp slt i64 %k.next, %end",
            "  br i1 %k.more, label %single, label %chunked",
            "chunked:",
            "  %more = icmp slt i64 %end, %n",
            "  br i1 %more, label %chunk, label %done",
            "done:",
            "  ret void",
            "}",
        ]
        return self._taken()

    def _handler(self) -> list[str]:
        self._lines = ["define ptr @handler(ptr %frame) {", "entry:"]
        extension = self._field("ptr", "%frame", _EXTENSION)
        self._lines += [
            f"  br i1 {self._let(f'icmp eq ptr {extension}, null')}, label %execute, label %extended",
            "extended:",
        ]
        self._metadata(extension)
        self._lines.append("execute:")
        inputs, outputs = len(self._signature.inputs), len(self._signature.outputs)
        size = self._field("i64", "%frame", 0)
        self._require(self._let(f"icmp uge i64 {size}, {_FRAME_SIZE}"))
        for base, wanted in ((_ARGS, inputs), (_RETS, outputs)):
            self._require(self._let(f"icmp eq i64 {self._field('i64', '%frame', base + _COUNT)}, {wanted}"))
        args, rets = (self._field("ptr", "%frame", base + _POINTERS) for base in (_ARGS, _RETS))
        buffers = [self._field("ptr", args, 8 * k) for k in range(inputs)]
        buffers += [self._field("ptr", rets, 8 * k) for k in range(outputs)]
        counts = [
            self._let(f"call i64 @samples(ptr {buffer}, i64 {len(own.shape)})")
            for buffer, own in zip(buffers, self._arguments)
        ]
        n, data = counts[-1], [self._field("ptr", buffer, _DATA) for buffer in buffers]
        strides = []
        for k, (count, argument) in enumerate(zip(counts, self._arguments)):
            whole, alone = self._let(f"icmp eq i64 {count}, {n}"), self._let(f"icmp eq i64 {count}, 1")
            output = k >= inputs
            self._require(alone if argument.shared else whole if output else self._let(f"or i1 {whole}, {alone}"))
            strides.append(self._let(f"select i1 {alone}, i64 0, i64 {argument.size}"))
        self._lines += [
            f"  switch i64 {n}, label %batch [ i64 0, label %done i64 1, label %sample ]",
            "sample:",
        ]
        names = ", ".join(f"ptr {pointer}" for pointer in data)
        status = self._let(f"call i32 {self._function('one')}({names})")
        self._lines += [
            f"  br i1 {self._let(f'icmp eq i32 {status}, 0')}, label %done, label %refused",
            "refused:",
            f"  call void @bad(i32 {status}, {names})",
            "  br label %done",
            "batch:",
        ]
        pairs = ", ".join(f"ptr {pointer}, i64 {stride}" for pointer, stride in zip(data, strides))
        status = self._let(f"call i32 {self._function('many')}(i64 {n}, {pairs})")
        self._lines += [
            f"  br i1 {self._let(f'icmp eq i32 {status}, 0')}, label %done, label %some",
            "some:",
            f"  call void @spare(i64 {n}, {pairs})",
            "  br label %done",
            "done:",
            "  ret ptr null",
            "misfit:",
        ]
        self._error()
        return [*self._taken(), "}"]

    def _metadata(self, extension: str) -> None:
        """What XLA asks when code is registered: for which version it was made."""
        self._lines.append(f"  %asked = {f'load ptr, ptr {self._shifted(extension, _METADATA)}'}")
        self._store("i32", str(MAJOR), "%asked", _MAJOR)
        self._store("i32", str(self._minor), "%asked", _MINOR)
        self._store("i32", "0", "%asked", _TRAITS)
        size = self._field("i64", "%asked", 0)
        self._lines += [
            f"  br i1 {self._let(f'icmp uge i64 {size}, {_METADATA_SIZE}')}, label %stateless, label %done",
            "stateless:",
        ]
        self._store("i64", "0", "%asked", _STATE)
        self._lines.append("  br label %done")

    def _error(self) -> None:
        """An error of XLA's."""
        api = self._field("ptr", "%frame", _API)
        self._lines.append("  %error = alloca [32 x i8], align 8")
        self._store("i64", "28", "%error", 0)
        self._store("ptr", "null", "%error", 8)
        self._store("ptr", "@message", "%error", 16)
        self._store("i32", str(_INVALID_ARGUMENT), "%error", 24)
        made = self._let(f"call ptr {self._field('ptr', api, _ERROR_CREATE)}(ptr %error)")
        self._lines.append(f"  ret ptr {made}")

    def _shifted(self, base: str, offset: int) -> str:
        return self._let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _store(self, kind: str, value: str, base: str, offset: int) -> None:
        self._lines.append(f"  store {kind} {value}, ptr {self._shifted(base, offset)}")

    def _require(self, condition: str) -> None:
        self._count += 1
        self._lines += [f"  br i1 {condition}, label %go{self._count}, label %misfit", f"go{self._count}:"]


#: how many samples a buffer holds, whose last axes, so many, belong to one
_SAMPLES = [
    "define private i64 @samples(ptr %buffer, i64 %own) {",
    "entry:",
    f"  %rank.at = getelementptr i8, ptr %buffer, i64 {_RANK}",
    "  %rank = load i64, ptr %rank.at",
    f"  %dims.at = getelementptr i8, ptr %buffer, i64 {_DIMS}",
    "  %dims = load ptr, ptr %dims.at",
    "  %lead = sub i64 %rank, %own",
    "  %any = icmp sgt i64 %lead, 0",
    "  br i1 %any, label %loop, label %done",
    "loop:",
    "  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]",
    "  %product = phi i64 [ 1, %entry ], [ %longer, %loop ]",
    "  %at = getelementptr i64, ptr %dims, i64 %i",
    "  %extent = load i64, ptr %at",
    "  %longer = mul i64 %product, %extent",
    "  %i.next = add i64 %i, 1",
    "  %more = icmp slt i64 %i.next, %lead",
    "  br i1 %more, label %loop, label %done",
    "done:",
    "  %found = phi i64 [ 1, %entry ], [ %longer, %loop ]",
    "  ret i64 %found",
    "}",
]
