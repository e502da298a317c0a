# SPDX-License-Identifier: Apache-2.0
"""What `dynamics_server` knows by name, constraints or contacts, and what requests bring along, ready for use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from rbd_dynamics.nodes.managed.description_text import Prefix, Progress
from rbd_dynamics.robot import Robot

REMEMBERED = 100  # sets that requests have made


class Named(Protocol):
    """What a set is made of."""

    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=Named)
Set = TypeVar("Set")


class KnownSets(ABC, Generic[Item, Set]):
    """The items of a file, and sets that requests make of them and of their own, ready for use.

    Parameters:
        file: YAML; empty: there are none. Frames and joints may have the prefix, here and in requests.
        robot: what gets the kernels.

    Raises ValueError or KeyError for a file that cannot be used with the robot.
    """

    what: str  #: "constraints": what requests and parameters call them
    each_alone: bool  #: is each alone made ready, too?

    def __init__(self, file: str, robot: Robot, prefix: Prefix) -> None:
        self.robot, self._prefix = robot, prefix
        self._known: dict[str, Item] = {}
        self._compiled: set[str] = set()
        self._sets: dict[tuple[tuple[str, ...], str], Set] = {}
        if file:
            self._known = {item.name: item for item in self._of_file(file)}

    @abstractmethod
    def _of_file(self, file: str) -> list[Item]:
        """Checked against the robot."""

    @abstractmethod
    def _made(self, items: list[Item], text: str) -> Set:
        """The set of known items, and those of a YAML text."""

    @abstractmethod
    def _key(self, made: Set) -> str:
        """Sets of one key need the same kernels."""

    @abstractmethod
    def _compile(self, made: Set) -> None: ...

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._known)

    def compile(self, progress: Progress) -> None:
        """Make the kernels of the set of all of them, and of each one alone."""
        alone: list[tuple[str, ...]] = [(name,) for name in self.names] if self.each_alone else []
        choices = [(), *alone] if self.names else []
        for number, names in enumerate(choices):
            progress(f"{self.what} {', '.join(names or self.names)}", number, len(choices))
            self.make_ready(self.chosen(names, ""))

    def is_ready(self, made: Set) -> bool:
        """Whether no kernel has to be compiled for it."""
        return self._key(made) in self._compiled

    def make_ready(self, made: Set) -> None:
        """Compile what is missing."""
        self._compile(made)
        self._compiled.add(self._key(made))

    def chosen(self, names: tuple[str, ...], text: str) -> Set:
        """Those with these names, then those of a YAML text; with neither all that are known.

        Raises ValueError or KeyError that names what is wrong.
        """
        found = self._sets.get((names, text))
        if found is None:
            if len(self._sets) >= REMEMBERED:
                self._sets.clear()
            found = self._sets[names, text] = self._make(names, text)
        return found

    def _make(self, names: tuple[str, ...], text: str) -> Set:
        for name in names:
            if name not in self._known:
                there = ", ".join(self._known) or "none"
                raise ValueError(f"{self.what}: there is no {name!r}; the server knows {there}")
        if not text.strip() and not names:
            if not self._known:
                raise ValueError(f"no {self.what}: name some, give {self.what}_yaml, or set parameter {self.what}_file")
            names = self.names
        return self._made([self._known[name] for name in names], text)

    def inside(self, item: Any) -> Any:
        """The item with the description's names of frames and joints."""
        return item.renamed(self._prefix.inside)
