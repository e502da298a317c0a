# SPDX-License-Identifier: Apache-2.0
"""Each recording left out in turn, predicted by what was found in the others: what of it transfers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.leave_one_out import without_each
from rbd_dynamics.replay.identification.together.results import HeldOut, Recorded, Transfer
from rbd_dynamics.replay.identification.together.sums import Sums

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

INERTIAS = "inertias"


@dataclass(frozen=True)
class Groups:
    """Places of parameters: base parameters first, then each robot's friction (3 a joint), then unknown loads."""

    base: Indices
    friction: dict[str, Indices]
    loads: dict[str, Indices]
    count: int

    @classmethod
    def of(cls, recorded: Sequence[Recorded], base: int, joints: int) -> Groups:
        count, friction, loads = base, {}, {}
        for robot in dict.fromkeys(one.robot for one in recorded):
            friction[robot] = count + np.arange(3 * joints)
            count += 3 * joints
        for name in dict.fromkeys(one.unknown for one in recorded if one.unknown):
            loads[name] = count + np.arange(10)
            count += 10
        return cls(np.arange(base), friction, loads, count)


def left_out(
    recorded: Sequence[Recorded], sums: Sequence[Sums], whole: Sequence[Array], groups: Groups, scale: Array
) -> Iterable[HeldOut]:
    """whole: weighted sums of each recording."""
    fits = without_each(np.sum(whole, axis=0), whole, scale)
    for k, (one, part, found) in enumerate(zip(recorded, sums, fits)):
        others = [other for j, other in enumerate(recorded) if j != k]
        carried = any(other.unknown == one.unknown for other in others)
        load = "none" if not one.frame else "known" if not one.unknown else "from others" if carried else "its own"
        free = groups.loads[one.unknown] if load == "its own" else None
        same = any(other.robot == one.robot for other in others)
        of_robot = "of the robot" if same else "of other robots"
        sources = [one.robot] if same else list(dict.fromkeys(other.robot for other in others))
        rubs = np.mean([found[groups.friction[robot]] for robot in sources], axis=0)

        own = groups.friction[one.robot]
        braking = np.arange(len(own)) % 3 > 0
        taken = {f"friction {of_robot}": own[braking], f"offsets {of_robot}": own[~braking]}
        if load == "from others":
            taken["load"] = groups.loads[one.unknown]
        values = found.copy()
        values[own] = rubs
        refitted = own
        if free is not None:
            values[free] = 0.0
            refitted = np.concatenate([own, free])
        without = {INERTIAS: part.squares(_less(values, groups.base), refitted)}
        without |= {name: part.squares(_less(values, places), free) for name, places in taken.items()}
        yield HeldOut(
            one.name,
            one.robot,
            part.squares(np.zeros(groups.count), free),
            part.squares(values, free),
            part.squares(values, refitted),
            without,
            part.torque,
            load,
        )


def _less(values: Array, places: Indices) -> Array:
    found = values.copy()
    found[places] = 0.0
    return found


def transfers(held: Sequence[HeldOut]) -> tuple[Transfer, ...]:
    """Transfer of each kind of parameters, over all recordings: with those of the others, against the description's."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in held:
        for name, squares in one.without.items():
            after = one.own if name == INERTIAS else one.after
            found.setdefault(name, []).append((one.share(squares), one.share(after)))
    result = []
    for name, pairs in found.items():
        less, more = (float(np.sqrt(np.mean(np.square(column)))) for column in zip(*pairs))
        result.append(Transfer(name, less, more, sum(b > a for b, a in pairs), len(pairs)))
    return tuple(result)
