# SPDX-License-Identifier: Apache-2.0
"""Who imports whom: lower rooms never import higher ones, and no files import each other in a circle.

Every import counts, also inside functions and for type checkers only.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rbd_dynamics.compiler.notes import ROOMS as NOTED

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "rbd_dynamics"


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}

#: what a file finds by name for one release, without an import: deprecated methods of what a higher room does now
SUCCESSORS = {
    "rbd_dynamics.model.model": {"model_to_dict", "model_to_urdf", "write_urdf", "show"},
    "rbd_dynamics.kernels.bound_model": {"show"},
}
#: rooms that may import these ones and common only
ONLY = {
    "common": set(),
    "spatial": set(),
    "model": {"spatial"},
    "formats": {"spatial", "model"},
    "algorithms": {"spatial", "model"},
    "scene": {"spatial", "model"},
    "compiler": {"spatial"},
    "joint_states": set(),
    "joints": {"model"},
}


def imports_of(tree: ast.AST) -> set[str]:
    """Files of the package that a piece of code imports. Its version and path are no import."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not understood here"
            for part in node.names:
                inner = f"{node.module}.{part.name}"
                found.add(inner if inner in FILES else str(node.module))
                if inner == f"{PACKAGE}.__version__":
                    found.discard(PACKAGE)
        elif isinstance(node, ast.Import):
            found |= {part.name for part in node.names if part.name != PACKAGE}
            if any(part.name == PACKAGE for part in node.names):
                used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and is_package(n.value)}
                found |= {name for name in used if not name.startswith("__")} and {PACKAGE}
    return found & set(FILES)


def is_package(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == PACKAGE


@cache  # not at import: every process that collects tests would do it
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text()) for name, path in FILES.items()}


@cache
def graph() -> dict[str, set[str]]:
    return {name: imports_of(tree) - {name} for name, tree in trees().items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    names = list(graph)
    edges = np.array([(names.index(a), names.index(b)) for a in names for b in graph[a]]).T
    matrix = csr_array((np.ones(edges.shape[1]), edges), shape=(len(names), len(names)))
    _, label = connected_components(matrix, connection="strong")
    groups = [[name for name, own in zip(names, label) if own == k] for k in np.unique(label)]
    return [group for group in groups if len(group) > 1]


def order() -> list[str]:
    """The rooms from low to high, as CONTRIBUTING.md says it."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return re.findall(r"\w+", re.search(r"from low to high: ([\w, \n]+)\.", text)[1])


def room_of(name: str) -> str:
    """The folder or file below the package; "" for the package itself, which gathers all up to viewer."""
    return f"{name}.".split(".")[1]


def is_deprecated(name: str) -> bool:
    """A file that only says where its content is now."""
    return (ast.get_docstring(trees()[name]) or "").startswith("Deprecated:")


def test_files_do_not_import_each_other_in_a_circle():
    assert circles(graph()) == []


def test_imports_by_name_are_those_of_deprecated_methods():
    found = {}
    for name, tree in trees().items():
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {ast.literal_eval(call.args[1]) for call in calls if ast.unparse(call.func) == "successor"}
        found |= {name: names} if names else {}
    assert found == SUCCESSORS


def test_a_circle_would_be_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_rooms_whose_code_takes_part_in_kernels_are_the_lowest():
    """So that a digest of theirs is of all code that functions in them can run."""
    assert order()[: len(NOTED)] == list(NOTED)


def test_lower_rooms_never_import_higher_ones():
    rank = {room: k for k, room in enumerate(order())}
    assert {room_of(name) for name in FILES if not is_deprecated(name)} == {*rank, "", "__main__"}
    wrong = []
    for name, others in graph().items():
        for other in () if is_deprecated(name) else others:
            room, used = room_of(name), room_of(other)
            if room in ONLY:
                right = used in ONLY[room] or used in (room, "common")
            elif room in ("", "__main__"):
                right = room == "__main__" or rank[used] <= rank["viewer"]
            elif used == "":
                right = rank[room] > rank["viewer"]
            else:
                right = rank[used] <= rank[room]
            wrong += [] if right else [f"{name} imports {other}"]
    assert not wrong


def test_nothing_imports_the_textbook_forms_but_themselves():
    users = {room_of(name) for name in FILES for other in graph()[name] if room_of(other) == "theory"}
    assert users == {"", "theory"}  # "": the package, which imports them when they are asked for


def test_what_runs_beside_a_robot_does_not_import_the_evaluation_of_recordings():
    assert [
        f"{name} imports {other}"
        for name in graph()
        if room_of(name) == "nodes"
        for other in graph()[name]
        if room_of(other) in ("replay", "viewer")
    ] == []
