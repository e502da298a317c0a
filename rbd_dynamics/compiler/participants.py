# SPDX-License-Identifier: Apache-2.0
"""Which code takes part in tracing a function, and whether it still is what it was.

Tracing costs milliseconds for an arm's dynamics and a tenth of a second for large derivatives; asking whether anything
has changed costs one. What is compared is the code that would run now, in memory, with the constants that
it reads, so that an edited file, a class defined anew in a notebook and a patched method are all seen.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import hashlib
import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rbd_dynamics.compiler.description import Description, Indescribable, is_library

#: built-in functions whose answer is not decided by their arguments
_IMPURE = frozenset(("open", "input", "__import__", "exec", "eval", "compile", "id", "globals", "locals", "vars"))
#: what a name may stand for that takes part itself where it is called
_CALLED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
#: where dataclass and NamedTuple say that their methods are
_GENERATED = "<string>"
#: libraries whose Python functions are decided by their arguments
_PURE = frozenset(
    "abc collections _collections_abc contextlib copy dataclasses enum functools itertools math numbers numpy "
    "operator reprlib typing types _weakrefset weakref".split()
)
#: modules of built-in functions, or of the objects whose methods they are, that look at the world
_OUTSIDE = frozenset("time posix nt io _io random _random socket _socket mmap sqlite3 _sqlite3 _ctypes ctypes".split())


class Part(NamedTuple):
    """A class or function by its place, and the digest of its code."""

    module: str
    name: str
    digest: str


_paused: set[int] = set()  # threads for which the collector rests


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    if not gc.isenabled():
        yield
        return
    gc.disable()
    _paused.add(threading.get_ident())
    try:
        yield
    finally:
        _paused.discard(threading.get_ident())
        gc.enable()


def _after_fork() -> None:
    """A child of another thread does not come back to enable it."""
    if _paused:
        _paused.clear()
        gc.enable()


os.register_at_fork(after_in_child=_after_fork)


class Recorder:
    """Watches a call and notes all Python code that it runs."""

    def __init__(self) -> None:
        self._codes: dict[types.CodeType, str] = {}
        self._generated: dict[types.CodeType, tuple[str, str]] = {}
        self._impure: str | None = None

    def run(self, function: Callable[[], Any]) -> Any:
        """The function's result."""
        if sys.getprofile() is not None:  # somebody else watches
            self._impure = "a profiler is running"
            return function()
        with _without_collector():  # finalizers of others would seem to take part
            sys.setprofile(self._note)
            try:
                return function()
            finally:
                sys.setprofile(None)

    def _note(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code not in self._codes:
                self._codes[code] = frame.f_globals.get("__name__", "")
                if code.co_filename == _GENERATED:
                    self._note_class(code, frame.f_locals)
        elif event == "c_call" and not _is_pure(argument):
            self._impure = f"{argument.__qualname__} was called"

    def _note_class(self, code: types.CodeType, local: dict[str, Any]) -> None:
        """The class that a method was generated for (by dataclass, by NamedTuple) says it all."""
        cls = local.get("_cls") or type(local.get("self"))
        for base in cls.__mro__:
            if any(code is method.__code__ for method in _functions_of(base)):
                self._generated[code] = (base.__module__, base.__qualname__)
                return

    def parts(self, described: Description) -> list[Part]:
        """Everything that ran but the classes and functions of a description. Raises Indescribable."""
        if self._impure:
            raise Indescribable(self._impure)
        known = {code for function in described.functions for code in _codes(function.__code__)}
        known.update(code for cls in described.classes for one in _functions_of(cls) for code in _codes(one.__code__))
        places: dict[tuple[str, str], set[types.CodeType]] = {}
        for code, module in self._codes.items():
            if code in known or code is Recorder.run.__code__:
                continue
            if code in self._generated:  # not of a described class, whose codes are known
                places.setdefault(self._generated[code], set()).add(code)
                continue
            if is_library(module):
                if module.partition(".")[0] not in _PURE:
                    raise Indescribable(f"{module} took part")
                continue
            places.setdefault((module, _outermost(code)), set()).add(code)
        parts = []
        for place, ran in places.items():
            found = _resolve(*place)
            if not ran <= _codes_of(found):
                raise Indescribable(f"{'.'.join(place)} is not what ran")
            parts.append(Part(*place, _digest_of(found)))
        return parts


def unchanged(parts: Iterable[Iterable[str]]) -> bool:
    """Whether all parts are what they were."""
    try:
        return all(_digest_of(_resolve(module, name)) == digest for module, name, digest in parts)
    except Indescribable:
        return False


def described_digest(described: Description, inside: frozenset[type[Any]] = frozenset()) -> str:
    """Digest of the code of all functions and classes of a description, one by one: several may have one name.

    inside: classes whose digest this is a part of; methods that use `super()` close over their own.
    Raises Indescribable.
    """
    classes = [class_digest(cls, inside) for cls in described.classes if cls not in inside]
    return _sha("\0".join((functions_digest(described), *classes)))


def functions_digest(described: Description) -> str:
    """Digest of the code of a description's functions, which have no place to find them by. Raises Indescribable."""
    return _sha("\0".join(map(_code_digest, described.functions)))


# --- digests --------------------------------------------------------------------------------------


def function_digest(function: types.FunctionType, inside: frozenset[type[Any]] = frozenset()) -> str:
    """Digest of its code, defaults, what it closes over and the constants it reads. Raises Indescribable."""
    contents = Description()
    contents.add_contents(function)
    return _sha(f"{_code_digest(function)} {contents.text} {described_digest(contents, inside)}")


def _code_digest(function: types.FunctionType) -> str:
    """Digest of its code and the constants that it reads. Raises Indescribable."""
    known, constants = _knowledge(function.__code__), Description()
    for name in known.names:
        if name in function.__globals__:
            value = function.__globals__[name]
            if isinstance(value, _CALLED):
                constants.lines.append(f"{name} {_named(value)}")
                continue
            try:
                constants.lines.append(name)
                constants.add(value)
            except Indescribable as reason:
                if _reads(known.code, name):
                    where = f"{function.__module__}.{function.__qualname__}"
                    raise Indescribable(f"{where} reads {name}: {reason}") from None
    # functions in tables
    inner = [_knowledge(other.__code__).digest for other in constants.functions]
    return _sha(f"{known.digest} {constants.text} {inner}")


def _named(value: Any) -> str:
    """What a name stands for. Functions and classes that are called take part themselves, where they are found.

    One in another's place does not: it is looked at here.
    """
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", value.__name__)
    if isinstance(value, types.FunctionType) and not is_library(module):
        try:
            itself = _resolve(module, name) is value
        except Indescribable:
            itself = False
        if not itself:
            return f"{module}.{name} {function_digest(value)}"
    return f"{module}.{name}"


def class_digest(cls: type[Any], inside: frozenset[type[Any]] = frozenset()) -> str:
    """Digest of all its functions and of the plain values among its attributes. Raises Indescribable."""
    inside |= {cls}
    lines = [", ".join(f"{base.__module__}.{base.__qualname__}" for base in cls.__bases__)]
    for name, value in vars(cls).items():
        functions = list(_unwrapped(value))
        if functions:
            lines.append(f"{name} {' '.join(function_digest(one, inside) for one in functions)}")
        elif not name.startswith("__") or name in ("__slots__", "__match_args__"):
            constant = Description()
            try:
                constant.add(value)
            except Indescribable:
                continue  # a registry, a member descriptor: what is read of it in vain is found in what ran
            lines.append(f"{name} {constant.text}")
    return _sha("\n".join(lines))


def module_digest(*names: str) -> str:
    """Digest of everything that modules define."""
    lines = []
    for name in names:
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if getattr(value, "__module__", name) != name or key.startswith("__"):
                continue
            try:
                lines.append(f"{key} {_digest_of(value)}")
            except Indescribable:
                constant = Description()
                try:
                    constant.add(value)
                except Indescribable:
                    continue
                lines.append(f"{key} {constant.text}")
    return _sha("\n".join(lines))


def _digest_of(found: Any) -> str:
    if isinstance(found, type):
        return class_digest(found)
    functions = list(_unwrapped(found))
    if not functions:
        raise Indescribable(f"{found!r} is no function")
    return _sha(" ".join(map(function_digest, functions)))


class _Known(NamedTuple):
    """What is known of a code object, which is kept so that no address is used twice."""

    code: types.CodeType
    digest: str
    names: tuple[str, ...]  # of what it reads from its module, and of attributes; inner code included


_known: dict[int, _Known] = {}  # by address: their hashes take long


def _knowledge(code: types.CodeType) -> _Known:
    known = _known.get(id(code))
    if known is None:
        inner = [_knowledge(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
        constants = [_constant(value) for value in code.co_consts if not isinstance(value, types.CodeType)]
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
        digest = _sha(f"{code.co_code.hex()} {constants} {names} {[one.digest for one in inner]}")
        all_names = {*code.co_names, *(name for one in inner for name in one.names)}
        known = _known[id(code)] = _Known(code, digest, tuple(sorted(all_names)))
    return known


def _constant(value: Any) -> str:
    return f"frozenset {sorted(map(repr, value))}" if isinstance(value, frozenset) else repr(value)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _is_pure(function: Any) -> bool:
    """Whether a built-in function's answer is decided by its arguments."""
    owner = getattr(function, "__self__", None)
    of_instance = owner is not None and not isinstance(owner, types.ModuleType | type)
    module = type(owner).__module__ if of_instance else function.__module__ or ""
    return function.__name__ not in _IMPURE and module.partition(".")[0] not in _OUTSIDE and "random" not in module


# --- code and where it is -------------------------------------------------------------------------


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _reads(code: types.CodeType, name: str) -> bool:
    """Whether it reads that name from its module, rather than an attribute of that name."""
    return any(
        instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval == name
        for one in _codes(code)
        for instruction in dis.get_instructions(one)
    )


def _functions_of(cls: type[Any]) -> Iterator[types.FunctionType]:
    for value in vars(cls).values():
        yield from _unwrapped(value)


def _unwrapped(value: Any) -> Iterator[types.FunctionType]:
    """The Python functions behind a function, method, property or cached property."""
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, staticmethod | classmethod | types.MethodType):
        yield from _unwrapped(value.__func__)
    elif isinstance(value, property):
        for one in (value.fget, value.fset, value.fdel):
            yield from _unwrapped(one)
    elif isinstance(value, functools.cached_property):
        yield from _unwrapped(value.func)
    elif not isinstance(value, type) and isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
        yield from _unwrapped(value.__wrapped__)


def _codes_of(found: Any) -> set[types.CodeType]:
    functions = _functions_of(found) if isinstance(found, type) else _unwrapped(found)
    return {code for function in functions for code in _codes(function.__code__)}


def _outermost(code: types.CodeType) -> str:
    """The name of the function, or of the class of the method, that holds the code. Raises Indescribable."""
    qualified = getattr(code, "co_qualname", None)  # since Python 3.11
    if qualified is None:
        raise Indescribable("this Python does not tell where code is from")
    outer: str = qualified.partition(".<locals>")[0]
    return outer.rpartition(".")[0] or outer


def _resolve(module: str, name: str) -> Any:
    """Raises Indescribable."""
    found: Any = sys.modules.get(module)
    if found is None:
        try:
            found = importlib.import_module(module)
        except Exception as error:
            raise Indescribable(f"{module} cannot be imported") from error
    for part in name.split("."):
        if part not in vars(found):
            raise Indescribable(f"there is no {module}.{name}")
        found = vars(found)[part]
    return found
