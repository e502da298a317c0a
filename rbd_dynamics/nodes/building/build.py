# SPDX-License-Identifier: Apache-2.0
"""The work for one description, aside from the control loop: read it, make the node's engine.

A process of its own does it first, which compiles what is not in the cache yet and can be ended at any time;
what is left for this process is to take the kernels from the cache.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from rbd_dynamics.compiler import cache
from rbd_dynamics.compiler.cached_only import NotCached, cached_only
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.building.build_process import BuildProcess, Work
from rbd_dynamics.nodes.managed.description_text import BuildError, P, Progress, built, engine_for
from rbd_dynamics.nodes.process.stopping import stop_requested

E = TypeVar("E")

SWITCH_INTERVAL = 2e-4  # s: how long a build may keep a callback waiting
LOOK_PERIOD = 0.05  # s: how soon a signal ends a build that is waited for

_said: set[str] = set()  # once per process


class Build(Generic[P, E]):
    """The way from a description to an engine, in a thread that waits for a process.

    Parameters:
        text: the description.
        params: of the node.
        make: a function that others can import; makes the engine of a model, its kernels compiled.
        progress, warn: called in the thread.
        in_use: a robot is being controlled: nothing but the last step is done in this process.
    """

    def __init__(
        self,
        text: str | bytes,
        params: P,
        make: Callable[[Model, P, Progress], E],
        progress: Progress,
        warn: Callable[[str], None],
        *,
        in_use: bool,
    ) -> None:
        self.text, self.params = text, params
        self._make, self._log, self._warn, self._in_use = make, progress, warn, in_use
        self._process: BuildProcess[P, E] | None = None
        self._thread = threading.Thread(target=self._run, name="build", daemon=True)
        self._finished = threading.Event()
        self._lock = threading.Lock()  # of the two below
        self._made: E | BuildError | None = None
        self._abandoned = False

    @property
    def done(self) -> bool:
        """`result` may be asked."""
        return self._finished.is_set()

    def start(self) -> None:
        """Begin in a thread."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def run(self) -> E:
        """Do it and wait for it. Raises BuildError, also where the process was asked to end."""
        self.start()
        while not self._finished.wait(LOOK_PERIOD):
            if stop_requested.is_set():
                self.abandon()
                raise BuildError("interrupted")
        return self.result()

    def result(self) -> E:
        """The engine, once it is `done`. Raises BuildError."""
        assert self._made is not None
        if isinstance(self._made, BuildError):
            raise self._made
        return self._made

    def cancel(self) -> None:
        """Nobody wants it any more: end the process, or stop before the next kernel. Does not wait for that."""
        with self._lock:
            self._abandoned = True
            if self._process is not None:
                self._process.end()

    def abandon(self) -> None:
        """The same, and wait until nothing of it runs any more."""
        self.cancel()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._made = self._engine()
        except BuildError as error:
            self._made = error
        except Exception as error:  # whatever it is, the node lives on
            self._made = BuildError(f"{type(error).__name__}: {error}")
        finally:
            self._finished.set()

    def _engine(self) -> E:
        most = self.params.largest_description
        if len(self.text) > most:
            raise BuildError(
                f"robot_description: it has {len(self.text)} bytes, more than parameter 'largest_description' ({most})"
            )
        work = Work.of(self.text, self.params, self._make)
        if work is None or not cache.keeps():
            self._say_that_it_is_here(work)
            return built(self.text, self.params, self._make, self._progress, self._warn)[1]
        if not self._in_use and work.was_done_before:
            doubts: list[str] = []
            try:
                with cached_only():
                    engine = built(self.text, self.params, self._make, self._go_on, doubts.append)[1]
            except NotCached:
                pass  # code or compiler have changed, or the cache was cleared
            else:
                for doubt in doubts:
                    self._warn(doubt)
                return engine
        process: BuildProcess[P, E] = BuildProcess(work, self._log, self._warn, in_use=self._in_use)
        with self._lock:
            self._process = process
        self._go_on()
        model = process.run()
        self._go_on()
        return engine_for(model, self.params, self._make, self._go_on)

    def _say_that_it_is_here(self, work: Work[P, E] | None) -> None:
        why = "kernels are not kept on disk" if work is not None else "the node's code cannot be imported by others"
        if why not in _said:
            _said.add(why)
            self._warn(f"{why}: descriptions are compiled in this process, which takes time from the torques")

    def _progress(self, name: str, number: int, total: int) -> None:
        self._go_on()
        self._log(name, number, total)

    def _go_on(self, name: str = "", number: int = 0, total: int = 0) -> None:
        """Raise BuildError where nobody waits any more."""
        if self._abandoned:
            raise BuildError("abandoned")
