# SPDX-License-Identifier: Apache-2.0
"""Which efforts are in another unit, or have the opposite sign: what no inertias, rotors and friction explain instead.

Joints whose efforts are far from the given model's torque are suspected. Of these suspicions only those are kept
without which more is left of stretches that were not fitted, with the inertias of all bodies, rotors and friction free.
Where all efforts have one scale, inertias that are so many times as large explain as much; then it is by the gravity of
all joints together: no description has that wrong by more than a factor of four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.delays import settled
from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, FreeFit, Regression, falls
from rbd_dynamics.replay.diagnosis.intervals import interval
from rbd_dynamics.replay.identification.validation import FEWEST
from rbd_dynamics.spatial.rank import pseudoinverse, size_of

Array = NDArray[np.float64]

FAR = 0.5  # a scale beyond this or its inverse is hardly a wrong mass
HEAVY = 4.0  # times as much gravity, or as little, is no description's fault, even where it lacks centres of mass
MUCH = 0.75  # of what is left: a scale that takes away less makes up for something else
HARDLY = 0.10  # of what is left: a scale that leaves less more is as good
ALIKE = 0.1  # of the median: scales that differ by less are one
SURE = float(scipy.stats.norm.ppf(0.975))
NORMAL = 1.4826  # standard deviations are so many times the median of the absolute ones
MOST = 3e3  # or its inverse: no unit's, more is nonsense
POOR = 0.3  # of the torque: an effort of which more is left is not explained by a scale
ASIDE = 4.0  # times a scale, or its inverse: from there it is looked for again
VAGUE = 100.0  # a scale of which the interval's ends differ by such a factor is not told
LONGEST = 50.0  # of the logarithm of a scale: an interval that is longer says nothing
MOVING = 0.05  # of a stretch's samples
SEEN = 0.02  # of the square of the model's torque: gravity that varies by less tells nothing of masses


@dataclass(frozen=True)
class Scales:
    """Joints whose efforts are not the model's torques.

    Attributes:
        fit: with their scales. claimed: {place of such a joint: its scale and the interval}.
        open: {place: scale} of joints whose efforts a scale explains as well as inertias, rotors and friction do.
        masses: times the described bodies' gravity that efforts taken for torques have in them, where that cannot be;
            else NaN.
    """

    fit: FreeFit
    claimed: Mapping[int, tuple[float, float, float]]
    open: Mapping[int, float]
    masses: float = np.nan

    @property
    def unsure(self) -> set[int]:
        """Places of joints of which it is not known how many times a torque their efforts are: no load follows."""
        every = set(range(len(self.fit.scales)))
        return every if np.isfinite(self.masses) or 2 * len(self.claimed) > len(every) else {*self.claimed, *self.open}


def is_needed(regression: Regression, found: FreeFit, j: int) -> bool:
    """Whether without a scale of a joint's effort more is left than chance explains, whatever the bodies are."""
    other = settled(regression, found.scales, free=[j])
    return _needless(found, other) <= CHANCE / len(regression.joints)


def is_far(scale: float) -> bool:
    """So far from one that it is no wrong mass: another unit, a gain, a sign."""
    return bool(scale <= FAR or scale >= 1.0 / FAR)


