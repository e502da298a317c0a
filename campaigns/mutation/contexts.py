# SPDX-License-Identifier: Apache-2.0
"""Plugin of pytest: coverage learns which test executes a line, a file how much time each test takes of a processor.

Processes that tests start say it themselves: what `scripts/coverage` writes takes pytest's own variable for them.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator

import coverage
import pytest

ENVIRONMENT_VARIABLE = "TEST_TIMES"  # the folder for them: times.json, and one of each process of pytest-xdist

_seconds: dict[str, float] = defaultdict(float)


def _used() -> float:
    """By this process and those that it started and saw end: on a busy machine other clocks say little."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _phase(item: pytest.Item, phase: str) -> None:
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(f"{item.nodeid} ({phase})")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    begin = _used()
    yield
    _seconds[item.nodeid] += _used() - begin


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    _phase(item, "setup")
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    _phase(item, "call")
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    _phase(item, "teardown")
    yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _seconds[report.nodeid] = float("inf")  # says nothing about faults


def pytest_sessionfinish() -> None:
    folder, worker = os.environ.get(ENVIRONMENT_VARIABLE), os.environ.get("PYTEST_XDIST_WORKER", "")
    if folder:
        with open(os.path.join(folder, f"times{worker}.json"), "w", encoding="utf-8") as stream:
            json.dump(_seconds, stream)
