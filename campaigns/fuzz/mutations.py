# SPDX-License-Identifier: Apache-2.0
"""Mutations of valid inputs: of bytes, of text, of XML trees and of what JSON and YAML hold."""

from __future__ import annotations

import copy
import math
import random
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from typing import Any

NUMBERS = (
    "0", "-0.0", "1", "-1", "1e308", "-1.7e308", "1.8e308", "1e-308", "5e-324", "1e154", "1e300", "1e-300", "1e17",
    "nan", "inf", "-inf", ".nan", ".inf", "1_0", "0x10", "1e", "", "1 2 3", "1 2", "1,5", "9" * 30, "1e99999", "true",
)  # fmt: skip
WORDS = (
    "",
    "x",
    "null",
    "world",
    "base",
    "é",
    "\u0000",
    "\ud800",
    "\U0001f916",
    "a" * 3000,
    "../..",
    "%s%n",
    "-",
    "~",
    "]",
    "<",
    "&",
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 0.0, -0.0, 1e308, -1.7e308, 5e-324, 1e-300, 1e154,
    math.nan, math.inf, -math.inf, "", "x", "world", "1", "nan", "a" * 3000, "\udcff", [], {}, [[]], [None],
    {"x": None}, [0.0, 0.0, 0.0], [1e308] * 3, [0.0] * 6, [0.0, 0.0, 1.0], [1] * 100, "plane", "revolute", "fixed",
    [["x", 1.0]],
)  # fmt: skip
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
WORD = re.compile(r"[A-Za-z_]\w*")
EXTREME_BYTES = (
    *(struct.pack("<d", x) for x in (math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0)),
    *(struct.pack("<I", x) for x in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF8, 0x10000)),
    *(struct.pack("<Q", x) for x in (0, 2**63, 2**64 - 1, 2**32, 2**40)),
    b"\0", b"\xff", b"\x7f", b"\x80",
)  # fmt: skip


def times(rng: random.Random) -> int:
    """How many mutations: mostly one or two."""
    return min(1 + int(rng.expovariate(0.7)), 12)


