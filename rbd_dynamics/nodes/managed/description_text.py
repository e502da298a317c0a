# SPDX-License-Identifier: Apache-2.0
"""The way from a robot description to what a node works with."""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any, TypeVar

from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.markup.xml_text import HasDoctype, is_strict, parsed
from rbd_dynamics.compiler.cached_only import NotCached
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.nodes.interface.common import CommonParameters
from rbd_dynamics.nodes.interface.parameters import per_name

P = TypeVar("P", bound=CommonParameters)
E = TypeVar("E")
#: called as progress(name of a kernel, its number, how many there are); raises BuildError where nobody waits any more
Progress = Callable[[str, int, int], None]

SAME_GRAVITY = 0.1  # m/s^2; formats differ in what it is by default
MANY_BODIES = 50  # whose kernels take long to compile


class BuildError(Exception):
    """A description that cannot be used; the message names the culprit."""


class Doubt(BuildError):
    """It may be of another robot than the one that is commanded: taken only where somebody agrees."""


def built(
    text: str | bytes,
    params: P,
    make: Callable[[Model, P, Progress], E],
    progress: Progress,
    warn: Callable[[str], None],
) -> tuple[Model, E]:
    """The model of a description and the engine that `make` makes of it. Raises BuildError, or NotCached."""
    try:
        model = read_model(text if isinstance(text, str) else text.decode(), params, warn)
    except UnicodeDecodeError:
        raise BuildError("robot_description: it is not UTF-8") from None
    except (ValueError, KeyError, ArithmeticError) as error:
        raise BuildError(f"robot_description: {message_of(error)}") from None
    if len(model.bodies) > MANY_BODIES:
        warn(f"{len(model.bodies)} moving links: compiling for them may take minutes")
    return model, engine_for(model, params, make, progress)


def engine_for(model: Model, params: P, make: Callable[[Model, P, Progress], E], progress: Progress) -> E:
    """What `make` makes of a model. Raises BuildError, or NotCached."""
    try:
        return make(model, params, progress)
    except (BuildError, NotCached, MemoryError):
        raise
    except (ValueError, KeyError, ArithmeticError) as error:
        raise BuildError(message_of(error)) from None
    except Exception as error:
        raise BuildError(f"{type(error).__name__}: {message_of(error)}") from error


def read_model(text: str, params: CommonParameters, warn: Callable[[str], None]) -> Model:
    """The model of a description, with the node's parameters applied; warnings go to `warn`. Raises ValueError."""
    locked = per_name("parameter 'locked_positions'", params.locked_joints, params.locked_positions)
    x, y, z = params.gravity
    check_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: warn(str(message))
        options: dict[str, Any] = {
            "base": params.root,
            "locked": locked or None,
            "inertias": "as_given" if params.given_inertias else "checked",
        }
        if params.model or "<sdf" in text:
            from rbd_dynamics.formats.load import load  # it takes a URDF as well; what it imports takes time

            model = load(text, model=params.model or None, **options)
            if math.dist(model.gravity, params.gravity) > SAME_GRAVITY:
                described = list(model.gravity)
                warn(f"gravity is {[x, y, z]} m/s^2, as parameter 'gravity' says, and not {described}, as the SDF does")
            model = model.with_gravity((x, y, z))
        else:
            model = load_urdf(text, gravity=(x, y, z), **options)
    if not model.joints:
        raise ValueError(f"robot {excerpt(model.name)} has no joint that moves: there is nothing to compute")
    if len(model.bodies) > params.most_links:
        raise ValueError(
            f"it has {len(model.bodies)} moving links, more than parameter 'most_links' ({params.most_links})"
        )
    return model


def check_text(text: str, what: str = "") -> None:
    """What can be told of a description at once. Raises ValueError; its text begins with `what`."""
    if not text.strip():
        raise ValueError(f"{what}it is empty")
    if not text.lstrip().startswith("<"):
        begin = text.strip()[:40]
        path = "; is that a path? It has to be the content of the file" if text.strip().endswith(".urdf") else ""
        raise ValueError(f"{what}it is not XML; it begins with {begin!r}{path}")


def check_whole_text(text: str, most: int, what: str = "") -> None:
    """The same, and all of the text: that it is well-formed, and has at most `most` bytes. Raises ValueError."""
    check_text(text, what)
    if len(text) > most:
        raise ValueError(f"{what}it has {len(text)} bytes, more than parameter 'largest_description' ({most})")
    try:
        if not is_strict(text):
            parsed(text)
    except (HasDoctype, ET.ParseError, ValueError, LookupError) as error:
        raise ValueError(f"{what}it is not well-formed XML: {message_of(error)}") from None


def message_of(error: Exception) -> str:
    """The text of an exception, of a long one its begin and end; a KeyError's without the quotes around it."""
    return shortened(str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error))


class Prefix:
    """Names in messages are `prefix` + names in the description, unless all joints there have it already."""

    def __init__(self, prefix: str, model: Model) -> None:
        already = all(name.startswith(prefix) for name in model.joint_names)
        self._prefix = "" if already else prefix

    def outside(self, name: str) -> str:
        """The name in messages of a name in the description."""
        return self._prefix + name

    def inside(self, name: str) -> str:
        """The name in the description of a name in messages; a name without the prefix stays as it is."""
        return name.removeprefix(self._prefix)
