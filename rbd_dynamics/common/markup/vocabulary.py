# SPDX-License-Identifier: Apache-2.0
"""What a format's elements and attributes are called, what its reader makes of each, and what a file has besides.

A format has one table, a `Vocabulary` of `Row`s: its reader reports what it leaves out by it (`remarks`), and
its page in the documentation is written from it (`markdown`).
"""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple
from xml.parsers import expat

from rbd_dynamics.common.excerpt import LONGEST, close_names, shortened
from rbd_dynamics.common.markup.xml_text import BEFORE_XML, HasDoctype, parsed

#: used: as the format says. converted: as something else that does the same. left out: acts on how the robot moves, and
#: not here; a defect. aside: shows, senses or commands, has no bearing on the dynamics; a note.
Use = Literal["used", "converted", "left out", "aside"]
Path = tuple[str, ...]
#: paths of elements that are remembered from one file to the next
MOST_SORTS = 5_000


class Row(NamedTuple):
    """An element, or an attribute of one.

    element: the path to it, from as far up as is needed to tell it from others of its name: "inertial/mass" is a <mass>
        in any <inertial>. `a|b/c` is a <c> in an <a> or a <b>. Of several rows that fit, the longest counts. One name
        alone is the root; with an attribute, any element of that name. A prefix is one of `Vocabulary.prefixes`. `*` is
        whatever else an element may have in it.
    attribute: its name, empty for the element itself; `a|b` is either.
    since, until: the first version of the format that has it, and the last one.
    neutral: texts with which it changes nothing, so that there is nothing to say; numbers count by value.

    What is in an element that is left out or aside is not looked at.
    """

    element: str
    attribute: str = ""
    use: Use = "used"
    since: str = ""
    note: str = ""
    until: str = ""
    neutral: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """Everything that a format specifies.

    prefixes: {prefix in the table: part of the namespace's URI}. gated: a reader passes over what is newer than the
    version that a file says it has.
    """

    format: str
    rows: Sequence[Row]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    gated: bool = False

    def row(self, path: Path, attribute: str = "") -> Row | None:
        """The row of the element at a path of tags from the root on, or of its attribute."""
        for start in range(max(0, len(path) - self._deepest), len(path)):
            found = self._index.get((path[start:], attribute))
            if found is not None and (attribute or start == 0 or len(path) - start > 1):
                return found
        return None

    def open_row(self, path: Path) -> Row | None:
        """The row of whatever else may be in an element: `*` in the table, or `drake:*` for a prefix."""
        prefix, colon, _ = path[-1].rpartition(":")
        return self.row((*path[:-1], f"{prefix}{colon}*"))

    def children(self, path: Path) -> list[str]:
        """Names of the elements that may be in the one at that path."""
        within = [known for known, attribute in self._index if not attribute and len(known) > 1]
        return sorted({known[-1] for known in within if _ends_with(path, known[:-1]) and "*" not in known[-1]})

    def attributes(self, path: Path) -> list[str]:
        """Names of the attributes that the element at that path may have."""
        return sorted({name for known, name in self._index if name and _ends_with(path, known)})

    def parents(self, tag: str) -> list[str]:
        """Names of the elements that may have that one in them."""
        return sorted({known[-2] for known, name in self._index if not name and known[-1] == tag and known[1:]})

    def name(self, tag: str) -> str:
        """A tag or attribute as the table writes it; of a namespace that it does not know, with `other:`."""
        uri, _, local = tag.rpartition("}")
        if not uri:
            return local
        return f"{next((prefix for prefix, part in self.prefixes.items() if part in uri), 'other')}:{local}"

    def sort(self, version: str, own: str, name: str) -> _Sort:
        """What files of that version and namespace, whose root has that name, have told so far of their elements."""
        if len(self._seen) > MOST_SORTS:  # a file may have any elements
            self._sorts.clear()
            self._seen.clear()
        return self._sorts.setdefault((version, own, name), _Sort((name,), self._seen))

    @cached_property
    def _sorts(self) -> dict[tuple[str, str, str], _Sort]:
        return {}

    @cached_property
    def _seen(self) -> list[None]:
        return []  # one for each path, and each set of attributes, that is remembered

    @cached_property
    def _index(self) -> dict[tuple[Path, str], Row]:
        found: dict[tuple[Path, str], Row] = {}
        for row in self.rows:
            paths = itertools.product(*(part.split("|") for part in row.element.split("/")))
            for path, name in itertools.product(paths, row.attribute.split("|")):
                if (path, name) in found:
                    raise ValueError(f"{self.format}: {'/'.join(path)} {name} has two rows")
                found[path, name] = row
        return found

    @cached_property
    def _deepest(self) -> int:
        return max(len(path) for path, _ in self._index)