def claimed_scales(regression: Regression, suspected: Mapping[int, float]) -> Scales:
    """suspected: {place of a joint: times the given model's torque that its effort seems to be}."""
    usual = settled(regression, np.ones(len(regression.joints)))
    ratio, _ = masses(regression, usual)
    explained = float(np.median(regression.shares(usual))) < POOR  # else it says nothing of masses
    implausible = explained and is_implausible(ratio)
    if not suspected:
        return Scales(usual, {}, {}, ratio if implausible else np.nan)
    whole = _fitted(regression, suspected)
    level = CHANCE / (len(suspected) + 1)
    kept, found = list(suspected), whole
    aside: list[int] = []  # of these nothing is said, but efforts that are torques again would ask for other masses
    while kept:
        doubts = {j: _needless(_with(regression, found, {j: 1.0}), found) for j in kept}
        least = max(doubts, key=lambda j: doubts[j])
        if doubts[least] <= level:
            break
        kept.remove(least)
        other = _fitted(regression, {j: float(found.scales[j]) for j in (*kept, *aside)}) if kept else usual
        if is_implausible(masses(regression, other)[0]) and not is_implausible(masses(regression, found)[0]):
            aside.append(least)
        else:
            found = other
    if kept and not implausible and _needless(usual, found) > level:
        kept, found = [], usual
    if implausible and not kept:
        kept, found = list(suspected), whole
    free, kept = kept, [j for j in kept if _is_told(regression, found, j, level)]
    if not _are_found_again(regression, found, kept, free):
        kept, found = [], usual
    if not implausible:  # then scales must explain what nothing else does by far
        kept = [j for j in kept if _needless(_with(regression, found, {j: 1.0}), found, MUCH) <= level]
    intervals = _intervals(regression, found, kept)
    scales = found.scales.copy()
    scales[kept] = [intervals[j][0] for j in kept]
    found = settled(regression, scales)
    kept = [j for j in kept if intervals[j][1] >= 1.0 / FAR or intervals[j][2] <= FAR]
    kept = [j for j in kept if max(map(abs, intervals[j][1:])) < VAGUE * min(map(abs, intervals[j][1:]))]
    if 2 * len(kept) >= len(regression.joints):  # then nothing says how much gravity there is but the description
        intervals = {j: _wider(*told) for j, told in intervals.items()}
    for j in [j for j, scale in suspected.items() if scale < 0.0 and j not in kept]:
        other = _with(regression, found, {j: -1.0})
        if _is_turned(regression, found, other, j, level):
            found, kept = other, [*kept, j]
            intervals[j] = -1.0, -HEAVY, -1.0 / HEAVY
    values = [float(found.scales[j]) for j in kept]
    if len(kept) > 1 and np.ptp(values) < ALIKE * abs(float(np.median(values))):
        rest = dict.fromkeys((j for j in suspected if j not in kept), float(np.median(values)))
        if _no_worse(regression, found, rest):  # the same unit for all
            intervals |= dict.fromkeys(rest, intervals[kept[0]])
            found, kept = _with(regression, found, rest), [*kept, *rest]
    as_good = {
        j: scale
        for j, scale in suspected.items()
        if j not in kept and _no_worse(regression, found, {j: scale}) and _shows(regression, found, j, scale, level)
    }
    return Scales(found, {j: intervals[j] for j in sorted(kept)}, as_good, ratio if implausible else np.nan)


def is_implausible(ratio: float) -> bool:
    """Whether no description is so wrong about gravity; not of NaN."""
    return bool(abs(np.log(max(ratio, 1e-12))) > np.log(HEAVY))


def _wider(value: float, low: float, high: float) -> tuple[float, float, float]:
    """A scale and its interval, if all of a description may be so heavy or so light."""
    size = sorted((abs(low), abs(high)))
    lower, upper = sorted((np.sign(value) * size[0] / HEAVY, np.sign(value) * size[1] * HEAVY))
    return value, float(lower), float(upper)


def _is_told(regression: Regression, found: FreeFit, j: int, level: float) -> bool:
    """Whether a joint's effort has the rigid torque in it, and is explained then, by a scale that can be."""
    size = abs(float(_by_gravity(regression, found)[j]))
    if not (1.0 / MOST < size < MOST and regression.shares(found)[j] < POOR):
        return False
    return _shows(regression, found, j, float(found.scales[j]), level)


def _is_turned(regression: Regression, found: FreeFit, other: FreeFit, j: int, level: float) -> bool:
    """Whether the sign of a joint's effort, with which `other` is, is told by its friction and rotor, which never
    drive, though nothing tells how many times its rigid torque the effort is."""
    explained = regression.shares(other)[j] < POOR
    return explained and _needless(_with(regression, found, {j: 1.0}), other, MUCH) <= level


def _shows(regression: Regression, found: FreeFit, j: int, scale: float, level: float) -> bool:
    """Whether without its rigid torque more is left of a joint's effort, if it has this scale."""
    nothing, something = (_with(regression, found, {j: value}) for value in (scale / MOST, scale))
    return _needless(nothing, something) <= level


def _intervals(regression: Regression, found: FreeFit, kept: Sequence[int]) -> dict[int, tuple[float, float, float]]:
    """Scales and their intervals of 95 %, in logarithms: what stretches disagree, what the description's errors may do.

    Where what is left does not tell, scales are such that gravity is the described bodies', by the median of joints,
    with an error by how far these disagree.
    """
    ratio, spread = masses(regression, found)
    heavy = {j: float(found.scales[j]) * ratio for j in kept}
    if not (kept and ratio > 0.0 and _no_worse(regression, found, heavy)):
        heavy, spread = {j: float(found.scales[j]) for j in kept}, 0.0
    told = {}
    for j, value in heavy.items():
        here = float(found.scales[j])
        low, high = interval(found.others[:, j] / here, 1.0)
        error = float(np.hypot((high - low) / 2.0, SURE * np.hypot(found.errors[j] / abs(here), spread)))
        reach = float(np.exp(min(error, LONGEST)))
        lower, upper = sorted((value * reach, value / reach))
        told[j] = value, lower, upper
    return told


