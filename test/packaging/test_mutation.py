# SPDX-License-Identifier: Apache-2.0
"""The campaign of faults makes them where it says, one at a time, and chooses tests by what they execute."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
from helpers.paths import ROOT

pytest.importorskip("coverage")

from campaigns.mutation.executions import Executions
from campaigns.mutation.faults import Fault, faults_of, sample

SOURCE = '''\
"""A docstring with 1 + 1."""
from typing import TYPE_CHECKING

LIMIT: float = 2.0

if TYPE_CHECKING:
    import a


def f(x: "int" = 3, *, flag=True) -> int:
    """x - 1 is not touched."""
    if x < LIMIT and not flag:
        raise ValueError(f"{x} is more than {1 + 1}")
    log.warning("%s", 2 * x)
    x += 1
    return [y / 2 for y in range(x) if y]
'''


@pytest.fixture
def faults(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(SOURCE)
    return faults_of(file, tmp_path)


def test_each_fault_changes_one_thing_and_leaves_a_program(faults):
    for fault in faults:
        changed = fault.applied(SOURCE.encode()).decode()
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE)), fault
        lines = [k + 1 for k, (a, b) in enumerate(zip(SOURCE.splitlines(), changed.splitlines())) if a != b]
        assert lines == [fault.line], fault


def test_faults_of_every_kind_and_none_in_texts(faults):
    found = {(fault.line, fault.kind, fault.after) for fault in faults}
    assert found == {
        (4, "constant", "4.0"),
        (10, "default", "4"), (10, "default", "False"),
        (12, "and/or", "(x < LIMIT or not flag)"), (12, "negated", "(x >= LIMIT)"), (12, "boundary", "(x <= LIMIT)"),
        (12, "dropped", "(flag)"), (12, "forced", "True"), (12, "forced", "False"),
        (13, "removed", "pass"),
        (15, "removed", "pass"), (15, "arithmetic", "x -= 1"), (15, "constant", "2"),
        (16, "return", "None"), (16, "arithmetic", "(y * 2)"), (16, "constant", "3"),
        (16, "forced", "[y / 2 for y in range(x)]"),
    }  # fmt: skip


def test_a_sample_follows_from_its_seed_and_is_even_over_lines():
    file = ROOT / "rbd_dynamics" / "simulation" / "contact.py"
    faults = faults_of(file, ROOT)
    assert sample(faults, 20, 3) == sample(faults, 20, 3) != sample(faults, 20, 4)
    lines = [fault.line for fault in sample(faults, 20, 3)]
    assert lines == sorted(set(lines)) and len(lines) == 20
    assert len(sample(faults, 10_000, 0)) == len({fault.line for fault in faults})


def test_tests_that_execute_the_line_come_fastest_first_and_each_function_once_before_others(tmp_path):
    import coverage

    file = "rbd_dynamics/room/module.py"
    data = coverage.CoverageData(str(tmp_path / "lines"))
    for context, lines in (
        ("", [1, 2]),
        ("t.py::slow (call)", [3]), ("t.py::cases[1] (call)", [3]), ("t.py::cases[2] (call)", [3]),
        ("other.py::first (setup)", [4]), ("other.py::broken (call)", [3]),
    ):  # fmt: skip
        data.set_context(context)
        data.add_lines({f"/anywhere/{file}": lines})
    data.write()
    times = {"t.py::slow": 5.0, "t.py::cases[1]": 0.2, "t.py::cases[2]": 0.1, "other.py::first": 1.0,
             "other.py::second": 0.5, "other.py::broken": float("inf")}  # fmt: skip
    (tmp_path / "times.json").write_text(json.dumps(times))
    executions = Executions([tmp_path])

    def tests(line, kind="constant"):
        return executions.tests(Fault(file, "f", 3, 4, line, kind, 0, 0, ""))

    assert tests(3) == ["t.py::cases[2]", "t.py::slow", "t.py::cases[1]"]
    assert tests(4) == ["other.py::second", "other.py::first"]  # whoever uses the fixture may notice
    assert set(tests(2)) == set(times) - {"other.py::broken"}  # executed at import
    assert tests(2, "default") == tests(2)
    assert tests(9) == []


def test_a_campaign_over_all_rooms_is_one_sample_and_looks_first_where_faults_hurt():
    from campaigns.mutation.__main__ import over_all

    chosen = over_all(200, 1)
    assert chosen == over_all(200, 1) != over_all(200, 2)
    assert len(chosen) == len({str(fault) for _, fault in chosen}) == 200
    assert all(fault.file.startswith((f"rbd_dynamics/{room}/", f"rbd_dynamics/{room}.py")) for room, fault in chosen)
    rooms = [room for room, _ in chosen]
    assert rooms.count("nodes") + rooms.count("control") > 60 and "demo" not in rooms
    assert len(set(rooms[:40])) > 5  # whoever stops early has looked everywhere


def test_a_campaign_goes_on_where_it_stopped(tmp_path, capsys, monkeypatch):
    from campaigns.mutation import __main__ as program

    judged = []

    class Judge:
        def __init__(self, *_):
            pass

        def judge(self, fault, tests, seconds):
            judged.append(str(fault))
            return program.Verdict("" if len(judged) == 2 else "FAILED test", 1, 0.0)

        def close(self):
            pass

    monkeypatch.setattr(program, "Judge", Judge)
    monkeypatch.setattr(program, "Executions", lambda folders: type("No", (), {"seconds": {}}))
    clock = iter(range(100))
    monkeypatch.setattr(program.time, "monotonic", lambda: 60.0 * next(clock))
    words = ["--count", "6", "--tests", "t.py", "--report", str(tmp_path / "report.json"), "--budget", "2.5"]
    assert program.main(words) == 1 and len(judged) == 2
    assert "all: 1 of 2 faults noticed; 4 are left" in capsys.readouterr().out
    while len(judged) < 6:
        assert program.main(words) == 1
    assert len(set(judged)) == 6
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "all: 5 of 6 faults noticed" and told[-2] == f"    not noticed: {judged[1]}"
    assert program.main([*words, "--again"]) == 0 and judged[6:] == [judged[1]]


JUDGED = """
import sys
from pathlib import Path
from campaigns.mutation import judge
from campaigns.mutation.faults import faults_of
judge._IMPORTED_BEFORE = ()
root = Path(sys.argv[1])
fault, = (one for one in faults_of(root / "law.py", root) if one.kind == "arithmetic")
tests = ["test_law.py::test_of_another_file", "test_law.py::test_sum"]
one = judge.Judge(root, root / "kernels", 5.0)
try:
    print(one.judge(fault, tests, {}).noticed)
    print(one.judge(fault, tests[:1], {}))
finally:
    one.close()
"""


def test_a_test_that_fails_without_the_fault_notices_nothing(tmp_path):
    (tmp_path / "law.py").write_text("def total(a, b):\n    return a + b\n")
    (tmp_path / "test_law.py").write_text(
        "from law import total\n\ndef test_of_another_file():\n    assert total(1, 2) == 4\n\n"
        "def test_sum():\n    assert total(1, 2) == 3\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    found = subprocess.run(
        [sys.executable, "-c", JUDGED, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert found[0] == "    left out, fails without the fault: test_law.py::test_of_another_file"
    assert found[1].startswith("FAILED test_law.py::test_sum")
    assert found[2:] == [found[0], "Verdict(noticed='', tests=0, seconds=" + found[-1].rpartition("=")[2]]
