# SPDX-License-Identifier: Apache-2.0
"""What a recording is asked besides the comparison: a file a question, and here the list of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from rbd_dynamics.replay.questions.base import Question
from rbd_dynamics.replay.questions.diagnosis import DiagnosisQuestion
from rbd_dynamics.replay.questions.drives import DrivesQuestion
from rbd_dynamics.replay.questions.energy import EnergyQuestion
from rbd_dynamics.replay.questions.external_torque import ExternalTorqueQuestion
from rbd_dynamics.replay.questions.friction import FrictionQuestion
from rbd_dynamics.replay.questions.inertias import InertiasQuestion
from rbd_dynamics.replay.questions.payload import PayloadQuestion

__all__ = ["QUESTIONS", "Question", "Questions"]


@dataclass(frozen=True)
class Questions:
    """What is asked besides the comparison.

    Parameters:
        friction: of each joint.
        drives: what each joint's drive needs beside friction: rotor inertia, springs, a shared motor and so on.
        payload: the frame where a load is looked for; None: none is.
        inertias: base parameters, and inertias of all bodies that can exist.
        external_torque: by generalised momentum, less the friction that was found, but not its offset, which may
            be what touches the robot; and contacts.
        contact_threshold: N m, one for all joints or {joint: N m}; None: from the recording itself.
        false_alarms: false contacts per hour of motion that are allowed, where no threshold is given.
        wrench_frame: link or joint at which tables and report tell the external wrench; None: they do not.
        energy: power and work of the joints.
        diagnosis: what is wrong with signals, and what explains what the model does not.
    """

    _: KW_ONLY
    friction: bool = True
    drives: bool = False
    payload: str | None = None
    inertias: bool = False
    external_torque: bool = True
    contact_threshold: float | Mapping[str, float] | None = None
    false_alarms: float = 1.0
    wrench_frame: str | None = None
    energy: bool = True
    diagnosis: bool = True


#: in the order in which they are told
QUESTIONS: tuple[Question, ...] = (
    FrictionQuestion(),
    DrivesQuestion(),
    PayloadQuestion(),
    InertiasQuestion(),
    ExternalTorqueQuestion(),
    EnergyQuestion(),
    DiagnosisQuestion(),
)
