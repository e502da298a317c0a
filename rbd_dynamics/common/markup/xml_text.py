# SPDX-License-Identifier: Apache-2.0
"""Text to a tree of XML: safely, and once more where a strict parser refuses what tinyxml2 (ROS, Gazebo, MuJoCo) reads.

A document type that declares something is never read: entities can grow a text without bound and fetch files, and
attributes can come out of it that nobody wrote.
"""

from __future__ import annotations

import codecs
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat

#: what a text may have before its first tag
BEFORE_XML = "\ufeff \t\r\n"
#: characters; a longer text is read strictly only
LONGEST_MENDED = 8 * 2**20
MOST_PREFIXES = 50
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*?\?>")
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_DOCTYPE = "<!DOCTYPE"
_SPECIAL = re.compile(r"<!--|<!\[CDATA\[|<!DOCTYPE", re.IGNORECASE)
_HIGH = re.compile(rb"[\x80-\xff]+")
_ROOT = re.compile(r"<([A-Za-z_][^\s/>]*)")
_PREFIX = re.compile(r"(?:</?|\s)([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*(?=[\s=/>])")
_BARE = re.compile(r"&(?!#\d{1,9};|#x[0-9A-Fa-f]{1,8};|[A-Za-z_][\w.-]{0,60};)")
_DECLARES = re.compile(r"<!ENTITY|<!ATTLIST|%", re.IGNORECASE)
_LINES = re.compile(r"[^\n]")


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
    """The second reading; None where that does not succeed. Lines stay where they are."""
    oddities: list[str] = []
    if isinstance(text, bytes):
        text, encoding = decoded(text)
        if encoding:
            oddities.append(f"bytes that are not UTF-8, taken for {encoding}")
    if text.startswith((" ", "\t", "\r", "\n")) and _DECLARATION.match(text):
        oddities.append("white space before <?xml")
    text = text.removeprefix("\ufeff")
    declaration = _DECLARATION.match(text)
    if declaration:
        text = _blank(declaration[0]) + text[declaration.end() :]
    try:
        text = _with_prefixes("".join(_without_specials(text, oddities)), oddities)
        return Parsed(_strictly(text.lstrip(BEFORE_XML)), text, tuple(dict.fromkeys(oddities)))
    except (HasDoctype, ET.ParseError, ValueError, LookupError):
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


def _without_specials(text: str, oddities: list[str]) -> Iterator[str]:
    """The text without comments that have -- in them or end in --->, without a document type that declares nothing, and
    with each bare & escaped."""
    done = 0
    while special := _SPECIAL.search(text, done):
        start, kind = special.start(), special[0].upper()
        yield _escaped(text[done:start], oddities)
        end = _end_of(text, start, kind)
        if end < 0:
            done = start
            break
        inside = text[start:end]
        if kind == "<!--" and "--" in inside[4:-2]:
            oddities.append("a comment with -- in it")
            inside = _blank(inside)
        elif kind == "<!DOCTYPE":
            if _DECLARES.search(inside):
                raise HasDoctype
            oddities.append("a document type")
            inside = _blank(inside)
        yield inside
        done = end
    yield _escaped(text[done:], oddities)


def _escaped(text: str, oddities: list[str]) -> str:
    """The text with &amp; for each & that begins no entity."""
    escaped, count = _BARE.subn("&amp;", text)
    if count:
        oddities.append("a bare &")
    return escaped


def _end_of(text: str, start: int, kind: str) -> int:
    """The place after a comment, CDATA or document type that begins at `start`; -1 where it has no end."""
    if kind != "<!DOCTYPE":
        closing = "-->" if kind == "<!--" else "]]>"
        found = text.find(closing, start + len(kind))
        return found + 3 if found >= 0 else -1
    end, subset = text.find(">", start), text.find("[", start)
    if 0 <= subset < end:
        closed = re.compile(r"\]\s*>").search(text, subset)
        return closed.end() if closed else -1
    return end + 1 if end >= 0 else -1


def _with_prefixes(text: str, oddities: list[str]) -> str:
    """The text with every prefix declared, in its first tag."""
    root = _ROOT.search(text)
    if root is None:
        return text
    head = text[root.start() : text.find(">", root.start()) + 1]
    declared = {*re.findall(r"xmlns:([\w.-]+)\s*=", head), "xml", "xmlns"}
    missing: dict[str, None] = {}
    for found in _PREFIX.finditer(text, root.start()):
        if found[1] not in declared:
            missing[found[1]] = None
            if len(missing) > MOST_PREFIXES:
                return text
    elsewhere = set(re.findall(r"xmlns:([\w.-]+)\s*=", text))
    unknown = [prefix for prefix in missing if prefix not in elsewhere]
    if unknown:
        oddities.append(f"{'a prefix' if len(unknown) == 1 else 'prefixes'} without xmlns: {', '.join(unknown)}")
    added = "".join(f' xmlns:{prefix}="undeclared:{prefix}"' for prefix in missing)
    return text[: root.end()] + added + text[root.end() :]


def _blank(text: str) -> str:
    """Its line ends."""
    return _LINES.sub("", text)
