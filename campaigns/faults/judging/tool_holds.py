# SPDX-License-Identifier: Apache-2.0
"""What an effort of cartesian_controller says of what is held: which pose, and which posture came to rest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.judging.braking import Known
from campaigns.faults.judging.situation import Situation
from campaigns.faults.judging.tool_law import Held, ToolSettings, pose_of, tool_at, turn
from campaigns.faults.robot import oracle

Array = NDArray[np.float64]

NEAR, NEAREST = 40, 5  # states whose tool is nearest to where an effort pulls it: by the Jacobian, and of these
NEARLY = 1e-6  # N m by which what may be held is off at most, before it is looked at to the last digit
NEWTON = 8  # steps


def holds_of(
    base: Situation, known: Known, stamp: int, q: Array, v: Array, tau: Array, states: Array,
    poses: list[tuple[Array, Array]], postures: Array, wrenches: list[Array],
) -> Iterator[Held]:  # fmt: skip
    """What an effort may hold: a pose of these or of a state, with one of the postures (N, 7) and wrenches.

    `states` come first among the postures.
    """
    settings, model = base.settings, oracle(base.robot, base.payload)
    assert isinstance(settings, ToolSettings)
    tool = tool_at(model, q, v, stamp)
    weight, robot = settings.weight(model, q), settings.robot(model, q, v, stamp)
    damped = settings.dampers(tool) @ tool.twist
    drawn = tool.left_over((settings.posture_kp * (postures - q) - settings.posture_kd * v).T).T
    wrenches = list({each.tobytes(): each for each in wrenches}.values())
    away = (states - q) @ tool.J.T  # of each state's tool, nearly
    if (np.abs(tau) < settings.limits).all() and robot.is_free(tau, known):
        place = (tool.wrench_of(tau - weight) + damped)[3:] / settings.springs[3:]
        nearest = np.argsort(np.linalg.norm(away[:, 3:] - place, axis=1))[:NEAR]
        near = [pose_of(model, states[k]) for k in nearest]
        near.sort(key=lambda pose: float(np.linalg.norm(pose[1] - tool.p - place)))
        near = near[:NEAREST]
    else:  # an effort that was cut off or braked does not tell where it pulls: the states that would be like it
        near = []
        for wrench, posture in product(wrenches, [drawn[: len(states)], *drawn[len(states) :]]):
            guesses = weight + (settings.springs * away + wrench - damped) @ tool.J + posture
            off = np.abs(robot.shortened(robot.braked(guesses, known)) - tau).max(axis=1)
            near += [pose_of(model, states[k]) for k in np.argsort(off)[:NEAREST]]
    for wrench in wrenches:
        for R, p in [*poses, *near]:
            guesses = weight + tool.J.T @ (settings.pull(tool, R, p, wrench) - damped) + drawn
            off = np.abs(robot.shortened(robot.braked(guesses, known)) - tau).max(axis=1)
            k = int(off.argmin())
            if off[k] < NEARLY:
                yield Held(R, p, postures[k], wrench)


def not_shortened(situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> Array:
    """An effort as it would be without limits, which shorten all joints together, if it pulls to the wanted pose."""
    settings, model, held = situation.settings, oracle(situation.robot, situation.payload), situation.desired
    assert isinstance(settings, ToolSettings) and isinstance(held, Held)
    if (np.abs(tau) < settings.limits).all():
        return tau
    tool, more = tool_at(model, q, v, stamp), tau - settings.weight(model, q)
    pull = settings.pull(tool, held.R, held.p, held.wrench) - settings.dampers(tool) @ tool.twist
    share = float(tool.wrench_of(more) @ pull / (pull @ pull)) if pull.any() else 1.0
    return tau - more + more / share if 0.0 < share < 1.0 else tau


def pulls_there(situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> bool:
    """Whether an effort moves the tool as the wanted pose does, whichever posture is held."""
    settings, model, held = situation.settings, oracle(situation.robot, situation.payload), situation.desired
    assert isinstance(settings, ToolSettings) and isinstance(held, Held)
    tool = tool_at(model, q, v, stamp)
    pull = settings.pull(tool, held.R, held.p, held.wrench) - settings.dampers(tool) @ tool.twist
    return bool(np.abs(tool.wrench_of(tau - settings.weight(model, q)) - pull).max() < NEARLY)


def posture_of(situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> Array:
    """(7) with the wanted pose, towards which an effort pulls what the tool leaves free: by Newton."""
    settings, model, held = situation.settings, oracle(situation.robot, situation.payload), situation.desired
    assert isinstance(settings, ToolSettings) and isinstance(held, Held)
    tool = tool_at(model, q, v, stamp)
    pull = settings.pull(tool, held.R, held.p, held.wrench) - settings.dampers(tool) @ tool.twist
    free = np.linalg.svd(tool.J)[2][-1]  # J free = 0
    weighted = free @ tool.M
    drawn = float(free @ (tau - settings.weight(model, q) - tool.J.T @ pull)) + settings.posture_kd * float(
        weighted @ v
    )
    posture = held.posture.copy()
    for _ in range(NEWTON):
        R, p = pose_of(model, posture)
        off = np.concatenate([turn(held.R @ R.T), held.p - p])
        left = drawn - settings.posture_kp * float(weighted @ (posture - q))
        rows = np.vstack([model.jacobian(posture), settings.posture_kp * weighted])
        posture += np.linalg.lstsq(rows, np.append(off, left), rcond=None)[0]
    return posture
