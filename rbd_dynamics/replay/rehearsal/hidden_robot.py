# SPDX-License-Identifier: Apache-2.0
"""A simulated robot that differs from its description as real ones do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction

Array = NDArray[np.float64]
LEAST_FRICTION, MOST_FRICTION = 0.01, 0.03  # of the effort limit


@dataclass(frozen=True)
class HiddenRobot:
    """What is true, and what is seen of it.

    Attributes:
        model: with the true inertias and friction.
        gains: torque for each unit that is commanded, (nv,): one where the drives are calibrated.
        command_delay: s, from a command to its torque. effort_delay: s, by which reported efforts are late.
        noise: standard deviations of reported positions, velocities and efforts (3, nv).
        ripple: standard deviation of a torque that acts and that no model has (nv,), with a time constant of 50 ms.
        seed: of the noise.
    """

    model: Model
    _: KW_ONLY
    gains: Array
    command_delay: float
    effort_delay: float
    noise: Array
    ripple: Array
    seed: int

    def carrying(self, frame: str, mass: float, com: Sequence[float]) -> HiddenRobot:
        """The robot with a point mass (kg) there in a frame (m), and other noise. Raises KeyError for its frame."""
        body, load = payload_inertia(self.model, frame, mass, com=com)
        bodies = list(self.model.bodies)
        bodies[body] = replace(bodies[body], inertia=bodies[body].inertia + load)
        return replace(self, model=replace(self.model, bodies=tuple(bodies)), seed=self.seed + 1)


def hide(
    model: Model,
    *,
    seed: int = 0,
    inertias: float = 0.2,
    gains: float = 0.1,
    command_delay: float = 0.002,
    effort_delay: float = 0.012,
    effort_noise: float = 0.005,
    ripple: float = 0.002,
) -> HiddenRobot:
    """A robot that differs from its description at random.

    Parameters:
        inertias: share by which masses, centres and moments are off at most. gains: likewise.
        effort_noise, ripple: standard deviations of a reported effort, and of the torque's own, in effort limits.

    Friction is one to three percent of a joint's effort limit, Coulomb's, and as much again at the velocity limit.
    Raises ValueError that names a joint without these limits.
    """
    rng = np.random.default_rng(seed)
    joints = [joint for joint in model.joints if joint.mimic is None]
    for joint in joints:
        if not (np.isfinite(joint.limits.effort) and np.isfinite(joint.limits.velocity)):
            raise ValueError(
                f"joint {joint.name!r} has no effort limit or no velocity limit: its friction has no scale"
            )
    effort, speed = (np.array([getattr(joint.limits, name) for joint in joints]) for name in ("effort", "velocity"))
    coulomb, viscous = rng.uniform(LEAST_FRICTION, MOST_FRICTION, size=(2, len(joints))) * effort
    names = [joint.name for joint in joints]
    truth = with_joint_friction(
        perturb_inertias(model, inertias, seed=seed),
        friction=dict(zip(names, coulomb.tolist())),
        damping=dict(zip(names, (viscous / speed).tolist())),
    )
    return HiddenRobot(
        truth,
        gains=1.0 + gains * rng.uniform(-1.0, 1.0, len(joints)),
        command_delay=command_delay,
        effort_delay=effort_delay,
        noise=np.array([np.full(len(joints), 1e-5), np.full(len(joints), 1e-3), effort_noise * effort]),
        ripple=ripple * effort,
        seed=seed,
    )
