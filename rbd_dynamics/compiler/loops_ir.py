# SPDX-License-Identifier: Apache-2.0
"""Writes functions with loops, in the part of Python that `loops` names, as LLVM IR.

Every name gets a place on the stack; LLVM's own passes put them into registers. Both sides of `and` and `or` are
evaluated: nothing here has side effects.
"""

from __future__ import annotations

import ast
import inspect
import struct
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.compiler.loops_entry import emit_entry

_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_TYPES = {"int": "i64", "float": "double", "Array": "array", "Table": "table", "Kernel": "kernel"}
#: arrays and kernels are passed as addresses
_IR = {"i64": "i64", "double": "double", "array": "i64", "table": "i64", "kernel": "i64", "i1": "i1"}
_ELEMENTS = {"array": "double", "table": "i64"}
_INDIRECT = {"run_kernel": "kernel", "run_single": "single", "run_bound": "bound"}

Value = tuple[str, str]  # type, name


def emit_loops(functions: Sequence[Callable[..., int]]) -> list[str]:
    """Lines of IR. Raises SyntaxError for what is not of that part of Python."""
    names = {function.__name__ for function in functions}
    lines = ["declare double @llvm.sqrt.f64(double)", "declare double @llvm.fabs.f64(double)"]
    for function in functions:
        lines += _Emitter(function, names).emit()
    return lines + emit_entry(functions[-1])