def _fitted(regression: Regression, suspected: Mapping[int, float]) -> FreeFit:
    """Fit with the scales of these joints looked for, from there and from their median; the better of the two."""
    places, starts = list(suspected), np.array(list(suspected.values()))
    found = []
    for start in (starts, np.sign(starts) * float(np.median(np.abs(starts)))):
        scales = np.ones(len(regression.joints))
        scales[places] = start
        found.append(settled(regression, scales, free=places))
        if len(places) == 1:
            break
    return min(found, key=lambda fit: float(np.log(np.maximum(fit.left, 1e-300)).sum()))


def _are_found_again(regression: Regression, found: FreeFit, kept: Sequence[int], free: Sequence[int]) -> bool:
    """Whether the scales of `kept` are found again, or others that leave more, from wherever those of `free` begin.

    Where inertias make up for scales the valley of the best ones is long, and rounding says where in it a fit ends.
    """
    every = np.resize([1.0, -1.0], len(free))
    for signs in (np.ones(len(free)), -np.ones(len(free)), every, -every) if kept else ():
        scales = found.scales.copy()
        scales[list(free)] *= ASIDE**signs
        other = settled(regression, scales, free=list(free))
        now, again = (_by_gravity(regression, fit)[list(kept)] for fit in (found, other))
        off = np.abs(again / now - 1.0)
        more = float(np.log(other.left.sum(axis=0) / found.left.sum(axis=0)).sum())
        if more < -np.log(1.0 - HARDLY) and (off > ALIKE).any():
            return False
    return True


def _with(regression: Regression, found: FreeFit, changed: Mapping[int, float]) -> FreeFit:
    scales = found.scales.copy()
    scales[list(changed)] = list(changed.values())
    return settled(regression, scales)


def _no_worse(regression: Regression, found: FreeFit, changed: Mapping[int, float]) -> bool:
    """Whether other scales leave hardly more."""
    if not changed:
        return False
    other = _with(regression, found, changed)
    return bool(np.log(other.left.sum(axis=0) / found.left.sum(axis=0)).sum() < -np.log(1.0 - HARDLY))


def _needless(without: FreeFit, found: FreeFit, share: float = HARDLY) -> float:
    """How likely what is left without is as little by chance; 1 where it is not more by this share."""
    more, less = (np.log(np.maximum(fit.left.sum(axis=0), 1e-300)).sum() for fit in (without, found))
    little = more - less < -np.log(1.0 - share)
    return 1.0 if little else falls(without, found)


def _by_gravity(regression: Regression, fit: FreeFit) -> Array:
    """Scales with which gravity is the described bodies': all of them and all masses can make up for each other."""
    ratio, _ = masses(regression, fit)
    return fit.scales * ratio if ratio > 0.0 else fit.scales


def masses(regression: Regression, fit: FreeFit) -> tuple[float, float]:
    """What gravity of the fitted bodies is times that of the given ones, the median of joints that feel it vary; and
    its error by how far they disagree."""
    found = []
    for joint, rigid in zip(regression.joints, regression.rigid(fit)):
        sums, model = joint.sums.sum(axis=0), len(rigid) - len(joint.weights) - 1
        columns = np.zeros((len(rigid), 3))
        columns[regression.shared, 0] = 1.0  # the offset
        columns[model - 1, 1] = 1.0
        columns[model, 2], columns[model - 1, 2] = 1.0, -1.0
        square = columns.T @ sums @ columns
        moving = joint.sums[:, regression.shared + 1, regression.shared + 1] > MOVING * joint.samples
        varies = square[1, 1] - square[0, 1] ** 2 / max(square[0, 0], 1e-300)
        if varies > SEEN * sums[model, model] > 0.0 and np.count_nonzero(moving) >= FEWEST:
            moments = columns.T @ sums @ rigid
            found.append(float((pseudoinverse(square, scale=size_of(square), tolerance=1e-9) @ moments)[1]))
    if not found:
        return np.nan, 0.0
    median = float(np.median(found))
    error = NORMAL * float(np.median(np.abs(np.array(found) - median))) / np.sqrt(len(found))
    return median, error / max(abs(median), 1e-12)
