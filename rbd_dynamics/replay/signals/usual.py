# SPDX-License-Identifier: Apache-2.0
"""What joints can do, and what is usual in a recording: from the description, and from its first messages.

What a joint can do is decided by `joint_states.plausibility`, as for the nodes, where the description's limits are not
passed by more than `RARELY` of the first messages: then they are not the robot's.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.safety.brakes import slack_of
from rbd_dynamics.joint_states.plausibility import WHOLE_TURN, Plausibility, unexplained_way
from rbd_dynamics.model.joints import Continuous, JointKind
from rbd_dynamics.replay.log import Log

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FIELDS = ("positions", "velocities", "efforts")
RARELY = 0.01  # of the first messages may be beyond a limit of the description
EFFORT = 2.0  # times its limit is no effort
SMALLEST = (5e-3, 0.1)  # rad or m, and per s: less than that is no spike
SMALLEST_EFFORT = 0.02  # of the limit, or 0.1 of the efforts' range, whatever is less
JUMP = 2e-3  # rad or m beyond what the velocity explains
UNUSUAL = 5.0  # times what is usual (its 99.9th percentile), or what is beyond the velocities next to it
COARSEST = 2.0 * np.pi / 1000.0  # rad or m: steps of encoders
STEPS = 2.5  # of an encoder: less is no jump


@dataclass(frozen=True)
class Usual:
    """What the joints can do, and what is usual in the recording's first messages. Arrays (joints,) or (3, joints).

    Attributes:
        measured: which positions, velocities and efforts there are.
        beyond: sizes of velocities and efforts, and distance of positions from `middle`, that cannot be.
        noise: of a number against its neighbours' mean; a spike is more than `SPIKE` times that, and than `smallest`.
        jump: way beyond what the velocity explains, from which on the state has jumped; `step`: from which on it has
            where next to it ways are explained.
        slack: effort up to which a joint is not driven.
        turns: whole turns by which each joint's angle may jump, at most.
    """

    _: KW_ONLY
    names: Sequence[str]
    plausibility: Plausibility
    measured: Mask
    beyond: Array
    middle: Array
    noise: Array
    smallest: Array
    jump: Array
    step: Array
    slack: Array
    turns: Array

    @classmethod
    def of(
        cls,
        numbers: Array,
        period: float,
        *,
        names: Sequence[str],
        measured: Mask,
        limits: Array,
        efforts: Array,
        turns: Array,
        log: Log,
    ) -> Usual:
        """Usual values from messages (N, 3, joints), the description's limits (joints, 3) and efforts' (joints,)."""
        plausibility = Plausibility(names, limits, (turns > 1.0).tolist())
        velocity, farthest = plausibility.bounds
        beyond = np.stack([farthest, velocity, np.where(efforts > 0.0, EFFORT * efforts, np.inf)])
        beyond[~measured] = np.inf
        away = numbers.copy()
        away[:, 0] -= plausibility.middle
        with np.errstate(invalid="ignore"):
            often = (np.abs(away) > beyond).mean(axis=0) > RARELY
        for field, joint in zip(*np.nonzero(often)):
            log.remark(not_the_robots(names[joint], int(field)))
        beyond[often] = np.inf
        noise, spread = np.zeros((2, *beyond.shape))  # of few messages nothing is known
        step = np.full(len(names), JUMP)
        jump = step.copy()
        if len(numbers) > 2:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of joints without velocities or efforts
                second = np.abs(numbers[1:-1] - 0.5 * (numbers[2:] + numbers[:-2]))
                noise = np.nan_to_num(np.nanquantile(second, 0.9, axis=0))
                spread = np.nan_to_num(np.diff(np.nanquantile(numbers, (0.01, 0.99), axis=0), axis=0)[0])
                way = unexplained(numbers, np.full(len(numbers) - 1, period), turns)
                usual, most = UNUSUAL * np.nan_to_num(np.nanquantile(way, (0.9, 0.999), axis=0))
                step = np.maximum(np.maximum(JUMP, STEPS * resolution(numbers[:, 0])), usual)
                jump = np.maximum(step, most)
        limit = np.where(efforts > 0.0, efforts, np.inf)
        share = np.maximum(0.1 * spread[2], 1e-3 * np.where(np.isfinite(limit), limit, 0.0))
        smallest = np.stack([np.full(len(names), level) for level in (*SMALLEST, 0.0)])
        smallest[2] = np.maximum(np.minimum(SMALLEST_EFFORT * limit, share), 1e-9)
        slack = slack_of(limit)
        return cls(
            names=tuple(names), plausibility=plausibility, measured=measured, beyond=beyond,
            middle=plausibility.middle, noise=noise, smallest=smallest, jump=jump, step=step, slack=slack, turns=turns,
        )  # fmt: skip


def not_the_robots(name: str, field: int) -> str:
    """What is said of limits that a joint's numbers are beyond all the time."""
    return f"{name}: the description's limits are not those of its {FIELDS[field]}; not used"


def whole_turns(way: Array, most: Array) -> Array:
    """Whole turns by which angles jump on ways (..., joints); none where there are more than `most` (joints,)."""
    with np.errstate(invalid="ignore"):
        found = np.rint(way / WHOLE_TURN)
        return np.where(np.abs(found) <= most, found, 0.0)


def unexplained(numbers: Array, elapsed: Array, turns: Array) -> Array:
    """Ways (N - 1, joints) between samples beyond what their velocities explain."""
    way = np.diff(numbers[:, 0], axis=0)
    way -= WHOLE_TURN * whole_turns(way, turns)
    return unexplained_way(way, numbers[1:, 1], numbers[:-1, 1], elapsed[:, None])


def resolution(positions: Array) -> Array:
    """Steps of encoders (joints,) by positions (N, joints): the least that they change by, as all changes are so many
    of it; the coarsest that there is, of a joint that never moves; zero of one without steps."""
    change = np.abs(np.diff(positions, axis=0))
    least = np.where(change > 0.0, change, np.inf).min(axis=0, initial=np.inf)
    with np.errstate(invalid="ignore"):
        many = np.where(np.isfinite(least), change / np.where(np.isfinite(least), least, 1.0), 0.0)
    whole = np.abs(many - np.rint(many)).max(axis=0, initial=0.0) < 0.05
    return np.where(whole, np.minimum(least, COARSEST), 0.0)


def turns_of(kind: JointKind) -> float:
    """Whole turns by which a joint's angle may jump: one where it has limits, since drives may wrap it then, too."""
    return np.inf if isinstance(kind, Continuous) else float(kind.is_angle)
