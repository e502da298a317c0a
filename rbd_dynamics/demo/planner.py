# SPDX-License-Identifier: Apache-2.0
"""What a planner asks the dynamics server, and whether the answers fit together.

No dynamics is computed here: each answer is compared with another answer of the server, or with a law of mechanics
(M is symmetric, work is the change of energy). Only the Jacobian of one frame comes from the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray

from rbd_dynamics.demo.client import Client, DemoError, trajectory_message
from rbd_dynamics.demo.motion import ARM, Motion
from rbd_dynamics.demo.panda import TOOL
from rbd_dynamics.robot import Robot
from rbd_dynamics_interfaces import srv

Array = NDArray[np.float64]
SERVER = "/dynamics_server"
TIGHT = 1e-9  # relative: two ways to the same number
ROUGH = 5e-3  # relative, where something is integrated or interpolated
SAMPLES = 500  # of the motion, in one call
PAYLOAD = 2.0  # kg
WRENCH = (1.0, -2.0, 0.5, 10.0, 5.0, -20.0)  # N m and N, in the tool's frame


@dataclass(frozen=True)
class Check:
    """One comparison; `value` is what came out, `limit` how large it may be."""

    what: str
    value: float
    limit: float

    @property
    def passed(self) -> bool:
        return bool(self.value <= self.limit)  # False for a NaN


@dataclass(frozen=True)
class Plan:
    """The motion as the planner sees it: times (N,), motion (3, N, joints), efforts (N, joints)."""

    times: Array
    motion: Array
    efforts: Array


class Planner:
    """Asks in an order of joints of its own, to see that names count and not places."""

    def __init__(self, client: Client, motion: Motion, robot: Robot) -> None:
        self._client, self._robot = client, robot
        self._motion = motion
        self._order = [ARM[k] for k in (3, 0, 6, 2, 5, 1, 4)]
        columns = [ARM.index(name) for name in self._order]
        self._back = np.argsort(columns)
        self.times = np.linspace(0.0, motion.duration, SAMPLES)
        self.q, self.v, self.a = motion.sample(self.times)[:, :, columns]
        self.checks: list[Check] = []

    def run(self) -> Plan:
        """Do all checks. Raises DemoError where a service refuses what it should answer."""
        tau = self._inverse_and_forward()
        self._hybrid(tau)
        self._terms(tau)
        self._payload()
        self._wrench(tau)
        self._fill(tau)
        self._refusal()
        return Plan(self.times, np.array([self.q, self.v, self.a])[:, :, self._back], tau[:, self._back])

    def wait(self) -> None:
        """Until the server has the robot and its kernels."""
        request = srv.InverseDynamics.Request(positions=flat(self.q[:1]))

        def ready() -> bool:
            return bool(self._client.call(srv.InverseDynamics, f"{SERVER}/inverse_dynamics", request).success)

        self._client.wait(ready, "the dynamics server's robot")

    # --- the services -----------------------------------------------------------------------------

    def _inverse_and_forward(self) -> Array:
        tau = self._efforts(self.q, self.v, self.a)
        request = self._request(srv.ForwardDynamics, self.q, self.v)
        request.efforts = flat(tau)
        a = self._numbers(self._ask(srv.ForwardDynamics, "forward_dynamics", request).accelerations)
        self._compare("forward dynamics of the inverse dynamics' torques gives the accelerations back", a, self.a)
        return tau

    def _hybrid(self, tau: Array) -> None:
        prescribed = np.array([True, False, True, False, False, True, True])
        request = self._request(srv.HybridDynamics, self.q, self.v)
        request.prescribed = prescribed.tolist()
        request.accelerations = flat(np.where(prescribed, self.a, 0.0))
        request.efforts = flat(np.where(prescribed, 0.0, tau))
        answer = self._ask(srv.HybridDynamics, "hybrid_dynamics", request)
        a, torque = self._numbers(answer.accelerations), self._numbers(answer.efforts)
        self._compare("hybrid dynamics, four joints prescribed: accelerations of the other three", a, self.a)
        self._compare("hybrid dynamics, four joints prescribed: their torques", torque, tau)

    def _terms(self, tau: Array) -> None:
        answer = self._ask(srv.DynamicsTerms, "dynamics_terms", self._request(srv.DynamicsTerms, self.q, self.v))
        n = len(self._order)
        mass = np.array(answer.mass_matrix).reshape(-1, n, n)
        coriolis, gravity = self._numbers(answer.coriolis), self._numbers(answer.gravity)
        summed = np.einsum("nij,nj->ni", mass, self.a) + coriolis + gravity
        self._compare("M a + C v + N is the inverse dynamics", summed, tau)
        self._compare("M is symmetric", mass, mass.transpose(0, 2, 1))
        least = float(np.linalg.eigvalsh(mass).min())
        self.checks.append(Check("M is positive definite (minus its smallest eigenvalue, kg m²)", -least, 0.0))
        kinetic = np.array(answer.kinetic_energy)
        self._compare("kinetic energy is v M v / 2", kinetic, 0.5 * np.einsum("ni,nij,nj->n", self.v, mass, self.v))
        energy = kinetic + np.array(answer.potential_energy)
        self._compare_work("the torques' work is the change of energy (trapezoidal rule)", tau, energy)

    def _payload(self) -> None:
        still = np.zeros_like(self.v)
        before, energy = self._efforts(self.q, still, still, ["gravity"]), self._potential_energy()
        without = self._set_payload(0.0)
        added = self._set_payload(PAYLOAD) - without
        self.checks.append(Check(f"a payload of {PAYLOAD:g} kg adds its mass (kg)", abs(added - PAYLOAD), 1e-9))
        torque = self._efforts(self.q, still, still, ["gravity"]) - before
        lifted = self._potential_energy() - energy
        self._compare_work("its torque does the work of lifting it (trapezoidal rule)", torque, lifted)
        self._set_payload(0.0)
        after = self._efforts(self.q, still, still, ["gravity"])
        self.checks.append(Check("without it all is as before", float(np.max(np.abs(after - before))), 0.0))

    def _wrench(self, tau: Array) -> None:
        request = self._request(srv.InverseDynamics, self.q, self.v)
        request.accelerations = flat(self.a)
        wrench = WrenchStamped()
        wrench.header.frame_id = TOOL
        wrench.wrench.torque.x, wrench.wrench.torque.y, wrench.wrench.torque.z = WRENCH[:3]
        wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z = WRENCH[3:]
        request.external_wrenches = [wrench]
        pushed = self._numbers(self._ask(srv.InverseDynamics, "inverse_dynamics", request).efforts)
        jacobian = self._robot.jacobian(np.ascontiguousarray(self.q[:, self._back]), TOOL)
        expected = np.einsum("nij,i->nj", jacobian, np.array(WRENCH))
        self._compare("a wrench on the tool takes J^T f off the torques", (tau - pushed)[:, self._back], expected)

    def _fill(self, tau: Array) -> None:
        complete = self._filled(derivatives=2)
        times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in complete.points])
        expected = np.array([np.interp(times, self.times, column) for column in tau[:, self._back].T]).T
        got = np.array([list(point.effort) for point in complete.points])
        scale = float(np.max(np.abs(expected)))
        error = float(np.max(np.abs(got - expected))) / scale
        self.checks.append(Check("fill_trajectory_efforts agrees with inverse_dynamics (interpolated)", error, ROUGH))
        bare = self._filled(derivatives=0)
        got = np.array([list(point.effort) for point in bare.points])
        error = float(np.sqrt(np.mean((got - expected) ** 2))) / scale
        self.checks.append(Check("and from positions alone, every 50 ms (root mean square)", error, ROUGH))

    def _refusal(self) -> None:
        request = self._request(srv.InverseDynamics, self.q[:1], self.v[:1])
        request.joint_names = [*self._order[:-1], "panda_joint8"]
        response = self._client.call(srv.InverseDynamics, f"{SERVER}/inverse_dynamics", request)
        named = not response.success and "panda_joint8" in response.message and not response.efforts
        self.checks.append(Check("an unknown joint is refused by name", 0.0 if named else 1.0, 0.0))

    # --- asking -----------------------------------------------------------------------------------

    def _efforts(self, q: Array, v: Array, a: Array, terms: Sequence[str] = ()) -> Array:
        request = self._request(srv.InverseDynamics, q, v)
        request.accelerations, request.terms = flat(a), list(terms)
        return self._numbers(self._ask(srv.InverseDynamics, "inverse_dynamics", request).efforts)

    def _potential_energy(self) -> Array:
        request = self._request(srv.DynamicsTerms, self.q, self.v)
        return np.array(self._ask(srv.DynamicsTerms, "dynamics_terms", request).potential_energy)

    def _set_payload(self, mass: float) -> float:
        """The total mass with it."""
        request = srv.SetPayload.Request()
        request.payload.header.frame_id = TOOL
        request.payload.inertia.m = mass
        return float(self._ask(srv.SetPayload, "set_payload", request).total_mass)

    def _filled(self, derivatives: int) -> Any:
        request = srv.FillTrajectoryEfforts.Request()
        request.trajectory = trajectory_message(self._motion, derivatives=derivatives)
        return self._ask(srv.FillTrajectoryEfforts, "fill_trajectory_efforts", request).trajectory

    def _request(self, ros_type: Any, q: Array, v: Array) -> Any:
        return ros_type.Request(joint_names=self._order, positions=flat(q), velocities=flat(v))

    def _ask(self, ros_type: Any, name: str, request: Any) -> Any:
        response = self._client.call(ros_type, f"{SERVER}/{name}", request)
        if not response.success:
            raise DemoError(f"service {name} refuses: {response.message}")
        return response

    def _numbers(self, values: Any) -> Array:
        return np.array(values, dtype=float).reshape(-1, len(self._order))

    def _compare_work(self, what: str, tau: Array, energy: Array) -> None:
        power = np.sum(tau * self.v, axis=1)
        work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(self.times))])
        error = float(np.max(np.abs(work - (energy - energy[0]))) / np.ptp(energy))
        self.checks.append(Check(what, error, ROUGH))

    def _compare(self, what: str, got: Array, expected: Array) -> None:
        error = float(np.max(np.abs(got - expected)) / np.max(np.abs(expected)))
        self.checks.append(Check(what, error, TIGHT))


def flat(values: Array) -> list[float]:
    return np.asarray(values).reshape(-1).tolist()
