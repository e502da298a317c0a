# SPDX-License-Identifier: Apache-2.0
"""A state of zeros, where the robot was measured elsewhere: of a publisher that measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rbd_dynamics.joint_states.plausibility import Plausibility

LEAST = 2  # joints at zero: one alone may well be there


class ZerosOfAnother:
    """Tells states that a joint_state_publisher makes up from those of a robot that has got to zero meanwhile.

    Such a publisher says exactly zero, and no velocity or zero, of every joint that may be at zero, for ever. While
    the robot's driver is alive that contradicts it. Once it is dead or silent nothing does; but no robot comes to exact
    zero in all of its joints at once. So, where others have published states as well, zeros are not believed of a
    robot that was last measured elsewhere. A driver that begins again at zero, alone, as a simulator does, is believed.

    Parameters:
        names: the joints, for the reasons.

    Attributes:
        publishers: names those that have published states, where they were several, else empty; None: not known.
        measured: the robot was measured, since this began.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self.publishers: Callable[[], str] | None = None
        self.measured = False

    def problem(
        self,
        q: Sequence[float],
        v: Sequence[float],
        where: Sequence[int],
        last: Mapping[int, float],
        allowed: Plausibility,
    ) -> str:
        """Why a state of all required joints, at `where`, is no measurement; empty: it may be one.

        v may have NaN. last: where the joints were that cannot have got to q in a tenth of a second.
        """
        if not self.measured or not last or self.publishers is None:
            return ""
        if not made_up(q, v, where, allowed) or not (names := self.publishers()):
            return ""
        k, position = max(last.items(), key=lambda item: abs(item[1]))
        return (
            f"joint state refused: all joints are exactly at zero, and at rest, but {self._names[k]!r} was last at "
            f"{position:.6g}: nobody has measured that; joint states have come from {names}. Zeros are believed once "
            "this node is activated again"
        )


def made_up(q: Sequence[float], v: Sequence[float], where: Sequence[int], allowed: Plausibility) -> bool:
    """Whether a publisher that measures nothing would say this of joints at `where`: zeros, at rest. v may have NaN."""
    zeros = 0
    for k, position, rate in zip(where, q, v):
        if rate == rate and rate != 0.0 or position != 0.0 and allowed.has_zero(k):
            return False
        zeros += position == 0.0
    return zeros >= LEAST
