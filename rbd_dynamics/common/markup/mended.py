# SPDX-License-Identifier: Apache-2.0
"""XML that tinyxml2 (ROS, Gazebo, MuJoCo) reads and a strict parser does not, written as that one takes it.

One pass from the left, in which nothing is looked at twice: its time is linear in the length of the text. Lines stay
where they are.
"""

from __future__ import annotations

import re

MOST_PREFIXES = 50
NOT_IN_XML = "\N{REPLACEMENT CHARACTER}"  # in place of a character that XML cannot have
_PROLOGUE = re.compile(r"<\?xml\b[^>]*?\?>", re.IGNORECASE)
_TAG = re.compile(r"<((?:[^\W\d]|[:_])[\w:.-]*)")
_ATTRIBUTE = re.compile(r"(\s*)((?:[^\W\d]|[:_])[\w:.-]*)(\s*=\s*)(\"[^\"]*\"|'[^']*')")
_TAG_END = re.compile(r"\s*/?>")
_END_TAG = re.compile(r"</([^\s<>/]+)((?:[\s/][^<>]*)?)>")
_PREFIXED = re.compile(r"((?:[^\W\d]|_)[\w.-]*):(?:[^\W\d]|_)[\w.-]*")
_BARE = re.compile(r"&(?!(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);)")
_NUMBERED = re.compile(r"&#(?:(\d+)|x([0-9A-Fa-f]+));")
_DECLARES = re.compile(r"<!ENTITY|<!ATTLIST|%", re.IGNORECASE)
_QUOTED_OR_END = re.compile(r"\"[^\"]*\"|'[^']*'|[\[>]")
_SUBSET_END = re.compile(r"\]\s*>")
_OUTSIDE_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BUT_LINE_ENDS = re.compile(r"[^\n]+")


class Unreadable(Exception):
    """A text that is not read here, either."""


