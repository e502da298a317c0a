# SPDX-License-Identifier: Apache-2.0
"""Large programs that are known without tracing: a note in the cache says which program a function is.

A kernel is known by the digest of its program, so its function is traced at each start. That takes milliseconds for an
arm's dynamics and a quarter of a second for the derivatives of a humanoid's. Of a large program, a note keeps the
digest. It is found by the function as pickle has it, which is possible where nothing but data, code of this package
and Python's own is in it, and it counts while the package's source files are what they were. A function from elsewhere
that was put in the place of one in memory is seen, and the program is traced; what else was changed there is not.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import pickle
import sys
import types
from typing import Any

import numpy as np

from rbd_dynamics.compiler import cache
from rbd_dynamics.compiler.program import Function, Signature
from rbd_dynamics.compiler.sources import PACKAGE, replaced_function, source_digest

LARGE = 2500  # nodes of a program, from which there is a note: operations, inputs and numbers
#: rooms whose code may take part; none of them imports another
ROOMS = (
    "common", "spatial", "model", "joints", "formats", "algorithms", "compiler", "kernels", "constraints", "contacts",
    "robot", "actuators", "theory", "analysis", "joint_states", "scene", "collisions", "control",
)  # fmt: skip


class Note:
    """What is kept of one function. key: all that decides about its program but code."""

    def __init__(self, name: str, key: str) -> None:
        self._name, self._key = f"{name}.note", key

    def program(self) -> str | None:
        """Digest of the function's program; None where that cannot be told for certain."""
        kept = cache.load(self._name, self._key)
        if kept is None:
            return None
        sources, program = json.loads(kept)
        return str(program) if sources == _sources() else None

    def keep(self, program: str) -> None:
        """Let this be the function's program, as it was just traced."""
        sources = _sources()
        if sources is not None:
            cache.store(self._name, self._key, json.dumps([sources, program]).encode())


def note_of(name: str, signature: Signature, function: Function, *, rows: bool) -> Note | None:
    """The note of a function; None of one that holds what cannot be told, as a class of somebody else's."""
    content = io.BytesIO()
    try:
        _Content(content).dump((function, signature, rows, sys.version, np.__version__))
    except Exception:  # whatever somebody's own class does when it is pickled
        return None
    return Note(name, hashlib.sha256(content.getvalue()).hexdigest())


def _sources() -> str | None:
    return None if replaced_function(*ROOMS) else source_digest(*ROOMS)


class _Content(pickle.Pickler):
    """The same for the same values, whichever of them are one object."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.fast = True  # without references to what was there before

    def reducer_override(self, value: Any) -> Any:
        """What stands for a value. Raises PicklingError for code of others."""
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            if not _is_known(value.__module__):
                raise pickle.PicklingError(f"{value.__module__}.{value.__qualname__}")
            return NotImplemented
        cls: Any = type(value)
        if not _is_plain(cls):
            return NotImplemented
        return cls, (), {name: part for name, part in vars(value).items() if not _is_left_out(cls, name)}


@functools.cache
def _is_known(module: str | None) -> bool:
    """Whether it is in one of the rooms, or of Python or NumPy, whose versions stand for them."""
    root, _, rest = (module or "").partition(".")
    if root == PACKAGE:
        return rest.partition(".")[0] in ROOMS
    return root == "numpy" or root in sys.stdlib_module_names and root != "__main__"


@functools.cache
def _is_plain(cls: Any) -> bool:
    """Whether all that its objects are is in their dictionaries."""
    as_object = all(getattr(cls, name) is getattr(object, name) for name in ("__new__", "__reduce__", "__reduce_ex__"))
    return as_object and cls.__dictoffset__ != 0 and not any(vars(base).get("__slots__") for base in cls.__mro__)


@functools.cache
def _is_left_out(cls: Any, name: str) -> bool:
    """Whether it follows from the rest, as the answer of a cached property; or no kernel reads it, the class says."""
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return isinstance(found, functools.cached_property) or name in getattr(cls, "NOT_COMPUTED_WITH", ())
