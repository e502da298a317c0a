# SPDX-License-Identifier: Apache-2.0
"""Excite, record, replay, identify, correct, and run feedforward again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.analysis import Analysis, analyse
from rbd_dynamics.replay.effort_delay import effort_delay
from rbd_dynamics.replay.excitation import Excitation, ExcitationLimits, Fourier, Options, design, random_motion
from rbd_dynamics.replay.gains import drive_gains
from rbd_dynamics.replay.identification import DriveGains, Estimate
from rbd_dynamics.replay.questions import Questions
from rbd_dynamics.replay.rehearsal.hidden_robot import HiddenRobot
from rbd_dynamics.replay.rehearsal.run import Knowledge, Run, feedback_of, play
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
INERTIAS = Questions(inertias=True, external_torque=False, energy=False, diagnosis=False)


@dataclass(frozen=True)
class Plan:
    """How it is done.

    Parameters:
        excitation: the motion to record. periods: how often. share: of the description's limits that motions take.
        load: known mass (kg) that calibrates the drives, com: its centre (m) in the frame that `rehearse` is told.
        rate: of recordings, Hz. cutoff: of the filter, Hz. starts: see `excitation.Options`.
        test: the motion on which tracking is measured: another one, at random. seed: of both.
    """

    _: KW_ONLY
    excitation: Fourier = Fourier(period=10.0, harmonics=5)
    periods: int = 3
    share: float = 0.6
    load: float = 2.0
    com: tuple[float, float, float] = (0.1, 0.1, 0.1)
    rate: float = 250.0
    cutoff: float = 20.0
    starts: int = 1
    test: Fourier = Fourier(period=6.0, harmonics=4)
    seed: int = 0


@dataclass(frozen=True)
class Rehearsal:
    """What came out.

    Attributes:
        excitation: what was played to record. gains, delay: of efforts, as they were found.
        analysis: of the recording, in its last pass. known: what the controller knows in the end.
        runs: of the test motion with the description, with what was identified, and with the truth.
    """

    excitation: Excitation
    gains: DriveGains
    delay: Estimate
    analysis: Analysis
    known: Knowledge
    runs: dict[str, Run]

    @property
    def before(self) -> float:
        """Tracking error with the description, root mean square over time and joints; rad where joints turn."""
        return self._error("description")

    @property
    def after(self) -> float:
        """Error with the model that was identified."""
        return self._error("identified")

    @property
    def best(self) -> float:
        """Error with the true model, through the same delays and noise."""
        return self._error("truth")

    def _error(self, run: str) -> float:
        return float(np.sqrt(np.mean(self.runs[run].error ** 2)))


def rehearse(
    model: Model,
    hidden: HiddenRobot,
    frame: str,
    folder: Path,
    *,
    plan: Plan | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Rehearsal:
    """Rehearse identification: from the description to a model that is found from recordings alone.

    The motion is recorded twice: with the description's feedforward a robot sticks where it turns round, and what it
    does there is not known well enough to tell a delay of milliseconds from friction. The first recording's model makes
    it move as it should.

    Parameters:
        model: the description. hidden: the robot.
        frame: where the known load is mounted.
        folder: for the recordings. Nothing but these tells of the hidden robot.
        progress: called with what is done next, and the share of the steps that are done, 0 to 1.

    Raises what `design` and `analyse` raise, ValueError where the load tells the gain of no joint.
    """
    plan, say = plan or Plan(), progress or _silent
    robot = Robot(model)
    limits = ExcitationLimits.of(model, share=plan.share)
    options = Options(rate=plan.rate, periods=plan.periods, starts=plan.starts, seed=plan.seed)
    say("looking for a motion", 0.0)
    motion = design(robot, limits, plan.excitation, options=options)
    feedback = feedback_of(model, motion.waypoints.positions)
    described = Knowledge(model, gains=np.ones(model.nv), offsets=np.zeros(model.nv))

    def recorded(name: str, played_on: HiddenRobot, knowledge: Knowledge) -> Path:
        run = play(played_on, motion.trajectory, knowledge, feedback)
        return run.record(folder / name, list(limits.joints), plan.rate)

    def identified(path: Path, settings: Settings) -> Analysis:
        return analyse(path, robot, settings=settings, questions=INERTIAS)

    say("first recording", 0.25)
    first = recorded("first", hidden, described)
    say("what it tells", 0.4)
    settings = Settings(cutoff=plan.cutoff)
    delay = effort_delay(first, robot, settings=settings)
    rough = _knowledge(identified(first, _late(settings, delay)), limits.joints, {})
    say("recordings without and with the load", 0.5)
    free = recorded("free", hidden, rough)
    loaded = recorded("loaded", hidden.carrying(frame, plan.load, plan.com), rough)
    say("delay and drive gains", 0.65)
    delay = effort_delay(free, robot, settings=settings)
    settings = _late(settings, delay)
    gains = drive_gains([loaded], [free], robot, frame, plan.load, plan.com, settings=settings)
    scale = {name: gain.value for name, gain in gains.gains.items() if gain.identifiable}
    if not scale:
        raise ValueError(f"a load of {plan.load:g} kg at {frame!r} tells the gain of no joint: take a heavier one")
    say("the model", 0.75)
    analysis = identified(free, replace(settings, effort_scale=scale))
    known = _knowledge(analysis, limits.joints, scale)
    say("the other motion, with each model", 0.85)
    test = random_motion(robot, limits, plan.test, options=Options(seed=plan.seed + 1, lead=1.0)).trajectory
    truth = Knowledge(hidden.model, gains=hidden.gains, offsets=np.zeros(model.nv))
    runs = {
        name: play(hidden, test, knowledge, feedback)
        for name, knowledge in (("description", described), ("identified", known), ("truth", truth))
    }
    return Rehearsal(motion, gains, delay, analysis, known, runs)


def _silent(step: str, share: float) -> None:
    """Nobody wants to know."""


def _late(settings: Settings, delay: Estimate) -> Settings:
    return replace(settings, delay={"effort": delay.value} if delay.identifiable else {})


def _knowledge(analysis: Analysis, joints: tuple[str, ...], scale: dict[str, float]) -> Knowledge:
    inertias: Any = analysis.inertias
    return Knowledge(
        inertias.model,
        gains=np.array([scale.get(name, 1.0) for name in joints]),
        offsets=np.array([inertias.offsets.get(name, 0.0) for name in joints]),
    )
