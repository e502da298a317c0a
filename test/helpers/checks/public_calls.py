# SPDX-License-Identifier: Apache-2.0
"""Every public call of the library that works on a state, with arguments: what is added later is included by itself.

Calls are found by their names and signatures; what one of them needs that is not in `state` is told by an error.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, fields, is_dataclass

import numpy as np

import rbd_dynamics as rbd
import rbd_dynamics.analysis
from helpers.models.touching import block, slope
from rbd_dynamics.collisions import CollisionSet, CollisionShape
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.simulation import INTEGRATORS, Simulation, SimulationOptions
from rbd_dynamics.spatial.se3 import IDENTITY

#: they make kernels and objects with methods, show something, set what counts for all threads, or are not for a robot
#: that floats (test_inverse_kinematics.py and test_workspace.py have threads of their own)
NOT_COMPARED = {"analysis.workspace.workspace"} | {
    f"Robot.{name}"
    for name in (
        "compile", "compile_constrained", "custom_kernel", "constrained_kernel", "evaluation", "constrained",
        "in_contact", "carrying", "set_payload", "show", "inverse_kinematics",
    )
}  # fmt: skip
ANALYSIS = [module.name for module in pkgutil.iter_modules(rbd_dynamics.analysis.__path__)]
KEYWORDS = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def world():
    """A block on the ground: robot, contacts, constraints and shapes, all made anew."""
    model = block()
    shapes = [
        CollisionShape("block", "block", "box", size=(0.1, 0.1, 0.1)), CollisionShape("floor", "world", "plane"),
        CollisionShape("ball", "world", "sphere", size=(0.3,)),
    ]  # fmt: skip
    try:
        touching = CollisionSet(model, shapes)
    except ImportError:  # Coal is optional
        touching = None
    return {
        "robot": rbd.Robot(model), "model": model, "shapes": touching,
        "contacts": slope(model, 0.0, friction_coefficient=0.5),
        "constraints": ConstraintSet(model, [FrameConstraint("held", "block", directions=("x", "y"))]),
    }  # fmt: skip


def same(value):
    """What is given."""
    return value


def state(seed):
    """One value of each name that arguments have, on the ground, where every contact acts."""
    rng = np.random.default_rng(seed)
    given = {name: rng.normal(size=6) for name in ("v", "a", "tau", "x", "b", "by_inverse")}
    given["v"][5] = -1.0 - rng.random()  # downwards, faster than any corner turns upwards
    turn = 0.5 * float(rng.normal())
    given["q"] = np.array([*rng.normal(size=2), 0.05, 0.0, 0.0, np.sin(turn), np.cos(turn)])
    given["direction"] = rng.normal(size=(3, 6))
    given["by_inverse"] = rng.normal(size=(6, 10))
    return given | {
        "multipliers": rng.normal(size=2), "prescribed": rng.random(6) < 0.5, "frame": "block",
        "wrench": rng.normal(size=6),
        "A": rng.normal(size=(2, 6)), "mass": float(rng.uniform(0.1, 1.0)), "com": 0.1 * rng.normal(size=3),
        # of options
        "f_ext": {"block": rng.normal(size=6)}, "target": rng.normal(size=2), "actuated": rng.random(6) < 0.7,
        "objective": "constraint_force", "restitution": float(rng.random()), "after": rng.normal(size=2),
        "touching": 1e-3, "still": 1e-4, "transposed": True, "tolerance": 1e-8,
        "iterations": 20, "rows": [3, 4], "point": 0.1 * rng.normal(size=3), "world_axes": True,
        "weight": np.diag(rng.uniform(1.0, 2.0, 6)), "torque_limits": rng.uniform(1.0, 2.0, 6), "samples": 12,
        "rng": 3, "margin": 9.0, "duration": 0.01, "inertia": 0.01 * np.eye(3),
        "name": "held", "reference": IDENTITY, "sensor": None, "change": same,
    }  # fmt: skip


@dataclass(frozen=True)
class Call:
    """name: as it is written. needs: names of arguments. option: one more, by its keyword; empty: none."""

    name: str
    needs: tuple[str, ...]
    option: str = ""

    def __str__(self):
        return f"{self.name}({self.option})" if self.option else self.name

    def __call__(self, of, at, **more):
        """The result, of the objects `world` makes and the arguments `state` makes."""
        given = {**of, **at}
        owner, _, method = self.name.rpartition(".")
        target = {"Robot": of["robot"], "CollisionSet": of["shapes"], "ConstraintSet": of["constraints"]}.get(owner)
        if target is None:  # a module; its directions are those of points
            target, given["direction"] = importlib.import_module(f"rbd_dynamics.{owner}"), 10.0 * given["point"]
        else:
            given |= {"direction": tuple(given["direction"]), "parameters": of["constraints"].parameters}
        if not owner.endswith("Set"):  # of a Jacobian, and no placement
            given["reference"] = "aligned"
        function = getattr(target, method)
        arguments = [given[key] for key in self.needs]
        if self.option == "out":
            more["out"] = _empty_like(function(*arguments))
        elif self.option:
            more[self.option] = given[self.option]
        return function(*arguments, **more)


def _empty_like(result):
    return np.empty_like(result) if isinstance(result, np.ndarray) else tuple(map(_empty_like, result))


def calls():
    """All of them."""
    found = [
        *_of("Robot", inspect.getmembers(rbd.Robot, inspect.isfunction)),
        *_of("CollisionSet", inspect.getmembers(CollisionSet, inspect.isfunction)),
        *_of("ConstraintSet", inspect.getmembers(ConstraintSet, inspect.isfunction)),
    ]
    for name in ANALYSIS:
        module = importlib.import_module(f"rbd_dynamics.analysis.{name}")
        own = [(key, each) for key, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__]
        found += _of(f"analysis.{name}", [pair for pair in own if inspect.isfunction(pair[1])])
    return found


def _of(owner, members):
    values = {**state(0), **dict.fromkeys(("robot", "contacts", "constraints", "parameters", "out"))}
    for name, function in members:
        if name.startswith("_") or f"{owner}.{name}" in NOT_COMPARED:
            continue
        given = [
            p for p in inspect.signature(function).parameters.values() if p.name != "self" and p.kind not in KEYWORDS
        ]
        needs = tuple(p.name for p in given if p.default is p.empty)
        options = [p.name for p in given if p.default is not p.empty]
        unknown = {*needs, *options} - set(values)
        assert not unknown, f"{owner}.{name}: add values for {sorted(unknown)} to `state` of {__file__}"
        yield from (Call(f"{owner}.{name}", needs, option) for option in ("", *options))


def simulated(of, at, integrator, what):
    """State after some steps of a simulation of its own, with constraints, contacts or shapes that others share."""
    options = SimulationOptions(integrator=integrator, start_braked=False)
    shared = {} if what == "nothing" or of[what] is None else {"contacts" if what == "shapes" else what: of[what]}
    simulation = Simulation(of["model"], q=at["q"], options=options, **shared)
    simulation.advance(4)
    return simulation.q.copy(), simulation.v.copy()


SIMULATED = [
    (integrator, what) for integrator in INTEGRATORS for what in ("nothing", "constraints", "contacts", "shapes")
]


def equal(found, expected):
    """To the last bit, of all that results are made of."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(equal(found[key], expected[key]) for key in expected)
    if is_dataclass(expected):
        return all(equal(getattr(found, each.name), getattr(expected, each.name)) for each in fields(expected))
    if isinstance(expected, (tuple, list)):
        return len(found) == len(expected) and all(map(equal, found, expected))
    if isinstance(expected, np.ndarray):
        return np.array_equal(found, expected)
    plain = expected is None or type(expected).__eq__ is not object.__eq__
    return found == expected if plain else equal(vars(found), vars(expected))
