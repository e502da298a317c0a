"""The services of `dynamics_server` under constraints, whose names the server knows or the request brings along."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import ConstraintSet, load_constraints
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.description import Prefix
from rbd_dynamics.nodes.samples import Layout, flat, wrenches
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
KERNELS = ("constrained_forward_dynamics", "constrained_hybrid_dynamics", "constrained_inverse_dynamics_torque")
CONTRADICTION = 1e-6  # of the largest acceleration: from here on rows contradict each other


class KnownConstraints:
    """The constraints of a file, ready for use, and sets that requests make of them.

    Parameters:
        file: YAML; empty: there are none.

    Raises ValueError or KeyError for a file that cannot be used with the model.
    """

    def __init__(self, file: str, model: Model) -> None:
        self.model = model
        self.all = load_constraints(file, model) if file else None
        self._sets: dict[tuple[tuple[str, ...], str], ConstraintSet] = {}

    def compile(self, robot: Robot) -> None:
        """Make the kernels of the set of all of them, and of each one alone."""
        if self.all is None:
            return
        for names in {(), *((c.name,) for c in self.all.constraints)}:
            robot.compile_constrained(self.chosen(names, ""), *KERNELS)

    def chosen(self, names: tuple[str, ...], text: str) -> ConstraintSet:
        """Those with these names, and those of a YAML text; with neither all that are known.

        Raises ValueError or KeyError that names what is wrong.
        """
        found = self._sets.get((names, text))
        if found is not None:
            return found
        known = () if self.all is None else self.all.constraints
        stabilization = 0.0 if self.all is None else self.all.stabilization
        inline: tuple[Any, ...] = ()
        if text:
            given = load_constraints(text if "\n" in text else text + "\n", self.model)
            inline, stabilization = given.constraints, given.stabilization
        if not names and not text:
            if not known:
                raise ValueError("no constraints: name some, give constraints_yaml, or set parameter constraints_file")
            chosen = known
        else:
            by_name = {constraint.name: constraint for constraint in known}
            for name in names:
                if name not in by_name:
                    there = ", ".join(by_name) or "none"
                    raise ValueError(f"constraints: there is no {name!r}; the server knows {there}")
            chosen = (*(by_name[name] for name in names), *inline)
        found = ConstraintSet(self.model, chosen, stabilization)
        if len(self._sets) >= 100:
            self._sets.clear()
        self._sets[names, text] = found
        return found


class ConstrainedRequest:
    """What the three services have in common: the state, the constraints and the wrenches of a request."""

    def __init__(self, model: Model, prefix: Prefix, known: KnownConstraints, request: Any) -> None:
        self.layout = Layout(model, request.joint_names, prefix)
        self.q = self.layout.positions(request.positions)
        self.v = self.rates("velocities", request.velocities)
        self.constraints = known.chosen(tuple(request.constraints), request.constraints_yaml)
        self.f_ext = wrenches(request.external_wrenches, len(self.q), prefix)

    def rates(self, what: str, numbers: Any) -> Array:
        """(N, nv) of a field."""
        return self.layout.rates(what, numbers, len(self.q))

    def answer(self, response: Any, multipliers: Array, rank: Array, residual: Array, full: int) -> None:
        """Fill what all responses have; full: the rank without redundant rows."""
        response.joint_names = self.layout.names
        response.row_names = list(self.constraints.row_names)
        response.multipliers, response.residual = flat(multipliers), flat(residual)
        response.rank = [int(round(float(r))) for r in rank]
        if min(response.rank) < full:
            sample = int(np.argmin(response.rank))
            response.message = (
                f"{full - response.rank[sample]} of {full} rows are redundant in sample {sample}: "
                "multipliers are the shortest of many"
            )


def forward_dynamics(robot: Robot, x: ConstrainedRequest, request: Any, response: Any, friction: Array) -> None:
    """ConstrainedForwardDynamics. Raises ValueError where rows contradict each other."""
    tau = x.rates("efforts", request.efforts) - friction
    found = robot.constrained_forward_dynamics(x.q, x.v, tau, x.constraints, x.f_ext)
    _check_residual(x.constraints, found.residual, found.a)
    response.accelerations = x.layout.flat(found.a)
    x.answer(response, found.multipliers, found.rank, found.residual, len(x.constraints))


def hybrid_dynamics(robot: Robot, x: ConstrainedRequest, request: Any, response: Any, friction: Array) -> None:
    """ConstrainedHybridDynamics. Raises ValueError where prescribed accelerations violate a constraint."""
    prescribed = x.layout.prescribed(request.prescribed)
    a = np.where(prescribed, x.rates("accelerations", request.accelerations), 0.0)
    tau = np.where(prescribed, 0.0, x.rates("efforts", request.efforts))
    found = robot.constrained_hybrid_dynamics(x.q, x.v, a, tau - friction, prescribed, x.constraints, x.f_ext)
    _check_residual(x.constraints, found.residual, found.a)
    response.accelerations = x.layout.flat(found.a)
    response.efforts = x.layout.flat(np.where(prescribed, found.tau + friction, tau))
    free = len(prescribed) - int(np.count_nonzero(prescribed))
    x.answer(response, found.multipliers, found.rank, found.residual, min(len(x.constraints), free))


def inverse_dynamics(robot: Robot, x: ConstrainedRequest, request: Any, response: Any, friction: Array) -> None:
    """ConstrainedInverseDynamics. Raises ValueError where no actuator torque makes the motion."""
    actuated = x.layout.prescribed(request.actuated) if len(request.actuated) else np.ones(robot.model.nv, bool)
    a, passive = x.rates("accelerations", request.accelerations), x.rates("efforts", request.efforts)
    # what friction takes is needed on top, and at joints without actuator it is a passive torque
    found = robot.constrained_inverse_dynamics(
        x.q, x.v, a, x.constraints, actuated, request.objective or "torque",
        np.where(actuated, 0.0, passive - friction), x.f_ext,
    )  # fmt: skip
    _check_residual(x.constraints, found.residual, a)
    scale = 1.0 + np.abs(found.tau).max(axis=1, keepdims=True)
    off = np.abs(found.lacking) / scale
    if off.max() > CONTRADICTION:
        sample, dof = np.unravel_index(int(off.argmax()), off.shape)
        joint = next(j for j in robot.model.joints if j.v_index <= dof < j.v_index + j.kind.nv)
        raise ValueError(
            f"the actuators cannot make this motion: joint {joint.name!r}, which has none, lacks "
            f"{found.lacking[sample, dof]:.6g} in sample {sample}"
        )
    response.efforts = x.layout.flat(np.where(actuated, found.tau + friction, passive))
    x.answer(response, found.multipliers, found.rank, found.residual, 0)


def _check_residual(constraints: ConstraintSet, residual: Array, a: Array) -> None:
    off = np.abs(residual) / (1.0 + np.abs(a).max(axis=1, keepdims=True))
    if off.max() > CONTRADICTION:
        sample, row = np.unravel_index(int(off.argmax()), off.shape)
        raise ValueError(
            f"the motion violates constraint row {constraints.row_names[row]!r} in sample {sample}: its acceleration "
            f"is off by {residual[sample, row]:.6g}"
        )
