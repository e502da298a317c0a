# SPDX-License-Identifier: Apache-2.0
"""Whether what the controller says is true: each of its reasons against what the plant knows."""

from __future__ import annotations

import re
from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from campaigns.pressing.arms import model_of
from campaigns.pressing.plant import BALL
from campaigns.pressing.runs import Record, Stop

Array = NDArray[np.float64]
Claim = Callable[["Truth"], bool]

LATE = 10  # periods, between what happens and what may be said of it
NEARLY = 0.85  # of a limit: what is said may come from noise
SINGULAR = 0.06  # singular value of the tool's Jacobian
TURNED = 2.6  # rad, from where the task frame is singular


class Truth:
    """What was so when it stopped."""

    def __init__(self, record: Record, stop: Stop) -> None:
        self.record, self.stop, self.at = record, stop, min(stop.at, len(record.modes) - 1)
        self.case, self.params = record.case, record.scene.params
        self.wrong = 3.0 * self.case.imperfect.force_noise + float(np.abs(self.case.imperfect.bias).max())

    def forces(self, periods: int) -> Array:
        """N, of all surfaces in the periods before."""
        return self.record.forces[max(0, self.at - periods) : max(1, self.at)]

    @property
    def time(self) -> float:
        """s since the force has come; -1: it has not."""
        return -1.0 if self.record.begun < 0 else 1e-3 * (self.at - self.record.begun)

    @property
    def no_contact(self) -> bool:
        """Of the surface, for nearly as long as a lost contact may take."""
        if self.past_the_edge:
            return True
        periods = round(1e3 * self.params.contact_timeout)
        window = self.record.forces[max(0, self.at - periods) : max(1, self.at - LATE), 0]
        return bool(window.max(initial=0.0) < self.params.contact_force + self.wrong)

    @property
    def past_the_edge(self) -> bool:
        """The surface has ended; the tool may still touch its side."""
        way = self.record.position[self.at] - self.record.scene.touch
        return self.case.edge is not None and bool(way @ self.record.scene.axes[:, 0] > self.case.edge)

    @property
    def gives_way(self) -> bool:
        """It has gone into where the surface was for a tenth of a second, as fast as it may."""
        heights = self.record.position[max(0, self.at - 100) : self.at + 1] @ self.record.scene.axes[:, 2]
        return bool(heights[0] - heights[-1] > 0.05 * self.params.normal_speed)

    @property
    def touching(self) -> bool:
        return bool(self.forces(LATE)[:, 0].max(initial=0.0) > 0.5 * self.params.contact_force)

    @property
    def touches_anything(self) -> bool:
        """The surface, or a wall beside it."""
        return bool(self.forces(4 * LATE).max(initial=0.0) > 0.5 * self.params.contact_force)

    @property
    def too_much_force(self) -> bool:
        largest = self.params.largest_force
        for event in self.case.events:
            if event.what == "set" and event.time <= self.time:
                largest = event.value.get("largest_force", largest)
        most = NEARLY * largest - self.wrong - abs(self.case.imperfect.drift) * 10.0
        return bool(self.forces(4 * LATE).sum(axis=1).max(initial=0.0) >= most)

    @property
    def off_the_surface(self) -> bool:
        """It touches, farther than a tolerance from where the surface is told to be."""
        felt = self.forces(2 * LATE)[:, 0].max(initial=0.0) > 0.0 and not self.past_the_edge
        least = min(self.params.press_tolerance, self.params.constraint_tolerance)
        return bool(felt and self._gap_told() > NEARLY * least)

    def _gap_told(self) -> float:
        """With placements as they were changed meanwhile."""
        record, shift = self.record, np.zeros(3)
        for event in self.case.events:
            if event.what == "place" and event.time <= self.time:
                name, change = event.value
                if name == "task_position":
                    shift -= record.scene.axes @ np.array(change)
                elif name == "tool_position":
                    shift += record.rotation[self.at] @ np.array(change)
        x, y, z = (float(each) for each in record.position[self.at] + shift)
        return abs(record.scene.told.distance((x, y, z))[0] - BALL)

    @property
    def out_of_reach(self) -> bool:
        record = self.record
        begin = record.rotation[0]
        turned = Rotation.from_matrix(record.rotation[self.at] @ begin.T).magnitude()
        way = np.linalg.norm(record.position[self.at] - record.position[0])
        placed = self._placed()
        return bool(max(turned + placed[1], way + placed[0]) > NEARLY * self.params.reach)

    def _placed(self) -> tuple[float, float]:
        """m and rad, by which placements were changed meanwhile."""
        way = angle = 0.0
        for event in self.case.events:
            if event.what == "place" and event.time <= self.time:
                name, change = event.value
                size = float(np.linalg.norm(change))
                way, angle = (way, angle + size) if "orientation" in name else (way + size, angle)
        return way, angle

    @property
    def singular(self) -> bool:
        record = self.record
        plant = record.scene.plant
        saved = plant.data.qpos.copy()
        plant.data.qpos[plant._q] = record.q[self.at]
        mujoco.mj_kinematics(plant.model, plant.data)
        mujoco.mj_comPos(plant.model, plant.data)
        least = np.linalg.svd(plant.whole_jacobian(), compute_uv=False)[-1]
        turned = Rotation.from_matrix(record.rotation[self.at] @ record.rotation[0].T).magnitude()
        plant.data.qpos[:] = saved
        return bool(least < SINGULAR or turned + self._placed()[1] > TURNED)

    @property
    def moved_away(self) -> bool:
        away = (self.record.position[self.at] - self.record.position[0]) @ self.record.scene.axes[:, 2]
        return bool(away > NEARLY * self.params.constraint_tolerance)

    @property
    def something_wrong(self) -> bool:
        """Something is in the way, the sensor does not feel, or the model is wrong."""
        given = self.case.imperfect
        told = any(event.what in ("carry", "describe", "load") for event in self.case.events)
        model = given.mass or given.links or given.joint_friction or told
        return bool(self.touches_anything or model or np.isfinite(self.case.frozen))

    @property
    def no_states(self) -> bool:
        return any(begin <= self.time <= end + 0.05 for begin, end in self.case.no_states)

    @property
    def no_wrenches(self) -> bool:
        return any(begin <= self.time <= end + 0.05 for begin, end in self.case.no_wrenches)

    @property
    def asked(self) -> bool:
        """Something was done to it just before."""
        kinds = ("engage", "describe", "reactivate")
        return any(event.what in kinds and -0.01 <= self.time - event.time < 0.1 for event in self.case.events)

    @property
    def too_fast(self) -> bool:
        """Faster than a state may be to be believed."""
        most = self.params.plausible_velocity * _velocity_limits(self.record)
        return bool((np.abs(self.record.v[max(0, self.at - 3 * LATE) : self.at + 1]) > NEARLY * most).any())


