# SPDX-License-Identifier: Apache-2.0
"""Commands of README.md and docs/, as they are printed."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from helpers.paths import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


class Command(NamedTuple):
    """One of a block, with its line in the page, or a whole one of ours in a sentence."""

    page: str
    line: int
    text: str  # with its comment and continued lines
    words: list[str]
    in_block: bool


def fenced(language: str) -> Iterator[tuple[str, str]]:
    """(page, text) of each block of code in that language; "": without one, commands."""
    for page in PAGES:
        for found in re.finditer(r"^```(\w*)\n(.*?)\n```", page.read_text(), re.M | re.S):
            if found[1] == language:
                yield page.name, found[2]


def split_at(words: Iterable[str], mark: str) -> Iterator[list[str]]:
    for is_mark, group in itertools.groupby(words, lambda word: word == mark):
        if not is_mark:
            yield list(group)


def of_block(page: str, first: int, block: str) -> Iterator[Command]:
    """A file, or what a command prints, is none: its first word ends with a colon."""
    given, begin = "", first
    for line, text in enumerate(block.splitlines(), first):
        given += text + "\n"
        try:
            words = [] if text.endswith("\\") else shlex.split(given.replace("\\\n", " "), comments=True)
        except ValueError:  # a quotation that goes on
            continue
        if words:
            if words[0].endswith(":"):
                return
            yield Command(page, begin, given.strip(), words, True)
        if not text.endswith("\\"):
            given, begin = "", line + 1


def commands_of(page: str, text: str) -> Iterator[Command]:
    """In the order of the page."""
    for found in re.finditer(r"^```(\w*)\n(.*?)^```|`(rbd_dynamics [a-z-]+ [^`]*)`", text, re.M | re.S):
        line = text.count("\n", 0, found.start()) + 1
        if found[3] and not re.search(r"[A-Z]{3}|…|\.\.\.|\|", found[3]):
            yield Command(page, line, found[3], shlex.split(found[3]), False)
        elif found[2] is not None and not found[1]:
            yield from of_block(page, line + 1, found[2])


COMMANDS = [command for page in PAGES for command in commands_of(page.name, page.read_text())]
