# SPDX-License-Identifier: Apache-2.0
"""Parameter files as rcl reads them, and what it does not say of them.

It takes a bare y or n for a truth value, which YAML libraries write for a name: `ros2 param dump` writes the direction
y of `hybrid_controller` so, and rcl then refuses the file. Of a file that has nothing for a node it says nothing.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import yaml

from rbd_dynamics.common.excerpt import listed

OPTION = "--params-file"
LARGEST = 1_000_000  # characters: a larger file is left to rcl as it is
AMBIGUOUS = ("y", "Y", "n", "N")


@contextmanager
def readable(arguments: Sequence[str], names: Collection[str]) -> Iterator[list[str]]:
    """The arguments, with copies in place of parameter files that rcl would take otherwise than they are meant.

    names: of the parameters that are texts. The copies are gone afterwards.
    """
    result = list(arguments)
    with tempfile.TemporaryDirectory(prefix="parameters_") as folder:
        for k in range(1, len(result)):
            if result[k - 1] == OPTION:
                text = _content(result[k])
                meant = quoted(text, names)
                if meant != text:
                    copy = os.path.join(folder, f"{k}_{os.path.basename(result[k])}")
                    with open(copy, "w", encoding="utf-8") as file:
                        file.write(meant)
                    result[k] = copy
        yield result


def quoted(text: str, names: Collection[str]) -> str:
    """YAML with quotes around each bare y or n that is an element of a list or the value of a name in `names`.

    What cannot be parsed stays as it is.
    """
    places = []
    around: list[str | None] = []  # of the collections that are open: a mapping's present key, None for a list
    is_key: list[bool] = []
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                around.pop()
                is_key.pop()
            elif isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent, yaml.CollectionStartEvent)):
                scalar = isinstance(event, yaml.ScalarEvent)
                if around and is_key[-1]:
                    around[-1] = event.value if scalar else ""
                    is_key[-1] = False
                elif around:
                    bare = scalar and event.style is None and event.value in AMBIGUOUS
                    place = event.start_mark.index
                    if bare and (around[-1] is None or around[-1] in names) and text[place] in AMBIGUOUS:
                        places.append(place)
                    is_key[-1] = around[-1] is not None
                if isinstance(event, yaml.CollectionStartEvent):
                    mapping = isinstance(event, yaml.MappingStartEvent)
                    around.append("" if mapping else None)
                    is_key.append(mapping)
    except yaml.YAMLError:
        return text
    for place in reversed(places):
        text = f'{text[:place]}"{text[place]}"{text[place + 1 :]}'
    return text


def of_others(arguments: Sequence[str], node: str) -> Iterator[str]:
    """A sentence for each parameter file without an entry for the node of that full name, which is silent in rcl."""
    for option, path in pairwise(arguments):
        if option != OPTION:
            continue
        entries = list(entries_of(_content(path)))
        if entries and not any(_pattern(entry).fullmatch(node) for entry in entries):
            short = node.rpartition("/")[2]
            yield (
                f"parameter file {path} has nothing for {node}, which runs on its defaults: its entries are for "
                f"{listed(entries)}; /**/{short} would be this node in any namespace"
            )


def entries_of(text: str) -> Iterator[str]:
    """Names of nodes that a file has parameters for, with name space and wildcards, as /left/feedforward."""

    def walk(value: object, path: str) -> Iterator[str]:
        if isinstance(value, dict):
            for key, below in value.items():
                if key == "ros__parameters":
                    yield path
                else:
                    yield from walk(below, f"{path}/{str(key).strip('/')}")

    try:
        yield from walk(yaml.safe_load(text), "")
    except (yaml.YAMLError, RecursionError):  # rcl says what is wrong with it
        return


def _pattern(entry: str) -> re.Pattern[str]:
    """What rcl takes an entry for: ** is any name space, * one part of it."""
    parts = {"**": "(?:/[^/]+)*", "*": "/[^/]+"}
    return re.compile("".join(parts.get(each, re.escape(f"/{each}")) for each in entry.split("/")[1:]))


def _content(path: str) -> str:
    """The text of a file, "" where rcl is to say what is wrong with it."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read(LARGEST + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= LARGEST else ""
