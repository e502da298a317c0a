# SPDX-License-Identifier: Apache-2.0
"""Single-operator faults of a source file: where they can be made, and a sample of them.

None is made in docstrings, type annotations, texts and arguments of errors, logging, or under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NEGATED = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
}  # fmt: skip
_LOGGING = {"debug", "info", "warning", "error", "fatal", "exception"}


@dataclass(frozen=True)
class Fault:
    """A piece of a file and what stands there in its place; `line` is that of its statement, `first` its function's."""

    file: str
    function: str
    first: int
    last: int
    line: int
    kind: str
    begin: int
    end: int
    after: str
    before: str = ""

    def applied(self, source: bytes) -> bytes:
        return source[: self.begin] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.line} {self.function}: {self.kind}: {before} -> {after}"


def faults_of(file: Path, root: Path) -> list[Fault]:
    """All faults of a file, in its order."""
    return list(_Finder(file.read_bytes(), str(file.relative_to(root))).all())


def sample(faults: list[Fault], count: int, seed: int) -> list[Fault]:
    """So many of them, evenly over the lines of all functions; each line with faults counts once."""
    choose = random.Random(seed)
    lines: dict[tuple[str, int], list[Fault]] = {}
    for fault in faults:
        lines.setdefault((fault.file, fault.line), []).append(fault)
    groups = list(lines.values())
    count = min(count, len(groups))
    begin, step = choose.random(), len(groups) / max(count, 1)
    return [choose.choice(groups[int((begin + i) * step)]) for i in range(count)]


class _Finder:
    def __init__(self, source: bytes, file: str) -> None:
        self.file, self.source = file, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def all(self) -> Iterator[Fault]:
        yield from self.body(ast.parse(self.source).body, "", 0, 0)

    def body(self, statements: list[ast.stmt], function: str, first: int, last: int) -> Iterator[Fault]:
        for statement in statements:
            yield from self.statement(statement, function, first, last)

    def statement(self, node: ast.stmt, function: str, first: int, last: int) -> Iterator[Fault]:
        """Those of a statement and of what is in it."""

        def fault(of: ast.AST, kind: str, after: str) -> Fault:
            begin, end = self.span(of)
            before = self.source[begin:end].decode()
            return Fault(self.file, function, first, last, node.lineno, kind, begin, end, after, before)

        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{function}.{node.name}".lstrip(".")
            if isinstance(node, ast.ClassDef):
                yield from self.body(node.body, name, first, last)
                return
            first, last, function = node.body[0].lineno, node.end_lineno or node.lineno, name
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                for other in _other_constants(default):
                    yield fault(default, "default", other)
            yield from self.body(node.body, name, first, last)
            return
        if _is_text(node) or _is_logging(node) or isinstance(node, (ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and "__all__" in ast.dump(node):
            return
        if isinstance(node, (ast.Raise, ast.AugAssign, ast.Continue, ast.Break, ast.Delete)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom))
        ):
            yield fault(node, "removed", "pass")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            yield fault(node, "removed", "pass")
        if isinstance(node, ast.Raise):
            return  # what is in it is said to people
        if isinstance(node, ast.Return) and not isinstance(node.value, (ast.Constant, type(None))):
            yield fault(node.value, "return", "None")
        if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
            changed = ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
            yield fault(node, "arithmetic", ast.unparse(changed))
        if isinstance(node, (ast.If, ast.While)):
            if isinstance(node, ast.If):
                yield fault(node.test, "forced", "True")
            yield fault(node.test, "forced", "False")
        for part in self.expressions(node):
            for kind, after in _expression_faults(part):
                yield fault(part, kind, after)
        for field in ("body", "orelse", "finalbody"):
            yield from self.body(getattr(node, field, []), function, first, last)
        for handler in getattr(node, "handlers", []):
            yield from self.body(handler.body, function, first, last)
        for case in getattr(node, "cases", []):
            yield from self.body(case.body, function, first, last)

    def expressions(self, node: ast.stmt) -> Iterator[ast.expr]:
        """Of this statement alone, without annotations, texts and lambdas' defaults."""
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "body", "orelse", "finalbody", "handlers", "cases"):
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.withitem):
                    part = part.context_expr
                if isinstance(part, ast.expr):
                    yield from _within(part)

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.stmt, ast.expr)) and node.end_lineno is not None
        begin = self.starts[node.lineno - 1] + node.col_offset
        return begin, self.starts[node.end_lineno - 1] + (node.end_col_offset or 0)


def _within(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.JoinedStr):  # Python 3.11 does not say where its parts are
        return
    yield node
    children = [node.func, *node.args, *(item.value for item in node.keywords)] if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar"):
        return
    for child in children or ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _within(child)
        elif isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _within(part)


def _expression_faults(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Kind and text of what may stand in an expression's place."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, table in (("negated", _NEGATED), ("boundary", _BOUNDARY)):
            if type(node.ops[0]) in table:
                changed = ast.Compare(node.left, [table[type(node.ops[0])]()], node.comparators)
                yield kind, f"({ast.unparse(changed)})"
    elif isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            if type(operator) in _BOUNDARY:
                operators = [*node.ops[:i], _BOUNDARY[type(operator)](), *node.ops[i + 1 :]]
                yield "boundary", f"({ast.unparse(ast.Compare(node.left, operators, node.comparators))})"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "dropped", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        if not any(_is_string(side) for side in (node.left, node.right)):
            changed_sum = ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
            yield "arithmetic", f"({ast.unparse(changed_sum)})"
    elif isinstance(node, ast.IfExp):
        for forced in ("True", "False"):
            yield "forced", f"({ast.unparse(node.body if forced == 'True' else node.orelse)})"
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        if any(item.ifs for item in node.generators):
            yield "forced", ast.unparse(type(node)(node.elt, [_unfiltered(item) for item in node.generators]))
    elif isinstance(node, ast.Constant):
        for other_text in _other_constants(node):
            yield "constant", other_text


def _unfiltered(item: ast.comprehension) -> ast.comprehension:
    return ast.comprehension(item.target, item.iter, [], item.is_async)


def _other_constants(node: ast.expr | None) -> Iterator[str]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
    elif isinstance(value, float):
        yield repr(value * 2.0 if value else 1.0)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_logging(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _LOGGING
