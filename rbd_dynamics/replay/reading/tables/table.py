# SPDX-License-Identifier: Apache-2.0
"""What a table of every format offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rbd_dynamics.replay.log import Log


class Chunk(NamedTuple):
    """Rows: a vector for each column that was asked for, of integers or floats; NaN where there is no number."""

    columns: list[np.ndarray]
    fraction: float  # of the table that has been read


class Table(Protocol):
    """An open table.

    Attributes:
        names: of its columns.
        named: whether they stand in the file; else they are 1, 2, ...
        form: what kind of table it is, in words.
    """

    names: list[str]
    named: bool
    form: str

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """All rows of some columns, about `size` at a time; may be asked again. Raises RecordingError.

        log: counts rows that are none.
        """
        ...
