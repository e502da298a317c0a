"""What is wrong with a description: findings, and the error that carries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or looks wrong, with a robot description.

    `element` names the culprit, as in "joint 'elbow'"; `hint` says what to do about it.
    """

    severity: Severity
    element: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.element}: {self.message}"
        return f"{text} ({self.hint})" if self.hint else text


class ModelError(ValueError):
    """A description, or a change to a model, that cannot be turned into a robot.

    The message names the first culprit; `findings` has all of them.
    """

    def __init__(self, findings: Sequence[Finding] | str) -> None:
        if isinstance(findings, str):
            self.findings: tuple[Finding, ...] = ()
            super().__init__(findings)
            return
        self.findings = tuple(findings)
        more = len(self.findings) - 1
        tail = f" [and {more} more: `rbd_dynamics check` lists all]" if more else ""
        super().__init__(f"{self.findings[0]}{tail}")


class Findings(list[Finding]):
    """A list of findings with a short way to add one."""

    def error(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("error", element, message, hint))

    def warning(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("warning", element, message, hint))

    def note(self, element: str, message: str, hint: str = "") -> None:
        self.append(Finding("note", element, message, hint))

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self if finding.severity == "error"]

    def raise_errors(self) -> None:
        """Raise ModelError if there is an error among them."""
        if self.errors:
            raise ModelError(self.errors)
