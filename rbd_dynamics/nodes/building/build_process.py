# SPDX-License-Identifier: Apache-2.0
"""The process that reads a description and compiles for it, as its parent sees it.

It is ended with SIGKILL whenever nobody wants its result any more, and by the kernel when the parent is gone. Whatever
a description does to it, a crash of native code or the end of the memory, is an error of that description.

To it: a pickled request, and the text. From it: pickled messages, small enough that none keeps the parent's other
threads waiting: the model comes in parts.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, Generic, TypeVar

from rbd_dynamics import __version__
from rbd_dynamics.compiler import cache
from rbd_dynamics.model.model import Body, Frame, Model
from rbd_dynamics.nodes.managed.description_text import BuildError, P, Progress
from rbd_dynamics.nodes.process.child import started

E = TypeVar("E")

WORKER = "rbd_dynamics.nodes.building.build_worker"
PIECE = 1 << 16  # characters or bytes of the text, sent at a time
NICENESS = 5  # while a robot is being controlled
PART = 8  # bodies or frames in one message


@dataclass(frozen=True)
class Work(Generic[P, E]):
    """What is to be made of which text; the function by its name, under which others import it."""

    text: str | bytes
    params: P  # without the text
    module: str
    name: str

    @classmethod
    def of(cls, text: str | bytes, params: P, make: Callable[[Model, P, Progress], E]) -> Work[P, E] | None:
        """None where nobody else can import the function."""
        module = make.__module__
        if module == "__main__":
            spec = getattr(sys.modules[module], "__spec__", None)
            module = "" if spec is None else spec.name
        if not module or "<" in make.__qualname__:
            return None
        return cls(text, replace(params, robot_description=""), module, make.__qualname__)

    @property
    def pieces(self) -> Iterator[bytes]:
        """The text in UTF-8, so much of it at a time that other threads do not wait for it."""
        for start in range(0, len(self.text), PIECE):
            piece = self.text[start : start + PIECE]
            yield piece.encode("utf-8", "replace") if isinstance(piece, str) else piece

    @property
    def was_done_before(self) -> bool:
        """A process has read this text to the end, and kept the kernels."""
        return cache.load("description.known", self._key) is not None

    def note_that_it_is_done(self) -> None:
        cache.store("description.known", self._key, b"")

    @property
    def _key(self) -> str:
        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(piece)
        return "\0".join((__version__, self.module, self.name, repr(self.params), digest.hexdigest()))


class BuildProcess(Generic[P, E]):
    """Runs once, in the thread that calls `run`. in_use: while a robot is being controlled, to which it gives way."""

    def __init__(self, work: Work[P, E], progress: Progress, warn: Callable[[str], None], *, in_use: bool) -> None:
        self._work, self._progress, self._warn = work, progress, warn
        self._niceness = NICENESS if in_use else 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._ended = False

    def run(self) -> Model:
        """The model, all kernels for it being in the cache. Raises BuildError."""
        with self._lock:
            if self._ended:
                raise BuildError("abandoned")
            self._process = process = started(
                WORKER, os.getpid(), niceness=self._niceness, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert process.stdin is not None and process.stdout is not None
        try:
            try:
                self._send(process.stdin)
            except BrokenPipeError:
                pass  # its end says why
            replies = messages(process.stdout)
            for kind, *content in replies:
                if kind == "model":
                    return joined(content[0], replies)
                if kind == "failed":
                    raise BuildError(content[0])
                (self._progress if kind == "progress" else self._warn)(*content)
            process.wait()
        finally:
            self.end()
            process.wait()
            process.stdout.close()
        raise BuildError("abandoned" if self._ended_early(process) else _crash(process.returncode))

    def end(self) -> None:
        """End it at once, from whatever thread."""
        with self._lock:
            if self._process is None or self._process.poll() is None:
                self._ended = True
            if self._process is not None:
                self._process.kill()

    def _ended_early(self, process: subprocess.Popen[bytes]) -> bool:
        return self._ended and process.returncode == -signal.SIGKILL

    def _send(self, stream: IO[bytes]) -> None:
        work = self._work
        with stream:
            pickle.dump((work.module, work.name, work.params), stream)
            for piece in work.pieces:
                stream.write(piece)


def _crash(code: int) -> str:
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return (
        f"robot_description: the process that read it and compiled for it came to an end by {how}: "
        "it needs too much memory, or is made to do harm"
    )


# --- messages -------------------------------------------------------------------------------------


def messages(stream: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    """All that one Pickler writes, until the stream ends. What several of them share stays one object."""
    unpickler = pickle.Unpickler(stream)
    while True:
        try:
            yield unpickler.load()
        except (EOFError, pickle.UnpicklingError):  # the last one may be cut short
            return


def parts_of(model: Model) -> Iterator[tuple[Any, ...]]:
    """The messages that `joined` makes the model of again."""
    yield "model", replace(model, bodies=(), frames=())
    for name in ("bodies", "frames"):
        elements = getattr(model, name)
        for start in range(0, len(elements), PART):
            yield name, elements[start : start + PART]
    yield ("end",)


def joined(model: Model, parts: Iterator[tuple[Any, ...]]) -> Model:
    """The model of its first part and the rest. Raises BuildError where some are missing."""
    bodies: list[Body] = []
    frames: list[Frame] = []
    for kind, *content in parts:
        if kind == "end":
            return replace(model, bodies=tuple(bodies), frames=tuple(frames))
        (bodies if kind == "bodies" else frames).extend(content[0])
    raise BuildError("robot_description: the process that read it was cut short")
