# SPDX-License-Identifier: Apache-2.0
"""How nodes are composed: few classes above each other, and parts that keep what is private to themselves."""

from __future__ import annotations

import ast
from pathlib import Path

from helpers.paths import ROOT

NODES = ROOT / "rbd_dynamics" / "nodes"
DEEPEST = 3  # classes of ours above `LifecycleNode`, with the node itself
#: whose private attributes are part of Python's or ROS's own interface
OTHERS = {"os._exit", "_exit"}
#: the only room that knows rclpy's insides
WIRE = NODES / "wire"


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(NODES.rglob("*.py"))}


def bases(trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    """{class: its bases, without their parameters}."""
    found = {}
    for tree in trees.values():
        for made in ast.walk(tree):
            if isinstance(made, ast.ClassDef):
                found[made.name] = [ast.unparse(base).partition("[")[0] for base in made.bases]
    return found


def depth(name: str, bases: dict[str, list[str]]) -> int:
    """How many classes there are from `LifecycleNode`, which counts as none; -1 where it is no base."""
    if name == "LifecycleNode":
        return 0
    above = max((depth(base, bases) for base in bases.get(name, ())), default=-1)
    return above + 1 if above >= 0 else -1


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def foreign(tree: ast.Module) -> set[str]:
    """Private names that a file uses and does not make: of a module, of another file's class, of a base class."""
    made = {node.name for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self":
                made.add(node.attr)
            else:
                used.add((node.attr, ast.unparse(node)))
        elif isinstance(node, ast.ClassDef):
            made |= {
                target.id
                for each in node.body
                for target in (each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)])
                if isinstance(target, ast.Name)
            }
        elif isinstance(node, ast.ImportFrom):
            used |= {(part.name, part.name) for part in node.names if is_private(part.name)}
    return {text for name, text in used if name not in made} - OTHERS


def shared(tree: ast.Module) -> set[str]:
    """Private attributes that are read of anything else than `self`, `cls` or another of the same class."""
    found = set()
    for made in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        own = {f.name for f in ast.walk(made) if isinstance(f, ast.FunctionDef)}
        own |= {n.attr for n in ast.walk(made) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
        own |= {n.target.id for n in made.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        for node in ast.walk(made):
            if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
                found.add(ast.unparse(node))
    return found - OTHERS


def test_no_node_is_more_than_three_classes_above_a_life_cycle_node():
    above = bases(trees())
    found = {name: depth(name, above) for name in above}
    nodes = {name for name, deep in found.items() if deep > 0}
    assert {"ManagedNode", "TorqueNode", "HybridControllerNode", "GuardNode", "SimulatorNode"} <= nodes
    assert {name: found[name] for name in nodes if found[name] > DEEPEST} == {}
    assert max(found.values()) == DEEPEST  # so that the counting is seen to work


def test_no_part_uses_what_is_private_to_another():
    wrong = {}
    for path, tree in trees().items():
        if WIRE not in path.parents and (found := foreign(tree) | shared(tree)):
            wrong[str(path.relative_to(NODES))] = sorted(found)
    assert wrong == {}


def test_what_is_private_to_another_would_be_found():
    same = "class A:\n    def __init__(self, b): self._x = b\n    def go(self, other): return self._x + other._x\n"
    base = "class B(A):\n    def go(self): return self._x\n"
    part = "def look(node): return node._engine\n"
    module = "from rbd_dynamics.nodes.guard import _numbers\n"
    neighbour = same + "class C:\n    def go(self, a): return a._x\n"
    found = [
        sorted(foreign(ast.parse(code)) | shared(ast.parse(code))) for code in (same, base, part, module, neighbour)
    ]
    assert found == [[], ["self._x"], ["node._engine"], ["_numbers"], ["a._x"]]
