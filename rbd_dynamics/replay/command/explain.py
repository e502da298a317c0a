# SPDX-License-Identifier: Apache-2.0
"""What a recording is taken for, before anything is made of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.markup import escape

from rbd_dynamics.common.console import output_console, print_table
from rbd_dynamics.replay.command.chosen import Source, settings_of


def run_explain(options: argparse.Namespace, source: Source) -> int:
    """Print the columns of each table, and write a mapping for the next time; print the joint states of any other."""
    from rbd_dynamics.replay.fleet import find_recordings
    from rbd_dynamics.replay.reading.tables.interpretation import Interpretation

    settings, told = settings_of(options), []
    console = output_console()
    for one in find_recordings(options.recordings):
        recording = settings.opened(one.path)
        meaning = recording.meaning
        states = recording.joint_state_topics()
        if options.json:
            told.append({"recording": str(one.path), **_as_json(meaning), "topics": [vars(topic) for topic in states]})
            continue
        console.print(f"[bold]{escape(str(one.path))}[/]")
        if isinstance(meaning, Interpretation):
            path = _write(meaning, options.output or Path(), Path(one.path))
            console.print(escape(f"a table: {meaning.table.form}"))
            for text in meaning.said:
                console.print(f"[yellow]! {escape(text)}[/]")
            print_table(console, ("column", "is", "unit", "by"), meaning.rows())
            if left := meaning.left():
                console.print(escape(f"not used: {', '.join(left)}"))
            console.print(escape(f"{path}: for --columns, to read the next one just so"))
            continue
        rows = []
        for topic in states:
            has = {"positions": True, "velocities": topic.has_velocity, "efforts": topic.has_effort}
            rows.append((topic.name, ", ".join(topic.joints), ", ".join(name for name in has if has[name])))
        print_table(console, ("joint states", "joints", "have"), rows)
        others = sorted(name for name in recording.topics if name not in {topic.name for topic in states})
        console.print(escape(f"other topics: {', '.join(others) or 'none'}"))
    if options.json:
        print(json.dumps(told, indent=1))
    return 0


def _as_json(meaning: object) -> dict[str, object]:
    from rbd_dynamics.replay.reading.tables.interpretation import Interpretation

    if not isinstance(meaning, Interpretation):
        return {}
    return {
        "form": meaning.table.form,
        "columns": meaning.mapping(),
        "guesses": list(meaning.said),
        "not_used": meaning.left(),
    }


def _write(meaning: object, folder: Path, recording: Path) -> Path:
    """The mapping as YAML, in the order in which people think of it."""
    import yaml

    from rbd_dynamics.common.whole_files import write_whole
    from rbd_dynamics.replay.reading.tables.interpretation import Interpretation

    assert isinstance(meaning, Interpretation)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recording.name}.columns.yaml"
    text = yaml.safe_dump(meaning.mapping(), sort_keys=False, allow_unicode=True, width=1000)
    write_whole(path, f"# how {recording.name} is read, for: rbd_dynamics replay --columns {path.name}\n{text}")
    return path
