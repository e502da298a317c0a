# SPDX-License-Identifier: Apache-2.0
"""The force that can be let go in time where contact is lost, so that the tool does not go far.

Efforts fall no faster than their rates allow, and actuators follow late; meanwhile a force F moves a mass m by F / m.
How far that leads is reckoned joint by joint, with what the law answers, until the tool stands. What friction holds is
free at once, too: a wrist that weighs little is fast before any effort answers (`HeldByFriction`).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.control.hybrid.touch.normal_speed import BRAKING

if TYPE_CHECKING:
    from rbd_dynamics.compiler.loops import Bound
    from rbd_dynamics.control.hybrid.controller import HybridController

Array = NDArray[np.float64]
STEP = 0.001  # s
UNSEEN = 4  # steps from when contact is lost to when the push falls
LONGEST = 200  # steps
HALVINGS = 7
SINGULAR = 1e-7  # of the largest mobility
LOST = 0.08  # s: a lost contact goes no farther than `normal_speed` does in that time
THROWN = 0.5  # of a joint's velocity limit: what friction that lets go may make of it
KEPT = 0.98  # of how much friction holds is kept from one look to the next: it comes and goes


def way_of(
    n: int, row: Array, pushed: Array, inverse: Array, damping: Array, stiffness: Array, rates: Array, lag: Array,
    felt: Array, wanted: Array, v: Array, x: Array, found: Array,
) -> int:  # fmt: skip
    """found[2]: how far (m) a tool goes that has pushed with found[0] when its contact is lost.

    row (n): of the constraint. pushed (n): efforts for each N. inverse (n n): of the mass matrix. damping, stiffness
    (n n): efforts for each unit of joint velocity and position, by which the law answers. rates (n): of efforts.
    lag (1): share of it that an actuator makes up for in a step. felt, wanted, v, x (n): for the work.
    """
    for i in range(n):
        wanted[i] = found[0] * pushed[i]
        felt[i] = wanted[i]
        v[i] = 0.0
        x[i] = 0.0
    way = 0.0
    for k in range(LONGEST):
        for i in range(n):
            if k >= UNSEEN:
                change = -wanted[i]
                for j in range(n):
                    change = change - damping[n * i + j] * v[j] - stiffness[n * i + j] * x[j]
                wanted[i] = wanted[i] + max(-STEP * rates[i], min(STEP * rates[i], change))
        for i in range(n):
            felt[i] = felt[i] + lag[0] * (wanted[i] - felt[i])
        speed = 0.0
        for i in range(n):
            acceleration = 0.0
            for j in range(n):
                acceleration = acceleration + inverse[n * i + j] * felt[j]
            v[i] = v[i] + STEP * acceleration
            x[i] = x[i] + STEP * v[i]
            speed = speed + row[i] * v[i]
        if speed <= 0.0 and k > UNSEEN:
            break
        way = way + STEP * speed
    found[2] = way
    return 1


def let_go(
    n: int, row: Array, pushed: Array, inverse: Array, damping: Array, stiffness: Array, rates: Array, lag: Array,
    felt: Array, wanted: Array, v: Array, x: Array, found: Array,
) -> int:  # fmt: skip
    """found[0]: the largest force, up to what it is, with which the way is at most found[1]. See `way_of`."""
    done = way_of(n, row, pushed, inverse, damping, stiffness, rates, lag, felt, wanted, v, x, found)
    if found[2] <= found[1]:
        return done
    low = 0.0
    high = found[0]
    for _ in range(HALVINGS):
        found[0] = 0.5 * (low + high)
        done = way_of(n, row, pushed, inverse, damping, stiffness, rates, lag, felt, wanted, v, x, found)
        if found[2] <= found[1]:
            low = found[0]
        else:
            high = found[0]
    found[0] = low
    return done


@functools.cache
def _loops() -> Loops:
    return Loops(way_of, let_go, machine_code=True)


class Answer(NamedTuple):
    """How an arm answers efforts, and its law a motion. row (nv): of the constraint. pushed (nv): efforts for each N,
    with what friction holds. inverse (nv, nv): of the mass matrix. damping, stiffness (nv, nv): efforts against joint
    velocities and against joint positions."""

    row: Array
    pushed: Array
    inverse: Array
    damping: Array
    stiffness: Array


def answers(controller: HybridController, q: Array, v: Array, rows: NDArray[np.intp]) -> list[Answer]:
    """One for each of these constraint rows: along it motion is braked, and the task is held in place."""
    robot, gains, m = controller.robot, controller.gains, controller.m
    A = np.vstack([robot.constraint_rows(q, v, each).A for each in (controller.constraints, controller.task)])
    M = robot.mass_matrix(q)
    inverse = np.asarray(np.linalg.inv(M), dtype=float)
    response = inverse @ A.T
    mobility = A @ response
    mobility.flat[:: len(A) + 1] += SINGULAR * mobility.trace()  # of rows that nothing moves, nothing is wanted
    onto = np.linalg.solve(mobility, response.T).T  # A onto is one
    kp, kd = (np.broadcast_to(np.asarray(each, dtype=float), (controller.k,)) for each in (gains.kp, gains.kd))
    posture = gains.posture_kp, gains.posture_kd
    if controller.law == "gauge_invariant":  # (d/dt + kd)(e' + kp e)
        kp, kd, posture = kp * kd, kp + kd, (gains.posture_kp, float(kd[0]))
    free = np.eye(len(q)) - onto @ A
    brake = np.concatenate([np.full(m, BRAKING * gains.normal_damping), kd])
    spring = np.concatenate([np.zeros(m), kp])
    damping = M @ (onto @ (brake[:, None] * A) + posture[1] * free)
    stiffness = M @ (onto @ (spring[:, None] * A) + posture[0] * free)
    return [Answer(A[row], A[row], inverse, damping, stiffness) for row in rows]


class LettingGo:
    """The force that can be let go in time.

    Parameters:
        nv: degrees of freedom.

    Attributes:
        rates (nv): N m/s or N/s, at which efforts may change then; infinite where they may jump.
        lag: s, of the actuators.
    """

    def __init__(self, nv: int) -> None:
        self.rates, self.lag = np.full(nv, np.inf), 0.0
        self._answer = Answer(np.zeros(nv), np.zeros(nv), *(np.zeros((nv, nv)) for _ in range(3)))
        self._most, self._share, self._found = np.zeros(nv), np.zeros(1), np.zeros(3)
        work = [np.zeros(nv) for _ in range(4)]
        self._bound: Bound = _loops().bind(nv, *self._answer, self._most, self._share, *work, self._found)

    def bounds(
        self, controller: HybridController, q: Array, v: Array, rows: NDArray[np.bool_], normal_speed: float,
        most: float, added: Array, *, held: Array | None = None,
    ) -> Array:  # fmt: skip
        """N (m): the largest multipliers, up to `most`, beside what is added (m) to them. rows (m): that can be left.

        held (nv): efforts on the joints, for each N, of what friction holds; it is gone with the contact. Of the
        others infinite, and of all where normal_speed (m/s) is 0.
        """
        found = np.full(len(rows), np.inf)
        if not normal_speed:
            return found
        chosen, more = np.flatnonzero(rows), np.maximum(added, 0.0)
        for row, answer in zip(chosen, answers(controller, q, v, chosen)):
            least = self.largest(answer, normal_speed, most + more[row])
            if held is not None:
                aside = answer._replace(pushed=answer.row + held)
                least = min(least, self.largest(aside, normal_speed, most + more[row]))
            found[row] = least - more[row]
        return found

    def largest(self, answer: Answer, normal_speed: float, most: float) -> float:
        """N, up to `most`. normal_speed: m/s; 0: any force."""
        if not normal_speed:
            return most
        for mine, given in zip(self._answer, answer):
            mine[:] = given
        self._most[:] = np.minimum(self.rates, 1e12)
        self._share[0] = 1.0 - math.exp(-STEP / self.lag) if self.lag else 1.0
        self._found[:] = most, LOST * normal_speed, 0.0
        self._bound.run()
        return float(self._found[0])


class HeldByFriction:
    """The force with which no joint is thrown where friction lets go, as it holds more the harder the tool presses."""

    def __init__(self) -> None:
        self._each = 0.0  # 1/N: share of what joints may come to

    def largest(self, M: Array, efforts: Array, force: float, speeds: Array, late: float) -> float:
        """N, for what is felt now.

        M (nv, nv): of the robot. efforts (nv): on the joints, of what is felt beside a force, N. speeds (nv): limits.
        late: s, from what happens to the efforts that answer it.
        """
        thrown = late * np.abs(np.linalg.solve(M, efforts)) / (THROWN * speeds)
        self._each = max(KEPT * self._each, float(thrown.max()) / force)
        return 1.0 / self._each if self._each > 0.0 else math.inf
