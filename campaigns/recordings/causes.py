# SPDX-License-Identifier: Apache-2.0
"""What may be wrong with a recording: each is injected with numbers that follow from the case, and is known then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from campaigns.recordings.arms import ARMS, described, robot_of, sizes
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.replay.diagnosis.telling import EITHER_SIGN

if TYPE_CHECKING:
    from campaigns.recordings.case import Case

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recorded:
    """Joint states: t (N,), s; q, v, effort (N, nv)."""

    t: Array
    q: Array
    v: Array
    effort: Array

    def rows(self, which: Any) -> Recorded:
        return Recorded(self.t[which], self.q[which], self.v[which], self.effort[which])


class Cause:
    """One of them.

    Attributes:
        kinds: of findings that name it. motion: it makes the motion wrong, and nothing can be said of efforts then.
        fouls: the efforts of its joints are no torques.
        by_efforts: positions and velocities agree with each other, and only efforts can tell.
    """

    name = ""
    kinds: tuple[str, ...] = ()
    motion = False
    fouls = False
    by_efforts = False

    def rng(self, case: Case) -> np.random.Generator:
        return case.rng(100 + list(CAUSES).index(self.name))

    def joints(self, case: Case) -> tuple[int, ...]:
        """One, at random."""
        return (int(self.rng(case).integers(case.real.nv)),)

    def value(self, case: Case) -> float:
        """The number that a finding should tell; NaN where there is none."""
        return np.nan

    def changed(self, model: rbd.Model, case: Case) -> rbd.Model:
        return model

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        return found

    def hides(self, other: Cause) -> bool:
        """Whether nothing can be said of the other while this one is there: signals first, then what they tell."""
        if self.name == "two robots" or (self.motion and not (other.motion or other.name == "wraps")):
            return self is not other
        return self.fouls and other.name in ("load", "offset", "contact")

    def goes_with(self, other: Cause) -> bool:
        """Whether a recording may have both: not two of what makes the motion wrong, nor two of the same signal."""
        if self.motion and other.motion:
            return False
        return not (self.fouls and other.fouls) and {self.name, other.name} != {"load", "no gravity"}

    def told(self, case: Case) -> str:
        names = [case.real.joint_names[k] for k in self.joints(case)]
        which = "all joints" if len(names) == case.real.nv else ", ".join(names)
        return which if np.isnan(self.value(case)) else f"{which} {self.value(case):.3g}"


class OfAll(Cause):
    def joints(self, case: Case) -> tuple[int, ...]:
        return tuple(range(case.real.nv))


class Load(OfAll):
    """Of 3 to 15 % of the arm's mass."""

    name, kinds = "load", ("load",)

    def value(self, case: Case) -> float:
        return float(described(case.arm).mass * self.rng(case).uniform(0.03, 0.15))

    def changed(self, model: rbd.Model, case: Case) -> rbd.Model:
        mass, rng = self.value(case), case.rng(60)
        com = tuple(float(x) for x in rng.uniform(-0.03, 0.03, 3) + (0.0, 0.0, 0.05))
        turns = (2e-3 * mass, 0.0, 0.0, 2e-3 * mass, 0.0, 2e-3 * mass)
        carrier, load = payload_inertia(model, ARMS[case.arm].tool, mass, com=com, inertia=turns)
        bodies = list(model.bodies)
        bodies[carrier] = replace(bodies[carrier], inertia=bodies[carrier].inertia + load)
        return replace(model, bodies=tuple(bodies))


class Offset(Cause):
    """Of 10 to 40 % of a joint's usual torque."""

    name, kinds = "offset", ("offset",)

    def value(self, case: Case) -> float:
        rng = case.rng(61)
        return float(rng.choice((-1.0, 1.0)) * rng.uniform(0.1, 0.4) * sizes(case.arm).torque[self.joints(case)[0]])

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        effort = found.effort.copy()
        effort[:, self.joints(case)[0]] += self.value(case)
        return replace(found, effort=effort)


class Contact(OfAll):
    """Three pushes of 0.6 s at the tool."""

    name, kinds = "contact", ("contact",)
    LONG = 0.6

    def pushes(self, case: Case) -> list[tuple[float, float]]:
        rng = case.rng(62)
        begins = np.array([0.2, 0.5, 0.8]) * case.motion.t[-1] + rng.uniform(-4.0, 4.0, 3)
        return [(float(begin), float(begin) + self.LONG) for begin in begins]

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        effort, rng, robot = found.effort.copy(), case.rng(63), robot_of(case.real)
        usual = sizes(case.arm).torque
        for begin, end in self.pushes(case):
            force = rng.normal(size=3)
            rows = np.flatnonzero((found.t >= begin) & (found.t < end))
            shape = np.sin(np.pi * np.clip((found.t[rows] - begin) / self.LONG, 0.0, 1.0)) ** 0.3
            jacobian = robot.jacobian(case.motion.q[rows[0]], ARMS[case.arm].tool)
            push = force @ jacobian[3:]
            push *= rng.uniform(0.2, 0.6) / np.max(np.abs(push) / usual)
            effort[rows] -= shape[:, None] * push
        return replace(found, effort=effort)


