# SPDX-License-Identifier: Apache-2.0
"""YAML of others: read in bounded time and memory, or refused with the place of the fault.

What PyYAML offers for it is safe from foreign code, not from foreign sizes: its loader in C calls itself once for each
bracket until the stack is full, a few aliases of aliases stand for gigabytes, and a number in base 60 takes quadratic
time. So libyaml gives events one by one, which it does without recursion, and the limits are checked on these, before
anything is made of them.

Files hold texts, numbers, truth values, lists and dictionaries. Beyond plain YAML 1.1:

- A key is the text that is written, also where that looks like a number; one that is given twice is an error.
- Tags (`!!python/name:...`, `!!set`, `!mine`) are errors: nothing here needs them.
- Aliases are read; each counts as all that it stands for, and none may contain itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from rbd_dynamics.common.excerpt import excerpt, shortened


class YamlError(ValueError):
    """A text that is not read. The message names the file, line and column."""


@dataclass(frozen=True)
class Bounds:
    """What a text may have at most: bytes; values, keys and what aliases stand for included; lists in each other."""

    size: int
    values: int
    depth: int = 50


#: of what a service or an action takes, which has to answer soon
SMALL = Bounds(size=2**20, values=20_000)
#: of files: some thousand bodies, recordings in some ten thousand parts
LARGE = Bounds(size=16 * 2**20, values=400_000)
#: digits of a number: none that fits a float needs more, and long ones take quadratic time
LONGEST_NUMBER = 100
DIRECTIVES = 8  # %YAML and %TAG, which the scanner compares with one another


def read_file(path: str | os.PathLike[str], where: str, bounds: Bounds) -> Any:
    """What a YAML file holds; `where` names it in errors. Raises YamlError."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(bounds.size + 1)
        _check_size(len(content), where, bounds)
        text = content.decode("utf-8-sig")
    except YamlError:
        raise
    except (OSError, ValueError) as error:
        raise YamlError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return read_text(text, where, bounds)


def read_text(text: str, where: str, bounds: Bounds) -> Any:
    """What a YAML text holds: None where it is empty; `where` names it in errors. Raises YamlError."""
    _check_size(len(text), where, bounds)
    if text.count("\n%") >= DIRECTIVES:
        raise YamlError(f"{where} has too many directives (lines that begin with %)")
    loader = None
    try:
        _check_size(len(text.encode()), where, bounds)
        loader = _Loader(text, bounds)
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = shortened(str(error.problem or error.context), 300)
        raise YamlError(f"{where} is not well-formed YAML: {problem}{at}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(f"{where} is not well-formed YAML: {error.reason} at line {line}") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(f"{where} is not well-formed YAML: {shortened(str(error), 300)}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _check_size(size: int, where: str, bounds: Bounds) -> None:
    if size > bounds.size:
        raise YamlError(f"{where} is too long: more than {bounds.size} bytes")


if hasattr(yaml, "CSafeLoader"):

    class _Composed(Composer, yaml.CSafeLoader):  # type: ignore[misc]
        """Events by libyaml, and the composer in Python, which `_Loader` can stop."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            Composer.__init__(self)

else:  # PyYAML was built without libyaml
    _Composed = yaml.SafeLoader  # type: ignore[misc]


class _Loader(_Composed):
    """Goes only as deep and as far as the bounds."""

    def __init__(self, text: str, bounds: Bounds) -> None:
        super().__init__(text)
        self._bounds = bounds
        self._depth = 0
        self._values = 0
        self._worth: dict[int, int] = {}  # of each node with an anchor: how many values it stands for

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            worth = self._worth.get(id(node))
            if worth is None:
                raise _fault(f"alias {shortened(event.anchor, 60)!r} contains itself", event)
            self._count(worth, event)
            return node
        if event.tag is not None:
            raise _fault(f"tag {excerpt(event.tag)} is not taken", event)
        before = self._values
        self._count(1, event)
        self._depth += 1
        if self._depth > self._bounds.depth:
            raise _fault(f"more than {self._bounds.depth} lists and dictionaries inside each other", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
        if event.anchor is not None:
            self._worth[id(node)] = self._values - before
        return node

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > self._bounds.values:
            raise _fault(f"more than {self._bounds.values} values, those of aliases included", event)

    def construct_scalar(self, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode) and len(node.value) > LONGEST_NUMBER and node.tag != _TEXT:
            raise _fault(f"{excerpt(node.value)} is too long for a number", node)
        return super().construct_scalar(node)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError, TypeError) as error:  # a date that is none, a number that is too large
            raise _fault(f"{excerpt(node.value)} is not taken: {error}", node) from None

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        if not isinstance(node, yaml.MappingNode):
            raise _fault("expected a dictionary", node)
        self.flatten_mapping(node)  # entries of others first, which its own come after
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _fault("a key must be a text", key)
        if key.tag != _MERGE and key.value in seen:
            raise _fault(f"key {excerpt(key.value)} is given twice", key)
        seen.add(key.value)


_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


def _fault(problem: str, of: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=of.start_mark)
