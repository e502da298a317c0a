# SPDX-License-Identifier: Apache-2.0
"""What a question to a recording is: an option, something that takes the motion, an answer, and how it is told.

Nothing here or at the head of the questions' files imports more than the standard library: the command line is made
of them. What identifies is imported when a question is asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.signals.segmentation import Segment
    from rbd_dynamics.replay.study import Study
    from rbd_dynamics.replay.torques.comparison import Prediction

Found = Mapping[str, Any]  # an answer as plain data


class Terminal(Protocol):
    """The place where an answer is told as text."""

    def say(self, text: str, style: str = "") -> None: ...

    def tabulate(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None: ...


class Question:
    """One kind of question; a file each.

    Attributes:
        name: of the field of `Questions`, of the answer, and of its part of summary.json.
        is_late: whether it takes the motion in a second pass, when those of the first have answered.
        place: on the page: "residual" first, then those about the "model", then those about the "motion".
    """

    name = ""
    is_late = False
    place = "model"

    # --- asked ------------------------------------------------------------------------------------

    def add_option(self, add: Callable[..., Any]) -> None:
        """Add arguments of the command line; `add` as of argparse."""
        raise NotImplementedError

    def chosen(self, options: argparse.Namespace) -> dict[str, Any]:
        """Fields of `Questions` that these arguments set."""
        return {self.name: getattr(options, self.name)}

    def is_asked(self, questions: Any) -> bool:
        """Whether these `Questions` have it."""
        return bool(getattr(questions, self.name))

    # --- answered ---------------------------------------------------------------------------------

    def identifier(self, study: Study) -> Any:
        """What takes the motion (`add`) and gives the answer (`results`)."""
        raise NotImplementedError

    def feed(self, identifier: Any, segment: Segment, prediction: Prediction) -> NDArray[np.float64] | None:
        """Hand a segment over. Of the external torques what comes back is (N, nv)."""
        identifier.add(segment)
        return None

    def answer(self, identifier: Any, study: Study) -> Any:
        """The answer, a dataclass with `to_dict`; it may take the motion once more."""
        return identifier.results()

    def doubted(self, answer: Any, why: DiagnosisResult) -> Any:
        """The answer without what does not follow from signals that are wrong."""
        return answer

    # --- told -------------------------------------------------------------------------------------

    def complete(self, summary: dict[str, Any]) -> None:
        """Add to its part of a summary what depends on other parts."""

    def columns(self, found: Found | None) -> tuple[Sequence[str], Mapping[str, Sequence[str]]]:
        """Heads of columns of the terminal's table of joints, and {joint: its cells}."""
        return (), {}

    def tell(self, found: Found, to: Terminal) -> None:
        """Tell an answer on the terminal, below the table of joints."""

    def section(self, found: Found) -> str:
        """Its part of the page, as HTML."""
        return ""
