# SPDX-License-Identifier: Apache-2.0
"""Machine code from an object file, put into memory without LLVM: kernels from the disk need no 65 MB library.

An ELF file that can be relocated (System V ABI, AMD64 supplement) has sections, symbols in them and places that are to
be filled in once it is known where all this lies. Objects of this compiler use a small part of it; whatever else there
is makes the file unknown, and LLVM is asked. Pages are written first and executable afterwards, never both.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_IDENTITY = b"\x7fELF\x02\x01\x01"  # 64 bit, little endian, version 1
_RELOCATABLE, _AMD64 = 1, 62
# kinds and flags of sections
_PROGRAM, _SYMBOLS, _RELOCATIONS, _EMPTY, _UNWINDING = 1, 2, 4, 8, 0x70000001
_WRITE, _ALLOCATED, _EXECUTE, _MERGED, _STRINGS, _INFO = 1, 2, 4, 0x10, 0x20, 0x40
_IGNORED_KINDS = {0, 3, _SYMBOLS}  # none, and texts
_KNOWN_FLAGS = _WRITE | _ALLOCATED | _EXECUTE | _MERGED | _STRINGS | _INFO
_SPECIAL = 0xFF00  # from here on a section's number is none
_SYMBOL_KINDS = {0, 1, 2, 3}  # nothing, data, a function, a section
_GLOBAL = 1
# relocations: S symbol, A addend, P place, G its slot in the table of addresses
_PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX, _ABSOLUTE = 2, 4, 9, 41, 42, 1
_RELATIVE, _BY_TABLE = {_PC32, _PLT32}, {_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX}
_LARGEST = 1 << 28  # bytes, so that 32 bits reach everything


class UnknownObject(Exception):
    """What this file needs is not known here."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class ObjectImage:
    """The code and data of an object file, for as long as this lives. Raises UnknownObject."""

    def __init__(self, object_file: bytes) -> None:
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise UnknownObject("another machine")
        try:
            self._load(memoryview(object_file))
        except (struct.error, OverflowError, MemoryError, IndexError) as error:
            raise UnknownObject(f"it is damaged: {error}") from None
        except OSError as error:
            raise UnknownObject(f"no memory for code: {error}") from None

    def address(self, name: str) -> int:
        """Address of a function or a variable. Raises KeyError."""
        return self._addresses[name]

    def _load(self, data: memoryview) -> None:
        sections = list(_sections(data))
        parts = {k: section for k, section in enumerate(sections) if _belongs(section)}
        addends = [s for s in sections if s.kind == _RELOCATIONS and s.info in parts]
        symbols, names = _symbols(data, sections)
        slots: dict[int, int] = {}
        for section in addends:
            for _, number, kind, _ in _relocations(data, section):
                if kind in _BY_TABLE:
                    slots.setdefault(number, 8 * len(slots))
        # three runs of pages: code; what is only read, with the table; what is written
        ends, places = [0, 0, 0], {}
        for k, section in parts.items():
            run = _run_of(section)
            start = -(-ends[run] // section.alignment) * section.alignment
            places[k], ends[run] = (run, start), start + section.size
        table = -(-ends[1] // 8) * 8
        ends[1] = table + 8 * len(slots)
        page = mmap.PAGESIZE
        lengths = [-(-end // page) * page for end in ends]
        if sum(lengths) > _LARGEST:
            raise UnknownObject("it is too large")
        starts = [0, lengths[0], lengths[0] + lengths[1]]
        self._memory = mmap.mmap(-1, max(sum(lengths), page), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._held = (ctypes.c_char * len(self._memory)).from_buffer(self._memory)
        base = ctypes.addressof(self._held)
        where = {k: starts[run] + start for k, (run, start) in places.items()}
        for k, section in parts.items():
            if section.kind != _EMPTY:
                self._memory[where[k] : where[k] + section.size] = _bytes(data, section.offset, section.size)

        def place_of(number: int) -> int:
            """Place of a symbol, from the begin of the memory."""
            section, value = symbols[number]
            if section not in where or value > parts[section].size:
                raise UnknownObject("a symbol that is elsewhere")
            return where[section] + value

        table += starts[1]
        for number, slot in slots.items():
            struct.pack_into("<Q", self._memory, table + slot, base + place_of(number))
        for section in addends:
            target = parts[section.info]
            for offset, number, kind, addend in _relocations(data, section):
                size = 8 if kind == _ABSOLUTE else 4
                if offset + size > target.size or target.kind == _EMPTY:
                    raise UnknownObject("a place outside its section")
                place = where[section.info] + offset
                if kind in _RELATIVE:
                    struct.pack_into("<i", self._memory, place, place_of(number) + addend - place)
                elif kind in _BY_TABLE:
                    struct.pack_into("<i", self._memory, place, table + slots[number] + addend - place)
                elif kind == _ABSOLUTE and target.flags & _WRITE:
                    struct.pack_into("<Q", self._memory, place, base + place_of(number) + addend)
                else:
                    raise UnknownObject(f"relocation {kind}")
        self._addresses = {name: base + place_of(number) for name, number in names.items()}
        for run, protection in ((0, mmap.PROT_READ | mmap.PROT_EXEC), (1, mmap.PROT_READ)):
            if lengths[run]:
                _protect(base + starts[run], lengths[run], protection)


def _sections(data: memoryview) -> Iterator[_Section]:
    identity, kind, machine, _, _, _, begin, _, _, _, _, size, count, _ = _HEADER.unpack_from(data)
    if identity[:7] != _IDENTITY or kind != _RELOCATABLE or machine != _AMD64 or size != _SECTION.size:
        raise UnknownObject("it is no object file of this machine")
    for k in range(count):
        section = _Section(*_SECTION.unpack_from(data, begin + k * size))
        if section.kind == _EMPTY and section.size > _LARGEST:
            raise UnknownObject("a section is too large")
        yield section


def _belongs(section: _Section) -> bool:
    """Whether it is a part of the image. What is only for unwinding is not: no kernel throws."""
    if section.kind in _IGNORED_KINDS | {_RELOCATIONS, _UNWINDING}:
        return False
    if section.kind not in (_PROGRAM, _EMPTY) or section.flags & ~_KNOWN_FLAGS:
        raise UnknownObject(f"a section of kind {section.kind} with flags {section.flags:#x}")
    if section.flags & _WRITE and section.flags & _EXECUTE:
        raise UnknownObject("code that may be written")
    if section.alignment & (section.alignment - 1) or not 0 < section.alignment <= mmap.PAGESIZE:
        raise UnknownObject("an alignment that there is not")
    return bool(section.flags & _ALLOCATED)


def _run_of(section: _Section) -> int:
    return 0 if section.flags & _EXECUTE else 2 if section.flags & _WRITE else 1


def _symbols(data: memoryview, sections: list[_Section]) -> tuple[list[tuple[int, int]], dict[str, int]]:
    """(section, offset there) of each, and the numbers of those that have a name outside."""
    tables = [section for section in sections if section.kind == _SYMBOLS]
    if len(tables) != 1 or tables[0].entry_size != _SYMBOL.size:
        raise UnknownObject("it has not one table of symbols")
    (table,), texts = tables, sections[tables[0].link]
    known = _bytes(data, texts.offset, texts.size)
    symbols, names = [], {}
    for k in range(table.size // _SYMBOL.size):
        name, info, _, section, value, _ = _SYMBOL.unpack_from(data, table.offset + k * _SYMBOL.size)
        usable = info & 15 in _SYMBOL_KINDS and 0 < section < _SPECIAL
        symbols.append((section if usable else 0, value))
        if info >> 4 == _GLOBAL and usable:
            names[known[name : known.index(b"\0", name)].decode("ascii", "replace")] = k
    return symbols, names


def _relocations(data: memoryview, section: _Section) -> Iterator[tuple[int, int, int, int]]:
    """Offset of the place, number of the symbol, kind, addend."""
    if section.entry_size != _RELOCATION.size:
        raise UnknownObject("relocations of another form")
    for k in range(section.size // _RELOCATION.size):
        offset, info, addend = _RELOCATION.unpack_from(data, section.offset + k * _RELOCATION.size)
        yield offset, info >> 32, info & 0xFFFFFFFF, addend


def _bytes(data: memoryview, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise UnknownObject("a section beyond its end")
    return bytes(data[offset : offset + size])


def _protect(address: int, length: int, protection: int) -> None:
    if _mprotect()(address, length, protection):
        raise OSError(ctypes.get_errno(), "mprotect")


@functools.cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