class _Emitter:
    def __init__(self, function: Callable[..., int], functions: set[str]) -> None:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(tree, ast.FunctionDef)
        self.tree, self.functions = tree, functions
        self.constants: dict[str, Any] = vars(inspect.getmodule(function))
        self.places: list[str] = []
        self.lines: list[str] = []
        self.types: dict[str, str] = {}
        self.counter = 0
        self.exits: list[str] = []  # of the loops around
        self.open = True  # the block that is written has no end yet

    def emit(self) -> list[str]:
        arguments = []
        for argument in self.tree.args.args:
            kind = _TYPES[ast.unparse(argument.annotation)] if argument.annotation else "?"
            arguments.append(f"{_IR[kind]} %in.{argument.arg}")
            self.store(argument.arg, (kind, f"%in.{argument.arg}"), argument)
        self.statements(self.tree.body)
        if self.open:
            self.lines.append("  ret i64 0")
        head = f"define internal i64 @{self.tree.name}({', '.join(arguments)}) {{"
        return [head, "entry:", *self.places, *self.lines, "}"]

    # --- lines ------------------------------------------------------------------------------------

    def let(self, expression: str) -> str:
        self.counter += 1
        self.lines.append(f"  %t{self.counter} = {expression}")
        return f"%t{self.counter}"

    def label(self) -> str:
        self.counter += 1
        return f"l{self.counter}"

    def begin(self, label: str) -> None:
        self.jump(label)
        self.lines.append(f"{label}:")
        self.open = True

    def jump(self, label: str) -> None:
        if self.open:
            self.lines.append(f"  br label %{label}")
        self.open = False

    def branch(self, test: Value, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {test[1]}, label %{yes}, label %{no}")
        self.open = False

    def store(self, name: str, value: Value, node: ast.AST) -> None:
        kind, text = value
        if name not in self.types:
            self.types[name] = kind
            self.places.append(f"  %v.{name} = alloca {_IR[kind]}")
        if self.types[name] == "double" and kind == "i64":
            kind, text = self.as_double(value)
        if self.types[name] != kind:
            raise self.error(node, f"{name} is of two types")
        self.lines.append(f"  store {_IR[kind]} {text}, ptr %v.{name}")

    def error(self, node: ast.AST, why: str) -> SyntaxError:
        return SyntaxError(f"{self.tree.name}: {why}: {ast.unparse(node)}")

    # --- statements -------------------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.open:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node.targets[0], self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            target = node.target
            read: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
            self.assign(target, self.arithmetic(node.op, self.value(read), self.value(node.value), node))
        elif isinstance(node, ast.If):
            yes, no, after = self.label(), self.label(), self.label()
            self.branch(self.value(node.test), yes, no)
            for label, body in ((yes, node.body), (no, node.orelse)):
                self.lines.append(f"{label}:")
                self.open = True
                self.statements(body)
                self.jump(after)
            self.lines.append(f"{after}:")
            self.open = True
        elif isinstance(node, ast.While):
            self.loop(lambda: self.value(node.test), node.body, lambda: None)
        elif isinstance(node, ast.For):
            self.for_(node)
        elif isinstance(node, ast.Break):
            self.jump(self.exits[-1])
        elif isinstance(node, ast.Return) and node.value is not None:
            self.lines.append(f"  ret i64 {self.value(node.value)[1]}")
            self.open = False
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # a docstring
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
                raise self.error(node, "not understood")
            self.value(node.value)

    def for_(self, node: ast.For) -> None:
        call, name = node.iter, node.target
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "range" and isinstance(name, ast.Name)):
            raise self.error(node, "not a range")
        bounds = [self.value(bound) for bound in call.args]
        start, stop = bounds if len(bounds) == 2 else (("i64", "0"), bounds[0])
        self.store(name.id, start, node)

        def below() -> Value:
            return "i1", self.let(f"icmp slt i64 {self.load(name.id, node)[1]}, {stop[1]}")

        def next_() -> None:
            self.store(name.id, ("i64", self.let(f"add i64 {self.load(name.id, node)[1]}, 1")), node)

        self.loop(below, node.body, next_)

    def loop(self, test: Callable[[], Value], body: Sequence[ast.stmt], last: Callable[[], None]) -> None:
        head, inside, after = self.label(), self.label(), self.label()
        self.begin(head)
        self.branch(test(), inside, after)
        self.lines.append(f"{inside}:")
        self.open = True
        self.exits.append(after)
        self.statements(body)
        if self.open:
            last()
        self.jump(head)
        self.exits.pop()
        self.lines.append(f"{after}:")
        self.open = True

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, value, target)
        elif isinstance(target, ast.Subscript):
            kind, place = self.element(target)
            if kind == "double":
                value = self.as_double(value)
            if value[0] != kind:
                raise self.error(target, "elements are whole numbers")
            self.lines.append(f"  store {kind} {value[1]}, ptr {place}")
        else:
            raise self.error(target, "not understood")

    # --- values -----------------------------------------------------------------------------------

    def load(self, name: str, node: ast.AST) -> Value:
        if name in self.types:
            kind = self.types[name]
            return kind, self.let(f"load {_IR[kind]}, ptr %v.{name}")
        constant = self.constants.get(name)
        if not isinstance(constant, (int, float)):
            raise self.error(node, f"{name} is unknown")
        return self.constant(constant)

    def constant(self, value: float) -> Value:
        if isinstance(value, int):
            return "i64", str(int(value))
        return "double", f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    def as_double(self, value: Value) -> Value:
        return value if value[0] == "double" else ("double", self.let(f"sitofp i64 {value[1]} to double"))

    def element(self, node: ast.Subscript) -> Value:
        """The type of an element of an array, and where it is."""
        (kind, base), index = self.value(node.value), self.value(node.slice)
        if kind not in _ELEMENTS or index[0] != "i64":
            raise self.error(node, "not an element of an array")
        of = _ELEMENTS[kind]
        return of, self.let(f"getelementptr {of}, ptr {self.let(f'inttoptr i64 {base} to ptr')}, i64 {index[1]}")

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return self.constant(node.value)
        if isinstance(node, ast.Name):
            return self.load(node.id, node)
        if isinstance(node, ast.Subscript):
            kind, place = self.element(node)
            return kind, self.let(f"load {kind}, ptr {place}")
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node.op, self.value(node.left), self.value(node.right), node)
        if isinstance(node, ast.UnaryOp):
            kind, text = self.value(node.operand)
            if isinstance(node.op, ast.Not):
                return "i1", self.let(f"xor i1 {text}, true")
            if isinstance(node.op, ast.USub):
                return kind, self.let(f"fneg double {text}" if kind == "double" else f"sub i64 0, {text}")
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.comparison(node)
        if isinstance(node, ast.BoolOp):  # without a short circuit: nothing here has side effects
            name = "and" if isinstance(node.op, ast.And) else "or"
            found = [self.value(part)[1] for part in node.values]
            total = found[0]
            for part in found[1:]:
                total = self.let(f"{name} i1 {total}, {part}")
            return "i1", total
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _INDIRECT:
            return getattr(self, _INDIRECT[ast.unparse(node.func)])(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.call(node.func.id, [self.value(argument) for argument in node.args], node)
        raise self.error(node, "not understood")

    def arithmetic(self, op: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        name = _ARITHMETIC.get(type(op))
        if name is None:
            raise self.error(node, "no such operation")
        if a[0] == b[0] == "i64" and name != "div":
            return "i64", self.let(f"{name} i64 {a[1]}, {b[1]}")
        return "double", self.let(f"f{name} contract double {self.as_double(a)[1]}, {self.as_double(b)[1]}")

    def comparison(self, node: ast.Compare) -> Value:
        a, b, name = self.value(node.left), self.value(node.comparators[0]), _COMPARISONS[type(node.ops[0])]
        if a[0] == b[0] == "i64":
            signed = name if name in ("eq", "ne") else f"s{name}"
            return "i1", self.let(f"icmp {signed} i64 {a[1]}, {b[1]}")
        a, b = self.as_double(a), self.as_double(b)
        return "i1", self.let(f"fcmp {'une' if name == 'ne' else f'o{name}'} double {a[1]}, {b[1]}")

    def kernel(self, node: ast.Call) -> Value:
        """A call of a kernel's code for batches, whose places stand in a table."""
        samples = self.value(node.args[1])
        if samples[0] != "i64":
            raise self.error(node, "no number of samples")
        return self.status(node, [node.args[0], *node.args[2:]], 1, [f"i64 {samples[1]}"])

    def single(self, node: ast.Call) -> Value:
        """The same of its code for one sample."""
        return self.status(node, node.args, 2, [])

    def status(self, node: ast.Call, arguments: Sequence[ast.expr], step: int, given: list[str]) -> Value:
        """That of a kernel which is called with every so manieth entry of a table."""
        (kernel, places), number = map(self.value, arguments[:2]), self.value(arguments[2])[1]
        if (kernel[0], places[0]) != ("kernel", "table") or not number.isdecimal():
            raise self.error(node, "not (kernel, places, a constant)")
        table, function = (self.let(f"inttoptr i64 {each[1]} to ptr") for each in (places, kernel))
        for k in range(0, 2 * int(number), step):
            place = self.let(f"getelementptr i64, ptr {table}, i64 {k}")
            given.append(f"i64 {self.let(f'load i64, ptr {place}')}")
        status = self.let(f"call i32 {function}({', '.join(given)})")
        return "i64", self.let(f"sext i32 {status} to i64")

    def bound(self, node: ast.Call) -> Value:
        """A call of other loops, whose arguments stand in a table."""
        function, plan = map(self.value, node.args)
        if (function[0], plan[0]) != ("kernel", "table"):
            raise self.error(node, "not (function, plan)")
        function_at, plan_at = (self.let(f"inttoptr i64 {each[1]} to ptr") for each in (function, plan))
        return "i64", self.let(f"call i64 {function_at}(ptr {plan_at})")

    def call(self, name: str, arguments: list[Value], node: ast.AST) -> Value:
        if name in self.functions:
            given = ", ".join(f"{_IR[kind]} {text}" for kind, text in arguments)
            return "i64", self.let(f"call i64 @{name}({given})")
        numbers = [self.as_double(argument)[1] for argument in arguments]
        if name in ("sqrt", "abs"):
            return "double", self.let(f"call double @llvm.{'fabs' if name == 'abs' else name}.f64(double {numbers[0]})")
        if name in ("min", "max") and len(numbers) == 2:
            a, b = numbers
            first = self.let(f"fcmp {'olt' if name == 'min' else 'ogt'} double {b}, {a}")  # of equals the first
            return "double", self.let(f"select i1 {first}, double {b}, double {a}")
        raise self.error(node, "no such function")
