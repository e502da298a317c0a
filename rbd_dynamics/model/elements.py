# SPDX-License-Identifier: Apache-2.0
"""XML elements of a robot description: parsed with the place of every fault, numbers checked."""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.model.errors import Findings
from rbd_dynamics.spatial.so3 import Vec3

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_XACRO = re.compile(r"<\s*xacro:|\$\{|\$\(")


def parse_robot(source: str | os.PathLike[str], findings: Findings) -> ET.Element | None:
    """The robot element, or None with a finding."""
    where = "robot description"
    text: str | bytes
    if isinstance(source, str) and not source.strip("\ufeff \t\r\n"):
        findings.error(where, "is empty")
        return None
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        text = source.lstrip("\ufeff \t\r\n")
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
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError, LookupError) as error:
        position = getattr(error, "position", None)
        reason = str(error).split(":")[0]
        at = f" at line {position[0]}, column {position[1] + 1}" if position else ""
        plain = text if isinstance(text, str) else text.decode(errors="replace")
        hint = "run xacro on it first" if _XACRO.search(plain) else ""
        findings.error(where, f"is not well-formed XML: {reason}{at}", hint)
        return None
    if local_tag(root) != "robot":
        findings.error(where, f"has <{local_tag(root)}> as its root element, expected <robot>")
        return None
    if any(element.tag.partition("}")[0].endswith("/xacro") for element in root.iter()):
        findings.error(where, "contains xacro elements", "run xacro on it first")
        return None
    return root


def local_tag(element: ET.Element) -> str:
    """Tag without its namespace."""
    return element.tag.rpartition("}")[2]


def child_of(element: ET.Element, tag: str, where: str, findings: Findings) -> ET.Element | None:
    """The first child of that tag; more than one is worth a warning."""
    found = [child for child in element if local_tag(child) == tag]
    if len(found) > 1:
        findings.warning(where, f"has {len(found)} <{tag}> elements", "the first counts")
    return found[0] if found else None


@dataclass(frozen=True)
class Reader:
    """Reads the attributes of one element; `where` names the link or joint in findings."""

    element: ET.Element
    where: str
    findings: Findings

    def number(self, attribute: str, default: float | None = None, infinite: bool = False) -> float:
        """A number; without a default a missing attribute is an error, and then NaN is returned."""
        return self._numbers(attribute, 1, None if default is None else (default,), infinite)[0]

    def vector(self, attribute: str, default: Vec3 | None = None) -> Vec3:
        x, y, z = self._numbers(attribute, 3, default, infinite=False)
        return x, y, z

    def name(self, attribute: str) -> str:
        text = self.element.get(attribute)
        if not text:
            self._error(f"has no {attribute!r}" if text is None else f"has an empty {attribute!r}")
            return ""
        return text if self._expanded(attribute, text) else ""

    def _numbers(
        self, attribute: str, count: int, default: tuple[float, ...] | None, infinite: bool
    ) -> tuple[float, ...]:
        unknown = (math.nan,) * count
        text = self.element.get(attribute)
        if text is None:
            if default is None:
                self._error(f"has no {attribute!r}")
            return unknown if default is None else default
        if not self._expanded(attribute, text):
            return unknown
        words = text.split()
        plural = "a number" if count == 1 else f"{count} numbers"
        if len(words) != count:
            self._error(f"{attribute}={text!r} is not {plural}")
            return unknown
        for word in words:
            if not (_NUMBER.fullmatch(word) or (infinite and _INFINITE.fullmatch(word))):
                self._error(f"{attribute}={text!r} is not {plural if infinite or count > 1 else 'a finite number'}")
                return unknown
        values = tuple(float(word) for word in words)
        if not infinite and not all(map(math.isfinite, values)):
            self._error(f"{attribute}={text!r} is not finite")
            return unknown
        return values

    def _expanded(self, attribute: str, text: str) -> bool:
        leftover = "${" in text or "$(" in text
        if leftover:
            self._error(f"{attribute}={text!r} has not been expanded", "run xacro on it first")
        return not leftover

    def _error(self, message: str, hint: str = "") -> None:
        self.findings.error(self.where, f"<{local_tag(self.element)}> {message}", hint)
