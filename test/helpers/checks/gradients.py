# SPDX-License-Identifier: Apache-2.0
"""Functions of robots for libraries that differentiate: how each is called, and derivatives to compare with.

Derivatives are those of the algorithms as they are written, by complex steps (Squire and Trapp, SIAM Review 40, 1998):
exact to rounding, and they know nothing of tracing, of programs and of what differentiates these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics import Model, ModelBuilder, Robot
from rbd_dynamics.constraints import ConstraintSet, JointCoupling
from rbd_dynamics.gradients import RobotOperations
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.spatial.row_sweeps import finished

Array = NDArray[np.float64]
SMALL = 1e-150


class Case(NamedTuple):
    """words: names in `state` of what the method takes by place; named: of what it takes by name. frame: it has one."""

    words: str
    named: str = ""
    frame: bool = False


INERTIA = "inertial_parameters"
CASES = {
    "inverse_dynamics": Case("q v a", INERTIA),
    "forward_dynamics": Case("q v tau", INERTIA),
    "hybrid_dynamics": Case("q v a tau prescribed", INERTIA),
    "mass_matrix": Case("q", INERTIA),
    "mass_matrix_inverse": Case("q", INERTIA),
    "bias": Case("q v", INERTIA),
    "gravity": Case("q", INERTIA),
    "kinetic_energy": Case("q v", INERTIA),
    "potential_energy": Case("q", INERTIA),
    "center_of_mass": Case("q", INERTIA),
    "constrained_forward_dynamics": Case("q v tau", f"target {INERTIA}"),
    "pose": Case("q", frame=True),
    "jacobian": Case("q", frame=True),
    "step": Case("q v tau h", INERTIA),
    "integrate": Case("q dv"),
    "difference": Case("q q1"),
}
#: what the words are called in an operation
CALLED = {"h": "step", "dv": "v", "q1": "q_after", INERTIA: "inertia"}
#: those whose formulas no complex number goes through: an arc tangent
BY_DIFFERENCES = {"difference"}


def small_arm() -> Model:
    """Two joints of two kinds, with a tool."""
    builder = ModelBuilder("small arm")
    inertia = (0.02, 0.001, 0.0, 0.03, 0.002, 0.025)
    builder.add_body("upper", None, Revolute((0.0, 0.6, 0.8)), mass=2.0, com=(0.1, 0.0, 0.3), inertia=inertia)
    builder.add_body("lower", "upper", Prismatic((0.8, 0.0, 0.6)), mass=1.0, com=(0.0, 0.2, 0.1), inertia=inertia)
    builder.add_frame("tool", "lower", placement=(0.1, 0.2, 0.3))
    return builder.build()


def floating_arm() -> Model:
    """A floating base with two joints: nine numbers of position, eight of velocity."""
    builder = ModelBuilder("floating arm")
    inertia = (0.2, 0.01, 0.0, 0.3, 0.02, 0.25)
    builder.add_body("base", None, Floating(), mass=3.0, com=(0.1, 0.0, 0.2), inertia=inertia)
    builder.add_body("arm", "base", Revolute((0.0, 1.0, 0.0)), mass=1.0, com=(0.3, 0.0, 0.0), inertia=inertia)
    builder.add_body("hand", "arm", Revolute((0.6, 0.0, 0.8)), placement=(0.5, 0.0, 0.0), mass=0.5, inertia=inertia)
    builder.add_frame("tool", "hand", placement=(0.1, 0.2, 0.3))
    return builder.build()


#: whose cells tables have
ROBOTS = {"arm": small_arm, "floating": floating_arm}


def coupled(model: Model) -> ConstraintSet:
    """The first two joints of one coordinate go together."""
    first, second = [joint.name for joint in model.joints if joint.kind.is_coordinate][:2]
    return ConstraintSet(model, [JointCoupling("gear", {first: 1.0, second: -0.7})])


def state(robot: Robot, seed: int = 0, *, rows: int = 0) -> dict[str, Any]:
    """A value of every word."""
    rng, model = np.random.default_rng(seed), robot.model
    found: dict[str, Any] = {name: rng.normal(size=model.nv) for name in ("v", "a", "tau")}
    return found | {
        "q": model.random(rng),
        "q1": model.random(rng),
        "dv": 0.4 * rng.normal(size=model.nv),
        "h": 0.05,
        "prescribed": np.arange(model.nv) % 2 == 0,
        "target": rng.normal(size=rows),
        INERTIA: robot.inertial_parameters,
    }


def call(f: Any, name: str, values: Mapping[str, Any], frame: str = "") -> tuple[Any, ...]:
    """A method for values of its words, those it takes by name where there are any; all results."""
    case = CASES[name]
    given = [values[word] for word in case.words.split()] + ([frame] if case.frame else [])
    named = {word: values[word] for word in case.named.split() if word in values}
    found = getattr(f, name)(*given, **named)
    return found if isinstance(found, tuple) else (found,)


def real_words(name: str) -> list[str]:
    """Words by which a function has derivatives."""
    case = CASES[name]
    return [word for word in f"{case.words} {case.named}".split() if word != "prescribed"]


class Oracle:
    """A function of a robot by its algorithm, over flat vectors of its real words one after the other."""

    def __init__(
        self, robot: Robot, name: str, values: Mapping[str, Any], frame: str = "", constraints: Any = None
    ) -> None:
        self.operation = RobotOperations(robot, constraints=constraints)[f"{name}:{frame}" if frame else name]
        self.words, self._values, self._robot, self._set = real_words(name), values, robot, constraints
        self.differences = name in BY_DIFFERENCES
        self._sizes = {word: (np.shape(values[word]), int(np.size(values[word]))) for word in self.words}

    @property
    def flat(self) -> Array:
        """Where the values are."""
        return np.concatenate([np.ravel(self._values[word]) for word in self.words])

    def shaped(self, x: Any) -> dict[str, Any]:
        """Values of the words from a flat vector of any library's, and of the others as they are."""
        found, begin = dict(self._values), 0
        for word in self.words:
            shape, size = self._sizes[word]
            end = begin + size
            found[word] = x[begin:end].reshape(shape)
            begin = end
        return found

    def __call__(self, x: Array) -> Array:
        """All results, flat; x (..., k), where leading axes are samples."""
        columns, parts, begin = np.moveaxis(np.asarray(x), -1, 0), {}, 0
        for word in self.words:
            size = int(np.size(self._values[word]))
            parts[CALLED.get(word, word)] = list(columns[begin : begin + size])
            begin += size
        vectors = [self._vector(own.name, parts) for own in self.operation.signature.inputs]
        results = finished(self.operation.function(*vectors))[: len(self.operation.signature.outputs)]
        lead = np.shape(x)[:-1]
        return np.stack([np.broadcast_to(value, lead) for result in results for value in result], axis=-1)

    def _vector(self, name: str, parts: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
        if name in parts:
            return parts[name]
        if name == "fixed_inertia":
            return list(self._robot.model.fixed_inertia.parameters)
        return np.ravel(self._set.parameters if name == "parameters" else self._values[name]).astype(float).tolist()

    def jacobian(self, x: Array) -> Array:
        """(results, k)."""
        units = np.eye(len(x))
        if self.differences:
            return ((self(x + 1e-6 * units) - self(x - 1e-6 * units)) / 2e-6).T
        return (self(x + 1j * SMALL * units).imag / SMALL).T

    def curvature(self, x: Array, weights: Array, direction: Array) -> Array:
        """The second derivative (k) of a weighted sum of the results, times a direction."""

        def slope(h: float) -> Array:
            ahead, behind = (weights @ self.jacobian(x + way * h * direction) for way in (1.0, -1.0))
            return (ahead - behind) / (2.0 * h)

        if self.differences:
            return slope(1e-4)
        return (4.0 * slope(5e-4) - slope(1e-3)) / 3.0  # without the error of second order

    @property
    def tolerances(self) -> tuple[float, float]:
        """Relative errors of first and second derivatives."""
        return (1e-8, 1e-4) if self.differences else (1e-13, 1e-8)


def assert_near(found: Any, expected: Any, relative: float) -> None:
    """Equal, compared with the largest number."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=relative * (1e-3 + np.abs(expected).max(initial=0.0)))


class Cell:
    """A function of one of `ROBOTS` in a library, of all its real inputs in one vector, with its oracle.

    Parameters:
        functions: the library's. join: one vector of several. array: the library's own, from NumPy's.
    """

    def __init__(self, functions: Any, join: Any, of: str, name: str, *, array: Any = np.asarray) -> None:
        model = ROBOTS[of]()
        robot = Robot(model)
        constraints = coupled(model) if name.startswith("constrained") else None
        self.f, self._join, self._name = functions(robot, constraints=constraints), join, name
        self._frame = "tool" if CASES[name].frame else ""
        values = dict(state(robot, rows=1))
        values["prescribed"] = array(values["prescribed"])
        self.oracle = Oracle(robot, name, values, self._frame, constraints)
        self.x = self.oracle.flat
        rng = np.random.default_rng(0)
        self.weights = array(rng.normal(size=len(self.oracle(self.x))))
        self.direction = rng.normal(size=len(self.x))
        self.first, self.second = self.oracle.tolerances

    def __call__(self, x: Any) -> Any:
        found = call(self.f, self._name, self.oracle.shaped(x), self._frame)
        return self._join([each.reshape(-1) for each in found])

    def weighted(self, x: Any) -> Any:
        return self(x) @ self.weights
