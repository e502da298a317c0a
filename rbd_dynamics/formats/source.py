# SPDX-License-Identifier: Apache-2.0
"""What somebody calls a robot, a path, a text, a file that is open, a name, as text that knows where it is from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rbd_dynamics.common.example_robots import PACKAGE, robots
from rbd_dynamics.common.excerpt import close_names, excerpt, shortened
from rbd_dynamics.common.markup.xml_text import decoded
from rbd_dynamics.model.errors import ModelError

#: bytes of a description; the largest published ones have 2 MB
LONGEST = 64 * 2**20
_BLANK = "\ufeff \t\r\n"


@dataclass(frozen=True)
class Source:
    """A description. `where` names it in errors; `path` is its file, None for a text."""

    content: str | bytes
    where: str
    path: Path | None = None

    @property
    def is_xml(self) -> bool:
        begin = self.content[:1000]
        text = begin if isinstance(begin, str) else begin.decode("utf-8", errors="replace").replace("\0", "")
        return text.lstrip(_BLANK + "\ufffd").startswith("<")

    @property
    def folder(self) -> Path:
        """What relative paths in it start from."""
        return Path.cwd() if self.path is None else self.path.resolve().parent

    @property
    def text(self) -> str:
        """The text: XML in any encoding. Raises ModelError for other text that is not UTF-8."""
        if isinstance(self.content, str):
            return self.content
        if self.is_xml:
            return decoded(self.content)[0]
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModelError(f"{self.where} is not UTF-8: {error.reason} at byte {error.start}") from None


def read_source(source: Any) -> Source:
    """The description that a path, a text, bytes, a file object or the name of an example robot stands for.

    A text begins with "<" or has several lines. Raises ModelError.
    """
    if isinstance(source, str):
        if not source.strip(_BLANK):
            raise ModelError("robot description: is empty")
        if source.lstrip(_BLANK).startswith("<") or "\n" in source:
            return _checked(Source(source, "robot description"))
        if _is_there(source):
            return read_file(Path(source))
        if Path(source).suffix or len(Path(source).parts) > 1:
            raise ModelError(f"no such file: {shortened(source, 200)}")
        return read_file(_example_robot(source))
    if isinstance(source, os.PathLike):
        return read_file(Path(source))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _checked(Source(bytes(source), "robot description"))
    if hasattr(source, "read"):
        return _of_file_object(source)
    raise ModelError(f"{excerpt(source)} is not a robot: give a path, a text, bytes, an open file or a robot's name")


def read_file(path: Path) -> Source:
    """Raises ModelError."""
    where = f"file {shortened(str(path), 200)}"
    try:
        with open(path, "rb", buffering=0) as file:
            content = _all_of(file, os.fstat(file.fileno()).st_size)
    except (OSError, ValueError) as error:
        raise ModelError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return _checked(Source(content, where, path))


def _all_of(file: IO[bytes], expected: int) -> bytes:
    """What is in an unbuffered file of about that size, as far as `LONGEST` and one byte more.

    Memory for the longest is not asked for: to fetch it takes longer than to read an arm.
    """
    parts, left = [], LONGEST + 1
    while left and (part := file.read(min(left, max(expected + 1, 2**16)))):
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _of_file_object(source: Any) -> Source:
    name = getattr(source, "name", None)
    path = Path(name) if isinstance(name, str) and _is_there(name) else None
    where = "file object" if path is None else f"file {shortened(str(path), 200)}"
    try:
        content = source.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"{where} cannot be read: {error}") from None
    if not isinstance(content, (str, bytes)):
        raise ModelError(f"{where}: its read() gives {excerpt(content)}, neither a text nor bytes")
    return _checked(Source(content, where, path))


def _checked(source: Source) -> Source:
    if len(source.content) > LONGEST:
        raise ModelError(f"{source.where} is too long: more than {LONGEST} bytes")
    if not source.content.strip():
        raise ModelError(f"{source.where} is empty")
    return source


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _example_robot(name: str) -> Path:
    known = robots()
    plain = {other.lower(): path for other, path in known.items()}
    # ur5 is ur5_robot there, and ur3 a file without links beside ur3_robot
    for path in (plain.get(f"{name.lower()}_robot"), known.get(name), plain.get(name.lower())):
        if path is not None:
            return path
    if not known:
        raise ModelError(
            f"no such file: {shortened(name, 200)} (robots are known by name where {PACKAGE} is installed)"
        )
    short = [other.removesuffix("_robot") for other in known]  # as they are found, too
    near = (
        close_names(name, list(dict.fromkeys([*short, *known])))
        or [repr(other) for other in known if other.startswith(name[:2])][:3]
    )
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise ModelError(f"{excerpt(name)} is neither a file nor one of the {len(known)} robots of {PACKAGE}{hint}")
