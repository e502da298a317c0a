# SPDX-License-Identifier: Apache-2.0
"""How every command's --help is laid out."""

from __future__ import annotations

import argparse


class HelpFormatter(argparse.HelpFormatter):
    """Texts of one line are folded to the terminal's width; those of several, the examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return "".join(indent + line for line in text.splitlines(keepends=True))
