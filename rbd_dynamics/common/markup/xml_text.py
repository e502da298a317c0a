# SPDX-License-Identifier: Apache-2.0
"""Text to a tree of XML: safely, and once more where a strict parser refuses what tinyxml2 (ROS, Gazebo, MuJoCo) reads.

A document type that declares something is never read: entities can grow a text without bound and fetch files, and
attributes can come out of it that nobody wrote.
"""

from __future__ import annotations

import codecs
import re
import xml.etree.ElementTree as ET
from typing import NamedTuple
from xml.parsers import expat

from rbd_dynamics.common.markup.mended import Mended, Unreadable

#: what a text may have before its first tag
BEFORE_XML = "\ufeff \t\r\n"
#: characters; a longer text is read strictly only
LONGEST_MENDED = 8 * 2**20
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_DOCTYPE = "<!DOCTYPE"
_HIGH = re.compile(rb"[\x80-\xff]+")


class HasDoctype(Exception):
    """A text has a document type."""


class Parsed(NamedTuple):
    """root, and the text that it is of, which a strict parser takes; oddities: why the text is not as it came."""

    root: ET.Element
    content: str | bytes
    oddities: tuple[str, ...] = ()


def parsed(text: str | bytes) -> Parsed:
    """Raises HasDoctype, ET.ParseError, ValueError or LookupError of the strict reading, where neither succeeds."""
    clean = text.lstrip(BEFORE_XML) if isinstance(text, str) else text
    try:
        return Parsed(_strictly(clean), text)
    except (HasDoctype, ET.ParseError, ValueError, LookupError):
        if len(text) > LONGEST_MENDED:
            raise
        found = _mended(text)
        if found is None:
            raise
        return found


def is_strict(text: str) -> bool:
    """Whether a strict parser takes it, in a quarter of the time that a tree takes."""
    try:
        expat.ParserCreate().Parse(text.lstrip(BEFORE_XML), True)
    except (expat.ExpatError, ValueError):
        return False
    return True


class _Builder(ET.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise HasDoctype(
            "it has a document type (<!DOCTYPE>)"
        )  # it comes out at the end of the text; until then expat (2.4.1) bounds what entities grow to


def _strictly(text: str | bytes) -> ET.Element:
    if _may_have_doctype(text):
        return ET.fromstring(text, ET.XMLParser(target=_Builder()))
    return ET.fromstring(text)  # in three quarters of the time: nothing of its builder is in Python


def _may_have_doctype(text: str | bytes) -> bool:
    """Whether it has the word, or bytes in an encoding in which the word could look otherwise."""
    if isinstance(text, str):
        return _DOCTYPE in text
    if _DOCTYPE.encode() in text or b"\0" in text:
        return True
    declaration = text.removeprefix(codecs.BOM_UTF8).partition(b"?>")[0]
    if not declaration.startswith(b"<?xml") or b"encoding" not in declaration:
        return False
    encoding = _ENCODING.match(declaration)
    return encoding is None or encoding[1].lower() != b"utf-8"


def _mended(text: str | bytes) -> Parsed | None:
    """The second reading; None where that does not succeed."""
    encoding = ""
    if isinstance(text, bytes):
        text, encoding = decoded(text)
    taken = (f"bytes that are not UTF-8, taken for {encoding}",) if encoding else ()
    try:
        found = Mended(text.removeprefix("\ufeff"))
        return Parsed(_strictly(found.text.lstrip(BEFORE_XML)), found.text, (*taken, *found.oddities))
    except (Unreadable, HasDoctype, ET.ParseError, ValueError, LookupError):
        return None


def decoded(content: bytes) -> tuple[str, str]:
    """The text of bytes, and the encoding that they are taken for, empty for UTF-8 and for one that they declare.

    Chinese (GB 18030) is told from Latin-1 by bytes above 127.
    """
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return content.decode("utf-16", errors="replace"), ""
    for codec in ("utf-8-sig", *(name.decode() for name in _ENCODING.findall(content[:1000]))):
        try:
            return content.decode(codec), ""
        except (UnicodeError, LookupError):
            pass
    if _may_be_chinese(content):
        try:
            return content.decode("gb18030"), "GB 18030"
        except UnicodeError:
            pass
    return content.decode("latin-1"), "Latin-1"


def _may_be_chinese(content: bytes) -> bool:
    """Whether bytes above 127 come in pairs, and most of these are punctuation or a common character of GB 2312.

    Two accented letters of Latin-1 in a row, as in "Größe", are hardly ever such a pair.
    """
    runs = _HIGH.findall(content)
    if any(len(run) % 2 for run in runs):
        return False
    first = [byte for run in runs for byte in run[::2]]
    return 2 * sum(0xA1 <= byte <= 0xA9 or 0xB0 <= byte <= 0xD7 for byte in first) > len(first)
