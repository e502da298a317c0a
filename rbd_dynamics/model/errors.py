# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a description: findings, and the error that carries them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

from rbd_dynamics.common.excerpt import excerpt, listed, shortened

Severity = Literal["error", "warning", "note"]
#: of a body whose inertia no rigid body has, by far: refused, or computed with as it stands
Inertias = Literal["checked", "as_given"]
_TAKEN = 'or take it as it is: inertias="as_given", --given-inertias, the parameter given_inertias of nodes'
_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or looks wrong, with a robot description.

    `element` names the culprit, as in "joint 'elbow'"; `hint` says what to do about it. A defect is
    wrong, but leaves a usable robot: an error when strict, else a warning.
    """

    severity: Severity
    element: str
    message: str
    _: KW_ONLY
    hint: str = ""
    defect: bool = False

    def __str__(self) -> str:
        text = f"{self.element}: {self.message}"
        return shortened(f"{text} ({self.hint})" if self.hint else text)


class ModelError(ValueError):
    """A description, or a change to a model, that cannot be turned into a robot.

    The message names the first culprit; `findings` has all of them.
    """

    def __init__(self, findings: Sequence[Finding] | str) -> None:
        self.findings: tuple[Finding, ...] = () if isinstance(findings, str) else tuple(findings)
        super().__init__(shortened(findings if isinstance(findings, str) else _first_of(self.findings)))


class ModelWarning(UserWarning):
    """A robot that loads although something about it is wrong; `findings` has all that the reader found."""

    findings: tuple[Finding, ...] = ()


class Findings(list[Finding]):
    """A list of findings with a short way to add one.

    strict: defects count as errors. inertias: "as_given": an inertia that no rigid body has is none. Raises ModelError
    for another word.
    """

    def __init__(self, strict: bool = False, inertias: Inertias = "checked") -> None:
        super().__init__()
        if inertias not in ("checked", "as_given"):
            raise ModelError(f"inertias {excerpt(inertias)} is neither 'checked' nor 'as_given'")
        self.strict, self.inertias = strict, inertias
        self._given: list[str] = []
        self._later: list[Callable[[], None]] = []

    def later(self, add: Callable[[], None]) -> None:
        """Have `add` called, which adds notes, as soon as somebody asks for all findings."""
        self._later.append(add)

    def all_told(self) -> Findings:
        """These, with what was put off."""
        while self._later:
            self._later.pop(0)()
        return self

    def error(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("error", element, message, hint=hint))

    def defect(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("error" if self.strict else "warning", element, message, hint=hint, defect=True))

    def impossible(self, element: str, message: str) -> None:
        """An inertia that no rigid body has, and by far: an error, or a warning where inertias count as given."""
        if self.inertias == "checked":
            self.error(element, message, f"check its numbers, {_TAKEN}")
        else:
            self.warning(element, message, "it counts as it is given")
            self._given.append(element)

    def told_of_given(self) -> None:
        """One more, that `load` warns of even when strict: all whose inertias count as given."""
        if self._given:
            names = list(dict.fromkeys(self._given))
            message = (
                "has an inertia that no rigid body has, which counts as given"
                if len(names) == 1
                else "have inertias that no rigid body has, which count as given"
            )
            self.append(Finding("warning", listed(names), message, defect=True))
            self._given.clear()

    def warning(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("warning", element, message, hint=hint))

    def note(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("note", element, message, hint=hint))

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self if finding.severity == "error"]

    def in_order(self, strict: bool = False) -> list[Finding]:
        """Errors first, which defects are too if strict, then warnings, then notes."""
        told = self.all_told()
        found = [replace(finding, severity="error") if strict and finding.defect else finding for finding in told]
        return sorted(found, key=lambda finding: _ORDER[finding.severity])

    def raise_errors(self) -> None:
        """Raise ModelError if there is an error among them."""
        errors = self.errors
        if errors:
            raise ModelError(errors)

    def warn_of_defects(self, stacklevel: int = 3) -> None:
        """One ModelWarning if there is a defect among them, at the caller `stacklevel` calls up."""
        defects = [finding for finding in self if finding.defect]
        if defects:
            warning = ModelWarning(_first_of(defects))
            warning.findings = tuple(self.all_told())
            warnings.warn(warning, stacklevel=stacklevel)


def _first_of(findings: Sequence[Finding]) -> str:
    more = len(findings) - 1
    return str(findings[0]) + (f" [and {more} more, see `rbd_dynamics check`]" if more else "")
