# SPDX-License-Identifier: Apache-2.0
"""The services of `dynamics_server` under constraints, whose names the server knows or the request brings along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import Constraint, ConstraintSet
from rbd_dynamics.constraints.dictionary import read_constraints
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.description import Prefix
from rbd_dynamics.nodes.samples import Layout, flat, wrenches
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
#: forward dynamics is hybrid dynamics without prescribed joints; wrenches that are not there are zero
KERNELS = (
    "constrained_hybrid_dynamics_f_ext",
    "constrained_inverse_dynamics_torque_f_ext",
    "constrained_inverse_dynamics_constraint_force_f_ext",
)
CONTRADICTION = 1e-6  # of the largest acceleration or torque: from here on it is no rounding
REMEMBERED = 100  # sets that requests have made


class Impossible(ValueError):
    """There is no such motion; `fields` of the response tell by how much it is missed."""

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.fields = fields


class KnownConstraints:
    """The constraints of a file, and sets that requests make of them and of their own, ready for use.

    Parameters:
        file: YAML; empty: there are none. Frames and joints may have the prefix, here and in requests.
        robot: what gets the kernels.

    Raises ValueError or KeyError for a file that cannot be used with the robot.
    """

    def __init__(self, file: str, robot: Robot, prefix: Prefix) -> None:
        self._robot, self._prefix = robot, prefix
        self._known: dict[str, Constraint] = {}
        self._stabilization = 0.0
        self._compiled: set[str] = set()
        self._sets: dict[tuple[tuple[str, ...], str], ConstraintSet] = {}
        if file:
            constraints, stabilization = read_constraints(file)
            checked = ConstraintSet(robot.model, map(self._inside, constraints), stabilization=stabilization or 0.0)
            self._known = {constraint.name: constraint for constraint in checked.constraints}
            self._stabilization = checked.stabilization

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._known)

    def compile(self, progress: Callable[[str, int, int], None]) -> None:
        """Make the kernels of the set of all of them, and of each one alone."""
        choices = [(), *((name,) for name in self.names)] if self.names else []
        for number, names in enumerate(choices):
            progress(f"constraints {', '.join(names or self.names)}", number, len(choices))
            self.make_ready(self.chosen(names, ""))

    def is_ready(self, constraints: ConstraintSet) -> bool:
        """Whether no kernel has to be compiled for it."""
        return constraints.key in self._compiled

    def make_ready(self, constraints: ConstraintSet) -> None:
        """Compile what is missing."""
        self._robot.compile_constrained(constraints, *KERNELS)
        self._compiled.add(constraints.key)

    def chosen(self, names: tuple[str, ...], text: str) -> ConstraintSet:
        """Those with these names, then those of a YAML text; with neither all that are known.

        The text's stabilization counts for all if it has one, else the file's. Raises ValueError or
        KeyError that names what is wrong.
        """
        found = self._sets.get((names, text))
        if found is None:
            if len(self._sets) >= REMEMBERED:
                self._sets.clear()
            found = self._sets[names, text] = self._make(names, text)
        return found

    def _make(self, names: tuple[str, ...], text: str) -> ConstraintSet:
        for name in names:
            if name not in self._known:
                there = ", ".join(self._known) or "none"
                raise ValueError(f"constraints: there is no {name!r}; the server knows {there}")
        inline: list[Constraint] = []
        stabilization: float | None = None
        if text.strip():
            inline, stabilization = read_constraints(f"{text}\n")
        elif not names and not self._known:
            raise ValueError("no constraints: name some, give constraints_yaml, or set parameter constraints_file")
        elif not names:
            names = self.names
        chosen = [*(self._known[name] for name in names), *map(self._inside, inline)]
        if stabilization is None:
            stabilization = self._stabilization
        return ConstraintSet(self._robot.model, chosen, stabilization=stabilization)

    def _inside(self, constraint: Constraint) -> Constraint:
        """With the description's names of frames and joints."""
        return constraint.renamed(self._prefix.inside)


