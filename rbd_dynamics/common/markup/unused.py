# SPDX-License-Identifier: Apache-2.0
"""What a file has and its reader does not use, by the table of its format."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from xml.parsers import expat

from rbd_dynamics.common.excerpt import LONGEST, shortened
from rbd_dynamics.common.markup.vocabulary import Kind, Path, Sort, Vocabulary
from rbd_dynamics.common.markup.xml_text import BEFORE_XML, HasDoctype, parsed


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
    search = _Search(vocabulary, version)
    waiting = [(vocabulary.sort(version, own, vocabulary.name(root.tag.removeprefix(own))), [root])]
    for sort, elements in waiting:  # grows meanwhile
        used = search.used_of(sort, elements)
        inside: dict[str, list[ET.Element]] = defaultdict(list)
        with_names: dict[tuple[str, ...], list[ET.Element]] = defaultdict(list)
        for element in used:
            with_names[tuple(element.attrib)].append(element)
            for child in element:
                inside[child.tag].append(child)
        for names, those in with_names.items():
            if sort.unused.get(names) != ():
                search.note_attributes(sort, names, those)
        for tag, children in inside.items():
            looked_at = [child for child in children if child not in but] if but else children
            if looked_at:
                waiting.append((sort.inside.get(tag) or sort.inner(tag, vocabulary, own), looked_at))
    return Unused(root, vocabulary, search.found)


class _Search:
    """What has been found in a file that its reader does not use."""

    def __init__(self, vocabulary: Vocabulary, version: str) -> None:
        self.found: dict[Kind, list[ET.Element]] = defaultdict(list)
        self._vocabulary, self._version = vocabulary, version
        self._known: dict[tuple[Path, str], Kind] = {}

    def used_of(self, sort: Sort, elements: list[ET.Element]) -> list[ET.Element]:
        """Those of one sort that the reader uses; the others have been noted."""
        if sort.kind is None:
            kind = self._kind(sort.path, "", elements[0].text)
            sort.kind = None if kind.depends_on_text else kind
        if sort.kind is not None:
            return elements if self._note(sort.kind, elements) else []
        return [element for element in elements if self._note(self._kind(sort.path, "", element.text), [element])]

    def note_attributes(self, sort: Sort, names: tuple[str, ...], elements: list[ET.Element]) -> None:
        """Note what is not used of the attributes of elements of one sort, which have the same ones."""
        kinds = sort.unused.get(names)
        if kinds is None:
            first = [self._kind(sort.path, self._vocabulary.name(name), elements[0].get(name)) for name in names]
            if not any(kind.depends_on_text for kind in first):
                kinds = sort.remember(names, tuple(kind for kind in first if kind.use != "used"))
        if kinds is not None:
            for kind in kinds:
                self._note(kind, elements)
            return
        for element in elements:
            for name, text in element.attrib.items():
                self._note(self._kind(sort.path, self._vocabulary.name(name), text), [element])

    def _kind(self, path: Path, attribute: str, text: str | None) -> Kind:
        kind = self._known.get((path, attribute))
        if kind is None:
            kind = Kind.of(self._vocabulary, path, attribute, text or "", self._version)
            if not kind.depends_on_text:
                self._known[path, attribute] = kind
        return kind

    def _note(self, kind: Kind, elements: list[ET.Element]) -> bool:
        """Whether that kind is used; else these have been noted."""
        if kind.use != "used":
            self.found[kind] += elements
        return kind.use == "used"


class Unused(NamedTuple):
    """What a file has and its reader does not use: elements, or such with an attribute, by what they are."""

    root: ET.Element
    vocabulary: Vocabulary
    found: Mapping[Kind, Sequence[ET.Element]]

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