class Mended:
    """text: for a strict parser, which may still refuse it; oddities: why it is not as it came. Raises Unreadable."""

    def __init__(self, text: str) -> None:
        self._said: dict[str, None] = {}  # in this order
        self._parts: list[str] = []
        self._root = -1  # place in the parts, after the name of the root element
        self._used: dict[str, None] = {}  # prefixes
        self._declared, self._declared_in_root = {"xml", "xmlns"}, {"xml", "xmlns"}
        if _PROLOGUE.match(text.lstrip()) and text[0].isspace():
            self._say("white space before <?xml")
        text, null, _ = text.partition("\0")
        if null:
            self._say("a null character, where it ends")
        done = 0
        while (start := text.find("<", done)) >= 0:
            self._add_text(text[done:start])
            done = self._add_markup(text, start)
        self._add_text(text[done:])
        self._add_prefixes()
        self.text = "".join(self._parts)

    @property
    def oddities(self) -> tuple[str, ...]:
        return tuple(self._said)

    def _say(self, oddity: str) -> None:
        self._said[oddity] = None

    def _add_text(self, text: str) -> None:
        if "]]>" in text:
            self._say("]]> outside of CDATA")
            text = text.replace("]]>", "]]&gt;")
        self._parts.append(self._clean(text))

    def _add_markup(self, text: str, start: int) -> int:
        """What begins there. Returns the place after it."""
        begin = text[start : start + 9].upper()
        if begin.startswith("<!--"):
            end = _after(text, "-->", start + 4)
            self._add_comment(text[start:end])
        elif begin == "<![CDATA[":
            end = _after(text, "]]>", start + 9)
            self._parts.append(self._with_characters_of_xml(text[start:end]))
        elif begin == "<!DOCTYPE":
            end = _after_document_type(text, start)
            if _DECLARES.search(text, start, end):
                raise Unreadable
            self._say("a document type")
            self._parts.append(_line_ends(text[start:end]))
        elif begin.startswith("<?"):
            end = _after(text, "?>", start + 2)
            found = text[start:end]
            is_prologue = self._root < 0 and _PROLOGUE.match(found)  # its encoding is that of the bytes
            self._parts.append(_line_ends(found) if is_prologue else found)
        elif begin.startswith("</"):
            end = self._add_end_tag(text, start)
        else:
            end = self._add_tag(text, start)
        return end

    def _add_comment(self, comment: str) -> None:
        if "--" in comment[4:-2]:
            self._say("a comment with -- in it")
            comment = _line_ends(comment)
        self._parts.append(self._with_characters_of_xml(comment))

    def _add_end_tag(self, text: str, start: int) -> int:
        tag = _END_TAG.match(text, start)
        if tag is None:
            raise Unreadable
        if tag[2].strip():
            self._say("an end tag with more than a name")
        self._parts.append(f"</{self._name(tag[1])}{_line_ends(tag[2])}>")
        return tag.end()

    def _add_tag(self, text: str, start: int) -> int:
        tag = _TAG.match(text, start)
        if tag is None:
            raise Unreadable
        self._parts.append(f"<{self._name(tag[1])}")
        is_root = self._root < 0
        if is_root:
            self._root = len(self._parts)
        done = tag.end()
        while found := _ATTRIBUTE.match(text, done):
            space, name, equals, quoted = found.groups()
            if not space:
                self._say("no white space between attributes")
            if name.startswith("xmlns:"):
                self._declared.add(name[6:])
                if is_root:
                    self._declared_in_root.add(name[6:])
            self._parts.append(f"{space or ' '}{self._name(name)}{equals}{self._value(name, quoted)}")
            done = found.end()
        end = _TAG_END.match(text, done)
        if end is None:
            raise Unreadable
        self._parts.append(end[0])
        return end.end()

    def _value(self, name: str, quoted: str) -> str:
        value, quote = quoted[1:-1], quoted[0]
        if not value and name.startswith("xmlns:"):
            self._say("an xmlns that is empty")
            value = _undeclared(name[6:])
        if "<" in value:
            self._say("a < in an attribute")
            value = value.replace("<", "&lt;")
        return f"{quote}{self._clean(value)}{quote}"

    def _name(self, name: str) -> str:
        if ":" not in name:
            return name
        prefixed = _PREFIXED.fullmatch(name)
        if prefixed is None:
            self._say("names with colons that end no prefix")
            return name.replace(":", "_")
        if prefixed[1] != "xmlns":
            self._used[prefixed[1]] = None
        return name

    def _clean(self, text: str) -> str:
        """The text with &amp; for each & that begins no reference, and with characters that XML has."""
        if "&" in text:
            text, count = _BARE.subn("&amp;", text)
            if count:
                self._say("a bare &")
            text = _NUMBERED.sub(self._numbered, text)
        return self._with_characters_of_xml(text)

    def _numbered(self, found: re.Match[str]) -> str:
        code = int(found[1]) if found[1] else int(found[2], 16)
        if 0 < code < 0x110000 and not _OUTSIDE_XML.match(chr(code)):
            return found[0]
        self._say("a bare &")
        return f"&amp;{found[0][1:]}"

    def _with_characters_of_xml(self, text: str) -> str:
        clean, count = _OUTSIDE_XML.subn(NOT_IN_XML, text)
        if count:
            self._say("control characters")
        return clean

    def _add_prefixes(self) -> None:
        """Every prefix declared, in the first tag."""
        missing = [prefix for prefix in self._used if prefix not in self._declared_in_root]
        if len(missing) > MOST_PREFIXES:
            raise Unreadable
        unknown = [prefix for prefix in missing if prefix not in self._declared]
        if unknown:
            self._say(f"{'a prefix' if len(unknown) == 1 else 'prefixes'} without xmlns: {', '.join(unknown)}")
        self._parts[self._root : self._root] = [f' xmlns:{prefix}="{_undeclared(prefix)}"' for prefix in missing]


def _undeclared(prefix: str) -> str:
    return f"undeclared:{prefix}"


def _after(text: str, closing: str, start: int) -> int:
    """The place after the first `closing` from `start` on. Raises Unreadable."""
    found = text.find(closing, start)
    if found < 0:
        raise Unreadable
    return found + len(closing)


def _after_document_type(text: str, start: int) -> int:
    place = start
    while found := _QUOTED_OR_END.search(text, place):
        if found[0] == ">":
            return found.end()
        if found[0] == "[":
            closed = _SUBSET_END.search(text, found.end())
            if closed is None:
                break
            return closed.end()
        place = found.end()
    raise Unreadable


def _line_ends(text: str) -> str:
    return _BUT_LINE_ENDS.sub("", text)