@dataclass(frozen=True)
class Remark:
    """Something that a file has and the reader does not use, wherever the file has it.

    use: "unknown" is what the format does not know; the others as in `Use`.
    name: `<tag>`, or `attribute of <tag>`.
    places: the path of each, as in `model[arm]/link[hand]/inertial`; lines: the line of each, where they are known.
    """

    use: Literal["unknown", "left out", "aside"]
    name: str
    message: str
    hint: str
    places: tuple[str, ...]
    lines: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """All lines, or all paths, but for what is aside: there the first."""
        first, times = self.places[0], len(self.places)
        if self.use == "aside" and times > 1:
            return f"{f'line {self.lines[0]}, ' if self.lines else ''}{first} (the first of {times})"
        if not self.lines:
            return ", ".join(self.places)
        numbers = ", ".join(map(str, self.lines))
        return f"line {numbers}, {first}" if times == 1 else f"lines {numbers} (the first: {first})"


def remarks(
    root: ET.Element,
    vocabulary: Vocabulary,
    *,
    content: str | bytes | None = None,
    version: str = "",
    but: Collection[ET.Element] = (),
) -> list[Remark]:
    """What a parsed file has and its reader does not use, each kind of it once, in the order of the file.

    Parameters:
        root: as it was parsed, with nothing added or removed.
        content: the text that it was parsed from: then the remarks have lines.
        version: of the format, that the file says it has: what is gone since is unknown to it.
        but: elements that are not looked at, with what is in them.
    """
    return unused(root, vocabulary, version=version, but=but).remarks(content)


def unused(root: ET.Element, vocabulary: Vocabulary, *, version: str = "", but: Collection[ET.Element] = ()) -> Unused:
    """The elements that `remarks` tells of, in a fraction of the time: their paths and lines are found later."""
    own = root.tag[: root.tag.find("}") + 1]  # a namespace that all of the file is in
    known: dict[tuple[Path, str], _Kind] = {}

    def kind_of(path: Path, attribute: str, text: str) -> _Kind:
        kind = known.get((path, attribute))
        if kind is None:
            kind = _Kind.of(vocabulary, path, attribute, text, version)
            if not kind.depends_on_text:
                known[path, attribute] = kind
        return kind

    def is_used(kind: _Kind, element: ET.Element) -> bool:
        if kind.use != "used":
            found[kind].append(element)
        return kind.use == "used"

    found: dict[_Kind, list[ET.Element]] = defaultdict(list)
    waiting = [(vocabulary.sort(version, own, vocabulary.name(root.tag.removeprefix(own))), [root])]
    for sort, elements in waiting:  # grows meanwhile
        if sort.kind is None:
            kind = kind_of(sort.path, "", elements[0].text or "")
            sort.kind = None if kind.depends_on_text else kind
        if sort.kind is None:
            used = [element for element in elements if is_used(kind_of(sort.path, "", element.text or ""), element)]
        elif sort.kind.use == "used":
            used = elements
        else:
            found[sort.kind] += elements
            continue
        for keys in {tuple(element.attrib) for element in used}.difference(sort.used):
            always = True
            for element in used:
                for key, value in element.attrib.items() if tuple(element.attrib) == keys else ():
                    kind = kind_of(sort.path, vocabulary.name(key), value)
                    always = is_used(kind, element) and always and not kind.depends_on_text
            if always:
                sort.add_used(keys)
        inside: dict[str, list[ET.Element]] = defaultdict(list)
        for element in used:
            for child in element:
                inside[child.tag].append(child)
        for tag, children in inside.items():
            looked_at = [child for child in children if child not in but] if but else children
            if looked_at:
                waiting.append((sort.inside.get(tag) or sort.inner(tag, vocabulary, own), looked_at))
    return Unused(root, vocabulary, found)


