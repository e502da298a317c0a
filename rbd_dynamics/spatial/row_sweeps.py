# SPDX-License-Identifier: Apache-2.0
"""Linear steps on whole rows of matrices: what is left to do when all single numbers are known.

The same few steps on rows of some hundred numbers are long as a program of single operations and short as a loop over
rows, which fill vector registers besides. So an algorithm may end with such steps, and whoever runs it carries them out
as suits it: number by number (`finished`), or row by row (the compiler).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rbd_dynamics.spatial.scalar import Scalar

Term = tuple[Scalar, int]  # (coefficient, row)


def flat(matrix: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Row by row."""
    return [entry for row in matrix for entry in row]


def terms_of(terms: Iterable[Term]) -> list[Term]:
    """The terms, without those that are known to be zero."""
    return [(value, row) for value, row in terms if not (isinstance(value, float) and value == 0.0)]


class Step(NamedTuple):
    """A row becomes scale times itself plus, or less, a sum of (coefficient, other row)."""

    row: int
    scale: Scalar
    terms: list[Term]


class Sweep(NamedTuple):
    """Steps, one after the other, on the first `blocks` of the matrices that stand side by side.

    less: sums are taken away.
    """

    steps: list[Step]
    blocks: int
    less: bool = False


class Unfinished(NamedTuple):
    """Outputs of an algorithm, and sweeps after which they are what they should be.

    outputs: square matrices of one size, each flat, row by row: `beside` of them side by side, the next so many below.
    symmetric: a block that will be symmetric, whose part right of the diagonal depends on nothing else. more: lists
    after the outputs.
    """

    outputs: list[list[Scalar]]
    beside: int
    sweeps: list[Sweep]
    symmetric: int | None = None
    more: tuple[Sequence[Scalar], ...] = ()

    @property
    def width(self) -> int:
        """Width of one matrix."""
        return round(len(self.outputs[0]) ** 0.5)

    @property
    def work(self) -> int:
        """Multiplications of numbers in all sweeps."""
        return sum(self.width * sweep.blocks * (1 + len(step.terms)) for sweep in self.sweeps for step in sweep.steps)


def finished(results: Any) -> Any:
    """The lists that an algorithm gives, where something is left to do with rows: done number by number."""
    if not isinstance(results, Unfinished):
        return results
    width, beside = results.width, results.beside
    matrices = [[list(x[k : k + width]) for k in range(0, len(x), max(width, 1))] for x in results.outputs]
    for sweep in results.sweeps:
        for row, scale, terms in sweep.steps:
            group, target = divmod(row, width)
            for block in range(sweep.blocks):
                first = target if block == results.symmetric and group == 0 else 0
                new = [scale * value for value in matrices[group * beside + block][target]]
                for coefficient, other in terms:
                    source = matrices[other // width * beside + block][other % width]
                    for k in range(first, width):
                        product = coefficient * source[k]
                        new[k] = new[k] - product if sweep.less else new[k] + product
                matrices[group * beside + block][target] = new
    if results.symmetric is not None:
        matrix = matrices[results.symmetric]
        for i in range(width):
            matrix[i][:i] = [matrix[k][i] for k in range(i)]
    return [*map(flat, matrices), *results.more]
