# SPDX-License-Identifier: Apache-2.0
"""What the documentation says of benchmarks is what they wrote; and what the benchmarks share does what it says."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.models.robots import needs_pinocchio
from helpers.paths import ROOT

import rbd_dynamics as rbd
from benchmarks import page, pictures
from benchmarks.dynamics import peak, peers
from benchmarks.measuring.quiet import Guard, NotMeasuredError, own_time
from benchmarks.measuring.results import FOLDER, Figure, Results, Row, Table, number
from benchmarks.processes.turns import HEADS, ProcessTime, Timed, in_turns
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.compiler.llvm.machine import MachineImage, compile_text, loops_problem

TABLES = page.read(FOLDER)
TEXTS = {name: (ROOT / name).read_text() for name in page.PAGES}


@pytest.mark.parametrize("name", page.PAGES)
def test_tables_are_those_of_the_results(name):
    assert page.page(TEXTS[name], TABLES) == TEXTS[name], "run python -m benchmarks.page --write-only"


def test_each_table_has_its_section_and_each_section_its_end():
    text = "".join(TEXTS.values())
    names = [match[2] for match in page.SECTION.finditer(text)]
    assert len(names) == text.count("<!-- table:") == text.count("<!-- end -->") == len(set(names))
    assert TABLES.keys() <= set(names)


def test_a_changed_result_changes_the_page():
    table, about = TABLES["control"]
    changed = Table(table.name, table.heads, [Row(("geometric", Figure(7.89)))])
    text = page.page(TEXTS["docs/benchmarks.md"], TABLES | {"control": (changed, about)})
    assert "| geometric | 7.89 |" in text
    assert text != TEXTS["docs/benchmarks.md"]


def test_no_other_page_has_a_section():
    found = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if "<!-- table:" in path.read_text()
    }
    assert found | {"README.md"} == set(page.PAGES)


def test_pictures_are_drawn_from_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    pictures.draw({name: table for name, (table, _) in TABLES.items()}, tmp_path)
    drawn = {file.name for file in tmp_path.iterdir()}
    assert drawn == {f"{name}.png" for name in pictures.PICTURES if name in TABLES} != set()
    assert all((ROOT / "docs/images" / name).exists() for name in drawn)


@pytest.mark.parametrize("arguments", [["--quick"], ["nothing"]])
def test_a_trial_cannot_get_into_the_documentation(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.page", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("python -m benchmarks.page: error:")


@needs_pinocchio
@pytest.mark.wide
def test_a_trial_gives_tables_like_those_that_are_kept(tmp_path):
    """Of two benchmarks: the same labels, and figures with quartiles in place of them."""
    command = [sys.executable, "-m", "benchmarks.page", "calls", "constrained", "--quick", "--output", str(tmp_path)]
    assert subprocess.run(command, cwd=ROOT).returncode == 0
    tables = page.read(tmp_path / "results")
    assert tables.keys() == {"calls", "batches", "summary", "constrained", "control"}
    for name, (table, _) in tables.items():
        kept = TABLES[name][0]
        assert set(kept.heads) <= set(table.heads) | {"MuJoCo, µs", "Drake, µs"}
        columns = [table.heads.index(head) for head in kept.heads if head in table.heads]
        assert columns == sorted(columns)
        titles = {kept.title(row) for row in kept.rows}
        assert table.rows
        for row in table.rows:
            assert table.title(row) in titles
            figures = [cell for cell in row.cells if isinstance(cell, Figure)]
            assert any(figure.quartiles for figure in figures)
            assert all(figure.median > 0.0 for figure in figures)
    text = (tmp_path / "docs/benchmarks.md").read_text()
    assert page.page(TEXTS["docs/benchmarks.md"], tables) == text != TEXTS["docs/benchmarks.md"]
    assert (tmp_path / "docs/images/calls.png").stat().st_size > 10_000
    assert (ROOT / "docs/benchmarks.md").read_text() == TEXTS["docs/benchmarks.md"]


def test_a_benchmark_that_fails_leaves_its_last_results(tmp_path, monkeypatch):
    monkeypatch.setitem(page.BENCHMARKS, "no_such_benchmark", "dynamics")
    kept = tmp_path / "no_such_benchmark.json"
    kept.write_text("of the last run")
    assert page.run(["no_such_benchmark"], tmp_path, quick=True) == ["no_such_benchmark"]
    assert kept.read_text() == "of the last run"
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("name", page.BENCHMARKS)
def test_there_is_such_a_benchmark(name):
    assert (ROOT / "benchmarks" / page.BENCHMARKS[name] / f"{name}.py").is_file()


def test_results_are_the_same_from_their_file(tmp_path):
    table = Table("some", ("robot", "what", "a", "b", "c"), labels=2)
    table.add("UR5", "one", Figure(0.25, (0.24, 0.28), 0.5), 3)
    table.add("UR5", "two", trouble="not measured: nobody was there")
    file = tmp_path / "some.json"
    Results("here", (table,)).save(file)
    assert Results.load(file) == Results("here", (table,))
    assert table.markdown() == (
        "| robot | what | a | b | c |\n| --- | --- | --- | --- | --- |\n"
        "| UR5 | one | 0.25 ± 8 % ≤ 0.5 | 3 |  |\n| UR5 | two |  |  |  |\n\nUR5, two: not measured: nobody was there.\n"
    )


def test_figures_are_medians_with_quartiles():
    figure = Figure.of([1.0, 2.0, 3.0, 4.0, 50.0], 1e3)
    assert (figure.median, figure.quartiles) == (3000.0, (2000.0, 4000.0))
    assert figure.text() == "3000 ± 33 %"
    assert Figure(0.62, wanted=0.5).text() == "0.62 > 0.5 (!)"
    assert Figure(0.62, wanted=0.5).missed
    assert not Figure(0.5, wanted=0.5).missed
    texts = [number(value) for value in (0.0, 0.01234, 0.9996, 12.0, 99.96, 1234.5, math.nan)]
    assert texts == ["0", "0.0123", "1", "12", "100", "1234", "nan"]


def test_a_failed_measurement_is_tried_again():
    guard, seen = Guard(patience=0.0, attempts=3), []

    def third() -> int:
        seen.append(len(seen))
        if len(seen) < 3:
            raise NotMeasuredError("too early")
        return 7

    result, trouble = guard.run("third", third)
    assert (result, seen) == (7, [0, 1, 2])
    assert trouble == "" or trouble.startswith("measured while others used")


def test_a_measurement_that_keeps_failing_says_why():
    seen = []

    def never() -> None:
        seen.append(1)
        raise NotMeasuredError("holding in place of press")

    with pytest.raises(NotMeasuredError, match="holding in place of press"):
        Guard(patience=0.0, attempts=3).run("never", never)
    assert len(seen) == 3


def test_what_a_child_uses_is_not_the_others():
    """While it runs, and when it has ended."""
    before = own_time()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        end = time.monotonic() + 60.0
        while (used := own_time() - before) < 0.2 and time.monotonic() < end:
            time.sleep(0.02)
        child.kill()
    assert used >= 0.2
    assert own_time() - before >= used - 1e-6  # of sums of ticks


def test_a_node_without_a_turn_leaves_the_others_theirs():
    """As on a loaded machine, where a controller lets go of what it presses on."""

    def turn(node: str, number: int) -> tuple[Timed, ProcessTime]:
        if node == "controller" or (node == "server" and number == 2):
            raise NotMeasuredError("holding in place of press")
        process = ProcessTime(os.getpid())
        process.begin -= 1.0
        return Timed(np.full(5, {"relay": 100.0, "server": 150.0}[node]), 5, 5), process

    results = in_turns(["relay", "server", "controller"], turn, 3, Guard(patience=0.0, attempts=1))
    table = Table("nodes", HEADS)
    for name, result in results.items():
        result.add_to(table, name, results["relay"])
    relay, server, controller = table.rows
    assert relay.cells[1].median == 100.0
    assert (server.cells[1].median, server.cells[2].median, server.cells[4]) == (150.0, 1.5, 0)
    assert set(results["server"].latencies) == {1, 3}
    assert controller.cells == ("controller", *(None,) * (len(HEADS) - 1))
    assert controller.trouble == "4 turns: not measured: holding in place of press"


@needs_pinocchio
@pytest.mark.parametrize("name", peers.PEERS)
def test_the_peers_compute_the_same(name):
    """Of a robot whose joints are in the same order everywhere."""
    if name not in peers.those_installed():
        pytest.skip(f"{name} is not installed")
    path = robots()["ur5_robot"]
    robot = rbd.Robot(rbd.load_urdf(path), backend="reference")
    peer = peers.PEERS[name][1](path, False)
    rng = np.random.default_rng(2)
    q, (v, x) = peer.position(rng), rng.normal(size=(2, 6))
    expected = {
        "inverse_dynamics": robot.inverse_dynamics(q, v, x),
        "forward_dynamics": robot.forward_dynamics(q, v, x),
        "mass_matrix": np.triu(robot.mass_matrix(q)),  # Pinocchio's `crba` fills the upper half
    }
    calls = peer.calls(q, v, x)
    assert calls.keys() == expected.keys()
    for algorithm in [*calls, *calls]:  # a call leaves nothing behind that another would find
        found = calls[algorithm]()
        found = np.triu(found) if algorithm == "mass_matrix" else found
        np.testing.assert_allclose(found, expected[algorithm], rtol=0.0, atol=1e-9 * np.abs(expected[algorithm]).max())


@pytest.mark.parametrize("width", peak.WIDTHS)
def test_the_loop_of_the_peak_does_all_its_operations(width):
    if (problem := loops_problem()) is not None:
        pytest.skip(problem)
    image = MachineImage(compile_text(peak.loop(width)))
    run = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double, ctypes.c_double)(image.address("run"))
    x = np.arange(peak.CHAINS * width, dtype=float)
    for _ in range(7):
        x = 0.5 * x + 0.25
    assert run(7, 0.5, 0.25) == pytest.approx(x.sum(), rel=1e-14)
