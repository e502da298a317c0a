# SPDX-License-Identifier: Apache-2.0
"""A Panda in MuJoCo: with the lag of its actuators, encoders, friction, drives that may be off, and hands that pull."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from rigs.mujoco_plant import Plant, bare_description

from campaigns.faults.robot import JOINTS, LIMITS, description

Array = NDArray[np.float64]

PERIOD, STEP = 2e-3, 5e-4  # s: of states, and of the simulation
LAG = 1.0 / (2.0 * math.pi * 30.0)  # s: actuators of 30 Hz
TICK = 2.0 * math.pi / 2**17  # rad, of encoders
FRICTION = 0.003  # share of the limits of efforts
HAND, GRIP = np.array([200.0] * 4 + [20.0] * 3), np.array([30.0] * 4 + [1.5] * 3)  # N m/rad, N m s/rad

LETS_GO = 0.02  # s, in which a hand does


class Arm:
    """See the module. drives: whether efforts act; else its brakes hold it, and it goes where it is `carried`."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "arm.urdf"
            file.write_text(description("panda"))
            spec = mujoco.MjSpec.from_string(bare_description(file, JOINTS))
        self.plant = Plant(spec, JOINTS, STEP)
        self.plant.model.jnt_limited[:] = 0
        self.plant.model.dof_frictionloss[:7] = FRICTION * LIMITS
        self.drives = True

    def stand(self, q: Array) -> None:
        """At rest at q, held there."""
        self.plant.reset(q)
        self.acts, self.drives, self._hands = self.gravity, True, np.zeros(7)
        self._read = [np.round(q / TICK) * TICK] * 3

    @property
    def gravity(self) -> Array:
        """Torques (7) that hold it where it is, by MuJoCo."""
        data = mujoco.MjData(self.plant.model)
        data.qpos[:] = self.plant.data.qpos
        mujoco.mj_forward(self.plant.model, data)
        return np.array(data.qfrc_bias[:7])

    @property
    def state(self) -> tuple[Array, Array]:
        return self.plant.state

    def measured(self) -> tuple[Array, Array]:
        """q, and v over two periods."""
        self._read = [*self._read[1:], np.round(self.state[0] / TICK) * TICK]
        return self._read[2], (self._read[2] - self._read[0]) / (2.0 * PERIOD)

    def move(self, v: Array) -> None:
        """It has this velocity from now on."""
        self.plant.data.qvel[:7] = v
        q = self.state[0]
        self._read = [q - 2.0 * PERIOD * v, q - PERIOD * v, q]

    def carry(self, q: Array) -> None:
        """Somebody has put it there; its drives are off."""
        self.plant.data.qpos[:7], self.plant.data.qvel[:7] = q, 0.0
        mujoco.mj_forward(self.plant.model, self.plant.data)

    def advance(self, tau: Array, pulled: Array | None = None) -> None:
        """A period with commands tau. pulled (7): where hands draw it, rad; None: they have let go, or do."""
        if not self.drives:
            self.acts = np.zeros(7)
            return
        for _ in range(round(PERIOD / STEP)):
            self.acts = self.acts + (1.0 - math.exp(-STEP / LAG)) * (tau - self.acts)
            q, v = self.state
            if pulled is None:
                self._hands = self._hands * math.exp(-STEP / LETS_GO)
            else:
                self._hands = HAND * np.clip(pulled - q, -0.5, 0.5) - GRIP * v
            self.plant.advance(self.acts + self._hands, STEP)
