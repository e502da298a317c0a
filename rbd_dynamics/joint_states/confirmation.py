# SPDX-License-Identifier: Apache-2.0
"""A joint that is found elsewhere after a while without states: did it get there, or is the measurement wrong?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rbd_dynamics.joint_states.plausibility import Plausibility

AGREEING = 3  # states in a row that say the same
AGREEING_TIME = 1.0  # s, for which they say it, where they may be another's: the robot's own may be late for a moment
VOUCHED = 0.1  # s: for so long a position vouches for those that can be reached from it, and no longer
LONGEST_ROW = 2.0  # s; states farther apart are not in a row


class Confirmation:
    """Positions that the last known ones do not vouch for: believed once some states in a row agree.

    One state is not enough: it may come from a publisher that knows nothing of the robot, such as a
    joint_state_publisher that says zero for all joints. Joints are looked at one by one, as a state may come in parts.
    Where several publish states, or all joints are exactly at zero, they have to agree for a second: on a busy machine
    the robot's own publisher may be discovered that much later than another.

    Parameters:
        names: the joints, for the reasons.

    Attributes:
        several: whether several publish the states; None: that is not known, or one does.
        contradicted: the joints that were looked at last are not where the state before had found them.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        #: of a joint: position, time (ns), states that agree, time of the first of these (ns)
        self._found: dict[int, tuple[float, int, int, int]] = {}
        self.contradicted = False
        self.several: Callable[[], bool] | None = None

    def clear(self, where: Sequence[int]) -> None:
        """The last known positions of these joints vouch for the new ones."""
        self.contradicted = False
        if self._found:
            for k in where:
                self._found.pop(k, None)

    def lacking(self, positions: Mapping[int, float], stamp: int, allowed: Plausibility, zeros: bool = False) -> str:
        """Which joint of those found at `positions` is not believed yet; empty: all are.

        stamp: of the state, ns. zeros: a publisher that measures nothing would say the same.
        """
        self.contradicted, lacking, youngest = False, "", (-1, -1)
        for k, position in positions.items():
            before, time, count, first = self._found.get(k, (position, stamp, 0, stamp))
            elapsed = 1e-9 * (stamp - time)
            in_a_row = 0.0 <= elapsed <= LONGEST_ROW
            agrees = in_a_row and allowed.reachable(k, before, position, min(elapsed, VOUCHED))
            self.contradicted |= in_a_row and not agrees
            count, first = (count + 1, first) if agrees else (1, stamp)
            self._found[k] = position, stamp, count, first
            youngest = max(youngest, (first, k))
            if count < AGREEING and not lacking:
                lacking = (
                    f"joint {self._names[k]!r} is found at {position:.6g}, "
                    f"where {AGREEING} states in a row must agree, and {count} did"
                )
        first, k = youngest
        told = 1e-9 * (stamp - first)
        if k < 0 or lacking or told >= AGREEING_TIME:
            return lacking
        several = self.several is not None and self.several()
        if not several and not zeros:
            return ""
        reason = "there are several publishers of them" if several else "all joints are exactly at zero"
        return (
            f"joint {self._names[k]!r} is found at {positions[k]:.6g}, where states must agree for "
            f"{AGREEING_TIME:g} s, as {reason}, and did for {told:.3g} s"
        )
