# SPDX-License-Identifier: Apache-2.0
"""A small file for each row of a format's table: documents that have everything, without the one thing.

What is in `test/formats/row_files` is small documents that together have every element and attribute of the tables.
`written` makes of them a file for each row: the document without what the row is of.
"""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from helpers.paths import ROOT
from rbd_dynamics.common.markup.vocabulary import Row, Vocabulary
from rbd_dynamics.common.markup.xml_text import parsed
from rbd_dynamics.formats.mjcf_vocabulary import MJCF
from rbd_dynamics.formats.sdf_vocabulary import SDF
from rbd_dynamics.model.urdf_reading.vocabulary import URDF

FILES = ROOT / "test" / "formats" / "row_files"
FORMATS: dict[str, Vocabulary] = {"urdf": URDF, "sdf": SDF, "mjcf": MJCF}


class Key(NamedTuple):
    """One element, or one attribute, of a row that names several."""

    row: Row
    tag: str  # empty for an attribute that several elements of the row may have
    attribute: str

    def __str__(self) -> str:
        return f"{self.row.element} {self.tag} {self.attribute}"


def keys(format_: str) -> set[Key]:
    """All of a table."""
    found = set()
    for row in FORMATS[format_].rows:
        for tag in row.element.split("/")[-1].split("|"):
            for name in row.attribute.split("|"):
                found.add(Key(row, tag_in(format_, row, tag, name), name))
    return found


def tag_in(format_: str, row: Row, tag: str, attribute: str) -> str:
    """MuJoCo compiles MJCF: which elements have which attributes, and what is in a file of a part, is its business."""
    return "" if format_ == "mjcf" and (attribute or "/" not in row.element) else tag


def document(path: Path) -> ET.Element:
    return parsed(path.read_bytes()).root


def documents(format_: str) -> list[Path]:
    return sorted(path for path in (FILES / format_).iterdir() if path.suffix != ".obj")


@cache
def places(path: Path, format_: str) -> dict[Key, list[tuple[int, str]]]:
    """Where a document has what a key is of: number of the element, in order, and attribute as it is written."""
    vocabulary, root = FORMATS[format_], document(path)
    own = root.tag[: root.tag.find("}") + 1]
    numbers = {element: k for k, element in enumerate(root.iter())}
    found: dict[Key, list[tuple[int, str]]] = defaultdict(list)
    waiting: list[tuple[ET.Element, tuple[str, ...]]] = [(root, (vocabulary.name(root.tag.removeprefix(own)),))]
    for element, at in waiting:
        row = vocabulary.row(at) or vocabulary.open_row(at)
        if row is None:
            continue
        tag = at[-1] if at[-1] in row.element.split("/")[-1].split("|") else row.element.split("/")[-1]
        found[Key(row, tag_in(format_, row, tag, ""), "")].append((numbers[element], ""))
        if row.use in ("used", "converted"):
            for name in element.attrib:
                inner = vocabulary.row(at, vocabulary.name(name))
                if inner is not None:
                    key = Key(inner, tag_in(format_, inner, at[-1], name), vocabulary.name(name))
                    found[key].append((numbers[element], name))
            waiting += [(child, (*at, vocabulary.name(child.tag.removeprefix(own)))) for child in element]
    return dict(found)


def without(path: Path, gone: Sequence[tuple[int, str]]) -> ET.Element:
    """The document without these elements and attributes."""
    root = document(path)
    elements = list(root.iter())
    above = {child: element for element in elements for child in element}
    for number, attribute in gone:
        if attribute:
            del elements[number].attrib[attribute]
        elif elements[number] in above:
            above[elements[number]].remove(elements[number])
    return root


def cases(format_: str) -> Iterator[tuple[Key, Path, list[tuple[int, str]]]]:
    """Each key with a document that has it, and where; the root element is in all."""
    for path in documents(format_):
        for key, where in places(path, format_).items():
            if where != [(0, "")]:
                yield key, path, where


def written(folder: Path, formats: Iterable[str] = tuple(FORMATS)) -> dict[Path, Key]:
    """Write a file for each row into folders of the formats. Returns what each file is without."""
    found: dict[Path, Key] = {}
    for format_ in formats:
        seen = set()
        shutil.copytree(FILES / format_, folder / format_)
        for key, path, where in cases(format_):
            if key not in seen:
                seen.add(key)
                file = folder / format_ / f"{path.stem}_without_{len(found)}{path.suffix}"
                ET.ElementTree(without(path, where)).write(file)
                found[file] = key
    return found
