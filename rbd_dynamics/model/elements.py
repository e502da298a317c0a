# SPDX-License-Identifier: Apache-2.0
"""XML elements of a robot description: safely parsed with the place of every fault, names and numbers checked."""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rbd_dynamics.common.excerpt import LONGEST, excerpt, listed, shortened
from rbd_dynamics.common.markup.unused import Remark
from rbd_dynamics.common.markup.xml_text import BEFORE_XML, HasDoctype, Parsed, parsed
from rbd_dynamics.model.errors import Findings

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_XACRO = re.compile(r"<\s*xacro:|\$\{|\$\(")


def parse_robot(source: str | os.PathLike[str], findings: Findings) -> tuple[ET.Element, str | bytes] | None:
    """The robot element of a URDF, a path or the XML text itself, and the text; None with a finding."""
    where = "robot description"
    text: str | bytes
    if isinstance(source, str) and not source.strip(BEFORE_XML):
        findings.error(where, "is empty")
        return None
    if isinstance(source, str) and source.lstrip(BEFORE_XML).startswith("<"):
        text = source
    else:
        shown = str(source) if len(str(source)) < 200 else f"{str(source)[:60]}..."
        where = f"file {shown}"
        try:
            text = Path(source).read_bytes()
        except (OSError, ValueError, TypeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            findings.error(where, f"cannot be read: {reason}", "give a path or the XML text itself")
            return None
        if not text.strip():
            findings.error(where, "is empty")
            return None
    found = parse_text(text, where, findings)
    if found is None:
        return None
    root = found.root
    if local_tag(root) != "robot":
        findings.error(where, f"has <{shortened(local_tag(root), LONGEST)}> as its root element, expected <robot>")
        return None
    return root, found.content


def parse_xml(text: str | bytes, where: str, findings: Findings) -> ET.Element | None:
    """The root element of a text, None with a finding; `where` names the text there."""
    found = parse_text(text, where, findings)
    return None if found is None else found.root


def parse_text(text: str | bytes, where: str, findings: Findings) -> Parsed | None:
    """The root element of a text, and the text as a strict parser takes it; None with a finding.

    What only tinyxml2 reads is a defect.
    """
    try:
        found = parsed(text)
    except HasDoctype:
        findings.error(where, "has a document type (<!DOCTYPE>), which may define entities", "leave it out")
    except (ET.ParseError, ValueError, LookupError) as error:
        position = getattr(error, "position", None)
        reason = str(error).split(":")[0]
        at = f" at line {position[0]}, column {position[1] + 1}" if position else ""
        plain = text if isinstance(text, str) else text.decode(errors="replace")
        hint = "run xacro on it first" if _XACRO.search(plain) else ""
        findings.error(where, f"is not well-formed XML: {reason}{at}", hint)
    else:
        if found.oddities:
            has = listed(found.oddities)
            findings.defect(where, f"has {has}: it is read as ROS, Gazebo and MuJoCo do", "strict readers refuse it")
        return found
    return None


def report(said: Sequence[Remark], findings: Findings, where: str = "") -> None:
    """Add a note for what is aside, a defect for the rest. where: the file, if it is not the one that is read."""
    for remark in said:
        add = findings.note if remark.use == "aside" else findings.defect
        add(f"{where}, {remark.where}" if where else remark.where, f"{remark.name} {remark.message}", remark.hint)


def is_xacro(root: ET.Element) -> bool:
    """Whether some element is one that xacro replaces."""
    return any("/xacro}" in tag for tag in {element.tag for element in root.iter()})


def local_tag(element: ET.Element) -> str:
    """Tag without its namespace."""
    tag: str = element.tag
    return tag if tag[0] != "{" else tag.rpartition("}")[2]


def first_child(element: ET.Element, tag: str) -> ET.Element | None:
    """The first child of that tag."""
    return next((child for child in element if local_tag(child) == tag), None)


def child_of(element: ET.Element, tag: str, where: str, findings: Findings) -> ET.Element | None:
    """The first child of that tag; more than one is worth a warning."""
    count = sum(local_tag(child) == tag for child in element)
    if count > 1:
        findings.warning(where, f"has {count} <{tag}> elements", "the first counts")
    return first_child(element, tag)


def name_of(element: ET.Element, attribute: str, where: str, findings: Findings) -> str:
    """The text of an attribute; empty with a finding where there is none, or one that xacro should have expanded."""
    text = element.get(attribute)
    return text if text and "$" not in text else Reader(element, where, findings).name(attribute)


@dataclass(frozen=True)
class Number:
    """What an attribute has to hold: so many numbers.

    default: what a missing one counts as; None: it must be there.
    infinite: "inf" is a number, too, and so is one that is too large for a float.
    """

    count: int = 1
    default: str | None = None
    infinite: bool = False

    def __str__(self) -> str:
        return "a number" if self.count == 1 else f"{self.count} numbers"


class Numbers:
    """Attributes of an element that hold numbers, read together.

    origin = Numbers(xyz=Number(3, "0 0 0"), rpy=Number(3, "0 0 0"))
    x, y, z, roll, pitch, yaw = Reader(element, where, findings).numbers(origin)
    """

    def __init__(self, **attributes: Number) -> None:
        self.attributes = attributes
        self._expected = [(key, number.default) for key, number in attributes.items()]
        self._counts = [number.count for number in attributes.values()]
        self._single = set(self._counts) == {1}

    def finite(self, element: ET.Element) -> list[float] | None:
        """They are so many finite numbers each, as nearly always, or None."""
        given = element.attrib
        texts = [given.get(key, default) for key, default in self._expected]
        try:
            line = " ".join(texts)  # type: ignore[arg-type]  # None is none
            if "_" in line or not line.isascii():  # which Python takes for numbers
                return None
            if self._single:
                found = list(map(float, texts))  # type: ignore[arg-type]
            else:
                words = [text.split() for text in texts]  # type: ignore[union-attr]
                if list(map(len, words)) != self._counts:
                    return None
                found = [float(word) for several in words for word in several]
        except (TypeError, ValueError):
            return None
        return found if math.isfinite(sum(found)) else None


class Reader(NamedTuple):
    """Checks the attributes of one element; `where` names the link or joint in findings."""

    element: ET.Element
    where: str
    findings: Findings

    def name(self, attribute: str) -> str:
        """A text that is not empty; empty with a finding where there is none."""
        text = self.element.get(attribute)
        if not text:
            self._error(f"has no {attribute!r}" if text is None else f"has an empty {attribute!r}")
            return ""
        return text if self._expanded(attribute, text) else ""

    def words(self, attribute: str, expected: Number) -> str:
        """The attribute's text, which `float` reads word by word, all nan if something is wrong with it."""
        text = self.element.get(attribute, expected.default)
        if text is None:
            self._error(f"has no {attribute!r}")
        elif self._expanded(attribute, text) and self._numbers(attribute, text, expected):
            return text
        return " ".join(["nan"] * expected.count)

    def number(self, attribute: str, expected: Number) -> float:
        return float(self.words(attribute, expected))

    def numbers(self, expected: Numbers) -> list[float]:
        """Those of several attributes, all nan of one that something is wrong with."""
        found = expected.finite(self.element)
        if found is not None:
            return found
        return [float(word) for key, number in expected.attributes.items() for word in self.words(key, number).split()]

    def _numbers(self, attribute: str, text: str, expected: Number) -> bool:
        words, infinite = text.split(), expected.infinite
        if len(words) != expected.count or not text.isascii():  # other spaces separate nothing for others
            fault = f"is not {expected}"
        elif not all(_NUMBER.fullmatch(word) or (infinite and _INFINITE.fullmatch(word)) for word in words):
            fault = f"is not {expected if infinite or expected.count > 1 else 'a finite number'}"
        elif not infinite and not all(math.isfinite(float(word)) for word in words):
            fault = "is not finite"
        else:
            return True
        self._error(f"{attribute}={excerpt(text)} {fault}")
        return False

    def _expanded(self, attribute: str, text: str) -> bool:
        leftover = "${" in text or "$(" in text
        if leftover:
            self._error(f"{attribute}={excerpt(text)} has not been expanded", "run xacro on it first")
        return not leftover

    def _error(self, message: str, hint: str = "") -> None:
        self.findings.error(self.where, f"<{local_tag(self.element)}> {message}", hint)
