# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks and write what they find into the documentation: the tables, and the pictures of docs/images.

    scripts/run python -m benchmarks.page                       # all of them, on a quiet machine
    scripts/run python -m benchmarks.page calls node_latency    # only these
    python -m benchmarks.page --write-only                      # from the results of the last runs
    scripts/run python -m benchmarks.page --quick --output DIR  # a trial, which leaves the documentation alone

Each benchmark is a process of its own, whose results are kept in benchmarks/results/NAME.json. A table stands between
`<!-- table: NAME -->` and `<!-- end -->`; what is around it is written by hand. A benchmark that fails leaves its last
results; a row that it could not measure, or not undisturbed, says so in the table.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import pictures
from benchmarks.dynamics import calls
from benchmarks.measuring.results import FOLDER, Results, Table

ROOT = Path(__file__).resolve().parent.parent
#: {module: its room}, in the order of the page
BENCHMARKS = {
    "calls": "dynamics",
    "peak": "dynamics",
    "start_up": "processes",
    "start_of_processes": "processes",
    "node_latency": "processes",
    "description_gaps": "processes",
    "long_descriptions": "processes",
    "guard_latency": "processes",
    "torque_gaps": "processes",
    "loading": "dynamics",
    "inverse_kinematics": "dynamics",
    "library": "dynamics",
    "batches": "dynamics",
    "rollouts": "simulation",
    "constrained": "dynamics",
    "optimal_control": "dynamics",
    "exported_code": "dynamics",
}
#: with tables of them
PAGES = ("README.md", "docs/benchmarks.md", "docs/export.md", "docs/optimal_control.md")
SECTION = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; by default all")
    parser.add_argument("--quick", action="store_true", help="a trial; needs --output")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write results, pages and pictures there instead")
    parser.add_argument("--write-only", action="store_true", help="run nothing: from the results that are kept")
    options = parser.parse_args()
    if unknown := set(options.names) - BENCHMARKS.keys():
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    if options.quick and options.output is None:
        parser.error("figures of a trial do not belong into the documentation: give --output")
    folder = FOLDER if options.output is None else options.output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    failed = [] if options.write_only else run(options.names or list(BENCHMARKS), folder, quick=options.quick)
    write(FOLDER if options.write_only else folder, ROOT if options.output is None else options.output)
    if failed:
        print(f"no results of {', '.join(failed)}: those of the last run stay", file=sys.stderr)
    return int(bool(failed))


def run(names: Sequence[str], folder: Path, *, quick: bool) -> list[str]:
    """Run the benchmarks, each into a file of the folder. Returns those that gave no results."""
    failed = []
    for name in names:
        print(f"\n{name}", flush=True)
        file = folder / f"{name}.new"
        module = f"benchmarks.{BENCHMARKS[name]}.{name}"
        command = [sys.executable, "-m", module, "--json", str(file), *(["--quick"] if quick else [])]
        subprocess.run(command, cwd=ROOT)  # its status says that a figure is not as wanted, too
        if file.exists():
            file.replace(folder / f"{name}.json")
        else:
            failed.append(name)
    return failed


def write(results: Path, root: Path) -> None:
    """The pages and pictures below `root`, from the results in a folder."""
    found = read(results)
    for name in PAGES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(page((ROOT / name).read_text(), found))
    images = root / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    pictures.draw({name: table for name, (table, _) in found.items()}, images)


def read(folder: Path) -> dict[str, tuple[Table, str]]:
    """All tables by name, each with the line that says on what it was measured."""
    found: dict[str, tuple[Table, str]] = {}
    for file in sorted(folder.glob("*.json")):
        results = Results.load(file)
        found |= {table.name: (table, results.about) for table in results.tables}
    if "calls" in found:
        found["summary"] = calls.summary(found["calls"][0], found["batches"][0]), found["calls"][1]
    return found


def page(text: str, tables: Mapping[str, tuple[Table, str]]) -> str:
    """The text with its tables up to date, and their pictures; what has never been measured says so."""

    def section(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        if name not in tables:
            return f"{begin}*Not measured yet.*\n{end}"
        table, about = tables[name]
        drawn = pictures.PICTURES.get(name)
        picture = f"\n![{drawn[1]}](images/{name}.png)\n" if drawn else ""
        return f"{begin}{table.markdown()}{picture}\n*{about}*\n{end}"

    return SECTION.sub(section, text)


if __name__ == "__main__":
    raise SystemExit(main())
