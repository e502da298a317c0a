# SPDX-License-Identifier: Apache-2.0
"""What becomes of a model file: who takes it, and whether all who do have the same mass matrix and bias."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rbd_dynamics as rbd
from campaigns.models.peers import PEERS, NotCompared, Reading, Refused
from rbd_dynamics.model.errors import ModelWarning

STATES = 3
#: degrees of freedom beyond which it takes too long here
LARGEST = 400
#: verdicts, in the order of the table
_FINE = ("agree", "not compared", "refused by all", "refused by peers alone")
VERDICTS = (*_FINE, "refused by us alone", "wrong", "ended")


class Verdict(NamedTuple):
    """kind: of `VERDICTS`. said: our reader said that it leaves something out. message: who differs, or why not."""

    kind: str
    said: bool = False
    message: str = ""


def judge(path: Path, format_: str) -> Verdict:
    """Beside all peers for that format that are installed."""
    ours, said, refusal = _ours(path)
    readings: dict[str, Reading] = {}
    refusals: list[str] = []
    for module, read in PEERS[format_].items():
        if importlib.util.find_spec(module) is not None:
            try:
                readings[module] = read(path)
            except Refused as error:
                refusals.append(" ".join(str(error).split()))
    if ours is None:
        if readings:
            return Verdict("refused by us alone", message=f"{refusal} [{', '.join(readings)} takes it]")
        return Verdict("refused by all", message=refusal)
    if not readings:
        kind = "refused by peers alone" if refusals else "not compared"
        return Verdict(kind, said, "; ".join(refusals) or "no peer is installed")
    return _compared(ours, said, readings, refusals)


def _ours(path: Path) -> tuple[rbd.Model | None, bool, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = rbd.load(path)
        except rbd.ModelError as error:
            return None, False, str(error)
    return model, any(issubclass(each.category, ModelWarning) for each in caught), ""


def _compared(model: rbd.Model, said: bool, readings: dict[str, Reading], refusals: Sequence[str]) -> Verdict:
    if model.nv > LARGEST:
        return Verdict("not compared", said, f"{model.nv} degrees of freedom")
    if model.nv == 0:
        return Verdict("agree", said, "nothing moves")
    agree, reasons = [], list(refusals)
    for name, reading in readings.items():
        try:
            differs = _difference(model, said, reading)
        except NotCompared as error:
            reasons.append(f"{name}: {error}")
            continue
        if differs:
            return Verdict("wrong", said, f"{name}: {differs}")
        agree.append(name)
    return Verdict("agree" if agree else "not compared", said, "; ".join(reasons))


def _difference(model: rbd.Model, said: bool, reading: Reading) -> str:
    """Empty where there is none."""
    own, dynamics = reading.beside(model, said)
    robot = rbd.Robot(own, backend="reference", friction=True)
    for seed in range(STATES):
        q, v = own.random(seed), np.random.default_rng(seed).normal(size=own.nv)
        M, bias = dynamics(q, v)
        for what, mine, theirs in (("mass matrix", robot.mass_matrix(q), M), ("bias", robot.bias(q, v), bias)):
            largest = max(np.abs(theirs).max(), np.abs(M).max())
            error = float(np.abs(mine - theirs).max() / (largest or 1.0))  # nothing has mass
            if not error < reading.tolerance:
                return f"{what} differs by {error:.1g}"
    return ""