class Unused(NamedTuple):
    """What a file has and its reader does not use: elements, or such with an attribute, by what they are."""

    root: ET.Element
    vocabulary: Vocabulary
    found: Mapping[_Kind, Sequence[ET.Element]]

    @property
    def is_aside(self) -> bool:
        """Whether nothing of it acts on how the robot moves."""
        return all(kind.use == "aside" for kind in self.found)

    def remarks(self, content: str | bytes | None = None) -> list[Remark]:
        """Each kind of it once, in the order of the file; with lines where the text that was parsed is given."""
        if not self.found:
            return []
        order = {element: k for k, element in enumerate(self.root.iter())}
        above = {child: element for element in order for child in element}
        lines = [] if content is None else _lines(content)
        told: list[tuple[int, int, Remark]] = []
        for kind, elements in self.found.items():
            assert kind.use != "used"
            places = sorted(elements, key=order.__getitem__)
            remark = Remark(
                kind.use,
                kind.name,
                *kind.said(self.vocabulary),
                tuple(self._path(place, above) for place in places),
                tuple(lines[order[place]] for place in places) if lines else (),
            )
            names = [self.vocabulary.name(key) for key in places[0].attrib]
            told.append((order[places[0]], names.index(kind.attribute) if kind.attribute else -1, remark))
        return [remark for *_, remark in sorted(told, key=lambda each: each[:2])]

    def _path(self, element: ET.Element, above: Mapping[ET.Element, ET.Element]) -> str:
        own = self.root.tag[: self.root.tag.find("}") + 1]
        parts: list[str] = []
        place: ET.Element | None = element
        while place is not None:
            name = place.get("name", "")
            tag = self.vocabulary.name(place.tag.removeprefix(own))
            parts.append(tag + f"[{shortened(name, LONGEST)}]" * bool(name))
            place = above.get(place)
        return "/".join(reversed(parts))


class _Sort:
    """Elements at one path: what they are, where that does not depend on their text, and what may be in them.

    used: names of attributes, together, that are all used whatever their values are.
    """

    def __init__(self, path: Path, seen: list[None]) -> None:
        self.path = path
        self.kind: _Kind | None = None
        self.used: set[tuple[str, ...]] = set()
        self.inside: dict[str, _Sort] = {}
        self._seen = seen
        seen.append(None)

    def add_used(self, keys: tuple[str, ...]) -> None:
        self.used.add(keys)
        self._seen.append(None)

    def inner(self, tag: str, vocabulary: Vocabulary, own: str) -> _Sort:
        """The sort of an element in one of this sort, from now on in `inside`. own: the namespace of the file."""
        path = (*self.path, vocabulary.name(tag.removeprefix(own)))
        found = self.inside[tag] = _Sort(path, self._seen)
        return found


def markdown(vocabulary: Vocabulary) -> str:
    """The table as Markdown; attributes of an element that come one after the other with the same use are one line."""
    lines = ["| element | attribute | since | is | |", "|---|---|---|---|---|"]
    for (row, _), several in itertools.groupby(
        vocabulary.rows, key=lambda row: (row._replace(attribute="", neutral=()), bool(row.attribute))
    ):
        names = [name for each in several for name in each.attribute.split("|") if name]
        attributes = ", ".join(f"`{name}`" for name in names)
        versions = f"{row.since} to {row.until}" if row.until else row.since
        parts = [", ".join(f"`{name}`" for name in part.split("|")) for part in row.element.split("/")]
        element = " in ".join(reversed(parts))
        lines.append(f"| {element} | {attributes} | {versions} | {row.use} | {row.note} |")
    return "\n".join(lines)


