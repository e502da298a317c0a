# SPDX-License-Identifier: Apache-2.0
"""How nodes are composed: few classes above each other, and parts that keep what is private to themselves."""

from __future__ import annotations

import ast
from pathlib import Path

from helpers.paths import ROOT

NODES = ROOT / "rbd_dynamics" / "nodes"
DEEPEST = 3  # classes of ours above `LifecycleNode`, with the node itself
#: Python documents it for all to use
OTHERS = {"os._exit", "_exit"}
#: the only file that knows rclpy's insides
PRIVATE = NODES / "wire" / "rclpy_private.py"


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


def by_name(tree: ast.Module) -> set[str]:
    """Private names that are asked for as texts."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) > 1)
    asking = (call for call in calls if ast.unparse(call.func).rpartition(".")[2].endswith("attr"))
    names = (call.args[1].value for call in asking if isinstance(call.args[1], ast.Constant))
    return {name for name in names if is_private(str(name))}


def shared(tree: ast.Module) -> set[str]:
    """Private attributes that are used of anything else than `self`, the class or another of the same class."""
    found = set()
    for made in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        own = {f.name for f in ast.walk(made) if isinstance(f, ast.FunctionDef)}
        own |= {n.attr for n in ast.walk(made) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
        own |= {n.target.id for n in made.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        same = {"self", "cls", made.name, *_others_of(made)}
        for node in ast.walk(made):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                if node.attr not in own or ast.unparse(node.value) not in same:
                    found.add(ast.unparse(node))
    return found - OTHERS


def _others_of(made: ast.ClassDef) -> set[str]:
    """Arguments that are said to be of the same class."""
    functions = (node for node in ast.walk(made) if isinstance(node, ast.FunctionDef))
    arguments = (each for function in functions for each in function.args.args if each.annotation is not None)
    return {each.arg for each in arguments if ast.unparse(each.annotation).strip("'\"") == made.name}


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
        named = set() if path == PRIVATE else by_name(tree)
        if found := foreign(tree) | shared(tree) | named:
            wrong[str(path.relative_to(NODES))] = sorted(found)
    assert wrong == {}
    assert by_name(trees()[PRIVATE])  # so that the exception has a reason


def test_what_is_private_to_another_would_be_found():
    same = "class A:\n    def __init__(self, b): self._x = b\n    def go(self, other: A): return self._x + other._x\n"
    base = "class B(A):\n    def go(self): return self._x\n"
    part = "def look(node): return node._engine\n"
    module = "from rbd_dynamics.nodes.guard import _numbers\n"
    neighbour = same + "class C:\n    def go(self, a): return a._x\n"
    namesake = "class D:\n    def __init__(self, node): self._x = node._x\n"
    asked = "def look(node): return getattr(node, '_engine', None)\n"
    found = [
        sorted(foreign(tree) | shared(tree) | by_name(tree))
        for tree in map(ast.parse, (same, base, part, module, neighbour, namesake, asked))
    ]
    assert found == [[], ["self._x"], ["node._engine"], ["_numbers"], ["a._x"], ["node._x"], ["_engine"]]
