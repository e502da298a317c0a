# SPDX-License-Identifier: Apache-2.0
"""Contacts that are others at each state, as of bodies with shapes: found first, then dynamics as of any."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.contacts.contact import Contact, ContactLaws
from rbd_dynamics.contacts.dynamics import STILL, TOUCHING, ContactDynamics, Wrenches, check_thresholds, solvers_of
from rbd_dynamics.contacts.results import ContactImpulse, ContactMotion, ContactTorque
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.model.model import Model

Array = NDArray[np.float64]
FAR = 1e12  # m


class FoundContacts(ContactLaws):
    """The n contacts of one state.

    gap (n): m. A (3n, nv), velocity (3n) = A v, bias (3n) = Adot v: rows of normal and two tangents each. points
    (n, 2, 3): where they touch on frame and reference, directions (n, 3, 3): the rows' unit vectors, both in the world.
    """

    def __init__(
        self,
        contacts: Sequence[Contact],
        gap: Array,
        A: Array,
        velocity: Array,
        bias: Array,
        *,
        cone: str,
        points: ArrayLike = (),
        directions: ArrayLike = (),
    ) -> None:
        super().__init__(contacts, cone)
        self.gap, self.A, self.velocity, self.bias = gap, A, velocity, bias
        self.points = np.reshape(points, (-1, 2, 3))
        self.directions = np.reshape(directions, (-1, 3, 3))

    @property
    def h(self) -> Array:
        """(3n) of the rows: gaps at normals."""
        return np.column_stack([self.gap, np.zeros((len(self), 2))]).reshape(-1)


class ContactFinder(ABC):
    """What knows the contacts at any state. `model`, `cone`."""

    model: Model
    cone: str

    @abstractmethod
    def found(self, q: Array, v: Array, *, margin: float = 1e-3, duration: float = 0.0) -> FoundContacts:
        """Those with a gap of at most the margin (m), and what may touch within the duration (s)."""


class FinderDynamics(ContactDynamics):
    """`ContactDynamics` with the contacts that are found at each state.

    Forces are those of `found(q, v)` of the finder, in that order; in a batch those of samples with fewer contacts
    than others have zeros behind them.
    """

    def __init__(self, robot: BoundModel, finder: ContactFinder) -> None:
        if finder.model is not robot.model and finder.model != robot.model:
            raise ValueError("the collision set was made for another model")
        self.robot, self.finder = robot, finder

    def compile(self) -> None:
        """Make the kernels ahead of use."""
        model = self.robot.model
        self.robot.compile("forward_dynamics", "mass_matrix", "inverse_dynamics")
        self.finder.found(model.start_position(), np.zeros(model.nv))

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        touching: float = TOUCHING,
        still: float = STILL,
    ) -> ContactMotion:
        options = {"touching": touching, "still": still}
        return self._each("forward_dynamics", (q, v, tau), f_ext, touching, options)

    def impulse(self, q: ArrayLike, v: ArrayLike, *, touching: float = TOUCHING) -> ContactImpulse:
        return self._each("impulse", (q, v), None, touching, {"touching": touching})

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        actuated: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        touching: float = TOUCHING,
        still: float = STILL,
    ) -> ContactTorque:
        options = {"actuated": actuated, "touching": touching, "still": still}
        return self._each("inverse_dynamics", (q, v, a), f_ext, touching, options)

    def _each(
        self, name: str, states: Sequence[ArrayLike], f_ext: Wrenches | None, touching: float, options: dict[str, Any]
    ) -> Any:
        """The result of a method of `_FoundDynamics`, of one sample or of each of a batch."""
        check_thresholds(touching, options.get("still", 0.0))
        model = self.robot.model
        what = ("q", "v", "a" if name == "inverse_dynamics" else "tau")
        sizes = (model.nq, model.nv, model.nv)
        given = {key: _rows(value, key, size) for key, value, size in zip(what, states, sizes)}
        if f_ext is not None:
            self.robot.body_wrenches(f_ext)  # what is wrong with them is told here, for all samples
            options = {**options, "f_ext": {}}
            given.update({f"f_ext[{frame!r}]": _rows(wrench, "f_ext", 6) for frame, wrench in f_ext.items()})
        lead = _lead(given)
        whole = {key: np.broadcast_to(value, (*lead, value.shape[-1])) for key, value in given.items()}
        samples = []
        for k in np.ndindex(*lead):
            chosen = [value[k] for value in whole.values()]
            if f_ext is not None:
                options["f_ext"] = dict(zip(f_ext, chosen[len(states) :]))
            samples.append(self._sample(name, chosen[: len(states)], touching, options))
        if not lead:
            return samples[0]
        return _stacked(samples or [self._nothing(name, options)], lead)

    def _sample(self, name: str, state: Sequence[Array], touching: float, options: dict[str, Any]) -> Any:
        try:
            position, velocity = self.robot.model.configuration(state[0]), self.robot.model.velocity(state[1])
        except ValueError:
            if self.robot.errors == "raise":
                raise
            return _each_part(lambda part: np.full_like(part, np.nan, dtype=float), self._nothing(name, options))
        at = _FoundDynamics(self.robot, self.finder.found(position, velocity, margin=max(1e-3, touching)))
        found = getattr(at, name)(*state, **options)
        if name == "impulse":
            return found._replace(impulses=found.impulses[: at.count])
        return found._replace(forces=found.forces[: at.count])

    def _nothing(self, name: str, options: dict[str, Any]) -> Any:
        """A result where nothing touches and nothing moves, for its shapes."""
        model = self.robot.model
        still = np.zeros(model.nv)
        state = (model.start_position(), still) if name == "impulse" else (model.start_position(), still, still)
        bare = {key: value for key, value in options.items() if key != "f_ext"}
        at = _FoundDynamics(self.robot, _nowhere(model.nv, self.finder.cone))
        found = getattr(at, name)(*state, **bare)
        return found._replace(
            **{key: getattr(found, key)[:0] for key in ("forces", "impulses") if key in found._fields}
        )


class _FoundDynamics(ContactDynamics):
    """Contact dynamics whose rows are known already."""

    def __init__(self, robot: BoundModel, found: FoundContacts) -> None:
        self.robot, self.count = robot, len(found)
        self.contacts = self._found = found if self.count else _nowhere(robot.model.nv, found.cone)
        self._solvers = solvers_of(robot, self.contacts)

    def terms(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, f_ext: Wrenches | None = None) -> tuple[Array, ...]:
        robot, found = self.robot, self._found
        if f_ext is None:
            a = robot.evaluation("forward_dynamics")((q, v, tau, robot.inertia_input))
        else:
            inputs = (q, v, tau, robot.body_wrenches(f_ext), robot.inertia_input)
            a = robot.evaluation("forward_dynamics_f_ext")(inputs)
        mass = np.asarray(robot.evaluation("mass_matrix")((q, robot.inertia_input)))
        response = np.ascontiguousarray(np.linalg.solve(mass, found.A.T).T)
        return found.A @ response.T, response, np.asarray(a), found.A @ a + found.bias, found.velocity, found.h

    def rows(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array, Array]:
        return self._found.h, self._found.A, self._found.bias


def _nowhere(nv: int, cone: str) -> FoundContacts:
    """A contact that never is one, where there is none: far away, and nothing moves it."""
    still = np.zeros(3)
    return FoundContacts([Contact("none", "none")], np.array([FAR]), np.zeros((3, nv)), still, still, cone=cone)


def _rows(value: ArrayLike, what: str, size: int) -> Array:
    found = real_array(value, what)
    if found.ndim == 0 or found.shape[-1] != size:
        raise ValueError(f"{what} has shape {found.shape}, expected ({size},) or (..., {size})")
    return found


def _lead(given: Mapping[str, Array]) -> tuple[int, ...]:
    """The leading axes, broadcast."""
    try:
        return np.broadcast_shapes(*(value.shape[:-1] for value in given.values()))
    except ValueError:
        text = ", ".join(f"{key} has {value.shape[:-1]}" for key, value in given.items() if value.ndim > 1)
        raise ValueError(f"numbers of samples differ: {text}") from None


def _each_part(change: Callable[[Array], Array], result: Any) -> Any:
    """A named tuple, or one within it, with all arrays changed."""
    if isinstance(result, tuple):
        return type(result)(*(_each_part(change, part) for part in result))
    return change(np.asarray(result))


def _stacked(samples: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """One result with leading axes from results of samples, filled up with zeros to the most contacts."""
    if isinstance(samples[0], tuple):
        return type(samples[0])(*(_stacked(parts, lead) for parts in zip(*samples)))
    arrays = [np.asarray(sample) for sample in samples]
    most = max((len(array) for array in arrays if array.ndim == 2), default=0)
    if arrays[0].ndim == 2:
        arrays = [np.concatenate([array, np.zeros((most - len(array), 3))]) for array in arrays]
    shape = (*lead, *arrays[0].shape)
    return np.reshape(arrays, shape) if math.prod(lead) else np.zeros(shape, dtype=arrays[0].dtype)