class ConstrainedRequest:
    """What the three services have in common: the state, the constraints and the wrenches of a request."""

    def __init__(self, model: Model, prefix: Prefix, known: KnownConstraints, request: Any) -> None:
        self.layout, self.prefix = Layout(model, request.joint_names, prefix), prefix
        self.q = self.layout.positions(request.positions)
        self.v = self.rates("velocities", request.velocities)
        self.f_ext = wrenches(request.external_wrenches, len(self.q), prefix) or {}
        self.constraints = known.chosen(tuple(request.constraints), request.constraints_yaml)

    def rates(self, what: str, numbers: Any) -> Array:
        """(N, nv) of a field."""
        return self.layout.rates(what, numbers, len(self.q))

    def answer(self, response: Any, multipliers: Array, rank: Array, residual: Array, of: str = "") -> None:
        """Fill what all responses have."""
        response.joint_names = self.layout.names
        response.row_names = list(self.constraints.row_names)
        response.multipliers, response.residual = flat(multipliers), flat(residual)
        response.rank = [int(round(float(r))) for r in rank]
        rows = len(self.constraints)
        if min(response.rank) < rows:
            sample = int(np.argmin(response.rank))
            response.message = (
                f"{rows - response.rank[sample]} of {rows} rows are redundant{of} in sample {sample}: "
                "multipliers are not unique"
            )

    def check_residual(self, residual: Array, a: Array, reason: str) -> None:
        """Raises Impossible, with a reason for row {row}, where an acceleration is not what the constraints want."""
        off = np.abs(residual) / (1.0 + np.abs(a).max(axis=1, keepdims=True))
        if off.max() > CONTRADICTION:
            sample, row = np.unravel_index(int(off.argmax()), off.shape)
            names = self.constraints.row_names
            raise Impossible(
                f"{reason.format(row=repr(names[row]))} in sample {sample}: its acceleration is off by "
                f"{residual[sample, row]:.6g}",
                row_names=list(names),
                residual=flat(residual),
            )


def forward_dynamics(robot: Robot, x: ConstrainedRequest, request: Any, response: Any, friction: Array) -> None:
    """ConstrainedForwardDynamics. Raises Impossible where rows contradict each other."""
    tau = x.rates("efforts", request.efforts) - friction
    found = robot.constrained_hybrid_dynamics(
        x.q, x.v, np.zeros_like(tau), tau, np.zeros(robot.model.nv, bool), x.constraints, f_ext=x.f_ext
    )
    x.check_residual(found.residual, found.a, "constraint row {row} contradicts the rows before it")
    response.accelerations = x.layout.flat(found.a)
    x.answer(response, found.multipliers, found.rank, found.residual)


def hybrid_dynamics(robot: Robot, x: ConstrainedRequest, request: Any, response: Any, friction: Array) -> None:
    """ConstrainedHybridDynamics. Raises Impossible where prescribed accelerations violate a constraint."""
    prescribed = x.layout.flags("prescribed", request.prescribed)
    a = np.where(prescribed, x.rates("accelerations", request.accelerations), 0.0)
    tau = np.where(prescribed, 0.0, x.rates("efforts", request.efforts))
    found = robot.constrained_hybrid_dynamics(x.q, x.v, a, tau - friction, prescribed, x.constraints, f_ext=x.f_ext)
    x.check_residual(found.residual, found.a, "the prescribed motion, or a row before, violates constraint row {row}")
    response.accelerations = x.layout.flat(found.a)
    response.efforts = x.layout.flat(np.where(prescribed, found.tau + friction, tau))
    of = " for the joints that are not prescribed" if prescribed.any() else ""
    x.answer(response, found.multipliers, found.rank, found.residual, of)


def inverse_dynamics(robot: Robot, x: ConstrainedRequest, request: Any, response: Any, friction: Array) -> None:
    """ConstrainedInverseDynamics. Raises Impossible where constraints or actuators do not allow the motion."""
    actuated = x.layout.flags("actuated", request.actuated) if len(request.actuated) else np.ones(robot.model.nv, bool)
    a, passive = x.rates("accelerations", request.accelerations), x.rates("efforts", request.efforts)
    # what friction takes is needed on top, and at joints without actuator it is a passive torque
    found = robot.constrained_inverse_dynamics(
        x.q, x.v, a, x.constraints, actuated=actuated, objective=request.objective or "torque",
        tau=np.where(actuated, 0.0, passive - friction), f_ext=x.f_ext,
    )  # fmt: skip
    x.check_residual(found.residual, a, "the motion violates constraint row {row}")
    _check_actuators(robot.model, x, found.lacking, found.tau)
    # its own rank is of the rows as joints without actuator feel them; redundant are rows for all joints
    still, none = np.zeros_like(a), np.zeros(robot.model.nv, bool)
    rank = robot.constrained_hybrid_dynamics(x.q, x.v, still, still, none, x.constraints, f_ext={}).rank
    response.efforts = x.layout.flat(np.where(actuated, found.tau + friction, passive))
    x.answer(response, found.multipliers, rank, found.residual)


def _check_actuators(model: Model, x: ConstrainedRequest, lacking: Array, tau: Array) -> None:
    off = np.abs(lacking) / (1.0 + np.abs(tau).max(axis=1, keepdims=True))
    if off.max() > CONTRADICTION:
        sample, dof = np.unravel_index(int(off.argmax()), off.shape)
        joint = next(j for j in model.joints if j.v_index <= dof < j.v_index + j.kind.nv)
        raise Impossible(
            f"the actuators cannot make this motion: joint {x.prefix.outside(joint.name)!r}, which has none, lacks "
            f"{lacking[sample, dof]:.6g} in sample {sample}"
        )
