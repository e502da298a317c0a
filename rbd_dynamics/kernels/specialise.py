# SPDX-License-Identifier: Apache-2.0
"""Specialises an algorithm: the function that a compiler takes, for one robot, over flat vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rbd_dynamics.algorithms.expansion import Expansion, expanded
from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.excerpt import close_names
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.kernels.arguments import arguments, per_body, sizes_of
from rbd_dynamics.kernels.catalog import CATALOG, STEPS
from rbd_dynamics.kernels.constrained import CONSTRAINED
from rbd_dynamics.kernels.entry import Algorithm, Entry
from rbd_dynamics.kernels.inputs import Inputs, RowSource, Vector
from rbd_dynamics.kernels.of_frames import IN_OTHER_REFERENCES
from rbd_dynamics.model.checks import singular_joints
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.row_sweeps import Unfinished

_ALONG = "_along"  # directional derivatives
_WITH_WRENCHES = "_f_ext"
_PACKAGE = __name__.partition(".")[0]


def specialise(
    model: Model, name: str, *, friction: bool = False, constraints: RowSource | None = None
) -> tuple[Signature, Function]:
    """Signature and function of a kernel of the catalog; "_f_ext" at the end adds external wrenches.

    Raises KeyError for an unknown name, also of a frame.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an algorithm is a text, not {type(name).__name__}")
    base, _, frame = name.partition(":")
    known = CATALOG if constraints is None else CONSTRAINED
    entry = known.get(base) or known.get(base.removesuffix(_WITH_WRENCHES))
    wrenches = entry is not None and base not in known
    if entry is None or (wrenches and not entry.wrenches) or bool(frame) != (entry.of == "frame"):
        raise KeyError(_no_such_algorithm(model, name, known, entry))
    words = entry.inputs.split()
    if wrenches:
        words.insert(words.index("inertia"), "f_ext")
        words += ["along_f_ext"] * ("along_q" in words)
    rows = 0 if constraints is None else len(constraints)
    sizes = sizes_of(model, rows, 0 if constraints is None else len(constraints.parameters))
    signature = Signature(arguments(" ".join(words), sizes), arguments(entry.outputs, sizes))
    listed = base if base in known else base.removesuffix(_WITH_WRENCHES)
    algorithm: Algorithm = entry.function
    if entry.function.__module__.startswith(f"{_PACKAGE}."):
        algorithm = _Listed(listed, constraints is not None)
    return signature, function_of(model, signature, algorithm, friction=friction, frame=frame, constraints=constraints)


def _no_such_algorithm(model: Model, name: str, known: Mapping[str, Entry], entry: Entry | None) -> str:
    base, colon, frame = name.partition(":")
    near = [] if base in known else close_names(base.removesuffix(_WITH_WRENCHES), list(known))
    hint = f"did you mean {', '.join(near)}? " if near else ""
    if entry is not None and entry.of == "frame" and not frame:
        if colon:
            return unknown("frame", frame, model.frame_names)
        hint = f"it is of a frame, as in '{base}:{(model.frame_names or ['FRAME'])[-1]}'; "
    asked = [key for key in known if key not in STEPS]
    shown = {key: known[key] for key in asked if not key.endswith((_ALONG, *IN_OTHER_REFERENCES))}
    names = ", ".join(f"{key}:FRAME" if of.of == "frame" else key for key, of in shown.items())
    also = f"; some also with {', '.join((_ALONG, *IN_OTHER_REFERENCES))}" if len(shown) < len(asked) else ""
    return f"no algorithm named {name!r}; {hint}known: {names}{also}"


def function_of(
    model: Model,
    signature: Signature,
    algorithm: Algorithm,
    *,
    friction: bool = False,
    frame: str = "",
    constraints: RowSource | None = None,
) -> Function:
    """An algorithm over `Inputs` as a function of flat vectors. Raises KeyError for an unknown frame."""
    if frame:
        model.frame(frame)
    return ModelFunction(model, signature, algorithm, friction, frame, constraints)


@dataclass(frozen=True)
class _Listed:
    """An algorithm of the catalog by its name, which says more than a function that has none."""

    name: str
    constrained: bool

    def __call__(self, x: Inputs) -> Any:
        return (CONSTRAINED if self.constrained else CATALOG)[self.name].function(x)


@dataclass(frozen=True)
class ModelFunction:
    """An algorithm over `Inputs` as a function of flat vectors.

    The algorithm sees the expanded tree, in which chains are single joints; what goes in and out is for
    the bodies of the model itself. Of an algorithm that pickle can find by its name, large programs are known
    without tracing (`compiler.notes`).

    frame: by name, "" for none.
    """

    model: Model
    signature: Signature
    algorithm: Algorithm
    friction: bool
    frame: str
    constraints: RowSource | None

    @cached_property
    def _tree(self) -> Expansion:
        return expanded(self.model)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return sizes_of(self.model)

    @cached_property
    def _place(self) -> Frame | None:
        return self._tree.model.frame(self.frame) if self.frame else None

    @cached_property
    def _massless(self) -> bool:
        return self.constraints is not None and bool(singular_joints(self.model))

    def __call__(self, *vectors: Vector) -> Sequence[Vector] | Unfinished:
        tree, signature = self._tree, self.signature
        named = {argument.name: self._spread(argument, vector) for argument, vector in zip(signature.inputs, vectors)}
        given = Inputs(
            tree.model,
            named,
            friction=self.friction,
            frame=self._place,
            constraints=self.constraints,
            massless=self._massless,
        )
        found = self.algorithm(given)
        if isinstance(found, Unfinished):  # matrices of degrees of freedom, of which each tree has the same
            return found._replace(more=(given.checks,))
        results = [self._gathered(argument, vector) for argument, vector in zip(signature.outputs, found)]
        return [*results, given.checks]

    def _spread(self, argument: Argument, vector: Vector) -> Vector:
        width = per_body(argument.name, self._sizes)
        return self._tree.spread(vector, width) if width else vector

    def _gathered(self, argument: Argument, vector: Vector) -> Vector:
        width = per_body(argument.name, self._sizes)
        return self._tree.gather(vector, width) if width else vector
