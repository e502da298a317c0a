# SPDX-License-Identifier: Apache-2.0
"""The kernels of this machine against the plain algorithms, and the cache that keeps them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from rbd_dynamics.cli.doctor.findings import Looked
from rbd_dynamics.common.extras import remedy
from rbd_dynamics.compiler import cache, cache_size
from rbd_dynamics.compiler.backends import Backend, best_backend
from rbd_dynamics.model import Model, ModelBuilder
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute, Spherical
from rbd_dynamics.robot import Robot

#: relative to the largest number of a result: rounding, and no more
TOLERANCE = 1e-9
SAMPLES = 16


def look_at_kernels() -> Iterator[Looked]:
    backend = best_backend()
    slow = backend == "python"
    yield Looked(
        "backend",
        "the same programs in Python" if slow else "machine code (LLVM)",
        state="note" if slow else "fine",
        advice=f"calls take a hundred times as long: {remedy('llvmlite')}" if slow else "",
    )
    start = time.perf_counter()
    try:
        worst = largest_difference(backend)
    except Exception as error:  # whatever a broken compiler raises
        yield Looked("self-test", f"{type(error).__name__}: {error}", state="broken", advice="please report it")
        return
    told = f"{worst:.1e} of the largest number, {time.perf_counter() - start:.1f} s"
    wrong = not worst < TOLERANCE
    yield Looked(
        "self-test",
        f"kernels {'differ from' if wrong else 'agree with'} the plain algorithms: {told}",
        state="broken" if wrong else "fine",
        advice=f"do not trust results; {cache.ENVIRONMENT_VARIABLE}= turns the cache off; please report it"
        if wrong
        else "",
    )


def look_at_cache() -> Iterator[Looked]:
    folder = cache.folder()
    if folder is None:
        yield Looked(
            "cache",
            "kernels are not kept",
            state="note",
            advice=f"each process compiles them anew; {cache.ENVIRONMENT_VARIABLE} chooses a folder that only you "
            "can write to",
        )
        return
    sizes = [entry.stat().st_size for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    limit = cache_size.size_limit()
    yield Looked("cache", str(folder))
    yield Looked(
        "cache's size", f"{len(sizes)} files, {sum(sizes) / 2**20:.1f} MB of {limit >> 20} ({cache_size.SIZE_VARIABLE})"
    )


def a_model() -> Model:
    """A model of some bodies, with joints of several kinds."""
    builder = ModelBuilder("doctor's robot")
    shape: dict[str, Any] = {"com": (0.1, -0.05, 0.2), "inertia": (0.2, 0.01, 0.0, 0.3, 0.02, 0.25)}
    builder.add_body("trunk", None, Floating(), mass=5.0, **shape)
    builder.add_body("left", "trunk", Revolute((0.0, 0.6, 0.8)), mass=2.0, **shape)
    builder.add_body("rod", "left", Prismatic((1.0, 0.0, 0.0)), mass=1.0, **shape)
    builder.add_body("right", "trunk", Spherical(), mass=1.5, **shape)
    builder.add_body("hand", "right", Revolute((0.0, 0.0, 1.0)), mass=0.5, **shape)
    return builder.build()


def largest_difference(backend: Backend) -> float:
    """Largest relative difference between kernels, single and in a batch, and the reference."""
    model = a_model()
    robot, reference = Robot(model, backend=backend), Robot(model, backend="reference")
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in range(SAMPLES)])
    v, a = rng.normal(size=(2, SAMPLES, model.nv))
    given = np.arange(model.nv) % 2 == 0

    def results(one: Robot, *x: Any) -> list[Any]:
        q, v, a = x
        return [
            one.inverse_dynamics(q, v, a),
            one.forward_dynamics(q, v, a),
            *one.hybrid_dynamics(q, v, a, a, np.broadcast_to(given, v.shape)),
            one.mass_matrix(q),
            one.gravity(q),
        ]

    wanted = [np.stack(each) for each in zip(*(results(reference, *x) for x in zip(q, v, a)))]
    single = [np.stack(each) for each in zip(*(results(robot, *x) for x in zip(q, v, a)))]
    batch = results(robot, q, v, a)
    differences = [
        np.max(np.abs(found - right)) / np.max(np.abs(right))
        for several in (single, batch)
        for found, right in zip(several, wanted)
    ]
    return float(np.max(differences))  # NaN, if there is one
