# SPDX-License-Identifier: Apache-2.0
"""A long campaign in pieces of some minutes, each with a seed of its own; it goes on where it stopped.

The next piece begins while the judge of the last still reads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from rbd_dynamics.compiler.sources import source_digest

PIECE = 600.0  # s
LEAST = 60.0  # s: what is shorter is left out
BEGUN = 60.0  # s for the nodes of a piece to come up: so long after its time nothing of it runs but its judge
SEEDS = 1000  # pieces of a seed
ROOMS = "nodes", "control", "robot", "compiler"  # of the package: what is judged


def pieces(options: list[str], hours: float, seed: int, report: Path, records: Path | None = None) -> dict[str, Any]:
    """The report of all pieces, which is in its file after each of them; options: of the command, for each piece.

    records: a folder for what the judges of pieces that are not good were told. Raises ValueError where the file is of
    another campaign.
    """
    of = {"seed": seed, "options": options, "source": source_digest(*ROOMS)}
    whole: dict[str, Any] = {**of, "pieces": []}
    if report.exists():
        whole = json.loads(report.read_text())
        if other := [name for name in of if whole.get(name) != of[name]]:
            raise ValueError(f"is of another campaign ({', '.join(other)}): name another file")

    def keep(number: int, running: Future[dict[str, Any]]) -> None:
        piece = running.result()
        whole["pieces"].append(piece)
        whole.update(_summary(whole["pieces"]))
        report.write_text(json.dumps(whole, indent=1) + "\n")
        print(f"piece {number}: {'good' if piece['good'] else 'not good'}, {piece['seconds']:.0f} s", flush=True)

    left = 3600.0 * hours - sum(each["seconds"] for each in whole["pieces"])
    number, last = len(whole["pieces"]), None
    with ThreadPoolExecutor() as pool:
        while left >= LEAST:
            seconds = min(PIECE, left)
            running = pool.submit(_piece, options, seconds, SEEDS * seed + number, records)
            if last:  # whose judge still reads
                keep(number - 1, last)
            wait([running], timeout=seconds + BEGUN)
            number, left, last = number + 1, left - seconds, running
        if last:
            keep(number - 1, last)
    return whole


def _piece(options: list[str], seconds: float, seed: int, records: Path | None) -> dict[str, Any]:
    record = records / f"{seed}.gz" if records else None
    with tempfile.TemporaryDirectory(prefix="faults_") as folder:
        file = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "campaigns.faults", *options,
            "--seconds", f"{seconds:g}", "--seed", f"{seed}", "--report", str(file),
        ]  # fmt: skip
        if record:
            command += ["--record", str(record)]
        # a domain of its own: nodes that came up late may still run when the next piece begins
        environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=environment)
        if not file.exists():
            raise ValueError(f"the piece of seed {seed} did not come to its end")
        found: dict[str, Any] = json.loads(file.read_text())
        if record and found["good"]:
            record.unlink(missing_ok=True)
        return found


def _summary(done: list[dict[str, Any]]) -> dict[str, Any]:
    """What counts of all pieces."""
    nodes: dict[str, Counter[str]] = {}
    for piece in done:
        for kind, counts in piece["nodes"].items():
            whole = nodes.setdefault(kind, Counter())
            whole.update({what: value for what, value in counts.items() if type(value) is int})
            whole.update({f"fault {what}": times for what, times in counts["faults"].items()})
    return {
        "good": all(piece["good"] for piece in done),
        "seconds": sum(piece["seconds"] for piece in done),
        "all": {kind: dict(counts) for kind, counts in nodes.items()},
    }
