# SPDX-License-Identifier: Apache-2.0
"""Which tests execute a line, and how long they take: from what `make coverage` has measured."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import coverage

from campaigns.mutation.faults import Fault


class Executions:
    """folders: each with `lines` and `times*.json`, as `scripts/coverage` writes them."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.seconds: dict[str, float] = {}
        self._contexts: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for folder in folders:
            for file in sorted(folder.glob("times*.json")):
                for test, seconds in json.loads(file.read_text()).items():
                    self.seconds[test] = max(seconds, self.seconds.get(test, 0.0))
            data = coverage.CoverageData(str(folder / "lines"))
            data.read()
            for path in data.measured_files():
                lines = self._contexts[path[path.rindex("rbd_dynamics/") :] if "/rbd_dynamics/" in path else path]
                for line, contexts in data.contexts_by_lineno(path).items():
                    lines[line].update(contexts)
        self._of_file: dict[str, list[str]] = defaultdict(list)
        for test in self.seconds:
            self._of_file[test.partition("::")[0]].append(test)

    def tests(self, fault: Fault) -> list[str]:
        """Those that execute the fault's line, fastest first, one of each test function before all others.

        Of a default and of what is executed at import alone, those of the function, then of the file.
        """
        lines = self._contexts.get(fault.file, {})
        wanted = range(fault.first, fault.last + 1) if fault.kind == "default" else (fault.line,)
        found = self._named(context for line in wanted for context in lines.get(line, ()))
        if not found and any(line in lines for line in wanted):  # at import
            found = self._named(context for contexts in lines.values() for context in contexts)
        return self._in_turn(found)

    def of_folder(self, folder: str) -> list[str]:
        """Those of a folder of tests, in the same order."""
        return self._in_turn({test for test in self.seconds if test.startswith(folder)})

    def _named(self, contexts: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for context in contexts:
            test, _, phase = context.rpartition(" ")
            if phase == "(call)":
                found.add(test)
            elif phase:  # a fixture's, which other tests of the file may use too
                found.update(self._of_file[test.partition("::")[0]])
        return {test for test in found if math.isfinite(self.seconds.get(test, math.inf))}

    def _in_turn(self, tests: set[str]) -> list[str]:
        turns: dict[str, int] = defaultdict(int)
        keys = {}
        for test in sorted((test for test in tests), key=lambda test: self.seconds[test]):
            function = test.partition("[")[0]
            keys[test] = (turns[function], self.seconds[test])
            turns[function] += 1
        return sorted(keys, key=lambda test: keys[test])