def mutated_bytes(rng: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Bits flipped, parts removed, repeated, exchanged, written over, the end cut off, parts of another put in."""
    found = bytearray(data)
    for _ in range(times(rng)):
        size = len(found)
        at = rng.randrange(size + 1)
        stop = min(size, at + min(int(rng.expovariate(0.05)) + 1, 400))
        kind = rng.randrange(9)
        if kind == 0 and size:
            found[rng.randrange(size)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del found[at:stop]
        elif kind == 2:
            found[at:at] = found[at:stop] * rng.choice((1, 1, 2, 50))
        elif kind == 3:
            found[at:at] = rng.randbytes(rng.choice((1, 2, 4, 8, 64)))
        elif kind == 4:
            del found[at:]
        elif kind == 5 and others:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            found[at:stop] = other[begin : begin + rng.randrange(200)]
        elif kind == 6:
            extreme = rng.choice(EXTREME_BYTES)
            found[at : at + len(extreme)] = extreme
        elif kind == 7:
            aligned = at - at % 4
            extreme = rng.choice(EXTREME_BYTES)
            found[aligned : aligned + len(extreme)] = extreme
        elif size:
            found[rng.randrange(size)] = rng.randrange(256)
    return bytes(found[: 1 << 18])


def mutated_text(rng: random.Random, text: str, others: Sequence[str] = ()) -> str:
    """Numbers and words exchanged, lines removed, repeated and moved, parts nested, characters changed."""
    for _ in range(times(rng)):
        kind = rng.randrange(9)
        if kind in (0, 1):
            text = _replaced(rng, text, NUMBER, NUMBERS)
        elif kind == 2:
            text = _replaced(rng, text, WORD, (*WORDS, *WORD.findall(text)[:200]))
        elif kind == 3:
            lines = text.split("\n")
            line = lines.pop(rng.randrange(len(lines)))
            if rng.random() < 0.7:
                for _ in range(rng.choice((1, 2, 3))):
                    lines.insert(rng.randrange(len(lines) + 1), line)
            text = "\n".join(lines)
        elif kind == 4:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(WORDS) + text[at:]
        elif kind == 5:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + text[at + rng.randrange(40) :]
        elif kind == 6:
            at = rng.randrange(len(text) + 1)
            opening, closing = rng.choice(
                (("[", "]"), ("{a: ", "}"), ("<a>", "</a>"), ("- ", ""), ('"', '"'), ("&a ", "*a"))
            )
            depth = rng.choice((1, 2, 60, 3000))
            text = text[:at] + opening * depth + closing * depth + text[at:]
        elif kind == 7 and others:
            other = rng.choice(others)
            begin, at = rng.randrange(len(other) + 1), rng.randrange(len(text) + 1)
            text = text[:at] + other[begin : begin + rng.randrange(300)] + text[at:]
        else:
            text = mutated_bytes(rng, text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    return text[: 1 << 18]


def _replaced(rng: random.Random, text: str, what: re.Pattern[str], by: Sequence[str]) -> str:
    found = list(what.finditer(text))
    if not found:
        return text
    chosen = rng.choice(found)
    return text[: chosen.start()] + rng.choice(by) + text[chosen.end() :]


def mutated_xml(rng: random.Random, text: str, others: Sequence[str] = ()) -> str:
    """Elements and attributes removed, repeated, moved, renamed, exchanged; else as text."""
    if rng.random() < 0.4:
        return mutated_text(rng, text, others)
    root = ET.fromstring(text)
    for _ in range(times(rng)):
        _mutate_tree(rng, root)
    found = ET.tostring(root, encoding="unicode")
    return mutated_text(rng, found, others) if rng.random() < 0.1 else found


def _mutate_tree(rng: random.Random, root: ET.Element) -> None:
    parents = [element for element in root.iter() if len(element)]
    if not parents:
        return
    parent = rng.choice(parents)
    element = rng.choice(list(parent))
    kind = rng.randrange(8)
    if kind == 0:
        parent.remove(element)
    elif kind == 1:
        for _ in range(rng.choice((1, 1, 2, 40))):
            parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(element))
    elif kind == 2:
        rng.choice(parents).append(copy.deepcopy(element))
    elif kind == 3:
        element.tag = rng.choice([other.tag for other in root.iter()])
    elif kind == 4 and rng.random() < 0.2:
        depth = rng.choice((3, 100, 2000))
        inner = copy.deepcopy(element)
        for _ in range(depth):
            outer = ET.Element(element.tag, dict(element.attrib))
            outer.append(inner)
            inner = outer
        parent.append(inner) if depth < 500 else None
    else:
        everywhere = [(each, name) for each in root.iter() for name in each.attrib]
        if not everywhere:
            return
        each, name = rng.choice(everywhere)
        if kind == 5:
            del each.attrib[name]
        elif kind == 6:
            other, source = rng.choice(everywhere)
            each.set(name if rng.random() < 0.7 else source, other.get(source) or "")
        else:
            numbers = list(NUMBER.finditer(each.get(name) or ""))
            if numbers and rng.random() < 0.8:
                each.set(name, _replaced(rng, each.get(name) or "", NUMBER, NUMBERS).replace("\0", ""))
            else:
                each.set(name, rng.choice(WORDS[:6]).replace("\0", ""))


def mutated_object(rng: random.Random, data: Any) -> Any:
    """Entries of nested lists and dictionaries removed, repeated, exchanged, nested, made extreme."""
    data = copy.deepcopy(data)
    for _ in range(times(rng)):
        places: list[tuple[Any, Any]] = []
        _collect(data, places)
        if not places:
            return rng.choice(VALUES)
        holder, key = rng.choice(places)
        kind = rng.randrange(7)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == 1:
            holder[rng.choice(("x", "name", "type", "frame", "é", ""))] = copy.deepcopy(holder[key])
        elif kind == 2:
            other, source = rng.choice(places)
            if source in other if isinstance(other, dict) else source < len(other):
                holder[key] = copy.deepcopy(other[source])
        elif kind == 3:
            for _ in range(rng.choice((1, 2, 70))):
                holder[key] = [holder[key]] if rng.random() < 0.5 else {"x": holder[key]}
        elif kind == 4 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
            holder[key] = rng.choice([value for value in VALUES if isinstance(value, (int, float))])
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return data


def _collect(data: Any, places: list[tuple[Any, Any]], depth: int = 0) -> None:
    if depth > 20:
        return
    entries: Callable[[], Any] = lambda: data.items() if isinstance(data, dict) else enumerate(data)  # noqa: E731
    if isinstance(data, (dict, list)):
        for key, value in entries():
            places.append((data, key))
            _collect(value, places, depth + 1)
