# SPDX-License-Identifier: Apache-2.0
"""XML elements of a robot description: safely parsed with the place of every fault, names and numbers checked."""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import Findings

#: what a text may have before its first tag
BEFORE_XML = "\ufeff \t\r\n"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_XACRO = re.compile(r"<\s*xacro:|\$\{|\$\(")


class _HasDoctype(Exception):
    pass


class _Builder(ET.TreeBuilder):
    """Stops at a document type: it can grow a text without bound, fetch files, and set attributes that nobody wrote."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise _HasDoctype  # it comes out at the end of the text; until then expat (2.4.1) bounds what entities grow to


def parse_robot(source: str | os.PathLike[str], findings: Findings) -> ET.Element | None:
    """The robot element of a URDF, a path or the XML text itself; None with a finding."""
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
    root = parse_xml(text, where, findings)
    if root is None:
        return None
    if local_tag(root) != "robot":
        findings.error(where, f"has <{local_tag(root)}> as its root element, expected <robot>")
        return None
    if is_xacro(root):
        findings.error(where, "contains xacro elements", "run xacro on it first")
        return None
    return root


def parse_xml(text: str | bytes, where: str, findings: Findings) -> ET.Element | None:
    """The root element of a text, None with a finding; `where` names the text there."""
    try:
        clean = text.lstrip(BEFORE_XML) if isinstance(text, str) else text
        return ET.fromstring(clean, ET.XMLParser(target=_Builder()))
    except _HasDoctype:
        findings.error(where, "has a document type (<!DOCTYPE>), which may define entities", "leave it out")
    except (ET.ParseError, ValueError, LookupError) as error:
        position = getattr(error, "position", None)
        reason = str(error).split(":")[0]
        at = f" at line {position[0]}, column {position[1] + 1}" if position else ""
        plain = text if isinstance(text, str) else text.decode(errors="replace")
        hint = "run xacro on it first" if _XACRO.search(plain) else ""
        findings.error(where, f"is not well-formed XML: {reason}{at}", hint)
    return None


def is_xacro(root: ET.Element) -> bool:
    """Whether some element is one that xacro replaces."""
    return any(element.tag.partition("}")[0].endswith("/xacro") for element in root.iter())


def local_tag(element: ET.Element) -> str:
    """Tag without its namespace."""
    return element.tag.rpartition("}")[2]


def first_child(element: ET.Element, tag: str) -> ET.Element | None:
    """The first child of that tag."""
    return next((child for child in element if local_tag(child) == tag), None)


def child_of(element: ET.Element, tag: str, where: str, findings: Findings) -> ET.Element | None:
    """The first child of that tag; more than one is worth a warning."""
    count = sum(local_tag(child) == tag for child in element)
    if count > 1:
        findings.warning(where, f"has {count} <{tag}> elements", "the first counts")
    return first_child(element, tag)


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


@dataclass(frozen=True)
class Reader:
    """Checks the attributes of one element; `where` names the link or joint in findings."""

    element: ET.Element
    where: str
    findings: Findings

    def name(self, attribute: str) -> str:
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

    def _numbers(self, attribute: str, text: str, expected: Number) -> bool:
        words, infinite = text.split(), expected.infinite
        if len(words) != expected.count:
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
