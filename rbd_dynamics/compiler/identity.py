# SPDX-License-Identifier: Apache-2.0
"""Which program a function is: kernels are known by what they compute, never by a name that somebody gave.

The key of a kernel is the digest of its traced program. So as not to trace at each start, a note in the cache keeps
the digest with all code that took part; it counts while the function's values and that code are as they were.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from typing import NamedTuple

from rbd_dynamics.compiler import cache
from rbd_dynamics.compiler.cached_only import about_to_compile
from rbd_dynamics.compiler.description import Description, Indescribable, describe
from rbd_dynamics.compiler.participants import Part, Recorder, described_digest, module_digest, unchanged
from rbd_dynamics.compiler.program import Function, Program, Signature, trace

MOST_VERSIONS = 8  # of the code: of checkouts side by side

_log = logging.getLogger("rbd_dynamics")


class Identity(NamedTuple):
    """digest: of the program; program: where it had to be traced."""

    digest: str
    program: Program | None


def identify(name: str, signature: Signature, function: Function, *, rows: bool) -> Identity:
    """The program that the function is today; traced only where that cannot be told otherwise. rows: see `trace`."""
    described, key = _described(signature, function, rows)
    note_name = f"{name.partition(':')[0]}.trace"
    versions: list[tuple[str, list[Part]]] = []
    if described is not None and (note := cache.load(note_name, key)) is not None:
        versions = [(digest, [Part(*part) for part in parts]) for digest, parts in json.loads(note)]
        for digest, parts in versions:
            if unchanged(parts):
                return Identity(digest, None)
    about_to_compile(name)
    recorder = Recorder()
    program: Program = recorder.run(functools.partial(trace, function, signature, rows=rows))
    digest = program_digest(program)
    if described is not None:
        try:
            versions = [(digest, recorder.parts(described)), *versions[: MOST_VERSIONS - 1]]
            cache.store(note_name, key, json.dumps(versions).encode())
        except Indescribable as reason:
            _log.debug("kernel %s is traced at every start: %s", name, reason)
    return Identity(digest, program)


def program_digest(program: Program) -> str:
    """Digest of a program's operations and of its signature."""
    content = repr((program.signature, program.nodes, program.results, program.checks, program.rows))
    return hashlib.sha256(content.encode()).hexdigest()


@functools.cache
def compiler_digest(*modules: str) -> str:
    """Digest of the code that makes kernels out of programs: modules of this room."""
    room = __name__.rpartition(".")[0]
    return module_digest(*(f"{room}.{module}" for module in modules))


def _described(signature: Signature, function: Function, rows: bool) -> tuple[Description | None, str]:
    try:
        described = describe(function)
        return described, "\0".join((repr(signature), f"rows {rows}", described.text, described_digest(described)))
    except Indescribable as reason:
        _log.debug("a function is traced at every start: %s", reason)
        return None, ""
