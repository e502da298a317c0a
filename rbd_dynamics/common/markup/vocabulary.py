# SPDX-License-Identifier: Apache-2.0
"""What a format's elements and attributes are called, and what its reader makes of each.

A format has one table, a `Vocabulary` of `Row`s: its reader reports what it leaves out by it (`unused.remarks`), and
its page in the documentation is written from it (`markdown`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from rbd_dynamics.common.excerpt import close_names

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

    def sort(self, version: str, own: str, name: str) -> Sort:
        """What files of that version and namespace, whose root has that name, have told so far of their elements."""
        if len(self._seen) > MOST_SORTS:  # a file may have any elements
            self._sorts.clear()
            self._seen.clear()
        return self._sorts.setdefault((version, own, name), Sort((name,), self._seen))

    @cached_property
    def _sorts(self) -> dict[tuple[str, str, str], Sort]:
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


class Sort:
    """Elements at one path: what they are, where that does not depend on their text, and what may be in them.

    unused: of names of attributes, together, those kinds that are not used, where values do not matter.
    """

    def __init__(self, path: Path, seen: list[None]) -> None:
        self.path = path
        self.kind: Kind | None = None
        self.unused: dict[tuple[str, ...], tuple[Kind, ...]] = {}
        self.inside: dict[str, Sort] = {}
        self._seen = seen
        seen.append(None)

    def remember(self, keys: tuple[str, ...], kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
        """Have `kinds` for these names from now on."""
        self.unused[keys] = kinds
        self._seen.append(None)
        return kinds

    def inner(self, tag: str, vocabulary: Vocabulary, own: str) -> Sort:
        """The sort of an element in one of this sort, from now on in `inside`. own: the namespace of the file."""
        path = (*self.path, vocabulary.name(tag.removeprefix(own)))
        found = self.inside[tag] = Sort(path, self._seen)
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


class Kind(NamedTuple):
    """One kind of thing that a file has."""

    use: Literal["used", "unknown", "left out", "aside"]
    path: Path  # no longer than it takes to tell one kind from another
    attribute: str
    row: Row | None

    @classmethod
    def of(cls, vocabulary: Vocabulary, path: Path, attribute: str, text: str, version: str) -> Kind:
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