class Currents(OfAll):
    """All efforts are currents, with a gain for each joint."""

    name, kinds, fouls = "currents", ("effort scale",), True

    def gains(self, case: Case) -> Array:
        return case.rng(64).uniform(6.0, 15.0, case.real.nv)

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        return replace(found, effort=found.effort / self.gains(case))


class Thousandths(OfAll):
    name, kinds, fouls = "thousandths", ("effort scale",), True

    def value(self, case: Case) -> float:
        return 1e3

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        return replace(found, effort=1e3 * found.effort)


class Sign(Cause):
    name, kinds, fouls = "sign", ("effort sign", EITHER_SIGN), True

    def value(self, case: Case) -> float:
        return -1.0

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        effort = found.effort.copy()
        effort[:, list(self.joints(case))] *= -1.0
        return replace(found, effort=effort)


class Late(OfAll):
    """All efforts, by 15 to 60 ms."""

    name, kinds = "late efforts", ("effort delay",)

    def value(self, case: Case) -> float:
        return float(case.rng(65).uniform(0.015, 0.06))

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        return replace(found, effort=delayed(found.t, found.effort, self.value(case)))


class LateVelocity(OfAll):
    name, kinds, motion = "late velocities", ("velocity delay",), True

    def value(self, case: Case) -> float:
        return float(case.rng(66).uniform(0.03, 0.12))

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        return replace(found, v=delayed(found.t, found.v, self.value(case)))


class NoGravity(OfAll):
    name, kinds, fouls = "no gravity", ("gravity",), True

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        gravity = robot_of(case.real).gravity(case.motion.q)
        return replace(found, effort=found.effort - gravity)


class NoEfforts(Cause):
    name, kinds, fouls = "no efforts", ("no efforts",), True

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        effort = found.effort.copy()
        effort[:, list(self.joints(case))] = 0.0
        return replace(found, effort=effort)


class Degrees(OfAll):
    name, kinds, motion = "degrees", ("degrees", "velocity scale"), True

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        return replace(found, q=np.degrees(found.q), v=np.degrees(found.v))


class TurnedVelocity(Cause):
    name, kinds, motion = "turned velocity", ("velocity sign",), True

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        v = found.v.copy()
        v[:, list(self.joints(case))] *= -1.0
        return replace(found, v=v)


class TurnedAxis(Cause):
    name, kinds, motion, by_efforts = "turned axis", ("position sign", EITHER_SIGN), True, True

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        q, v = found.q.copy(), found.v.copy()
        q[:, list(self.joints(case))] *= -1.0
        v[:, list(self.joints(case))] *= -1.0
        return replace(found, q=q, v=v)


class Zero(Cause):
    """A joint's zero is elsewhere, by 10 to 90 degrees: so much must be added."""

    name, kinds, motion, by_efforts = "joint zero", ("joint zero",), True, True

    def value(self, case: Case) -> float:
        rng = case.rng(67)
        return float(rng.choice((-1.0, 1.0)) * rng.choice((np.pi / 2.0, rng.uniform(0.17, 0.8))))

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        q = found.q.copy()
        q[:, list(self.joints(case))] -= self.value(case)
        return replace(found, q=q)


class TwoRobots(OfAll):
    """Another robot of the same kind is parked and publishes on the same topic."""

    name, kinds, motion = "two robots", ("two robots",), True

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        count = len(found.t)
        parked = np.tile(found.q[0] + 0.3, (count, 1)), np.zeros_like(found.v), np.tile(found.effort[0], (count, 1))
        both = zip((found.t, found.q, found.v, found.effort), (found.t + 4e-3 / (case.traits["rate"] / 100.0), *parked))
        order = np.argsort(np.concatenate([found.t, found.t + 4e-3 / (case.traits["rate"] / 100.0)]), kind="stable")
        return Recorded(*(np.concatenate(pair)[order] for pair in both))


class Wraps(OfAll):
    """Positions are wrapped to the half turn on both sides of a place that a joint passes."""

    name, kinds = "wraps", ("wraps",)

    def joints(self, case: Case) -> tuple[int, ...]:
        return (int(np.argmax(np.ptp(case.motion.q, axis=0))),)

    def recorded(self, found: Recorded, case: Case) -> Recorded:
        q, (joint,) = found.q.copy(), self.joints(case)
        middle = float(np.median(q[:, joint]))
        q[:, joint] = np.mod(q[:, joint] - middle, 2.0 * np.pi) + middle
        return replace(found, q=q)


def delayed(t: Array, signal: Array, by: float) -> Array:
    return np.column_stack([np.interp(t - by, t, column) for column in signal.T])


#: physical ones first, then those of what is said of it
CAUSES: dict[str, Cause] = {
    cause.name: cause
    for cause in (
        Load(), Offset(), Contact(), NoGravity(), Late(), Sign(), Currents(), Thousandths(), NoEfforts(),
        TurnedVelocity(), LateVelocity(), TurnedAxis(), Zero(), Degrees(), Wraps(), TwoRobots(),
    )
}  # fmt: skip
