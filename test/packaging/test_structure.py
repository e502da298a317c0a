# SPDX-License-Identifier: Apache-2.0
"""Who imports whom: lower rooms never import higher ones, and no files import each other in a circle.

Every import counts, also inside functions and for type checkers only.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "rbd_dynamics"


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}

#: {(file, what it imports): why}; such an import stands inside a function, or is for type checkers only
CIRCLES = {
    ("rbd_dynamics.model.model", "rbd_dynamics.model.dictionary"): "Model.to_dict is the way back of model_from_dict, "
    "which makes a Model; writing and reading of a format belong in one file",
    ("rbd_dynamics.model.model", "rbd_dynamics.model.urdf_writer"): "Model.to_urdf asks it for the text of a Model",
    ("rbd_dynamics.model.model", "rbd_dynamics.viewer"): "Model.show is where a notebook completes it; what draws is "
    "imported by the call",
    (
        "rbd_dynamics.kernels.bound_model",
        "rbd_dynamics.viewer",
    ): "the type of what Robot.show returns; Model.show draws",
}
#: of these the ones that a lower room imports from a higher one
UPWARD = {
    ("rbd_dynamics.model.model", "rbd_dynamics.viewer"),
    ("rbd_dynamics.kernels.bound_model", "rbd_dynamics.viewer"),
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


def early_imports_of(tree: ast.Module) -> set[str]:
    """What is imported when the file is."""
    late = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    early: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, late) and not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            early.append(node)
            waiting += ast.iter_child_nodes(node)
    return imports_of(ast.Module([node for node in early if isinstance(node, (ast.Import, ast.ImportFrom))], []))


TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}
GRAPH = {name: imports_of(tree) - {name} for name, tree in TREES.items()}


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


def test_files_do_not_import_each_other_in_a_circle():
    graph = {name: {other for other in GRAPH[name] if (name, other) not in CIRCLES} for name in GRAPH}
    assert circles(graph) == []


@pytest.mark.parametrize(("name", "other"), CIRCLES)
def test_a_stated_circle_is_one_and_is_late(name, other):
    graph = {a: {b for b in GRAPH[a] if (a, b) not in CIRCLES or (a, b) == (name, other)} for a in GRAPH}
    assert any({name, other} <= set(group) for group in circles(graph))
    assert other in GRAPH[name] - early_imports_of(TREES[name])


def test_a_circle_would_be_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_lower_rooms_never_import_higher_ones():
    rank = {room: k for k, room in enumerate(order())}
    assert {room_of(name) for name in FILES} == {*rank, "", "__main__"}
    wrong = []
    for name, others in GRAPH.items():
        for other in others:
            room, used = room_of(name), room_of(other)
            if room in ONLY:
                right = used in ONLY[room] or used in (room, "common")
            elif room in ("", "__main__"):
                right = room == "__main__" or rank[used] <= rank["viewer"]
            elif used == "":
                right = rank[room] > rank["viewer"]
            else:
                right = rank[used] <= rank[room]
            stated = (name, other) in UPWARD
            assert not (stated and right), "an exception that nothing needs"
            wrong += [] if right or stated else [f"{name} imports {other}"]
    assert not wrong
    assert set(CIRCLES) >= UPWARD  # whose imports are late


def test_what_runs_beside_a_robot_does_not_import_the_evaluation_of_recordings():
    assert [
        f"{name} imports {other}"
        for name in GRAPH
        if room_of(name) == "nodes"
        for other in GRAPH[name]
        if room_of(other) in ("replay", "viewer")
    ] == []
