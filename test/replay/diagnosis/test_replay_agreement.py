# SPDX-License-Identifier: Apache-2.0
"""One page never says two things: every pair of claims that exclude each other."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rbd_dynamics.replay.diagnosis.agreement import EXCLUDE, agreed, claims, contradictions
from rbd_dynamics.replay.diagnosis.findings import Cause, DiagnosisResult, Finding, JointDiagnosis
from rbd_dynamics.replay.identification import FrictionResult, InertiaResult, JointFit, JointFriction, PayloadResult
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.questions import QUESTIONS
from rbd_dynamics.replay.torques.contacts import ContactEvent
from rbd_dynamics.replay.torques.external_torque import ExternalTorqueResult

JOINT = "j1"
TERMS = ("inertia", "coriolis", "gravity")
LATE = Estimate("delay", 0.05, 0.001, 0.048, 0.052, "s", True)


def known(name: str) -> Estimate:
    return Estimate(name, 1.0, 0.1, 0.8, 1.2, "N m", True)


def answers(*, events: bool, threshold: float = 1.0, signals=(), undecided=(), cause: str = "friction") -> dict:
    """All that can be said, beside each other."""
    three = {name: known(name) for name in ("offset", "coulomb", "viscous")}
    fit = JointFit(JOINT, 100, *three.values(), 2.0, 1.0)
    friction = FrictionResult(
        (JointFriction(JOINT, 100, *three.values(), None, 2.0, 1.0),), TERMS, exported={JOINT: (1.0, 1.0)}
    )
    base, model = (known("m1"),), SimpleNamespace()
    inertias = InertiaResult(base, np.ones(1), np.ones(1), (fit,), (1.0,), np.ones((1, 10)), model, {}, None, TERMS)
    payload = PayloadResult("tool", known("mass"), 3 * (known("com"),), 6 * (known("I"),), None, (fit,), TERMS)
    event = ContactEvent(1.0, 2.0, {JOINT: 3.0})
    numbers = {JOINT: 0.1}
    external = ExternalTorqueResult(
        {JOINT: threshold}, numbers, 1.0, numbers, numbers, numbers, (event,) if events else (), 0
    )
    joints = (JointDiagnosis(JOINT, (Cause(cause, 0.9),), 0.1), JointDiagnosis("j2", (), 0.5))
    diagnosis = DiagnosisResult(tuple(signals), joints, tuple(undecided))
    return {"diagnosis": diagnosis, "friction": friction, "inertias": inertias, "payload": payload,
            "external_torque": external}  # fmt: skip


def told(found: dict) -> dict:
    """What `analyse` makes of answers."""
    why = found["diagnosis"]
    return agreed({question.name: question.doubted(found[question.name], why) for question in QUESTIONS
                   if question.name in found})  # fmt: skip


SIGNALS = {
    "no torque": [Finding("effort scale", (JOINT,), ""), Finding("no efforts", (JOINT,), ""),
                  Finding("gravity", (JOINT, "j2"), "")],
    "the motion is wrong": [Finding("velocity sign", (JOINT,), ""), Finding("joint zero", (JOINT,), ""),
                            Finding("degrees", (JOINT,), "")],
    "late": [Finding("effort delay", (JOINT,), "", estimate=LATE)],
}  # fmt: skip
FOLLOW = [(signal, what) for signal, what in EXCLUDE if what in ("friction", "base parameters", "load", "a contact")
          or what.startswith("exported")]  # fmt: skip


@pytest.mark.parametrize(("signal", "what"), FOLLOW)
def test_nothing_follows_from_signals_that_are_wrong(signal, what):
    for finding in SIGNALS[signal]:
        found = answers(events=True, signals=[finding])
        assert any(one[0] == what for one in claims(found)), "it is said as long as nobody looks"
        after = told(found)
        assert contradictions(after) == [] and not any(one[0] == what for one in claims(after))


def test_contact_is_no_cause_where_no_contact_was_found():
    """Seen: "No contacts" in one place, and "contact 99 %" in another."""
    found = answers(events=False, cause="contact")
    assert contradictions(found)
    after = told(found)
    assert contradictions(after) == []
    (joint, _) = after["diagnosis"].joints
    assert joint.causes == () and joint.left == pytest.approx(1.0)
    both = told(answers(events=True, cause="contact"))  # where one was found it stays
    assert both["diagnosis"].of(JOINT).main == "contact" and contradictions(both) == []


def test_where_no_threshold_could_be_set_no_contact_is_denied():
    after = told(answers(events=False, cause="contact", threshold=np.inf))
    assert after["diagnosis"].of(JOINT).main == "contact"
    assert "no threshold could be set for j1" in after["external_torque"].doubt
    assert contradictions(after) == []


def test_every_pair_is_reached():
    """So that a pair that is added gets a test: what the two above do not make, `Diagnosis` never says together."""
    made = {pair for pair in EXCLUDE if pair in FOLLOW or pair == ("contact is a cause", "no contact")}
    never = {("late", "late, or friction"), ("no torque", "a scale, or inertias"), ("the motion is wrong", "no torque"),
             ("the motion is wrong", "late")}  # fmt: skip
    assert made | never == set(EXCLUDE)
    for signal, other in never:
        findings = [SIGNALS[signal][0]]
        open_ = {"late, or friction": "effort delay or friction", "a scale, or inertias": "effort scale or inertias"}
        undecided = [Finding(open_[other], (JOINT,), "")] if other in open_ else []
        findings += SIGNALS[other][:1] if other not in open_ else []
        assert contradictions(answers(events=False, signals=findings, undecided=undecided))
