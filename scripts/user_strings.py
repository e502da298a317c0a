#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print every string that a user of the package may read, with file and line: errors, warnings, logs, help, reports.

    python scripts/user_strings.py [FOLDER ...] [--docstrings]

Parts that are filled in stand in braces, as in the source. It is for reading them in one go before a release.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text_of(node: ast.expr) -> str | None:
    """The text of a string or an f-string, as it stands; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (
            part.value if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}"  # type: ignore[attr-defined]
            for part in node.values
        )
        return "".join(str(part) for part in parts)
    return None


def reads_as_words(text: str) -> bool:
    """Whether this is language: three plain words, and more of them than of anything else, as in generated code."""
    tokens = re.sub(r"\{[^{}]*\}", "", text).split()
    words = [token for token in tokens if re.fullmatch(r"[(\"'`]?[A-Za-z][a-z'-]*[)\"'`,.:;?]*", token)]
    return len(words) > 2 and 2 * len(words) > len(tokens)


def strings_of(tree: ast.Module, *, docstrings: bool) -> Iterator[tuple[int, str]]:
    """(line, text) of the strings in which there are words."""
    expressions = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings, mostly
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or id(node) in inner:
            continue
        if (id(node) in expressions) != docstrings:
            continue
        text = text_of(node)
        if text is not None and reads_as_words(text):
            yield node.lineno, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", default=["rbd_dynamics", "launch"], help="where to look")
    parser.add_argument("--docstrings", action="store_true", help="docstrings, in place of the other strings")
    args = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for folder in args.folders:
        path = ROOT / folder
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            found = sorted(strings_of(ast.parse(file.read_text()), docstrings=args.docstrings))
            for line, text in found:
                print(f"{file.relative_to(ROOT)}:{line}: {' '.join(text.split())}")


if __name__ == "__main__":
    main()
