# SPDX-License-Identifier: Apache-2.0
"""From a robot description to what a node works with, aside from the control loop."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Generic, TypeVar

from rbd_dynamics.model.excerpt import excerpt, shortened
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.nodes.interface.common import CommonParameters
from rbd_dynamics.nodes.parameters import per_name

P = TypeVar("P", bound=CommonParameters)
E = TypeVar("E")
#: called as progress(name of a kernel, its number, how many there are); raises BuildError where nobody waits any more
Progress = Callable[[str, int, int], None]

SWITCH_INTERVAL = 2e-4  # s: how long a build may keep a callback waiting


class BuildError(Exception):
    """A description that cannot be used; the message names the culprit."""


class Build(Generic[P, E]):
    """The work for one description: read it, make the node's engine. In this thread, or in one of its own."""

    def __init__(
        self,
        text: str,
        params: P,
        make: Callable[[Model, P, Progress], E],
        progress: Progress,
        warn: Callable[[str], None],
    ) -> None:
        self._text, self._params, self._make, self._log = text, params, make, progress
        self._warn = warn
        self._thread: threading.Thread | None = None
        self._made: E | BuildError | None = None
        self._abandoned = False
        self.done = False

    def start(self) -> None:
        """Begin in a thread; `done` says when `result` may be asked."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread = threading.Thread(target=self._work, name="build", daemon=True)
        self._thread.start()

    def run(self) -> E:
        """Do it here and now. Raises BuildError."""
        self._work()
        return self.result()

    def result(self) -> E:
        """The engine, once it is `done`. Raises BuildError."""
        assert self._made is not None
        if isinstance(self._made, BuildError):
            raise self._made
        return self._made

    def abandon(self) -> None:
        """Nobody wants it any more: stop before the next kernel."""
        self._abandoned = True
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        try:
            try:
                model = read_model(self._text, self._params, self._warn)
            except (ValueError, KeyError, ArithmeticError) as error:
                raise BuildError(f"robot_description: {message_of(error)}") from None
            self._made = self._make(model, self._params, self._progress)
        except BuildError as error:
            self._made = error
        except (ValueError, KeyError, ArithmeticError) as error:
            self._made = BuildError(message_of(error))
        except Exception as error:  # whatever it is, the node lives on
            self._made = BuildError(f"{type(error).__name__}: {error}")
        finally:
            self.done = True

    def _progress(self, name: str, number: int, total: int) -> None:
        if self._abandoned:
            raise BuildError("abandoned")
        self._log(name, number, total)


def read_model(text: str, params: CommonParameters, warn: Callable[[str], None]) -> Model:
    """The model of a description, with the node's parameters applied; warnings go to `warn`. Raises ValueError."""
    locked = per_name("parameter 'locked_positions'", params.locked_joints, params.locked_positions)
    x, y, z = params.gravity
    check_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: warn(str(message))
        model = load_urdf(text, base=params.root, gravity=(x, y, z), locked=locked or None)
    if not model.joints:
        raise ValueError(f"robot {excerpt(model.name)} has no joint that moves: there is nothing to compute")
    return model


def check_text(text: str, what: str = "") -> None:
    """What can be told of a description at once. Raises ValueError; its text begins with `what`."""
    if not text.strip():
        raise ValueError(f"{what}it is empty")
    if not text.lstrip().startswith("<"):
        begin = text.strip()[:40]
        path = "; is that a path? It has to be the content of the file" if text.strip().endswith(".urdf") else ""
        raise ValueError(f"{what}it is not XML; it begins with {begin!r}{path}")


def message_of(error: Exception) -> str:
    """The text of an exception, of a long one its begin and end; a KeyError's without the quotes around it."""
    return shortened(str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error))


class Prefix:
    """Names in messages are `prefix` + names in the description, unless all joints there have it already."""

    def __init__(self, prefix: str, model: Model) -> None:
        already = all(name.startswith(prefix) for name in model.joint_names)
        self._prefix = "" if already else prefix

    def outside(self, name: str) -> str:
        """Of a name in the description, the one in messages."""
        return self._prefix + name

    def inside(self, name: str) -> str:
        """Of a name in messages, the one in the description; a name without the prefix stays as it is."""
        return name.removeprefix(self._prefix)