_SAYS = {"left out": "is left out", "aside": "has no bearing on the dynamics, it is left out"}


class _Kind(NamedTuple):
    """One kind of thing that a file has."""

    use: Literal["used", "unknown", "left out", "aside"]
    path: Path  # no longer than it takes to tell one kind from another
    attribute: str
    row: Row | None

    @classmethod
    def of(cls, vocabulary: Vocabulary, path: Path, attribute: str, text: str, version: str) -> _Kind:
        row = vocabulary.row(path, attribute)
        if row is None and not attribute and not _suggestion(vocabulary, path, ""):
            row = vocabulary.open_row(path)
        if row is None:
            foreign = (attribute or path[-1]).startswith("other:")
            return cls("aside" if foreign else "unknown", path[-3:], attribute, None)
        if row.until and version and _number(version) > _number(row.until):
            return cls("unknown", path[-1:], attribute, row)
        if vocabulary.gated and row.since and _number(version or "0") < _number(row.since):
            return cls("unknown", path[-1:], attribute, row)
        if row.use in ("used", "converted") or any(_is_same(text, other) for other in row.neutral):
            return cls("used", path[-1:], attribute, row)
        return cls("aside" if row.use == "aside" else "left out", path[-1:], attribute, row)

    @property
    def depends_on_text(self) -> bool:
        """Whether another text would make another kind of it."""
        return self.row is not None and bool(self.row.neutral)

    @property
    def name(self) -> str:
        return f"{self.attribute!r} of <{self.path[-1]}>" if self.attribute else f"<{self.path[-1]}>"

    def said(self, vocabulary: Vocabulary) -> tuple[str, str]:
        """Message and hint."""
        if self.use != "unknown":
            return _SAYS[self.use], "" if self.row is None else self.row.note
        if self.row is not None and self.row.until:
            return f"is not in {vocabulary.format} after {self.row.until}, it is left out", ""
        if self.row is not None:
            since = self.row.since
            return f"is in {vocabulary.format} from version {since} on, it is left out", f'say version="{since}"'
        inside = f" in <{self.path[-2]}>" if len(self.path) > 1 and not self.attribute else ""
        return f"is unknown to {vocabulary.format}{inside}, it is left out", _suggestion(
            vocabulary, self.path, self.attribute
        )


def _suggestion(vocabulary: Vocabulary, path: Path, attribute: str) -> str:
    wanted = attribute or path[-1]
    known = vocabulary.attributes(path) if attribute else vocabulary.children(path[:-1])
    near = close_names(wanted, known)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if attribute:
        return f"it is an element in <{path[-1]}>" if attribute in vocabulary.children(path) else ""
    elsewhere = vocabulary.parents(wanted)
    return f"it belongs in {' or '.join(f'<{tag}>' for tag in elsewhere[:3])}" if elsewhere else ""


def _number(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]


def _is_same(text: str, neutral: str) -> bool:
    words, others = text.split(), neutral.split()
    return len(words) == len(others) and all(
        word.lower() == other.lower() or _value(word) == _value(other) for word, other in zip(words, others)
    )


def _value(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


def _ends_with(path: Path, end: Path) -> bool:
    return len(end) <= len(path) and path[len(path) - len(end) :] == end


def _lines(content: str | bytes) -> list[int]:
    """The line that each element begins on, in the order of the text; none where it cannot be told."""
    try:
        return _starts(content)
    except (expat.ExpatError, ValueError):
        pass
    try:  # of what only tinyxml2 reads
        return _starts(parsed(content).content)
    except (HasDoctype, ET.ParseError, expat.ExpatError, ValueError, LookupError):
        return []


def _starts(content: str | bytes) -> list[int]:
    clean = content.lstrip(BEFORE_XML) if isinstance(content, str) else content
    above = content[: len(content) - len(clean)].count("\n") if isinstance(content, str) else 0
    parser = expat.ParserCreate("utf-8" if isinstance(clean, str) else None)
    found: list[int] = []
    parser.StartElementHandler = lambda *_: found.append(above + parser.CurrentLineNumber)
    parser.Parse(clean, True)
    return found