#: (what it says, whether that is true); the first that fits
CLAIMS: tuple[tuple[str, str, Claim], ...] = (
    ("in the way", r"something is in the way", lambda t: t.something_wrong),
    ("gives way", r"gives way", lambda t: t.gives_way),
    ("contact lost", r"contact (is )?lost|lost contact", lambda t: t.no_contact),
    ("too much force", r"^force of|more than largest_force", lambda t: t.too_much_force),
    ("no contact there", r"^no contact where", lambda t: not t.touching),
    ("surface elsewhere", r"not where it should be", lambda t: t.off_the_surface),
    ("out of reach", r"out of reach", lambda t: t.out_of_reach),
    ("singular", r"singular|180 degrees", lambda t: t.singular),
    ("moves away", r"moves away", lambda t: t.moved_away),
    ("no contact after", r"^no contact after", lambda t: not t.touching),
    ("states silent", r"joint states? (were|are) silent|no joint states|no answer", lambda t: t.no_states),
    ("sensor silent", r"wrench sensor is silent|no wrench", lambda t: t.no_wrenches),
    ("asked to", r"by request|activated anew|not engaged|standing by", lambda t: t.asked),
    ("implausible states", r"silent: joint state", lambda t: t.too_fast),
)


def judged(record: Record, stop: Stop) -> tuple[str, bool | None]:
    """The claim in short, and whether it is true; None: it is not known how to judge that."""
    for name, pattern, claim in CLAIMS:
        if re.search(pattern, stop.reason):
            return name, claim(Truth(record, stop))
    return stop.reason[:40] or "(nothing)", None


def drift_is_true(record: Record) -> bool:
    """Whether the sensor reads less and less of what is there, or is turned, or the load is another than it was."""
    given = record.case.imperfect
    loads = any(event.what in ("carry", "describe", "load") for event in record.case.events)
    return bool(given.drift or any(given.turned) or np.isfinite(record.case.frozen) or loads)


def _velocity_limits(record: Record) -> Array:
    return model_of(record.case.arm).velocity_limit
