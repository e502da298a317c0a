# SPDX-License-Identifier: Apache-2.0
"""Every model file of the packages that are installed, and of folders, beside Pinocchio, MuJoCo and Drake.

    python -m campaigns.models [FOLDER ...] [--rows] [--only] [--budget MINUTES] [--report FILE]

Reads URDF, SDF and MJCF, compares mass matrix and bias (springs, dampers and compensated gravity in it) to 1e-9, and
prints a table: files, loaded, and what became of them. Each file is read in a worker that may hang or die. With a
report it goes on where it stopped. `--rows` makes a small file for each row of the formats' tables. Exit code 1 where
something is wrong or refused here alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from campaigns.models.files import ModelFile, installed, of_folder
from campaigns.models.judge import VERDICTS, Verdict
from campaigns.models.worker import Worker

#: verdicts whose files are named
NAMED = ("refused by us alone", "wrong", "ended")
LOADED = ("agree", "not compared", "refused by peers alone", "wrong")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.models", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of model files beside those of packages")
    parser.add_argument("--only", action="store_true", help="the folders alone, no packages")
    parser.add_argument("--rows", action="store_true", help="and a file for each row of the formats' tables")
    parser.add_argument("--budget", type=float, default=float("inf"), help="minutes, after which it stops")
    parser.add_argument("--report", type=Path, help="file for the verdicts, JSON; those in it are not judged again")
    options = parser.parse_args()
    folders = [*options.folders]
    if options.rows:
        from helpers.models.format_rows import written

        folders.append(Path(tempfile.mkdtemp(), "rows"))
        written(folders[-1])
    files = [each for folder in folders for each in of_folder(folder, folder.name)]
    files += [] if options.only else installed()
    done: dict[str, list] = json.loads(options.report.read_text()) if options.report and options.report.exists() else {}
    end, saved = time.monotonic() + 60.0 * options.budget, time.monotonic()
    worker = Worker()
    for file in files:
        if str(file.path) in done or time.monotonic() > end:
            continue
        done[str(file.path)] = list(worker.judge(file))
        if options.report and time.monotonic() > saved + 10.0:
            options.report.write_text(json.dumps(done, indent=1) + "\n")
            saved = time.monotonic()
    worker.end()
    if options.report:
        options.report.write_text(json.dumps(done, indent=1) + "\n")
    verdicts = {file: Verdict(*done[str(file.path)]) for file in files if str(file.path) in done}
    print(table(verdicts))
    print(names(verdicts))
    if len(verdicts) < len(files):
        print(f"{len(files) - len(verdicts)} files are left")
    return 1 if any(verdict.kind in NAMED for verdict in verdicts.values()) else 0


def table(verdicts: dict[ModelFile, Verdict]) -> str:
    """A line for each format of each package or folder."""
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for file, verdict in verdicts.items():
        counts = rows[file.group, file.format]
        counts["files"] += 1
        counts["loaded"] += verdict.kind in LOADED
        counts["something left out"] += verdict.said
        counts[verdict.kind] += 1
    columns = ["files", "loaded", "something left out", *VERDICTS]
    lines = [["", "", *columns], ["---"] * (len(columns) + 2)]
    lines += [[*key, *(str(rows[key][column]) for column in columns)] for key in sorted(rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def names(verdicts: dict[ModelFile, Verdict]) -> str:
    """The files that need a look, with the reasons."""
    return "\n".join(
        f"{verdict.kind}: {file.path}: {verdict.message}" for file, verdict in verdicts.items() if verdict.kind in NAMED
    )


if __name__ == "__main__":
    sys.exit(main())
