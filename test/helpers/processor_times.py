# SPDX-License-Identifier: Apache-2.0
"""`pytest --processor-times`: what each file and each test function costs, with the processes that they start."""

from __future__ import annotations

import resource
from collections import Counter

import pytest

from helpers.nodes.warm_start import STARTER

NAME = "processor time"
SHOWN = 40
_begin = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-times", action="store_true", help="list the files and functions that cost most")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--processor-times"):
        config.pluginmanager.register(_Times())


def _spent() -> float:
    """Of this process and of those that it has started and that have ended, s."""
    own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own + STARTER.spent


class _Times:
    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._items: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[_begin] = _spent()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when == "teardown":
            item.user_properties.append((NAME, _spent() - item.stash[_begin]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":  # with pytest-xdist in the process that reports, too
            for key in (report.nodeid.partition("::")[0], report.nodeid.partition("[")[0]):
                self._seconds[key] += float(dict(report.user_properties).get(NAME, 0.0))
                self._items[key] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files = {key: seconds for key, seconds in self._seconds.items() if "::" not in key}
        terminalreporter.section(f"processor time: {sum(files.values()):.0f} s")
        for some in (files, self._seconds - Counter(files)):
            for key, seconds in Counter(some).most_common(SHOWN):
                terminalreporter.line(f"{seconds:8.1f} s {self._items[key]:5d} {key}")
