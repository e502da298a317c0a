# SPDX-License-Identifier: Apache-2.0
"""One thing that was looked at, and what it is like."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

#: fine; could be better, which `advice` says; what should work does not
State = Literal["fine", "note", "broken"]


@dataclass(frozen=True)
class Looked:
    """name: what was looked at, value: what was found, advice: what another value would bring, and how to get it."""

    name: str
    value: str
    _: KW_ONLY
    state: State = "fine"
    advice: str = ""
